/* A barrier in which nobody waits (listing 6): what comes after it is a task that depends on an
 * event of every rank. The program goes on meanwhile. */
#include <freestone_events.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int prepared;

static void after_all(const fse_event *events, int count, void *context) {
  (void)events, (void)context;
  printf("rank %d: all %d are here, %d of its own things are prepared\n", fse_rank(), count,
         atomic_load(&prepared));
}

int main(void) {
  if (fse_init(NULL) != FSE_OK) {
    fprintf(stderr, "%s\n", fse_error());
    return 1;
  }
  fse_submit(after_all, NULL, 1, FSE_ALL, "here");
  for (int round = 0; round < 3; round++) {
    atomic_fetch_add(&prepared, 1);
  }
  fse_fire(NULL, FSE_NONE, 0, FSE_ALL, "here");
  return fse_finalise() == FSE_OK ? 0 : 1;
}
