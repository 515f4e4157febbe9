#include "fit/branch.h"

#include <math.h>
#include <string.h>

/* ---- free flight ----------------------------------------------------------------------------- */

static void lay_out(void *user) {
  branch_flight *f = user;
  f->real = step_record_make(&f->integrator, 1, &f->memory);
  f->continued = step_record_make(&f->integrator, 1, &f->memory);
  f->ends = arena_zeros(&f->memory, 4 * f->D);
  f->push = arena_zeros(&f->memory, f->D);
}

bool branch_flight_init(branch_flight *f, const carom_system *system,
                        const carom_rollout_options *simulation) {
  *f = (branch_flight){.D = system->coordinate_count, .dt = simulation->dt};
  arena_init(&f->memory);
  arena_init(&f->scratch);
  f->integrator = (integrator){.mechanics = &f->mechanics,
                               .potential = &scene_potential,
                               .method = simulation->integrator,
                               .dynamics = simulation->dynamics,
                               .dt = simulation->dt,
                               .substeps = simulation->substeps};
  return mechanics_init(&f->mechanics, system) && arena_guard(lay_out, f);
}

void branch_flight_free(branch_flight *f) {
  mechanics_free(&f->mechanics);
  arena_free(&f->memory);
  arena_free(&f->scratch);
}

static void fly(branch_flight *f, double h, step_record *record, double *s) {
  arena_mark mark = arena_save(&f->scratch);
  f->integrator.dt = h;
  integrator_step(&f->integrator, 1, s, s + f->D, record, &f->scratch);
  arena_restore(&f->scratch, mark);
}

// s_bar [2 D] of the end becomes that of the start; h_bar and theta_bar +=
static void fly_vjp(branch_flight *f, double h, const step_record *record, double *s_bar,
                    double *h_bar, double *theta_bar) {
  arena_mark mark = arena_save(&f->scratch);
  f->integrator.dt = h;
  integrator_step_vjp(&f->integrator, 1, record, s_bar, s_bar + f->D, theta_bar, theta_bar, h_bar,
                      &f->scratch);
  arena_restore(&f->scratch, mark);
}

/* ---- sides of an impact ---------------------------------------------------------------------- */

/* Of a time step, below which nothing can be told of what contacts did in it. */
static const double NO_TIME = 1e-6;

/* The impact that a side ends at, on the far side of the one it begins with; -1: it ends with the
 * time step. */
static int end_of(const carom_rollout *rollout, int sample, branch_side side, int impact) {
  if (side == BRANCH_BEFORE) return impact - 1;
  return impact + 1 < carom_rollout_impact_count(rollout, sample) ? impact + 1 : -1;
}

void branch_state(branch_flight *f, const carom_rollout *rollout, int sample, branch_side side,
                  int impact, double *s) {
  size_t D = (size_t)f->D, bytes = sizeof(double) * D;
  const bool before = side == BRANCH_BEFORE;
  const int end = end_of(rollout, sample, side, impact);
  carom_impact at = carom_rollout_impact(rollout, sample, impact);
  double *real = f->ends, *further = real + 2 * D, end_time = before ? 0 : f->dt;
  const double *v_end =
      carom_rollout_velocities(rollout) + (2 * (size_t)sample + (before ? 0 : 1)) * D;
  if (end >= 0) {
    carom_impact other = carom_rollout_impact(rollout, sample, end);
    end_time = other.time;
    v_end = before ? other.v_after : other.v_before;
  }
  memcpy(real, at.x, bytes);
  memcpy(real + D, before ? at.v_before : at.v_after, bytes);
  memcpy(further, real, 2 * bytes);
  f->h = end_time - at.time;
  f->further = (before ? f->dt : 0) - at.time;
  fly(f, f->h, &f->real, real);
  fly(f, f->further, &f->continued, further);
  const bool known = fabs(f->h) > NO_TIME * f->dt;
  for (size_t i = 0; i < D; i++) {
    f->push[i] = known ? (v_end[i] - real[D + i]) / f->h : 0;
    s[i] = further[i] + 0.5 * f->push[i] * f->further * f->further;
    s[D + i] = further[D + i] + f->push[i] * f->further;
  }
}

void branch_state_vjp(branch_flight *f, carom_rollout *rollout, int sample, branch_side side,
                      int impact, const double *s_bar, double *v_bar, double *theta_bar) {
  size_t D = (size_t)f->D, bytes = sizeof(double) * D;
  const bool before = side == BRANCH_BEFORE, known = fabs(f->h) > NO_TIME * f->dt;
  const int end = end_of(rollout, sample, side, impact);
  carom_impact_bars bars = carom_rollout_impact_bars(rollout, sample, impact);
  double *real = f->ends, *further = real + 2 * D, h_bar = 0, further_bar = 0;
  double *end_bar = v_bar + (before ? 0 : D), *end_time_bar = NULL;
  memset(theta_bar, 0, sizeof(double) * (size_t)f->mechanics.system->parameter_count);
  memset(v_bar, 0, 2 * bytes);
  if (end >= 0) {
    carom_impact_bars other = carom_rollout_impact_bars(rollout, sample, end);
    end_bar = before ? other.v_after : other.v_before;
    end_time_bar = other.time;
    memset(end_bar, 0, bytes);
  }
  memset(real, 0, 2 * bytes);
  memcpy(further, s_bar, 2 * bytes);
  for (size_t i = 0; i < D && known; i++) {
    // x' = x(h') + c h'^2 / 2, v' = v(h') + c h'
    double push_bar = f->further * (s_bar[D + i] + 0.5 * f->further * s_bar[i]);
    further_bar += f->push[i] * (s_bar[D + i] + f->further * s_bar[i]);
    // c = (v_end - v(h)) / h
    end_bar[i] = push_bar / f->h;
    real[D + i] = -push_bar / f->h;
    h_bar -= f->push[i] * push_bar / f->h;
  }
  fly_vjp(f, f->h, &f->real, real, &h_bar, theta_bar);
  fly_vjp(f, f->further, &f->continued, further, &further_bar, theta_bar);
  double *start_bar = before ? bars.v_before : bars.v_after;
  memset(before ? bars.v_after : bars.v_before, 0, bytes);
  for (size_t i = 0; i < D; i++) {
    bars.x[i] = real[i] + further[i];
    start_bar[i] = real[D + i] + further[D + i];
  }
  // both lengths are something minus the time of the impact
  *bars.time = -h_bar - further_bar;
  if (end_time_bar != NULL) *end_time_bar = h_bar;
}
