/* Listing 6: a barrier in which nobody waits. */
#include "edat.h"
#include <stdio.h>

static void after(EDAT_Event *events, int count) {
  (void)events;
  printf("rank %d: all %d are here\n", edatGetRank(), count);
}

int main(void) {
  edatInit();
  edatSubmitTask(after, 1, EDAT_ALL, "here");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_ALL, "here");
  edatFinalise();
  return 0;
}
