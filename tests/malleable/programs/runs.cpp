// Rows in several runs by the C++ header, through a resize.
#include <freestone_malleable.hpp>

#include <cstdint>
#include <iostream>

namespace fsm = freestone::malleable;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  {
    fsm_config config{};
    config.minimal = 1;
    config.targets = "3:4";
    fsm::job job(MPI_COMM_WORLD, config);
    std::int64_t step = 0;
    auto x = job.variable<std::int64_t>("x", 1200, 2);
    job.replicated("step", step);
    if (!job.is_joining())
      for (const auto &run : x.runs())
        for (auto row = run.first; row < run.end_row; row++)
          run.data[2 * (row - run.first) + 1] = static_cast<std::int64_t>(row);
    for (; step < 6 && job.checkpoint(step) != fsm::status::leave; step++)
      for (const auto &run : x.runs())
        for (auto row = run.first; row < run.end_row; row++)
          if (run.data[2 * (row - run.first) + 1] != static_cast<std::int64_t>(row))
            MPI_Abort(MPI_COMM_WORLD, 1);
    if (job.rank() == 3) {
      std::cout << x.runs().size() << " runs\n";
      try {
        x.first();
      } catch (const fsm::error &refused) {
        std::cout << refused.what() << '\n';
      }
    }
    job.finalise();
  }
  MPI_Finalize();
}
