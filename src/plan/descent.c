#include "plan/descent.h"

#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "learn/adamw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

enum { MOST_HALVINGS = 40, MOST_TRIALS = 40 };

/* ---- memory ---------------------------------------------------------------------------------- */

carom_status descent_init(descent *d, const carom_plan *plan, const carom_plan_options *options,
                          carom_error *error) {
  *d = (descent){.plan = plan, .options = options};
  const size_t n = (size_t)plan->unknown_count, points = (size_t)options->iterations + 1;
  const size_t memory = options->optimizer == CAROM_LBFGS ? (size_t)options->memory : 0;
  const struct {
    double **array;
    size_t count;
  } wanted[] = {{&d->z, n},
                {&d->g, n},
                {&d->trial, n},
                {&d->trial_g, n},
                {&d->direction, n},
                {&d->best, n},
                {&d->s, size_multiply(memory, n)},
                {&d->y, size_multiply(memory, n)},
                {&d->rho, memory},
                {&d->losses, points},
                {&d->norms, points},
                {&d->rates, points},
                {&d->history, size_multiply(points, n)}};
  for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
    *wanted[k].array = size_allocate_zero(wanted[k].count, sizeof(double));
    if (*wanted[k].array == NULL)
      return error_set(error, CAROM_OUT_OF_MEMORY,
                       "no memory for %d iterations of %d unknowns, %.3g GB", options->iterations,
                       plan->unknown_count, size_gigabytes(size_multiply(points, 8 * n)));
  }
  return CAROM_OK;
}

void descent_free(descent *d) {
  double *const arrays[] = {d->z, d->g,   d->trial,  d->trial_g, d->direction, d->best,   d->s,
                            d->y, d->rho, d->losses, d->norms,   d->rates,     d->history};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) free(arrays[k]);
  *d = (descent){0};
}

/* ---- shared by all --------------------------------------------------------------------------- */

/* Objective and gradient at z. A motion that cannot be has an infinite one. */
static carom_status evaluate(descent *d, const double *z, double *loss, double *gradient,
                             carom_error *error) {
  carom_status status = attempt_run(d->attempt, z, gradient, error);
  d->outcome.evaluations++;
  *loss = status == CAROM_OK ? d->attempt->loss : INFINITY;
  for (int i = 0; status == CAROM_OK && i < d->plan->unknown_count; i++)
    if (!isfinite(gradient[i])) *loss = INFINITY;
  return status == CAROM_INVALID_DATA || status == CAROM_NUMERICAL_FAILURE ? CAROM_OK : status;
}

static double within(const carom_plan *plan, int i, double value) {
  return fmin(fmax(value, plan->low[i]), plan->high[i]);
}

/* Whether a number stands at a bound that the gradient would push it through. */
static bool is_held(const descent *d, int i) {
  return (d->z[i] <= d->plan->low[i] && d->g[i] > 0) ||
         (d->z[i] >= d->plan->high[i] && d->g[i] < 0);
}

/* sqrt(sum g^2 / w) over numbers that may move: the norm of the gradient as a function. */
static double gradient_norm(const descent *d) {
  double sum = 0;
  for (int i = 0; i < d->plan->unknown_count; i++)
    if (!is_held(d, i)) sum += d->g[i] * d->g[i] / d->plan->measure[i];
  return sqrt(sum);
}

/* What is reached, entered in the record; the best so far has the fewest missing moments, then the lowest
 * loss. */
static void record(descent *d, int iteration, double rate) {
  const int n = d->plan->unknown_count;
  const bool better = d->missing < d->outcome.missing ||
                      (d->missing == d->outcome.missing && d->loss < d->outcome.loss);
  d->losses[iteration] = d->loss;
  d->norms[iteration] = gradient_norm(d);
  d->rates[iteration] = rate;
  vector_copy(d->history + (size_t)iteration * (size_t)n, d->z, n);
  d->outcome.iterations = iteration;
  if (iteration > 0 && !better) return;
  vector_copy(d->best, d->z, n);
  d->outcome.loss = d->loss;
  d->outcome.missing = d->missing;
}

/* Takes a trial over. */
static void accept(descent *d, double loss) {
  double *z = d->z, *g = d->g;
  d->z = d->trial, d->trial = z;
  d->g = d->trial_g, d->trial_g = g;
  d->loss = loss;
  d->missing = d->attempt->missing;
}

/* rate(k): constant, or a cosine from 1 to final_rate */
static double scheduled_rate(const carom_plan_options *o, int iteration) {
  if (o->schedule == CAROM_CONSTANT) return o->learning_rate;
  const double part = o->iterations > 1 ? (double)iteration / (o->iterations - 1) : 0;
  return o->learning_rate * (o->final_rate + (1 - o->final_rate) * (1 + cos(PI * part)) / 2);
}

