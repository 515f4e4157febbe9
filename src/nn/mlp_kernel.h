/* The functions of mlp.h for one type of number: included twice by mlp.c with
 *   REAL            double or float
 *   NAME(stem)      mlp_double_stem or mlp_single_stem
 *   GEMM(kind)      gemm_kind_double or gemm_kind_single
 *   SOFTPLUS        softplus_double or softplus_single */

/* What one evaluation keeps. Pairs of arrays that are multiplied together stand one behind the
 * other, so that both terms of a weight's cotangent are one product over 2 count rows. */
typedef struct NAME(record) {
  REAL *inputs;                     /* [2 count][D]: x, then r */
  REAL *hidden[MAX_HIDDEN_LAYERS];  /* [2 count][h]: h_l, then h'_l */
  REAL *slope[MAX_HIDDEN_LAYERS];   /* [count][h]: s_l */
  REAL *upper[MAX_HIDDEN_LAYERS];   /* [count][h]: u_l; unused for the last layer, where it is w */
  REAL *pushed[MAX_HIDDEN_LAYERS];  /* [2 count][h]: p_l, then d_l */
} NAME(record);

size_t NAME(record_bytes)(const mlp_shape *shape, int count) {
  size_t rows = (size_t)count, h = (size_t)shape->hidden_size;
  size_t numbers = 2 * rows * (size_t)shape->input_size +
                   (size_t)shape->hidden_layers * 6 * rows * h;
  return numbers * sizeof(REAL);
}

static NAME(record) NAME(record_at)(const mlp_shape *shape, int count, void *memory) {
  NAME(record) r;
  size_t rows = (size_t)count, h = (size_t)shape->hidden_size;
  REAL *next = memory;
  r.inputs = next;
  next += 2 * rows * (size_t)shape->input_size;
  for (int l = 0; l < shape->hidden_layers; l++) {
    r.hidden[l] = next;
    r.slope[l] = r.hidden[l] + 2 * rows * h;
    r.upper[l] = r.slope[l] + rows * h;
    r.pushed[l] = r.upper[l] + rows * h;
    next = r.pushed[l] + 2 * rows * h;
  }
  return r;
}

static void NAME(layer)(const mlp_shape *shape, const REAL *parameters, int layer, int count,
                        const REAL *input, REAL *sums, REAL *output, REAL *slope) {
  int h = shape->hidden_size;
  const REAL *bias = parameters + mlp_bias_offset(shape, layer);
  for (int i = 0; i < count; i++) memcpy(sums + (size_t)i * (size_t)h, bias, sizeof(REAL) * (size_t)h);
  GEMM(nt)(count, h, mlp_layer_inputs(shape, layer), input,
           parameters + mlp_weight_offset(shape, layer), sums, 1);
  SOFTPLUS(count * h, sums, output, slope);
}

void NAME(gradient)(const mlp_shape *shape, const REAL *parameters, int count, const double *x,
                    double *gradient, void *memory, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  NAME(record) r = NAME(record_at)(shape, count, memory);
  int h = shape->hidden_size, layers = shape->hidden_layers, inputs = shape->input_size;
  REAL *sums = ARENA_ARRAY(scratch, REAL, count * h);
  for (int i = 0; i < count * inputs; i++) r.inputs[i] = (REAL)x[i];

  // forward
  for (int l = 0; l < layers; l++)
    NAME(layer)(shape, parameters, l, count, l == 0 ? r.inputs : r.hidden[l - 1], sums, r.hidden[l],
                r.slope[l]);

  // gradient: d_L = w * s_L, then down
  const REAL *out = parameters + mlp_weight_offset(shape, layers);
  REAL *d = r.pushed[layers - 1] + count * h;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < h; j++) d[i * h + j] = out[j] * r.slope[layers - 1][i * h + j];
  for (int l = layers - 1; l > 0; l--) {
    REAL *below = r.pushed[l - 1] + count * h;
    GEMM(nn)(count, h, h, r.pushed[l] + count * h, parameters + mlp_weight_offset(shape, l),
             r.upper[l - 1], 0);
    for (int i = 0; i < count * h; i++) below[i] = r.upper[l - 1][i] * r.slope[l - 1][i];
  }
  REAL *result = ARENA_ARRAY(scratch, REAL, count * inputs);
  GEMM(nn)(count, inputs, h, r.pushed[0] + count * h, parameters, result, 0);
  for (int i = 0; i < count * inputs; i++) gradient[i] = (double)result[i];
  arena_restore(scratch, mark);
}

