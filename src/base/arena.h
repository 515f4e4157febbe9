/* Scratch memory of one worker. Allocations are freed together by going back to a mark. The arena
 * grows by whole blocks while it is cold; once every block that a time step needs exists, nothing
 * is allocated any more (`block_allocations` stops growing, which a test asserts). */
#ifndef CAROM_BASE_ARENA_H
#define CAROM_BASE_ARENA_H

#include <stddef.h>

typedef struct arena_block arena_block;

typedef struct arena {
  arena_block *first;
  arena_block *current;
  long block_allocations; /* times memory was asked of the system */
} arena;

typedef struct arena_mark {
  arena_block *block;
  size_t used;
} arena_mark;

void arena_init(arena *a);
void arena_free(arena *a);

/* 64-byte aligned, uninitialised. Out of memory ends in abort: scratch is bounded by the system's
 * size, which has been allocated before. */
void *arena_bytes(arena *a, size_t size);
arena_mark arena_save(const arena *a);
void arena_restore(arena *a, arena_mark mark);

/* The same, every byte zero. */
void *arena_zeroed(arena *a, size_t size);

/* `count` uninitialised / zeroed elements of a type. */
#define ARENA_ARRAY(a, type, count) ((type *)arena_bytes((a), sizeof(type) * (size_t)(count)))
double *arena_doubles(arena *a, int count);
double *arena_zeros(arena *a, int count);

#endif
