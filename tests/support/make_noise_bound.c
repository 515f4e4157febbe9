/* How well data with noise can tell masses, friction and restitution: the bound of Cramer and Rao, from the
 * Jacobian of the true model at the true states of a data set without noise.
 *
 *   make_noise_bound SCENE DATA.h5 DEVIATION      (scenes of points under gravity with shared properties)
 *
 * The first state of every chunk is unknown and eliminated: with J by the state and K by the parameters, the
 * information is the sum over chunks of K'K - K'J (J'J)^-1 J'K by the noise's variance. The model is that of
 * support/true_model.h. Three bounds: the potential known, linear with unknown
 * forces on every coordinate, and any combination of the features too. Mass ratios are by the first
 * body's mass; their bounds are relative. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/measurement.h"
#include "learn/observations.h"
#include "support/give_up.h"
#include "support/true_model.h"

enum { FEATURES = 60, MOST = 160, NUMBERS = 64 };

/* The unknowns: entries of the parameters, and the sides on which they are differentiated. */
typedef struct unknowns {
  int count, known, linear; /* all; without the potential; with its linear part */
  int entry[MOST];
  bool one_sided[MOST];
  double sign[MOST];
} unknowns;

static void add(unknowns *u, int entry, double sign, bool one_sided) {
  u->entry[u->count] = entry;
  u->sign[u->count] = sign;
  u->one_sided[u->count++] = one_sided;
}

static carom_model *make_model(const carom_system *s, unknowns *u) {
  const int width = s->coordinate_count;
  carom_model *m = true_model_make(s, CAROM_CM, 0, FEATURES);
  if (m == NULL) give_up("make_noise_bound", "no model");
  const int output = true_model_offset(m, "weight1");
  const double mu = m->parameters[m->friction], e = restitution_of(m->parameters[m->restitution]);
  // masses by the first one, which is a unit as long as the potential is unknown
  for (int b = 1; b < s->body_count; b++) add(u, m->mass + b, 1, false);
  add(u, m->friction, 1, mu == 0);
  add(u, m->restitution, e < 0.5 ? 1 : -1, e == 0 || e == 1);
  u->known = u->count;
  for (int k = 0; k < width; k++) add(u, output + k, 1, false);
  u->linear = u->count;
  for (int k = width; k < width + FEATURES; k++) add(u, output + k, 1, false);
  return m;
}

/* Residuals of all chunks, z [count][R], from x, v [count][D]. */
static void run(carom_model *m, const observations *o, const double *x, const double *v,
                double *z) {
  const size_t width = (size_t)m->system->coordinate_count;
  const size_t r = (size_t)(o->chunks.states * 2 * measurement_count(m->system));
  int indices[200];
  for (int first = 0, count; first < o->chunks.count; first += count) {
    count = o->chunks.count - first < 200 ? o->chunks.count - first : 200;
    for (int k = 0; k < count; k++) indices[k] = first + k;
    const double *made;
    if (observations_residuals(m, o, count, indices, x + (size_t)first * width,
                               v + (size_t)first * width, &made, NULL) != CAROM_OK)
      give_up("make_noise_bound", "a prediction failed");
    memcpy(z + (size_t)first * r, made, sizeof(double) * (size_t)count * r);
  }
}

/* Slopes of the residuals by number `a` of the states. */
static void state_slopes(carom_model *m, const observations *o, int a, double sigma, double *slopes,
                         double *low) {
  const size_t width = (size_t)m->system->coordinate_count, count = (size_t)o->chunks.count;
  const size_t numbers = (size_t)(o->chunks.states * 2 * measurement_count(m->system)) * count;
  double *x = malloc(sizeof(double) * width * count), *v = malloc(sizeof(double) * width * count);
  projection onto;
  if (!projection_init(&onto, m->system)) give_up("make_noise_bound", "no memory");
  for (int side = 0; side < 2; side++) {
    double step[NUMBERS] = {0};
    step[a] = (side == 0 ? 1e-4 : -1e-4) * sigma;
    for (size_t k = 0; k < count; k++) {
      memcpy(x + k * width, observed_x0(o, (int)width, (int)k), sizeof(double) * width);
      memcpy(v + k * width, observed_v0(o, (int)width, (int)k), sizeof(double) * width);
      measurement_step(&onto, step, x + k * width, v + k * width);
    }
    run(m, o, x, v, side == 0 ? slopes : low);
  }
  for (size_t i = 0; i < numbers; i++) slopes[i] = (slopes[i] - low[i]) / 2e-4;
  projection_free(&onto);
  free(x);
  free(v);
}

static void parameter_slopes(carom_model *m, const observations *o, const unknowns *u, int which,
                             const double *x0, const double *v0, const double *here, double *slopes,
                             double *low) {
  const size_t numbers =
      (size_t)(o->chunks.states * 2 * measurement_count(m->system)) * (size_t)o->chunks.count;
  double *parameter = &m->parameters[u->entry[which]];
  const double kept = *parameter, h = 1e-6 * u->sign[which];
  *parameter = kept + h;
  run(m, o, x0, v0, slopes);
  *parameter = kept - h;
  if (u->one_sided[which])
    memcpy(low, here, sizeof(double) * numbers);
  else
    run(m, o, x0, v0, low);
  *parameter = kept;
  for (size_t i = 0; i < numbers; i++)
    slopes[i] = (slopes[i] - low[i]) / (u->one_sided[which] ? h : 2 * h);
}

