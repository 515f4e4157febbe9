#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCK_SIZE = 1 << 18 };

struct arena_block {
  arena_block *next;
  size_t size; /* usable bytes */
  size_t used;
  unsigned char *data; /* aligned */
};

static arena_block *block_create(size_t size) {
  unsigned char *memory = malloc(sizeof(arena_block) + size + ALIGNMENT);
  if (memory == NULL) abort();
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

double *arena_doubles(arena *a, int count) { return ARENA_ARRAY(a, double, count); }

double *arena_zeros(arena *a, int count) { return arena_zeroed(a, sizeof(double) * (size_t)count); }
