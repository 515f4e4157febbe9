#include "nn/dense.h"

#include "base/size.h"
#include "nn/gemm.h"
#include "nn/orthogonal.h"

#include <math.h>
#include <string.h>

/* ---- parameters ------------------------------------------------------------------------------ */

int dense_layer_inputs(const dense_shape *shape, int layer) {
  return layer == 0 ? shape->input_size : shape->hidden_size;
}

int dense_layer_outputs(const dense_shape *shape, int layer) {
  return layer == shape->hidden_layers ? shape->output_size : shape->hidden_size;
}

int dense_weight_offset(const dense_shape *shape, int layer) {
  int offset = 0;
  for (int l = 0; l < layer; l++)
    offset += dense_layer_outputs(shape, l) * (dense_layer_inputs(shape, l) + 1);
  return offset;
}

int dense_bias_offset(const dense_shape *shape, int layer) {
  return dense_weight_offset(shape, layer) +
         dense_layer_outputs(shape, layer) * dense_layer_inputs(shape, layer);
}

size_t dense_parameter_count(const dense_shape *shape) {
  size_t total = 0;
  for (int l = 0; l <= shape->hidden_layers; l++)
    total = size_add(total, size_multiply((size_t)dense_layer_outputs(shape, l),
                                          (size_t)dense_layer_inputs(shape, l) + 1));
  return total;
}

carom_status dense_initialise(const dense_shape *shape, double output_gain, rng *random,
                              double *parameters) {
  orthogonal_watch watch = {0};
  for (int l = 0; l <= shape->hidden_layers; l++) {
    const int inputs = dense_layer_inputs(shape, l), outputs = dense_layer_outputs(shape, l);
    const bool last = l == shape->hidden_layers;
    const double gain = last ? output_gain : sqrt(2), bound = (last ? gain : 1) / sqrt(inputs);
    double *weight = parameters + dense_weight_offset(shape, l);
    double *bias = parameters + dense_bias_offset(shape, l);
    carom_status status = orthogonal_matrix(random, outputs, inputs, weight, &watch);
    if (status != CAROM_OK) return status;
    for (int i = 0; i < outputs * inputs; i++) weight[i] *= gain;
    for (int i = 0; i < outputs; i++) bias[i] = rng_uniform(random, -bound, bound);
  }
  return CAROM_OK;
}

size_t dense_kept_count(const dense_shape *shape, int count) {
  return size_multiply((size_t)count,
                       size_multiply((size_t)shape->hidden_layers, (size_t)shape->hidden_size));
}

/* ---- the network in double and in single precision ------------------------------------------- */

#define REAL double
#define NAME(stem) dense_double_##stem
#define GEMM gemm_double
#define GEMM_OF(kind) gemm_##kind##_double
#include "nn/dense_kernel.inc"

#define REAL float
#define NAME(stem) dense_single_##stem
#define GEMM gemm_single
#define GEMM_OF(kind) gemm_##kind##_single
#include "nn/dense_kernel.inc"
