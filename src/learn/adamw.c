#include "learn/adamw.h"

#include "base/size.h"

#include <math.h>
#include <stdlib.h>

bool adamw_init(adamw *a, int size) {
  *a = (adamw){.size = size};
  a->m = size_allocate_zero((size_t)size, sizeof(double));
  a->v = size_allocate_zero((size_t)size, sizeof(double));
  if (a->m != NULL && a->v != NULL) return true;
  adamw_free(a);
  return false;
}

void adamw_free(adamw *a) {
  free(a->m);
  free(a->v);
  *a = (adamw){0};
}

/* Numbers begin .. end - 1 of a step:
 *   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
 *   p <- p (1 - rate decay) - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) */
static void step_numbers(const adamw *a, const adamw_options *o, int begin, int end, double rate,
                         const double *gradient, double *parameters) {
  // the means start at zero: the corrections undo that
  const double correction1 = 1.0 - pow(o->beta1, (double)a->steps);
  const double correction2 = sqrt(1.0 - pow(o->beta2, (double)a->steps));
  const double keep = 1.0 - rate * o->weight_decay, step = rate / correction1;
  const double beta1 = o->beta1, beta2 = o->beta2, epsilon = o->epsilon;
  double *m = a->m, *v = a->v;
#pragma omp simd
  for (int i = begin; i < end; i++) {
    const double g = gradient[i];
    m[i] += (1.0 - beta1) * (g - m[i]);
    v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
    const double denominator = sqrt(v[i]) / correction2 + epsilon;
    parameters[i] = parameters[i] * keep - step * m[i] / denominator;
  }
}

/* The same where the first numbers of all may have a rate of their own. */
static void step_block(const adamw *a, const adamw_options *o, int begin, int end, double factor,
                       const double *gradient, double *parameters) {
  const int other = o->first_count < begin ? begin : o->first_count < end ? o->first_count : end;
  step_numbers(a, o, begin, other, factor * o->first_rate, gradient, parameters);
  step_numbers(a, o, other, end, factor * o->rate, gradient, parameters);
}

/* The same for more of them. Blocks do not depend on the number of threads, and so no bit does. */
static void step_range(adamw *a, const adamw_options *o, int begin, int end, double factor,
                       const double *gradient, double *parameters) {
  enum { BLOCK = 8192 };
#pragma omp parallel for schedule(static) num_threads(o->threads > 1 ? o->threads : 1)
  for (int first = begin; first < end; first += BLOCK)
    step_block(a, o, first, end - first < BLOCK ? end : first + BLOCK, factor, gradient,
               parameters);
}

void adamw_step(adamw *a, const adamw_options *o, const double *gradient, double *parameters) {
  a->steps++;
  int done = 0;
  for (int k = 0; k < o->part_count; k++) {
    const adamw_part *part = &o->parts[k];
    step_range(a, o, done, part->start, 1, gradient, parameters);
    done = part->start + part->count;
    step_range(a, o, part->start, done, part->factor, gradient, parameters);
  }
  step_range(a, o, done, a->size, 1, gradient, parameters);
}
