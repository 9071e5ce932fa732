/* EDAT on a communicator: to be compiled by mpicc, for programs that use MPI themselves. */
#include "edat_debug.h"
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void edatInitialiseWithCommunicator(int comm) {
  if (fse_init_comm(NULL, MPI_Comm_f2c((MPI_Fint)comm)) != FSE_OK) {
    fprintf(stderr, "edat: %s\n", fse_error());
    exit(1);
  }
}
