/* What the programs of these tests have in common. */
#include <freestone_malleable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ends the job with an error of the library's. */
static inline int checked(int status) {
  if (status < 0) {
    fprintf(stderr, "error %d: %s\n", status, fsm_error());
    /* The launcher drops what it has not read when the job is aborted. */
    sleep(1);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
  }
  return status;
}
