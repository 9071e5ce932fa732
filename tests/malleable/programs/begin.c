/* MPI for Fortran, where MPI has no module for it. */
#include <mpi.h>

void begin_mpi(int *comm) {
  MPI_Init(0, 0);
  *comm = (int)MPI_Comm_c2f(MPI_COMM_WORLD);
}

void end_mpi(void) { MPI_Finalize(); }
