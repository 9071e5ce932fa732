/* Two numbers that come from two ranks are added once both are there (the paper's first program,
 * listing 4). Run with two ranks: FREESTONE_EVENTS_RANKS=2 ./add */
#include <freestone_events.h>
#include <stdint.h>
#include <stdio.h>

static void begin(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  int32_t number = 33;
  fse_fire(NULL, FSE_NONE, 0, 1, "go");
  fse_fire(&number, FSE_INT, 1, 1, "first");
}

static void answer(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  int32_t number = 100;
  fse_fire(&number, FSE_INT, 1, FSE_SELF, "second");
}

static void add(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  const int32_t *first = events[0].data, *second = events[1].data;
  printf("%d\n", *first + *second);
}

int main(void) {
  if (fse_init(NULL) != FSE_OK) {
    fprintf(stderr, "%s\n", fse_error());
    return 1;
  }
  if (fse_ranks() < 2) {
    fse_fail("two ranks are needed: set FREESTONE_EVENTS_RANKS=2, or use mpiexec -n 2");
  } else if (fse_rank() == 0) {
    fse_submit(begin, NULL, 0);
  } else if (fse_rank() == 1) {
    fse_submit(answer, NULL, 1, 0, "go");
    fse_submit(add, NULL, 2, 0, "first", FSE_SELF, "second");
  }
  return fse_finalise() == FSE_OK ? 0 : 1;
}
