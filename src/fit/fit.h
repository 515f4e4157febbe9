/* Inside view of an identification. */
#ifndef CAROM_FIT_FIT_H
#define CAROM_FIT_FIT_H

#include "fit/judge.h"
#include "fit/visited.h"

struct carom_fit {
  const carom_system *system;
  carom_fit_options options;
  carom_rollout_options simulation;
  unknown_list unknowns;
  carom_dataset found;  /* findings about the data, nothing else */
  double *data, *clean; /* [states][2 D] as measured, and put on the constraints */
  double *times;        /* [states] of them where steps are unequal; else NULL */
  int run_count;
  int *run_first, *run_states, *run_trajectory; /* [run_count] */
  int *run_flight;                              /* [run_count] states before the first contact */
  double floor[CAROM_CHANNEL_COUNT];            /* noise below which nothing is believed */
  shooting shooting;
  minimiser minimiser;
  visited visited;  /* by the search, where impacts may come in several orders */
  posterior sample; /* of the likelihood, where it is not normal */
  verdict verdict;
  carom_fit_trajectory *trajectories;
  double *theta;
  carom_fit_result result;
  bool has_result;
};

/* Fills data, clean, run_* and found of a fit that has a system, options and a simulation. */
carom_status fit_load_data(carom_fit *fit, const carom_trajectories *given, carom_error *error);

/* Sizes of what is measured: root mean squares over the data, about the mean for positions. They
 * are where noise that is not given begins, and what rounding is seen beside. */
void fit_measure_scales(carom_fit *fit);

/* Numbers that the last evaluation compared, and the logarithm of their likelihood. */
int64_t fit_numbers(const carom_fit *fit);
double fit_log_likelihood(const carom_fit *fit);

/* Did it leave more than noise? */
bool fit_misfits(const carom_fit *fit);

/* run_flight where first states are found from flights, else NULL. */
const int *fit_flights(const carom_fit *fit);

#endif
