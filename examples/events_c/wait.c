/* A task that waits keeps its variables, and its worker runs others meanwhile; a lock that it has
 * is let go. Then it takes what is there without waiting, and a clock ends it all. */
#include <freestone_events.h>
#include <stdio.h>

static void ask(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  double sum = 0;
  fse_lock("sum");
  for (int turn = 0; turn < 100; turn++) {
    double value = turn;
    fse_fire(&value, FSE_DOUBLE, 1, FSE_SELF, "question");
    const fse_event *answer = fse_wait(1, FSE_SELF, "answer");
    sum += *(const double *)answer->data;
    fse_free(answer);
  }
  fse_unlock("sum");
  int found = 0;
  const fse_event *rest = fse_retrieve_any(&found, 2, FSE_ANY, "nothing", FSE_ANY, "answer");
  printf("%g, and %d more\n", sum, found);
  fse_free(rest);
  fse_remove("answers");
}

static void reply(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  fse_lock("sum");
  double value = 2 * *(const double *)events[0].data;
  fse_fire(&value, FSE_DOUBLE, 1, FSE_SELF, "answer");
}

int main(void) {
  if (fse_init(NULL) != FSE_OK) {
    fprintf(stderr, "%s\n", fse_error());
    return 1;
  }
  fse_dependency question = {FSE_SELF, "question"};
  fse_submit_on(reply, NULL, &question, 1, FSE_PERSISTENT, "answers");
  fse_submit(ask, NULL, 1, FSE_SELF, "begin");
  fse_after(0.001, "begin");
  return fse_finalise() == FSE_OK ? 0 : 1;
}
