/* What the programs of these tests have in common. */
#include <freestone_malleable.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Waits until the launcher has read what was printed: it drops the rest when the job is aborted. */
static inline void drained(void) {
  fflush(stdout);
  for (int stream = 1; stream <= 2; stream++) {
    int left = 0;
    while (ioctl(stream, FIONREAD, &left) == 0 && left > 0)
      poll(NULL, 0, 1);
  }
}

/* Ends the job with an error of the library's. */
static inline int checked(int status) {
  if (status < 0) {
    fprintf(stderr, "error %d: %s\n", status, fsm_error());
    drained();
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
  }
  return status;
}
