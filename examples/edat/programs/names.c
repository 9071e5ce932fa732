/* Tasks have names; one that is removed never runs. */
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  (void)events, (void)count;
  printf("never\n");
}

int main(void) {
  edatInit();
  edatSubmitNamedTask(task, "late", 1, EDAT_SELF, "never");
  int before = edatIsTaskSubmitted("late"), removed = edatRemoveTask("late");
  printf("%d %d %d %d\n", before, removed, edatIsTaskSubmitted("late"), edatRemoveTask("late"));
  edatFinalise();
  return 0;
}
