/* A potential energy of one's own in the place of the scene's: balls in a box in a well V = k |x|^2 / 2 about
 * its middle, and the derivative of where they end by k and by their start. */
#include <carom.h>

#include <stdio.h>
#include <stdlib.h>

/* What the potential knows: numbers of a state, its strength. */
typedef struct well {
  int size;
  double k;
} well;

/* dV/dx = k (x - 1/2) for `count` states at once */
static carom_status gradient(void *user, int count, const double *x, double *g,
                             carom_error *error) {
  const well *w = user;
  (void)error;
  for (int i = 0; i < count * w->size; i++) g[i] = w->k * (x[i] - 0.5);
  return CAROM_OK;
}

/* its reverse: x_bar += k g_bar, k_bar += (x - 1/2) . g_bar */
static carom_status gradient_vjp(void *user, int count, const double *x, const double *g_bar,
                                 double *x_bar, double *k_bar, carom_error *error) {
  const well *w = user;
  (void)error;
  for (int i = 0; i < count * w->size; i++) {
    x_bar[i] += w->k * g_bar[i];
    if (k_bar != NULL) *k_bar += (x[i] - 0.5) * g_bar[i];
  }
  return CAROM_OK;
}

static void check(carom_status status, const carom_error *error) {
  if (status == CAROM_OK) return;
  fprintf(stderr, "%s\n", error->message);
  exit(1);
}

int main(void) {
  enum { BATCH = 4 };
  carom_error error;
  carom_system *system;
  check(carom_system_load("bp5", &system, &error), &error);
  const carom_system_info info = carom_system_describe(system);
  const int size = info.point_count * info.dimension;
  double *x0 = calloc((size_t)(4 * BATCH * size), sizeof(double)), *v0 = x0 + BATCH * size;
  double *x0_bar = v0 + BATCH * size, *v0_bar = x0_bar + BATCH * size;
  if (x0 == NULL) return 1;
  check(carom_system_sample(system, 1, BATCH, x0, v0, &error), &error);

  well w = {.size = size, .k = 2};
  const carom_potential potential = {
      .gradient = gradient, .gradient_vjp = gradient_vjp, .parameter_count = 1, .user = &w};
  carom_rollout_options options = carom_rollout_default_options(system);
  options.steps = 60;
  carom_rollout *rollout;
  check(carom_rollout_create_with_potential(system, &options, &potential, BATCH, &rollout, &error),
        &error);
  check(carom_rollout_run(rollout, NULL, x0, v0, &error), &error);

  // the mean height of the first body at the end, and its derivative
  const size_t states = (size_t)options.steps + 1;
  const double *x = carom_rollout_positions(rollout);
  double *x_bar = calloc(BATCH * states * (size_t)size, sizeof(double)), height = 0;
  if (x_bar == NULL) return 1;
  for (size_t k = 0; k < BATCH; k++) {
    const size_t last = (k * states + states - 1) * (size_t)size + 1;
    height += x[last] / BATCH;
    x_bar[last] = 1.0 / BATCH;
  }
  check(carom_rollout_vjp(rollout, x_bar, NULL, x0_bar, v0_bar, NULL, &error), &error);
  const double k_bar = *carom_rollout_potential_bar(rollout);
  printf("mean height %.6f after %lld contact events, its derivative by k %.6f\n", height,
         (long long)carom_rollout_report(rollout).events, k_bar);

  // what it would be for a slightly larger k, by the derivative and truly
  const double step = 1e-4;
  w.k += step;
  check(carom_rollout_run(rollout, NULL, x0, v0, &error), &error);
  double now = 0;
  for (size_t k = 0; k < BATCH; k++) now += x[(k * states + states - 1) * (size_t)size + 1] / BATCH;
  printf("k + %g: height changes by %.4e, the derivative says %.4e\n", step, now - height,
         step * k_bar);
  const double difference = now - height - step * k_bar;
  carom_rollout_destroy(rollout);
  carom_system_destroy(system);
  free(x_bar);
  free(x0);
  return difference * difference > 1e-10 * step * step;
}
