/* EDAT's calls on freestone_events.h. As in EDAT, what goes wrong ends the program. */
#include "edat_debug.h"

#include <freestone_events.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors ---- */

static int checked(int code) {
  if (code < 0) {
    fprintf(stderr, "edat: %s\n", fse_error());
    exit(1);
  }
  return code;
}

static void refuse(const char *what) {
  fprintf(stderr, "edat: %s\n", what);
  exit(1);
}

/* ---- Words: sources and types ---- */

static int rank_of(int edat) {
  switch (edat) {
  case EDAT_ALL:
    return FSE_ALL;
  case EDAT_ANY:
    return FSE_ANY;
  case EDAT_SELF:
    return FSE_SELF;
  default:
    return edat;
  }
}

static const int TYPES[] = {FSE_NONE, FSE_INT, FSE_FLOAT, FSE_DOUBLE, FSE_BYTE, FSE_ADDRESS, FSE_LONG};
enum { COUNT_OF_TYPES = sizeof TYPES / sizeof *TYPES, FIRST_CONTEXT = 100 };

static int edat_type(int type) {
  for (int index = 0; index < COUNT_OF_TYPES; index++)
    if (TYPES[index] == type)
      return index;
  return EDAT_BYTE;
}

/* ---- Contexts: memory of the program, fired by its address ---- */

typedef struct Context {
  struct Context *next;
  int type;
  _Alignas(max_align_t) unsigned char memory[];
} Context;

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static Context *contexts;
static size_t *context_sizes;
static int context_types;

int edatDefineContext(size_t nbytes) {
  pthread_mutex_lock(&contexts_lock);
  context_sizes = realloc(context_sizes, (size_t)(context_types + 1) * sizeof *context_sizes);
  if (context_sizes == NULL)
    refuse("there is no memory for a context");
  context_sizes[context_types] = nbytes;
  int type = FIRST_CONTEXT + context_types++;
  pthread_mutex_unlock(&contexts_lock);
  return type;
}

void *edatCreateContext(int type) {
  pthread_mutex_lock(&contexts_lock);
  if (type < FIRST_CONTEXT || type >= FIRST_CONTEXT + context_types)
    refuse("edatCreateContext: the type is none that edatDefineContext returned");
  Context *made = calloc(1, sizeof *made + context_sizes[type - FIRST_CONTEXT]);
  if (made == NULL)
    refuse("there is no memory for a context");
  made->type = type;
  made->next = contexts;
  contexts = made;
  pthread_mutex_unlock(&contexts_lock);
  return made->memory;
}

/* The type of the context that is there; EDAT_ADDRESS if it is something else. */
static int type_at(const void *address) {
  pthread_mutex_lock(&contexts_lock);
  const Context *found = contexts;
  while (found != NULL && found->memory != address)
    found = found->next;
  int type = found == NULL ? EDAT_ADDRESS : found->type;
  pthread_mutex_unlock(&contexts_lock);
  return type;
}

/* ---- Events ---- */

/* The context that an event carries: it is fired with a null address after its own. */
static void *context_of(const fse_event *event) {
  if (event->type != FSE_ADDRESS || event->count != 2)
    return NULL;
  void *const *addresses = event->data;
  bool is_context = addresses[1] == NULL && type_at(addresses[0]) >= FIRST_CONTEXT;
  return is_context ? addresses[0] : NULL;
}

static size_t size_of(const fse_event *event) {
  static const size_t SIZES[] = {0, 4, 8, 4, 8, 1, sizeof(void *), 1};
  return event->type <= FSE_BOOL ? SIZES[event->type] * event->count : event->count;
}

