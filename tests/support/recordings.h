/* Trajectories that a test simulates and then gives as if they were measured; and what became of them in
 * a data set. */
#ifndef CAROM_TESTS_RECORDINGS_H
#define CAROM_TESTS_RECORDINGS_H

#include "carom.h"

typedef struct recording {
  carom_system *system;
  int count, states;
  size_t size;
  double *x, *v;
  uint8_t *contact;
} recording;

/* `count` trajectories of a scene, `steps` long. */
recording record(const char *scene, int count, int steps);
void record_free(recording *r);

/* At a time step of 0.01; contact may be NULL. */
carom_trajectories trajectories_of(const recording *r, const uint8_t *contact);

/* Coordinates of a state. */
size_t size_of(const carom_system *system);

/* Few chunks: 100, 30, 20. */
carom_dataset_options small_options(const carom_system *system);

/* [count][states] of the recording: 0, or the split that took the state, plus 1. Fails if a state was
 * taken twice. */
uint8_t *find_owners(const recording *r, carom_dataset *data);

void assert_same_data(const carom_system *system, carom_dataset *a, carom_dataset *b);

/* States that hold the constraints. */
void assert_constraints(const carom_system *system, const carom_chunks *chunks, double tolerance);

#endif
