/* A job of all kinds of data that is saved at one step, and goes on from the file.
 *
 *   saves [-w] FILE LOADED SAVED STEPS: loads LOADED if it is there, saves FILE at the head of step
 *   SAVED, and makes STEPS steps. It checks all numbers in each step. With -w rank 1 alone does not save;
 *   with -p there is no packed data, which Python can't read.
 */
#include "check.h"

enum { ROWS = 101, FIXED = 60 };

/* Rows of the program's own: row r is r % 5 times its number plus the steps done. */
typedef struct lists {
  int64_t *values;
  uint64_t first, end;
} lists;

static uint64_t before(uint64_t row) {
  static const uint64_t sums[] = {0, 0, 1, 3, 6};
  return row / 5 * 10 + sums[row % 5];
}
static int list_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  (void)context;
  *nbytes = (before(end) - before(first)) * sizeof(int64_t);
  return 0;
}
static int list_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  const lists *lists = context;
  if (before(end) > before(first))
    memcpy(bytes, lists->values + before(first) - before(lists->first),
           (before(end) - before(first)) * sizeof(int64_t));
  return 0;
}
static int list_adopt(void *context, uint64_t first, uint64_t end) {
  lists *lists = context;
  free(lists->values);
  lists->values = calloc(before(end) - before(first) + 1, sizeof(int64_t));
  lists->first = first;
  lists->end = end;
  return lists->values == NULL;
}
static int list_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  lists *lists = context;
  if (nbytes != (before(end) - before(first)) * sizeof(int64_t))
    return 4;
  if (nbytes > 0)
    memcpy(lists->values + before(first) - before(lists->first), bytes, nbytes);
  return 0;
}

static void require(int is_so, const char *what, int64_t step) {
  if (!is_so) {
    fprintf(stderr, "rank %d: %s is wrong at step %d\n", fsm_rank(), what, (int)step);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int is_wrong = argc > 1 && strcmp(argv[1], "-w") == 0, is_plain = argc > 1 && strcmp(argv[1], "-p") == 0;
  char **words = argv + 1 + (is_wrong || is_plain);
  int64_t saved = atoi(words[2]), steps = atoi(words[3]), step = 0;
  double total = 0;
  checked(fsm_init(MPI_COMM_WORLD, NULL));
  lists lists = {NULL, 0, 0};
  fsm_functions functions = {list_nbytes, list_pack, list_adopt, list_unpack, &lists};
  checked(fsm_register_rows("x", FSM_VARIABLE, ROWS, 2 * sizeof(double)));
  checked(fsm_register_rows("fixed", FSM_CONSTANT, FIXED, sizeof(int32_t)));
  if (!is_plain)
    checked(fsm_register_user("lists", ROWS, &functions));
  checked(fsm_register_replicated("step", &step, sizeof step));
  checked(fsm_register_replicated("total", &total, sizeof total));
  uint64_t first, count;
  int is_loaded = fsm_load(words[1]);
  if (is_loaded < 0) {
    fprintf(stderr, "error %d: %s\n", is_loaded, fsm_error());
    /* All ranks have it and end; MPI_Abort may lose what was printed. */
    MPI_Finalize();
    return 1;
  }
  if (!is_loaded) {
    double *x = fsm_rows("x", &first, &count);
    for (uint64_t at = 0; at < 2 * count; at++)
      x[at] = (double)(2 * first + at);
    int32_t *fixed = fsm_rows("fixed", &first, &count);
    for (uint64_t at = 0; at < count; at++)
      fixed[at] = (int32_t)(3 * (first + at));
    fsm_rows("lists", &first, &count);
    list_adopt(&lists, first, first + count);
    for (uint64_t row = first; row < first + count; row++)
      for (uint64_t at = before(row); at < before(row + 1); at++)
        lists.values[at - before(first)] = (int64_t)row;
  } else if (!fsm_is_joining()) {
    if (fsm_rank() == 0)
      printf("goes on at step %d of %d\n", (int)step, (int)fsm_step());
  }
  while (fsm_is_joining() || step < steps) {
    if (checked(fsm_checkpoint(step)) == FSM_LEAVE)
      break;
    if (step == saved && !(is_wrong && fsm_rank() == 1)) {
      int status = fsm_save(words[0]);
      if (status < 0) {
        printf("rank %d: error %d: %s\n", fsm_rank(), status, fsm_error());
        fflush(stdout);
        if (status != FSM_STATE)
          break;
      }
    }
    double *x = fsm_rows("x", &first, &count), own = 0, all;
    for (uint64_t at = 0; at < 2 * count; at++) {
      require(x[at] == (double)(2 * first + at) + (double)step, "x", step);
      own += x[at] += 1;
    }
    /* Whoever saves alone comes to no other call of MPI. */
    all = own;
    if (!is_wrong)
      MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, fsm_comm());
    total += all;
    int32_t *fixed = fsm_rows("fixed", &first, &count);
    for (uint64_t at = 0; at < count; at++)
      require(fixed[at] == (int32_t)(3 * (first + at)), "fixed", step);
    fsm_rows("lists", &first, &count);
    for (uint64_t row = first; !is_plain && row < first + count; row++)
      for (uint64_t at = before(row); at < before(row + 1); at++)
        require(lists.values[at - before(first)]++ == (int64_t)row + step, "lists", step);
    step++;
  }
  if (step >= steps && fsm_rank() == 0)
    printf("%d ranks: total %.0f\n", fsm_size(), total);
  int status = fsm_finalise();
  if (status < 0) {
    printf("rank %d: error %d: %s\n", fsm_rank(), status, fsm_error());
    fflush(stdout);
  }
  free(lists.values);
  MPI_Finalize();
  return status < 0;
}