/* parameters_bar of one layer += P' [h; h'] over 2 count rows, and sum of p for the bias */
static void NAME(layer_bar)(const mlp_shape *shape, int layer, int count, const REAL *pushed,
                            const REAL *input, double *parameters_bar, arena *scratch) {
  int h = shape->hidden_size, inputs = mlp_layer_inputs(shape, layer);
  double *weight_bar = parameters_bar + mlp_weight_offset(shape, layer);
  double *bias_bar = parameters_bar + mlp_bias_offset(shape, layer);
  if (sizeof(REAL) == sizeof(double)) {
    GEMM(tn)(h, inputs, 2 * count, pushed, input, (REAL *)(void *)weight_bar, 1);
  } else {
    REAL *product = ARENA_ARRAY(scratch, REAL, h * inputs);
    GEMM(tn)(h, inputs, 2 * count, pushed, input, product, 0);
    for (int i = 0; i < h * inputs; i++) weight_bar[i] += (double)product[i];
  }
  for (int i = 0; i < count; i++)
    for (int j = 0; j < h; j++) bias_bar[j] += (double)pushed[i * h + j];
}

void NAME(gradient_vjp)(const mlp_shape *shape, const REAL *parameters, int count, void *memory,
                        const double *gradient_bar, double *x_bar, double *parameters_bar,
                        arena *scratch) {
  arena_mark mark = arena_save(scratch);
  NAME(record) r = NAME(record_at)(shape, count, memory);
  int h = shape->hidden_size, layers = shape->hidden_layers, inputs = shape->input_size;
  REAL *direction = r.inputs + count * inputs;
  for (int i = 0; i < count * inputs; i++) direction[i] = (REAL)gradient_bar[i];

  // along the direction r: a'_l, h'_l
  REAL *rate[MAX_HIDDEN_LAYERS];
  for (int l = 0; l < layers; l++) {
    rate[l] = ARENA_ARRAY(scratch, REAL, count * h);
    GEMM(nt)(count, h, mlp_layer_inputs(shape, l), l == 0 ? direction : r.hidden[l - 1] + count * h,
             parameters + mlp_weight_offset(shape, l), rate[l], 0);
    REAL *moved = r.hidden[l] + count * h;
    for (int i = 0; i < count * h; i++) moved[i] = r.slope[l][i] * rate[l][i];
  }

  // back: p_l
  const REAL *out = parameters + mlp_weight_offset(shape, layers);
  const REAL *s = r.slope[layers - 1];
  for (int i = 0; i < count; i++)
    for (int j = 0; j < h; j++) {
      int at = i * h + j;
      r.pushed[layers - 1][at] = out[j] * s[at] * (1 - s[at]) * rate[layers - 1][at];
    }
  for (int l = layers - 2; l >= 0; l--) {
    REAL *p = r.pushed[l];
    GEMM(nn)(count, h, h, r.pushed[l + 1], parameters + mlp_weight_offset(shape, l + 1), p, 0);
    s = r.slope[l];
    for (int i = 0; i < count * h; i++)
      p[i] = s[i] * (p[i] + r.upper[l][i] * (1 - s[i]) * rate[l][i]);
  }
  REAL *result = ARENA_ARRAY(scratch, REAL, count * inputs);
  GEMM(nn)(count, inputs, h, r.pushed[0], parameters, result, 0);
  for (int i = 0; i < count * inputs; i++) x_bar[i] += (double)result[i];

  // parameters
  for (int l = 0; l < layers; l++)
    NAME(layer_bar)(shape, l, count, r.pushed[l], l == 0 ? r.inputs : r.hidden[l - 1],
                    parameters_bar, scratch);
  double *out_bar = parameters_bar + mlp_weight_offset(shape, layers);
  const REAL *moved = r.hidden[layers - 1] + count * h;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < h; j++) out_bar[j] += (double)moved[i * h + j];
  arena_restore(scratch, mark);
}
