/* Solving a plan: starts, on several threads, the best of them, and what it leads to. */
#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "base/threads.h"
#include "base/vector.h"
#include "plan/descent.h"
#include "plan/plan_options.h"
#include "plan/unknowns.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_DRAWS = 1000 };

/* How far a number is moved to see whether the objective depends on it. */
static const double PROBE = 1e-3;

/* A solution under way. */
typedef struct solution {
  carom_plan *plan;
  carom_plan_options options;
  carom_plan_callback callback;
  void *user;
  int worker_count;
  attempt *workers;  /* [worker_count] */
  descent *descents; /* [starts] */
  int64_t done;
  double best;
  bool stop;
  carom_plan_result *result;
} solution;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *carom_plan_stop_text(carom_plan_stop stop) {
  switch (stop) {
    case CAROM_PLAN_ITERATIONS: return "all iterations used";
    case CAROM_PLAN_GOAL: return "goal reached";
    case CAROM_PLAN_GRADIENT: return "the gradient vanishes";
    case CAROM_PLAN_NO_DESCENT: return "no step goes further down";
    case CAROM_PLAN_INTERRUPTED: return "interrupted";
  }
  return "";
}

/* ---- starts ---------------------------------------------------------------------------------- */

// whether the plan says where starts may be drawn
static carom_status check_draws(const carom_plan *plan, carom_error *error) {
  for (int i = 0; i < plan->unknown_count; i++) {
    char name[128];
    if (isfinite(plan->draw_low[i]) && isfinite(plan->draw_high[i])) continue;
    plan_unknown_name(plan, i, name, sizeof name);
    return error_set(
        error, CAROM_INVALID_ARGUMENT,
        "%s: several starts are asked for, but unknowns[%d] (%s) does not say where to draw "
        "them; give it \"draw_low\" and \"draw_high\", or both bounds",
        plan->origin, carom_plan_unknown(plan, i).entry, name);
  }
  return CAROM_OK;
}

/* A start that leads to a motion: number k depends on the seed and k alone. */
static carom_status draw_start(solution *s, int k, double *z, double *gradient,
                               carom_error *error) {
  const carom_plan *plan = s->plan;
  carom_status status = CAROM_OK;
  rng random;
  rng_seed(&random, s->options.seed, (uint64_t)k);
  for (int draw = 0; draw < MOST_DRAWS; draw++) {
    for (int i = 0; i < plan->unknown_count; i++)
      z[i] = rng_uniform(&random, plan->draw_low[i], plan->draw_high[i]);
    status = attempt_run(&s->workers[0], z, gradient, error);
    if (status != CAROM_INVALID_DATA && status != CAROM_NUMERICAL_FAILURE) return status;
  }
  return error_prefix(error, "%s: none of %d starts that were drawn is possible", plan->origin,
                      MOST_DRAWS);
}

/* Marks what the objective depends on: numbers of one component of an entry belong together. */
static void mark_effects(const carom_plan *plan, const double *gradient, bool *effect) {
  for (int e = 0; e < plan->entry_count; e++) {
    const unknown *u = &plan->entries[e];
    const int size = u->kind == UNKNOWN_CONTROL ? u->count / u->pieces : u->count;
    for (int i = 0; i < u->count; i++)
      if (gradient[u->first + i] != 0)
        for (int j = i % size; j < u->count; j += size) effect[u->first + j] = true;
  }
}

static int first_without_effect(const carom_plan *plan, const bool *effect) {
  for (int i = 0; i < plan->unknown_count; i++)
    if (!effect[i]) return i;
  return -1;
}

/* A small step aside, where a derivative that is 0 by symmetry is not. */
static carom_status probe_effects(solution *s, const double *z, double *aside, double *gradient,
                                  bool *effect, carom_error *error) {
  const carom_plan *plan = s->plan;
  rng random;
  rng_seed(&random, s->options.seed, UINT64_MAX);
  for (int i = 0; i < plan->unknown_count; i++) {
    const double step = PROBE * (1 + fabs(z[i])) * rng_uniform(&random, 0.5, 1);
    aside[i] = z[i] + step <= plan->high[i] ? z[i] + step : fmax(z[i] - step, plan->low[i]);
  }
  carom_status status = attempt_run(&s->workers[0], aside, gradient, error);
  if (status == CAROM_OK) mark_effects(plan, gradient, effect);
  return status == CAROM_INVALID_DATA || status == CAROM_NUMERICAL_FAILURE ? CAROM_OK : status;
}

