/* Rows that go from four ranks to two, by the library and by hand; or sixteen ranks that start.
 *
 *   mpiexec -n 2 hand NBYTES TIMES
 *   mpiexec -n 2 hand spawn
 *   mpiexec -n 2 hand empty
 *
 * It prints lines of JSON, of one figure in seconds each. By hand, the same two ranks send the same rows to the same
 * two others, into memory that was not touched before, as the library's is. The last one spawns as many processes that do nothing,
 * without the library. */
#include <freestone_malleable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 64, SPAWNED = 16 };

static int checked(int status) {
  if (status < 0) {
    fprintf(stderr, "%s\n", fsm_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
  }
  return status;
}

/* The longest of all ranks, since they met. */
static void print(const char *name, double begin) {
  double seconds = MPI_Wtime() - begin, longest;
  MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, fsm_comm());
  if (fsm_rank() == 0) {
    printf("{\"%s\": %.6f}\n", name, longest);
    fflush(stdout);
  }
}

static double met(void) {
  MPI_Barrier(fsm_comm());
  return MPI_Wtime();
}

/* A message has at most 2^30 bytes. */
static void send_by_hand(char *rows, uint64_t nbytes) {
  int rank = fsm_rank(), other = rank ^ 1, parts = 0;
  double begin = met();
  char *into = rank % 2 ? rows : malloc(nbytes);
  MPI_Request requests[64];
  for (uint64_t at = 0; at < nbytes && parts < 64; at += 1 << 30, parts++) {
    int length = (int)(nbytes - at < 1 << 30 ? nbytes - at : 1 << 30);
    if (rank % 2)
      MPI_Isend(into + at, length, MPI_BYTE, other, parts, fsm_comm(), &requests[parts]);
    else
      MPI_Irecv(into + at, length, MPI_BYTE, other, parts, fsm_comm(), &requests[parts]);
  }
  MPI_Waitall(parts, requests, MPI_STATUSES_IGNORE);
  print("by hand", begin);
  if (rank % 2 == 0)
    free(into);
}

/* Until all are there; those that are spawned come here, too. */
static int spawn_by_hand(char *program) {
  MPI_Comm parent, others;
  char *words[] = {"empty", NULL};
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(program, words, SPAWNED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  else
    others = parent;
  MPI_Barrier(others);
  if (parent == MPI_COMM_NULL && rank == 0)
    printf("{\"spawned by hand\": %.6f}\n", MPI_Wtime() - begin);
  MPI_Comm_disconnect(&others);
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "empty") == 0)
    return spawn_by_hand(argv[0]);
  checked(fsm_init(MPI_COMM_WORLD, NULL));
  int spawns = argc > 1 && strcmp(argv[1], "spawn") == 0;
  uint64_t rows = spawns ? 1000 : strtoull(argv[1], NULL, 10) / ROW, first, count;
  int64_t step = 0, steps = spawns ? 2 : 2 * atoi(argv[2]) + 1;
  checked(fsm_register_rows("x", FSM_VARIABLE, rows, ROW));
  checked(fsm_register_replicated("step", &step, sizeof step));
  if (!fsm_is_joining()) {
    char *x = fsm_rows("x", &first, &count);
    memset(x, 1, count * ROW);
  }
  for (; fsm_is_joining() || step < steps; step++) {
    int shrinks = !spawns && step > 0 && step % 2 == 0, is_there = !fsm_is_joining();
    double begin = 0;
    if (is_there) {
      char *x = fsm_rows("x", &first, &count);
      if (shrinks)
        send_by_hand(x, count * ROW);
      if (step > 0)
        checked(fsm_request(spawns ? 2 + SPAWNED : shrinks ? 2 : 4));
      begin = met();
    }
    int status = checked(fsm_checkpoint(step));
    if (status == FSM_LEAVE)
      break;
    if (status == FSM_RESIZED && (shrinks || spawns))
      print(spawns ? "spawned" : "library", is_there ? begin : MPI_Wtime());
  }
  checked(fsm_finalise());
  MPI_Finalize();
  return 0;
}
