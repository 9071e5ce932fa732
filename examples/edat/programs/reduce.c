/* Listing 5: one event of every rank. */
#include "edat.h"
#include <stdio.h>

static void add_up(EDAT_Event *events, int count) {
  long total = 0;
  for (int index = 0; index < count; index++)
    total += *(long *)events[index].data;
  printf("rank %d: %ld\n", edatGetRank(), total);
}

int main(void) {
  edatInit();
  long square = (long)edatGetRank() * edatGetRank();
  edatSubmitTask(add_up, 1, EDAT_ALL, "square");
  edatFireEvent(&square, EDAT_LONG, 1, EDAT_ALL, "square");
  edatFinalise();
  return 0;
}
