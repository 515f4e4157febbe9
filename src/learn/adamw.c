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
static void step_block(adamw *a, const adamw_options *o, int begin, int end, double factor,
                       const double *gradient, double *parameters) {
  // the means start at zero: the corrections undo that
  const double correction1 = 1.0 - pow(o->beta1, (double)a->steps);
  const double correction2 = sqrt(1.0 - pow(o->beta2, (double)a->steps));
  for (int i = begin; i < end; i++) {
    const double rate = factor * (i < o->first_count ? o->first_rate : o->rate);
    const double keep = 1.0 - rate * o->weight_decay;
    const double step = rate / correction1;
    const double g = gradient[i];
    a->m[i] += (1.0 - o->beta1) * (g - a->m[i]);
    a->v[i] = o->beta2 * a->v[i] + (1.0 - o->beta2) * g * g;
    const double denominator = sqrt(a->v[i]) / correction2 + o->epsilon;
    parameters[i] = parameters[i] * keep - step * a->m[i] / denominator;
  }
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
