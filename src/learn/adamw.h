/* AdamW: Adam with decoupled weight decay (Loshchilov and Hutter), the same arithmetic as PyTorch's,
 * on flat arrays:
 *
 *   p <- p (1 - rate decay)
 *   m <- b1 m + (1 - b1) g          v <- b2 v + (1 - b2) g^2
 *   p <- p - rate / (1 - b1^t)  m / (sqrt(v) / sqrt(1 - b2^t) + epsilon),   t = 1, 2, ... */
#ifndef CAROM_LEARN_ADAMW_H
#define CAROM_LEARN_ADAMW_H

#include <stdbool.h>
#include <stdint.h>

/* Parameters whose rate is multiplied. */
typedef struct adamw_part {
  int start, count;
  double factor;
} adamw_part;

typedef struct adamw_options {
  double rate;
  double beta1, beta2;
  double epsilon;
  double weight_decay;
  int first_count;   /* the first parameters, this many, ... */
  double first_rate; /* ... have a rate of their own */
  int part_count;
  const adamw_part *parts; /* [part_count] in their order, apart from each other */
  int threads;             /* that share a step; 0: one */
} adamw_options;

typedef struct adamw {
  int size;
  int64_t steps; /* t: steps taken */
  double *m, *v; /* [size] running means of the gradient and of its square */
} adamw;

/* Zeroed moments; false if there is no memory. adamw_free takes a zeroed struct too. */
bool adamw_init(adamw *a, int size);
void adamw_free(adamw *a);

/* One step on `parameters` [size] along `gradient` [size]. */
void adamw_step(adamw *a, const adamw_options *options, const double *gradient, double *parameters);

#endif