static size_t padded(size_t nbytes) {
  return (nbytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
}

/* Copies of events, in one piece of memory: EDAT's tasks may change what they get. */
static EDAT_Event *copied(const fse_event *events, int count) {
  size_t nbytes = padded((size_t)count * sizeof(EDAT_Event));
  for (int index = 0; index < count; index++)
    nbytes += padded(size_of(&events[index])) + padded(strlen(events[index].id) + 1);
  unsigned char *memory = malloc(nbytes + 1);
  if (memory == NULL)
    refuse("there is no memory for events");
  EDAT_Event *copies = (EDAT_Event *)memory;
  memory += padded((size_t)count * sizeof(EDAT_Event));
  for (int index = 0; index < count; index++) {
    const fse_event *event = &events[index];
    EDAT_Event *copy = &copies[index];
    void *context = context_of(event);
    copy->metadata.data_type = context ? type_at(context) : edat_type(event->type);
    copy->metadata.number_elements = context ? 1 : (int)event->count;
    copy->metadata.source = event->source;
    copy->data = context;
    if (context == NULL && size_of(event) > 0) {
      copy->data = memcpy(memory, event->data, size_of(event));
    }
    memory += padded(size_of(event));
    copy->metadata.event_id = strcpy((char *)memory, event->id);
    memory += padded(strlen(event->id) + 1);
  }
  return copies;
}

static void fire(void *data, int type, int count, int target, const char *id, unsigned flags) {
  if (count < 0)
    refuse("edatFireEvent: the number of elements is negative");
  if (type >= 0 && type < COUNT_OF_TYPES && type != EDAT_ADDRESS) {
    checked(fse_fire_flags(data, TYPES[type], (size_t)count, rank_of(target), id, flags));
    return;
  }
  if (target != EDAT_SELF && target != fse_rank())
    refuse("edatFireEvent: an address and a context are of use on their own rank only: EDAT_SELF");
  if (type == EDAT_ADDRESS) {
    checked(fse_fire_addresses(data, (size_t)count, id, flags));
  } else if (type_at(data) == type) {
    const void *marked[] = {data, NULL};
    checked(fse_fire_addresses(marked, 2, id, flags));
  } else {
    refuse("edatFireEvent: the data is no context of this type; see edatCreateContext");
  }
}

void edatFireEvent(void *data, int type, int count, int target, const char *id) {
  fire(data, type, count, target, id, 0);
}

void edatFirePersistentEvent(void *data, int type, int count, int target, const char *id) {
  fire(data, type, count, target, id, FSE_PERSISTENT);
}

int edatFindEvent(EDAT_Event *events, int count, int source, const char *id) {
  int wanted = source == EDAT_SELF ? fse_rank() : source;
  for (int index = 0; index < count; index++)
    if ((source == EDAT_ANY || events[index].metadata.source == wanted) &&
        strcmp(events[index].metadata.event_id, id) == 0)
      return index;
  return -1;
}

/* ---- Tasks ---- */

static int batch_events;
static double batch_s;

static void call(const fse_event *events, int count, void *context) {
  EDAT_Task task;
  memcpy(&task, &context, sizeof task);
  EDAT_Event *copies = copied(events, count);
  task(copies, count);
  free(copies);
}

static void submit(EDAT_Task task, const char *name, const fse_dependency *on, int count,
                   unsigned flags) {
  void *context;
  memcpy(&context, &task, sizeof task);
  fse_options options = {flags, name, 0, 0};
  if ((flags & FSE_GREEDY) && batch_events > 0) {
    options.at_least = (size_t)batch_events;
    options.within_s = batch_s;
  }
  checked(fse_submit_with(call, context, on, (size_t)count, &options));
}

/* The dependencies of a call, as an array that the caller frees. */
static fse_dependency *listed(int count, va_list words) {
  if (count < 0)
    refuse("the number of dependencies is negative");
  fse_dependency *on = malloc((size_t)(count + 1) * sizeof *on);
  if (on == NULL)
    refuse("there is no memory for dependencies");
  for (int index = 0; index < count; index++) {
    on[index].source = rank_of(va_arg(words, int));
    on[index].id = va_arg(words, const char *);
  }
  return on;
}

#define SUBMIT(name, flags)                                                                        \
  va_list words;                                                                                   \
  va_start(words, count);                                                                          \
  fse_dependency *on = listed(count, words);                                                       \
  va_end(words);                                                                                   \
  submit(task, name, on, count, flags);                                                            \
  free(on)

void edatSubmitTask(EDAT_Task task, int count, ...) { SUBMIT(NULL, 0); }

void edatSubmitNamedTask(EDAT_Task task, const char *name, int count, ...) { SUBMIT(name, 0); }

void edatSubmitPersistentTask(EDAT_Task task, int count, ...) { SUBMIT(NULL, FSE_PERSISTENT); }

void edatSubmitPersistentNamedTask(EDAT_Task task, const char *name, int count, ...) {
  SUBMIT(name, FSE_PERSISTENT);
}

void edatSubmitPersistentGreedyTask(EDAT_Task task, int count, ...) {
  SUBMIT(NULL, FSE_PERSISTENT | FSE_GREEDY);
}

void edatSubmitPersistentNamedGreedyTask(EDAT_Task task, const char *name, int count, ...) {
  SUBMIT(name, FSE_PERSISTENT | FSE_GREEDY);
}

void edatSubmitTask_f(EDAT_Task task, const char *name, int count, int **ranks, char **ids,
                      bool persistent, bool greedy) {
  fse_dependency *on = malloc((size_t)(count + 1) * sizeof *on);
  if (on == NULL)
    refuse("there is no memory for dependencies");
  for (int index = 0; index < count; index++) {
    on[index].source = rank_of((*ranks)[index]);
    on[index].id = ids[index];
  }
  unsigned flags = (persistent ? FSE_PERSISTENT : 0u) | (greedy ? FSE_GREEDY : 0u);
  submit(task, name, on, count, flags);
  free(on);
}

int edatIsTaskSubmitted(const char *name) { return checked(fse_is_submitted(name)); }

int edatRemoveTask(const char *name) { return checked(fse_remove(name)) > 0; }

EDAT_Event *edatWait(int count, ...) {
  va_list words;
  va_start(words, count);
  fse_dependency *on = listed(count, words);
  va_end(words);
  int found = 0;
  const fse_event *events = fse_wait_on(on, (size_t)count, -1.0, &found);
  free(on);
  if (events == NULL)
    refuse(fse_error());
  EDAT_Event *copies = copied(events, found);
  fse_free(events);
  return copies;
}

EDAT_Event *edatRetrieveAny(int *found, int count, ...) {
  va_list words;
  va_start(words, count);
  fse_dependency *on = listed(count, words);
  va_end(words);
  const fse_event *events = fse_retrieve_any_on(on, (size_t)count, found);
  free(on);
  EDAT_Event *copies = *found > 0 ? copied(events, *found) : NULL;
  fse_free(events);
  return copies;
}

/* ---- Locks ---- */

void edatLock(const char *name) { checked(fse_lock(name)); }

void edatUnlock(const char *name) { checked(fse_unlock(name)); }

int edatTestLock(const char *name) { return checked(fse_holds_lock(name)); }

/* ---- The run ---- */

static int keys_count;
static char **given_keys, **given_values;

/* What the environment says, else what the program has given. */
static const char *setting(const char *key) {
  const char *value = getenv(key);
  for (int index = 0; value == NULL && index < keys_count; index++)
    if (strcmp(given_keys[index], key) == 0)
      value = given_values[index];
  return value;
}

static bool is_true(const char *key) {
  const char *value = setting(key);
  return value != NULL && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

static double number(const char *key, double otherwise) {
  const char *value = setting(key);
  return value == NULL ? otherwise : atof(value);
}

void edatInitWithConfiguration(int count, char **keys, char **values) {
  keys_count = count;
  given_keys = keys;
  given_values = values;
  fse_config config = {0};
  config.workers = (int)number("EDAT_NUM_WORKERS", 0);
  config.progress_thread = is_true("EDAT_PROGRESS_THREAD");
  config.report_mapping = is_true("EDAT_REPORT_WORKER_MAPPING");
  const char *mapping = setting("EDAT_WORKER_MAPPING");
  config.mapping = mapping != NULL && strncmp(mapping, "linear", 6) == 0;
  if (is_true("EDAT_BATCH_EVENTS")) {
    batch_events = (int)number("EDAT_MAX_BATCHED_EVENTS", 1000);
    batch_s = number("EDAT_BATCHING_EVENTS_TIMEOUT", 0.1);
  }
  keys_count = 0;
  checked(fse_init(&config));
}

void edatInit(void) { edatInitWithConfiguration(0, NULL, NULL); }

void edatFinalise(void) {
  if (fse_finalise() != FSE_OK)
    exit(1);
}

int edatGetRank(void) { return checked(fse_rank()); }

int edatGetNumRanks(void) { return checked(fse_ranks()); }

int edatGetNumWorkers(void) { return checked(fse_workers()); }

int edatGetWorker(void) { return checked(fse_worker()); }

int edatGetNumActiveWorkers(void) { return checked(fse_busy_workers()); }

void edatPauseMainThread(void) { checked(fse_drain()); }

/* The program goes on by itself. */
void edatRestart(void) {}

void edatLockComms(void) { checked(fse_hold_mpi()); }

void edatUnlockComms(void) { checked(fse_release_mpi()); }

/* Of a program without edat_mpi.c. */
__attribute__((weak)) void edatInitialiseWithCommunicator(int comm) {
  (void)comm;
  refuse("edatInitialiseWithCommunicator: compile edat_mpi.c, by mpicc, and link it, too");
}
