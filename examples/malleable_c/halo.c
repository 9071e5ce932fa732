/* What heat.f90 calls of MPI. MPICH's wheel has no Fortran module; a program with one writes
 * `use mpi` instead of this file. Communicators are Fortran's integers. */
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

void mpi_begin(void) { MPI_Init(NULL, NULL); }
void mpi_end(void) { MPI_Finalize(); }
void mpi_give_up(void) {
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1); /* MPI_Abort may return */
}
int mpi_world(void) { return (int)MPI_Comm_c2f(MPI_COMM_WORLD); }

/* Sends a row to one neighbour and receives another from the other; -1 is none. */
void mpi_shift(const double *own, int to, double *other, int from, int width, int comm) {
  MPI_Sendrecv(own, width, MPI_DOUBLE, to < 0 ? MPI_PROC_NULL : to, 0, other, width, MPI_DOUBLE,
               from < 0 ? MPI_PROC_NULL : from, 0, MPI_Comm_f2c(comm), MPI_STATUS_IGNORE);
}

/* The largest number of all ranks, and the exclusive or of all their bits. */
void mpi_combine(double *largest, long long *bits, int comm) {
  MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPI_DOUBLE, MPI_MAX, MPI_Comm_f2c(comm));
  MPI_Allreduce(MPI_IN_PLACE, bits, 1, MPI_LONG_LONG, MPI_BXOR, MPI_Comm_f2c(comm));
}
