#include "base/dense.h"

#include <math.h>
#include <stddef.h>

#define AT(a, i, j) (a)[(size_t)(i) * (size_t)n + (size_t)(j)]

bool dense_factor(int n, double *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = AT(a, i, j);
      for (int k = 0; k < j; k++) sum -= AT(a, i, k) * AT(a, j, k);
      if (i == j && !(sum > 0)) return false;
      AT(a, i, j) = i == j ? sqrt(sum) : sum / AT(a, j, j);
    }
  return true;
}

void dense_solve(int n, const double *factor, double *z) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) z[i] -= AT(factor, i, k) * z[k];
    z[i] /= AT(factor, i, i);
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) z[i] -= AT(factor, k, i) * z[k];
    z[i] /= AT(factor, i, i);
  }
}

// makes a_ij zero by a rotation of rows and columns i and j
static void rotate(int n, double *a, double *vectors, int i, int j) {
  double off = AT(a, i, j);
  if (off == 0) return;
  double tau = (AT(a, j, j) - AT(a, i, i)) / (2 * off);
  double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
  double c = 1 / sqrt(1 + t * t), s = t * c;
  for (int k = 0; k < n; k++) {
    double x = AT(a, k, i), y = AT(a, k, j);
    AT(a, k, i) = c * x - s * y;
    AT(a, k, j) = s * x + c * y;
  }
  for (int k = 0; k < n; k++) {
    double x = AT(a, i, k), y = AT(a, j, k);
    AT(a, i, k) = c * x - s * y;
    AT(a, j, k) = s * x + c * y;
    double u = AT(vectors, i, k), w = AT(vectors, j, k);
    AT(vectors, i, k) = c * u - s * w;
    AT(vectors, j, k) = s * u + c * w;
  }
}

void dense_eigen(int n, double *a, double *values, double *vectors) {
  enum { SWEEPS = 60 };
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) AT(vectors, i, j) = i == j;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double off = 0, all = 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        all += AT(a, i, j) * AT(a, i, j);
        if (i != j) off += AT(a, i, j) * AT(a, i, j);
      }
    if (off <= 1e-32 * all) break;
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) rotate(n, a, vectors, i, j);
  }
  for (int i = 0; i < n; i++) values[i] = AT(a, i, i);
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      if (values[j] >= values[i]) continue;
      double value = values[i];
      values[i] = values[j];
      values[j] = value;
      for (int k = 0; k < n; k++) {
        double x = AT(vectors, i, k);
        AT(vectors, i, k) = AT(vectors, j, k);
        AT(vectors, j, k) = x;
      }
    }
}
