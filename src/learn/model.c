#include "learn/model.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "base/threads.h"
#include "learn/options.h"
#include "learn/units.h"
#include "rollout/rollout_options.h"

static carom_status check_options(const carom_model_options *o, carom_error *error) {
  carom_status status = options_check(&model_option_table, o, error);
  if (status == CAROM_OK && carom_model_options_name(o)[0] == '\0')
    status = error_set(error, CAROM_INVALID_ARGUMENT,
                       "no model has these contact, dynamics and baseline (%d, %d, %d); "
                       "carom_model_options_by_name sets them together",
                       (int)o->contact, (int)o->dynamics, (int)o->baseline);
  if (status != CAROM_OK || (o->length_scale > 0) == (o->speed_scale > 0)) return status;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "options.length_scale is %g and speed_scale %g, must both be positive or both 0",
                   o->length_scale, o->speed_scale);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Appends an array and returns its offset. */
static int add_array(carom_model *m, const char *name, int rows, int columns) {
  carom_array_info *array = &m->arrays[m->array_count++];
  snprintf(array->name, sizeof array->name, "%s", name);
  array->offset = m->parameter_count;
  array->rows = rows;
  array->columns = columns;
  m->parameter_count += rows * columns;
  return array->offset;
}

static bool any_rigid(const carom_system *s) {
  for (int i = 0; i < s->body_count; i++)
    if (s->bodies[i].rigid) return true;
  return false;
}

/* weight and bias of each layer of a baseline's network */
static void add_dense(carom_model *m, const char *stem, const dense_shape *shape) {
  for (int l = 0; l <= shape->hidden_layers; l++) {
    char name[24];
    snprintf(name, sizeof name, "%s_weight%d", stem, l);
    add_array(m, name, dense_layer_outputs(shape, l), dense_layer_inputs(shape, l));
    snprintf(name, sizeof name, "%s_bias%d", stem, l);
    add_array(m, name, 1, dense_layer_outputs(shape, l));
  }
}

static void add_potential(carom_model *m) {
  const mlp_shape *shape = &m->potential.shape;
  if (m->potential.elastic_count > 0) add_array(m, "elastic", m->potential.elastic_count, 2);
  for (int l = 0; l <= shape->hidden_layers; l++) {
    char name[24];
    snprintf(name, sizeof name, "weight%d", l);
    add_array(m, name, mlp_layer_outputs(shape, l), mlp_layer_inputs(shape, l));
    snprintf(name, sizeof name, "bias%d", l);
    add_array(m, name, 1, mlp_layer_outputs(shape, l));
  }
  m->constant = m->parameter_count - 1;
}

static void lay_out_parameters(carom_model *m) {
  const carom_system *s = m->system;
  const carom_baseline kind = m->options.baseline;
  const bool masses = baseline_learns_potential(kind), contacts = baseline_learns_contacts(kind);
  m->property_count = m->options.shared_properties ? 1 : s->contact_count;
  m->mass = masses ? add_array(m, "mass", 1, s->body_count) : -1;
  m->moment = masses && any_rigid(s) ? add_array(m, "moment", s->body_count, s->dimension) : -1;
  m->friction = contacts ? add_array(m, "friction", 1, m->property_count) : -1;
  m->restitution = contacts ? add_array(m, "restitution", 1, m->property_count) : -1;
  m->regularizer =
      contacts && m->options.learn_regularizer ? add_array(m, "regularizer", 1, 1) : -1;
  m->network = m->parameter_count;
  m->constant = -1;
  if (masses) add_potential(m);
  m->change.parameter_offset = m->parameter_count - m->network;
  if (kind == CAROM_BASELINE_NONE) return;
  const bool objects = kind != CAROM_BASELINE_MLP_CLNN;
  add_dense(m, objects ? "relation" : "contact", &m->change.perceptron);
  if (objects) add_dense(m, "object", &m->change.object);
}

/* Masses and moments exp(0.1 N), friction relu(U(0, initial_friction)), restitution
 * hardsigmoid(N). */
