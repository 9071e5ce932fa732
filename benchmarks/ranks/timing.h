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

static inline void say_one_way(size_t nbytes, double seconds, int count) {
  char name[32];
  snprintf(name, sizeof name, "us_%zu", nbytes);
  say(name, seconds / count / 2 * 1e6);
}

static inline int scale_of(int argc, char **argv) { return argc > 1 ? atoi(argv[1]) : 1; }

#endif
