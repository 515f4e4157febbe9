#include "fit/stride.h"

#include <math.h>
#include <string.h>

#include "base/dense.h"
#include "base/rng.h"

/* First state i with a share of the way to its own minimum. */
static bool take_share(minimiser *m, int i, double share) {
  shooting *sh = m->sh;
  const size_t f = (size_t)sh->f, row = 2 * (size_t)sh->D, stride = (size_t)sh->p + 1;
  double *start = m->share_starts + (size_t)i * row, *z = m->share_z;
  for (size_t k = 0; k < f; k++) {
    const size_t at = (size_t)i * f + k;
    z[k] = m->dz[at] + (1 - share) * m->normal.X[at * stride + (size_t)sh->p];
  }
  memcpy(start, m->starts + (size_t)i * row, sizeof(double) * row);
  return tangent_move(&sh->tangent, start, z);
}

// what the quadratic model of piece i falls less for a share
static double lost(const minimiser *m, int i, double share) {
  const size_t f = (size_t)m->sh->f, stride = (size_t)m->sh->p + 1;
  double fall = 0;
  for (size_t k = 0; k < f; k++) {
    const size_t at = (size_t)i * f + k;
    fall += 0.5 * m->normal.gz[at] * m->normal.X[at * stride + (size_t)m->sh->p];
  }
  return (1 - share) * (1 - share) * fall;
}

// pieces that cost more than they did
static int find_risen(minimiser *m) {
  const double LITTLE = 0.05; // of the cost, a logarithm of likelihood
  int count = 0;
  for (int i = 0; i < m->sh->piece_count; i++)
    if (m->sh->piece_cost[i] > m->piece_costs[i] + LITTLE) m->subset[count++] = i;
  return count;
}

/* Pieces of the list whose first states in m->share_starts cost less than the best so far take
 * them, with their share where it is one. */
static carom_status take_better(minimiser *m, int count, const double *share, double *cost,
                                carom_error *error) {
  shooting *sh = m->sh;
  const size_t row = 2 * (size_t)sh->D;
  bool there;
  carom_status status =
      shooting_try(sh, m->trial_q, m->share_starts, m->subset, count, m->share_best, &there, error);
  for (int k = 0; k < count && status == CAROM_OK && there; k++) {
    const int i = m->subset[k];
    if (!(sh->piece_cost[i] < m->share_best[i])) continue;
    *cost += sh->piece_cost[i] - m->share_best[i];
    m->share_best[i] = sh->piece_cost[i];
    if (share != NULL) m->share_taken[i] = *share;
    memcpy(m->trial_starts + (size_t)i * row, m->share_starts + (size_t)i * row,
           sizeof(double) * row);
  }
  return status;
}

/* Factor of what is known of first state i. */
static bool factor_state(const minimiser *m, int i, double *a) {
  const int f = m->sh->f;
  double most = 0;
  memcpy(a, m->sh->normals[i].ss, sizeof(double) * (size_t)(f * f));
  for (int k = 0; k < f; k++) most = fmax(most, a[k * f + k]);
  for (int k = 0; k < f; k++) a[k * f + k] += 1e-10 * most + 1e-300;
  return dense_factor(f, a);
}

/* First state i a bit beside where the step has led. */
static bool scatter(minimiser *m, int i, const double *factor, double size, rng *random) {
  shooting *sh = m->sh;
  const size_t row = 2 * (size_t)sh->D;
  const int f = sh->f;
  double *start = m->share_starts + (size_t)i * row, *z = m->share_z;
  for (int k = f - 1; k >= 0; k--) {
    z[k] = size * rng_normal(random);
    for (int j = k + 1; j < f; j++) z[k] -= factor[j * f + k] * z[j];
    z[k] /= factor[k * f + k];
  }
  memcpy(start, m->trial_starts + (size_t)i * row, sizeof(double) * row);
  return tangent_move(&sh->tangent, start, z);
}

/* Pieces that still are beyond an edge look for its near side in what is drawn about them. */
static carom_status stride_back(minimiser *m, int count, double *cost, carom_error *error) {
  static const double sizes[] = {0.05, 0.1, 0.2, 0.4};
  enum { SIZES = sizeof sizes / sizeof sizes[0], DRAWS = 32 };
  const double JUMP = 2; // of the cost
  const size_t f = (size_t)m->sh->f;
  int beyond = 0;
  rng random;
  rng_seed(&random, 37, (uint64_t)m->iterations);
  for (int k = 0; k < count && beyond < MOST_SCATTERED; k++) {
    const int i = m->subset[k];
    if (!(m->share_best[i] > m->piece_costs[i] + JUMP)) continue;
    if (!factor_state(m, i, m->share_factors + (size_t)beyond * f * f)) continue;
    m->subset[beyond++] = i;
  }
  carom_status status = CAROM_OK;
  for (int draw = 0; draw < DRAWS && beyond > 0 && status == CAROM_OK; draw++) {
    bool movable = true;
    for (int k = 0; k < beyond && movable; k++)
      movable = scatter(m, m->subset[k], m->share_factors + (size_t)k * f * f, sizes[draw % SIZES],
                        &random);
    if (!movable) continue;
    status = take_better(m, beyond, NULL, cost, error);
  }
  return status;
}

carom_status stride_shorten(minimiser *m, double *cost, double *predicted, carom_error *error) {
  static const double shares[] = {0.5, 0.2, 0, -0.05};
  enum { SHARES = sizeof shares / sizeof shares[0] };
  shooting *sh = m->sh;
  if (!sh->free_states || sh->join > 0 || isinf(*cost)) return CAROM_OK;
  const int count = find_risen(m);
  for (int k = 0; k < count; k++) {
    m->share_best[m->subset[k]] = sh->piece_cost[m->subset[k]];
    m->share_taken[m->subset[k]] = 1;
  }
  carom_status status = CAROM_OK;
  for (int s = 0; s < SHARES && count > 0 && status == CAROM_OK; s++) {
    bool movable = true;
    for (int k = 0; k < count && movable; k++) movable = take_share(m, m->subset[k], shares[s]);
    if (!movable) continue;
    status = take_better(m, count, &shares[s], cost, error);
  }
  for (int k = 0; k < count; k++) *predicted -= lost(m, m->subset[k], m->share_taken[m->subset[k]]);
  return status == CAROM_OK ? stride_back(m, count, cost, error) : status;
}
