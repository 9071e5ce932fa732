/* Conjugate gradient on a 27-point stencil in CSR, as in the paper on malleability: the matrix is in
 * the program's memory and described by functions, vectors are rows of the library.
 *
 *   mpicc cg.c $(pkg-config --cflags --libs freestone_malleable) -lm -o cg
 *   FREESTONE_MALLEABLE_TARGETS=10:4,25:2 mpiexec -n 2 ./cg 24
 *
 * Sums are made block by block in the order of the rows, and rows are cut at blocks, so that any
 * number of ranks gives the same bits. */
#include <freestone_malleable.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

/* MPI_Abort may return. */
static void give_up(void) {
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static int checked(int status) {
  if (status < 0) {
    fprintf(stderr, "%s\n", fsm_error());
    give_up();
  }
  return status;
}

/* Cuts rows where a block begins. */
static int by_blocks(void *context, uint64_t rows, int ranks, uint64_t *offsets) {
  (void)context;
  uint64_t blocks = (rows + BLOCK - 1) / BLOCK;
  for (int rank = 0; rank < ranks; rank++)
    offsets[rank] = blocks * (uint64_t)rank / (uint64_t)ranks * BLOCK;
  offsets[ranks] = rows;
  return 0;
}

/* The rows that this rank has of a CSR matrix; offsets count from its first element. */
struct csr {
  uint64_t first, end;
  int64_t *offsets;
  int32_t *columns;
  double *values;
};

static void make_room(struct csr *csr, uint64_t first, uint64_t end, int64_t elements) {
  csr->first = first;
  csr->end = end;
  csr->offsets = realloc(csr->offsets, (end - first + 1) * sizeof *csr->offsets);
  csr->columns = realloc(csr->columns, ((size_t)elements + 1) * sizeof *csr->columns);
  csr->values = realloc(csr->values, ((size_t)elements + 1) * sizeof *csr->values);
  if (!csr->offsets || !csr->columns || !csr->values)
    give_up();
  csr->offsets[0] = 0;
}

static int64_t elements(const struct csr *csr, uint64_t first, uint64_t end) {
  return csr->offsets[end - csr->first] - csr->offsets[first - csr->first];
}

/* A run of rows is packed as the length of each, then columns, then values. */
static int csr_nbytes(void *context, uint64_t first, uint64_t end, uint64_t *nbytes) {
  *nbytes = (end - first) * 8 + (uint64_t)elements(context, first, end) * 12;
  return 0;
}

static int csr_pack(void *context, uint64_t first, uint64_t end, void *bytes) {
  const struct csr *csr = context;
  char *into = bytes;
  for (uint64_t row = first; row < end; row++, into += 8) {
    int64_t length = elements(csr, row, row + 1);
    memcpy(into, &length, 8);
  }
  size_t count = (size_t)elements(csr, first, end);
  int64_t start = csr->offsets[first - csr->first];
  memcpy(into, csr->columns + start, count * 4);
  memcpy(into + count * 4, csr->values + start, count * 8);
  return 0;
}

static int csr_adopt(void *context, uint64_t first, uint64_t end) {
  make_room(context, first, end, 0);
  return 0;
}

static int csr_unpack(void *context, uint64_t first, uint64_t end, const void *bytes, uint64_t nbytes) {
  struct csr *csr = context;
  const char *from = bytes;
  size_t count = (nbytes - (end - first) * 8) / 12;
  int64_t start = csr->offsets[first - csr->first], total = start + (int64_t)count;
  for (uint64_t row = first; row < end; row++, from += 8) {
    int64_t length;
    memcpy(&length, from, 8);
    csr->offsets[row + 1 - csr->first] = csr->offsets[row - csr->first] + length;
  }
  csr->columns = realloc(csr->columns, ((size_t)total + 1) * 4);
  csr->values = realloc(csr->values, ((size_t)total + 1) * 8);
  if (!csr->columns || !csr->values)
    return 1;
  memcpy(csr->columns + start, from, count * 4);
  memcpy(csr->values + start, from + count * 4, count * 8);
  return 0;
}

/* The stencil's rows: 27 on the diagonal, -1 to each neighbour of the cube of m points a side. */
static void fill(struct csr *csr, uint64_t first, uint64_t end, int m) {
  make_room(csr, first, end, (int64_t)(end - first) * 27);
  int64_t at = 0;
  for (uint64_t row = first; row < end; row++) {
    int z = (int)(row / ((uint64_t)m * m)), y = (int)(row / m % m), x = (int)(row % m);
    for (int c = z - 1; c <= z + 1; c++)
      for (int b = y - 1; b <= y + 1; b++)
        for (int a = x - 1; a <= x + 1; a++)
          if (a >= 0 && a < m && b >= 0 && b < m && c >= 0 && c < m) {
            csr->columns[at] = (c * m + b) * m + a;
            csr->values[at++] = a == x && b == y && c == z ? 27.0 : -1.0;
          }
    csr->offsets[row + 1 - first] = at;
  }
}

/* What every rank needs of the others' blocks, rows or sums: where each rank's begin. */
static void gather(const double *own, uint64_t first, uint64_t count, double *all, MPI_Comm comm) {
  int size, mine[2] = {(int)count, (int)first};
  MPI_Comm_size(comm, &size);
  int *pairs = malloc((size_t)size * 4 * sizeof *pairs), *counts = pairs + 2 * size, *starts = counts + size;
  MPI_Allgather(mine, 2, MPI_INT, pairs, 2, MPI_INT, comm);
  for (int rank = 0; rank < size; rank++) {
    counts[rank] = pairs[2 * rank];
    starts[rank] = pairs[2 * rank + 1];
  }
  MPI_Allgatherv(own, (int)count, MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, comm);
  free(pairs);
}

static double dot(const double *a, const double *b, uint64_t first, uint64_t count, uint64_t rows, MPI_Comm comm) {
  uint64_t blocks = (rows + BLOCK - 1) / BLOCK, own = (count + BLOCK - 1) / BLOCK;
  double *sums = calloc(own + blocks + 1, sizeof *sums), *all = sums + own, total = 0;
  for (uint64_t at = 0; at < count; at++)
    sums[at / BLOCK] += a[at] * b[at];
  gather(sums, first / BLOCK, own, all, comm);
  for (uint64_t block = 0; block < blocks; block++)
    total += all[block];
  free(sums);
  return total;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int m = argc > 1 ? atoi(argv[1]) : 16;
  uint64_t rows = (uint64_t)m * m * m, first, count;
  fsm_config config = {.layout = by_blocks};
  checked(fsm_init(MPI_COMM_WORLD, &config));

  struct csr A = {0, 0, NULL, NULL, NULL};
  fsm_functions functions = {csr_nbytes, csr_pack, csr_adopt, csr_unpack, &A};
  int64_t step = 0;
  double rho = 0;
  checked(fsm_register_user("A", rows, &functions));
  checked(fsm_register_rows("x", FSM_VARIABLE, rows, sizeof(double)));
  checked(fsm_register_rows("r", FSM_VARIABLE, rows, sizeof(double)));
  checked(fsm_register_rows("p", FSM_VARIABLE, rows, sizeof(double)));
  checked(fsm_register_replicated("step", &step, sizeof step));
  checked(fsm_register_replicated("rho", &rho, sizeof rho));

  if (!fsm_is_joining()) {
    double *r = fsm_rows("r", &first, &count), *p = fsm_rows("p", NULL, NULL);
    fill(&A, first, first + count, m);
    for (uint64_t at = 0; at < count; at++)
      r[at] = p[at] = 1.0 + (double)((first + at) % 7);
    rho = dot(r, r, first, count, rows, fsm_comm());
  }

  double *all = malloc(rows * sizeof *all), *q = malloc(rows * sizeof *q);
  int has_left = 0;
  while (fsm_is_joining() || (sqrt(rho) > 1e-10 && step < 1000)) {
    if (checked(fsm_checkpoint(step)) == FSM_LEAVE) {
      has_left = 1;
      break;
    }
    MPI_Comm comm = fsm_comm();
    double *x = fsm_rows("x", &first, &count), *r = fsm_rows("r", NULL, NULL), *p = fsm_rows("p", NULL, NULL);
    gather(p, first, count, all, comm);
    for (uint64_t at = 0; at < count; at++) {
      q[at] = 0;
      for (int64_t one = A.offsets[at]; one < A.offsets[at + 1]; one++)
        q[at] += A.values[one] * all[A.columns[one]];
    }
    double alpha = rho / dot(p, q, first, count, rows, comm), old = rho;
    for (uint64_t at = 0; at < count; at++) {
      x[at] += alpha * p[at];
      r[at] -= alpha * q[at];
    }
    rho = dot(r, r, first, count, rows, comm);
    for (uint64_t at = 0; at < count; at++)
      p[at] = r[at] + rho / old * p[at];
    step++;
  }
  if (!has_left) {
    double *x = fsm_rows("x", &first, &count), norm = dot(x, x, first, count, rows, fsm_comm());
    if (fsm_rank() == 0)
      printf("%d iterations, residual %.17g, norm of x %.17g\n", (int)step, sqrt(rho), sqrt(norm));
  }
  checked(fsm_finalise());
  free(A.offsets);
  free(A.columns);
  free(A.values);
  free(all);
  free(q);
  MPI_Finalize();
  return 0;
}
