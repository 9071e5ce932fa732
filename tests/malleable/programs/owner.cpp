// Rows dealt by a function of C++, which throws for three ranks.
#include <freestone_malleable.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <stdexcept>

namespace fsm = freestone::malleable;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  {
    fsm_config config{};
    config.targets = "2:3,4:4";
    const std::uint64_t block = 7;
    const auto owner = [block](std::uint64_t rows, int ranks, std::uint64_t row, std::uint64_t &end) {
      if (ranks == 3)
        throw std::runtime_error("no layout");
      end = std::min(row / block * block + block, rows);
      return static_cast<int>(row / block % static_cast<std::uint64_t>(ranks));
    };
    fsm::job job(MPI_COMM_WORLD, owner, config);
    std::int64_t step = 0;
    auto x = job.variable<std::int64_t>("x", 100, 2);
    job.replicated("step", step);
    if (!job.is_joining())
      for (const auto &run : x.runs())
        for (auto row = run.first; row < run.end_row; row++)
          run.data[2 * (row - run.first) + 1] = static_cast<std::int64_t>(row);
    for (; step < 8; step++) {
      const auto status = job.checkpoint(step);
      if (status == fsm::status::leave)
        break;
      if (status == fsm::status::cancelled && job.rank() == 0)
        std::cout << fsm_error() << std::endl;
      for (const auto &run : x.runs())
        for (auto row = run.first; row < run.end_row; row++)
          if (run.data[2 * (row - run.first) + 1] != static_cast<std::int64_t>(row) ||
              static_cast<int>(row / block % static_cast<std::uint64_t>(job.size())) != job.rank())
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (job.rank() == 0)
      std::cout << job.size() << " ranks, " << x.runs().size() << " runs\n";
    job.finalise();
  }
  MPI_Finalize();
}
