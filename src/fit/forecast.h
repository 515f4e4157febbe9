/* Whole trajectories predicted from their first states: what a horizon's fit minimises, and what
 * predictions of trajectories that were held out are judged by. */
#ifndef CAROM_FIT_FORECAST_H
#define CAROM_FIT_FORECAST_H

#include "fit/measure.h"

typedef struct forecast {
  const carom_system *system;
  carom_rollout_options simulation;
  measure measure;
  const double *data, *clean; /* [states][2 D] as measured, and what motion begins with */
  const double *times;        /* [states]; NULL: simulation.dt apart */
  int count;                  /* trajectories of at least two states */
  int *first, *states;        /* [count] in the data; cut to the horizon */
  int *known;                 /* [count] states that were measured */
  int *source;                /* [count] their numbers among those given */
  int *order;                 /* [count] by length */
  int *flight;   /* [count] states up to the first contact, that first states are found from; 0: as
                    measured */
  size_t *place; /* [count + 1] of the numbers of a trajectory among the residuals */
  int numbers;   /* of one state: places and turns of its bodies */
  double *x0, *v0, *x, *v; /* scratch of a batch */
  double *lengths;         /* [samples][steps] of it, where there are times */
  double *state, *y, *r;
  double *flown;    /* residuals of one flight */
  double *since;    /* times of its states since the first */
  uint8_t *touched; /* of a batch: states that a contact led to */
} forecast;

/* Of the `count` trajectories that begin at `first` of the data, which was measured at `times`
 * (NULL: simulation->dt apart), and have `states`, at most `horizon` of each (0: all), `flight` of
 * them before the first contact (NULL: first states are as measured). forecast_free is due in any
 * case. */
carom_status forecast_init(forecast *f, const carom_system *system,
                           const carom_rollout_options *simulation, const double *data,
                           const double *clean, const double *times, int count, const int *first,
                           const int *states, const int *flight, int horizon, carom_error *error);
void forecast_free(forecast *f);

/* Residuals [place[count]] of states 1, 2, ... of all trajectories: for each body its place
 * (`dimension` numbers), and for a rigid one its turn (1 or 3), seen as f->measure says.
 * CAROM_NUMERICAL_FAILURE where a motion cannot be computed. */
carom_status forecast_run(forecast *f, const double *theta, double *residuals, carom_error *error);

/* Mean distance of bodies and mean angle of trajectory i over its states, from residuals. */
void forecast_errors(const forecast *f, const double *residuals, int i, double *position,
                     double *angle);

#endif
