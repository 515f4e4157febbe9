#include "learn/simplex.h"

typedef struct vertex {
  double at[2], value;
} vertex;

/* The best vertex first, the worst last. */
static void sort(vertex v[3]) {
  for (int i = 1; i < 3; i++)
    for (int k = i; k > 0 && v[k].value < v[k - 1].value; k--) {
      const vertex other = v[k];
      v[k] = v[k - 1];
      v[k - 1] = other;
    }
}

/* A point on the line from the worst vertex through the middle of the others: 0 is the middle, 1 the
 * worst one's mirror image, -1 the worst one itself. */
static vertex on_line(const vertex v[3], double way) {
  vertex made;
  for (int i = 0; i < 2; i++) {
    const double middle = 0.5 * (v[0].at[i] + v[1].at[i]);
    made.at[i] = middle + way * (middle - v[2].at[i]);
  }
  return made;
}

/* Both other vertices half way to the best one. */
static carom_status shrink(plane_function f, void *user, vertex v[3], carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 1; k < 3 && status == CAROM_OK; k++) {
    for (int i = 0; i < 2; i++) v[k].at[i] = 0.5 * (v[k].at[i] + v[0].at[i]);
    status = f(user, v[k].at, &v[k].value, error);
  }
  return status;
}

/* One change of the simplex; counts its evaluations. */
static carom_status improve(plane_function f, void *user, vertex v[3], int *evaluations,
                            carom_error *error) {
  vertex mirrored = on_line(v, 1);
  carom_status status = f(user, mirrored.at, &mirrored.value, error);
  (*evaluations)++;
  if (status != CAROM_OK) return status;
  if (mirrored.value >= v[0].value && mirrored.value < v[1].value) {
    v[2] = mirrored;
    return CAROM_OK;
  }
  // further where that was the best, else nearer
  const bool best = mirrored.value < v[0].value;
  const bool better = mirrored.value < v[2].value;
  vertex other = on_line(v, best ? 2 : better ? 0.5 : -0.5);
  status = f(user, other.at, &other.value, error);
  (*evaluations)++;
  if (status != CAROM_OK) return status;
  const vertex kept = better && !(other.value < mirrored.value) ? mirrored : other;
  if (kept.value < v[2].value) {
    v[2] = kept;
    return CAROM_OK;
  }
  *evaluations += 2;
  return shrink(f, user, v, error);
}

carom_status simplex_minimise(plane_function f, void *user, const double step[2], int evaluations,
                              double at[2], double *value, carom_error *error) {
  vertex v[3];
  carom_status status = CAROM_OK;
  for (int k = 0; k < 3 && status == CAROM_OK; k++) {
    v[k] = (vertex){{at[0], at[1]}, *value};
    if (k == 0) continue;
    v[k].at[k - 1] += step[k - 1];
    status = f(user, v[k].at, &v[k].value, error);
  }
  sort(v);
  for (int done = 2; done < evaluations && status == CAROM_OK;) {
    status = improve(f, user, v, &done, error);
    sort(v);
  }
  if (status != CAROM_OK) return status;
  at[0] = v[0].at[0];
  at[1] = v[0].at[1];
  *value = v[0].value;
  return CAROM_OK;
}
