/* Inside view of a model: its parameters and what they stand for.
 *
 *   mass, moment    logarithms, as the engine takes them
 *   friction        p -> max(p, 0); at the ends of its range a parameter takes the derivative of the
 *                   side that leads back
 *   restitution     p -> clip(p / 6 + 1/2, 0, 1), the hard sigmoid
 *   regularizer     p -> softplus(p), where it is learned
 *   elastic, weights  as they are (nn/network_potential.h) */
#ifndef CAROM_LEARN_MODEL_H
#define CAROM_LEARN_MODEL_H

#include "nn/network_potential.h"
#include "rollout/shard.h"

enum { MODEL_MAX_ARRAYS = 32 };

/* Memory for predictions of one number of time steps. */
typedef struct predictor {
  carom_rollout_options options;
  batch_job job;
  int thread_count;
  worker *workers; /* [thread_count] */
  tape *tapes;     /* [thread_count]: a shard is run and reversed by one worker in one go */
  int shard_capacity;
  shard_result *results; /* [shard_capacity] */
  double *theta_bars;    /* [shard_capacity][engine parameters] */
  double *network_bars;  /* [shard_capacity][network parameters] */
  int batch_capacity;
  double *x0, *v0;       /* [batch_capacity][D] */
  double *x, *v;         /* [batch_capacity][states][D] */
  double *x_bar, *v_bar; /* the same */
  double *losses;        /* [batch_capacity] */
} predictor;

struct carom_model {
  const carom_system *system;
  carom_model_options options;
  int array_count;
  carom_array_info arrays[MODEL_MAX_ARRAYS];
  /* offsets in the parameters; -1 where there is no such array */
  int mass, moment, friction, restitution, regularizer, network;
  int property_count; /* frictions: 1, or one for each possible contact */
  int parameter_count;
  double *parameters;
  double *theta; /* what they stand for, of the last call */
  mechanics mechanics;
  network_potential potential;
  predictor training; /* for chunks, with records kept */
};

/* Friction and restitution of a parameter, and the parameter of a restitution inside its range (that
 * of a friction is the friction). */
static inline double friction_of(double parameter) { return parameter > 0 ? parameter : 0; }
static inline double restitution_of(double parameter) {
  const double value = parameter / 6 + 0.5;
  return value < 0 ? 0 : value > 1 ? 1 : value;
}
static inline double restitution_parameter(double value) { return 6 * (value - 0.5); }

/* theta from the parameters, and the reverse: gradient += from theta_bar. */
void model_expand(const carom_model *m, double *theta);
void model_expand_vjp(const carom_model *m, const double *theta_bar, double *gradient);

/* Samples of a shard: enough rows for efficient matrix products, enough shards for the threads. */
enum { LEARN_SHARD = 50 };

carom_status predictor_make(predictor *p, carom_model *m, int steps, bool keeps_records,
                            carom_error *error);
void predictor_free(predictor *p);

#endif
