/* How good a model is on data, and what the data tell of its properties. */
#ifndef CAROM_PUBLIC_EVALUATION_H
#define CAROM_PUBLIC_EVALUATION_H

#include <stdbool.h>

#include "fit.h"
#include "model.h"
#include "trajectories.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct carom_evaluation_options {
  int steps;                   /* of the longer predictions; 50 */
  bool truth_known;            /* true: the scene's parameters are those of the data */
  carom_contact_model contact; /* of the true motion; CAROM_CM */
  int threads;                 /* of the true motion; 0: all */
  const carom_chunks *train;   /* chunks that the model was trained on; NULL: those of the data set
                                  that is evaluated */
} carom_evaluation_options;

CAROM_API carom_evaluation_options carom_evaluation_default_options(void);

/* A number over trajectories. NaN where there are none; half_width is NaN for fewer than two. */
typedef struct carom_estimate {
  int count;
  double mean;
  double half_width; /* of the 95 % confidence interval: 1.96 s / sqrt(n) */
  double median;
  double largest;
} carom_estimate;

/* Predictions and what they are compared with. Errors of a trajectory, its first state included:
 *   relative    sum |predicted - true| / sum |true| over all entries of (x, v)
 *   state_norm  sqrt(sum (predicted - true)^2 / sum true^2) of each state, mean over the states
 *   absolute    mean |predicted - true| over all entries of (x, v): the paper's loss */
typedef struct carom_horizon {
  int count;     /* trajectories */
  int states;    /* of each */
  double *x, *v; /* predicted [count][states][point_count][dimension]; NaN where it failed */
  double *true_x, *true_v;
  bool *failed; /* [count] the prediction became non-finite; left out of all numbers but the median,
                   in which it is further off than any other */
  int failed_count;
  carom_estimate relative, state_norm, absolute;
  double *curve, *curve_half_width; /* [states] relative error of each state, over trajectories */
} carom_horizon;

/* |E_k - E_0| of a trajectory over the start's kinetic energy plus |potential energy|. */
typedef struct carom_energy_drift {
  carom_estimate greatest; /* of a trajectory's largest */
  carom_estimate average;  /* of a trajectory's mean */
} carom_energy_drift;

/* Values of a property, all others as they are learned, that explain the training chunks as well as
 * the learned one: whose loss is not higher by more than 2 / n of it, for the n chunks whose
 * prediction meets the contact. */
typedef struct carom_range {
  bool
      determined; /* within a small move (0.05; a tenth of a friction above 0.5) of the learned one */
  double low, high; /* high of a friction is INFINITY where no larger one is too large: its contact
                       sticks, or never occurs */
} carom_range;

/* How good a trained model is. Two horizons: along the chunks its predictions are compared with the
 * data, along more steps with the true motion: the scene simulated with its own parameters from the
 * first states of the chunks. Energies are those of the scene's masses and potential. */
typedef struct carom_evaluation {
  double dt;
  bool truth_known;
  carom_horizon chunk;           /* against the data */
  carom_estimate scene_relative; /* the scene's own parameters in the model's equations, against
                                    the data: what the model could reach */
  carom_horizon extended;        /* against the true motion; count = 0 where it is not known */
  double *energy, *true_energy;  /* [extended.count][extended.states] */
  carom_energy_drift drift, true_drift;
  carom_estimate energy_error; /* of a trajectory's largest |E_k - true E_k|, relative as drift */
  int parameter_count;
  double *theta, *scene_theta; /* engine parameters: learned (NaN: not by this model), and the
                                          scene's */
  carom_contact_count *counts; /* [contact_count] in the training chunks */
  int train_count;             /* training chunks */
  carom_range *friction, *restitution; /* [contact_count] what the training chunks tell of them */
  double *acceleration, *acceleration_spread; /* [body_count][dimension] of the centres of bodies by
                                  the learned potential, from rest and constraints held, at the first
                                  states of the chunks: mean and standard deviation. Of a free body
                                  this is the force per unit mass */
  double *scene_acceleration, *scene_acceleration_spread; /* by the scene's masses and potential */
  carom_report report;                                    /* of all predictions */
} carom_evaluation;

/* Evaluates on the chunks of a split (usually CAROM_TEST); the time step of the data must be the
 * model's. options may be NULL. */
CAROM_API carom_status carom_model_evaluate(carom_model *model, const carom_dataset *dataset,
                                            carom_split split,
                                            const carom_evaluation_options *options,
                                            carom_evaluation **evaluation, carom_error *error);
CAROM_API void carom_evaluation_destroy(carom_evaluation *evaluation);

/* Predicts each of `trajectories` from its first state over its whole length (to the first state that is missing), and
 * compares bodies as carom_fit_predict does; velocities are taken as `velocity` says. The time step must be the
 * model's. To be released by carom_fit_prediction_free. */
CAROM_API carom_status carom_model_predict_whole(carom_model *model,
                                                 const carom_trajectories *trajectories,
                                                 carom_velocity velocity,
                                                 carom_fit_prediction *prediction,
                                                 carom_error *error);

/* Every number as JSON text, for the caller to free; NULL if there is no memory. */
CAROM_API char *carom_evaluation_json(const carom_evaluation *evaluation,
                                      const carom_system *system);
/* A file with the arrays, for plotting: /x_predicted, /x_true, /error, /energy_predicted, ... */
CAROM_API carom_status carom_evaluation_write(const carom_evaluation *evaluation,
                                              const carom_system *system, const char *path,
                                              carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
