// Tasks as lambdas, what they return, a lock, arrays without a copy, and a type of the program's own.
#include <freestone_events.hpp>

#include <iostream>
#include <numeric>

namespace fse = freestone::events;

struct Particle {
  double position[3];
  int charge;
};

int main() try {
  fse::run run;
  double total = 0;
  fse::submit({{fse::any, "part"}},
              [&total](const fse::events &events) {
                auto numbers = events[0].values<double>();
                fse::lock lock("total");
                total += std::accumulate(numbers.begin(), numbers.end(), 0.0);
              },
              fse::persistent);
  for (int target = 0; target < fse::ranks(); target++)
    fse::fire(target, "part", std::vector<double>{1.5, 2.5, double(fse::rank())});

  auto charge = fse::submit({{fse::self, "particle"}}, [](const fse::events &events) {
    return events[0].value<Particle>().charge;
  });
  fse::fire(fse::self, "particle", Particle{{0, 0, 1}, -1});
  int found = charge.get();

  fse::drain();
  if (fse::rank() == 0)
    std::cout << total << " " << found << std::endl;
  run.finish();
} catch (const fse::error &error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
