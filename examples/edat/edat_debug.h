/* The calls of EDAT's second header. */
#ifndef EDAT_DEBUG_ON_FREESTONE_H
#define EDAT_DEBUG_ON_FREESTONE_H

#include "edat.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

int edatGetNumWorkers(void);
int edatGetWorker(void);
int edatGetNumActiveWorkers(void);
void edatPauseMainThread(void);
void edatRestart(void);
void edatSubmitTask_f(EDAT_Task, const char *, int, int **, char **, bool, bool);
void edatLockComms(void);
void edatUnlockComms(void);

/* On a communicator of Fortran: in edat_mpi.c, which needs MPI to be compiled. */
void edatInitialiseWithCommunicator(int);

#ifdef __cplusplus
}
#endif

#endif
