/* A persistent event serves every task that needs it. */
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  (void)count;
  printf("%.1f\n", *(double *)events[0].data * *(int *)events[1].data);
}

int main(void) {
  edatInit();
  if (edatGetRank() == 0) {
    double scale = 0.5;
    edatFirePersistentEvent(&scale, EDAT_DOUBLE, 1, EDAT_SELF, "scale");
    for (int number = 1; number <= 3; number++) {
      edatSubmitTask(task, 2, EDAT_SELF, "scale", EDAT_SELF, "number");
      edatFireEvent(&number, EDAT_INT, 1, EDAT_SELF, "number");
    }
  }
  edatFinalise();
  return 0;
}
