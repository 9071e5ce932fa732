/* The paper's listing 4: two numbers of two ranks are added once both are there. */
#include "edat.h"
#include <stdio.h>

static void begin(EDAT_Event *events, int count) {
  (void)events, (void)count;
  int number = 33;
  edatFireEvent(NULL, EDAT_NONE, 0, 1, "go");
  edatFireEvent(&number, EDAT_INT, 1, 1, "first");
}

static void answer(EDAT_Event *events, int count) {
  (void)events, (void)count;
  int number = 100;
  edatFireEvent(&number, EDAT_INT, 1, EDAT_SELF, "second");
}

static void add(EDAT_Event *events, int count) {
  (void)count;
  printf("%d\n", *(int *)events[0].data + *(int *)events[1].data);
}

int main(void) {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitTask(begin, 0);
  } else if (edatGetRank() == 1) {
    edatSubmitTask(answer, 1, 0, "go");
    edatSubmitTask(add, 2, 0, "first", EDAT_SELF, "second");
  }
  edatFinalise();
  return 0;
}
