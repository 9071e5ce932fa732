/* A program as it is written for MaM: nothing of freestone's own names. */
#include "MAM.h"
#include <stdio.h>
#include <stdlib.h>

enum { TOTAL = 1000, STEPS = 24 };

static MPI_Comm comm;
static int step;

/* Old ranks tell new ones which step comes next. */
static void redistribute(void *arg) {
  (void)arg;
  int state, next = step + 1;
  mam_user_reconf_t info;
  MAM_Get_Reconf_Info(&info);
  MPI_Bcast(&next, 1, MPI_INT, 0, info.comm);
  if (info.rank_state == MAM_PROC_NEW_RANK)
    step = next;
  if (info.rank_state != MAM_PROC_NEW_RANK && info.numS == info.numT)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MAM_Resume_redistribution(&state);
}

int main(int argc, char **argv) {
  int rank, size, state;
  double *x, *A;
  long *scale, numbers[2] = {3, 4};
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int is_target = MAM_Init(0, &comm, argv[0], redistribute, NULL);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (is_target == MAM_SOURCES) {
    int own = TOTAL / size + (rank < TOTAL % size), first = rank * (TOTAL / size) + (rank < TOTAL % size ? rank : TOTAL % size);
    x = malloc((size_t)own * sizeof *x);
    A = malloc((size_t)own * sizeof *A);
    for (int at = 0; at < own; at++)
      x[at] = A[at] = first + at;
    MAM_Data_add(A, NULL, TOTAL, MPI_DOUBLE, MAM_DATA_DISTRIBUTED, MAM_DATA_CONSTANT);
    MAM_Data_add(x, NULL, TOTAL, MPI_DOUBLE, MAM_DATA_DISTRIBUTED, MAM_DATA_VARIABLE);
    MAM_Data_add(numbers, NULL, 2, MPI_LONG, MAM_DATA_REPLICATED, MAM_DATA_CONSTANT);
  }
  for (; step < STEPS; step++) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MAM_Data_get_pointer((void **)&A, 0, NULL, NULL, MAM_DATA_DISTRIBUTED, MAM_DATA_CONSTANT);
    MAM_Data_get_pointer((void **)&x, 0, NULL, NULL, MAM_DATA_DISTRIBUTED, MAM_DATA_VARIABLE);
    MAM_Data_get_pointer((void **)&scale, 0, NULL, NULL, MAM_DATA_REPLICATED, MAM_DATA_CONSTANT);
    int own = TOTAL / size + (rank < TOTAL % size), first = rank * (TOTAL / size) + (rank < TOTAL % size ? rank : TOTAL % size);
    double sum = 0, all;
    for (int at = 0; at < own; at++) {
      if (A[at] != first + at || x[at] != first + at + step || scale[0] != 3 || scale[1] != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
      sum += x[at] += 1;
    }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (all != TOTAL * (TOTAL - 1) / 2 + (double)TOTAL * (step + 1))
      MPI_Abort(MPI_COMM_WORLD, 3);
    if (step == 4)
      MAM_Set_target_number(4);
    if (step == 14)
      MAM_Set_target_number(2);
    MAM_Checkpoint(&state, MAM_WAIT_COMPLETION, redistribute, NULL);
  }
  if (rank == 0)
    printf("%d steps, %d ranks\n", step, size);
  MAM_Finalize();
  MPI_Finalize();
  return 0;
}
