/* Chunks with a contact beside those without, in data that was measured.
 *
 * A model of contacts is never quite right about real ones, while motion between them is predicted nearly up to the noise.
 * Weighed alike, the chunks with a contact bend the potential: a force near the ground makes up for what is wrong about
 * impacts. If the residuals r of each kind k have Laplace's distribution with a scale b_k of its own, the likelihood of all is
 * greatest where
 *
 *   sum over k of n_k log b_k + sum |r| / b_k   is least:   b_k = mean |r| of the kind,
 *
 * so that a chunk weighs 1 / b_k. AdamW does not care about a common factor: chunks without a contact keep the weight 1, and
 * those with one get b_free / b_contact, of the epoch before, at most 1. */
#ifndef CAROM_LEARN_BALANCE_H
#define CAROM_LEARN_BALANCE_H

#include "carom.h"

/* Losses of the samples of an epoch, by kind. */
typedef struct kind_losses {
  double free, contact; /* sums */
  int free_count, contact_count;
} kind_losses;

/* Adds `count` samples, chunks at `indices` (NULL: the first ones), whose losses are `scale` times those given. */
void kind_losses_add(kind_losses *k, const carom_chunks *chunks, int count, const int *indices,
                     const double *losses, double scale);

/* Of a chunk with a contact; 1 where a kind is missing. */
double contact_weight(const kind_losses *k);

#endif
