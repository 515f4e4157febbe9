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

/* Numbers first .. end - 1 of a step:
 *   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
 *   p <- p (1 - rate decay) - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) */
static void step_block(adamw *a, const adamw_options *o, int first, int end, const double *gradient,
                       double *parameters) {
  // the means start at zero: the corrections undo that
  const double correction1 = 1.0 - pow(o->beta1, (double)a->steps);
  const double correction2 = sqrt(1.0 - pow(o->beta2, (double)a->steps));
  for (int i = first; i < end; i++) {
    const double rate = i < o->first_count ? o->first_rate : o->rate;
    const double keep = 1.0 - rate * o->weight_decay;
    const double step = rate / correction1;
    const double g = gradient[i];
    a->m[i] += (1.0 - o->beta1) * (g - a->m[i]);
    a->v[i] = o->beta2 * a->v[i] + (1.0 - o->beta2) * g * g;
    const double denominator = sqrt(a->v[i]) / correction2 + o->epsilon;
    parameters[i] = parameters[i] * keep - step * a->m[i] / denominator;
  }
}

void adamw_step(adamw *a, const adamw_options *o, const double *gradient, double *parameters) {
  // blocks do not depend on the number of threads, and so no bit does
  enum { BLOCK = 8192 };
  a->steps++;
#pragma omp parallel for schedule(static) num_threads(o->threads > 1 ? o->threads : 1)
  for (int first = 0; first < a->size; first += BLOCK)
    step_block(a, o, first, a->size - first < BLOCK ? a->size : first + BLOCK, gradient,
               parameters);
}
