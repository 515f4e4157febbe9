#include "base/nonnegative.h"

#include <math.h>
#include <string.h>

/* Gradients and entries this far on the wrong side, of the largest there is, are rounding. */
static const double ROUNDING = 1e-13;

/* Steps without progress in which all may change over, before one at a time does. */
enum { PATIENCE = 3 };

/* z = H_ff^-1 r on free entries, 0 on the others */
static void solve_free(const envelope *shape, const double *H, const bool *free, const double *r,
                       double *z, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  double *factor = arena_doubles(scratch, shape->start[shape->size]);
  for (int i = 0; i < shape->size; i++) {
    for (int j = shape->first[i]; j < i; j++)
      factor[envelope_at(shape, i, j)] = free[i] && free[j] ? H[envelope_at(shape, i, j)] : 0;
    factor[envelope_at(shape, i, i)] = free[i] ? H[envelope_at(shape, i, i)] : 1;
    z[i] = free[i] ? r[i] : 0;
  }
  envelope_factor(shape, factor, 0);
  envelope_solve(shape, factor, z);
  arena_restore(scratch, mark);
}

static double largest(const double *values, int count) {
  double most = 0;
  for (int i = 0; i < count; i++) most = fmax(most, fabs(values[i]));
  return most;
}

/* Marks entries on the wrong side: free and negative, or zero with a negative gradient. Returns how
 * many there are. */
static int find_wrong(const envelope *shape, const double *H, const bool *free, const double *r,
                      const double *z, bool *wrong, double *gradient) {
  int count = 0, zero_count = 0;
  double least_z = -ROUNDING * largest(z, shape->size);
  for (int i = 0; i < shape->size; i++) {
    wrong[i] = free[i] && z[i] < least_z;
    count += wrong[i];
    zero_count += !free[i];
  }
  if (zero_count == 0) return count;
  double least_gradient = -ROUNDING * largest(r, shape->size);
  envelope_multiply(shape, H, z, gradient);
  for (int i = 0; i < shape->size; i++) {
    if (free[i]) continue;
    wrong[i] = gradient[i] - r[i] < least_gradient;
    count += wrong[i];
  }
  return count;
}

/* Lets entries on the wrong side change over: all of them, or the last. */
static void change_over(int size, const bool *wrong, bool all, bool *free) {
  for (int i = size - 1; i >= 0; i--) {
    if (!wrong[i]) continue;
    free[i] = !free[i];
    if (!all) return;
  }
}

bool nonnegative_solve(const envelope *shape, const double *H, const double *r, double *z,
                       arena *scratch) {
  int size = shape->size, fewest = size + 1, patience = PATIENCE, steps = 0, wrong_count;
  arena_mark mark = arena_save(scratch);
  bool *free = ARENA_ARRAY(scratch, bool, size), *wrong = ARENA_ARRAY(scratch, bool, size);
  double *gradient = arena_doubles(scratch, size);
  for (int i = 0; i < size; i++) free[i] = r[i] > 0;
  do {
    solve_free(shape, H, free, r, z, scratch);
    wrong_count = find_wrong(shape, H, free, r, z, wrong, gradient);
    if (wrong_count == 0) break;
    patience = wrong_count < fewest ? PATIENCE : patience - 1;
    fewest = wrong_count < fewest ? wrong_count : fewest;
    change_over(size, wrong, patience >= 0, free);
  } while (++steps < 20 + 5 * size);
  for (int i = 0; i < size; i++) z[i] = fmax(z[i], 0);
  arena_restore(scratch, mark);
  return wrong_count == 0;
}

/* in the forward pass this was H_ff z_f = r_f, so now H_ff r_bar_f = z_bar_f, and dH enters as
 * -r_bar' dH z */
void nonnegative_solve_vjp(const envelope *shape, const double *H, const double *z,
                           const double *z_bar, double *r_bar, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  bool *free = ARENA_ARRAY(scratch, bool, shape->size);
  for (int i = 0; i < shape->size; i++) free[i] = z[i] > 0;
  solve_free(shape, H, free, z_bar, r_bar, scratch);
  arena_restore(scratch, mark);
}
