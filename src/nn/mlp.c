#include "nn/mlp.h"

#include "base/size.h"
#include "nn/gemm.h"
#include "nn/kernels.h"
#include "nn/orthogonal.h"

#include <math.h>
#include <string.h>

enum { MAX_HIDDEN_LAYERS = 8 };

/* ---- parameters ------------------------------------------------------------------------------ */

int mlp_layer_inputs(const mlp_shape *shape, int layer) {
  return layer == 0 ? shape->input_size : shape->hidden_size;
}

int mlp_layer_outputs(const mlp_shape *shape, int layer) {
  return layer == shape->hidden_layers ? 1 : shape->hidden_size;
}

int mlp_weight_offset(const mlp_shape *shape, int layer) {
  int offset = 0;
  for (int l = 0; l < layer; l++)
    offset += mlp_layer_outputs(shape, l) * (mlp_layer_inputs(shape, l) + 1);
  return offset;
}

int mlp_bias_offset(const mlp_shape *shape, int layer) {
  return mlp_weight_offset(shape, layer) +
         mlp_layer_outputs(shape, layer) * mlp_layer_inputs(shape, layer);
}

int mlp_parameter_count(const mlp_shape *shape) {
  return mlp_weight_offset(shape, shape->hidden_layers + 1);
}

size_t mlp_parameter_total(const mlp_shape *shape) {
  size_t total = 0;
  for (int l = 0; l <= shape->hidden_layers; l++)
    total = size_add(total, size_multiply((size_t)mlp_layer_outputs(shape, l),
                                          (size_t)mlp_layer_inputs(shape, l) + 1));
  return total;
}

carom_status mlp_initialise(const mlp_shape *shape, rng *random, double *parameters,
                            carom_progress progress, void *user) {
  orthogonal_watch watch = {.progress = progress, .user = user};
  for (int l = 0; l <= shape->hidden_layers; l++) {
    int inputs = mlp_layer_inputs(shape, l), outputs = mlp_layer_outputs(shape, l);
    watch.total += inputs < outputs ? inputs : outputs;
  }
  for (int l = 0; l <= shape->hidden_layers; l++) {
    int inputs = mlp_layer_inputs(shape, l), outputs = mlp_layer_outputs(shape, l);
    double *weight = parameters + mlp_weight_offset(shape, l);
    carom_status status = orthogonal_matrix(random, outputs, inputs, weight, &watch);
    if (status != CAROM_OK) return status;
    double bound = 1 / sqrt(inputs);
    double *bias = parameters + mlp_bias_offset(shape, l);
    for (int i = 0; i < outputs; i++) bias[i] = rng_uniform(random, -bound, bound);
  }
  return CAROM_OK;
}

/* ---- the network in double and in single precision ------------------------------------------- */

#define REAL double
#define NAME(stem) mlp_double_##stem
#define GEMM gemm_double
#define GEMM_OF(kind) gemm_##kind##_double
#define SOFTPLUS kernels_in_use()->softplus_double
#include "nn/mlp_kernel.inc"

#define REAL float
#define NAME(stem) mlp_single_##stem
#define GEMM gemm_single
#define GEMM_OF(kind) gemm_##kind##_single
#define SOFTPLUS kernels_in_use()->softplus_single
#include "nn/mlp_kernel.inc"

/* V = w . h_L + b, h_l = softplus(W_l h_{l-1} + b_l) */
void mlp_double_value(const mlp_shape *shape, const double *parameters, int count, const double *x,
                      double *value, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  int h = shape->hidden_size, layers = shape->hidden_layers;
  double *slope = arena_doubles(scratch, count * h), *output = arena_doubles(scratch, count * h);
  double *input = arena_doubles(scratch, count * h);
  for (int l = 0; l < layers; l++) {
    gemm_nt_double(count, h, mlp_layer_inputs(shape, l), l == 0 ? x : input,
                   parameters + mlp_weight_offset(shape, l), parameters + mlp_bias_offset(shape, l),
                   output, scratch);
    kernels_in_use()->softplus_double(count * h, output, output, slope);
    double *swap = input;
    input = output;
    output = swap;
  }
  const double *out = parameters + mlp_weight_offset(shape, layers);
  for (int i = 0; i < count; i++) {
    value[i] = parameters[mlp_bias_offset(shape, layers)];
    for (int j = 0; j < h; j++) value[i] += out[j] * input[i * h + j];
  }
  arena_restore(scratch, mark);
}
