/* freestone_events.h: SPMD programs as tasks driven by events.
 *
 * A program runs as several ranks. Each submits tasks that depend on events, and fires events at
 * ranks; a task runs once all its events are there. Events of one pair of ranks keep their order,
 * tasks consume in the order in which they were submitted, and a task gets its events in the order
 * of its dependencies.
 *
 * Calls that return an int return FSE_OK or what they counted, or an error, which is negative;
 * calls that return a pointer return NULL. fse_error() then says what went wrong and what to try.
 * All calls may be made by any thread between fse_init and fse_finalise, also inside of tasks,
 * unless they say otherwise.
 */
#ifndef FREESTONE_EVENTS_H
#define FREESTONE_EVENTS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <exception>
extern "C" {
#endif

#define FSE_VERSION 6

/* Sources and targets besides the numbers of ranks. They are none of MPI's: MPI_PROC_NULL is an
   error here. */
enum {
  FSE_SELF = -1001, /* this rank */
  FSE_ALL = -1002,  /* every rank: as a source one event of each, as a target a broadcast */
  FSE_ANY = -1003   /* any rank, whichever is first; a source only */
};

/* Types of what events carry. */
enum {
  FSE_NONE = 0,
  FSE_INT = 1,     /* int32_t */
  FSE_LONG = 2,    /* int64_t */
  FSE_FLOAT = 3,   /* float */
  FSE_DOUBLE = 4,  /* double */
  FSE_BYTE = 5,    /* unsigned char */
  FSE_ADDRESS = 6, /* an address in this process, from fse_fire_address */
  FSE_BOOL = 7,    /* _Bool, bool in C++, one byte */
  FSE_COMPLEX_FLOAT = 8,
  FSE_COMPLEX_DOUBLE = 9,
  FSE_INT8 = 10,
  FSE_INT16 = 11,
  FSE_TEXT = 17, /* UTF-8, without a zero at the end; str in Python */
  /* Only fired by Python, whose arrays of the types above come as those: */
  FSE_PY_ARRAY = 16, /* an array of another type, as bytes; unpacked by Python only */
  FSE_PY_TEXT = 17,  /* FSE_TEXT */
  FSE_PY_OBJECT = 18 /* anything else, as bytes; unpacked by Python only */
};

/* What calls return. */
enum {
  FSE_OK = 0,
  FSE_TASK_FAILED = -1, /* a task failed, and the run ended with it */
  FSE_RANK_LOST = -2,   /* a rank ended before the run did */
  FSE_STUCK = -3,       /* tasks wait for events that nobody can fire any more */
  FSE_OVER = -4,        /* the run is over, or has not begun */
  FSE_BAD_CALL = -5,    /* no such rank or type, no name, a null pointer */
  FSE_IN_TASK = -6,     /* not possible inside of a task */
  FSE_TIMEOUT = -7,     /* what was waited for did not come in time */
  FSE_NOT_HELD = -8,    /* a lock that this task does not have */
  FSE_TRANSPORT = -9,   /* events cannot be sent or received */
  FSE_NO_START = -10,   /* the ranks, or a thread, cannot be started */
  FSE_BAD_COMM = -11,   /* a communicator that is null, was freed, or has two groups */
  FSE_TOO_LARGE = -12,  /* an event of more bytes than can be sent */
  FSE_DISAGREEMENT = -13 /* ranks of different versions, or with different settings */
};

/* How a task is submitted, and how long an event lasts. */
enum {
  FSE_PERSISTENT = 1, /* a task: runs each time; an event: fired again when it is consumed */
  FSE_GREEDY = 2      /* a task: one run takes all events that are there */
};

/* The event, from a lost rank, that a program gets if it ever depends on it. */
#define FSE_RANK_LOST_EVENT "rank_lost"

/* The event, from the rank that has joined, when one joins a run that is on: a run whose ranks meet
 * by TCP (FREESTONE_EVENTS_MEETING), with room for more (FREESTONE_EVENTS_MOST). The new rank counts
 * in fse_ranks and in FSE_ALL from then on. */
#define FSE_RANK_JOINED_EVENT "rank_joined"

/* An event, as tasks get it. */
typedef struct fse_event {
  const void *data; /* what it carries, read-only; NULL if nothing */
  size_t count;     /* how many of its type; 1 for an address */
  int type;         /* FSE_INT, ... */
  int source;       /* the rank that fired it */
  const char *id;   /* its identifier */
  const size_t *shape; /* the extents of an array, the one that runs fastest last */
  int ndims;           /* how many: 0 for a single value */
} fse_event;

/* What a task is. Its events, and all they point to, are gone when it returns. */
typedef void (*fse_task)(const fse_event *events, int count, void *context);

/* An event that a task needs. */
typedef struct fse_dependency {
  int source; /* a rank, FSE_SELF, FSE_ANY or FSE_ALL */
  const char *id;
} fse_dependency;

/* How a program runs; what is 0 is taken from the environment, else the default. */
typedef struct fse_config {
  int ranks;           /* FREESTONE_EVENTS_RANKS; 1. Under mpiexec its ranks, always. */
  int workers;         /* FREESTONE_EVENTS_WORKERS; tasks that run at the same time; as many as the
                          rank has cores: those to which a launcher has bound it, or else its
                          part of those of its machine */
  int progress_thread; /* FREESTONE_EVENTS_PROGRESS=thread, program; 1: a thread of its own receives;
                          2: the program, while it waits and when it calls fse_progress */
  int spin_us;         /* FREESTONE_EVENTS_SPIN_US; looks for work so long before it sleeps; 50,
                          or none if there are more ranks than processors. -1: none */
  size_t arena;        /* FREESTONE_EVENTS_ARENA; bytes of large events on their way; 1 GiB */
  double stuck_s;      /* FREESTONE_EVENTS_STUCK_S; says on stderr what waits when nothing has
                          happened for so long; never */
  double send_timeout_s; /* FREESTONE_EVENTS_SEND_TIMEOUT_S; fails with FSE_TIMEOUT when a target
                            whose workers are all busy takes nothing more for so long; no limit */
  int mapping;        /* FREESTONE_EVENTS_MAPPING=linear; 1: each worker stays on one of the rank's
                         cores, the first worker on the first core */
  int report_mapping; /* FREESTONE_EVENTS_REPORT_MAPPING=1; 1: says on stderr which core that is */
  size_t backlog;     /* FREESTONE_EVENTS_BACKLOG; so many ready tasks, and what arrives is left at its
                         senders; 10,000 */
  size_t inbox;       /* FREESTONE_EVENTS_INBOX; bytes of what arrives while all workers are busy; 64 MiB */
  double slow_task_s; /* FREESTONE_EVENTS_SLOW_TASK_S; says on stderr which task has run for so long
                         without a wait, with its file, line and events; never */
  double meet_timeout_s; /* FREESTONE_EVENTS_MEET_TIMEOUT_S; how long ranks wait for each other; 300 */
  double grace_s;        /* FREESTONE_EVENTS_GRACE_S; so long after a loss ranks that compute are ended; 10 */
  const char *trace;     /* FREESTONE_EVENTS_TRACE; the file for Perfetto of what ranks do; none */
} fse_config;

/* Begins the run. NULL is all defaults. Without mpiexec this process becomes the one that watches,
 * and its ranks are copies of it that go on from here: call it first, before any thread is started.
 * Under mpiexec MPI is shared with the program: if it is initialised, it must be with
 * MPI_THREAD_MULTIPLE, with MPI_THREAD_SERIALIZED if the program holds MPI around its own calls
 * (fse_hold_mpi), or with MPI_THREAD_FUNNELED if it calls fse_progress often; and the program finalises
 * it. Else this call and fse_finalise do. */
int fse_init(const fse_config *config);

/* Begins the run on the ranks of a communicator of MPI's, where only some of those that mpiexec
 * started take part, or as other numbers. All ranks of the communicator have to call it, and no
 * other. It is duplicated: the program may free it. */
int fse_init_on(const fse_config *config, uintptr_t comm);
#define fse_init_comm(config, comm) fse_init_on((config), (uintptr_t)(comm))

/* Takes in what has arrived, sends what waits, and returns how much that was. Needed where MPI is
 * initialised with MPI_THREAD_FUNNELED: the thread that initialised it is the only one that may call
 * MPI, so events come and go when it calls this or waits (fse_wait, fse_drain, fse_finalise); tasks
 * still run in threads of their own. No harm anywhere else. */
int fse_progress(void);

/* Takes part in a run from outside: a process that is no rank, has no tasks and no threads, but fires
 * events at ranks and receives those that are fired at it. All processes of a communicator call
 * this or fse_init_on, or, of all that mpiexec started, this or fse_init; its number, fse_rank, follows
 * those of the ranks. MPI may be initialised with any thread level. Possible are fse_fire and its like,
 * fse_wait, fse_retrieve_any, fse_free and fse_find, in one thread: events come and go in these calls.
 * The run goes on until all of these processes have called fse_detach; one that ends, or ends MPI, before is
 * detached then, with a word on stderr. What was fired at it and it has not consumed is dropped, and stderr says what. */
int fse_attach(void);
int fse_attach_on(uintptr_t comm);
#define fse_attach_comm(comm) fse_attach_on((uintptr_t)(comm))
int fse_detach(void);

/* Keeps events out of MPI, for calls of the program's own, in any of its threads: needed between
 * fse_init and fse_finalise where MPI is initialised with MPI_THREAD_SERIALIZED, and no harm else. Who
 * holds it may fire events. As long as it is held no event arrives. fse_release_mpi: FSE_NOT_HELD if
 * this thread does not hold it. */
int fse_hold_mpi(void);
int fse_release_mpi(void);

/* Waits for the end of the run: no task that is not persistent waits or runs, and every event is
 * consumed. An error of the run is also said on stderr. Not inside of tasks. A rank that exits without
 * it is lost for the others, and says so on stderr. */
int fse_finalise(void);

/* The number of this rank, how many there are, and whether this one joined a run that was on. The
 * first two have answers after fse_finalise, too. */
int fse_rank(void);
int fse_ranks(void);
int fse_has_joined(void);

/* What the last call of this thread that failed has to say. The text stays where it is until two other
 * calls of this thread have failed: copy it to keep it for longer. */
const char *fse_error(void);

/* How a task is submitted; what is 0 is nothing. */
typedef struct fse_options {
  unsigned flags;   /* FSE_PERSISTENT, FSE_GREEDY */
  const char *name; /* by what fse_is_submitted and fse_remove find it */
  size_t at_least;  /* a greedy task waits until so many events are there, of all dependencies
                       together: they come in batches */
  double within_s;  /* so many seconds after the first event of a batch, fewer are enough, if there
                       is one for each dependency */
} fse_options;

/* Submits a task, with any number of dependencies; those with FSE_ALL give an event for each rank.
 * name: by what fse_is_submitted and fse_remove find it; NULL if nothing. Never waits. In C++ an
 * exception that leaves a task ends the run on all ranks, as fse_fail does, with its text. */
#if defined(__cplusplus) && defined(__cpp_exceptions)
typedef void (*fse_caller)(fse_task task, const fse_event *events, int count, void *context);
int fse_submit_by(fse_caller caller, fse_task task, void *context, const fse_dependency *on,
                  size_t count, const fse_options *options);
void fse_thrown(const char *text);

/* Tells the text of the exception that is being handled. */
inline void fse_tell(void (*to)(const char *text)) {
  try {
    throw;
  } catch (const std::exception &error) {
    to(error.what());
  } catch (const char *text) {
    to(text);
  } catch (...) {
    to("something that is no std::exception");
  }
}

static inline void fse_call(fse_task task, const fse_event *events, int count, void *context) {
  try {
    task(events, count, context);
  } catch (...) {
    fse_tell(fse_thrown);
  }
}

static inline int fse_submit_on(fse_task task, void *context, const fse_dependency *on,
                                size_t count, unsigned flags, const char *name) {
  fse_options options = {flags, name, 0, 0};
  return fse_submit_by(fse_call, task, context, on, count, &options);
}

static inline int fse_submit_with(fse_task task, void *context, const fse_dependency *on,
                                  size_t count, const fse_options *options) {
  return fse_submit_by(fse_call, task, context, on, count, options);
}
#else
int fse_submit_with(fse_task task, void *context, const fse_dependency *on, size_t count,
                    const fse_options *options);
int fse_submit_on(fse_task task, void *context, const fse_dependency *on, size_t count,
                  unsigned flags, const char *name);
#endif

/* Fires an event: copies its payload and goes on. When the target has no room, takes in meanwhile
 * what arrives here. flags: 0 or FSE_PERSISTENT. */
int fse_fire_flags(const void *data, int type, size_t count, int target, const char *id,
                   unsigned flags);
int fse_fire(const void *data, int type, size_t count, int target, const char *id);
int fse_fire_persistent(const void *data, int type, size_t count, int target, const char *id);

/* The same for an array of ndims dimensions, 15 at most, whose last index runs fastest: it comes with
 * its shape. flags: 0 or FSE_PERSISTENT. */
int fse_fire_array(const void *data, int type, int ndims, const size_t *shape, int target,
                   const char *id, unsigned flags);

/* The same for several ranks. */
int fse_fire_group(const void *data, int type, size_t count, const int *targets, size_t ntargets,
                   const char *id);

/* Fires at this rank an event that carries an address: its event has it as data. */
int fse_fire_address(const void *address, const char *id);

/* The same for any number of them: their array is copied, and is what the event has as data. flags: 0
 * or FSE_PERSISTENT. */
int fse_fire_addresses(const void *const *addresses, size_t count, const char *id,
                       unsigned flags);

/* Waits for events, in the order of the dependencies; in a task its locks are let go meanwhile, and
 * its worker runs other tasks. timeout_s < 0: for as long as it takes. found: how many, or the
 * number of the error if NULL is returned. To be freed by fse_free. */
const fse_event *fse_wait_on(const fse_dependency *on, size_t count, double timeout_s, int *found);

/* Takes at most one event for each dependency, of those that are there. found: how many, or the number
 * of the error. */
const fse_event *fse_retrieve_any_on(const fse_dependency *on, size_t count, int *found);

/* Frees what fse_wait and fse_retrieve_any returned. */
void fse_free(const fse_event *events);

/* The first event with this identifier from this source, or NULL. */
const fse_event *fse_find(const fse_event *events, int count, int source, const char *id);

/* Named locks of this rank, held by one task at a time; the end of the task lets go of them.
 * fse_try_lock returns whether this task has the lock now. */
int fse_lock(const char *name);
int fse_try_lock(const char *name);
int fse_holds_lock(const char *name); /* whether it has the lock, without trying to take it */
int fse_unlock(const char *name);

/* Whether tasks of this name wait; removes those that are not ready, and returns how many. */
int fse_is_submitted(const char *name);
int fse_remove(const char *name);

/* Fires an event at this rank in a while; again and again. The run does not end before fse_after has
 * fired. fse_stop takes back what these and the calls below began and has not fired yet, and returns
 * how much that was. */
int fse_after(double seconds, const char *id);
int fse_every(double seconds, const char *id);
int fse_stop(const char *id);

/* Fires an event at this rank, once, when there is something to read from a descriptor; when so
 * many bytes of memory, or fewer, are left; when the load of the last minute is so high. The run
 * does not end before. */
int fse_when_readable(int descriptor, const char *id);
int fse_when_memory_below(uint64_t nbytes, const char *id);
int fse_when_load_above(double load, const char *id);

/* Waits until nothing is left to do on any rank, and goes on. Every rank has to call it, or be in
 * fse_finalise. Not inside of tasks. */
int fse_drain(void);

/* Ends the run on all ranks with an error, which fse_finalise returns, with the task, its file, line and events. */
int fse_fail(const char *message);

/* Says on stderr what waits on this rank, and for what: tasks with their names, files and lines, as
 * the calls below are macros that note them (unless FSE_NO_PLACES is defined). */
int fse_report(void);

/* How many tasks of this rank run at the same time, how many run now, and the number of the worker
 * that runs this task, from 0; one that waits may go on as another. The core on which a worker
 * stays: FSE_BAD_CALL if workers are not mapped to cores. */
int fse_workers(void);
int fse_busy_workers(void);
int fse_worker(void);
int fse_core(int worker);

/* What a rank has done since it began, and what it is doing. */
typedef struct fse_statistics {
  uint64_t fired;      /* events at other ranks, one for each target */
  uint64_t arrived;    /* events from all ranks, this one and its clocks included */
  uint64_t tasks;      /* tasks that have been called */
  uint64_t waiting;    /* tasks and threads that wait for events */
  uint64_t ready;      /* tasks that have their events, and wait for a worker */
  uint64_t unconsumed; /* events that no task has taken */
  int workers;         /* tasks that can run at the same time */
  int busy;            /* tasks that run */
} fse_statistics;
int fse_get_statistics(fse_statistics *into);

/* What the calls below have in common: the dependencies, as pairs of int and const char *. */
#define FSE_LISTED 64

static inline size_t fse_list(fse_dependency *on, int count, va_list words) {
  for (int index = 0; index < count && index < FSE_LISTED; index++) {
    on[index].source = va_arg(words, int);
    on[index].id = va_arg(words, const char *);
  }
  return count < 0 ? (size_t)-1 : (size_t)count;
}

/* The calls of the paper: at most FSE_LISTED dependencies, (int source, const char *id)... */
static inline int fse_submit(fse_task task, void *context, int count, ...) {
  fse_dependency on[FSE_LISTED];
  va_list words;
  va_start(words, count);
  size_t listed = fse_list(on, count, words);
  va_end(words);
  return fse_submit_on(task, context, count > FSE_LISTED ? NULL : on, listed, 0, NULL);
}

static inline int fse_submit_persistent(fse_task task, void *context, int count, ...) {
  fse_dependency on[FSE_LISTED];
  va_list words;
  va_start(words, count);
  size_t listed = fse_list(on, count, words);
  va_end(words);
  return fse_submit_on(task, context, count > FSE_LISTED ? NULL : on, listed, FSE_PERSISTENT,
                       NULL);
}

static inline const fse_event *fse_wait(int count, ...) {
  fse_dependency on[FSE_LISTED];
  va_list words;
  va_start(words, count);
  size_t listed = fse_list(on, count, words);
  va_end(words);
  return fse_wait_on(count > FSE_LISTED ? NULL : on, listed, -1.0, NULL);
}

static inline const fse_event *fse_retrieve_any(int *found, int count, ...) {
  fse_dependency on[FSE_LISTED];
  va_list words;
  va_start(words, count);
  size_t listed = fse_list(on, count, words);
  va_end(words);
  return fse_retrieve_any_on(count > FSE_LISTED ? NULL : on, listed, found);
}

/* Notes where the next call of this thread is, for reports: literals. */
void fse_at(const char *file, int line, const char *text);

/* An exception that nobody catches ends the run on all ranks as fse_fail does, with its text, before it ends
 * this process. */
#if defined(__cplusplus) && defined(__cpp_exceptions)
void fse_uncaught(const char *text);

inline std::terminate_handler &fse_former_handler(void) {
  static std::terminate_handler former = nullptr;
  return former;
}

inline void fse_on_terminate(void) {
  if (std::current_exception())
    fse_tell(fse_uncaught);
  else
    fse_uncaught("it called std::terminate");
  fse_former_handler()();
}

inline void fse_watch_exceptions(void) {
  std::terminate_handler now = std::get_terminate();
  if (now == fse_on_terminate) return;
  fse_former_handler() = now;
  std::set_terminate(fse_on_terminate);
}
#else
#define fse_watch_exceptions() ((void)0)
#endif

#ifndef FSE_NO_PLACES
#define FSE_AT(...) fse_at(__FILE__, __LINE__, #__VA_ARGS__)
#define fse_init(...) (FSE_AT(__VA_ARGS__), fse_watch_exceptions(), fse_init(__VA_ARGS__))
#define fse_init_on(...) (FSE_AT(__VA_ARGS__), fse_watch_exceptions(), fse_init_on(__VA_ARGS__))
#define fse_fail(...) (FSE_AT(__VA_ARGS__), fse_fail(__VA_ARGS__))
#define fse_submit(...) (FSE_AT(__VA_ARGS__), fse_submit(__VA_ARGS__))
#define fse_submit_persistent(...) (FSE_AT(__VA_ARGS__), fse_submit_persistent(__VA_ARGS__))
#define fse_submit_on(...) (FSE_AT(__VA_ARGS__), fse_submit_on(__VA_ARGS__))
#define fse_submit_with(...) (FSE_AT(__VA_ARGS__), fse_submit_with(__VA_ARGS__))
#define fse_wait(...) (FSE_AT(__VA_ARGS__), fse_wait(__VA_ARGS__))
#define fse_wait_on(...) (FSE_AT(__VA_ARGS__), fse_wait_on(__VA_ARGS__))
#define fse_lock(...) (FSE_AT(__VA_ARGS__), fse_lock(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif

#endif
