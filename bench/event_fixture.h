/* One system at one position with its active contacts, and a number of velocities: what is needed
 * to time contact events by themselves. */
#ifndef CAROM_BENCH_EVENT_FIXTURE_H
#define CAROM_BENCH_EVENT_FIXTURE_H

#include "contact/contact_event.h"

#include <jansson.h>

typedef struct event_fixture {
  carom_system *system;
  carom_rollout_options options;
  mechanics m;
  contact_list active;
  arena memory;
  int velocity_count;
  double *x;             /* [D] */
  double *v;             /* [velocity_count][D] before the event */
  double *moved, *after; /* [D] the state after it */
  double *v_bar, *x_bar; /* [D] */
  double *theta_bar;
  void *impulses;
} event_fixture;

typedef struct event_times {
  double forward, reverse; /* seconds for one event, mean over the velocities */
} event_times;

/* Makes the system of a scene (released here) at its initial state, with random velocities of
 * deviation `speed` added on every point. */
carom_status event_fixture_make(event_fixture *f, json_t *scene, int velocity_count, double speed,
                                carom_error *error);
void event_fixture_free(event_fixture *f);

event_times event_fixture_time(event_fixture *f, double seconds);

#endif
