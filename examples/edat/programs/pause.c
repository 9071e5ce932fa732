/* The program pauses until nothing is left to do, and goes on. */
#include "edat.h"
#include "edat_debug.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  (void)events, (void)count;
  printf("a task\n");
}

int main(void) {
  edatInit();
  for (int round = 0; round < 2; round++) {
    edatSubmitTask(task, 1, EDAT_ANY, "go");
    edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "go");
    edatPauseMainThread();
    edatRestart();
  }
  printf("%d\n", edatGetNumWorkers() > 0 && edatGetNumActiveWorkers() == 0);
  edatFinalise();
  return 0;
}
