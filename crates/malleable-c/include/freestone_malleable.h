/* freestone_malleable.h: resizing a running MPI program.
 *
 * A program registers its data, and calls fsm_checkpoint at the head of each step. When another
 * number of ranks is asked for, the checkpoint starts or dismisses ranks and moves the data. Ranks
 * that are started run the program from its top: they register the same data, do not fill it, and
 * come out of their first checkpoint in the middle of the loop.
 *
 *   MPI_Init(&argc, &argv);
 *   if (fsm_init(MPI_COMM_WORLD, NULL) < 0) { fprintf(stderr, "%s\n", fsm_error()); MPI_Abort(MPI_COMM_WORLD, 1); exit(1); }
 *   int64_t step = 0;
 *   fsm_register_rows("x", FSM_VARIABLE, 1000000, sizeof(double));
 *   fsm_register_replicated("step", &step, sizeof step);
 *   if (!fsm_is_joining()) { ... fill the rows ... }
 *   for (; step < 100; step++) {
 *     int status = fsm_checkpoint(step);
 *     if (status == FSM_LEAVE) break;
 *     if (status < 0) { fprintf(stderr, "%s\n", fsm_error()); MPI_Abort(MPI_COMM_WORLD, 1); exit(1); }
 *     uint64_t first, count;
 *     double *x = fsm_rows("x", &first, &count);
 *     ... compute, communicate by fsm_comm() ...
 *   }
 *   fsm_finalise();
 *   MPI_Finalize();
 *
 * Calls that return an int return FSM_OK or what they report, or an error, which is negative;
 * fsm_error() then says what went wrong and what to try. Calls are made by one thread, between
 * MPI_Init and MPI_Finalize (FSM_BAD_CALL after it), at the same places on all ranks that are in the job. Names and other
 * texts are UTF-8.
 *
 * An error of fsm_checkpoint, fsm_commit or fsm_finalise is the same on all ranks, but for
 * FSM_BAD_CALL, FSM_MPI and FSM_TIMEOUT; none of them can go on, and each later one of these calls
 * returns it again. An error in registering data is returned by that call, and by the first
 * checkpoint on all ranks. FSM_BAD_CALL of any other call changes nothing: the job goes on.
 */
#ifndef FREESTONE_MALLEABLE_H
#define FREESTONE_MALLEABLE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FSM_VERSION 1

/* What fsm_checkpoint and fsm_commit return. */
enum {
  FSM_OK = 0,
  FSM_RESIZED = 1,    /* rows, rank, size and communicator are others: ask for them again */
  FSM_LEAVE = 2,      /* this process has no rows any more: leave the loop, fsm_finalise */
  FSM_USER_PHASE = 3, /* move what is not registered (fsm_resize), then fsm_commit */
  FSM_CANCELLED = 4   /* a resize did not come about; the job is as it was. fsm_error says why */
};

/* Errors. After one that all ranks have, call MPI_Abort, and exit, as MPI_Abort may return. */
enum {
  FSM_DISAGREEMENT = -1, /* ranks have other settings or data, or are at another step */
  FSM_LAYOUT = -2,       /* a layout does not cover the rows */
  FSM_TIMEOUT = -3,      /* others did not come in time */
  FSM_MPI = -4,          /* what MPI answers, or there is no MPI that is known */
  FSM_MEMORY = -5,       /* no memory for rows */
  FSM_BAD_CALL = -6,     /* not possible, or not now */
  FSM_CALLBACK = -7,     /* a function of the program has returned another number than 0; the text
                            says on which rank */
  FSM_STATE = -8         /* a file of the job's state can't be written, is damaged, or has other data */
};

/* When rows move. */
enum {
  FSM_CONSTANT = 1, /* never written after the first checkpoint: may move while steps go on */
  FSM_VARIABLE = 2  /* at the switch */
};

/* Whether processes stay. */
enum {
  FSM_MERGE = 1,   /* as many as are needed stay */
  FSM_BASELINE = 2 /* all are replaced */
};

/* What a process is in a resize, or was in the last one. */
enum { FSM_STAYING = 1, FSM_JOINING = 2, FSM_LEAVING = 3 };

/* Where each rank's rows begin, and where the last one's end: fills ranks + 1 offsets, from 0 to
 * rows, and returns 0. The same for the same arguments on all ranks. */
typedef int (*fsm_layout_fn)(void *context, uint64_t rows, int ranks, uint64_t *offsets);

/* Which rank has a row, and in *end, if that rank has the next ones, too, where they end: it is `row` + 1
 * before, `rows` at most. Asked for row 0, then for the row where the last answer ended, so that a rank may have any
 * number of runs of rows: tiles of a process grid, blocks dealt in turn. The same for the same arguments on all
 * ranks. A negative number says that there is no such layout. */
typedef int (*fsm_owner_fn)(void *context, uint64_t rows, int ranks, uint64_t row, uint64_t *end);

/* How a job is resized, the same on all ranks: else the first checkpoint is FSM_DISAGREEMENT. Zeros are defaults: what FREESTONE_MALLEABLE_METHOD
 * and so on say, else what stands here. */
