/* What the machine gives: bytes between two processes by a unix socket, or by a ring in shared
 * memory that both look at without a pause. plain SCALE socket|ring */
#define _GNU_SOURCE
#include "timing.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPACITY = 1 << 22 };

typedef struct {
  _Atomic uint64_t tail;
  char apart[120];
  _Atomic uint64_t head;
  char apart_too[120];
  char bytes[CAPACITY];
} Ring;

static char payload[1 << 20];
static int pair[2], end, is_ring;
static Ring *rings;

static void pause_a_little(unsigned *looks) {
  if (++*looks % 64 == 0) sched_yield();
}

static void put(size_t nbytes) {
  if (!is_ring) {
    for (size_t done = 0; done < nbytes;) {
      ssize_t wrote = write(pair[end], payload + done, nbytes - done);
      if (wrote < 0) exit(1);
      done += (size_t)wrote;
    }
    return;
  }
  Ring *ring = &rings[end];
  uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  unsigned looks = 0;
  size_t at = tail % CAPACITY, skip = at + nbytes > CAPACITY ? CAPACITY - at : 0;
  while (tail + skip + nbytes > atomic_load_explicit(&ring->head, memory_order_acquire) + CAPACITY)
    pause_a_little(&looks);
  memcpy(ring->bytes + (tail + skip) % CAPACITY, payload, nbytes);
  atomic_store_explicit(&ring->tail, tail + skip + nbytes, memory_order_release);
}

static void get(size_t nbytes) {
  if (!is_ring) {
    for (size_t done = 0; done < nbytes;) {
      ssize_t got = read(pair[end], payload + done, nbytes - done);
      if (got <= 0) exit(1);
      done += (size_t)got;
    }
    return;
  }
  Ring *ring = &rings[1 - end];
  uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  unsigned looks = 0;
  size_t at = head % CAPACITY, skip = at + nbytes > CAPACITY ? CAPACITY - at : 0;
  while (atomic_load_explicit(&ring->tail, memory_order_acquire) < head + skip + nbytes)
    pause_a_little(&looks);
  memcpy(payload, ring->bytes + (head + skip) % CAPACITY, nbytes);
  atomic_store_explicit(&ring->head, head + skip + nbytes, memory_order_release);
}

int main(int argc, char **argv) {
  int scale = scale_of(argc, argv);
  is_ring = argc > 2 && strcmp(argv[2], "ring") == 0;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
  rings = mmap(NULL, 2 * sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  memset(rings, 0, 2 * sizeof(Ring));
  memset(payload, 1, sizeof payload);
  end = fork() == 0;
  for (int index = 0; index < SIZES; index++) {
    int count = turns(sizes[index], scale);
    Turns measured = begin_turns(count);
    for (int turn = 0; turn < count; turn++) {
      if (end == 0) put(sizes[index]);
      get(sizes[index]);
      if (end == 1) put(sizes[index]);
      end_turn(&measured);
    }
    if (end == 0) say_one_way(sizes[index], &measured);
  }
  int count = 200000 * scale;
  double start = now();
  for (int turn = 0; turn < count; turn++) {
    if (end == 0) put(8); else get(8);
  }
  if (end == 1) put(8); else get(8);
  if (end == 0) say("events", count / (now() - start));
  if (end == 1) _exit(0);
  wait(NULL);
  return 0;
}
