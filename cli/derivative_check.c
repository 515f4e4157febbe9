#include "cli/derivative_check.h"

#include "cli/progress.h"
#include "cli/stencil.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 3 };

/* First step in units of a segment's scale, and how much the next level is smaller. */
static const double FIRST_STEP = 1e-4, LEVEL_FACTOR = 0.125;
/* Derivatives below this part of the typical one are judged absolutely. */
static const double FLOOR = 1e-3;
/* Rounding errors of a difference are not seen where derivatives are this many times larger. */
static const double ABOVE_NOISE = 4e6;

/* ---- random numbers ---- */

/* A stream of its own for each purpose: the state of erand48. */
typedef struct stream {
  unsigned short state[3];
} stream;

static stream stream_begin(uint64_t seed, uint64_t purpose) {
  const uint64_t mixed = (seed + 1) * 0x9E3779B97F4A7C15u + purpose * 0xBF58476D1CE4E5B9u;
  stream r = {{(unsigned short)(mixed >> 16), (unsigned short)(mixed >> 32),
               (unsigned short)(mixed >> 48)}};
  erand48(r.state);
  return r;
}

// standard normal (Box and Muller)
static double stream_normal(stream *r) {
  const double radius = sqrt(-2.0 * log(1.0 - erand48(r->state)));
  return radius * cos(2.0 * M_PI * erand48(r->state));
}

static int stream_below(stream *r, int bound) { return (int)(erand48(r->state) * bound); }

/* ---- chunks ---- */

static carom_status chunks_allocate(chunk_set *chunks, int capacity, size_t state,
                                    carom_error *error) {
  chunks->count = 0;
  chunks->x0 = malloc(sizeof(double) * (size_t)capacity * state);
  chunks->v0 = malloc(sizeof(double) * (size_t)capacity * state);
  if (chunks->x0 != NULL && chunks->v0 != NULL) return CAROM_OK;
  return carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d chunks", capacity);
}

void chunks_free(chunk_set *chunks) {
  free(chunks->x0);
  free(chunks->v0);
  *chunks = (chunk_set){0};
}

// a random chunk of one trajectory with or without a contact; -1 if there is none
static int pick_chunk(const uint8_t *contact, int state_count, bool with_contact, stream *r) {
  int chosen = -1, found = 0;
  for (int start = 0; start + CHUNK_STEPS < state_count; start++) {
    bool touches = false;
    for (int k = 1; k < CHUNK_STATES; k++) touches = touches || contact[start + k] != 0;
    if (contact[start] != 0 || touches != with_contact) continue;
    found++;
    if (stream_below(r, found) == 0) chosen = start;
  }
  return chosen;
}

carom_status chunks_collect(const setup *s, const double *x, const double *v,
                            const uint8_t *contact, int state_count, uint64_t seed,
                            chunk_set *without, chunk_set *with, carom_error *error) {
  size_t state = state_size(s), bytes = state * sizeof(double);
  chunk_set *sets[] = {without, with};
  for (int kind = 0; kind < 2; kind++) {
    carom_status status = chunks_allocate(sets[kind], s->batch, state, error);
    if (status != CAROM_OK) return status;
  }
  for (int sample = 0; sample < s->batch; sample++) {
    size_t first = (size_t)sample * (size_t)state_count;
    stream r = stream_begin(seed, 2 + (uint64_t)sample);
    for (int kind = 0; kind < 2; kind++) {
      chunk_set *set = sets[kind];
      int start = pick_chunk(contact + first, state_count, kind == 1, &r);
      if (start < 0) continue;
      size_t to = (size_t)set->count++ * state, from = (first + (size_t)start) * state;
      memcpy(set->x0 + to, x + from, bytes);
      memcpy(set->v0 + to, v + from, bytes);
    }
  }
  return CAROM_OK;
}

/* ---- the function and its derivative ---- */