typedef struct fsm_config {
  int method;              /* METHOD (merge, baseline); FSM_MERGE */
  int overlap;             /* OVERLAP; 1: steps go on while ranks start and constant data moves */
  int user_phase;          /* 1: checkpoints return FSM_USER_PHASE in each resize */
  const char *targets;     /* TARGETS; "10:4,20:2": 4 ranks from step 10 on, then 2 from step 20; one
                              size a step */
  const char *target_file; /* TARGET_FILE; rank 0 reads the size from it at each checkpoint, and
                              reports on stderr what is no size */
  fsm_layout_fn layout;    /* NULL: as many rows for each rank as for any other, or one more */
  void *context;           /* for layout and owner */
  double timeout_s;        /* TIMEOUT_S; 600: how long what ranks do together may take */
  double spawn_timeout_s;  /* SPAWN_TIMEOUT_S; 60: until ranks that start are at their loop; under
                              MPICH's launcher they are killed then */
  double step_timeout_s;   /* STEP_TIMEOUT_S; 3600: how long a checkpoint waits for other ranks */
  int slots;               /* SLOTS; how many ranks there may be: a resize to more is cancelled. By default
                              64 for each processor of rank 0's host, or 16 for each rank, if that is more */
  int minimal;             /* MINIMAL; 1: each resize moves the fewest rows that it can, without layout and
                              owner. A rank has several runs of rows then: fsm_runs */
  fsm_owner_fn owner;      /* NULL, or in place of layout: a rank may have several runs of rows then */
} fsm_config;

/* Rows in memory of the program's own: CSR matrices, particles, lists. In a resize the rows that
 * a rank has are packed, in runs [first, end): nbytes sets *nbytes, one number, to the bytes of all
 * rows of a run, and pack writes so many; then adopt
 * makes room for the rows that the rank is to have, in place of the old ones; then unpack reads
 * them, run by run, in order. Each returns 0, or another number to end the job with FSM_CALLBACK on
 * all ranks. They don't call this library. */
typedef struct fsm_functions {
  int (*nbytes)(void *context, uint64_t first, uint64_t end, uint64_t *nbytes);
  int (*pack)(void *context, uint64_t first, uint64_t end, void *bytes);
  int (*adopt)(void *context, uint64_t first, uint64_t end);
  int (*unpack)(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes);
  void *context;
} fsm_functions;

/* In place of adopt, for rows of which a rank may have several runs, or none: run r is [bounds[2 r], bounds[2 r + 1]). */
typedef int (*fsm_adopt_runs_fn)(void *context, int runs, const uint64_t *bounds);

/* The resize that waits for fsm_commit. */
typedef struct fsm_resize_info {
  MPI_Comm bridge; /* all that have the data, in the order of their ranks, then joining ranks */
  int sources;     /* how many have it */
  int targets;     /* how many shall have it */
  int old_rank;    /* -1 on joining ranks */
  int new_rank;    /* -1 on leaving ranks */
} fsm_resize_info;

/* Registers rows of the same size in memory of the library, all zero: fsm_rows has their address.
 * All ranks register the same, in one order, before their first checkpoint. */
int fsm_register_rows(const char *name, int kind, uint64_t rows, uint64_t row_nbytes);

/* Registers bytes of the program that are the same on all ranks; in a resize all get rank 0's. Bytes that differ
 * at the first checkpoint are FSM_DISAGREEMENT there, with the rank and the first of them. The padding of a
 * struct counts: clear it by memset. */
int fsm_register_replicated(const char *name, void *address, uint64_t nbytes);

/* Registers rows in memory of the program's own, which move at the switch. */
int fsm_register_user(const char *name, uint64_t rows, const fsm_functions *functions);

/* The same with adopt_runs in place of functions->adopt, so that minimal and owner deal these rows, too. */
int fsm_register_user_runs(const char *name, uint64_t rows, const fsm_functions *functions,
                           fsm_adopt_runs_fn adopt_runs);

/* What the others have registered, by number from 0 on, for a joining rank whose data depends on it:
 * the name, until the next call; the rows, 0 for replicated data; the bytes of a row, or of all.
 * NULL if there is no more, or on other ranks. */
const char *fsm_expected(int index, uint64_t *rows, uint64_t *nbytes);

/* The address of this rank's rows, the first one's number and how many there are; NULL for
 * registered rows in the program's memory, whose numbers are filled in, too, or for an error. Rows
 * that stay keep their address; the pages of those that have left can't be read any more. */
void *fsm_rows(const char *name, uint64_t *first, uint64_t *count);

/* With minimal or owner: how many runs of rows this rank has, in order, none too; and one of them, counted from
 * 0, as fsm_rows. A row has the same address in whatever run it is. fsm_rows is an error where there are
 * several runs. Rows of fsm_register_user, and with minimal also registered rows that are as many, are one run
 * always. */
int fsm_runs(const char *name);
void *fsm_run(const char *name, int run, uint64_t *first, uint64_t *count);

/* The rank that has a row, for who needs it of others. The same on all ranks after a checkpoint. */
int fsm_rank_of(const char *name, uint64_t row);

