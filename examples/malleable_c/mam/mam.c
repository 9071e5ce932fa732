/* MaM's calls on freestone_malleable.h: each entry is data that functions of this file pack and
 * unpack, in the program's own buffers; its name has what joining ranks have to know of it. */
#include "MAM.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 64 };

struct entry {
  char *data;
  size_t total, size;
  MPI_Datatype type;
  int is_replicated, is_constant, is_ours;
  uint64_t first;
};

static struct entry entries[ENTRIES];
static int count, state = MAM_NOT_STARTED, wanted;
static int64_t step;
static MPI_Comm *user_comm;

/* MPI_Abort may return. */
static void give_up(void) {
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static int checked(int status) {
  if (status < 0) {
    fprintf(stderr, "MaM on freestone: %s\n", fsm_error());
    give_up();
  }
  return status;
}

static int entry_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  struct entry *entry = context;
  *nbytes = (end - first) * entry->size;
  return 0;
}

static int entry_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  struct entry *entry = context;
  memcpy(bytes, entry->data + (first - entry->first) * entry->size, (end - first) * entry->size);
  return 0;
}

static int entry_adopt(void *context, uint64_t first, uint64_t end) {
  struct entry *entry = context;
  if (entry->is_ours)
    free(entry->data);
  entry->data = malloc((end - first) * entry->size + 1);
  entry->first = first;
  entry->is_ours = 1;
  return entry->data == NULL;
}

static int entry_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  struct entry *entry = context;
  (void)end;
  memcpy(entry->data + (first - entry->first) * entry->size, bytes, nbytes);
  return 0;
}

static void register_entry(struct entry *entry) {
  char name[96];
  snprintf(name, sizeof name, "%d %d %d %zu %zu %llu", (int)(entry - entries), entry->is_replicated,
           entry->is_constant, entry->total, entry->size, (unsigned long long)(uintptr_t)entry->type);
  fsm_functions functions = {entry_nbytes, entry_pack, entry_adopt, entry_unpack, entry};
  if (entry->is_replicated)
    checked(fsm_register_replicated(name, entry->data, entry->total * entry->size));
  else
    checked(fsm_register_user(name, entry->total, &functions));
  fsm_rows(name, &entry->first, NULL);
}

/* Registers on a joining rank what the others have. */
static void register_expected(void) {
  const char *name;
  int is_replicated, is_constant, at;
  unsigned long long type;
  size_t total, size;
  /* The first is the step. */
  while ((name = fsm_expected(count + 1, NULL, NULL)) != NULL) {
    if (sscanf(name, "%d %d %d %zu %zu %llu", &at, &is_replicated, &is_constant, &total, &size, &type) != 6 || at != count)
      give_up();
    struct entry *entry = &entries[count++];
    *entry = (struct entry){NULL, total, size, (MPI_Datatype)(uintptr_t)type, is_replicated, is_constant, 1, 0};
    if (is_replicated)
      entry->data = calloc(total + 1, size);
    register_entry(entry);
  }
}

/* Goes on with a status of the library's; whether a resize is over. */
static int advance(int status, void (*user_function)(void *), void *user_args) {
  if (status == FSM_USER_PHASE) {
    state = MAM_USER_PENDING;
    if (user_function == NULL)
      state = MAM_PENDING;
    else
      user_function(user_args);
    if (state == MAM_USER_PENDING)
      return 0;
    status = checked(fsm_commit());
  }
  if (status == FSM_LEAVE) {
    MAM_Finalize();
    MPI_Finalize();
    exit(0);
  }
  if (status == FSM_CANCELLED)
    state = MAM_NOT_STARTED;
  if (status == FSM_RESIZED) {
    state = MAM_COMPLETED;
    *user_comm = fsm_comm();
  }
  return status == FSM_RESIZED || status == FSM_CANCELLED;
}

int MAM_Init(int root, MPI_Comm *comm, char *name_exec, void (*user_function)(void *), void *user_args) {
  (void)name_exec;
  if (root != 0) {
    fprintf(stderr, "MaM on freestone: the root is rank 0, not %d\n", root);
    give_up();
  }
  fsm_config config = {.overlap = 1, .user_phase = 1};
  user_comm = comm;
  checked(fsm_init(*comm, &config));
  checked(fsm_register_replicated("MaM", &step, sizeof step));
  if (!fsm_is_joining()) {
    *comm = fsm_comm();
    return MAM_SOURCES;
  }
  register_expected();
  advance(checked(fsm_checkpoint(0)), user_function, user_args);
  state = MAM_NOT_STARTED;
  return MAM_TARGETS;
}