/* One set of chunks under one set of options. */
typedef struct checker {
  const setup *s;
  const chunk_set *chunks;
  carom_rollout_options options;
  size_t state;   /* doubles in a state */
  size_t control; /* doubles in the controls of a chunk, or 0 */
  int theta_count;
  double *wx, *wv;         /* weights of the functional, [count][CHUNK_STATES][state] */
  carom_rollout *rollout;  /* of all chunks */
  uint8_t *base_flags;     /* of the unperturbed run */
  double *base;            /* [count] functional of the unperturbed run */
  double *magnitude;       /* [count] size of its terms: what rounding is relative to */
  double *x0, *v0, *theta; /* perturbed inputs */
  double *base_u, *u;      /* [count][control]: of the unperturbed run, perturbed */
  double *x0_bar, *v0_bar; /* [count][state] */
  double *u_bar;           /* [count][control] */
  double *theta_bar;       /* [count][theta_count] */
  double *direction;       /* [count][state], [count][control] or [segment] */
  double *levels;          /* [2 STENCIL_STEPS][count] of a stencil */
  bool *done, *same_flags; /* [count] of a direction */
  double *numbers;         /* what all of these point into */
} checker;

/* Functional values of all chunks along a direction at one level of steps. */
typedef struct level_values {
  double h;
  double *plus[STENCIL_STEPS], *minus[STENCIL_STEPS]; /* [count] at h / 2^i */
  bool *same_flags;                                   /* [count] */
} level_values;

// the next `size` of the numbers
static double *take(double **numbers, size_t size) {
  double *taken = *numbers;
  *numbers += size;
  return taken;
}

