/* A greedy task takes all events that are there: here a batch of four. */
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event *events, int count) {
  int total = 0;
  for (int index = 0; index < count; index++)
    total += *(int *)events[index].data;
  printf("%d: %d\n", count, total);
}

int main(void) {
  char *keys[] = {"EDAT_BATCH_EVENTS", "EDAT_MAX_BATCHED_EVENTS"}, *values[] = {"true", "4"};
  edatInitWithConfiguration(2, keys, values);
  edatSubmitPersistentNamedGreedyTask(task, "batches", 1, EDAT_SELF, "number");
  for (int number = 0; number < 4; number++)
    edatFireEvent(&number, EDAT_INT, 1, EDAT_SELF, "number");
  edatFinalise();
  return 0;
}
