#include "base/arena.h"

#include <fenv.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { ALIGNMENT = 64, BLOCK_SIZE = 1 << 18 };

struct arena_block {
  arena_block *next;
  size_t size; /* usable bytes */
  size_t used;
  unsigned char *data; /* aligned */
};

/* ---- guards ---------------------------------------------------------------------------------- */

typedef struct guard {
  jmp_buf place;
  struct guard *outer;
} guard;

static _Thread_local guard *innermost = NULL;

// all that is read after a jump was written before the first return of setjmp
bool arena_guard(void (*work)(void *user), void *user) {
  guard g = {.outer = innermost};
  fenv_t modes;
  fegetenv(&modes);
  bool done = setjmp(g.place) == 0;
  if (done) {
    innermost = &g;
    work(user);
  } else {
    fesetenv(&modes);
  }
  innermost = g.outer;
  return done;
}

_Noreturn void arena_give_up(void) {
  if (innermost == NULL) abort();
  longjmp(innermost->place, 1);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static arena_block *block_create(size_t size) {
  unsigned char *memory = size_allocate(size_add(size, sizeof(arena_block) + ALIGNMENT), 1);
  if (memory == NULL) arena_give_up();
  arena_block *block = (arena_block *)(void *)memory;
  uintptr_t data = (uintptr_t)(memory + sizeof(arena_block));
  data = (data + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  *block = (arena_block){.next = NULL, .size = size, .used = 0, .data = (unsigned char *)data};
  return block;
}

void arena_init(arena *a) { *a = (arena){0}; }

void arena_free(arena *a) {
  for (arena_block *block = a->first; block != NULL;) {
    arena_block *next = block->next;
    free(block);
    block = next;
  }
  *a = (arena){0};
}

void *arena_bytes(arena *a, size_t size) {
  if (size > SIZE_MAX / 2) arena_give_up();
  size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

  // take it from the current block or the first later one that has room
  for (arena_block *block = a->current; block != NULL; block = block->next) {
    if (block != a->current) block->used = 0;
    if (block->size - block->used >= size) {
      void *memory = block->data + block->used;
      block->used += size;
      a->current = block;
      return memory;
    }
  }

  // or append a new block
  arena_block *block = block_create(size > BLOCK_SIZE ? size : BLOCK_SIZE);
  a->block_allocations++;
  if (a->first == NULL) {
    a->first = block;
  } else {
    arena_block *last = a->first;
    while (last->next != NULL) last = last->next;
    last->next = block;
  }
  a->current = block;
  block->used = size;
  return block->data;
}

arena_mark arena_save(const arena *a) {
  return (arena_mark){.block = a->current, .used = a->current ? a->current->used : 0};
}

void arena_restore(arena *a, arena_mark mark) {
  a->current = mark.block != NULL ? mark.block : a->first;
  if (a->current != NULL) a->current->used = mark.block != NULL ? mark.used : 0;
}

void *arena_zeroed(arena *a, size_t size) { return memset(arena_bytes(a, size), 0, size); }

void *arena_array(arena *a, size_t count, size_t element) {
  return arena_bytes(a, size_multiply(count, element));
}

double *arena_doubles(arena *a, int count) { return ARENA_ARRAY(a, double, count); }

double *arena_zeros(arena *a, int count) {
  double *zeros = arena_doubles(a, count);
  return memset(zeros, 0, sizeof(double) * (size_t)count);
}