static carom_status refuse_effectless(const carom_plan *plan, const bool *effect,
                                      carom_error *error) {
  const int first = first_without_effect(plan, effect);
  char names[512] = "", name[128];
  size_t used = 0;
  int count = 0;
  if (first < 0) return CAROM_OK;
  for (int e = 0; e < plan->entry_count; e++) {
    const unknown *u = &plan->entries[e];
    const int size = u->kind == UNKNOWN_CONTROL ? u->count / u->pieces : u->count;
    for (int i = 0; i < size; i++) {
      if (effect[u->first + i]) continue;
      plan_unknown_name(plan, u->first + i, name, sizeof name);
      if (used + strlen(name) + 3 < sizeof names)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", count > 0 ? ", " : "",
                                 name);
      count++;
    }
  }
  const int entry = carom_plan_unknown(plan, first).entry;
  return error_set(
      error, CAROM_INVALID_DATA,
      "%s:%d: unknowns[%d]: without effect: the objective does not depend on %s at any start "
      "(its derivative is 0); remove it, or begin where the motion reaches what the objective "
      "asks for",
      plan->origin, plan->entries[entry].line, entry, names);
}

/* All starts, each of which leads to a motion, and whether something depends on each unknown. */
static carom_status make_starts(solution *s, carom_error *error) {
  const carom_plan *plan = s->plan;
  const size_t n = (size_t)plan->unknown_count;
  double *gradient = size_allocate(2 * n, sizeof(double)), *aside = gradient + n;
  bool *effect = size_allocate_zero(n, sizeof(bool));
  carom_status status = gradient != NULL && effect != NULL
                            ? CAROM_OK
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for starts");
  if (status == CAROM_OK && s->options.starts > 1) status = check_draws(plan, error);
  for (int k = 0; status == CAROM_OK && k < s->options.starts; k++) {
    double *z = s->result->start_unknowns + (size_t)k * n;
    if (k == 0) {
      vector_copy(z, plan->start, plan->unknown_count);
      status = attempt_run(&s->workers[0], z, gradient, error);
      if (status == CAROM_INVALID_DATA || status == CAROM_NUMERICAL_FAILURE)
        error_prefix(error, "%s: from the start of the plan", plan->origin);
    } else {
      status = draw_start(s, k, z, gradient, error);
    }
    if (status != CAROM_OK) break;
    mark_effects(plan, gradient, effect);
    if (k == 0 && first_without_effect(plan, effect) >= 0)
      status = probe_effects(s, z, aside, gradient, effect, error);
  }
  if (status == CAROM_OK) status = refuse_effectless(plan, effect, error);
  free(gradient);
  free(effect);
  return status;
}

/* ---- the work -------------------------------------------------------------------------------- */

/* One start, as its descent reports it. */
typedef struct start_report {
  solution *solution;
  int start;
} start_report;

static bool report_iteration(void *user, int iteration, double loss) {
  const start_report *r = user;
  solution *s = r->solution;
  bool go_on;
#pragma omp critical(carom_progress)
  {
    s->done++;
    s->best = fmin(s->best, loss);
    const carom_plan_progress progress = {
        .start = r->start,
        .iteration = iteration,
        .done = s->done,
        .total = (int64_t)s->options.starts * s->options.iterations,
        .loss = loss,
        .best = s->best};
    if (!s->stop && s->callback != NULL && !s->callback(s->user, &progress)) s->stop = true;
    go_on = !s->stop;
  }
  return go_on;
}

static void run_start(solution *s, int k, attempt *worker, carom_error *error) {
  descent *d = &s->descents[k];
  start_report report = {s, k};
  if (descent_init(d, s->plan, &s->options, error) != CAROM_OK) return;
  d->attempt = worker;
  d->report = report_iteration;
  d->user = &report;
  const double *z = s->result->start_unknowns + (size_t)k * (size_t)s->plan->unknown_count;
  if (descent_run(d, z, error) == CAROM_OK) error_clear(error);
    // iterations that were not needed are done
#pragma omp critical(carom_progress)
  s->done += s->options.iterations - d->outcome.iterations;
}

static carom_status run_starts(solution *s, carom_error *error) {
  carom_error *errors = size_allocate_zero((size_t)s->options.starts, sizeof(carom_error));
  if (errors == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d starts", s->options.starts);
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->worker_count)
  for (int k = 0; k < s->options.starts; k++)
    run_start(s, k, &s->workers[omp_get_thread_num()], &errors[k]);
  // the first that failed says why
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < s->options.starts; k++)
    if (errors[k].status != CAROM_OK)
      status = error_set(error, errors[k].status, "%s", errors[k].message);
  free(errors);
  return status;
}

