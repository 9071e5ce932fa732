/* Listing 10: an event with an address is the token of who may change what is there. */
#include "edat.h"
#include <stdio.h>
#include <stdlib.h>

static long *total;

static void update(EDAT_Event *events, int count) {
  (void)count;
  long *there = *(long **)events[0].data;
  *there += *(int *)events[1].data;
  edatFireEvent(&total, EDAT_ADDRESS, 1, EDAT_SELF, "token");
}

int main(void) {
  edatInit();
  total = calloc(1, sizeof *total);
  if (edatGetRank() == 0) {
    edatSubmitPersistentTask(update, 2, EDAT_SELF, "token", EDAT_ANY, "value");
    edatFireEvent(&total, EDAT_ADDRESS, 1, EDAT_SELF, "token");
  } else {
    for (int value = 1; value <= 100; value++)
      edatFireEvent(&value, EDAT_INT, 1, 0, "value");
  }
  edatFinalise();
  if (*total > 0)
    printf("%ld\n", *total);
  return 0;
}
