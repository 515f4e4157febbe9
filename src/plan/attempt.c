#include "plan/attempt.h"

#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "learn/model.h"
#include "nn/gemm.h"
#include "physics/constraint_projection.h"
#include "plan/term.h"
#include "plan/unknowns.h"
#include "rollout/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bodies that are laid against each other touch to rounding: what overlaps more, relative to a radius. */
static const double TOUCHING = 1e-9;

/* ---- memory ---------------------------------------------------------------------------------- */

static bool allocate_array(double **array, size_t count) {
  *array = size_allocate_zero(count, sizeof(double));
  return *array != NULL;
}

static bool allocate_all(attempt *e) {
  const carom_system *s = e->plan->system;
  const size_t size = (size_t)s->coordinate_count, parameters = (size_t)s->parameter_count;
  const size_t steps = (size_t)e->plan->rollout.steps;
  double **const states[] = {&e->free_x,      &e->free_v,     &e->x0,      &e->v0,
                             &e->x0_bar,      &e->v0_bar,     &e->here_x,  &e->here_v,
                             &e->here_x_bar,  &e->here_v_bar, &e->there_x, &e->there_v,
                             &e->there_x_bar, &e->there_v_bar};
  bool done = true;
  for (size_t k = 0; k < sizeof states / sizeof states[0]; k++)
    done = allocate_array(states[k], size) && done;
  done = allocate_array(&e->theta, parameters) && done;
  done = allocate_array(&e->theta_bar, parameters) && done;
  done = allocate_array(&e->x_bar, size_multiply(steps + 1, size)) && done;
  done = allocate_array(&e->v_bar, size_multiply(steps + 1, size)) && done;
  done = allocate_array(&e->u, size_multiply(steps, (size_t)s->control_size)) && done;
  done = allocate_array(&e->u_bar, size_multiply(steps, (size_t)s->control_size)) && done;
  return allocate_array(&e->terms, (size_t)e->plan->term_count) && done;
}

static bool has_joints(const carom_system *s) {
  for (int i = 0; i < s->constraint_count; i++)
    if (s->constraints[i].internal_of < 0) return true;
  return false;
}

carom_status attempt_init(attempt *e, const carom_plan *plan, const carom_model *model,
                          carom_error *error) {
  *e = (attempt){.plan = plan, .model = model, .has_joints = has_joints(plan->system)};
  arena_init(&e->scratch);
  carom_rollout_options options = plan->rollout;
  options.threads = 1;
  options.keep_impacts = true;
  options.progress = NULL;
  if (model != NULL) {
    options.contact = model->options.contact;
    options.dynamics = model->options.dynamics;
  }
  if (!mechanics_init(&e->mechanics, plan->system) || !allocate_all(e))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a motion of %d steps",
                     plan->rollout.steps);
  return rollout_create_with(plan->system, &options,
                             model != NULL ? &model->potential.base : &scene_potential, 1,
                             &e->rollout, error);
}

void attempt_free(attempt *e) {
  double *const arrays[] = {e->free_x,    e->free_v,  e->x0,          e->v0,          e->x0_bar,
                            e->v0_bar,    e->here_x,  e->here_v,      e->here_x_bar,  e->here_v_bar,
                            e->there_x,   e->there_v, e->there_x_bar, e->there_v_bar, e->theta,
                            e->theta_bar, e->x_bar,   e->v_bar,       e->u,           e->u_bar,
                            e->terms};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) free(arrays[k]);
  carom_rollout_destroy(e->rollout);
  mechanics_free(&e->mechanics);
  arena_free(&e->scratch);
  *e = (attempt){0};
}

/* ---- the start ------------------------------------------------------------------------------- */

// what overlaps at the start, in words
static carom_status check_overlaps(const attempt *e, carom_error *error) {
  const carom_system *s = e->plan->system;
  carom_contact_list list;
  carom_status status = carom_system_contacts(s, e->x0, 0, &list, error);
  if (status != CAROM_OK) return status;
  for (int k = 0; status == CAROM_OK && k < list.count; k++) {
    const carom_contact *c = &list.items[k];
    const double radius = c->bodies[0] >= 0 ? s->bodies[c->bodies[0]].radius : 0;
    if (c->gap >= -TOUCHING * (radius > 0 ? radius : 1)) continue;
    char label[128];
    carom_system_contact_label(s, c->contact, label, sizeof label);
    status =
        error_set(error, CAROM_INVALID_DATA,
                  "the motion would start in contact: %s overlap by %.3g; begin apart, or bound "
                  "the unknowns so that they do",
                  label, -c->gap);
  }
  carom_contact_list_free(&list);
  return status;
}

/* The projection of the start on the joints, as a guard takes it. */
static void project_start(void *user) {
  attempt *e = user;
  const arena_mark mark = arena_save(&e->scratch);
  e->missing = project_state(&e->mechanics, e->x0, e->v0, &e->scratch);
  arena_restore(&e->scratch, mark);
}