/* ---- the result ------------------------------------------------------------------------------ */

static bool allocate_result(carom_plan_result *r, const carom_plan *plan, int starts) {
  const size_t n = (size_t)plan->unknown_count, terms = (size_t)plan->term_count;
  const size_t states = (size_t)plan->rollout.steps + 1;
  const size_t motion = size_multiply(states, (size_t)plan->system->coordinate_count);
  r->unknown_count = plan->unknown_count;
  r->term_count = plan->term_count;
  r->start_count = starts;
  r->judged = plan->model != NULL;
  r->motions = r->judged ? 3 : 2;
  r->steps = plan->rollout.steps;
  r->dt = plan->rollout.dt;
  const size_t motions = (size_t)r->motions;
  r->starts = size_allocate_zero((size_t)starts, sizeof *r->starts);
  r->start_unknowns = size_allocate_zero(size_multiply((size_t)starts, n), sizeof(double));
  r->end_unknowns = size_allocate_zero(size_multiply((size_t)starts, n), sizeof(double));
  r->unknowns = size_allocate_zero(n, sizeof(double));
  r->gradient = size_allocate_zero(n, sizeof(double));
  r->terms = size_allocate_zero(terms, sizeof(double));
  r->true_terms = size_allocate_zero(terms, sizeof(double));
  r->x = size_allocate_zero(size_multiply(motions, motion), sizeof(double));
  r->v = size_allocate_zero(size_multiply(motions, motion), sizeof(double));
  r->contacts = size_allocate_zero(size_multiply(motions, states), 1);
  bool done = r->starts != NULL && r->start_unknowns != NULL && r->end_unknowns != NULL &&
              r->unknowns != NULL && r->gradient != NULL && r->terms != NULL &&
              r->true_terms != NULL && r->x != NULL && r->v != NULL && r->contacts != NULL;
  if (plan->system->control_size == 0) return done;
  r->u = size_allocate_zero(
      size_multiply(motions * (states - 1), (size_t)plan->system->control_size), sizeof(double));
  return done && r->u != NULL;
}

void carom_plan_result_destroy(carom_plan_result *r) {
  if (r == NULL) return;
  void *const arrays[] = {r->starts,  r->start_unknowns, r->end_unknowns,
                          r->losses,  r->gradient_norms, r->rates,
                          r->history, r->unknowns,       r->gradient,
                          r->terms,   r->true_terms,     r->x,
                          r->v,       r->contacts,       r->u};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) free(arrays[k]);
  free(r);
}

/* Takes an array of a descent over, the descent has it no more. */
static double *take(double **array) {
  double *taken = *array;
  *array = NULL;
  return taken;
}

/* Fewest missing moments, then the lowest loss, then the first. */
static int best_start(const carom_plan_result *r) {
  int best = 0;
  for (int k = 1; k < r->start_count; k++) {
    const carom_plan_start *a = &r->starts[k], *b = &r->starts[best];
    if (a->missing < b->missing || (a->missing == b->missing && a->loss < b->loss)) best = k;
  }
  return best;
}

static void collect_starts(solution *s) {
  carom_plan_result *r = s->result;
  const size_t n = (size_t)r->unknown_count;
  for (int k = 0; k < r->start_count; k++) {
    r->starts[k] = s->descents[k].outcome;
    vector_copy(r->end_unknowns + (size_t)k * n, s->descents[k].best, r->unknown_count);
  }
  r->best = best_start(r);
  descent *d = &s->descents[r->best];
  vector_copy(r->unknowns, d->best, r->unknown_count);
  r->iterations = d->outcome.iterations;
  r->losses = take(&d->losses);
  r->gradient_norms = take(&d->norms);
  r->rates = take(&d->rates);
  r->history = take(&d->history);
  int64_t runs = 0, reverses = 0;
  for (int k = 0; k < s->worker_count; k++) {
    r->forward_seconds += s->workers[k].forward_seconds;
    r->reverse_seconds += s->workers[k].reverse_seconds;
    runs += s->workers[k].runs;
    reverses += s->workers[k].reverses;
  }
  r->forward_seconds /= runs > 0 ? (double)runs : 1;
  r->reverse_seconds /= reverses > 0 ? (double)reverses : 1;
}

