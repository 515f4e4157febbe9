#include "nn/network_potential.h"

#include "nn/denormals.h"
#include "nn/elastic_term.h"

#include <string.h>

static const network_potential *network_of(const potential *self) {
  return (const network_potential *)(const void *)self;
}

static const double *mlp_parameters(const network_potential *n) {
  return n->parameters + 2 * n->elastic_count;
}

static void network_value(const potential *self, const mechanics *m, int count, const double *x,
                          double *value, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  mlp_double_value(&n->shape, mlp_parameters(n), count, x, value, scratch);
  if (n->elastic_count > 0) elastic_term_value(n->system, n->parameters, count, x, value);
}

static size_t network_record_bytes(const potential *self, int count) {
  const network_potential *n = network_of(self);
  return n->rounded != NULL ? mlp_single_record_bytes(&n->shape, count)
                            : mlp_double_record_bytes(&n->shape, count);
}

static void network_gradient(const potential *self, const mechanics *m, int count, const double *x,
                             double *gradient, void *record, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  const unsigned before = denormals_flush();
  if (n->rounded != NULL)
    mlp_single_gradient(&n->shape, n->rounded, count, x, gradient, record, scratch);
  else
    mlp_double_gradient(&n->shape, mlp_parameters(n), count, x, gradient, record, scratch);
  denormals_restore(before);
  if (n->elastic_count > 0) elastic_term_gradient(n->system, n->parameters, count, x, gradient);
}

static void network_gradient_vjp(const potential *self, const mechanics *m, int count,
                                 const double *x, void *record, const double *gradient_bar,
                                 double *x_bar, double *parameters_bar, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  double *mlp_bar = parameters_bar + 2 * n->elastic_count;
  const unsigned before = denormals_flush();
  if (n->rounded != NULL)
    mlp_single_gradient_vjp(&n->shape, n->rounded, count, record, gradient_bar, x_bar, mlp_bar,
                            scratch);
  else
    mlp_double_gradient_vjp(&n->shape, mlp_parameters(n), count, record, gradient_bar, x_bar,
                            mlp_bar, scratch);
  denormals_restore(before);
  if (n->elastic_count > 0)
    elastic_term_gradient_vjp(n->system, n->parameters, count, x, gradient_bar, x_bar,
                              parameters_bar);
}

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
                             .elastic_count = elastic ? elastic_term_count(system) : 0};
}

int network_parameter_count(const network_potential *network) {
  return 2 * network->elastic_count + mlp_parameter_count(&network->shape);
}

void network_potential_set(network_potential *network, const double *parameters, float *rounded) {
  network->parameters = parameters;
  network->rounded = rounded;
}

void network_potential_initialise(const network_potential *network, rng *random,
                                  double *parameters) {
  const int elastic = 2 * network->elastic_count;
  memset(parameters, 0, sizeof(double) * (size_t)elastic);
  mlp_initialise(&network->shape, random, parameters + elastic);
}

void network_potential_refresh(network_potential *network) {
  if (network->rounded == NULL) return;
  const int count = mlp_parameter_count(&network->shape);
  const double *from = mlp_parameters(network);
  for (int i = 0; i < count; i++) network->rounded[i] = (float)from[i];
}