static void project_start_vjp(void *user) {
  attempt *e = user;
  const arena_mark mark = arena_save(&e->scratch);
  project_state_vjp(&e->mechanics, e->free_x, e->free_v, e->x0_bar, e->v0_bar, e->theta_bar,
                    &e->scratch);
  arena_restore(&e->scratch, mark);
}

static carom_status guarded(void (*work)(void *), attempt *e, carom_error *error) {
  const arena_mark mark = arena_save(&e->scratch);
  if (arena_guard(work, e)) return CAROM_OK;
  arena_restore(&e->scratch, mark);
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to put a start on its joints");
}

// x0, v0, theta and u at z
static carom_status make_start(attempt *e, const double *z, carom_error *error) {
  const carom_system *s = e->plan->system;
  for (int i = 0; i < e->plan->unknown_count; i++)
    if (!isfinite(z[i])) return error_set(error, CAROM_INVALID_DATA, "unknown %d is not finite", i);
  if (e->model != NULL)
    carom_model_theta(e->model, e->theta);
  else
    vector_copy(e->theta, e->plan->theta, s->parameter_count);
  vector_copy(e->x0, e->plan->x0, s->coordinate_count);
  vector_copy(e->v0, e->plan->v0, s->coordinate_count);
  memset(e->u, 0, sizeof(double) * (size_t)e->plan->rollout.steps * (size_t)s->control_size);
  unknowns_apply(e->plan, z, e->x0, e->v0, e->theta, e->u);
  if (e->has_joints) {
    carom_status status = carom_parameters_check(s, e->theta, error);
    if (status != CAROM_OK) return status;
    vector_copy(e->free_x, e->x0, s->coordinate_count);
    vector_copy(e->free_v, e->v0, s->coordinate_count);
    mechanics_set_parameters(&e->mechanics, e->theta);
    status = guarded(project_start, e, error);
    if (status != CAROM_OK) return status;
    if (e->missing > 0)
      return error_set(error, CAROM_INVALID_DATA, "the start cannot be put on the scene's joints");
  }
  return check_overlaps(e, error);
}

/* ---- the motion ------------------------------------------------------------------------------ */

// processor seconds of this thread: other work on the machine does not count
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static carom_status move(attempt *e, carom_error *error) {
  carom_status status = CAROM_OK;
  const double begin = now();
  if (e->plan->system->control_size > 0)
    status = carom_rollout_set_controls(e->rollout, e->u, error);
  if (status == CAROM_OK) status = carom_rollout_run(e->rollout, e->theta, e->x0, e->v0, error);
  e->x = carom_rollout_positions(e->rollout);
  e->v = carom_rollout_velocities(e->rollout);
  e->forward_seconds += now() - begin;
  e->runs++;
  return status;
}

static void objective(attempt *e, bool reverse) {
  e->loss = 0;
  e->missing = 0;
  for (int k = 0; k < e->plan->term_count; k++) {
    e->terms[k] = term_value(e, &e->plan->terms[k], reverse, &e->missing);
    e->loss += e->terms[k];
  }
}

static carom_status reverse(attempt *e, const double *z, double *gradient, carom_error *error) {
  const carom_system *s = e->plan->system;
  const double begin = now();
  carom_status status =
      carom_rollout_vjp(e->rollout, e->x_bar, e->v_bar, e->x0_bar, e->v0_bar, e->theta_bar, error);
  const double *through = carom_rollout_controls_bar(e->rollout);
  for (int i = 0; through != NULL && i < e->plan->rollout.steps * s->control_size; i++)
    e->u_bar[i] += through[i];
  if (status == CAROM_OK && e->has_joints) status = guarded(project_start_vjp, e, error);
  if (status != CAROM_OK) return status;
  memset(gradient, 0, sizeof(double) * (size_t)e->plan->unknown_count);
  unknowns_apply_vjp(e->plan, z, e->x0_bar, e->v0_bar, e->theta_bar, e->u_bar, gradient);
  e->reverse_seconds += now() - begin;
  e->reverses++;
  return CAROM_OK;
}

static carom_status run_all(attempt *e, const double *z, double *gradient, carom_error *error) {
  const carom_system *s = e->plan->system;
  const size_t steps = (size_t)e->plan->rollout.steps;
  const size_t motion = sizeof(double) * (steps + 1) * (size_t)s->coordinate_count;
  carom_status status = make_start(e, z, error);
  if (status == CAROM_OK) status = move(e, error);
  if (status != CAROM_OK) return status;
  if (gradient != NULL) {
    memset(e->x_bar, 0, motion);
    memset(e->v_bar, 0, motion);
    memset(e->u_bar, 0, sizeof(double) * steps * (size_t)s->control_size);
  }
  objective(e, gradient != NULL);
  if (!isfinite(e->loss))
    return error_set(error, CAROM_NUMERICAL_FAILURE, "the objective is not finite");
  return gradient != NULL ? reverse(e, z, gradient, error) : CAROM_OK;
}

carom_status attempt_run(attempt *e, const double *z, double *gradient, carom_error *error) {
  gemm_begin();
  const carom_status status = run_all(e, z, gradient, error);
  gemm_end();
  return status;
}
