#include "nn/features.h"

#include "nn/elastic_term.h"
#include "nn/gemm.h"
#include "nn/kernels.h"

#include <string.h>

int network_feature_count(const network_potential *n) {
  return 2 * n->elastic_count + n->shape.hidden_size;
}

int network_feature_entry(const network_potential *n, int j) {
  const int elastic = 2 * n->elastic_count;
  if (j < elastic) return j;
  return elastic + mlp_weight_offset(&n->shape, n->shape.hidden_layers) + j - elastic;
}

/* s_l [count][h] of every hidden layer at q */
static void slopes_at(const network_potential *n, const double *parameters, int count,
                      const double *q, double **slopes, arena *scratch) {
  const mlp_shape *shape = &n->shape;
  const int h = shape->hidden_size;
  const double *input = q;
  for (int l = 0; l < shape->hidden_layers; l++) {
    double *output = arena_doubles(scratch, count * h);
    slopes[l] = arena_doubles(scratch, count * h);
    gemm_nt_double(count, h, mlp_layer_inputs(shape, l), input,
                   parameters + mlp_weight_offset(shape, l), parameters + mlp_bias_offset(shape, l),
                   output, scratch);
    kernels_in_use()->softplus_double(count * h, output, output, slopes[l]);
    input = output;
  }
}

/* rows = energy h'_L, from behind the elasticity's columns on */
static void sweep(const network_potential *n, const double *parameters, int count, int directions,
                  double **slopes, const double *along, int stride, double *rows, arena *scratch) {
  const mlp_shape *shape = &n->shape;
  const int h = shape->hidden_size, total = count * directions;
  const double *input = along;
  double *layers[2] = {arena_doubles(scratch, total * h), arena_doubles(scratch, total * h)};
  for (int l = 0; l < shape->hidden_layers; l++) {
    double *output = layers[l % 2];
    gemm_nt_double(total, h, mlp_layer_inputs(shape, l), input,
                   parameters + mlp_weight_offset(shape, l), NULL, output, scratch);
    for (int row = 0; row < total; row++) {
      const double *slope = slopes[l] + row / directions * h;
      double *at = output + (size_t)row * (size_t)h;
      for (int j = 0; j < h; j++) at[j] *= slope[j];
    }
    input = output;
  }
  for (int row = 0; row < total; row++)
    for (int j = 0; j < h; j++)
      rows[(size_t)row * (size_t)stride + (size_t)j] =
          n->energy * input[(size_t)row * (size_t)h + (size_t)j];
}

/* columns of the elasticity: the cotangent of its coefficients for the cotangent r of its gradient */
static void elastic_columns(const network_potential *n, int count, int directions, const double *x,
                            const double *along, int stride, double *rows, arena *scratch) {
  const int size = n->shape.input_size, columns = 2 * n->elastic_count;
  double *unused = arena_zeros(scratch, size);
  for (int row = 0; row < count * directions; row++) {
    double *to = rows + (size_t)row * (size_t)stride;
    memset(to, 0, sizeof(double) * (size_t)columns);
    elastic_term_gradient_vjp(n->system, n->parameters, 1, x + row / directions * size,
                              along + (size_t)row * (size_t)size, unused, to, scratch);
    for (int j = 0; j < columns; j++) to[j] *= n->energy;
  }
}

void network_features_along(const network_potential *n, int count, const double *x, int directions,
                            const double *along, int stride, double *rows, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  const int elastic = 2 * n->elastic_count;
  const double *parameters = n->parameters + elastic;
  double **slopes = ARENA_ARRAY(scratch, double *, n->shape.hidden_layers);
  slopes_at(n, parameters, count, network_inputs(n, count, x, scratch), slopes, scratch);
  sweep(n, parameters, count, directions, slopes,
        network_inputs(n, count * directions, along, scratch), stride, rows + elastic, scratch);
  if (elastic > 0) elastic_columns(n, count, directions, x, along, stride, rows, scratch);
  arena_restore(scratch, mark);
}