int MAM_Finalize(void) {
  checked(fsm_finalise());
  for (int at = 0; at < count; at++)
    if (entries[at].is_ours)
      free(entries[at].data);
  count = 0;
  return MAM_OK;
}

int MAM_Checkpoint(int *mam_state, int wait_completed, void (*user_function)(void *), void *user_args) {
  if (state == MAM_COMPLETED)
    state = MAM_NOT_STARTED;
  if (state == MAM_NOT_STARTED && wanted > 0 && wanted != fsm_size()) {
    checked(fsm_request(wanted));
    state = MAM_PENDING;
  }
  wanted = 0;
  int is_over = 0;
  if (state == MAM_USER_PENDING) {
    is_over = advance(FSM_USER_PHASE, user_function, user_args);
  } else {
    step++;
    do {
      is_over = advance(checked(fsm_checkpoint(step)), user_function, user_args);
    } while (wait_completed && state == MAM_PENDING && !is_over);
  }
  if (mam_state != NULL)
    *mam_state = state;
  return state == MAM_NOT_STARTED && is_over ? MAM_DENIED : MAM_OK;
}

void MAM_Resume_redistribution(int *mam_state) {
  state = MAM_PENDING;
  if (mam_state != NULL)
    *mam_state = state;
}

int MAM_Get_Reconf_Info(mam_user_reconf_t *info) {
  fsm_resize_info found;
  if (state != MAM_USER_PENDING || fsm_resize(&found) < 0)
    return MAM_DENIED;
  int rank_state = found.new_rank < 0   ? MAM_PROC_ZOMBIE
                   : found.old_rank < 0 ? MAM_PROC_NEW_RANK
                                        : MAM_PROC_CONTINUE;
  *info = (mam_user_reconf_t){found.sources, found.targets, rank_state, found.bridge};
  return MAM_OK;
}

void MAM_Set_target_number(int targets) { wanted = targets; }

void MAM_Set_configuration(int spawn_method, int spawn_strategies, int spawn_dist, int red_method, int red_strategies) {
  (void)spawn_method, (void)spawn_strategies, (void)spawn_dist, (void)red_method, (void)red_strategies;
}

/* The number of an entry among all, by that in its own list. */
static struct entry *find(size_t index, int is_replicated, int is_constant) {
  for (int at = 0; at < count; at++)
    if (entries[at].is_replicated == is_replicated && entries[at].is_constant == is_constant && index-- == 0)
      return &entries[at];
  fprintf(stderr, "MaM on freestone: there is no such entry\n");
  give_up();
  return NULL;
}

void MAM_Data_get_entries(int is_replicated, int is_constant, size_t *found) {
  *found = 0;
  for (int at = 0; at < count; at++)
    *found += entries[at].is_replicated == is_replicated && entries[at].is_constant == is_constant;
}

void MAM_Data_add(void *data, size_t *index, size_t total_qty, MPI_Datatype type, int is_replicated, int is_constant) {
  int size;
  if (count == ENTRIES)
    give_up();
  MPI_Type_size(type, &size);
  if (index != NULL)
    MAM_Data_get_entries(is_replicated, is_constant, index);
  struct entry *entry = &entries[count++];
  *entry = (struct entry){data, total_qty, (size_t)size, type, is_replicated, is_constant, 0, 0};
  register_entry(entry);
}

void MAM_Data_modify(void *data, size_t index, size_t total_qty, MPI_Datatype type, int is_replicated, int is_constant) {
  struct entry *entry = find(index, is_replicated, is_constant);
  if (is_replicated || entry->total != total_qty || entry->type != type) {
    fprintf(stderr, "MaM on freestone: only the buffer of distributed data can be modified\n");
    give_up();
  }
  entry->data = data;
  entry->is_ours = 0;
}

void MAM_Data_get_pointer(void **data, size_t index, size_t *total_qty, MPI_Datatype *type, int is_replicated,
                          int is_constant) {
  struct entry *entry = find(index, is_replicated, is_constant);
  *data = entry->data;
  if (total_qty != NULL)
    *total_qty = entry->total;
  if (type != NULL)
    *type = entry->type;
}
