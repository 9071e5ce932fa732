/* Messages of MPI between two ranks: one way, and how many small ones a second. With the thread level
 * that events need, or without threads: mpi SCALE [single] */
#include "timing.h"
#include <mpi.h>

enum { WINDOW = 64 };
static char payload[1 << 20];

static void one_way(int rank, size_t nbytes, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  Turns measured = begin_turns(count);
  for (int turn = 0; turn < count; turn++) {
    if (rank == 0) MPI_Send(payload, (int)nbytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(payload, (int)nbytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(payload, (int)nbytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    end_turn(&measured);
  }
  if (rank == 0) say_one_way(nbytes, &measured);
}

static void flood(int rank, int count) {
  long values[WINDOW] = {0};
  MPI_Request requests[WINDOW];
  MPI_Barrier(MPI_COMM_WORLD);
  double start = now();
  for (int turn = 0; turn < count; turn += WINDOW) {
    for (int index = 0; index < WINDOW; index++) {
      if (rank == 0) {
        MPI_Isend(&values[index], 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[index]);
      } else {
        MPI_Irecv(&values[index], 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[index]);
      }
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) say("events", count / (now() - start));
}

int main(int argc, char **argv) {
  int rank = 0, scale = scale_of(argc, argv), level = 0;
  int single = argc > 2 && strcmp(argv[2], "single") == 0;
  MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  memset(payload, 1, sizeof payload);
  for (int index = 0; index < SIZES; index++) {
    one_way(rank, sizes[index], turns(sizes[index], scale));
  }
  flood(rank, 200000 * scale / WINDOW * WINDOW);
  MPI_Finalize();
  return 0;
}