static carom_status checker_allocate(checker *c, carom_error *error) {
  const size_t count = (size_t)c->chunks->count, states = count * c->state,
               all = states * CHUNK_STATES, theta = (size_t)c->theta_count,
               controls = count * c->control, direction = states + controls + theta;
  c->numbers = calloc(2 * all + 4 * states + 3 * controls + (2 + 2 * STENCIL_STEPS) * count +
                          theta + count * theta + direction,
                      sizeof(double));
  c->base_flags = calloc(count, CHUNK_STATES);
  c->done = calloc(2 * count, sizeof(bool));
  if (c->numbers == NULL || c->base_flags == NULL || c->done == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory to check %zu chunks", count);
  double *next = c->numbers;
  c->wx = take(&next, all);
  c->wv = take(&next, all);
  double **const starts[] = {&c->x0, &c->v0, &c->x0_bar, &c->v0_bar};
  for (int k = 0; k < 4; k++) *starts[k] = take(&next, states);
  double **const forces[] = {&c->base_u, &c->u, &c->u_bar};
  for (int k = 0; k < 3; k++) *forces[k] = take(&next, controls);
  c->base = take(&next, count);
  c->magnitude = take(&next, count);
  c->levels = take(&next, 2 * STENCIL_STEPS * count);
  c->theta = take(&next, theta);
  c->theta_bar = take(&next, count * theta);
  c->direction = take(&next, direction);
  c->same_flags = c->done + count;
  return CAROM_OK;
}

static double root_mean_square(const double *values, int count) {
  double sum = 0.0;
  for (int k = 0; k < count; k++) sum += values[k] * values[k];
  return count > 0 ? sqrt(sum / count) : 0.0;
}

// how large a control is moderate: over a chunk it changes velocities by a tenth of what they are
static double control_scale(const checker *c, const carom_control_info *info) {
  const carom_system *system = c->s->system;
  const int d = c->s->info.dimension;
  const double speed = root_mean_square(c->chunks->v0, c->chunks->count * (int)c->state);
  const double *log_mass = c->s->theta + carom_parameters_segment(system, CAROM_LOG_MASS).offset;
  const double *log_moment =
      c->s->theta + carom_parameters_segment(system, CAROM_LOG_MOMENT).offset + info->body * d;
  double arm = 1.0, moment = 0.0;
  for (int k = 0; k < d; k++) moment += exp(log_moment[k]);
  if (info->kind == CAROM_CONTROL_TORQUE) arm = sqrt(moment);
  return 0.1 * fmax(speed, 0.1) * exp(log_mass[info->body]) * arm / (CHUNK_STEPS * c->options.dt);
}

static void draw_controls(checker *c, uint64_t seed) {
  stream r = stream_begin(seed, UINT32_MAX);
  const size_t size = (size_t)c->s->info.control_size;
  for (int k = 0; k < c->s->info.control_count; k++) {
    const carom_control_info info = carom_system_control(c->s->system, k);
    const double scale = control_scale(c, &info);
    for (size_t step = 0; step < (size_t)c->chunks->count * CHUNK_STEPS; step++)
      for (int i = 0; i < info.size; i++)
        c->base_u[step * size + (size_t)(info.first + i)] = scale * stream_normal(&r);
  }
}

static carom_status checker_init(checker *c, const setup *s, const chunk_set *chunks, uint64_t seed,
                                 carom_error *error) {
  *c = (checker){.s = s, .chunks = chunks, .options = s->options, .state = state_size(s)};
  c->options.steps = CHUNK_STEPS;
  c->options.progress = NULL;
  c->theta_count = carom_parameters_count(s->system);
  c->control = (size_t)CHUNK_STEPS * (size_t)s->info.control_size;
  carom_status status = checker_allocate(c, error);
  if (status == CAROM_OK) draw_controls(c, seed);
  stream r = stream_begin(seed, 0);
  for (size_t k = 0; status == CAROM_OK && k < (size_t)chunks->count * CHUNK_STATES * c->state;
       k++) {
    c->wx[k] = stream_normal(&r);
    c->wv[k] = stream_normal(&r);
  }
  return status;
}

static void checker_free(checker *c) {
  carom_rollout_destroy(c->rollout);
  free(c->numbers);
  free(c->base_flags);
  free(c->done);
}

// a run under controls, where the scene has some
static carom_status run_controlled(const checker *c, carom_rollout *rollout, const double *theta,
                                   const double *x0, const double *v0, const double *u,
                                   carom_error *error) {
  carom_status status = CAROM_OK;
  if (c->control > 0) status = carom_rollout_set_controls(rollout, u, error);
  return status == CAROM_OK ? carom_rollout_run(rollout, theta, x0, v0, error) : status;
}

// simulates all chunks from c->x0, c->v0, c->u with c->theta and evaluates the functional of each
static carom_status evaluate(checker *c, double *values, carom_error *error) {
  carom_status status = run_controlled(c, c->rollout, c->theta, c->x0, c->v0, c->u, error);
  if (status != CAROM_OK) return status;
  const double *x = carom_rollout_positions(c->rollout);
  const double *v = carom_rollout_velocities(c->rollout);
  size_t each = CHUNK_STATES * c->state;
  for (int k = 0; k < c->chunks->count; k++) {
    double sum = 0.0, size = 0.0;
    for (size_t i = (size_t)k * each; i < (size_t)(k + 1) * each; i++) {
      double from_x = c->wx[i] * x[i], from_v = c->wv[i] * v[i];
      sum += from_x + from_v;
      size += from_x * from_x + from_v * from_v;
    }
    values[k] = sum;
    c->magnitude[k] = sqrt(size);
  }
  return CAROM_OK;
}

// puts the unperturbed inputs in place
static void reset_inputs(checker *c) {
  size_t bytes = sizeof(double) * (size_t)c->chunks->count * c->state;
  memcpy(c->x0, c->chunks->x0, bytes);
  memcpy(c->v0, c->chunks->v0, bytes);
  memcpy(c->u, c->base_u, sizeof(double) * (size_t)c->chunks->count * c->control);
  memcpy(c->theta, c->s->theta, sizeof(double) * (size_t)c->theta_count);
}

// one chunk at a time, because the derivative by theta is a sum over the batch
static carom_status differentiate(checker *c, carom_error *error) {
  carom_rollout *rollout;
  carom_status status = carom_rollout_create(c->s->system, &c->options, 1, &rollout, error);
  if (status != CAROM_OK) return status;
  for (int k = 0; status == CAROM_OK && k < c->chunks->count; k++) {
    size_t at = (size_t)k * c->state, all = at * CHUNK_STATES, from = (size_t)k * c->control;
    status = run_controlled(c, rollout, c->s->theta, c->chunks->x0 + at, c->chunks->v0 + at,
                            c->base_u + from, error);
    if (status == CAROM_OK) {
      status = carom_rollout_vjp(rollout, c->wx + all, c->wv + all, c->x0_bar + at, c->v0_bar + at,
                                 c->theta_bar + (size_t)k * (size_t)c->theta_count, error);
    }
    if (status == CAROM_OK && c->control > 0)
      memcpy(c->u_bar + from, carom_rollout_controls_bar(rollout), sizeof(double) * c->control);
  }
  carom_rollout_destroy(rollout);
  return status;
}

static carom_status run_base(checker *c, carom_report *report, carom_error *error) {
  reset_inputs(c);
  carom_status status =
      carom_rollout_create(c->s->system, &c->options, c->chunks->count, &c->rollout, error);
  if (status == CAROM_OK) status = evaluate(c, c->base, error);
  if (status != CAROM_OK) return status;
  *report = carom_rollout_report(c->rollout);
  memcpy(c->base_flags, carom_rollout_contacts(c->rollout),
         (size_t)c->chunks->count * CHUNK_STATES);
  return differentiate(c, error);
}

/* ---- segments ---- */

const char *check_segment_name(const carom_system *system, int segment) {
  if (segment == CHECK_X0) return "initial x";
  if (segment == CHECK_V0) return "initial v";
  if (segment == CHECK_U) return "controls";
  return carom_parameters_segment(system, (carom_segment)(segment - CHECK_THETA)).name;
}

static int segment_size(const checker *c, int segment) {
  if (segment == CHECK_U) return (int)c->control;
  if (segment < CHECK_THETA) return (int)c->state;
  return carom_parameters_segment(c->s->system, (carom_segment)(segment - CHECK_THETA)).size;
}

// the derivative of chunk k by a segment
static const double *segment_bar(const checker *c, int segment, int k) {
  if (segment == CHECK_X0) return c->x0_bar + (size_t)k * c->state;
  if (segment == CHECK_V0) return c->v0_bar + (size_t)k * c->state;
  if (segment == CHECK_U) return c->u_bar + (size_t)k * c->control;
  carom_segment id = (carom_segment)(segment - CHECK_THETA);
  return c->theta_bar + (size_t)k * (size_t)c->theta_count +
         carom_parameters_segment(c->s->system, id).offset;
}

// how large a step is natural for a segment: lengths are small, stiffnesses large
static double segment_scale(const checker *c, int segment) {
  if (segment == CHECK_X0) return 1.0;
  if (segment == CHECK_V0) {
    return 10.0 * fmax(1.0, root_mean_square(c->chunks->v0, c->chunks->count * (int)c->state));
  }
  if (segment == CHECK_U)
    return 100.0 * root_mean_square(c->base_u, c->chunks->count * (int)c->control);
  const carom_segment id = (carom_segment)(segment - CHECK_THETA);
  const carom_segment_info info = carom_parameters_segment(c->s->system, id);
  double size = root_mean_square(c->s->theta + info.offset, info.size);
  // epsilon must stay positive
  if (id == CAROM_REGULARIZER) return fmin(1.0, 1e3 * size);
  if (id == CAROM_RADIUS || id == CAROM_OFFSET || id == CAROM_CORNER) return 1.0; // as positions
  return 40.0 * (id == CAROM_STIFFNESS ? fmax(1.0, size) : 1.0);
}

// inputs moved by `step` along `direction`: of every chunk its own for states and controls, one for theta
static void perturb(checker *c, int segment, const double *direction, double step) {
  reset_inputs(c);
  int count = c->chunks->count * segment_size(c, segment);
  double *moved = segment == CHECK_X0 ? c->x0 : segment == CHECK_V0 ? c->v0 : c->u;
  if (segment >= CHECK_THETA) {
    const carom_segment_info info =
        carom_parameters_segment(c->s->system, (carom_segment)(segment - CHECK_THETA));
    moved = c->theta + info.offset;
    count = info.size;
  }
  for (int k = 0; k < count; k++) moved[k] += step * direction[k];
}

/* ---- differences ---- */

static carom_status evaluate_at(checker *c, int segment, const double *direction, double step,
                                double *values, bool *same_flags, carom_error *error) {
  perturb(c, segment, direction, step);
  carom_status status = evaluate(c, values, error);
  if (status != CAROM_OK) return status;
  const uint8_t *flags = carom_rollout_contacts(c->rollout);
  for (int k = 0; k < c->chunks->count; k++) {
    const size_t at = (size_t)k * CHUNK_STATES;
    if (memcmp(flags + at, c->base_flags + at, CHUNK_STATES) != 0) same_flags[k] = false;
  }
  return CAROM_OK;
}

static carom_status fill_level(checker *c, int segment, const double *direction, level_values *st,
                               carom_error *error) {
  for (int k = 0; k < c->chunks->count; k++) st->same_flags[k] = true;
  carom_status status = CAROM_OK;
  for (int i = 0; status == CAROM_OK && i < STENCIL_STEPS; i++) {
    double step = st->h / (1 << i);
    status = evaluate_at(c, segment, direction, step, st->plus[i], st->same_flags, error);
    if (status != CAROM_OK) return status;
    status = evaluate_at(c, segment, direction, -step, st->minus[i], st->same_flags, error);
  }
  return status;
}

// the derivative of chunk k; false where the function is not smooth there
static bool difference(const checker *c, const level_values *level, int k, double least,
                       double noise, double *value) {
  if (!level->same_flags[k]) return false;
  stencil st = {.h = level->h, .base = c->base[k]};
  for (int i = 0; i < STENCIL_STEPS; i++) {
    st.plus[i] = level->plus[i][k];
    st.minus[i] = level->minus[i][k];
  }
  return stencil_derivative(&st, least, noise, value);
}

/* Scratch of one segment. */
typedef struct segment_work {
  int segment, size;
  double typical;    /* directional derivative of ordinary size */
  double *direction; /* [count][size] or [size] */
  bool *done;        /* [count] */
  level_values st;
} segment_work;

static void draw_direction(const checker *c, segment_work *w, stream *r) {
  int count = w->segment < CHECK_THETA ? c->chunks->count * w->size : w->size;
  for (int k = 0; k < count; k++) w->direction[k] = stream_normal(r);
}

// product of the derivative of chunk k with the direction
static double directional(const checker *c, const segment_work *w, int k) {
  const double *bar = segment_bar(c, w->segment, k);
  const double *direction =
      w->segment < CHECK_THETA ? w->direction + (size_t)k * (size_t)w->size : w->direction;
  double sum = 0.0;
  for (int i = 0; i < w->size; i++) sum += bar[i] * direction[i];
  return sum;
}

// root mean square over the chunks of the norm of the derivative: directions are standard normal
static double typical_derivative(const checker *c, const segment_work *w) {
  double sum = 0.0;
  for (int k = 0; k < c->chunks->count; k++) {
    const double *bar = segment_bar(c, w->segment, k);
    for (int i = 0; i < w->size; i++) sum += bar[i] * bar[i];
  }
  return c->chunks->count > 0 ? sqrt(sum / c->chunks->count) : 0.0;
}

// takes up the chunks that this level of steps settles
static void judge_level(const checker *c, segment_work *w, check_result *result) {
  for (int k = 0; k < c->chunks->count; k++) {
    if (w->done[k]) continue;
    // rounding, somewhat amplified by contacts, over the smallest step bounds what can be asked
    double noise = 32.0 * DBL_EPSILON * c->magnitude[k] / (w->st.h / 4.0);
    double floor_value = fmax(FLOOR * w->typical, ABOVE_NOISE * noise);
    double fd, vjp = directional(c, w, k);
    if (!difference(c, &w->st, k, floor_value, noise, &fd)) continue;
    w->done[k] = true;
    result->used++;
    if (fd != 0.0 || vjp != 0.0) result->no_effect = false;
    double error = fabs(fd - vjp) / fmax(fmax(fabs(fd), fabs(vjp)), floor_value);
    // a NaN must not pass for small
    if (!(error <= result->worst)) result->worst = isnan(error) ? INFINITY : error;
  }
}

static bool all_done(const checker *c, const segment_work *w) {
  for (int k = 0; k < c->chunks->count; k++) {
    if (!w->done[k]) return false;
  }
  return true;
}

static carom_status check_direction(checker *c, segment_work *w, stream *r, check_result *result,
                                    carom_error *error) {
  draw_direction(c, w, r);
  for (int k = 0; k < c->chunks->count; k++) w->done[k] = false;
  result->total += c->chunks->count;
  w->st.h = FIRST_STEP * segment_scale(c, w->segment);
  carom_status status = CAROM_OK;
  for (int level = 0; level < LEVELS && !all_done(c, w); level++) {
    if (interrupted()) return carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
    status = fill_level(c, w->segment, w->direction, &w->st, error);
    if (status != CAROM_OK) return status;
    judge_level(c, w, result);
    w->st.h *= LEVEL_FACTOR;
  }
  return status;
}

static carom_status check_segment(checker *c, int segment, int directions, stream *r,
                                  check_result *result, carom_error *error) {
  const size_t count = (size_t)c->chunks->count;
  const int size = segment_size(c, segment);
  *result = (check_result){.segment_size = size, .no_effect = true};
  segment_work w = {.segment = segment,
                    .size = size,
                    .direction = c->direction,
                    .done = c->done,
                    .st.same_flags = c->same_flags};
  for (int i = 0; i < STENCIL_STEPS; i++) {
    w.st.plus[i] = c->levels + (size_t)(2 * i) * count;
    w.st.minus[i] = c->levels + (size_t)(2 * i + 1) * count;
  }
  w.typical = typical_derivative(c, &w);
  carom_status status = CAROM_OK;
  for (int d = 0; status == CAROM_OK && size > 0 && d < directions; d++) {
    status = check_direction(c, &w, r, result, error);
  }
  return status;
}

carom_status derivative_check(const setup *s, const chunk_set *chunks, int directions,
                              uint64_t seed, check_result *results, carom_report *report,
                              carom_error *error) {
  memset(results, 0, sizeof *results * CHECK_SEGMENT_COUNT);
  *report = (carom_report){0};
  if (chunks->count == 0) return CAROM_OK;
  if ((double)chunks->count * CHUNK_STATES * (double)state_size(s) > INT_MAX) {
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "%d chunks of this scene are too many at once; take fewer --sample",
                           chunks->count);
  }
  checker c;
  carom_status status = checker_init(&c, s, chunks, seed, error);
  if (status == CAROM_OK) status = run_base(&c, report, error);
  stream r = stream_begin(seed, 1);
  for (int segment = 0; status == CAROM_OK && segment < CHECK_SEGMENT_COUNT; segment++) {
    status = check_segment(&c, segment, directions, &r, &results[segment], error);
  }
  checker_free(&c);
  return status;
}