static carom_status initialise(carom_model *m, carom_error *error) {
  rng random;
  rng_seed(&random, m->options.seed, 0x6D6F64656C); // a stream of its own
  double *p = m->parameters;
  const int contacts = m->friction >= 0 ? m->property_count : 0;
  const int masses = m->friction >= 0 ? m->friction : m->network;
  for (int i = 0; i < masses; i++) p[i] = 0.1 * rng_normal(&random);
  for (int i = 0; i < contacts; i++)
    p[m->friction + i] = m->options.initial_friction * rng_uniform(&random, 0, 1);
  for (int i = 0; i < contacts; i++) p[m->restitution + i] = rng_normal(&random);
  // softplus(p) = epsilon
  const double epsilon =
      m->options.regularizer > 0 ? m->options.regularizer : m->system->regularizer;
  if (m->regularizer >= 0) p[m->regularizer] = log(expm1(fmax(epsilon, 1e-6)));
  carom_status status = CAROM_OK;
  if (baseline_learns_potential(m->options.baseline))
    status = network_potential_initialise(&m->potential, &random, p + m->network,
                                          m->options.progress, m->options.progress_user);
  if (status == CAROM_OK && m->options.baseline != CAROM_BASELINE_NONE)
    status = velocity_network_initialise(&m->change, &random,
                                         p + m->network + m->change.parameter_offset);
  if (status == CAROM_INTERRUPTED)
    error_set(error, status, "stopped by the progress callback while the network was made");
  if (status == CAROM_OUT_OF_MEMORY)
    error_set(error, status, "no memory to make the weights of a network of %d units",
              m->options.hidden_size);
  return status;
}

potential_parts model_potential_parts(const carom_model *m) {
  const int elastic = 2 * m->potential.elastic_count, output = m->options.hidden_size + 1;
  return (potential_parts){{m->network, m->parameter_count - output}, {elastic, output}};
}

double model_mass_scale(const carom_model *m) {
  if (m->options.contact != CAROM_CMR || m->regularizer >= 0 || model_takes_pairs(m)) return 1;
  double sum = 0;
  for (int i = 0; i < m->system->body_count; i++) sum += m->parameters[m->mass + i];
  return fmin(1, exp(sum / m->system->body_count));
}

/* theta = (log m, log moment + 2 log length, max(p, 0), clip(p / 6 + 1/2, 0, 1), softplus(p), ...) */
void model_expand(const carom_model *m, double *theta) {
  const carom_system *s = m->system;
  const double *p = m->parameters;
  carom_parameters_default(s, theta);
  // what a baseline does not learn is the scene's
  for (int i = 0; m->mass >= 0 && i < s->body_count; i++)
    theta[s->segments[CAROM_LOG_MASS].offset + i] = p[m->mass + i];
  for (int i = 0; m->moment >= 0 && i < s->body_count * s->dimension; i++)
    theta[s->segments[CAROM_LOG_MOMENT].offset + i] =
        p[m->moment + i] + 2 * log(m->body_lengths[i / s->dimension]);
  double *friction = theta + s->segments[CAROM_FRICTION].offset;
  double *restitution = theta + s->segments[CAROM_RESTITUTION].offset;
  for (int i = 0; m->friction >= 0 && i < s->contact_count; i++) {
    int k = m->property_count == 1 ? 0 : i;
    friction[i] = friction_of(p[m->friction + k]);
    restitution[i] = restitution_of(p[m->restitution + k]);
  }
  if (m->options.regularizer > 0)
    theta[s->segments[CAROM_REGULARIZER].offset] = m->options.regularizer;
  if (m->regularizer >= 0) {
    double a = p[m->regularizer];
    theta[s->segments[CAROM_REGULARIZER].offset] = fmax(a, 0) + log1p(exp(-fabs(a)));
  }
}

void model_expand_vjp(const carom_model *m, const double *theta_bar, double *gradient) {
  const carom_system *s = m->system;
  const double *p = m->parameters;
  for (int i = 0; m->mass >= 0 && i < s->body_count; i++)
    gradient[m->mass + i] += theta_bar[s->segments[CAROM_LOG_MASS].offset + i];
  for (int i = 0; m->moment >= 0 && i < s->body_count * s->dimension; i++)
    gradient[m->moment + i] += theta_bar[s->segments[CAROM_LOG_MOMENT].offset + i];

  // in the forward pass this was max(p, 0) and clip(p / 6 + 1/2, 0, 1): slopes 0 outside, unless a
  // descent would lead back inside, so that a parameter that overshot the end can return
  const double *friction_bar = theta_bar + s->segments[CAROM_FRICTION].offset;
  const double *restitution_bar = theta_bar + s->segments[CAROM_RESTITUTION].offset;
  for (int i = 0; m->friction >= 0 && i < s->contact_count; i++) {
    int k = m->property_count == 1 ? 0 : i;
    double f = p[m->friction + k], e = p[m->restitution + k];
    if (f > 0 || friction_bar[i] < 0) gradient[m->friction + k] += friction_bar[i];
    if ((e < 3 || restitution_bar[i] > 0) && (e > -3 || restitution_bar[i] < 0))
      gradient[m->restitution + k] += restitution_bar[i] / 6;
  }
  if (m->regularizer >= 0)
    gradient[m->regularizer] +=
        theta_bar[s->segments[CAROM_REGULARIZER].offset] / (1 + exp(-p[m->regularizer]));
}

