/* Programs that are wrong, by their first argument; each has to end with an error on all ranks. */
#include "check.h"
#include <unistd.h>

static int uncovered(void *context, uint64_t rows, int ranks, uint64_t *offsets) {
  const int *wrong_ranks = context;
  for (int rank = 0; rank <= ranks; rank++)
    offsets[rank] = rows * (uint64_t)rank / (uint64_t)ranks;
  if (ranks == *wrong_ranks)
    offsets[ranks] = rows - 1;
  if (ranks == -*wrong_ranks)
    offsets[1]++;
  return 0;
}

/* Rows without content, of functions of which one fails. */
typedef struct lists {
  const char *fails;
  int is_odd;
} lists;

static int result(const lists *lists, const char *function) {
  return lists->is_odd && strcmp(lists->fails, function) == 0 ? 3 : 0;
}
static int no_adopt(void *context, uint64_t first, uint64_t end) {
  (void)first, (void)end;
  return result(context, "adopt");
}
static int no_bytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  (void)first, (void)end;
  const lists *lists = context;
  *nbytes = lists->is_odd && strcmp(lists->fails, "nbytes") == 0 ? (uint64_t)1 << 60 : 0;
  return 0;
}
static int no_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  (void)first, (void)end, (void)bytes;
  return result(context, "pack");
}
static int no_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  (void)first, (void)end, (void)bytes, (void)nbytes;
  return result(context, "unpack");
}

static int failed(int status) {
  if (status < 0) {
    /* The next call may fail, too, and replace the text. */
    char text[1000];
    snprintf(text, sizeof text, "%s", fsm_error());
    printf("rank %d: error %d: %s\n", fsm_rank(), status, text);
    fflush(stdout);
  }
  return status < 0;
}

/* Gives settings that differ from those of other ranks. */
static void set_otherwise(fsm_config *config, const char *wrong) {
  if (strcmp(wrong, "timeout") == 0)
    config->timeout_s = 5;
  if (strcmp(wrong, "targets") == 0)
    config->targets = "3:4,6:1";
  if (strcmp(wrong, "phase") == 0)
    config->user_phase = 1;
  if (strcmp(wrong, "no layout") == 0)
    config->layout = NULL;
}

/* Calls at which the job goes on. */
static int make_calls(void) {
  const char *const twice[] = {"x", "x"};
  MPI_Init(NULL, NULL);
  checked(fsm_init(MPI_COMM_WORLD, NULL));
  checked(fsm_register_rows("x", FSM_VARIABLE, 100, 8));
  checked(fsm_checkpoint(0));
  failed(fsm_set_rows(twice, 2, 9));
  checked(fsm_checkpoint(1));
  checked(fsm_finalise());
  failed(fsm_checkpoint(2));
  if (fsm_rows("x", NULL, NULL) == NULL)
    printf("no rows: %s\n", fsm_error());
  MPI_Finalize();
  return 0;
}

/* Goes on without a job. */
static int not_begun(void) {
  int64_t step = 0;
  MPI_Init(NULL, NULL);
  failed(fsm_checkpoint(0));
  failed(fsm_init(MPI_COMM_WORLD, NULL));
  failed(fsm_register_replicated("step", &step, sizeof step));
  failed(fsm_is_joining());
  failed(fsm_checkpoint(0));
  fsm_config config = {.method = FSM_MERGE};
  checked(fsm_init(MPI_COMM_WORLD, &config));
  checked(fsm_checkpoint(0));
  checked(fsm_finalise());
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "not begun") == 0)
    return not_begun();
  if (argc > 1 && strcmp(argv[1], "later calls") == 0)
    return make_calls();
  MPI_Init(&argc, &argv);
  const char *wrong = argc > 1 ? argv[1] : "";
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL && strcmp(wrong, "exits at once") == 0)
    exit(3);
  int world, is_later = strcmp(wrong, "layout later") == 0;
  int wrong_ranks = strcmp(wrong, "layout") == 0 ? 2 : is_later ? 3 : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  if (world == 1 && strcmp(wrong, "layout differs") == 0)
    wrong_ranks = -3;
  fsm_config config = {.layout = uncovered, .context = &wrong_ranks};
  if (strcmp(wrong, "joins otherwise") == 0 && parent != MPI_COMM_NULL)
    config.slots = 7;
  if (world == 1)
    set_otherwise(&config, wrong);
  if (strcmp(wrong, "calls") == 0)
    failed(fsm_init(MPI_COMM_NULL, NULL));
  checked(fsm_init(MPI_COMM_WORLD, &config));
  if (strcmp(wrong, "calls") == 0) {
    failed(fsm_init(MPI_COMM_WORLD, NULL));
    failed(fsm_request(-3));
    failed(fsm_commit());
    failed(fsm_register_replicated("\xff", &world, sizeof world));
    failed(fsm_register_rows("nothing", FSM_VARIABLE, 100, 0));
  }
  int64_t step = 0;
  int is_odd = world == 1;
  int differs = strcmp(wrong, "joining") == 0 ? fsm_is_joining() : is_odd && strcmp(wrong, "data") == 0;
  fsm_register_rows("x", FSM_VARIABLE, differs ? 99 : 100, 8);
  fsm_register_replicated("step", &step, sizeof step);
  if (is_odd && strcmp(wrong, "twice") == 0)
    failed(fsm_register_rows("x", FSM_VARIABLE, 100, 8));
  lists lists = {wrong, is_odd};
  fsm_functions functions = {no_bytes, no_pack, no_adopt, no_unpack, &lists};
  fsm_register_user("lists", 100, &functions);
  if (fsm_is_joining() && strcmp(wrong, "hangs") == 0)
    sleep(1000);
  if (fsm_is_joining() && is_odd && strcmp(wrong, "one hangs") == 0)
    sleep(1000);
  if (fsm_is_joining() && strcmp(wrong, "exits") == 0)
    exit(3);
  if (fsm_is_joining() && strcmp(wrong, "ends") == 0) {
    MPI_Finalize();
    return 3;
  }
  int status = 0;
  for (; step < 10; step++) {
    if (step == 4 && is_odd && strcmp(wrong, "skip") == 0)
      continue;
    if (step == 5 && is_odd && strcmp(wrong, "break") == 0)
      break;
    if (step == 6 && is_odd && strcmp(wrong, "hang") == 0)
      MPI_Barrier(MPI_COMM_WORLD);
    if (step == 2 && strcmp(wrong, "finalized") == 0) {
      MPI_Finalize();
      failed(fsm_checkpoint(step));
      failed(fsm_save("state"));
      failed(fsm_finalise());
      return 1;
    }
    if (step == 4 && is_odd && strcmp(wrong, "rows") == 0) {
      const char *const names[] = {"x"};
      status = fsm_set_rows(names, 1, 9);
      if (failed(status))
        break;
    }
    status = fsm_checkpoint(step);
    if (status == FSM_CANCELLED && fsm_rank() == 0)
      printf("cancelled: %s\n", fsm_error());
    if (status == FSM_LEAVE || failed(status))
      break;
  }
  if (status < 0) {
    /* Later calls return the same. */
    int again = fsm_checkpoint(step);
    printf("rank %d: again %d: %s\n", fsm_rank(), again, fsm_error());
    fflush(stdout);
  }
  if (status >= 0 && status != FSM_LEAVE && failed(fsm_finalise()))
    status = -1;
  if (status == FSM_LEAVE)
    fsm_finalise();
  if (status < 0) {
    /* All ranks have it and end; MPI_Abort may lose what was printed. */
    if (strcmp(wrong, "hang") == 0 && !is_odd)
      MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return status < 0;
}
