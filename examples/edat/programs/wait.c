/* The program and a task wait, and keep their variables; what has come is taken without waiting. */
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  (void)events, (void)count;
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "started");
  EDAT_Event *more = edatWait(1, EDAT_SELF, "more");
  printf("more: %d\n", *(int *)more[0].data);
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "done");
}

int main(void) {
  edatInit();
  if (edatGetRank() == 0) {
    int found = 0, number = 7;
    edatSubmitTask(task, 0);
    edatWait(1, EDAT_SELF, "started");
    edatFireEvent(&number, EDAT_INT, 1, EDAT_SELF, "more");
    edatWait(1, EDAT_SELF, "done");
    edatRetrieveAny(&found, 2, EDAT_ANY, "nothing", EDAT_SELF, "done");
    printf("%d are left\n", found);
  }
  edatFinalise();
  return 0;
}
