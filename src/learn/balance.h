/* Chunks with a contact beside those without, in data that was measured.
 *
 * A model of contacts is never quite right about real ones, while motion between them is predicted nearly up to the noise.
 * Weighed alike, the chunks with a contact bend the potential: a force near the ground, where no other chunk has a state,
 * makes up for what is wrong about impacts. If the residuals r of each kind k have Laplace's distribution with a scale b_k of
 * its own, the likelihood of all is greatest where
 *
 *   sum over k of n_k log b_k + sum |r| / b_k   is least:   b_k = mean |r| of the kind,
 *
 * so that a chunk weighs 1 / b_k: those without a contact 1, those with one b_free / b_contact, of the epoch before, at most
 * 1. The weight is that of a chunk in what it says of its motion between contacts: of the potential, and of masses as far
 * as accelerations depend on them, which one common factor of both does not change. What impacts say of frictions,
 * restitutions and masses is not made up for by anything else, and counts in full. */
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
