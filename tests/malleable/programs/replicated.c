/* Replicated data that is not the same on all ranks, by the first argument; and arguments, which all ranks print. */
#include "check.h"

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const char *which = argc > 1 ? argv[1] : "";
  int world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  checked(fsm_init(MPI_COMM_WORLD, NULL));
  int64_t step = 0;
  static double table[1000];
  static char text[11] = "same";
  if (world == 2 && strcmp(which, "double") == 0)
    table[700] = 2.5;
  if (world == 1 && strcmp(which, "bytes") == 0)
    text[9] = 'x';
  checked(fsm_register_replicated("step", &step, sizeof step));
  checked(fsm_register_replicated("table", table, sizeof table));
  checked(fsm_register_replicated("text", text, sizeof text));
  if (world == 1 && strcmp(which, "step") == 0)
    step = 3;
  for (; step < 6; step++) {
    int status = fsm_checkpoint(strcmp(which, "step") == 0 ? 0 : step);
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
    /* Only what is the same at first is looked at. */
    if (strcmp(which, "later") == 0)
      text[1] = (char)('a' + fsm_rank());
  }
  if (step == 6) {
    char words[1000] = "";
    for (int at = 1; at < argc && strlen(argv[at]) < 100; at++)
      snprintf(words + strlen(words), sizeof words - strlen(words), "<%s>", argv[at]);
    printf("rank %d of %d: %s\n", fsm_rank(), fsm_size(), words);
  }
  checked(fsm_finalise());
  MPI_Finalize();
  return 0;
}