/* z + step direction, cut at the bounds; halved while it leads to no motion. *done is false if none did. */
static carom_status take_step(descent *d, bool *done, carom_error *error) {
  double share = 1, loss;
  *done = false;
  for (int k = 0; k < MOST_HALVINGS && !*done; k++, share /= 2) {
    for (int i = 0; i < d->plan->unknown_count; i++)
      d->trial[i] = within(d->plan, i, d->z[i] + share * d->direction[i]);
    carom_status status = evaluate(d, d->trial, &loss, d->trial_g, error);
    if (status != CAROM_OK) return status;
    *done = isfinite(loss);
  }
  if (*done) accept(d, loss);
  return CAROM_OK;
}

/* ---- gradient descent and AdamW -------------------------------------------------------------- */

static carom_status descend(descent *d, int iteration, bool *done, double *rate,
                            carom_error *error) {
  *rate = scheduled_rate(d->options, iteration);
  for (int i = 0; i < d->plan->unknown_count; i++)
    d->direction[i] = -*rate * d->g[i] / d->plan->measure[i];
  return take_step(d, done, error);
}

static carom_status adapt(descent *d, adamw *state, int iteration, bool *done, double *rate,
                          carom_error *error) {
  const carom_plan_options *o = d->options;
  *rate = scheduled_rate(o, iteration);
  const adamw_options options = {.rate = *rate,
                                 .beta1 = o->beta1,
                                 .beta2 = o->beta2,
                                 .epsilon = o->epsilon,
                                 .weight_decay = o->weight_decay};
  vector_copy(d->trial, d->z, d->plan->unknown_count);
  adamw_step(state, &options, d->g, d->trial);
  for (int i = 0; i < d->plan->unknown_count; i++) d->direction[i] = d->trial[i] - d->z[i];
  return take_step(d, done, error);
}

/* ---- L-BFGS ---------------------------------------------------------------------------------- */

/* direction = -H g by the two-loop recursion (Nocedal), H_0 = gamma / w. Numbers held at a bound stay. */
static void quasi_newton(descent *d) {
  const int n = d->plan->unknown_count, memory = d->options->memory;
  double alpha[1000], gamma = 1;
  for (int i = 0; i < n; i++) d->direction[i] = is_held(d, i) ? 0 : -d->g[i];
  for (int k = 0; k < d->pairs; k++) {
    const int p = (d->newest - k + memory) % memory;
    const double *s = d->s + (size_t)p * (size_t)n, *y = d->y + (size_t)p * (size_t)n;
    alpha[k] = d->rho[p] * vector_dot(s, d->direction, n);
    for (int i = 0; i < n; i++) d->direction[i] -= alpha[k] * y[i];
  }
  if (d->pairs > 0) {
    const double *y = d->y + (size_t)d->newest * (size_t)n;
    double square = 0;
    for (int i = 0; i < n; i++) square += y[i] * y[i] / d->plan->measure[i];
    gamma = 1 / (d->rho[d->newest] * square);
  }
  for (int i = 0; i < n; i++) d->direction[i] *= gamma / d->plan->measure[i];
  for (int k = d->pairs - 1; k >= 0; k--) {
    const int p = (d->newest - k + memory) % memory;
    const double *s = d->s + (size_t)p * (size_t)n, *y = d->y + (size_t)p * (size_t)n;
    const double beta = d->rho[p] * vector_dot(y, d->direction, n);
    for (int i = 0; i < n; i++) d->direction[i] += (alpha[k] - beta) * s[i];
  }
  for (int i = 0; i < n; i++)
    if (is_held(d, i)) d->direction[i] = 0;
}

/* Keeps the pair of the step from z to trial, if the curvature along it is positive. */
static void keep_pair(descent *d) {
  const int n = d->plan->unknown_count,
            next = d->pairs > 0 ? (d->newest + 1) % d->options->memory : 0;
  double *s = d->s + (size_t)next * (size_t)n, *y = d->y + (size_t)next * (size_t)n;
  for (int i = 0; i < n; i++) s[i] = d->trial[i] - d->z[i], y[i] = d->trial_g[i] - d->g[i];
  const double product = vector_dot(s, y, n);
  if (!(product > 1e-12 * sqrt(vector_dot(s, s, n) * vector_dot(y, y, n)))) return;
  d->rho[next] = 1 / product;
  d->newest = next;
  if (d->pairs < d->options->memory) d->pairs++;
}

/* Line search for the weak Wolfe conditions by bisection (Lewis and Overton), which holds where the loss
 * has kinks and jumps. *done is false if no step lowers the loss. */
