/* Locks, which the end of a task lets go of; and a context, which is passed by its address. */
#include "edat.h"
#include "edat_debug.h"
#include <stdio.h>

struct counter {
  int tasks;
};

static void task(EDAT_Event *events, int count) {
  (void)count;
  struct counter *counter = events[0].data;
  edatLock("counter");
  int held = edatTestLock("counter");
  counter->tasks++;
  edatUnlock("counter");
  printf("%d %d\n", held, edatTestLock("counter"));
  edatLock("counter");
}

int main(void) {
  edatInit();
  int type = edatDefineContext(sizeof(struct counter));
  struct counter *counter = edatCreateContext(type);
  edatFirePersistentEvent(counter, type, 1, EDAT_SELF, "counter");
  for (int number = 0; number < 2; number++)
    edatSubmitTask(task, 1, EDAT_SELF, "counter");
  edatPauseMainThread();
  printf("%d tasks\n", counter->tasks);
  edatFinalise();
  return 0;
}
