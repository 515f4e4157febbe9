#include "support/scene_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/differences.h"
#include "support/systems.h"

static double *numbers(int count) {
  double *made = calloc((size_t)count + 1, sizeof(double));
  assert_non_null(made);
  return made;
}

void scene_run_open(scene_run *r, const char *scene, int batch, int steps, uint64_t seed) {
  carom_error error;
  *r = (scene_run){.system = scene[0] == '{' ? parse_system(scene) : load_system(scene),
                   .batch = batch};
  r->info = carom_system_describe(r->system);
  r->options = carom_rollout_default_options(r->system);
  if (steps > 0) r->options.steps = steps;
  r->state = r->info.point_count * r->info.dimension;
  r->control = r->options.steps * r->info.control_size;
  r->parameters = carom_parameters_count(r->system);
  int states = batch * r->state, all = states * (r->options.steps + 1);
  double **const arrays[] = {&r->x0, &r->v0, &r->x0_bar, &r->v0_bar};
  for (int k = 0; k < 4; k++) *arrays[k] = numbers(states);
  r->u = numbers(batch * r->control);
  r->u_bar = numbers(batch * r->control);
  r->theta = numbers(r->parameters);
  r->theta_bar = numbers(r->parameters);
  r->wx = numbers(all);
  r->wv = numbers(all);
  r->wi = numbers(3 * r->state + 1);
  carom_parameters_default(r->system, r->theta);
  if (carom_system_sample(r->system, seed, batch, r->x0, r->v0, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

void scene_run_close(scene_run *r) {
  carom_rollout_destroy(r->rollout);
  carom_system_destroy(r->system);
  double *const arrays[] = {r->x0,    r->v0,        r->u,  r->theta, r->x0_bar, r->v0_bar,
                            r->u_bar, r->theta_bar, r->wx, r->wv,    r->wi};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) free(arrays[k]);
}

void scene_run_renew(scene_run *r) {
  carom_rollout_destroy(r->rollout);
  r->rollout = NULL;
}

void scene_run_go(scene_run *r) {
  carom_error error = {0};
  carom_status status = CAROM_OK;
  if (r->rollout == NULL)
    status = carom_rollout_create(r->system, &r->options, r->batch, &r->rollout, &error);
  if (status == CAROM_OK && r->info.control_size > 0)
    status = carom_rollout_set_controls(r->rollout, r->u, &error);
  if (status == CAROM_OK) status = carom_rollout_run(r->rollout, r->theta, r->x0, r->v0, &error);
  if (status != CAROM_OK) fail_msg("%s", error.message);
}

void scene_run_leave_bounds(scene_run *r) {
  const carom_segment_info mu = carom_parameters_segment(r->system, CAROM_FRICTION);
  const carom_segment_info e = carom_parameters_segment(r->system, CAROM_RESTITUTION);
  for (int i = 0; i < mu.size; i++) {
    double *friction = &r->theta[mu.offset + i], *restitution = &r->theta[e.offset + i];
    if (*friction < 0.1) *friction = 0.1;
    if (*restitution < 0.1) *restitution = 0.1;
    if (*restitution > 0.9) *restitution = 0.9;
  }
}

void scene_run_weigh(scene_run *r, rng *random) {
  int all = r->batch * r->state * (r->options.steps + 1);
  for (int i = 0; i < all; i++) {
    r->wx[i] = rng_normal(random);
    r->wv[i] = rng_normal(random);
  }
  for (int i = 0; r->options.keep_impacts && i < 3 * r->state + 1; i++)
    r->wi[i] = rng_normal(random);
}

/* What an impact's weights make of it, or those weights into its cotangents. */
static double weigh_impact(const scene_run *r, const carom_impact *impact) {
  double sum = r->wi[3 * r->state] * impact->time;
  for (int i = 0; i < r->state; i++)
    sum += r->wi[i] * impact->x[i] + r->wi[r->state + i] * impact->v_before[i] +
           r->wi[2 * r->state + i] * impact->v_after[i];
  return sum;
}

static void set_impact_bars(const scene_run *r, const carom_impact_bars *bars) {
  *bars->time = r->wi[3 * r->state];
  memcpy(bars->x, r->wi, sizeof(double) * (size_t)r->state);
  memcpy(bars->v_before, r->wi + r->state, sizeof(double) * (size_t)r->state);
  memcpy(bars->v_after, r->wi + 2 * r->state, sizeof(double) * (size_t)r->state);
}

double scene_run_loss(void *user) {
  scene_run *r = user;
  scene_run_go(r);
  const double *x = carom_rollout_positions(r->rollout), *v = carom_rollout_velocities(r->rollout);
  double sum = 0;
  for (int i = 0; i < r->batch * r->state * (r->options.steps + 1); i++)
    sum += r->wx[i] * x[i] + r->wv[i] * v[i];
  for (int b = 0; b < r->batch; b++)
    for (int k = 0; k < carom_rollout_impact_count(r->rollout, b); k++) {
      carom_impact impact = carom_rollout_impact(r->rollout, b, k);
      sum += weigh_impact(r, &impact);
    }
  return sum;
}

void scene_run_vjp(scene_run *r) {
  carom_error error = {0};
  for (int b = 0; b < r->batch; b++)
    for (int k = 0; k < carom_rollout_impact_count(r->rollout, b); k++) {
      carom_impact_bars bars = carom_rollout_impact_bars(r->rollout, b, k);
      set_impact_bars(r, &bars);
    }
  if (carom_rollout_vjp(r->rollout, r->wx, r->wv, r->x0_bar, r->v0_bar, r->theta_bar, &error) !=
      CAROM_OK)
    fail_msg("%s", error.message);
  if (r->info.control_size > 0)
    memcpy(r->u_bar, carom_rollout_controls_bar(r->rollout),
           sizeof(double) * (size_t)(r->batch * r->control));
}

static const double *state_at(const scene_run *r, const double *trajectory, int sample, int step) {
  return trajectory + (sample * (r->options.steps + 1) + step) * r->state;
}
const double *scene_run_x(const scene_run *r, int sample, int step) {
  return state_at(r, carom_rollout_positions(r->rollout), sample, step);
}
const double *scene_run_v(const scene_run *r, int sample, int step) {
  return state_at(r, carom_rollout_velocities(r->rollout), sample, step);
}

int scene_run_compare(scene_run *r, const char *what, double tolerance, rng *random, int *tried) {
  const struct {
    const char *name;
    double *values, *bar;
    int count;
  } inputs[] = {{"x0", r->x0, r->x0_bar, r->batch * r->state},
                {"v0", r->v0, r->v0_bar, r->batch * r->state},
                {"u", r->u, r->u_bar, r->batch * r->control},
                {"theta", r->theta, r->theta_bar, r->parameters}};
  int compared = 0;
  scene_run_go(r);
  scene_run_vjp(r);
  for (int k = 0; k < 4; k++) {
    if (inputs[k].count == 0) continue;
    ++*tried;
    // right at one of the steps is right; else the values have to show a derivative
    double error = gradient_error_within(tolerance, scene_run_loss, r, inputs[k].values,
                                         inputs[k].bar, inputs[k].count, random);
    if (!(error < tolerance) &&
        !smooth_gradient_error(scene_run_loss, r, inputs[k].values, inputs[k].bar, inputs[k].count,
                               random, &error))
      continue;
    compared++;
    if (!(error < tolerance)) fail_msg("%s by %s: error %g", what, inputs[k].name, error);
  }
  return compared;
}
