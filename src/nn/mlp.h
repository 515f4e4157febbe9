/* The potential network: a multi-layer perceptron V(x), D -> h -> ... -> h -> 1, softplus, over
 * batches, with the gradient of V by x and the derivative of that gradient.
 *
 * Forward, for each hidden layer l = 1 .. L (rows are samples):
 *   a_l = h_{l-1} W_l' + b_l,  h_l = softplus(a_l),  s_l = logistic(a_l)          (h_0 = x)
 *   V = h_L w' + b
 * Gradient:
 *   u_L = w,  d_l = u_l * s_l,  u_{l-1} = d_l W_l,  grad V = u_0
 * Its derivative. With the cotangent r of grad V, r . grad V is the derivative of V along r:
 *   a'_1 = r W_1',  h'_l = s_l * a'_l,  a'_{l+1} = h'_l W_{l+1}'
 * whose own reverse gives, with the d_l from above,
 *   p_L = w * s_L(1 - s_L) * a'_L
 *   p_l = (p_{l+1} W_{l+1}) * s_l + u_l * s_l(1 - s_l) * a'_l           (s_l * a'_l = h'_l)
 *   x_bar = p_1 W_1,  W_l_bar = p_l' h_{l-1} + d_l' h'_{l-1},  b_l_bar = sum p_l,  w_bar = sum h'_L
 *
 * Parameters stand in one array: weight [out][in] and bias [out] of each layer in turn, the output
 * layer last. */
#ifndef CAROM_NN_MLP_H
#define CAROM_NN_MLP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/rng.h"
#include "carom.h"

typedef struct mlp_shape {
  int input_size;
  int hidden_layers;
  int hidden_size;
} mlp_shape;

int mlp_parameter_count(const mlp_shape *shape);

/* The same where it need not fit an int: to be asked before anything else. */
size_t mlp_parameter_total(const mlp_shape *shape);

/* Offsets of weight and bias of layer 0 .. hidden_layers in the parameters. */
int mlp_weight_offset(const mlp_shape *shape, int layer);
int mlp_bias_offset(const mlp_shape *shape, int layer);
int mlp_layer_inputs(const mlp_shape *shape, int layer);
int mlp_layer_outputs(const mlp_shape *shape, int layer);

/* Orthogonal weights, biases uniform in +-1/sqrt(fan_in). A large network takes a while: `progress`
 * (may be NULL) is called now and then and may end it (CAROM_INTERRUPTED); CAROM_OUT_OF_MEMORY. */
carom_status mlp_initialise(const mlp_shape *shape, rng *random, double *parameters,
                            carom_progress progress, void *user);

/* Parameters as the gradient takes them, in double or in single precision: a copy, and the weights packed
 * for products. How many numbers that is, and making them; due after every change of the parameters. */
size_t mlp_double_prepared_count(const mlp_shape *shape);
size_t mlp_single_prepared_count(const mlp_shape *shape);
void mlp_double_prepare(const mlp_shape *shape, const double *parameters, double *prepared);
void mlp_single_prepare(const mlp_shape *shape, const double *parameters, float *prepared);

/* Bytes that mlp_*_gradient keeps for mlp_*_gradient_vjp, for `count` samples. */
size_t mlp_double_record_bytes(const mlp_shape *shape, int count);
size_t mlp_single_record_bytes(const mlp_shape *shape, int count);

/* value [count], of the parameters themselves */
void mlp_double_value(const mlp_shape *shape, const double *parameters, int count, const double *x,
                      double *value, arena *scratch);

/* gradient [count][input_size]; fills record */
void mlp_double_gradient(const mlp_shape *shape, const double *prepared, int count, const double *x,
                         double *gradient, void *record, arena *scratch);

/* x_bar +=, parameters_bar += (NULL: not wanted) */
void mlp_double_gradient_vjp(const mlp_shape *shape, const double *prepared, int count,
                             void *record, const double *gradient_bar, double *x_bar,
                             double *parameters_bar, arena *scratch);

/* The same with the arithmetic of the network in single precision; states, results and cotangents of
 * parameters stay double. */
void mlp_single_gradient(const mlp_shape *shape, const float *prepared, int count, const double *x,
                         double *gradient, void *record, arena *scratch);
void mlp_single_gradient_vjp(const mlp_shape *shape, const float *prepared, int count, void *record,
                             const double *gradient_bar, double *x_bar, double *parameters_bar,
                             arena *scratch);

#endif
