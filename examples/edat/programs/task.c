/* A task on rank 1 runs when an event of rank 0 comes. */
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  printf("%d event of rank %d: %d\n", count, events[0].metadata.source, *(int *)events[0].data);
}

int main(void) {
  edatInit();
  if (edatGetRank() == 1) {
    edatSubmitTask(task, 1, 0, "number");
  } else if (edatGetRank() == 0) {
    int number = 33;
    edatFireEvent(&number, EDAT_INT, 1, 1, "number");
  }
  edatFinalise();
  return 0;
}
