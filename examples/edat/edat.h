/* The calls of EDAT, the library of N. Brown, O. T. Brown and J. M. Bull, on freestone_events.h: its
 * programs compile unchanged with this folder in their include path and edat.c beside them. */
#ifndef EDAT_ON_FREESTONE_H
#define EDAT_ON_FREESTONE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EDAT_NOTYPE 0
#define EDAT_NONE 0
#define EDAT_INT 1
#define EDAT_FLOAT 2
#define EDAT_DOUBLE 3
#define EDAT_BYTE 4
#define EDAT_ADDRESS 5
#define EDAT_LONG 6

#define EDAT_ALL -1
#define EDAT_ANY -2
#define EDAT_SELF -3

typedef struct edat_struct_metadata {
  int data_type, number_elements, source;
  char *event_id;
} EDAT_Metadata;

typedef struct edat_struct_event {
  void *data;
  EDAT_Metadata metadata;
} EDAT_Event;

typedef void (*EDAT_Task)(EDAT_Event *, int);

void edatInit(void);
void edatInitWithConfiguration(int count, char **keys, char **values);
void edatFinalise(void);
int edatGetRank(void);
int edatGetNumRanks(void);

/* The dependencies are pairs of int and char *, as many as the number says. */
void edatSubmitTask(EDAT_Task, int, ...);
void edatSubmitNamedTask(EDAT_Task, const char *, int, ...);
void edatSubmitPersistentTask(EDAT_Task, int, ...);
void edatSubmitPersistentNamedTask(EDAT_Task, const char *, int, ...);
void edatSubmitPersistentGreedyTask(EDAT_Task, int, ...);
void edatSubmitPersistentNamedGreedyTask(EDAT_Task, const char *, int, ...);
int edatIsTaskSubmitted(const char *);
int edatRemoveTask(const char *);

void edatFireEvent(void *data, int type, int count, int target, const char *id);
void edatFirePersistentEvent(void *data, int type, int count, int target, const char *id);
int edatFindEvent(EDAT_Event *, int count, int source, const char *id);

/* What these two return is one piece of memory: free() it, or leave it as EDAT's programs do. */
EDAT_Event *edatWait(int, ...);
EDAT_Event *edatRetrieveAny(int *found, int, ...);

void edatLock(const char *);
void edatUnlock(const char *);
int edatTestLock(const char *);

int edatDefineContext(size_t);
void *edatCreateContext(int);

#ifdef __cplusplus
}
#endif

#endif
