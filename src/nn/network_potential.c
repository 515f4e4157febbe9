#include "nn/network_potential.h"

static const network_potential *network_of(const potential *self) {
  return (const network_potential *)(const void *)self;
}

static void network_value(const potential *self, const model *m, int count, const double *x,
                          double *value, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  mlp_double_value(&n->shape, n->parameters, count, x, value, scratch);
}

static size_t network_record_bytes(const potential *self, int count) {
  const network_potential *n = network_of(self);
  return n->rounded != NULL ? mlp_single_record_bytes(&n->shape, count)
                            : mlp_double_record_bytes(&n->shape, count);
}

static void network_gradient(const potential *self, const model *m, int count, const double *x,
                             double *gradient, void *record, arena *scratch) {
  (void)m;
  const network_potential *n = network_of(self);
  if (n->rounded != NULL)
    mlp_single_gradient(&n->shape, n->rounded, count, x, gradient, record, scratch);
  else
    mlp_double_gradient(&n->shape, n->parameters, count, x, gradient, record, scratch);
}

static void network_gradient_vjp(const potential *self, const model *m, int count, const double *x,
                                 void *record, const double *gradient_bar, double *x_bar,
                                 double *parameters_bar, arena *scratch) {
  (void)m;
  (void)x;
  const network_potential *n = network_of(self);
  if (n->rounded != NULL)
    mlp_single_gradient_vjp(&n->shape, n->rounded, count, record, gradient_bar, x_bar,
                            parameters_bar, scratch);
  else
    mlp_double_gradient_vjp(&n->shape, n->parameters, count, record, gradient_bar, x_bar,
                            parameters_bar, scratch);
}

network_potential network_potential_make(mlp_shape shape, const double *parameters,
                                         float *rounded) {
  network_potential n = {.base = {.value = network_value,
                                  .record_bytes = network_record_bytes,
                                  .gradient = network_gradient,
                                  .gradient_vjp = network_gradient_vjp},
                         .shape = shape,
                         .parameters = parameters,
                         .rounded = rounded};
  return n;
}

void network_potential_refresh(network_potential *network) {
  if (network->rounded == NULL) return;
  int count = mlp_parameter_count(&network->shape);
  for (int i = 0; i < count; i++) network->rounded[i] = (float)network->parameters[i];
}
