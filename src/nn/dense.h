/* A multi-layer perceptron with ReLU units and several outputs, over batches, with its derivative: what the
 * baselines put in the place of the contact model.
 *
 * Rows are samples, l = 1 .. L hidden layers:
 *   h_l = max(h_{l-1} W_l' + b_l, 0)   (h_0 = input),   output = h_L W' + b
 * Reverse, with the cotangent r of the output:
 *   q_L = r W,  p_l = q_l * [h_l > 0],  q_{l-1} = p_l W_l,  input_bar = q_0
 *   W_bar = r' h_L,  b_bar = sum r,  W_l_bar = p_l' h_{l-1},  b_l_bar = sum p_l
 *
 * Parameters stand in one array: weight [out][in] and bias [out] of each layer in turn, the output layer
 * last. */
#ifndef CAROM_NN_DENSE_H
#define CAROM_NN_DENSE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/rng.h"
#include "carom.h"

typedef struct dense_shape {
  int input_size;
  int hidden_layers;
  int hidden_size;
  int output_size;
} dense_shape;

/* Numbers of all parameters; of a layer 0 .. hidden_layers, where its weight and bias begin. */
size_t dense_parameter_count(const dense_shape *shape);
int dense_layer_inputs(const dense_shape *shape, int layer);
int dense_layer_outputs(const dense_shape *shape, int layer);
int dense_weight_offset(const dense_shape *shape, int layer);
int dense_bias_offset(const dense_shape *shape, int layer);

/* Orthogonal weights, times sqrt(2) in hidden layers, which keeps the size of what passes through ReLU,
 * times `output_gain` in the last; biases uniform in +-1/sqrt(fan_in), times the same. */
carom_status dense_initialise(const dense_shape *shape, double output_gain, rng *random,
                              double *parameters);

/* Parameters as products take them (mlp.h): how many numbers, and making them. */
size_t dense_double_prepared_count(const dense_shape *shape);
size_t dense_single_prepared_count(const dense_shape *shape);
void dense_double_prepare(const dense_shape *shape, const double *parameters, double *prepared);
void dense_single_prepare(const dense_shape *shape, const double *parameters, float *prepared);

/* Numbers that a forward pass of `count` rows keeps for its derivative: the h_l. */
size_t dense_kept_count(const dense_shape *shape, int count);

/* output [count][output_size] of input [count][input_size]; fills `kept`. */
void dense_double_forward(const dense_shape *shape, const double *prepared, int count,
                          const double *input, double *kept, double *output);
void dense_single_forward(const dense_shape *shape, const float *prepared, int count,
                          const float *input, float *kept, float *output);

/* input_bar [count][input_size] = (NULL: not wanted), parameters_bar +=, in double. */
void dense_double_vjp(const dense_shape *shape, const double *prepared, int count,
                      const double *input, const double *kept, const double *output_bar,
                      double *input_bar, double *parameters_bar, arena *scratch);
void dense_single_vjp(const dense_shape *shape, const float *prepared, int count,
                      const float *input, const float *kept, const float *output_bar,
                      float *input_bar, double *parameters_bar, arena *scratch);

#endif
