/* Rows dealt by the program's own function, in several runs a rank, also rows that functions pack.
 *
 *   owner MODE [STATE]: `turns` deals blocks of five rows in turn; `minimal` has no function; the others are mistakes.
 *   With STATE it goes on from that file, if it is there, and saves it at step 10. Each rank checks all of its rows in
 *   each step. */
#include "check.h"

enum { ROWS = 203, BLOCK = 5, STEPS = 20, MOST = 70 };

static const char *mode;
static int world;

static int is_mode(const char *which) { return strcmp(mode, which) == 0; }

static int owner(void *context, uint64_t rows, int ranks, uint64_t row, uint64_t *end) {
  (void)context;
  if (*end != row + 1)
    return -9;
  uint64_t block = row / BLOCK;
  if (is_mode("outside") && ranks == 3 && row == 10)
    return 3;
  if (is_mode("outside first") && row == 10)
    return 7;
  if (is_mode("stands still") && ranks == 3 && row == 20)
    *end = row;
  if (is_mode("beyond") && ranks == 3 && row == 200)
    *end = rows + 1;
  if (is_mode("refuses") && ranks == 3)
    return -4;
  if (is_mode("differs first") && row == 15 && world == 1)
    return 0;
  if (is_mode("differs") && ranks == 3 && row == 15 && world == 1)
    return 1;
  if (*end == row + 1 && block % 2 == 0 && !is_mode("stands still"))
    *end = (block + 1) * BLOCK < rows ? (block + 1) * BLOCK : rows;
  return (int)(block % (uint64_t)ranks);
}

static int blocks(void *context, uint64_t rows, int ranks, uint64_t *offsets) {
  (void)context, (void)rows, (void)ranks, (void)offsets;
  return 1;
}

/* Lists of a row's number % 7 numbers, each the row's number and the steps done, in the runs that this rank has. */
typedef struct lists {
  int64_t *values[ROWS];
} lists;

static int list_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  (void)context;
  *nbytes = 0;
  for (uint64_t row = first; row < end; row++)
    *nbytes += row % 7 * sizeof(int64_t);
  return 0;
}
static int list_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  const lists *lists = context;
  char *into = bytes;
  for (uint64_t row = first; row < end; row++) {
    size_t nbytes = row % 7 * sizeof(int64_t);
    if (lists->values[row] == NULL)
      return 3;
    memcpy(into, lists->values[row], nbytes);
    into += nbytes;
  }
  return 0;
}
static int list_adopt(void *context, int runs, const uint64_t *bounds) {
  lists *lists = context;
  for (int row = 0; row < ROWS; row++) {
    free(lists->values[row]);
    lists->values[row] = NULL;
  }
  for (int run = 0; run < runs; run++) {
    if (run > 0 && bounds[2 * run] <= bounds[2 * run - 1])
      return 4;
    for (uint64_t row = bounds[2 * run]; row < bounds[2 * run + 1]; row++)
      lists->values[row] = calloc(row % 7 + 1, sizeof(int64_t));
  }
  return 0;
}
static int list_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  lists *lists = context;
  const char *from = bytes;
  for (uint64_t row = first; row < end; row++) {
    size_t own = row % 7 * sizeof(int64_t);
    if (lists->values[row] == NULL)
      return 5;
    memcpy(lists->values[row], from, own);
    from += own;
  }
  return (uint64_t)(from - (const char *)bytes) != nbytes;
}
static int no_adopt(void *context, uint64_t first, uint64_t end) {
  (void)context, (void)first, (void)end;
  return 1;
}

static void expect(int holds, const char *what, int64_t step) {
  if (!holds) {
    fprintf(stderr, "rank %d of %d, step %d: wrong %s\n", fsm_rank(), fsm_size(), (int)step, what);
    drained();
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
  }
}

static int64_t total(int64_t own) {
  int64_t all;
  MPI_Allreduce(&own, &all, 1, MPI_INT64_T, MPI_SUM, fsm_comm());
  return all;
}