/* Copies the motion that an attempt has just made. */
static void keep_motion(carom_plan_result *r, const attempt *e, int index) {
  const size_t states = (size_t)r->steps + 1, at = (size_t)index;
  const size_t motion = states * (size_t)e->plan->system->coordinate_count;
  const size_t controls = (states - 1) * (size_t)e->plan->system->control_size;
  memcpy(r->x + at * motion, e->x, sizeof(double) * motion);
  memcpy(r->v + at * motion, e->v, sizeof(double) * motion);
  memcpy(r->contacts + at * states, carom_rollout_contacts(e->rollout), states);
  if (r->u != NULL) memcpy(r->u + at * controls, e->u, sizeof(double) * controls);
}

static bool is_success(const carom_plan_options *o, double loss, int missing) {
  return o->goal > 0 && loss < o->goal && missing == 0;
}

/* Motion, terms and success with the scene's own properties. */
static carom_status judge(solution *s, carom_error *error) {
  carom_plan_result *r = s->result;
  attempt truth;
  carom_status status = attempt_init(&truth, s->plan, NULL, error);
  if (status == CAROM_OK) status = attempt_run(&truth, r->unknowns, NULL, error);
  if (status == CAROM_OK) {
    r->true_loss = truth.loss;
    r->true_missing = truth.missing;
    r->true_success = is_success(&s->options, truth.loss, truth.missing);
    vector_copy(r->true_terms, truth.terms, r->term_count);
    keep_motion(r, &truth, 2);
  }
  attempt_free(&truth);
  return status;
}

static carom_status fill_result(solution *s, carom_error *error) {
  carom_plan_result *r = s->result;
  attempt *e = &s->workers[0];
  collect_starts(s);
  carom_status status =
      attempt_run(e, r->start_unknowns + (size_t)r->best * (size_t)r->unknown_count, NULL, error);
  if (status == CAROM_OK) keep_motion(r, e, 0);
  if (status == CAROM_OK) status = attempt_run(e, r->unknowns, r->gradient, error);
  if (status != CAROM_OK) return status;
  keep_motion(r, e, 1);
  vector_copy(r->terms, e->terms, r->term_count);
  r->loss = e->loss;
  r->report = carom_rollout_report(e->rollout);
  r->success = is_success(&s->options, e->loss, e->missing);
  return r->judged ? judge(s, error) : CAROM_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static carom_status prepare(solution *s, carom_error *error) {
  const int most = s->options.threads > 0 ? s->options.threads : omp_get_max_threads();
  const int wanted = most < s->options.starts ? most : s->options.starts;
  s->result = calloc(1, sizeof *s->result);
  s->descents = size_allocate_zero((size_t)s->options.starts, sizeof(descent));
  s->workers = size_allocate_zero((size_t)wanted, sizeof(attempt));
  if (s->result == NULL || s->descents == NULL || s->workers == NULL ||
      !allocate_result(s->result, s->plan, s->options.starts))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a plan of %d starts",
                     s->options.starts);
  const int threads = threads_startable(wanted);
  carom_status status = CAROM_OK;
  while (status == CAROM_OK && s->worker_count < threads)
    status = attempt_init(&s->workers[s->worker_count++], s->plan, s->plan->model, error);
  return status;
}

static void solution_free(solution *s) {
  for (int k = 0; k < s->worker_count; k++) attempt_free(&s->workers[k]);
  for (int k = 0; s->descents != NULL && k < s->options.starts; k++) descent_free(&s->descents[k]);
  free(s->workers);
  free(s->descents);
  carom_plan_result_destroy(s->result);
}

carom_status carom_plan_solve(carom_plan *plan, const carom_plan_options *options,
                              carom_plan_callback callback, void *user, carom_plan_result **result,
                              carom_error *error) {
  if (result != NULL) *result = NULL;
  REQUIRE(plan, error);
  REQUIRE(result, error);
  solution s = {.plan = plan,
                .options = options != NULL ? *options : plan->options,
                .callback = callback,
                .user = user,
                .best = INFINITY};
  carom_status status = options_check(&plan_option_table, &s.options, error);
  if (status != CAROM_OK) return status;
  const double begin = now();
  status = prepare(&s, error);
  if (status == CAROM_OK) status = make_starts(&s, error);
  if (status == CAROM_OK) status = run_starts(&s, error);
  if (status == CAROM_OK) status = fill_result(&s, error);
  if (status == CAROM_OK) {
    s.result->seconds = now() - begin;
    *result = s.result;
    s.result = NULL;
    error_clear(error);
  }
  solution_free(&s);
  return status;
}
