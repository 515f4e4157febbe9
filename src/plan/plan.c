#include "plan/plan.h"

#include "base/error.h"
#include "learn/model.h"
#include "nn/network_potential.h"
#include "plan/attempt.h"
#include "plan/builtin_plans.h"
#include "plan/unknowns.h"
#include "rollout/rollout_options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- built-in plans and files ---------------------------------------------------------------- */

int carom_plan_count(void) {
  int count = 0;
  while (builtin_plans[count].name != NULL) count++;
  return count;
}

const char *carom_plan_name(int index) {
  return index >= 0 && index < carom_plan_count() ? builtin_plans[index].name : NULL;
}

const char *carom_plan_text(int index) {
  return index >= 0 && index < carom_plan_count() ? builtin_plans[index].text : NULL;
}

static carom_status fail_to_open(const char *path, int cause, carom_error *error) {
  char names[256] = "";
  for (int k = 0; k < carom_plan_count(); k++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k > 0 ? ", " : "",
             carom_plan_name(k));
  if (cause == ENOENT)
    return error_set(error, CAROM_FILE_ERROR,
                     "'%.200s' is neither a plan file nor a built-in plan (%s)", path, names);
  return error_set(error, cause == ENOMEM ? CAROM_OUT_OF_MEMORY : CAROM_FILE_ERROR,
                   "cannot read '%.200s': %s", path, strerror(cause));
}

// reads a whole file, as far as a plan may go; NULL with errno set on failure
static char *read_text(const char *path, size_t *length) {
  enum { MAX_FILE = (64 << 20) + 1, BLOCK = 1 << 16 };
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t capacity = 0, got = 1;
  *length = 0;
  if (file == NULL) return NULL;
  while (got > 0 && *length < MAX_FILE) {
    if (capacity - *length < BLOCK) {
      char *larger = realloc(text, capacity = 2 * capacity + BLOCK);
      if (larger == NULL) {
        free(text);
        fclose(file);
        errno = ENOMEM;
        return NULL;
      }
      text = larger;
    }
    got = fread(text + *length, 1, capacity - *length, file);
    *length += got;
  }
  const int cause = ferror(file) ? errno : 0;
  fclose(file);
  if (cause == 0) return text;
  free(text);
  errno = cause;
  return NULL;
}

carom_status carom_plan_load(const char *name_or_path, carom_plan **plan, carom_error *error) {
  if (plan != NULL) *plan = NULL;
  REQUIRE(name_or_path, error);
  REQUIRE(plan, error);
  for (int k = 0; k < carom_plan_count(); k++)
    if (strcmp(name_or_path, carom_plan_name(k)) == 0)
      return carom_plan_parse(carom_plan_text(k), strlen(carom_plan_text(k)), name_or_path, plan,
                              error);
  size_t length;
  char *text = read_text(name_or_path, &length);
  if (text == NULL) return fail_to_open(name_or_path, errno, error);
  carom_status status = carom_plan_parse(text, length, name_or_path, plan, error);
  free(text);
  return status;
}

static void drop_own(carom_plan *plan) {
  if (plan->own == NULL) return;
  attempt_free(plan->own);
  free(plan->own);
  plan->own = NULL;
}

void carom_plan_destroy(carom_plan *plan) {
  if (plan == NULL) return;
  drop_own(plan);
  carom_system_destroy(plan->system);
  arena_free(&plan->memory);
  free(plan);
}

/* ---- what it is ------------------------------------------------------------------------------ */

carom_plan_info carom_plan_describe(const carom_plan *plan) {
  if (plan == NULL) return (carom_plan_info){.name = "", .description = "", .json = ""};
  return (carom_plan_info){.name = plan->name,
                           .description = plan->description,
                           .json = plan->json,
                           .system = plan->system,
                           .unknown_count = plan->unknown_count,
                           .term_count = plan->term_count,
                           .rollout = plan->rollout,
                           .options = plan->options};
}

static const unknown *entry_of(const carom_plan *plan, int index) {
  const unknown *u = plan->entries;
  while (index >= u->first + u->count) u++;
  return u;
}

void plan_unknown_name(const carom_plan *plan, int index, char *buffer, size_t size) {
  const unknown *u = entry_of(plan, index);
  const int place = index - u->first;
  if (u->kind == UNKNOWN_CONTROL) {
    int first, end;
    piece_steps(plan->rollout.steps, u->pieces, place / u->size, &first, &end);
    snprintf(buffer, size, "%s%s%s, step %d", u->label, u->size > 1 ? " " : "",
             u->size > 1 ? axis_names[place % u->size] : "", first);
    return;
  }
  const bool one =
      u->kind == UNKNOWN_PARAMETER ? !u->each : quantity_size(plan->system, u->quantity) == 1;
  snprintf(buffer, size, "%s%s%s", u->label, one ? "" : " ", one ? "" : axis_names[u->axes[place]]);
}

