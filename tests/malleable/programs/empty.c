/* Data of which no rank has a row: from the start, or since all of its rows were lost. It is resized, saved,
 * loaded, and gets rows again.
 *
 *   empty FILE LOADED: loads LOADED if it is there, and saves FILE at the head of step 6.
 */
#include "check.h"

static void expect(int holds, const char *what, int64_t step) {
  if (!holds) {
    fprintf(stderr, "rank %d of %d, step %d: wrong %s\n", fsm_rank(), fsm_size(), (int)step, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
  }
}

/* Rows of the program's own, of which there are none. */
static int no_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  (void)context;
  *nbytes = 0;
  return first != end;
}
static int no_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  (void)context, (void)bytes;
  return first != end;
}
static int no_adopt(void *context, uint64_t first, uint64_t end) {
  (void)context;
  return first != end;
}
static int no_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  (void)context, (void)bytes;
  return first != end || nbytes != 0;
}

/* How many rows there are of a name, on all ranks together. */
static uint64_t rows_of_all(const char *name, int64_t step) {
  uint64_t first, count, all;
  void *rows = fsm_rows(name, &first, &count);
  expect(rows != NULL || strcmp(name, "lists") == 0, "address", step);
  MPI_Allreduce(&count, &all, 1, MPI_UINT64_T, MPI_SUM, fsm_comm());
  return all;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  checked(fsm_init(MPI_COMM_WORLD, NULL));
  int64_t step = 0;
  fsm_functions functions = {no_nbytes, no_pack, no_adopt, no_unpack, NULL};
  checked(fsm_register_rows("never", FSM_CONSTANT, 0, 24));
  checked(fsm_register_user("lists", 0, &functions));
  checked(fsm_register_rows("x", FSM_VARIABLE, 10, sizeof(int64_t)));
  checked(fsm_register_replicated("step", &step, sizeof step));
  if (checked(fsm_load(argv[2])) && !fsm_is_joining() && fsm_rank() == 0)
    printf("goes on at step %d\n", (int)step);
  const char *const names[] = {"x"};
  for (; step < 12; step++) {
    if (checked(fsm_checkpoint(step)) == FSM_LEAVE)
      break;
    expect(rows_of_all("never", step) == 0 && rows_of_all("lists", step) == 0, "rows of nothing", step);
    uint64_t wanted = step <= 2 ? 10 : step <= 8 ? 0 : 3;
    expect(rows_of_all("x", step) == wanted, "rows", step);
    if (step == 2)
      checked(fsm_set_rows(names, 1, 0));
    if (step == 6)
      checked(fsm_save(argv[1]));
    uint64_t first, count;
    if (step == 8) {
      checked(fsm_set_rows(names, 1, fsm_rank() == 0 ? 3 : 0));
      int64_t *x = fsm_rows("x", &first, &count);
      for (uint64_t at = 0; at < count; at++)
        x[at] = 7 + (int64_t)at;
    }
    int64_t *x = fsm_rows("x", &first, &count);
    for (uint64_t at = 0; step >= 8 && at < count; at++)
      expect(x[at] == (int64_t)(7 + first + at), "x", step);
  }
  int is_last = fsm_rank() == 0 && step == 12, size = fsm_size();
  checked(fsm_finalise());
  if (is_last)
    printf("%d ranks\n", size);
  MPI_Finalize();
  return 0;
}
