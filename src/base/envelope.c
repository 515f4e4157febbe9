#include "base/envelope.h"

#include "base/vector.h"

#include <math.h>

envelope envelope_make(int size, const int *first, arena *scratch) {
  int *start = ARENA_ARRAY(scratch, int, size + 1);
  start[0] = 0;
  for (int i = 0; i < size; i++) start[i + 1] = start[i] + i - first[i] + 1;
  return (envelope){.size = size, .first = first, .start = start};
}

double envelope_largest_diagonal(const envelope *shape, const double *values) {
  double largest = 0;
  for (int i = 0; i < shape->size; i++) largest = fmax(largest, values[envelope_at(shape, i, i)]);
  return largest;
}

double envelope_factor_rows(const envelope *shape, double *values, int begin, int end,
                            double floor) {
  double smallest = 1;
  for (int i = begin; i < end; i++) {
    double *row = values + shape->start[i]; // row[j - first_i] is entry (i, j)
    int first_i = shape->first[i];
    for (int j = first_i; j < i; j++) {
      // L_ij = (A_ij - sum_k L_ik L_jk) / L_jj over the columns that both rows have
      const double *other = values + shape->start[j];
      int first_j = shape->first[j];
      int k = first_i > first_j ? first_i : first_j;
      double sum = vector_dot(row + (k - first_i), other + (k - first_j), j - k);
      row[j - first_i] = (row[j - first_i] - sum) * other[j - first_j];
    }
    // L_ii = sqrt(A_ii - sum_k L_ik^2), stored as 1 / L_ii
    double diagonal = row[i - first_i];
    double pivot = diagonal - vector_dot(row, row, i - first_i);
    double least = floor * fabs(diagonal);
    double ratio = diagonal > 0 ? pivot / diagonal : 0;
    if (!(ratio >= smallest)) smallest = ratio;
    if (!(pivot > least)) pivot = least > 0 ? least : 1;
    row[i - first_i] = 1 / sqrt(pivot);
  }
  return smallest;
}

double envelope_factor(const envelope *shape, double *values, double floor) {
  return envelope_factor_rows(shape, values, 0, shape->size, floor);
}

void envelope_solve_rows(const envelope *shape, const double *factor, int begin, int end,
                         double *z) {
  // L y = z
  for (int i = begin; i < end; i++) {
    const double *row = factor + shape->start[i];
    int first = shape->first[i];
    z[i] = (z[i] - vector_dot(row, z + first, i - first)) * row[i - first];
  }
  // L' z = y
  for (int i = end - 1; i >= begin; i--) {
    const double *row = factor + shape->start[i];
    int first = shape->first[i];
    double value = z[i] * row[i - first];
    z[i] = value;
    double *target = z + first;
    for (int k = 0; k < i - first; k++) target[k] -= row[k] * value;
  }
}

void envelope_solve(const envelope *shape, const double *factor, double *z) {
  envelope_solve_rows(shape, factor, 0, shape->size, z);
}

/* y = A x from the lower triangle: row i gives y_i and, by symmetry, the rest of column i. */
void envelope_multiply(const envelope *shape, const double *values, const double *x, double *y) {
  for (int i = 0; i < shape->size; i++) {
    const double *row = values + shape->start[i];
    int first = shape->first[i];
    double value = x[i];
    double *target = y + first;
    y[i] = vector_dot(row, x + first, i - first) + row[i - first] * value;
    for (int k = 0; k < i - first; k++) target[k] += row[k] * value;
  }
}