carom_unknown carom_plan_unknown(const carom_plan *plan, int index) {
  carom_unknown out = {.entry = -1};
  if (plan == NULL || index < 0 || index >= plan->unknown_count) return out;
  plan_unknown_name(plan, index, out.name, sizeof out.name);
  out.entry = (int)(entry_of(plan, index) - plan->entries);
  out.start = plan->start[index];
  out.low = plan->low[index];
  out.high = plan->high[index];
  return out;
}

void carom_plan_term_label(const carom_plan *plan, int index, char *buffer, size_t size) {
  if (buffer == NULL || size == 0) return;
  buffer[0] = '\0';
  if (plan == NULL || index < 0 || index >= plan->term_count) return;
  snprintf(buffer, size, "%s", plan->terms[index].label);
}

/* ---- the simulation it asks for -------------------------------------------------------------- */

/* The step of a moment in a run of these options; -1 with a message if it has none. */
static int step_of(const carom_plan *plan, int index, const moment *m,
                   const carom_rollout_options *options, carom_error *error) {
  const double end = options->steps * options->dt;
  if (m->kind != MOMENT_STEP) return 0;
  if (!m->by_time && m->step <= options->steps) return m->step;
  if (!m->by_time) {
    error_set(
        error, CAROM_INVALID_PLAN,
        "%s:%d: objective[%d]: step %d is beyond the end of the motion, which has %d time steps",
        plan->origin, m->line, index, m->step, options->steps);
    return -1;
  }
  const double place = m->time / options->dt, step = nearbyint(place);
  if (m->time > end * (1 + 1e-12)) {
    error_set(
        error, CAROM_INVALID_PLAN,
        "%s:%d: objective[%d]: time %g is beyond the end of the motion, %g (%d time steps of %g)",
        plan->origin, m->line, index, m->time, end, options->steps, options->dt);
    return -1;
  }
  if (fabs(place - step) <= 1e-6) return (int)step;
  error_set(error, CAROM_INVALID_PLAN,
            "%s:%d: objective[%d]: time %g is between two time steps; the nearest is at %.10g",
            plan->origin, m->line, index, m->time, step * options->dt);
  return -1;
}

static bool places_moments(carom_plan *plan, const carom_rollout_options *options, bool set,
                           carom_error *error) {
  for (int k = 0; k < plan->term_count; k++) {
    term *t = &plan->terms[k];
    if (t->kind != TERM_VALUE) continue;
    const int here = step_of(plan, k, &t->at, options, error);
    const int there = t->relative ? step_of(plan, k, &t->other_at, options, error) : 0;
    if (here < 0 || there < 0) return false;
    if (set) t->at.step = here, t->other_at.step = there;
  }
  return true;
}

/* Pieces of a control in a run of so many steps; 0 with a message if there are more pieces than steps. */
static int pieces_of(const carom_plan *plan, int entry, int steps, carom_error *error) {
  const unknown *u = &plan->entries[entry];
  if (u->kind != UNKNOWN_CONTROL) return 1;
  if (u->given_pieces <= steps && steps > 0) return u->given_pieces > 0 ? u->given_pieces : steps;
  error_set(error, CAROM_INVALID_PLAN,
            "%s:%d: unknowns[%d]: a control of %d pieces needs as many time steps; there are %d",
            plan->origin, u->line, entry, u->given_pieces > 0 ? u->given_pieces : 1, steps);
  return 0;
}

/* z laid out for the options that are set. */
static void lay_out(carom_plan *plan) {
  plan->start = arena_doubles(&plan->memory, plan->unknown_count);
  plan->low = arena_doubles(&plan->memory, plan->unknown_count);
  plan->high = arena_doubles(&plan->memory, plan->unknown_count);
  plan->draw_low = arena_doubles(&plan->memory, plan->unknown_count);
  plan->draw_high = arena_doubles(&plan->memory, plan->unknown_count);
  plan->measure = arena_doubles(&plan->memory, plan->unknown_count);
  for (int e = 0; e < plan->entry_count; e++) {
    const unknown *u = &plan->entries[e];
    for (int i = 0; i < u->count; i++) {
      const int at = u->first + i, part = i % u->size;
      int first = 0, end = 1;
      if (u->kind == UNKNOWN_CONTROL)
        piece_steps(plan->rollout.steps, u->pieces, i / u->size, &first, &end);
      plan->start[at] = u->start[part];
      plan->low[at] = u->low[part];
      plan->high[at] = u->high[part];
      plan->draw_low[at] = u->draw_low[part];
      plan->draw_high[at] = u->draw_high[part];
      plan->measure[at] = u->kind == UNKNOWN_CONTROL ? (end - first) * plan->rollout.dt : 1;
    }
  }
}

