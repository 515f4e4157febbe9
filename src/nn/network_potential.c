#include "nn/network_potential.h"

#include "base/size.h"
#include "nn/denormals.h"
#include "nn/elastic_term.h"

#include <string.h>

static const network_potential *network_of(const potential *self) {
  return (const network_potential *)(const void *)self;
}

static const double *mlp_parameters(const network_potential *n) {
  return n->parameters + 2 * n->elastic_count;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool is_scaled(const network_potential *n) { return n->length != 1; }

/* Are all bodies points? Then T is 1 / length. */
static bool has_points_alone(const carom_system *s) { return s->point_count == s->body_count; }

/* q = T x: c / length for centres, t + (1 / length - 1) c for tips. `x` itself where T is the
 * identity. */
const double *network_inputs(const network_potential *n, int count, const double *x,
                             arena *scratch) {
  if (!is_scaled(n)) return x;
  const carom_system *s = n->system;
  const int d = s->dimension;
  double *q = arena_doubles(scratch, count * s->coordinate_count), *to = q;
  if (has_points_alone(s)) {
    const double scale = 1 / n->length;
    for (int i = 0; i < count * s->coordinate_count; i++) q[i] = x[i] * scale;
    return q;
  }
  for (int row = 0; row < count; row++)
    for (int b = 0; b < s->body_count; b++) {
      const double *centre = x;
      for (int k = 0; k < s->bodies[b].point_count; k++, x += d, to += d)
        for (int i = 0; i < d; i++)
          to[i] = k == 0 ? x[i] / n->length : x[i] + (1 / n->length - 1) * centre[i];
    }
  return q;
}

/* x_bar (+)= T' q_bar, in place where both are the same. */
static void inputs_vjp(const network_potential *n, int count, const double *q_bar, double *x_bar,
                       bool add) {
  const carom_system *s = n->system;
  const int d = s->dimension;
  if (has_points_alone(s)) {
    const double scale = 1 / n->length;
    for (int i = 0; i < count * s->coordinate_count; i++)
      x_bar[i] = (add ? x_bar[i] : 0) + q_bar[i] * scale;
    return;
  }
  for (int row = 0; row < count; row++)
    for (int b = 0; b < s->body_count; b++) {
      const int points = s->bodies[b].point_count;
      for (int i = 0; i < d; i++) {
        double tips = 0;
        for (int k = 1; k < points; k++) tips += q_bar[k * d + i];
        const double centre = q_bar[i] / n->length + (1 / n->length - 1) * tips;
        x_bar[i] = (add ? x_bar[i] : 0) + centre;
        for (int k = 1; k < points; k++)
          x_bar[k * d + i] = (add ? x_bar[k * d + i] : 0) + q_bar[k * d + i];
      }
      q_bar += points * d;
      x_bar += points * d;
    }
}

/* values *= energy */
static void to_energy(const network_potential *n, int count, double *values) {
  for (int i = 0; i < count && n->energy != 1; i++) values[i] *= n->energy;
}

/* ---- the interface --------------------------------------------------------------------------- */

static void network_value(const potential *self, const mechanics *m, int count, const double *x,
                          double *value, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  arena_mark mark = arena_save(scratch);
  const double *q = network_inputs(n, count, x, scratch);
  mlp_double_value(&n->shape, mlp_parameters(n), count, q, value, scratch);
  if (n->elastic_count > 0) elastic_term_value(n->system, n->parameters, count, x, value, scratch);
  to_energy(n, count, value);
  arena_restore(scratch, mark);
}

static size_t network_record_bytes(const potential *self, int count) {
  const network_potential *n = network_of(self);
  return n->single ? mlp_single_record_bytes(&n->shape, count)
                   : mlp_double_record_bytes(&n->shape, count);
}

/* grad V = energy (T' grad N + grad E) */
static void network_gradient(const potential *self, const mechanics *m, int count, const double *x,
                             double *gradient, void *record, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  arena_mark mark = arena_save(scratch);
  const double *q = network_inputs(n, count, x, scratch);
  const unsigned before = denormals_flush();
  if (n->single)
    mlp_single_gradient(&n->shape, n->prepared, count, q, gradient, record, scratch);
  else
    mlp_double_gradient(&n->shape, n->prepared, count, q, gradient, record, scratch);
  denormals_restore(before);
  if (is_scaled(n)) inputs_vjp(n, count, gradient, gradient, false);
  if (n->elastic_count > 0)
    elastic_term_gradient(n->system, n->parameters, count, x, gradient, scratch);
  to_energy(n, count * n->shape.input_size, gradient);
  arena_restore(scratch, mark);
}

/* The perceptron's part: x_bar += T' (Hessian of N) T g, g = energy gradient_bar. */
static void perceptron_vjp(const network_potential *n, int count, void *record, const double *g,
                           double *x_bar, double *parameters_bar, arena *scratch) {
  const int size = count * n->shape.input_size;
  const double *r = network_inputs(n, count, g, scratch);
  double *q_bar = x_bar;
  if (is_scaled(n)) {
    q_bar = arena_doubles(scratch, size);
    memset(q_bar, 0, sizeof(double) * (size_t)size);
  }
  const unsigned before = denormals_flush();
  if (n->single)
    mlp_single_gradient_vjp(&n->shape, n->prepared, count, record, r, q_bar, parameters_bar,
                            scratch);
  else
    mlp_double_gradient_vjp(&n->shape, n->prepared, count, record, r, q_bar, parameters_bar,
                            scratch);
  denormals_restore(before);
  if (is_scaled(n)) inputs_vjp(n, count, q_bar, x_bar, true);
}

/* In the forward pass this was energy (T' grad N(T x) + grad E(x)): both terms take the cotangent times
 * the energy. */
static void network_gradient_vjp(const potential *self, const mechanics *m, int count,
                                 const double *x, void *record, const double *gradient_bar,
                                 double *x_bar, double *parameters_bar, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  arena_mark mark = arena_save(scratch);
  const int size = count * n->shape.input_size;
  double *g = arena_doubles(scratch, size);
  for (int i = 0; i < size; i++) g[i] = n->energy * gradient_bar[i];
  // what is not wanted of the few elastic parameters is computed all the same
  double *elastic_bar = parameters_bar;
  if (parameters_bar == NULL) elastic_bar = arena_zeros(scratch, 2 * n->elastic_count);
  perceptron_vjp(n, count, record, g, x_bar,
                 parameters_bar != NULL ? parameters_bar + 2 * n->elastic_count : NULL, scratch);
  if (n->elastic_count > 0)
    elastic_term_gradient_vjp(n->system, n->parameters, count, x, g, x_bar, elastic_bar, scratch);
  arena_restore(scratch, mark);
}

/* ---- making one ------------------------------------------------------------------------------ */

network_potential network_potential_make(const carom_system *system, bool elastic,
                                         int hidden_layers, int hidden_size) {
  return (network_potential){.base = {.value = network_value,
                                      .record_bytes = network_record_bytes,
                                      .gradient = network_gradient,
                                      .gradient_vjp = network_gradient_vjp},
                             .shape = {.input_size = system->coordinate_count,
                                       .hidden_layers = hidden_layers,
                                       .hidden_size = hidden_size},
                             .system = system,
                             .length = 1,
                             .energy = 1,
                             .elastic_count = elastic ? elastic_term_count(system) : 0};
}

int network_parameter_count(const network_potential *network) {
  return 2 * network->elastic_count + mlp_parameter_count(&network->shape);
}

size_t network_prepared_bytes(const mlp_shape *shape, bool single) {
  return single ? size_multiply(mlp_single_prepared_count(shape), sizeof(float))
                : size_multiply(mlp_double_prepared_count(shape), sizeof(double));
}

void network_potential_set(network_potential *network, const double *parameters, bool single,
                           void *prepared) {
  network->parameters = parameters;
  network->single = single;
  network->prepared = prepared;
}

carom_status network_potential_initialise(const network_potential *network, rng *random,
                                          double *parameters, carom_progress progress, void *user) {
  const int elastic = 2 * network->elastic_count;
  memset(parameters, 0, sizeof(double) * (size_t)elastic);
  return mlp_initialise(&network->shape, random, parameters + elastic, progress, user);
}

void network_potential_refresh(network_potential *network) {
  if (network->single)
    mlp_single_prepare(&network->shape, mlp_parameters(network), network->prepared);
  else
    mlp_double_prepare(&network->shape, mlp_parameters(network), network->prepared);
}
