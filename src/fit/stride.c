#include "fit/stride.h"

#include <math.h>
#include <string.h>

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

carom_status stride_shorten(minimiser *m, double *cost, double *predicted, carom_error *error) {
  static const double shares[] = {0.5, 0.2, 0, -0.05};
  enum { SHARES = sizeof shares / sizeof shares[0] };
  shooting *sh = m->sh;
  const size_t row = 2 * (size_t)sh->D;
  if (!sh->free_states || sh->join > 0 || isinf(*cost)) return CAROM_OK;
  const int count = find_risen(m);
  for (int k = 0; k < count; k++) m->share_best[k] = sh->piece_cost[m->subset[k]];
  for (int k = 0; k < count; k++) m->share_taken[k] = 1;
  carom_status status = CAROM_OK;
  for (int s = 0; s < SHARES && count > 0 && status == CAROM_OK; s++) {
    double there;
    bool movable = true;
    for (int k = 0; k < count && movable; k++) movable = take_share(m, m->subset[k], shares[s]);
    if (!movable) continue;
    status =
        shooting_evaluate(sh, m->trial_q, m->share_starts, m->subset, count, false, &there, error);
    for (int k = 0; k < count && status == CAROM_OK && isfinite(there); k++) {
      const int i = m->subset[k];
      if (!(sh->piece_cost[i] < m->share_best[k])) continue;
      *cost += sh->piece_cost[i] - m->share_best[k];
      m->share_best[k] = sh->piece_cost[i];
      m->share_taken[k] = shares[s];
      memcpy(m->trial_starts + (size_t)i * row, m->share_starts + (size_t)i * row,
             sizeof(double) * row);
    }
  }
  for (int k = 0; k < count; k++) *predicted -= lost(m, m->subset[k], m->share_taken[k]);
  return status;
}
