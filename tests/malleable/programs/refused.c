/* Calls that are refused, by the first argument, in programs that do not look at what they return. */
#include "check.h"

static void report(const char *what, int status) {
  printf("rank %d: %s %d%s%s\n", fsm_rank(), what, status, status < 0 ? ": " : "",
         status < 0 ? fsm_error() : "");
  fflush(stdout);
}

static int is_asked(const char *asked, const char *which) { return strcmp(asked, which) == 0; }

/* Registers data wrongly, on the last rank. */
static void register_wrongly(const char *which) {
  double value = 0;
  fsm_functions none = {0};
  if (is_asked(which, "kind"))
    fsm_register_rows("x", 3, 10, 8);
  if (is_asked(which, "address"))
    fsm_register_replicated("s", NULL, 8);
  if (is_asked(which, "no functions"))
    fsm_register_user("u", 8, NULL);
  if (is_asked(which, "empty functions"))
    fsm_register_user("u", 8, &none);
  if (is_asked(which, "name"))
    fsm_register_replicated(NULL, &value, sizeof value);
  if (is_asked(which, "letters"))
    fsm_register_rows("\xff", FSM_VARIABLE, 10, 8);
}

/* Is resized at steps 2 and 3 by user phases, in which other calls are refused. */
static void resize_with_refused_calls(void) {
  int64_t step = 0;
  int status = FSM_OK;
  checked(fsm_register_replicated("step", &step, sizeof step));
  for (; step < 5 || fsm_is_joining(); step++) {
    status = checked(fsm_checkpoint(step));
    if (status == FSM_USER_PHASE) {
      int ended = fsm_finalise(), again = fsm_checkpoint(step + 1);
      if (ended != FSM_BAD_CALL || again != FSM_BAD_CALL)
        MPI_Abort(MPI_COMM_WORLD, 2);
      status = checked(fsm_commit());
    }
    if (status == FSM_LEAVE)
      return;
  }
  if (fsm_rank() == 0)
    printf("%d ranks\n", fsm_size());
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const char *which = argc > 1 ? argv[1] : "";
  int world, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  fsm_config config = {.user_phase = is_asked(which, "phase")};
  checked(fsm_init(MPI_COMM_WORLD, &config));
  if (config.user_phase) {
    resize_with_refused_calls();
  } else {
    if (world == ranks - 1)
      register_wrongly(which);
    int status = fsm_checkpoint(0);
    report("checkpoint", status);
    if (status < 0) {
      /* All ranks have it and end; MPI_Abort may lose what was printed. */
      MPI_Finalize();
      return 1;
    }
    fsm_register_rows("late", 3, 10, 8);
    report("checkpoint", fsm_checkpoint(1));
  }
  checked(fsm_finalise());
  MPI_Finalize();
}
