// The first program from C++: the context of a task is any object.
#include <freestone_events.h>

#include <iostream>

struct Adder {
  std::int32_t offset;
};

static void add(const fse_event *events, int count, void *context) {
  std::int32_t total = static_cast<Adder *>(context)->offset;
  for (int index = 0; index < count; index++) {
    total += *static_cast<const std::int32_t *>(events[index].data);
  }
  std::cout << total << std::endl;
}

int main() {
  if (fse_init(nullptr) != FSE_OK) {
    std::cerr << fse_error() << std::endl;
    return 1;
  }
  Adder adder{1000};
  std::int32_t number = 33 * (fse_rank() + 1);
  if (fse_rank() == 0) {
    fse_submit(add, &adder, 1, FSE_ALL, "number");
  }
  fse_fire(&number, FSE_INT, 1, 0, "number");
  return fse_finalise() == FSE_OK ? 0 : 1;
}
