#include "support/cone_certificate.h"

#include <math.h>
#include <stdlib.h>

typedef long double number;

/* Impulses larger than this, D f / S, are taken for wrong; rounding of f is allowed below, and velocities that are off
 * by what the solver stops at. */
static const double LARGEST = 1e7, ROUNDING = 1.1e-16, STOPS = 1e-10;

static number tangent_length(int d, const number *x) {
  return d == 1 ? 0 : d == 2 ? fabsl(x[1]) : hypotl(x[1], x[2]);
}

// nearest point of |t| <= mu n, n >= lower
static void project(int d, number mu, number lower, const double *x, number *out) {
  number t[3] = {x[0], d > 1 ? x[1] : 0, d > 2 ? x[2] : 0};
  number length = tangent_length(d, t), normal = t[0], radius = length;
  if (d == 1) mu = 0;
  if (length > mu * normal) {
    normal = (normal + mu * length) / (1 + mu * mu);
    radius = mu * normal;
  }
  if (normal < lower) {
    normal = lower;
    radius = fminl(length, mu * lower);
  }
  out[0] = normal;
  for (int k = 1; k < d; k++) out[k] = length > 0 ? t[k] * radius / length : 0;
}

// roots of the mean diagonal entries of blocks; a contact that moves nothing has that of the largest
static number *make_units(const carom_cone_program *p) {
  int d = p->dimension;
  size_t size = (size_t)(p->contact_count * d);
  number *unit = malloc(sizeof *unit * (size_t)(p->contact_count + 1)), largest = 0;
  for (int i = 0; i < p->contact_count; i++) {
    number sum = 0;
    for (int k = 0; k < d; k++) sum += p->A[(size_t)(i * d + k) * (size + 1)];
    unit[i] = sqrtl(sum / d);
    largest = fmaxl(largest, unit[i]);
  }
  for (int i = 0; i < p->contact_count; i++)
    if (!(unit[i] > 1e-150L)) unit[i] = largest > 0 ? largest : 1;
  return unit;
}

static number scale_of(const carom_cone_program *p, const number *unit) {
  number scale = 0;
  for (int i = 0; i < p->contact_count; i++) {
    for (int k = 0; k < p->dimension; k++)
      scale = fmaxl(scale, fabsl(p->b[i * p->dimension + k]) / unit[i]);
    if (p->lower != NULL) scale = fmaxl(scale, unit[i] * p->lower[i]);
  }
  return scale > 0 ? scale : 1;
}

// s = A x + b
static void velocity(const carom_cone_program *p, const number *x, number *s) {
  size_t size = (size_t)(p->contact_count * p->dimension);
  for (size_t i = 0; i < size; i++) s[i] = p->b[i];
  for (size_t i = 0; i < size; i++)
    for (size_t j = 0; j <= i; j++) {
      s[i] += (number)p->A[i * size + j] * x[j];
      if (j < i) s[j] += (number)p->A[i * size + j] * x[i];
    }
}

// 1/2 x'Ax + b'x
static number objective(const carom_cone_program *p, const number *x, number *s) {
  number sum = 0;
  velocity(p, x, s);
  for (int k = 0; k < p->contact_count * p->dimension; k++)
    sum += x[k] * (s[k] + (number)p->b[k]) / 2;
  return sum;
}

// violation and gap of one contact: s projected on s_n >= mu |s_t|, w the rest of its normal part
static void measure(int d, number mu, number lower, const number *f, const number *s, number unit,
                    cone_certificate *c, number *gap) {
  if (d == 1) mu = 0;
  number length = tangent_length(d, s), normal = s[0], radius = length;
  if (normal < mu * length) {
    normal = fmaxl((length + mu * normal) / (1 + mu * mu), 0) * mu;
    radius = fmaxl((length + mu * s[0]) / (1 + mu * mu), 0);
  }
  number off = hypotl(normal - s[0], mu > 0 ? radius - length : 0) / unit;
  c->violation = fmax(c->violation, (double)off);
  number product = f[0] * normal, w = fmaxl(normal - mu * (mu > 0 ? radius : 0), 0);
  for (int k = 1; k < d; k++) product += f[k] * (length > 0 ? s[k] * radius / length : 0);
  *gap += product - lower * w;
}

cone_certificate cone_certify(const carom_cone_program *p, const double *f) {
  int d = p->dimension, size = p->contact_count * d;
  cone_certificate c = {.finite = true};
  for (int k = 0; k < size; k++) c.finite = c.finite && isfinite(f[k]);
  if (!c.finite || size == 0) return c;
  number *unit = make_units(p), scale = scale_of(p, unit), gap = 0, largest = 0, off = 0, sum = 0;
  number *x = calloc((size_t)size * 3, sizeof *x), *s = x + size, *rest = s + size;
  for (int i = 0; i < p->contact_count; i++) {
    number lower = p->lower != NULL ? p->lower[i] : 0;
    project(d, p->mu[i], lower, f + i * d, x + i * d);
    rest[i * d] = lower;
    for (int k = i * d; k < i * d + d; k++) {
      largest = fmaxl(largest, unit[i] * fabsl(f[k]));
      off = fmaxl(off, unit[i] * fabsl(x[k] - f[k]));
      sum += unit[i] * fabsl(f[k]);
    }
  }
  c.size = (double)(largest / scale);
  c.sum = (double)(sum / scale);
  c.outside = (double)(off / fmaxl(largest, scale));
  velocity(p, x, s);
  for (int i = 0; i < p->contact_count; i++)
    measure(d, p->mu[i], p->lower != NULL ? p->lower[i] : 0, x + i * d, s + i * d, unit[i], &c,
            &gap);
  c.violation = (double)(c.violation / scale);
  c.gap = (double)(gap / (scale * scale));
  c.objective = (double)((objective(p, x, s) - objective(p, rest, s)) / (scale * scale));
  free(x);
  free(unit);
  return c;
}

bool cone_certificate_holds(const cone_certificate *c, double tolerance) {
  double rounding = fmax(ROUNDING * c->sum * c->sum, STOPS * c->sum - tolerance);
  return c->finite && c->size <= LARGEST && c->outside <= 1e-13 && c->violation <= tolerance &&
         c->gap <= tolerance + rounding && c->objective <= tolerance + rounding;
}