static carom_status search_line(descent *d, double first, bool *done, double *rate,
                                carom_error *error) {
  enum { UNBOUNDED = 0 };
  const double decrease = 1e-4, curvature = 0.9;
  const int n = d->plan->unknown_count;
  double low = 0, high = UNBOUNDED, t = first, found = 0;
  const double slope = vector_dot(d->direction, d->g, n);
  *done = false;
  if (!(slope < 0)) return CAROM_OK;
  for (int k = 0; k < MOST_TRIALS; k++) {
    double loss;
    for (int i = 0; i < n; i++) d->trial[i] = within(d->plan, i, d->z[i] + t * d->direction[i]);
    carom_status status = evaluate(d, d->trial, &loss, d->trial_g, error);
    if (status != CAROM_OK) return status;
    // a motion that meets less of what the objective asks for is no progress
    const bool lower = loss <= d->loss + decrease * t * slope && loss < d->loss &&
                       d->attempt->missing <= d->missing;
    if (!lower) {
      high = t;
    } else if (vector_dot(d->direction, d->trial_g, n) < curvature * slope && k + 1 < MOST_TRIALS) {
      low = found = t;
    } else {
      *done = true;
      *rate = t;
      keep_pair(d);
      accept(d, loss);
      return CAROM_OK;
    }
    if (high == UNBOUNDED)
      t *= 2;
    else if (high - low > 1e-14 * high)
      t = (low + high) / 2;
    else
      break;
  }
  // a step that lowers the loss, though it is still steep there, is one
  if (found == 0) return CAROM_OK;
  double loss;
  for (int i = 0; i < n; i++) d->trial[i] = within(d->plan, i, d->z[i] + found * d->direction[i]);
  carom_status status = evaluate(d, d->trial, &loss, d->trial_g, error);
  if (status != CAROM_OK || !(loss < d->loss)) return status;
  *done = true;
  *rate = found;
  keep_pair(d);
  accept(d, loss);
  return CAROM_OK;
}

static carom_status quasi_newton_step(descent *d, bool *done, double *rate, carom_error *error) {
  const int n = d->plan->unknown_count;
  quasi_newton(d);
  double length = 0;
  for (int i = 0; i < n; i++) length += d->direction[i] * d->direction[i] * d->plan->measure[i];
  length = sqrt(length);
  const double first = d->pairs > 0 || length == 0 ? 1 : d->options->learning_rate / length;
  carom_status status = search_line(d, first, done, rate, error);
  if (status != CAROM_OK || *done || d->pairs == 0) return status;
  // what is remembered misleads: begin anew along the gradient
  d->pairs = 0;
  return quasi_newton_step(d, done, rate, error);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool is_over(descent *d) {
  const carom_plan_options *o = d->options;
  if (o->goal > 0 && d->loss < o->goal && d->missing == 0) {
    d->outcome.stop = CAROM_PLAN_GOAL;
    return true;
  }
  if (d->norms[d->outcome.iterations] > o->gradient_tolerance) return false;
  if (o->gradient_tolerance == 0 && d->norms[d->outcome.iterations] > 0) return false;
  d->outcome.stop = CAROM_PLAN_GRADIENT;
  return true;
}

static carom_status iterate(descent *d, adamw *state, carom_error *error) {
  for (int k = 0; k < d->options->iterations; k++) {
    bool done = false;
    double rate = 0;
    if (is_over(d)) return CAROM_OK;
    carom_status status =
        d->options->optimizer == CAROM_LBFGS   ? quasi_newton_step(d, &done, &rate, error)
        : d->options->optimizer == CAROM_ADAMW ? adapt(d, state, k, &done, &rate, error)
                                               : descend(d, k, &done, &rate, error);
    if (status != CAROM_OK) return status;
    if (!done) {
      d->outcome.stop = CAROM_PLAN_NO_DESCENT;
      return CAROM_OK;
    }
    record(d, k + 1, rate);
    if (d->report != NULL && !d->report(d->user, k + 1, d->loss)) {
      d->outcome.stop = CAROM_PLAN_INTERRUPTED;
      return CAROM_OK;
    }
  }
  d->outcome.stop = CAROM_PLAN_ITERATIONS;
  is_over(d);
  return CAROM_OK;
}

carom_status descent_run(descent *d, const double *start, carom_error *error) {
  d->outcome = (carom_plan_start){0};
  d->pairs = 0;
  vector_copy(d->z, start, d->plan->unknown_count);
  carom_status status = attempt_run(d->attempt, d->z, d->g, error);
  d->outcome.evaluations = 1;
  if (status != CAROM_OK) return status;
  d->loss = d->outcome.first_loss = d->attempt->loss;
  d->missing = d->attempt->missing;
  record(d, 0, 0);
  adamw state = {0};
  if (!adamw_init(&state, d->plan->unknown_count))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the optimiser");
  status = iterate(d, &state, error);
  adamw_free(&state);
  return status;
}
