#include "fit/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/size.h"

bool gaussian_make(gaussian *g, const shooting *sh) {
  const size_t n = (size_t)sh->piece_count, f = (size_t)sh->f, p = (size_t)sh->p;
  *g = (gaussian){.n = sh->piece_count,
                  .f = sh->f,
                  .p = sh->p,
                  .states = size_allocate(n * f * f + p * p, sizeof(double))};
  if (g->states == NULL) return false;
  g->unknowns = g->states + n * f * f;
  return true;
}

void gaussian_free(gaussian *g) { free(g->states); }

static double *states_of(const gaussian *g, int index) {
  return g->states + (size_t)index * (size_t)(g->f * g->f);
}

bool gaussian_factor(gaussian *g, minimiser *m) {
  const shooting *sh = m->sh;
  const int f = g->f, p = g->p;
  for (int i = 0; i < g->n; i++) {
    double *a = states_of(g, i), most = 0;
    memcpy(a, sh->normals[i].ss, sizeof(double) * (size_t)(f * f));
    for (int k = 0; k < f; k++) most = fmax(most, a[k * f + k]);
    for (int k = 0; k < f; k++) a[k * f + k] += 1e-12 * most + 1e-300;
    if (!dense_factor(f, a)) return false;
  }
  normal_reduce(&m->normal, m->q, m->starts, 0, false);
  memcpy(g->unknowns, m->normal.S, sizeof(double) * (size_t)(p * p));
  for (int j = 0; j < p; j++) {
    const double natural = sh->unknowns->items[j].natural;
    g->unknowns[j * p + j] += 1 / (natural * natural);
  }
  return dense_factor(p, g->unknowns);
}

// z = L'^-1 (normal numbers): their covariance is the inverse of L L'
static void draw(rng *random, int n, const double *factor, double size, double *z) {
  for (int i = 0; i < n; i++) z[i] = size * rng_normal(random);
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) z[i] -= factor[k * n + i] * z[k];
    z[i] /= factor[i * n + i];
  }
}

void gaussian_draw_unknowns(const gaussian *g, rng *random, double size, double *dq) {
  draw(random, g->p, g->unknowns, size, dq);
}

void gaussian_draw_state(const gaussian *g, rng *random, int index, double size, double *z) {
  draw(random, g->f, states_of(g, index), size, z);
}
