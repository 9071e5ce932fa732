/* Heat in a plate on a grid of processes, explicit, with halos on all four sides.
 *
 *   mpicc plate.c $(pkg-config --cflags --libs freestone_malleable) -o plate
 *   FREESTONE_MALLEABLE_TARGETS=10:6,25:4 mpiexec -n 2 ./plate
 *
 * The plate is cut into square tiles, each of which is a row of the library: tile t is the one at line t / ACROSS and
 * column t % ACROSS. The function `owner` gives each process of the grid a rectangle of tiles, so a resize from 4 to 6
 * ranks goes from a grid of 2 x 2 to one of 3 x 2. A tile asks fsm_rank_of for the ranks of its neighbours.
 *
 * With the name of a file it saves its state there every 20 steps, and goes on from it if it is there. */
#include <freestone_malleable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 16, DOWN = 10, ACROSS = 14, TILES = DOWN * ACROSS, STEPS = 60 };
/* The sides of a tile; s ^ 1 is the one opposite to s. */
enum { ABOVE, BELOW, LEFT, RIGHT, SIDES };

typedef double tile[TILE][TILE];
typedef double edges[SIDES][TILE];

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

/* Which rank of the grid has a tile. */
static int owner(void *context, uint64_t tiles, int ranks, uint64_t number, uint64_t *end) {
  (void)context, (void)tiles, (void)end;
  int grid[2] = {0, 0};
  MPI_Dims_create(ranks, 2, grid);
  int down = (int)number / ACROSS * grid[0] / DOWN, across = (int)number % ACROSS * grid[1] / ACROSS;
  return down * grid[1] + across;
}

/* The tile beside another one, or -1 at the rim of the plate. */
static int beside(int number, int side) {
  int down = number / ACROSS, across = number % ACROSS;
  down += (side == BELOW) - (side == ABOVE);
  across += (side == RIGHT) - (side == LEFT);
  return down < 0 || down >= DOWN || across < 0 || across >= ACROSS ? -1 : down * ACROSS + across;
}

static void copy_edge(tile *from, int side, double *into) {
  for (int at = 0; at < TILE; at++)
    into[at] = side == ABOVE ? (*from)[0][at] : side == BELOW ? (*from)[TILE - 1][at] :
               side == LEFT ? (*from)[at][0] : (*from)[at][TILE - 1];
}

/* Fills the halos of this rank's tiles. Tile t is u[t] on each rank that has it: rows keep the same distances in
 * whatever run they are. */
static void exchange(tile *u, const int *own, int count, edges *halos, edges *sent, MPI_Request *requests) {
  int length = 0;
  for (int at = 0; at < count; at++)
    for (int side = 0; side < SIDES; side++) {
      int other = beside(own[at], side);
      if (other < 0) {
        memset(halos[at][side], 0, sizeof halos[at][side]);
        continue;
      }
      int rank = checked(fsm_rank_of("u", (uint64_t)other));
      if (rank == fsm_rank()) {
        copy_edge(&u[other], side ^ 1, halos[at][side]);
        continue;
      }
      /* A message's tag is the tile that receives it, and its side. */
      copy_edge(&u[own[at]], side, sent[at][side]);
      MPI_Irecv(halos[at][side], TILE, MPI_DOUBLE, rank, own[at] * SIDES + side, fsm_comm(), &requests[length++]);
      MPI_Isend(sent[at][side], TILE, MPI_DOUBLE, rank, other * SIDES + (side ^ 1), fsm_comm(), &requests[length++]);
    }
  MPI_Waitall(length, requests, MPI_STATUSES_IGNORE);
}

static void heat(tile *one, edges *halo) {
  tile old;
  memcpy(old, *one, sizeof old);
  for (int y = 0; y < TILE; y++)
    for (int x = 0; x < TILE; x++) {
      double above = y > 0 ? old[y - 1][x] : (*halo)[ABOVE][x], below = y < TILE - 1 ? old[y + 1][x] : (*halo)[BELOW][x];
      double left = x > 0 ? old[y][x - 1] : (*halo)[LEFT][y], right = x < TILE - 1 ? old[y][x + 1] : (*halo)[RIGHT][y];
      (*one)[y][x] = old[y][x] + 0.2 * (above + below + left + right - 4 * old[y][x]);
    }
}

/* Where tile 0 is, or would be, and the numbers of this rank's tiles. */
static tile *find_tiles(int *own, int *count) {
  tile *u = NULL;
  *count = 0;
  for (int run = 0; run < checked(fsm_runs("u")); run++) {
    uint64_t first, rows;
    tile *found = fsm_run("u", run, &first, &rows);
    u = found - first;
    for (uint64_t at = 0; at < rows; at++)
      own[(*count)++] = (int)(first + at);
  }
  return u;
}

static void fill(tile *one, int number) {
  for (int y = 0; y < TILE; y++)
    for (int x = 0; x < TILE; x++) {
      int down = number / ACROSS * TILE + y, across = number % ACROSS * TILE + x;
      (*one)[y][x] = down > 40 && down < 90 && across > 30 && across < 150 ? 100 : 0;
    }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const char *state = argc > 1 ? argv[1] : "";
  fsm_config config = {.owner = owner};
  checked(fsm_init(MPI_COMM_WORLD, &config));
  int64_t step = 0;
  checked(fsm_register_rows("u", FSM_VARIABLE, TILES, sizeof(tile)));
  checked(fsm_register_replicated("step", &step, sizeof step));
  static int own[TILES];
  int count, is_loaded = *state && checked(fsm_load(state)), status = FSM_OK;
  if (!is_loaded && !fsm_is_joining()) {
    tile *u = find_tiles(own, &count);
    for (int at = 0; at < count; at++)
      fill(&u[own[at]], own[at]);
  }

  static edges halos[TILES], sent[TILES];
  static MPI_Request requests[2 * TILES * SIDES];
  for (; fsm_is_joining() || step < STEPS; step++) {
    status = checked(fsm_checkpoint(step));
    if (status == FSM_LEAVE)
      break;
    if (*state && step % 20 == 0)
      checked(fsm_save(state));
    tile *u = find_tiles(own, &count);
    exchange(u, own, count, halos, sent, requests);
    for (int at = 0; at < count; at++)
      heat(&u[own[at]], &halos[at]);
  }

  if (status != FSM_LEAVE) {
    tile *u = find_tiles(own, &count);
    double hottest = 0;
    uint64_t bits = 0;
    for (int at = 0; at < count; at++)
      for (int cell = 0; cell < TILE * TILE; cell++) {
        double value = u[own[at]][cell / TILE][cell % TILE];
        uint64_t word;
        memcpy(&word, &value, sizeof word);
        int shift = (own[at] * TILE * TILE + cell) % 63 + 1;
        bits ^= word << shift | word >> (64 - shift);
        hottest = value > hottest ? value : hottest;
      }
    MPI_Allreduce(MPI_IN_PLACE, &hottest, 1, MPI_DOUBLE, MPI_MAX, fsm_comm());
    MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BXOR, fsm_comm());
    if (fsm_rank() == 0)
      printf("step %d, hottest %.12f, bits %016llx\n", (int)step, hottest, (unsigned long long)bits);
  }
  checked(fsm_finalise());
  MPI_Finalize();
  return 0;
}
