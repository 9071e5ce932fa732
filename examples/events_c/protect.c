/* An event as the token of who may change something (listing 10): a task that stays needs it and a
 * value, changes what the token points to, and fires the token again. However many values come and
 * however many workers there are, one task at a time has the token. */
#include <freestone_events.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 1000 };

typedef struct {
  long sum;
  long seen;
  int inside;
} Totals;

static void update(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  Totals *totals = (Totals *)events[0].data;
  if (totals->inside++ != 0) {
    fse_fail("two tasks had the token at once");
  }
  totals->sum += *(const int32_t *)events[1].data;
  totals->seen++;
  totals->inside--;
  fse_fire_address(totals, "token");
}

int main(void) {
  fse_config config = {.workers = 3};
  if (fse_init(&config) != FSE_OK) {
    fprintf(stderr, "%s\n", fse_error());
    return 1;
  }
  Totals *totals = calloc(1, sizeof *totals);
  if (fse_rank() == 0) {
    fse_submit_persistent(update, NULL, 2, FSE_SELF, "token", FSE_ANY, "value");
    fse_fire_address(totals, "token");
  } else {
    for (int32_t value = 1; value <= VALUES; value++) {
      fse_fire(&value, FSE_INT, 1, 0, "value");
    }
  }
  int result = fse_finalise();
  if (totals->seen > 0) {
    printf("%ld values, %ld in all\n", totals->seen, totals->sum);
  }
  free(totals);
  return result == FSE_OK ? 0 : 1;
}
