/* Every kind of data through resizes; each rank checks every number that it has, in each step. */
#include "check.h"

enum { ROWS = 1003, WIDTH = 37, STEPS = 30 };

/* Rows of different lengths: row r has r % 5 numbers. */
struct lists {
  uint64_t first, end;
  int64_t *numbers;
};

static uint64_t length(uint64_t first, uint64_t end) {
  uint64_t count = 0;
  for (uint64_t row = first; row < end; row++)
    count += row % 5;
  return count;
}

static int lists_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  (void)context;
  *nbytes = length(first, end) * sizeof(int64_t);
  return 0;
}

static int lists_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  struct lists *lists = context;
  if (first < lists->first || end > lists->end)
    return 1;
  memcpy(bytes, lists->numbers + length(lists->first, first), length(first, end) * sizeof(int64_t));
  return 0;
}

static int lists_adopt(void *context, uint64_t first, uint64_t end) {
  struct lists *lists = context;
  free(lists->numbers);
  *lists = (struct lists){first, end, malloc(length(first, end) * sizeof(int64_t) + 1)};
  return 0;
}

static int lists_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  struct lists *lists = context;
  if (nbytes != length(first, end) * sizeof(int64_t))
    return 1;
  memcpy(lists->numbers + length(lists->first, first), bytes, nbytes);
  return 0;
}

static void expect(int holds, const char *what, int64_t step) {
  if (!holds) {
    fprintf(stderr, "rank %d of %d, step %d: wrong %s\n", fsm_rank(), fsm_size(), (int)step, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  fsm_config config = {.user_phase = argc > 1 && strcmp(argv[1], "user") == 0};
  checked(fsm_init(MPI_COMM_WORLD, &config));
  int64_t step = 0;
  double total = 0;
  struct lists lists = {0, 0, NULL};
  fsm_functions functions = {lists_nbytes, lists_pack, lists_adopt, lists_unpack, &lists};
  checked(fsm_register_rows("A", FSM_CONSTANT, ROWS, WIDTH * sizeof(double)));
  checked(fsm_register_rows("x", FSM_VARIABLE, ROWS, WIDTH * sizeof(double)));
  checked(fsm_register_rows("short", FSM_VARIABLE, 5, 1));
  checked(fsm_register_replicated("step", &step, sizeof step));
  checked(fsm_register_replicated("total", &total, sizeof total));
  checked(fsm_register_user("lists", ROWS, &functions));

  uint64_t first, count;
  int was_joining = fsm_is_joining();
  if (!was_joining) {
    double *A = fsm_rows("A", &first, &count), *x = fsm_rows("x", NULL, NULL);
    for (uint64_t at = 0; at < count * WIDTH; at++)
      A[at] = x[at] = (double)(first * WIDTH + at);
    unsigned char *bytes = fsm_rows("short", &first, &count);
    for (uint64_t at = 0; at < count; at++)
      bytes[at] = (unsigned char)(first + at);
    fsm_rows("lists", &first, &count);
    lists_adopt(&lists, first, first + count);
    for (uint64_t at = 0; at < length(first, first + count); at++)
      lists.numbers[at] = (int64_t)(length(0, first) + at);
  }

  int resizes = 0, sizes[STEPS + 1] = {0}, carried = 0;
  for (; step < STEPS; step++) {
    int status = checked(fsm_checkpoint(step));
    if (status == FSM_USER_PHASE) {
      /* The old rank 0 sends a number to all new ranks, by itself. */
      fsm_resize_info info;
      checked(fsm_resize(&info));
      carried = info.old_rank == 0 ? 1000 + (int)step : 0;
      MPI_Bcast(&carried, 1, MPI_INT, 0, info.bridge);
      int size;
      MPI_Comm_size(info.bridge, &size);
      expect(size >= info.sources && size >= info.targets, "bridge", step);
      expect(info.old_rank >= 0 || fsm_role() == FSM_JOINING, "role", step);
      expect(info.new_rank >= 0 || fsm_role() == FSM_LEAVING, "role", step);
      status = checked(fsm_commit());
      expect(carried == 1000 + (int)step, "number of the user phase", step);
    }
    if (status == FSM_LEAVE)
      break;
    if (status == FSM_RESIZED)
      resizes++;
    int rank, size;
    MPI_Comm_rank(fsm_comm(), &rank);
    MPI_Comm_size(fsm_comm(), &size);
    expect(rank == fsm_rank() && size == fsm_size(), "communicator", step);
    double *A = fsm_rows("A", &first, &count), *x = fsm_rows("x", NULL, NULL), sum = 0;
    for (uint64_t at = 0; at < count * WIDTH; at++) {
      expect(A[at] == (double)(first * WIDTH + at), "constant", step);
      expect(x[at] == A[at] + (double)step, "variable", step);
      sum += x[at] += 1;
    }
    unsigned char *bytes = fsm_rows("short", &first, &count);
    for (uint64_t at = 0; at < count; at++)
      expect(bytes[at] == first + at, "bytes", step);
    fsm_rows("lists", &first, &count);
    expect(first == lists.first && first + count == lists.end, "rows of lists", step);
    for (uint64_t at = 0; at < length(first, first + count); at++)
      expect(lists.numbers[at] == (int64_t)(length(0, first) + at), "lists", step);
    double all, cells = (double)ROWS * WIDTH;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, fsm_comm());
    expect(all == cells * (cells - 1) / 2 + cells * (double)(step + 1), "sum", step);
    expect(total == (double)step, "replicated", step);
    total += 1;
    sizes[step] = size;
  }
  if (step == STEPS && fsm_rank() == 0) {
    printf("sizes");
    for (int at = 0; at < STEPS; at++)
      if (sizes[at] && (at == 0 || sizes[at] != sizes[at - 1]))
        printf(" %d", sizes[at]);
    printf(" cancelled %s\n", strlen(fsm_error()) ? fsm_error() : "none");
  }
  checked(fsm_finalise());
  free(lists.numbers);
  MPI_Finalize();
  return 0;
}
