/* Events are found by source and identifier; a task may change what it gets. */
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  int other = edatFindEvent(events, count, 1, "letters");
  int own = edatFindEvent(events, count, EDAT_SELF, "letters");
  char *letters = events[other].data;
  letters[0] = 'J';
  printf("%d %d %d %.*s\n", own, other, edatFindEvent(events, count, EDAT_ANY, "digits"),
         events[other].metadata.number_elements, letters);
}

int main(void) {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitTask(task, 2, EDAT_SELF, "letters", 1, "letters");
    edatFireEvent("none", EDAT_BYTE, 4, EDAT_SELF, "letters");
  } else if (edatGetRank() == 1) {
    edatFireEvent("hello", EDAT_BYTE, 5, 0, "letters");
  }
  edatFinalise();
  return 0;
}
