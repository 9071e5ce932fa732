/* A persistent task runs for each event. */
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  (void)count;
  printf("%d\n", *(int *)events[0].data);
}

int main(void) {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitPersistentTask(task, 1, EDAT_ANY, "number");
  } else {
    for (int number = 0; number < 3; number++)
      edatFireEvent(&number, EDAT_INT, 1, 0, "number");
  }
  edatFinalise();
  return 0;
}