/* ---- the object ------------------------------------------------------------------------------ */

/* The network's unit of length by the data's: potentials like gravity are nearly linear, and softplus
 * units bend less over small inputs (gyro: error 1.5e-5 with 3, 4.2e-5 with 1, 2.0e-5 with 6). */
static const double NETWORK_REACH = 3;

// the model's lengths and speed: those of its options, or 1 for numbers as they are
static void set_units(carom_model *m) {
  const carom_model_options *o = &m->options;
  const bool scaled = o->length_scale > 0;
  m->length = scaled ? o->length_scale : 1;
  m->speed = scaled ? o->speed_scale : 1;
  for (int i = 0; i < m->system->body_count; i++) {
    const double extent = scaled && m->system->bodies[i].rigid ? body_extent(m->system, i) : 0;
    m->body_lengths[i] = extent > 0 ? extent : m->length;
  }
  m->potential.length = scaled ? NETWORK_REACH * m->length : 1;
  m->potential.energy = m->speed * m->speed;
  velocity_network *n = &m->change;
  n->length = m->length;
  n->speed = m->speed;
  n->dt = o->dt;
  n->body_lengths = m->body_lengths;
  if (o->baseline != CAROM_BASELINE_IN) return;
  // the scene's masses by their harmonic mean; forces by the change of velocity that they make in dt
  double sum = 0;
  for (int i = 0; i < m->system->body_count; i++) sum += 1 / m->system->bodies[i].mass;
  n->mass_unit = m->system->body_count / sum;
  n->force_unit = o->dt / (n->mass_unit * m->speed);
}

int model_shard_size(const carom_model *m) {
  // rows of a perceptron are samples
  const bool perceptron = m->options.baseline == CAROM_BASELINE_MLP_CLNN;
  const int relations = perceptron ? 0 : m->change.graph.count;
  const int most = relations > 0 ? LEARN_ROWS / relations : LEARN_SHARD;
  return most < 1 ? 1 : most < LEARN_SHARD ? most : LEARN_SHARD;
}

model_size model_size_of(const carom_model_options *o, const carom_system *s) {
  const network_potential p =
      network_potential_make(s, o->elastic_term, o->hidden_layers, o->hidden_size);
  const bool learns = baseline_learns_potential(o->baseline);
  size_t network =
      learns ? size_add(mlp_parameter_total(&p.shape), 2 * (size_t)p.elastic_count) : 0;
  size_t prepared = network_prepared_bytes(&p.shape, o->single_precision);
  if (o->baseline != CAROM_BASELINE_NONE) {
    const velocity_network n = velocity_network_shape(s, o->baseline, o->baseline_size);
    network = size_add(network, velocity_network_parameter_count(&n));
    prepared = size_add(prepared, velocity_network_prepared_bytes(&n, o->single_precision));
  }
  size_t count = size_add(network, (size_t)s->parameter_count);
  return (model_size){.network = network,
                      .count = count,
                      .bytes = size_add(size_multiply(count, sizeof(double)), prepared)};
}

/* Counts of parameters are int in the interface, and all have to fit into memory. */
static carom_status check_size(const carom_model_options *o, const carom_system *s,
                               carom_error *error) {
  const model_size size = model_size_of(o, s);
  const size_t count = size.count, bytes = size.bytes;
  if (count > INT_MAX)
    return error_set(
        error, CAROM_INVALID_ARGUMENT,
        "options.hidden_size is %d: with %d layers that is a network of %.3g parameters "
        "(%.3g GB); there can be %d; take fewer units or layers",
        o->hidden_size, o->hidden_layers, (double)count, size_gigabytes(bytes), INT_MAX);
  if (!size_available(bytes))
    return error_set(
        error, CAROM_OUT_OF_MEMORY,
        "options.hidden_size is %d: with %d layers that is a network of %zu parameters, "
        "which need %.3g GB; take fewer units or layers",
        o->hidden_size, o->hidden_layers, count, size_gigabytes(bytes));
  return CAROM_OK;
}