/* Gaussian elimination with the first `n` rows and columns of a [size][size] as pivots: what remains below
 * is their Schur complement. */
static void eliminate(double *a, int size, int n) {
  for (int p = 0; p < n; p++) {
    const double pivot = a[p * size + p];
    if (!(pivot > 1e-12)) continue;
    for (int i = p + 1; i < size; i++) {
      const double factor = a[i * size + p] / pivot;
      for (int j = p; j < size; j++) a[i * size + j] -= factor * a[p * size + j];
    }
  }
}

/* Root of entry `which` of the inverse of the leading [count][count] part of an information. */
static double bound(const double *information, int size, int count, int which) {
  double *a = malloc(sizeof(double) * (size_t)(count * count));
  // `which` last: what remains of its pivot is the reciprocal of its variance
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) {
      const int from = i == count - 1 ? which : i < which ? i : i + 1;
      const int to = j == count - 1 ? which : j < which ? j : j + 1;
      a[i * count + j] = information[from * size + to];
    }
  for (int i = 0; i < count - 1; i++) a[i * count + i] *= 1 + 1e-9;
  eliminate(a, count, count - 1);
  const double left = a[count * count - 1];
  free(a);
  return left > 0 ? 1 / sqrt(left) : INFINITY;
}

int main(int argc, char **argv) {
  if (argc != 4) give_up("make_noise_bound", "usage: make_noise_bound SCENE DATA.h5 DEVIATION");
  carom_system *s = NULL;
  carom_dataset *data = NULL;
  carom_error error = {0};
  if (carom_system_load(argv[1], &s, &error) != CAROM_OK ||
      carom_dataset_read(s, argv[2], NULL, &data, &error) != CAROM_OK)
    give_up("make_noise_bound", error.message);
  unknowns u = {0};
  carom_model *m = make_model(s, &u);
  const double sigma = strtod(argv[3], NULL);
  const noise_level noise = {sigma, sigma, 1};
  observations o = observations_of(&data->train);
  o.noise = &noise;
  const int n = 2 * measurement_count(s), all = n + u.count, r = o.chunks.states * n;
  if (n > NUMBERS || all > MOST) give_up("make_noise_bound", "too many numbers");
  const size_t chunks = (size_t)o.chunks.count, width = (size_t)s->coordinate_count;
  const size_t numbers = chunks * (size_t)r;
  double *x0 = malloc(sizeof(double) * chunks * width),
         *v0 = malloc(sizeof(double) * chunks * width);
  double *here = malloc(sizeof(double) * numbers), *low = malloc(sizeof(double) * numbers);
  double *slopes = malloc(sizeof(double) * numbers * (size_t)all);
  for (size_t k = 0; k < chunks; k++) {
    memcpy(x0 + k * width, observed_x0(&o, (int)width, (int)k), sizeof(double) * width);
    memcpy(v0 + k * width, observed_v0(&o, (int)width, (int)k), sizeof(double) * width);
  }
  run(m, &o, x0, v0, here);
  double worst = 0;
  for (size_t i = 0; i < numbers; i++) worst = fmax(worst, fabs(here[i]) * sigma);
  printf("%d chunks; the model beside the data: %.1e\n", o.chunks.count, worst);
  for (int a = 0; a < n; a++) state_slopes(m, &o, a, sigma, slopes + (size_t)a * numbers, low);
  for (int a = 0; a < u.count; a++)
    parameter_slopes(m, &o, &u, a, x0, v0, here, slopes + (size_t)(n + a) * numbers, low);
  double *information = calloc((size_t)(u.count * u.count), sizeof(double));
  double *one = malloc(sizeof(double) * (size_t)(all * all));
  for (size_t k = 0; k < chunks; k++) {
    for (int a = 0; a < all; a++)
      for (int b = 0; b < all; b++) {
        const double *f = slopes + (size_t)a * numbers + k * (size_t)r;
        const double *g = slopes + (size_t)b * numbers + k * (size_t)r;
        double sum = 0;
        for (int i = 0; i < r; i++) sum += f[i] * g[i];
        one[a * all + b] = sum;
      }
    eliminate(one, all, n);
    for (int a = 0; a < u.count; a++)
      for (int b = 0; b < u.count; b++) information[a * u.count + b] += one[(n + a) * all + n + b];
  }
  const int sets[] = {u.known, u.linear, u.count};
  const char *const names[] = {"potential known", "linear", "linear and features"};
  for (int k = 0; k < 3; k++) {
    printf("%-20s", names[k]);
    for (int b = 1; b < s->body_count; b++)
      printf("  mass ratio %d: %.2e", b, bound(information, u.count, sets[k], b - 1));
    printf("  friction: %.2e", bound(information, u.count, sets[k], s->body_count - 1));
    printf("  restitution: %.2e\n", bound(information, u.count, sets[k], s->body_count) / 6);
  }
  free(x0);
  free(v0);
  free(here);
  free(low);
  free(slopes);
  free(information);
  free(one);
  carom_model_destroy(m);
  carom_dataset_destroy(data);
  carom_system_destroy(s);
  return 0;
}