/* Gives all rows their values, or checks them and adds one. */
static int64_t visit(lists *lists, int fills, int64_t step) {
  int64_t rows = 0;
  for (int run = 0; run < checked(fsm_runs("x")); run++) {
    uint64_t first, count, its_first, its_count;
    int64_t *x = fsm_run("x", run, &first, &count);
    fsm_run("lists", run, &its_first, &its_count);
    expect(first == its_first && count == its_count, "runs of lists", step);
    if (fills && run == 0) {
      uint64_t bounds[2 * MOST];
      for (int each = 0; each < fsm_runs("lists"); each++) {
        fsm_run("lists", each, &bounds[2 * each], &bounds[2 * each + 1]);
        bounds[2 * each + 1] += bounds[2 * each];
      }
      list_adopt(lists, fsm_runs("lists"), bounds);
    }
    for (uint64_t at = 0; at < count; at++) {
      int64_t row = (int64_t)(first + at);
      if (is_mode("turns"))
        expect(row / BLOCK % fsm_size() == fsm_rank(), "owner", step);
      expect(fsm_rank_of("x", first + at) == fsm_rank(), "rank", step);
      if (!fills)
        expect(x[at] == row + step, "x", step);
      x[at] = fills ? row + step : x[at] + 1;
      for (int one = 0; one < row % 7; one++) {
        int64_t *value = &lists->values[row][one];
        if (!fills)
          expect(*value == row + step, "lists", step);
        *value = fills ? row + step : *value + 1;
      }
    }
    rows += (int64_t)count;
  }
  return rows;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  mode = argc > 1 ? argv[1] : "";
  const char *state = argc > 2 ? argv[2] : "";
  fsm_config config = {.owner = is_mode("minimal") ? NULL : owner};
  config.minimal = is_mode("minimal") || is_mode("owner and minimal");
  config.layout = is_mode("owner and layout") ? blocks : NULL;
  checked(fsm_init(MPI_COMM_WORLD, &config));
  static lists lists;
  int64_t step = 0;
  fsm_functions functions = {list_nbytes, list_pack, no_adopt, list_unpack, &lists};
  fsm_register_rows("x", FSM_VARIABLE, ROWS, sizeof(int64_t));
  fsm_register_rows("A", FSM_CONSTANT, ROWS, 1);
  fsm_register_rows("none", FSM_VARIABLE, 0, 8);
  if (is_mode("one run"))
    fsm_register_user("lists", ROWS, &functions);
  else
    fsm_register_user_runs("lists", ROWS, &functions, is_mode("no adopt_runs") ? NULL : list_adopt);
  fsm_register_replicated("step", &step, sizeof step);
  int status = FSM_OK, is_right = is_mode("turns") || is_mode("minimal");
  int is_loaded = *state && checked(fsm_load(state));
  if (is_right && !is_loaded && !fsm_is_joining())
    visit(&lists, 1, 0);
  for (; step < STEPS; step++) {
    status = fsm_checkpoint(step);
    if (status == FSM_LEAVE)
      break;
    if (status < 0) {
      printf("rank %d: error %d: %s\n", fsm_rank(), status, fsm_error());
      fflush(stdout);
      /* All ranks have it and end; MPI_Abort may lose what was printed. */
      MPI_Finalize();
      return 1;
    }
    if (status == FSM_CANCELLED && fsm_rank() == 0)
      printf("cancelled: %s\n", fsm_error());
    if (is_right)
      expect(total(visit(&lists, 0, step)) == ROWS, "number of rows", step);
    if (*state && step == 10) {
      step++;
      checked(fsm_save(state));
      step--;
    }
  }
  if (status != FSM_LEAVE) {
    int most = fsm_runs("x");
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, fsm_comm());
    if (fsm_rank() == 0)
      printf("done: %d ranks, %d runs at most\n", fsm_size(), most);
  }
  checked(fsm_finalise());
  MPI_Finalize();
  return 0;
}
