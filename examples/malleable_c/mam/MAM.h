/* The names of MaM, the malleability module of Proteo, on freestone_malleable.h: programs written for
 * it are compiled with this folder before MaM's in the include path, and linked with mam.c.
 *
 * What differs: data that is variable has moved when the user phase begins. The communicator of
 * MAM_Get_Reconf_Info has sources and targets on one side with Baseline, too. Strategies of spawning
 * and redistribution are accepted and not needed. The root is rank 0. */
#ifndef MAM_H
#define MAM_H

#include <freestone_malleable.h>

#define MAM_DENIED -1
#define MAM_OK 0
enum mam_states { MAM_UNRESERVED, MAM_NOT_STARTED, MAM_PENDING, MAM_USER_PENDING, MAM_COMPLETED };
enum mam_proc_states { MAM_PROC_CONTINUE, MAM_PROC_NEW_RANK, MAM_PROC_ZOMBIE };
enum mam_spawn_methods { MAM_SPAWN_BASELINE, MAM_SPAWN_MERGE };
enum { MAM_CHECK_COMPLETION = 0, MAM_WAIT_COMPLETION = 1 };
enum { MAM_SOURCES = 0, MAM_TARGETS = 1 };
enum { MAM_DATA_DISTRIBUTED = 0, MAM_DATA_REPLICATED = 1 };
enum { MAM_DATA_VARIABLE = 0, MAM_DATA_CONSTANT = 1 };

typedef struct {
  int numS, numT, rank_state;
  MPI_Comm comm;
} mam_user_reconf_t;

/* Returns MAM_TARGETS on ranks that were started, which have their data then. */
int MAM_Init(int root, MPI_Comm *comm, char *name_exec, void (*user_function)(void *), void *user_args);
int MAM_Finalize(void);

/* A process that leaves ends inside of it, as with MaM. */
int MAM_Checkpoint(int *mam_state, int wait_completed, void (*user_function)(void *), void *user_args);
void MAM_Resume_redistribution(int *mam_state);
int MAM_Get_Reconf_Info(mam_user_reconf_t *info);
void MAM_Set_target_number(int targets);
/* Baseline or Merge is chosen before MAM_Init, by FREESTONE_MALLEABLE_METHOD. */
void MAM_Set_configuration(int spawn_method, int spawn_strategies, int spawn_dist, int red_method, int red_strategies);

/* Buffers are the program's until the first resize, and this module's after it. */
void MAM_Data_add(void *data, size_t *index, size_t total_qty, MPI_Datatype type, int is_replicated, int is_constant);
void MAM_Data_modify(void *data, size_t index, size_t total_qty, MPI_Datatype type, int is_replicated, int is_constant);
void MAM_Data_get_entries(int is_replicated, int is_constant, size_t *entries);
void MAM_Data_get_pointer(void **data, size_t index, size_t *total_qty, MPI_Datatype *type, int is_replicated,
                          int is_constant);

#endif
