/* Events between two ranks: one way, and how many a second; tasks of one rank. */
#include "timing.h"
#include <freestone_events.h>
#include <stdatomic.h>

static char payload[1 << 20];
static atomic_long seen;
static int left;
static Turns measured;
static size_t nbytes;

/* Answers each event with one of the same size; ends when all turns are taken. */
static void answer(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  if (fse_rank() == 0) end_turn(&measured);
  if (fse_rank() == 0 && --left == 0) {
    fse_fire(NULL, FSE_NONE, 0, FSE_SELF, "done");
    return;
  }
  fse_fire(payload, FSE_BYTE, nbytes, events[0].source, "turn");
}

static void one_way(size_t size, int count) {
  nbytes = size;
  fse_dependency turn = {1 - fse_rank(), "turn"};
  left = count;
  fse_submit_on(answer, NULL, &turn, 1, FSE_PERSISTENT, "answer");
  fse_drain();
  if (fse_rank() == 0) {
    measured = begin_turns(count);
    fse_fire(payload, FSE_BYTE, nbytes, 1, "turn");
    fse_free(fse_wait(1, FSE_SELF, "done"));
    say_one_way(size, &measured);
  }
  fse_drain();
  fse_remove("answer");
}

static void count_them(const fse_event *events, int count, void *context) {
  (void)events, (void)context;
  atomic_fetch_add_explicit(&seen, count, memory_order_relaxed);
}

static void flood(const char *name, unsigned flags, int count) {
  fse_dependency small = {0, "small"};
  if (fse_rank() == 1) fse_submit_on(count_them, NULL, &small, 1, FSE_PERSISTENT | flags, "count");
  fse_drain();
  double start = now();
  if (fse_rank() == 0) {
    for (long value = 0; value < count; value++) {
      fse_fire(&value, FSE_LONG, 1, 1, "small");
    }
  }
  fse_drain();
  if (fse_rank() == 0) say(name, count / (now() - start));
  if (fse_rank() == 1) fse_remove("count");
}

static void nothing(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}

/* Submits so many tasks; says how many a second those were under this name, if it has one. */
static void free_tasks(int count, const char *name) {
  double start = now();
  for (int index = 0; index < count; index++) {
    fse_submit(nothing, NULL, 0);
  }
  double submitted = now();
  fse_drain();
  if (!name) return;
  double done = now();
  char submits[32];
  snprintf(submits, sizeof submits, "submits%s", name + strlen("tasks"));
  say(submits, count / (submitted - start));
  say(name, count / (done - start));
}

/* Seconds that a task with so many dependencies takes, from submitting it to its end. */
static double dependent(int dependencies, int count) {
  char (*ids)[16] = calloc(dependencies, sizeof *ids);
  fse_dependency *on = calloc(dependencies, sizeof *on);
  for (int index = 0; index < dependencies; index++) {
    snprintf(ids[index], sizeof ids[index], "d%d", index);
    on[index] = (fse_dependency){FSE_SELF, ids[index]};
  }
  double start = now();
  for (int turn = 0; turn < count; turn++) {
    fse_submit_on(nothing, NULL, on, dependencies, 0, NULL);
    for (int index = 0; index < dependencies; index++) {
      fse_fire(NULL, FSE_NONE, 0, FSE_SELF, ids[index]);
    }
  }
  fse_drain();
  double seconds = (now() - start) / count;
  free(on);
  free(ids);
  return seconds;
}

/* Seconds that an event for one task takes while so many others wait for theirs. */
static double matched(int waiting, int count) {
  char id[16];
  for (int index = 0; index < waiting; index++) {
    snprintf(id, sizeof id, "w%d", index);
    fse_submit(nothing, NULL, 1, FSE_SELF, id);
  }
  double start = now();
  for (int turn = 0; turn < count; turn++) {
    fse_submit(nothing, NULL, 1, FSE_SELF, "mine");
    fse_fire(NULL, FSE_NONE, 0, FSE_SELF, "mine");
  }
  double seconds = (now() - start) / count;
  for (int index = 0; index < waiting; index++) {
    snprintf(id, sizeof id, "w%d", index);
    fse_fire(NULL, FSE_NONE, 0, FSE_SELF, id);
  }
  fse_drain();
  return seconds;
}

static void copies(void) {
  enum { COUNT = 2000 };
  char *other = malloc(sizeof payload);
  memset(other, 1, sizeof payload);
  Turns copied = begin_turns(COUNT);
  for (int turn = 0; turn < COUNT; turn++) {
    payload[turn] = (char)turn;
    memcpy(other, payload, sizeof payload);
    __asm__ volatile("" : : "r"(other) : "memory");
    end_turn(&copied);
  }
  say("us_copy", median_turn(&copied) * 1e6);
  free(other);
}

int main(int argc, char **argv) {
  int scale = scale_of(argc, argv);
  memset(payload, 1, sizeof payload);
  if (fse_init(NULL) != FSE_OK) {
    fprintf(stderr, "%s\n", fse_error());
    return 1;
  }
  if (fse_ranks() == 1) {
    free_tasks(100000, NULL);
    free_tasks(200000 * scale, "tasks");
    free_tasks(1000000, "tasks_million");
    double one = dependent(1, 20000 * scale), many = dependent(1000, 20 * scale);
    say("dependencies", many / one);
    double few = matched(10, 20000 * scale), all = matched(100000, 20000 * scale);
    say("us_matched", few * 1e6);
    say("waiting", all / few);
    copies();
  } else {
    for (int index = 0; index < SIZES; index++) {
      one_way(sizes[index], turns(sizes[index], scale));
    }
    flood("events", 0, 200000 * scale);
    flood("events_greedy", FSE_GREEDY, 200000 * scale);
  }
  return fse_finalise() == FSE_OK ? 0 : 1;
}
