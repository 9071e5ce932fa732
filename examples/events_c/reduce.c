/* Every rank adds up one number of each (listing 5): a dependency on all ranks. */
#include <freestone_events.h>
#include <stdio.h>

static void add_up(const fse_event *events, int count, void *context) {
  (void)context;
  int64_t total = 0;
  for (int index = 0; index < count; index++) {
    total += *(const int64_t *)events[index].data;
  }
  printf("rank %d: %lld\n", fse_rank(), (long long)total);
}

int main(void) {
  if (fse_init(NULL) != FSE_OK) {
    fprintf(stderr, "%s\n", fse_error());
    return 1;
  }
  int64_t square = (int64_t)fse_rank() * fse_rank();
  fse_submit(add_up, NULL, 1, FSE_ALL, "square");
  fse_fire(&square, FSE_LONG, 1, FSE_ALL, "square");
  return fse_finalise() == FSE_OK ? 0 : 1;
}
