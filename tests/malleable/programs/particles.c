/* Rows that come and go in every third step, through resizes; each rank checks each row, and all together
 * check that none is lost. A particle has a number, twice that number, and a list of numbers of its own. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <unistd.h>

enum { ROWS = 300, STEPS = 40 };

static int64_t *owned; /* what the program keeps by itself: three times the number */
static uint64_t owned_first, owned_count;

static int owned_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  (void)context;
  *nbytes = (end - first) * sizeof *owned;
  return 0;
}

static int owned_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  (void)context;
  if (first < owned_first || end > owned_first + owned_count)
    return 1;
  memcpy(bytes, owned + (first - owned_first), (end - first) * sizeof *owned);
  return 0;
}

static int owned_adopt(void *context, uint64_t first, uint64_t end) {
  (void)context;
  free(owned);
  owned = malloc((end - first) * sizeof *owned + 1);
  owned_first = first;
  owned_count = end - first;
  return 0;
}

static int owned_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  (void)context;
  (void)end;
  memcpy(owned + (first - owned_first), bytes, nbytes);
  return 0;
}

static void expect(int holds, const char *what, int64_t step) {
  if (!holds) {
    fprintf(stderr, "rank %d of %d, step %d: wrong %s\n", fsm_rank(), fsm_size(), (int)step, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static int is_gone(int64_t number, int64_t step) { return (number * 7 + step) % 11 == 0; }
static int has_child(int64_t number, int64_t step) { return (number * 5 + step) % 9 == 0; }
static int64_t child(int64_t number, int64_t step) { return number % 1000 + 1000 * (step + 1); }

/* The sum of all particles' numbers after a step, and how many there are, as one process has them. */
static void alone(int64_t steps, int64_t *sum, int64_t *count) {
  static int64_t numbers[100000];
  int64_t n = ROWS;
  for (int64_t at = 0; at < n; at++)
    numbers[at] = at + 1;
  for (int64_t step = 0; step < steps; step += 3) {
    int64_t born = 0, left = 0;
    static int64_t next[100000];
    for (int64_t at = 0; at < n; at++)
      if (!is_gone(numbers[at], step))
        next[left++] = numbers[at];
    for (int64_t at = 0; at < n; at++)
      if (has_child(numbers[at], step))
        next[left + born++] = child(numbers[at], step);
    n = left + born;
    memcpy(numbers, next, (size_t)n * sizeof *next);
  }
  *sum = 0;
  for (int64_t at = 0; at < n; at++)
    *sum += numbers[at];
  *count = n;
}

static void wrong(int64_t step) {
  uint64_t count;
  int64_t *number = fsm_rows("number", NULL, &count), before = count ? number[0] : 0;
  const char *const none[] = {"nothing"}, *const constant[] = {"fixed"}, *const one[] = {"number"},
                    *const other[] = {"twice"};
  expect(fsm_set_rows(none, 1, 3) == FSM_BAD_CALL && strstr(fsm_error(), "\"nothing\""), "name", step);
  expect(fsm_set_rows(NULL, 0, 3) == FSM_BAD_CALL && strstr(fsm_error(), "no data"), "names", step);
  expect(fsm_set_rows(constant, 1, 3) == FSM_BAD_CALL, "constant", step);
  expect(fsm_set_rows(one, 1, UINT64_MAX) == FSM_BAD_CALL, "number of rows", step);
  if (fsm_size() > 1)
    expect(fsm_set_rows(fsm_rank() ? one : other, 1, 3) == FSM_BAD_CALL, "disagreement", step);
  uint64_t after;
  expect(fsm_rows("number", NULL, &after) == number && after == count, "address", step);
  expect(!count || number[0] == before, "row after errors", step);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  checked(fsm_init(MPI_COMM_WORLD, NULL));
  int64_t step = 0;
  fsm_functions functions = {owned_nbytes, owned_pack, owned_adopt, owned_unpack, NULL};
  checked(fsm_register_rows("fixed", FSM_CONSTANT, ROWS, sizeof(int64_t)));
  checked(fsm_register_rows("number", FSM_VARIABLE, ROWS, sizeof(int64_t)));
  checked(fsm_register_rows("twice", FSM_VARIABLE, ROWS, 2 * sizeof(int64_t)));
  checked(fsm_register_user("thrice", ROWS, &functions));
  checked(fsm_register_replicated("step", &step, sizeof step));
  uint64_t first, count;
  if (!fsm_is_joining()) {
    int64_t *fixed = fsm_rows("fixed", &first, &count), *number = fsm_rows("number", NULL, NULL);
    int64_t *twice = fsm_rows("twice", NULL, NULL);
    owned_adopt(NULL, first, first + count);
    for (uint64_t at = 0; at < count; at++) {
      fixed[at] = number[at] = (int64_t)(first + at + 1);
      twice[2 * at] = twice[2 * at + 1] = 2 * number[at];
      owned[at] = 3 * number[at];
    }
  }
  const char *const names[] = {"number", "twice", "thrice"};
  int resizes = 0, cancelled = 0;
  for (; step < STEPS; step++) {
    int status = checked(fsm_checkpoint(step));
    if (status == FSM_LEAVE)
      break;
    resizes += status == FSM_RESIZED;
    cancelled += status == FSM_CANCELLED;
    if (argc > 1)
      usleep((useconds_t)atoi(argv[1]));
    int64_t *fixed = fsm_rows("fixed", &first, &count);
    for (uint64_t at = 0; at < count; at++)
      expect(fixed[at] == (int64_t)(first + at + 1), "fixed", step);
    int64_t *number = fsm_rows("number", &first, &count), *twice = fsm_rows("twice", NULL, NULL);
    expect(count == owned_count && (!count || first == owned_first), "rows of the program", step);
    int64_t own[2] = {0, (int64_t)count}, all[2], sum, total;
    for (uint64_t at = 0; at < count; at++) {
      expect(twice[2 * at] == 2 * number[at] && twice[2 * at + 1] == 2 * number[at], "twice", step);
      expect(owned[at] == 3 * number[at], "thrice", step);
      own[0] += number[at];
    }
    MPI_Allreduce(own, all, 2, MPI_INT64_T, MPI_SUM, fsm_comm());
    alone(step, &sum, &total);
    expect(all[0] == sum && all[1] == total, "particles", step);
    if (step == 5)
      wrong(step);
    if (step % 3)
      continue;
    uint64_t left = 0, born = 0;
    int64_t *next = malloc((2 * count + 1) * sizeof *next);
    for (uint64_t at = 0; at < count; at++)
      if (!is_gone(number[at], step))
        next[left++] = number[at];
    for (uint64_t at = 0; at < count; at++)
      if (has_child(number[at], step))
        next[left + born++] = child(number[at], step);
    uint64_t kept = count < left + born ? count : left + born;
    int64_t last = kept ? number[kept - 1] : 0;
    checked(fsm_set_rows(names, 3, left + born));
    number = fsm_rows("number", &first, &count);
    twice = fsm_rows("twice", NULL, NULL);
    expect(count == left + born && (!kept || number[kept - 1] == last), "rows that are kept", step);
    for (uint64_t at = kept; at < count; at++)
      expect(number[at] == 0, "rows that are new", step);
    owned_adopt(NULL, first, first + count);
    for (uint64_t at = 0; at < count; at++) {
      number[at] = next[at];
      twice[2 * at] = twice[2 * at + 1] = 2 * next[at];
      owned[at] = 3 * next[at];
    }
    free(next);
  }
  int is_last = fsm_rank() == 0 && step == STEPS, size = fsm_size();
  checked(fsm_finalise());
  if (is_last)
    printf("%d ranks, %d resizes, %d cancelled\n", size, resizes, cancelled);
  MPI_Finalize();
  return 0;
}
