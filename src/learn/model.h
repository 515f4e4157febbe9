/* Inside view of a model: its parameters and what they stand for.
 *
 *   mass            logarithm, as the engine takes it
 *   moment          logarithm of the second moment by the square of the body's length
 *   friction        p -> max(p, 0); at the ends of its range a parameter takes the derivative of the
 *                   side that leads back
 *   restitution     p -> clip(p / 6 + 1/2, 0, 1), the hard sigmoid
 *   regularizer     p -> softplus(p), where it is learned
 *   elastic, weights  as they are (nn/network_potential.h) */
#ifndef CAROM_LEARN_MODEL_H
#define CAROM_LEARN_MODEL_H

#include "learn/baseline.h"
#include "nn/network_potential.h"
#include "nn/velocity_network.h"
#include "rollout/batch.h"

enum { MODEL_MAX_ARRAYS = 64 };

/* Predictions of chunks of one length beside the truth. Arrays grow to the largest batch seen. */
typedef struct loss_batch {
  batch_executor batch;
  int capacity;
  double *x0, *v0;       /* [capacity][D] */
  double *x, *v;         /* [capacity][states][D] */
  double *x_bar, *v_bar; /* the same */
  double *losses;        /* [capacity] */
  double *weights;       /* [capacity] of samples (learn/balance.h) */
  double *residuals;     /* [capacity][states][2 M], beside noise (learn/observations.h) */
} loss_batch;

struct carom_model {
  const carom_system *system;
  carom_model_options options;
  int array_count;
  carom_array_info arrays[MODEL_MAX_ARRAYS];
  /* offsets in the parameters; -1 where there is no such array. `network`: those of potential and
   * baseline begin; `constant`: the potential's, which nothing depends on */
  int mass, moment, friction, restitution, regularizer, network, constant;
  int property_count; /* frictions: 1, or one for each possible contact */
  int parameter_count;
  double *parameters;
  double length, speed; /* that the loss divides by (learn/units.h) */
  double *body_lengths; /* [body_count] distance at which it sees the tips of body axes */
  double *theta;        /* what they stand for, of the last call */
  mechanics mechanics;
  network_potential potential; /* of in-cp-sp without parameters, and never asked */
  velocity_network change;     /* of a baseline */
  loss_batch training;
};

/* What a model of these options takes: parameters in all and of its network, bytes for them. */
typedef struct model_size {
  size_t count, network, bytes;
} model_size;
model_size model_size_of(const carom_model_options *options, const carom_system *system);

/* carom_model_create; parameters that are read afterwards need no `initial` values. */
carom_status model_make(const carom_system *system, const carom_model_options *options,
                        bool initial, carom_model **model, carom_error *error);

/* Friction and restitution of a parameter, and the parameter of a restitution inside its range (that
 * of a friction is the friction). */
static inline double friction_of(double parameter) { return parameter > 0 ? parameter : 0; }
static inline double restitution_of(double parameter) {
  const double value = parameter / 6 + 0.5;
  return value < 0 ? 0 : value > 1 ? 1 : value;
}
static inline double restitution_parameter(double value) { return 6 * (value - 0.5); }

/* The parts of the parameters that the potential is proportional to: elasticity, output layer. */
typedef struct potential_parts {
  int starts[2], counts[2];
} potential_parts;
potential_parts model_potential_parts(const carom_model *m);

/* The scale of masses and potential, where it is one more thing to learn: in CMr with a given epsilon. 1 at most,
 * which is where trainings begin, and 1 for all other models. */
double model_mass_scale(const carom_model *m);

/* theta from the parameters, and the reverse: gradient += from theta_bar. */
void model_expand(const carom_model *m, double *theta);
void model_expand_vjp(const carom_model *m, const double *theta_bar, double *gradient);

/* Samples of a shard: enough rows for efficient matrix products, enough shards for the threads. Of an
 * interaction network every relation is a row, and as many samples as have so many. */
enum { LEARN_SHARD = 50, LEARN_ROWS = 8192 };
int model_shard_size(const carom_model *m);

/* A baseline learns from pairs of consecutive states, other models from whole chunks. */
static inline bool model_takes_pairs(const carom_model *m) {
  return m->options.baseline != CAROM_BASELINE_NONE;
}
/* What a loss is taken over: pairs of chunks, or chunks. More than an int are CAROM_INVALID_DATA for a
 * trainer. */
static inline int64_t model_sample_count(const carom_model *m, const carom_chunks *chunks) {
  return (int64_t)chunks->count * (model_takes_pairs(m) ? chunks->states - 1 : 1);
}

void loss_batch_free(loss_batch *l);

#endif
