/* Scratch memory of one worker. Allocations are freed together by going back to a mark. The arena
 * grows by whole blocks while it is cold; once every block that a time step needs exists, nothing
 * is allocated any more (`block_allocations` stops growing, which a test asserts). */
#ifndef CAROM_BASE_ARENA_H
#define CAROM_BASE_ARENA_H

#include <stdbool.h>
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

/* Runs work(user). If an arena gets no memory meanwhile, work is left on the spot and the result is
 * false; floating-point modes are as before. So whatever work allocates must belong to something that
 * its caller frees. Arenas stay valid: go back to a mark, or free them. A guard holds for its thread;
 * guards may be nested, the innermost is left. */
bool arena_guard(void (*work)(void *user), void *user);

/* Leaves the guard as an arena without memory does. */
_Noreturn void arena_give_up(void);

/* 64-byte aligned, uninitialised. Never NULL: without memory the guard is left; outside of any guard
 * that is the end of the program, so every function of the public interface has one. */
void *arena_bytes(arena *a, size_t size);
arena_mark arena_save(const arena *a);
void arena_restore(arena *a, arena_mark mark);

/* The same, every byte zero. */
void *arena_zeroed(arena *a, size_t size);

/* `count` uninitialised / zeroed elements of a type. */
#define ARENA_ARRAY(a, type, count) ((type *)arena_array((a), (size_t)(count), sizeof(type)))
void *arena_array(arena *a, size_t count, size_t element);
double *arena_doubles(arena *a, int count);
double *arena_zeros(arena *a, int count);

#endif