/* Gives variable data other numbers of rows, any on each rank, 0 on all too: particles that come and go,
 * a mesh that is refined. All ranks call it together, for the same data. The first rows keep their bytes, new
 * ones beyond as many as there were are zero, and all get another address; the program sees to rows in memory of its own. No row is
 * sent: rank 0's rows come first, then rank 1's. What is named in one call lies alike, also after a
 * resize. A joining rank registers it with any number of rows. Bad arguments are FSM_BAD_CALL on all
 * ranks, and nothing has changed; if one of them makes another call, it is FSM_DISAGREEMENT, and none can
 * go on. A resize that goes on is cancelled at the next checkpoint, which
 * returns FSM_CANCELLED, and begun anew; then the job waits for it. */
int fsm_set_rows(const char *const *names, int length, uint64_t count);

/* Writes all registered data into a file that any number of ranks reads, and Python's World, too. All ranks
 * call it together, at the head of a step: after fsm_checkpoint, before rows are written. The file gets its
 * name once all of it is on the disk; each 4 MiB have a checksum. FSM_STATE if it can't be written: the one
 * before is there yet, and the job can go on; so it is if a device, a pipe, a socket or a folder has the name.
 * Where a link leads is the file. Rows in the program's memory are packed one by one. */
int fsm_save(const char *path);

/* Reads all registered data from such a file, on all ranks, after all is registered and before the first
 * checkpoint: returns 1, or 0 if there is no file. On a joining rank it reads nothing and returns 1, so rows
 * are filled where it returns 0. fsm_step() is then that of the checkpoint before the save. FSM_STATE on all
 * ranks if the file is damaged or has other data; none can go on then. */
int fsm_load(const char *path);

/* The head of a step, on all ranks, with the same number; a joining rank gives any. What tells the
 * steps apart has to be replicated, as a joining rank comes out of its first checkpoint in one. */
int fsm_checkpoint(int64_t step);

/* The end of the user phase, on all ranks: FSM_RESIZED or FSM_LEAVE. FSM_BAD_CALL outside of one, as a
 * checkpoint is within one; the job goes on. */
int fsm_commit(void);

/* Asks for a number of ranks, 1 or more, at the next checkpoint; the largest that any asks for counts. */
int fsm_request(int size);

int fsm_role(void);           /* FSM_STAYING, FSM_JOINING or FSM_LEAVING */
int fsm_is_joining(void);     /* 1 until the first checkpoint of a rank that was started later */
int fsm_rank(void);           /* a resize may change it */
int fsm_size(void);
int fsm_resizes(void);        /* since this rank is in the job */
int64_t fsm_step(void);       /* of the last checkpoint */
int64_t fsm_sent_nbytes(void); /* of rows, by this rank, in resizes */

/* Ends the job: all ranks that are in it call it after their loop, and those that leave. Rows are
 * given back. MPI_Finalize comes after it. */
int fsm_finalise(void);

/* What the last call of this thread that failed has to say. The text stays where it is until two other
 * calls of this thread have failed: copy it to keep it for longer. */
const char *fsm_error(void);

/* For C++: how often fsm_rows may have another answer, by resizes and fsm_set_rows. */
int fsm_changes(void);

/* For C++: what the function has thrown that returns an error for it. */
void fsm_threw(const char *text);

/* For C++ and Fortran: fsm_run, or fsm_rows for run -1, for rows of so many bytes; FSM_BAD_CALL if they
 * have others. */
int fsm_typed_rows(const char *name, int run, int64_t row_nbytes, void **address, uint64_t *first,
                   uint64_t *count);

/* For the inline functions below and the Fortran module: a communicator as a number. */
int fsm_init_handle(uintptr_t comm, const fsm_config *config);
int fsm_init_fortran(int comm, const fsm_config *config);
uintptr_t fsm_comm_handle(void);
int fsm_to_fortran(uintptr_t comm);
struct fsm_resize_numbers {
  uintptr_t bridge;
  int sources, targets, old_rank, new_rank;
};
int fsm_resize_handle(struct fsm_resize_numbers *info);

/* Begins, on all ranks of a communicator; NULL is all defaults. If it fails, all other calls fail with its
 * error. */
static inline int fsm_init(MPI_Comm comm, const fsm_config *config) {
  return fsm_init_handle((uintptr_t)comm, config);
}

/* The communicator of the ranks that are in the job, for the program. A resize frees it and makes
 * another. MPI_COMM_NULL on ranks that are not in it yet, or not any more. */
static inline MPI_Comm fsm_comm(void) {
  uintptr_t comm = fsm_comm_handle();
  return comm ? (MPI_Comm)comm : MPI_COMM_NULL;
}

/* Where this process is in the resize that waits for fsm_commit. */
static inline int fsm_resize(fsm_resize_info *info) {
  struct fsm_resize_numbers found;
  int status = fsm_resize_handle(&found);
  if (status < 0) return status;
  info->bridge = (MPI_Comm)found.bridge;
  info->sources = found.sources;
  info->targets = found.targets;
  info->old_rank = found.old_rank;
  info->new_rank = found.new_rank;
  return status;
}

#ifdef __cplusplus
}
#endif

#endif
