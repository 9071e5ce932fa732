// The C++ header: rows, values and errors through resizes.
#include <freestone_malleable.hpp>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>

namespace fsm = freestone::malleable;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  {
    fsm::job job(MPI_COMM_WORLD);
    std::int64_t step = 0;
    auto A = job.constant<float>("A", 501, 3);
    auto x = job.variable<std::int64_t>("x", 501);
    job.replicated("step", step);
    auto none = job.variable<double>("none", 0);
    const std::string state = argc > 1 ? argv[1] : "";
    const bool is_loaded = !state.empty() && job.load(state);
    if (is_loaded && !job.is_joining() && job.rank() == 0)
      std::cout << "goes on at step " << step << '\n';
    if (!is_loaded && !job.is_joining()) {
      std::iota(x.begin(), x.end(), static_cast<std::int64_t>(x.first()));
      std::iota(A.begin(), A.end(), static_cast<float>(3 * A.first()));
    }
    auto status = fsm::status::same;
    for (; step < 20 && status != fsm::status::leave; step++) {
      status = job.checkpoint(step);
      if (status == fsm::status::leave)
        break;
      if (!state.empty() && step == 10)
        job.save(state);
      if (none.size() != 0 || none.begin() != none.end())
        MPI_Abort(MPI_COMM_WORLD, 5);
      std::int64_t own = 0, total = 0;
      for (auto row = x.first(); row < x.end_row(); row++) {
        if (x[row] != static_cast<std::int64_t>(row) + step || A.row(row)[2] != static_cast<float>(3 * row + 2))
          MPI_Abort(MPI_COMM_WORLD, 1);
        own += x[row] += 1;
      }
      MPI_Allreduce(&own, &total, 1, MPI_INT64_T, MPI_SUM, job.comm());
      if (total != 501 * 500 / 2 + 501 * (step + 1))
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    try {
      job.request(0);
    } catch (const fsm::error &refused) {
      if (status != fsm::status::leave && job.rank() == 0)
        std::cout << refused.code() << ' ' << refused.what() << '\n';
    }
    try {
      fsm::rows<int> nothing("nope", 1);
      MPI_Abort(MPI_COMM_WORLD, 3);
    } catch (const fsm::error &refused) {
      if (refused.code() != FSM_BAD_CALL)
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    job.finalise();
  }
  MPI_Finalize();
}
