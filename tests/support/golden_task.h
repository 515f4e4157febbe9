/* The tasks of the golden files: scene, parameters, what may be compared. */
#ifndef CAROM_TESTS_GOLDEN_TASK_H
#define CAROM_TESTS_GOLDEN_TASK_H

#include <jansson.h>

#include "physics/mechanics.h"

enum { GOLDEN_TASK_COUNT = 8 };

typedef struct golden_task {
  carom_system *system;
  mechanics mechanics; /* at the file's friction and restitution */
  json_t *root;
} golden_task;

const char *golden_task_name(int index);

/* States over which trajectories are to agree to 1e-6: all, or the first 30 of chaotic systems. */
int golden_task_shared_states(int index);

/* Opens tests/data/golden/<kind>_<task>.json with its scene. The gyroscope's rim gets the
 * single-precision points of the reference. */
void golden_task_open(golden_task *task, int index, const char *kind);
void golden_task_close(golden_task *task);

#endif