carom_status carom_model_options_check(const carom_model_options *options,
                                       const carom_system *system, carom_error *error) {
  REQUIRE(options, error);
  REQUIRE(system, error);
  carom_status status = check_options(options, error);
  if (status == CAROM_OK) status = check_size(options, system, error);
  if (status == CAROM_OK) status = contact_model_check(system, options->contact, error);
  return status == CAROM_OK ? error_clear(error) : status;
}

static carom_status allocate(carom_model *m, carom_error *error) {
  bool ready = mechanics_init(&m->mechanics, m->system);
  m->parameters = size_allocate_zero((size_t)m->parameter_count, sizeof(double));
  m->theta = size_allocate_zero((size_t)m->system->parameter_count, sizeof(double));
  m->body_lengths = size_allocate_zero((size_t)m->system->body_count, sizeof(double));
  const bool single = m->options.single_precision;
  void *prepared = size_allocate_aligned(network_prepared_bytes(&m->potential.shape, single), 1);
  network_potential_set(&m->potential, m->parameters + (m->parameters != NULL ? m->network : 0),
                        single, prepared);
  if (m->options.baseline != CAROM_BASELINE_NONE && m->parameters != NULL) {
    carom_status status = velocity_network_allocate(&m->change, single, error);
    if (status != CAROM_OK) return status;
    m->change.parameters = m->parameters + m->network + m->change.parameter_offset;
  }
  if (ready && m->parameters != NULL && m->theta != NULL && m->body_lengths != NULL &&
      prepared != NULL)
    return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a model of %d parameters",
                   m->parameter_count);
}

carom_status model_make(const carom_system *system, const carom_model_options *options,
                        bool initial, carom_model **model, carom_error *error) {
  *model = NULL;
  carom_status status = carom_model_options_check(options, system, error);
  if (status != CAROM_OK) return status;
  carom_model *m = calloc(1, sizeof *m);
  if (m == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a model");
  m->system = system;
  m->options = *options;
  m->potential = network_potential_make(system, options->elastic_term, options->hidden_layers,
                                        options->hidden_size);
  m->change = velocity_network_shape(system, options->baseline, options->baseline_size);
  lay_out_parameters(m);
  status = allocate(m, error);
  if (status == CAROM_OK) set_units(m);
  if (status == CAROM_OK && initial) status = initialise(m, error);
  m->options.progress = NULL;
  if (status != CAROM_OK) {
    carom_model_destroy(m);
    return status;
  }
  *model = m;
  return error_clear(error);
}

carom_status carom_model_create(const carom_system *system, const carom_model_options *options,
                                carom_model **model, carom_error *error) {
  if (model != NULL) *model = NULL;
  REQUIRE(system, error);
  REQUIRE(options, error);
  REQUIRE(model, error);
  return model_make(system, options, true, model, error);
}

void carom_model_destroy(carom_model *model_in) {
  if (model_in == NULL) return;
  loss_batch_free(&model_in->training);
  mechanics_free(&model_in->mechanics);
  free(model_in->potential.prepared);
  velocity_network_free(&model_in->change);
  free(model_in->parameters);
  free(model_in->theta);
  free(model_in->body_lengths);
  free(model_in);
}

carom_model_info carom_model_describe(const carom_model *m) {
  if (m == NULL) return (carom_model_info){0};
  return (carom_model_info){.system = m->system,
                            .options = m->options,
                            .parameter_count = m->parameter_count,
                            .array_count = m->array_count};
}

double *carom_model_parameters(carom_model *m) { return m != NULL ? m->parameters : NULL; }

carom_array_info carom_model_array(const carom_model *m, int index) {
  if (m == NULL || index < 0 || index >= m->array_count) return (carom_array_info){.name = ""};
  return m->arrays[index];
}

void carom_model_theta(const carom_model *m, double *theta) {
  if (m != NULL && theta != NULL) model_expand(m, theta);
}

void carom_model_set_threads(carom_model *model, int threads) {
  if (model == NULL) return;
  model->options.threads = threads > MAX_THREADS ? MAX_THREADS : threads > 0 ? threads : 0;
}
