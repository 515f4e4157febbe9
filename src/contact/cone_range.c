#include "contact/cone_range.h"

#include "contact/cone_active_set.h"

#include <math.h>
#include <string.h>

/* Pivots below this, of the contact's largest diagonal entry, count as zero: the limit of the active set
 * (SINGULAR_PIVOT), so that both see the same rank. */
static const double RANGE_PIVOT = 1e-11;

/* delta, of the stiffness, at which a direction of recession shows, and what it gains, of |b_N|^2: less
 * is a direction of a bounded program. */
static const double RECESSION_DELTA = 1e-8, LARGEST_DELTA = 1e-6, GAIN = 1e-6;

/* Mean diagonal entries of contacts that differ by more than WIDE are brought to one size; a contact
 * with less than NOTHING of the largest moves nothing and keeps the unit of the largest. */
static const double WIDE = 1e6, NOTHING = 1e-28;

cone_range cone_range_make(const cone_program *program, const cone_scale *scale, arena *scratch) {
  int d = program->dimension, size = program->shape.size;
  double *numbers = arena_doubles(scratch, 3 * size), *sizes = numbers + 2 * size;
  cone_range range = {.outside = numbers, .b = numbers + size};
  for (int k = 0; k < size; k++) sizes[k] = cone_largest_diagonal(program, k / d);
  range.A = semidefinite_make_scaled(&program->shape, program->A, sizes, RANGE_PIVOT, scratch);
  range.deficient = range.A.rank < size;
  memcpy(range.outside, program->b, sizeof(double) * (size_t)size);
  semidefinite_null(&range.A, range.outside);
  for (int k = 0; k < size; k++) {
    range.b[k] = program->b[k] - range.outside[k];
    range.share = fmax(range.share, fabs(range.outside[k]) / scale->speeds[k / d]);
  }
  return range;
}

/* The projection of -b_N on the cones within the null space is that d, and the limit of delta f(delta)
 * for A + delta I and b_N. */
bool cone_range_has_recession(const cone_range *range, const cone_program *program,
                              arena *scratch) {
  arena_mark mark = arena_save(scratch);
  cone_program moved = *program;
  moved.b = range->outside;
  moved.lower = arena_zeros(scratch, program->contact_count);
  moved.scale = 0;
  cone_scale scale = cone_scale_make(&moved, scratch);
  active_set a = active_set_make(&moved, &scale, 1, scratch);
  double delta = active_set_descend(&a, RECESSION_DELTA) * scale.stiffness;
  double squares = 0, work = 0;
  for (int k = 0; k < program->shape.size; k++) {
    squares += moved.b[k] * moved.b[k];
    work -= moved.b[k] * a.kept[k] * delta;
  }
  arena_restore(scratch, mark);
  return delta <= LARGEST_DELTA * scale.stiffness && work > GAIN * squares;
}

/* ---- units */

// mean diagonal entry of a contact's block
static double stiffness_of(const cone_program *program, int i) {
  int d = program->dimension;
  double sum = 0;
  for (int a = i * d; a < i * d + d; a++) sum += program->A[program->shape.start[a + 1] - 1];
  return sum / d;
}

bool cone_units_differ(const cone_program *program) {
  double least = INFINITY, most = 0;
  for (int i = 0; i < program->contact_count; i++) {
    double stiffness = stiffness_of(program, i);
    most = fmax(most, stiffness);
    if (stiffness > 0) least = fmin(least, stiffness);
  }
  return most > WIDE * least;
}

// a power of two near the root of x
static double root_near(double x) {
  int exponent;
  frexp(x, &exponent);
  return ldexp(1, exponent >= 0 ? (exponent + 1) / 2 : exponent / 2);
}

cone_program cone_units_make(const cone_program *program, double *D, arena *scratch) {
  int d = program->dimension, count = program->contact_count, size = program->shape.size;
  const envelope *shape = &program->shape;
  double most = 0, largest = 0;
  for (int i = 0; i < count; i++) most = fmax(most, stiffness_of(program, i));
  for (int i = 0; i < count; i++) {
    double stiffness = stiffness_of(program, i);
    D[i] = root_near(stiffness > NOTHING * most ? stiffness : most);
    largest = fmax(largest, D[i]);
  }
  double *A = arena_doubles(scratch, shape->start[size]), *b = arena_doubles(scratch, size);
  double *lower = arena_doubles(scratch, count);
  for (int i = 0; i < size; i++) {
    for (int j = shape->first[i]; j <= i; j++) {
      int at = envelope_at(shape, i, j);
      A[at] = program->A[at] / D[i / d] / D[j / d];
    }
    b[i] = program->b[i] / D[i / d];
  }
  for (int i = 0; i < count; i++) lower[i] = program->lower[i] * D[i];
  cone_program scaled = *program;
  scaled.A = A;
  scaled.b = b;
  scaled.lower = lower;
  scaled.scale = program->scale / largest;
  return scaled;
}

void cone_units_restore(const cone_program *program, const double *D, cone_solution *solution) {
  int d = program->dimension, count = program->contact_count;
  for (int k = 0; k < count * d; k++) {
    solution->f[k] /= D[k / d];
    solution->dual[k] *= D[k / d];
  }
  for (int i = 0; i < count; i++) solution->dual[count * d + i] *= D[i];
}