carom_status plan_take_rollout(carom_plan *plan, const carom_rollout_options *options,
                               carom_error *error) {
  carom_status status = options_check(&rollout_option_table, options, error);
  if (status != CAROM_OK) return status;
  if (!places_moments(plan, options, false, error)) return CAROM_INVALID_PLAN;
  int64_t count = 0;
  for (int e = 0; e < plan->entry_count; e++) {
    const int pieces = pieces_of(plan, e, options->steps, error);
    if (pieces == 0) return CAROM_INVALID_PLAN;
    count += (int64_t)pieces * plan->entries[e].size;
  }
  if (count > INT_MAX / 8)
    return error_set(error, CAROM_INVALID_PLAN, "%s: %lld unknowns are too many", plan->origin,
                     (long long)count);
  // from here on nothing fails but memory
  places_moments(plan, options, true, NULL);
  plan->unknown_count = 0;
  for (int e = 0; e < plan->entry_count; e++) {
    unknown *u = &plan->entries[e];
    u->pieces = pieces_of(plan, e, options->steps, NULL);
    u->first = plan->unknown_count;
    u->count = u->pieces * u->size;
    plan->unknown_count += u->count;
  }
  plan->rollout = *options;
  lay_out(plan);
  return CAROM_OK;
}

/* What a guard takes. */
typedef struct setting {
  carom_plan *plan;
  const carom_rollout_options *options;
  carom_error *error;
  carom_status status;
} setting;

static void set_rollout(void *user) {
  setting *s = user;
  s->status = plan_take_rollout(s->plan, s->options, s->error);
}

carom_status carom_plan_set_rollout(carom_plan *plan, const carom_rollout_options *options,
                                    carom_error *error) {
  REQUIRE(plan, error);
  REQUIRE(options, error);
  setting s = {plan, options, error, CAROM_OK};
  drop_own(plan);
  if (!arena_guard(set_rollout, &s))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the unknowns of a plan");
  return s.status == CAROM_OK ? error_clear(error) : s.status;
}

carom_status carom_plan_set_model(carom_plan *plan, carom_model *model, carom_error *error) {
  REQUIRE(plan, error);
  if (model != NULL && (model->system->coordinate_count != plan->system->coordinate_count ||
                        model->system->parameter_count != plan->system->parameter_count))
    return error_set(
        error, CAROM_INVALID_ARGUMENT,
        "the model is of '%s', which has other bodies or contacts than the plan's scene '%s'",
        model->system->name, plan->system->name);
  for (int e = 0; model != NULL && e < plan->entry_count; e++)
    if (plan->entries[e].kind == UNKNOWN_CONTROL)
      return error_set(
          error, CAROM_INVALID_ARGUMENT,
          "%s:%d: unknowns[%d]: a model knows masses up to a common factor, and so not what a "
          "force does; plan with controls with the scene's own properties",
          plan->origin, plan->entries[e].line, e);
  drop_own(plan);
  plan->model = model;
  if (model != NULL) network_potential_refresh(&model->potential);
  return error_clear(error);
}

/* ---- objective and motion -------------------------------------------------------------------- */

/* The plan's own attempt, made when it is first needed. */
static carom_status need_own(carom_plan *plan, carom_error *error) {
  if (plan->own != NULL) return CAROM_OK;
  plan->own = calloc(1, sizeof *plan->own);
  if (plan->own == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a motion");
  carom_status status = attempt_init(plan->own, plan, plan->model, error);
  if (status != CAROM_OK) drop_own(plan);
  return status;
}

carom_status carom_plan_loss(carom_plan *plan, const double *unknowns, double *loss,
                             double *gradient, double *terms, int *missing, carom_error *error) {
  REQUIRE(plan, error);
  REQUIRE(unknowns, error);
  carom_status status = need_own(plan, error);
  if (status == CAROM_OK) status = attempt_run(plan->own, unknowns, gradient, error);
  if (status != CAROM_OK) return status;
  if (loss != NULL) *loss = plan->own->loss;
  if (terms != NULL) memcpy(terms, plan->own->terms, sizeof(double) * (size_t)plan->term_count);
  if (missing != NULL) *missing = plan->own->missing;
  return error_clear(error);
}

carom_status carom_plan_motion(carom_plan *plan, const double *unknowns, double *x, double *v,
                               uint8_t *contacts, double *u, carom_error *error) {
  REQUIRE(plan, error);
  REQUIRE(unknowns, error);
  carom_status status = need_own(plan, error);
  if (status == CAROM_OK) status = attempt_run(plan->own, unknowns, NULL, error);
  if (status != CAROM_OK) return status;
  const attempt *e = plan->own;
  const size_t steps = (size_t)plan->rollout.steps, states = steps + 1;
  const size_t motion = sizeof(double) * states * (size_t)plan->system->coordinate_count;
  if (x != NULL) memcpy(x, e->x, motion);
  if (v != NULL) memcpy(v, e->v, motion);
  if (contacts != NULL) memcpy(contacts, carom_rollout_contacts(e->rollout), states);
  if (u != NULL) memcpy(u, e->u, sizeof(double) * steps * (size_t)plan->system->control_size);
  return error_clear(error);
}
