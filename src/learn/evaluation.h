/* How good a trained model is: errors of its predictions, energy, learned beside true properties.
 *
 * Two horizons. Along the chunks the prediction is compared with the data. Along more steps it is
 * compared with the true motion: the scene simulated with its own parameters from the first states
 * of the chunks. Where the truth is not known (own data, whose masses and friction the scene only
 * guesses) there is the first horizon alone.
 *
 * Errors of one trajectory, the given first state included:
 *   relative       sum |predicted - true| / sum |true| over all entries of (x, v)
 *   state_norm     sqrt(sum (predicted - true)^2 / sum true^2) of each state, mean over the states
 * Over trajectories: the mean with a 95 % confidence interval (normal approximation), the median,
 * the largest.
 *
 * Energies are those of the scene's own masses and potential, whatever the model believes. Drift is
 * |E_k - E_0| over the start's kinetic energy plus |potential energy|; contacts that lose energy
 * make it in the true motion too, so it stands beside that of the true motion. */
#ifndef CAROM_LEARN_EVALUATION_H
#define CAROM_LEARN_EVALUATION_H

#include "learn/chunks.h"

typedef struct evaluation_options {
  int steps;                   /* of the second horizon; 50 */
  bool truth_known;            /* the scene's parameters are those of the data; true */
  carom_contact_model contact; /* of the true motion; CAROM_CM */
  int threads;                 /* of the true motion; 0: all */
} evaluation_options;

evaluation_options evaluation_options_default(void);

/* A number over trajectories. NaN where there are none; half_width is NaN for fewer than two. */
typedef struct estimate {
  int count;
  double mean;
  double half_width; /* of the 95 % confidence interval: 1.96 s / sqrt(n) */
  double median;
  double largest;
} estimate;

estimate estimate_of(double *values, int count); /* sorts `values` */

/* Predictions and what they are compared with, along one horizon. */
typedef struct horizon {
  int count;     /* trajectories */
  int states;    /* steps + 1 */
  double *x, *v; /* predicted [count][states][point_count][dimension]; NaN where it failed */
  double *true_x, *true_v;
  bool *failed; /* [count] the prediction became non-finite; left out of all numbers */
  int failed_count;
  estimate relative, state_norm;
  double *curve, *curve_half_width; /* [states] relative error of each state, over trajectories */
} horizon;

typedef struct energy_drift {
  estimate greatest; /* of a trajectory's largest |E_k - E_0| */
  estimate average;  /* of a trajectory's mean |E_k - E_0| */
} energy_drift;

typedef struct evaluation {
  double dt;
  bool truth_known;
  horizon chunk;           /* against the data */
  estimate scene_relative; /* the scene's own parameters in the model's equations, against the data:
                              what the model could reach */
  horizon extended;        /* against the true motion; count = 0 where it is not known */
  double *energy, *true_energy; /* [extended.count][extended.states] */
  energy_drift drift, true_drift;
  estimate energy_error; /* of a trajectory's largest |E_k - true E_k|, relative as drift */
  int parameter_count;
  double *theta, *scene_theta; /* engine parameters: learned, and the scene's */
  contact_count *counts;       /* [contact_count] in the training chunks */
  int train_count;
  carom_report report; /* of all predictions */
} evaluation;

/* Evaluates on `chunks` (test); `train` (may be NULL) is where contacts are counted. */
carom_status evaluation_run(const carom_system *system, carom_model *trained, double dt,
                            const carom_chunks *chunks, const carom_chunks *train,
                            const evaluation_options *options, evaluation **result,
                            carom_error *error);
void evaluation_destroy(evaluation *e);

/* exp(log m_i - log m_0) of a body under engine parameters. */
double evaluation_mass_ratio(const carom_system *system, const double *theta, int body_index);

/* The sum of the second moments per unit mass of a rigid body. In the plane this is what motion
 * depends on: the moments one by one cannot be learned. */
double evaluation_inertia(const carom_system *system, const double *theta, int body_index);

/* Whether a body has moments to learn: a rigid one. */
bool evaluation_has_moments(const carom_system *system, int body_index);

#endif
