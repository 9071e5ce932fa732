/* Rows that move as little as they can, in several runs a rank, through resizes, other numbers of rows, and
 * a file. Each rank checks every row that it has in each step; rank 0 prints what moved. */
#include "check.h"

enum { ROWS = 5600, FEW = 7, STEPS = 40 };

static void expect(int holds, const char *what, int64_t step) {
  if (!holds) {
    fprintf(stderr, "rank %d of %d, step %d: wrong %s\n", fsm_rank(), fsm_size(), (int)step, what);
    drained();
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static int64_t total(int64_t own) {
  int64_t all;
  MPI_Allreduce(&own, &all, 1, MPI_INT64_T, MPI_SUM, fsm_comm());
  return all;
}

/* Rows of no content, whose functions see that they are one run. */
typedef struct held {
  uint64_t first, end;
} held;
static int none_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  (void)context, (void)first, (void)end;
  *nbytes = 0;
  return 0;
}
static int none_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  const held *held = context;
  (void)bytes;
  return first < held->first || end > held->end;
}
static int none_adopt(void *context, uint64_t first, uint64_t end) {
  *(held *)context = (held){first, end};
  return 0;
}
static int none_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  (void)bytes;
  return nbytes != 0 || none_pack(context, first, end, NULL);
}

/* Which rows this rank had at the last step, of `x`. */
static unsigned char had[ROWS];

static int64_t gained_rows(void) {
  unsigned char has[ROWS] = {0};
  int64_t gained = 0;
  for (int run = 0; run < checked(fsm_runs("x")); run++) {
    uint64_t first, count;
    fsm_run("x", run, &first, &count);
    for (uint64_t row = first; row < first + count; row++) {
      has[row] = 1;
      gained += !had[row];
    }
  }
  memcpy(had, has, sizeof had);
  return gained;
}

/* Checks the rows of an array of numbers, each its row's number and what is added to it, and adds one. */
static int64_t check(const char *name, int64_t added, int adds, int64_t step) {
  int64_t rows = 0;
  for (int run = 0; run < checked(fsm_runs(name)); run++) {
    uint64_t first, count;
    int64_t *x = fsm_run(name, run, &first, &count);
    for (uint64_t at = 0; at < count; at++) {
      expect(x[at] == (int64_t)(first + at) + added, name, step);
      x[at] += adds;
      if (at == 0 || at == count - 1)
        expect(checked(fsm_rank_of(name, first + at)) == fsm_rank(), "rank of a row", step);
    }
    rows += (int64_t)count;
  }
  return rows;
}

static void fill(const char *name, int64_t added) {
  for (int run = 0; run < checked(fsm_runs(name)); run++) {
    uint64_t first, count;
    int64_t *x = fsm_run(name, run, &first, &count);
    for (uint64_t at = 0; at < count; at++)
      x[at] = (int64_t)(first + at) + added;
  }
}

/* Replaces the rows of `p` by as many; they have the numbers in order, in one run. */
static void replace(int64_t step) {
  static int64_t kept[ROWS];
  uint64_t first, count, at = 0;
  for (int run = 0; run < checked(fsm_runs("p")); run++) {
    int64_t *p = fsm_run("p", run, &first, &count);
    memcpy(kept + at, p, count * sizeof *p);
    at += count;
  }
  const char *const names[] = {"p"};
  checked(fsm_set_rows(names, 1, at));
  int64_t *p = fsm_rows("p", &first, &count);
  expect(count == at && memcmp(p, kept, count * sizeof *p) == 0, "rows that were replaced", step);
  fill("p", step);
}

static int no_layout(void *context, uint64_t rows, int ranks, uint64_t *offsets) {
  (void)context, (void)rows, (void)ranks, (void)offsets;
  return 1;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  fsm_config config = {.minimal = 1, .layout = argc > 2 ? no_layout : NULL};
  checked(fsm_init(MPI_COMM_WORLD, &config));
  const char *state = argc > 1 ? argv[1] : "";
  int64_t step = 0, sent = 0;
  held lists = {0, 0};
  fsm_functions functions = {none_nbytes, none_pack, none_adopt, none_unpack, &lists};
  checked(fsm_register_rows("A", FSM_CONSTANT, ROWS, sizeof(int64_t)));
  checked(fsm_register_rows("x", FSM_VARIABLE, ROWS, sizeof(int64_t)));
  checked(fsm_register_rows("p", FSM_VARIABLE, ROWS, sizeof(int64_t)));
  checked(fsm_register_rows("few", FSM_VARIABLE, FEW, sizeof(int64_t)));
  checked(fsm_register_user("lists", 91, &functions));
  checked(fsm_register_rows("beside", FSM_VARIABLE, 91, sizeof(int64_t)));
  checked(fsm_register_replicated("step", &step, sizeof step));
  int is_loaded = *state && checked(fsm_load(state));
  if (!is_loaded && !fsm_is_joining()) {
    const char *const names[] = {"A", "x", "p", "few", "beside"};
    for (int at = 0; at < 5; at++)
      fill(names[at], 0);
    uint64_t first, count;
    fsm_rows("lists", &first, &count);
    lists = (held){first, first + count};
  }
  if (!fsm_is_joining())
    gained_rows();
  int size = fsm_size();
  for (; step < STEPS; step++) {
    int status = checked(fsm_checkpoint(step));
    if (status == FSM_LEAVE)
      break;
    if (status == FSM_CANCELLED && fsm_rank() == 0)
      printf("cancelled: %s\n", fsm_error());
    if (status == FSM_RESIZED) {
      int64_t gained = total(gained_rows()), all = total(fsm_sent_nbytes() - sent);
      int most = checked(fsm_runs("x"));
      MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, fsm_comm());
      if (fsm_rank() == 0)
        printf("%d to %d: %d rows, %d bytes sent by who stays, %d runs at most\n", size, fsm_size(),
               (int)gained, (int)all, most);
      sent = fsm_sent_nbytes();
    }
    /* A rank that joins does not know what size there was before. */
    size = fsm_size();
    expect(total(check("A", 0, 0, step)) == ROWS, "number of rows", step);
    expect(total(check("x", step, 1, step)) == ROWS, "number of rows", step);
    expect(total(check("p", step, 1, step)) == ROWS, "number of rows", step);
    expect(total(check("few", step, 1, step)) == FEW, "number of rows", step);
    expect(total(check("beside", step, 1, step)) == 91, "number of rows", step);
    uint64_t first, count;
    expect(fsm_rows("beside", &first, &count) != NULL, "run", step);
    expect(first == lists.first && first + count == lists.end, "lists", step);
    if (fsm_runs("x") > 1)
      expect(fsm_rows("x", NULL, NULL) == NULL && strstr(fsm_error(), "runs of rows") != NULL, "error", step);
    expect(fsm_rank_of("x", ROWS) == FSM_BAD_CALL && fsm_run("x", 99, NULL, NULL) == NULL, "error", step);
    if (step % 13 == 12)
      replace(step + 1);
    if (*state && step == 20) {
      step++;
      checked(fsm_save(state));
      step--;
    }
  }
  if (step == STEPS && fsm_rank() == 0)
    printf("done %d\n", fsm_size());
  checked(fsm_finalise());
  MPI_Finalize();
  return 0;
}
