/* What the programs of this folder have in common: sizes, counts, a clock and lines of JSON. */
#ifndef TIMING_H
#define TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZES = 3 };
static const size_t sizes[SIZES] = {8, 1024, 1 << 20};

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

/* How often a payload goes there and back; `scale` is 1, or 10 for figures that last. */
static inline int turns(size_t nbytes, int scale) {
  return scale * (nbytes > 65536 ? 100 : 5000);
}

static inline void say(const char *name, double value) {
  printf("{\"%s\": %.6g}\n", name, value);
  fflush(stdout);
}

enum { BATCHES = 50 };

/* How long turns take, in batches: their median is without what else had the processor for a while. */
typedef struct {
  int each, left, done;
  double last, seconds[BATCHES];
} Turns;

/* Begins to measure so many turns, a multiple of BATCHES. */
static inline Turns begin_turns(int count) {
  return (Turns){.each = count / BATCHES, .left = count / BATCHES, .last = now()};
}

/* A turn is over. */
static inline void end_turn(Turns *turns) {
  if (--turns->left > 0 || turns->done == BATCHES) return;
  double time = now();
  turns->seconds[turns->done++] = (time - turns->last) / turns->each;
  turns->last = time;
  turns->left = turns->each;
}

static inline int compare_seconds(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Seconds of a turn. */
static inline double median_turn(Turns *turns) {
  qsort(turns->seconds, turns->done, sizeof *turns->seconds, compare_seconds);
  return turns->seconds[turns->done / 2];
}

static inline void say_one_way(size_t nbytes, Turns *turns) {
  char name[32];
  snprintf(name, sizeof name, "us_%zu", nbytes);
  say(name, median_turn(turns) / 2 * 1e6);
}

static inline int scale_of(int argc, char **argv) { return argc > 1 ? atoi(argv[1]) : 1; }

#endif
