#include "fit/shooting.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "rollout/rollout.h"
#include "system/system.h"

enum { MOST_BATCH = 256, FEW = 4 /* samples of the rollout for trials that few pieces feel */ };

/* ---- pieces and memory ----------------------------------------------------------------------- */

static int pieces_of(int states, int length) {
  int count = (states - 1 + length / 2) / length;
  return count > 1 ? count : 1;
}

// pieces of runs, evenly; as many as there are
static int lay_pieces(shooting *sh, int length) {
  int at = 0;
  for (int r = 0; r < sh->run_count; r++) {
    int count = sh->run_states[r], pieces = pieces_of(count, length);
    sh->run_piece[r] = at;
    for (int k = 0; k < pieces; k++, at++) {
      int64_t begin = (int64_t)count * k / pieces, end = (int64_t)count * (k + 1) / pieces;
      sh->pieces[at] =
          (piece){r, sh->run_first[r] + (int)begin, (int)(end - begin), k == pieces - 1};
    }
  }
  sh->run_piece[sh->run_count] = at;
  return at;
}

static bool cut(shooting *sh, int length) {
  for (int r = 0; r < sh->run_count; r++) sh->piece_count += pieces_of(sh->run_states[r], length);
  sh->pieces = size_allocate_zero((size_t)sh->piece_count, sizeof *sh->pieces);
  sh->run_piece = size_allocate((size_t)sh->run_count + 1, sizeof(int));
  if (sh->pieces == NULL || sh->run_piece == NULL) return false;
  lay_pieces(sh, length);
  return true;
}

/* How far a state is from time steps in which a contact acted, up to `most`. */
static int clearance(const shooting *sh, int state, int begin, int end, int most) {
  for (int far = 0; far < most; far++) {
    int before = state - far, after = state + 1 + far; // steps that lead to these
    if ((before > begin && sh->struck[before]) || (after < end && sh->struck[after])) return far;
  }
  return most;
}

carom_status shooting_recut(shooting *sh, int length, carom_error *error) {
  enum { ENOUGH = 4 };
  sh->piece_count = lay_pieces(sh, length);
  for (int r = 0; r < sh->run_count; r++) {
    int pieces = sh->run_piece[r + 1] - sh->run_piece[r];
    piece *all = sh->pieces + sh->run_piece[r];
    int begin = sh->run_first[r], end = begin + sh->run_states[r],
        reach = (end - begin) / pieces / 3;
    for (int k = 1; k < pieces; k++) {
      int middle = all[k].first, best = middle, most = -1;
      for (int off = 0; off <= reach; off++)
        for (int side = -1; side <= 1; side += 2) {
          int clear = clearance(sh, middle + side * off, begin, end, ENOUGH);
          if (clear <= most) continue;
          most = clear;
          best = middle + side * off;
        }
      all[k].first = best;
      all[k - 1].count = best - all[k - 1].first;
    }
    all[pieces - 1].count = end - all[pieces - 1].first;
  }
  // no samples that nobody needs
  int batch = sh->piece_count < MOST_BATCH ? sh->piece_count : MOST_BATCH;
  if (batch < FEW) batch = FEW;
  if (batch == sh->batch) return CAROM_OK;
  carom_rollout_destroy(sh->many);
  sh->batch = batch;
  return carom_rollout_create(sh->system, &sh->step, batch, &sh->many, error);
}

// bodies that are joined, or one body, are on one side of an impact
static void set_units(shooting *sh) {
  const carom_system *s = sh->system;
  int at = 0, d = s->dimension, turns = d == 2 ? 1 : 3;
  for (int b = 0; b < s->body_count; b++) {
    int unit = 0, numbers = 2 * d + (s->bodies[b].rigid ? 2 * turns : 0);
    for (int a = 0; a < s->assembly_count; a++)
      for (int k = 0; k < s->assemblies[a].point_count; k++)
        if (s->assemblies[a].points[k] == s->bodies[b].first_point) unit = a;
    for (int i = 0; i < numbers; i++) sh->unit[at++] = unit;
  }
}

/* Places of the normals of all pieces in one array. */
static bool place_normals(shooting *sh) {
  size_t f = (size_t)sh->f, p = (size_t)sh->p, row = 2 * (size_t)sh->D;
  size_t each =
      f * f + f * p + p * p + f + p + row + (f + p) * row + f * row + CAROM_CHANNEL_COUNT * f * f;
  sh->normals = size_allocate_zero((size_t)sh->piece_count, sizeof *sh->normals);
  sh->normal_memory =
      size_allocate_zero(size_multiply((size_t)sh->piece_count, each), sizeof(double));
  if (sh->normals == NULL || sh->normal_memory == NULL) return false;
  double *at = sh->normal_memory;
  for (int i = 0; i < sh->piece_count; i++) {
    piece_normal *n = &sh->normals[i];
    n->ss = at, at += f * f;
    n->sq = at, at += f * p;
    n->qq = at, at += p * p;
    n->gs = at, at += f;
    n->gq = at, at += p;
    n->end = at, at += row;
    n->end_by = at, at += (f + p) * row;
    n->start_by = at, at += f * row;
    n->by_channel = at, at += CAROM_CHANNEL_COUNT * f * f;
  }
  return true;
}

/* Doubles of the scratch: states, cotangents, rows of Jacobians. */
static size_t work_size(const shooting *sh) {
  size_t B = (size_t)sh->batch, D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  size_t C = f + p, m = (size_t)sh->measure.count;
  return B * 2 * D             // x0, v0
         + B * 4 * D           // x_bar, v_bar
         + B * 2 * D           // x0_bar, v0_bar
         + B * f * 2 * D       // L of each sample
         + B * f * (2 * D + p) // rows
         + B * C * 2 * D       // Y
         + (sh->one != NULL ? B * (2 * D + BRANCH_SIDES * (1 + C) * 2 * D)
                            : 0) // before, other, other_Y
         + B * (1 + C) * m       // r, J of each sample
         + f * 2 * D + f * C + f * (2 * D + p) + 4 * m + C * m + 6 * D +
         (size_t)sh->system->parameter_count;
}

carom_status shooting_init(shooting *sh, const carom_system *system, const unknown_list *unknowns,
                           const carom_rollout_options *simulation, const double *data,
                           const double *clean, int run_count, const int *first, const int *count,
                           int length, carom_error *error) {
  *sh = (shooting){.system = system,
                   .unknowns = unknowns,
                   .D = system->coordinate_count,
                   .p = unknowns->count,
                   .dt = simulation->dt,
                   .data = data,
                   .clean = clean,
                   .run_count = run_count,
                   .run_first = first,
                   .run_states = count,
                   .horizon = INT_MAX,
                   .noise = {1, 1, 1, 1}};
  bool ready = tangent_space_init(&sh->tangent, system) && measure_init(&sh->measure, system) &&
               cut(sh, length);
  sh->f = sh->tangent.size;
  sh->plain = sh->measure;
  sh->plain.centre = NULL;
  if (ready) {
    sh->batch = sh->piece_count < MOST_BATCH ? sh->piece_count : MOST_BATCH;
    if (sh->batch < FEW) sh->batch = FEW;
    size_t pieces = (size_t)sh->piece_count;
    sh->theta = size_allocate((size_t)system->parameter_count, sizeof(double));
    sh->piece_cost = size_allocate_zero(pieces, sizeof(double));
    sh->piece_square = size_allocate_zero(pieces, sizeof(double));
    sh->piece_outliers = size_allocate_zero(pieces, sizeof(int));
    sh->piece_channel = size_allocate_zero(pieces * CAROM_CHANNEL_COUNT, sizeof(double));
    sh->felt = size_allocate_zero(size_multiply(pieces, (size_t)system->contact_count), 1);
    int last = run_count - 1;
    sh->struck = size_allocate_zero((size_t)(first[last] + count[last]), 1);
    sh->unit = size_allocate((size_t)sh->measure.count, sizeof(int));
    ready = place_normals(sh) && sh->struck != NULL && sh->unit != NULL && sh->theta != NULL &&
            sh->piece_cost != NULL && sh->piece_square != NULL && sh->piece_outliers != NULL &&
            sh->piece_channel != NULL && sh->felt != NULL;
  }
  if (!ready)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d pieces of trajectories",
                     sh->piece_count);
  carom_rollout_options one = *simulation;
  one.steps = 1;
  one.shard_size = 1;
  one.keep_impacts = true;
  one.progress = NULL;
  sh->step = one;
  carom_status status = carom_rollout_create(system, &one, sh->batch, &sh->many, error);
  one.threads = 1;
  if (status == CAROM_OK) status = carom_rollout_create(system, &one, FEW, &sh->few, error);
  if (status == CAROM_OK && one.contact_time == CAROM_CONTACT_TIME_EVENT)
    status = carom_rollout_create(system, &one, 1, &sh->one, error);
  if (status != CAROM_OK) return status;
  set_units(sh);
  sh->work = size_allocate_zero(work_size(sh), sizeof(double));
  if (!branch_flight_init(&sh->flight, system, &one) || sh->work == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d pieces of trajectories",
                     sh->piece_count);
  return CAROM_OK;
}

void shooting_free(shooting *sh) {
  carom_rollout_destroy(sh->many);
  carom_rollout_destroy(sh->few);
  carom_rollout_destroy(sh->one);
  branch_flight_free(&sh->flight);
  tangent_space_free(&sh->tangent);
  measure_free(&sh->measure);
  free(sh->pieces);
  free(sh->run_piece);
  free(sh->theta);
  free(sh->normals);
  free(sh->normal_memory);
  free(sh->piece_cost);
  free(sh->piece_square);
  free(sh->piece_outliers);
  free(sh->piece_channel);
  free(sh->felt);
  free(sh->struck);
  free(sh->unit);
  free(sh->work);
}

/* ---- one evaluation -------------------------------------------------------------------------- */

/* Views of the scratch and of what is being evaluated. */
typedef struct evaluation {
  shooting *sh;
  const double *q;
  carom_rollout *rollout;
  int batch; /* samples of it, */
  int count; /* and those of them that are pieces */
  int pieces[MOST_BATCH];
  bool derivatives;
  int columns; /* derivatives are taken by: f of a free first state, p unknowns */
  int first_q; /* column of the first unknown */
  double *x0, *v0, *x_bar, *v_bar, *x0_bar, *v0_bar;
  double *L;     /* [batch][f][2 D] */
  double *rows;  /* [batch][f][2 D + p] */
  double *Y;     /* [batch][columns][2 D] ds / d column */
  double *B;     /* [f][2 D] */
  double *Z;     /* [f][columns] */
  double *r, *J; /* [batch][numbers], [batch][columns][numbers] of the states to be compared */
  double *weight, *dr, *state;
  double *other_r, *other_J; /* [numbers], [columns][numbers] */

  /* where a state is beside an impact (fit/branch.h) */
  bool sided; /* it may be */
  int pending
      [MOST_BATCH]; /* state of the piece whose comparison waits for the next step; -1: none */
  bool struck[MOST_BATCH]; /* the last step had an impact */
  double *before;          /* [batch][2 D] states before the last step */
  double *other;           /* [batch][BRANCH_SIDES][2 D] */
  double *other_Y;         /* [batch][BRANCH_SIDES][columns][2 D] */
  double *side_rows;       /* [f][2 D + p] */
  double *state_bar, *start_bar, *theta_bar;
} evaluation;

static evaluation evaluation_make(shooting *sh, const double *q, bool derivatives) {
  size_t B = (size_t)sh->batch, D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  size_t C = f + p, m = (size_t)sh->measure.count;
  evaluation e = {.sh = sh,
                  .q = q,
                  .derivatives = derivatives,
                  .columns = sh->free_states ? (int)C : (int)p,
                  .first_q = sh->free_states ? (int)f : 0};
  double *at = sh->work;
  e.x0 = at, at += B * D;
  e.v0 = at, at += B * D;
  e.x_bar = at, at += B * 2 * D;
  e.v_bar = at, at += B * 2 * D;
  e.x0_bar = at, at += B * D;
  e.v0_bar = at, at += B * D;
  e.L = at, at += B * f * 2 * D;
  e.rows = at, at += B * f * (2 * D + p);
  e.Y = at, at += B * C * 2 * D;
  e.B = at, at += f * 2 * D;
  e.Z = at, at += f * C;
  e.r = at, at += B * m;
  e.J = at, at += B * C * m;
  e.other_r = at, at += m;
  e.other_J = at, at += C * m;
  e.weight = at, at += m;
  e.dr = at, at += m;
  e.state = at, at += 2 * D;
  e.sided = sh->one != NULL && sh->measured[CAROM_CHANNEL_VELOCITY];
  if (sh->one != NULL) {
    e.before = at, at += B * 2 * D;
    e.other = at, at += B * BRANCH_SIDES * 2 * D;
    e.other_Y = at, at += B * BRANCH_SIDES * C * 2 * D;
    mechanics_set_parameters(&sh->flight.mechanics, sh->theta);
  }
  e.side_rows = at, at += f * (2 * D + p);
  e.state_bar = at, at += 2 * D;
  e.start_bar = at, at += 2 * D;
  e.theta_bar = at, at += sh->system->parameter_count;
  sh->joining = at;
  return e;
}

static void load_state(const evaluation *e, int sample, double *s) {
  size_t D = (size_t)e->sh->D;
  memcpy(s, e->x0 + (size_t)sample * D, sizeof(double) * D);
  memcpy(s + D, e->v0 + (size_t)sample * D, sizeof(double) * D);
}

// the centre of a body moves along one of its axes, which y has
static void start_by_centre(const shooting *sh, const unknown *u, const double *y, double *to) {
  const body *b = &sh->system->bodies[u->body];
  int d = sh->system->dimension, first = b->first_point * d, tip = first + (u->axis + 1) * d;
  for (int k = 0; k < b->point_count; k++)
    for (int i = 0; i < d; i++) {
      to[first + k * d + i] = y[tip + i] - y[first + i];
      to[sh->D + first + k * d + i] = y[sh->D + tip + i] - y[sh->D + first + i];
    }
}

/* ds / dq of a measured first state: how things are measured moves it. */
static void start_by_unknowns(const evaluation *e, const double *y, double *Y) {
  const shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D;
  int d = sh->system->dimension;
  memset(Y, 0, sizeof(double) * row * (size_t)sh->p);
  for (int j = 0; j < sh->p; j++) {
    const unknown *u = &sh->unknowns->items[j];
    double *to = Y + (size_t)j * row;
    if (u->kind == UNKNOWN_CENTRE) start_by_centre(sh, u, y, to);
    if (u->kind != UNKNOWN_SCALE && u->kind != UNKNOWN_SHIFT) continue;
    for (int pt = 0; pt < sh->system->point_count; pt++) {
      int centre = sh->system->bodies[sh->system->point_body[pt]].first_point;
      for (int i = 0; i < d; i++) {
        if (u->kind == UNKNOWN_SHIFT) {
          to[pt * d + i] = i == u->axis;
        } else {
          to[pt * d + i] = sh->measure.scale * y[centre * d + i];
          to[sh->D + pt * d + i] = sh->measure.scale * y[sh->D + centre * d + i];
        }
      }
    }
  }
}

static void begin_piece(evaluation *e, int sample, const double *starts) {
  shooting *sh = e->sh;
  int index = e->pieces[sample];
  size_t D = (size_t)sh->D, row = 2 * D;
  const double *y = sh->clean + (size_t)sh->pieces[index].first * row;
  if (sh->free_states)
    memcpy(e->state, starts + (size_t)index * row, sizeof(double) * row);
  else
    measure_invert(&sh->measure, y, e->state);
  memcpy(e->x0 + (size_t)sample * D, e->state, sizeof(double) * D);
  memcpy(e->v0 + (size_t)sample * D, e->state + D, sizeof(double) * D);
  sh->piece_cost[index] = sh->piece_square[index] = 0;
  sh->piece_outliers[index] = 0;
  memset(sh->piece_channel + index * CAROM_CHANNEL_COUNT, 0, sizeof(double) * CAROM_CHANNEL_COUNT);
  if (!e->derivatives) return;
  piece_normal *n = &sh->normals[index];
  size_t f = (size_t)sh->f, p = (size_t)sh->p;
  double *Y = e->Y + (size_t)sample * (f + p) * row;
  memset(n->ss, 0, sizeof(double) * f * f);
  memset(n->sq, 0, sizeof(double) * f * p);
  memset(n->qq, 0, sizeof(double) * p * p);
  memset(n->gs, 0, sizeof(double) * f);
  memset(n->gq, 0, sizeof(double) * p);
  memset(n->by_channel, 0, sizeof(double) * CAROM_CHANNEL_COUNT * f * f);
  if (sh->free_states) {
    tangent_at(&sh->tangent, e->state, e->B, e->L + (size_t)sample * f * row);
    memcpy(Y, e->B, sizeof(double) * f * row);
    memset(Y + f * row, 0, sizeof(double) * p * row);
    memcpy(n->start_by, e->B, sizeof(double) * f * row);
  } else {
    start_by_unknowns(e, y, Y);
  }
}

/* ---- residuals of one state ------------------------------------------------------------------ */

/* Weights of the robust loss for each number, times 1 / noise^2; adds to cost and sums. */
static void weigh(evaluation *e, int index, const double *r, double *weight) {
  shooting *sh = e->sh;
  const measure *m = &sh->measure;
  bool outlier = false;
  for (int at = 0; at < m->count;) {
    int end = at, channel = m->channel[at];
    double square = 0, noise = sh->noise[channel];
    while (end < m->count && m->group[end] == m->group[at]) {
      square += r[end] * r[end];
      end++;
    }
    double size = sqrt(square) / noise, w = 0;
    if (sh->measured[channel]) {
      bool far = sh->huber > 0 && size > sh->huber;
      w = far ? sh->huber / size : 1;
      sh->piece_cost[index] += far ? sh->huber * (size - 0.5 * sh->huber) : 0.5 * size * size;
      sh->piece_square[index] += size * size;
      outlier = outlier || far;
      sh->sums.square[channel] += square;
      sh->piece_channel[index * CAROM_CHANNEL_COUNT + channel] +=
          square / ((end - at) * fmin(sh->horizon, sh->pieces[index].count));
      sh->sums.weighted[channel] += w * square;
      sh->sums.count[channel] += end - at;
    }
    for (; at < end; at++) weight[at] = w / (noise * noise);
  }
  sh->piece_outliers[index] += outlier;
}

/* J [columns][count] of the residuals at the state s. */
static void residual_rows(const evaluation *e, const double *s, const double *y, const double *Y,
                          double *J) {
  const shooting *sh = e->sh;
  int m = sh->measure.count;
  size_t row = 2 * (size_t)sh->D;
  for (int c = 0; c < e->columns; c++)
    measure_change(&sh->measure, s, y, Y + (size_t)c * row, J + (size_t)c * (size_t)m);
  for (int j = 0; j < sh->p; j++) {
    const unknown *u = &sh->unknowns->items[j];
    if (u->kind < UNKNOWN_SCALE) continue;
    if (u->kind == UNKNOWN_SCALE)
      measure_by_scale(&sh->measure, s, e->dr);
    else if (u->kind == UNKNOWN_CENTRE)
      measure_by_centre(&sh->measure, u->body, u->axis, s, e->dr);
    else
      measure_by_shift(&sh->measure, u->axis, e->dr);
    double *to = J + (size_t)(e->first_q + j) * (size_t)m;
    for (int i = 0; i < m; i++) to[i] += e->dr[i];
  }
}

// normal equations += J W J', J W r
static void add_normal(const evaluation *e, piece_normal *n, const double *r, const double *J,
                       const double *weight) {
  const shooting *sh = e->sh;
  int m = sh->measure.count, f = e->first_q, p = sh->p;
  for (int a = 0; a < e->columns; a++) {
    const double *Ja = J + (size_t)a * (size_t)m;
    double g = 0;
    for (int i = 0; i < m; i++) {
      e->dr[i] = weight[i] * Ja[i];
      g += e->dr[i] * r[i];
    }
    if (a < f)
      n->gs[a] += g;
    else
      n->gq[a - f] += g;
    for (int b = 0; b < e->columns; b++) {
      if (a < f && b < f && b > a) continue; // symmetric
      if (a >= f && b < f) continue;
      double sum = vector_dot(e->dr, J + (size_t)b * (size_t)m, m);
      if (b < f)
        n->ss[a * f + b] += sum;
      else if (a < f)
        n->sq[a * p + b - f] += sum;
      else
        n->qq[(a - f) * p + b - f] += sum;
    }
    // parts of each channel, for how many numbers the first states take up
    for (int b = 0; a < f && b <= a; b++)
      for (int i = 0; i < m; i++)
        n->by_channel[(sh->measure.channel[i] * f + a) * f + b] +=
            e->dr[i] * J[(size_t)b * (size_t)m + (size_t)i];
  }
}

/* ---- states beside impacts ------------------------------------------------------------------- */

// what the numbers of one unit cost
static double unit_cost(const shooting *sh, const double *r, int unit) {
  const measure *m = &sh->measure;
  double cost = 0;
  for (int at = 0; at < m->count;) {
    int first = at;
    double square = 0, noise = sh->noise[m->channel[at]];
    for (; at < m->count && m->group[at] == m->group[first]; at++) square += r[at] * r[at];
    if (sh->unit[first] != unit || !sh->measured[m->channel[first]]) continue;
    double size = sqrt(square) / noise;
    bool far = sh->huber > 0 && size > sh->huber;
    cost += far ? sh->huber * (size - 0.5 * sh->huber) : 0.5 * size * size;
  }
  return cost;
}

/* Takes a side of an impact for those units of the state to be compared which it fits better. */
static void consider(evaluation *e, int sample, branch_side side) {
  shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D, m = (size_t)sh->measure.count, C = (size_t)(sh->f + sh->p);
  size_t place = (size_t)sample * BRANCH_SIDES + (size_t)side;
  const double *s = e->other + place * row;
  const double *y =
      sh->data + (size_t)(sh->pieces[e->pieces[sample]].first + e->pending[sample]) * row;
  double *r = e->r + (size_t)sample * m, *J = e->J + (size_t)sample * C * m;
  bool ready = !e->derivatives;
  measure_residual(&sh->measure, s, y, e->other_r);
  for (int unit = 0; unit < sh->system->assembly_count; unit++) {
    if (!(unit_cost(sh, e->other_r, unit) < unit_cost(sh, r, unit))) continue;
    if (!ready) residual_rows(e, s, y, e->other_Y + place * C * row, e->other_J);
    ready = true;
    for (size_t i = 0; i < m; i++) {
      if (sh->unit[i] != unit) continue;
      r[i] = e->other_r[i];
      for (size_t c = 0; c < (size_t)e->columns && e->derivatives; c++)
        J[c * m + i] = e->other_J[c * m + i];
    }
  }
}

// what was kept of a state goes into cost and normal equations
static void settle(evaluation *e, int sample) {
  shooting *sh = e->sh;
  int index = e->pieces[sample];
  size_t m = (size_t)sh->measure.count, C = (size_t)(sh->f + sh->p);
  if (e->pending[sample] < 0) return;
  e->pending[sample] = -1;
  weigh(e, index, e->r + (size_t)sample * m, e->weight);
  if (e->derivatives)
    add_normal(e, &sh->normals[index], e->r + (size_t)sample * m, e->J + (size_t)sample * C * m,
               e->weight);
}

/* State `at` of a piece beside its prediction. */
static void compare(evaluation *e, int sample, int at) {
  shooting *sh = e->sh;
  int index = e->pieces[sample];
  size_t row = 2 * (size_t)sh->D, m = (size_t)sh->measure.count, C = (size_t)(sh->f + sh->p);
  const double *y = sh->data + (size_t)(sh->pieces[index].first + at) * row;
  load_state(e, sample, e->state);
  measure_residual(&sh->measure, e->state, y, e->r + (size_t)sample * m);
  if (e->derivatives)
    residual_rows(e, e->state, y, e->Y + (size_t)sample * C * row, e->J + (size_t)sample * C * m);
  e->pending[sample] = at;
  if (at > 0 && e->struck[sample]) consider(e, sample, BRANCH_BEFORE);
  if (!e->sided) settle(e, sample);
}

/* ---- one step -------------------------------------------------------------------------------- */

static void note_contacts(evaluation *e, int sample, int at) {
  shooting *sh = e->sh;
  const piece *p = &sh->pieces[e->pieces[sample]];
  bool acted = carom_rollout_contacts(e->rollout)[2 * sample + 1] != 0;
  if (at < p->count + !p->last) sh->struck[p->first + at] = acted;
  size_t contacts = (size_t)sh->system->contact_count;
  uint8_t *felt = sh->felt + (size_t)e->pieces[sample] * contacts;
  int impacts = carom_rollout_impact_count(e->rollout, sample);
  for (int i = 0; i < impacts; i++) {
    carom_impact impact = carom_rollout_impact(e->rollout, sample, i);
    for (int k = 0; k < impact.contact_count; k++) felt[impact.contacts[k]] = 1;
  }
  // contacts that only last leave no impact: any of them may have acted
  if (impacts == 0 && acted) memset(felt, 1, contacts);
}

/* rows [sample][f] of F_s and F_q by one reverse pass for each coordinate. */
static carom_status reverse_rows(evaluation *e, carom_error *error) {
  shooting *sh = e->sh;
  size_t D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  for (size_t i = 0; i < f; i++) {
    memset(e->x_bar, 0, sizeof(double) * (size_t)e->batch * 2 * D);
    memset(e->v_bar, 0, sizeof(double) * (size_t)e->batch * 2 * D);
    for (int k = 0; k < e->count; k++) {
      const double *L = e->L + ((size_t)k * f + i) * 2 * D;
      memcpy(e->x_bar + ((size_t)k * 2 + 1) * D, L, sizeof(double) * D);
      memcpy(e->v_bar + ((size_t)k * 2 + 1) * D, L + D, sizeof(double) * D);
    }
    carom_status status =
        carom_rollout_vjp(e->rollout, e->x_bar, e->v_bar, e->x0_bar, e->v0_bar, NULL, error);
    if (status != CAROM_OK) return status;
    for (int k = 0; k < e->count; k++) {
      double *row = e->rows + ((size_t)k * f + i) * (2 * D + p);
      memcpy(row, e->x0_bar + (size_t)k * D, sizeof(double) * D);
      memcpy(row + D, e->v0_bar + (size_t)k * D, sizeof(double) * D);
      unknowns_pull(sh->unknowns, e->q, rollout_theta_bar(e->rollout, k), row + 2 * D);
    }
  }
  return CAROM_OK;
}

/* Y' = B L (F_s Y + F_q) with rows [f][2 D + p] of L F, B and L of the state after the step. */
static void carry(evaluation *e, const double *rows, const double *Y, double *after) {
  const shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  size_t columns = (size_t)e->columns, first = (size_t)e->first_q;
  for (size_t i = 0; i < f; i++) {
    const double *R = rows + i * (row + p);
    for (size_t c = 0; c < columns; c++)
      e->Z[i * columns + c] =
          vector_dot(R, Y + c * row, (int)row) + (c >= first ? R[row + c - first] : 0);
  }
  memset(after, 0, sizeof(double) * columns * row);
  for (size_t i = 0; i < f; i++)
    for (size_t c = 0; c < columns; c++) {
      double z = e->Z[i * columns + c];
      if (z == 0) continue;
      for (size_t k = 0; k < row; k++) after[c * row + k] += z * e->B[i * row + k];
    }
}

/* Derivatives of the states on both sides of an impact, from those before the step, which is computed again. */
static carom_status differentiate_sides(evaluation *e, int sample, carom_error *error) {
  shooting *sh = e->sh;
  size_t D = (size_t)sh->D, row = 2 * D, f = (size_t)sh->f, p = (size_t)sh->p;
  const double *start = e->before + (size_t)sample * row;
  int parameters = sh->system->parameter_count;
  carom_status status = carom_rollout_run(sh->one, sh->theta, start, start + D, error);
  for (int side = 0; side < BRANCH_SIDES && status == CAROM_OK; side++) {
    size_t place = (size_t)sample * BRANCH_SIDES + (size_t)side;
    double *s = e->other + place * row, *L = e->L + (size_t)sample * f * row;
    branch_state(&sh->flight, sh->one, 0, (branch_side)side, s);
    tangent_at(&sh->tangent, s, e->B, L);
    for (size_t i = 0; i < f && status == CAROM_OK; i++) {
      double *to = e->side_rows + i * (row + p);
      branch_state_vjp(&sh->flight, sh->one, 0, (branch_side)side, L + i * row, e->state_bar,
                       e->theta_bar);
      status = carom_rollout_vjp(sh->one, NULL, e->state_bar, e->start_bar, e->start_bar + D, NULL,
                                 error);
      memcpy(to, e->start_bar, sizeof(double) * row);
      const double *through = rollout_theta_bar(sh->one, 0);
      for (int k = 0; k < parameters; k++) e->theta_bar[k] += through[k];
      unknowns_pull(sh->unknowns, e->q, e->theta_bar, to + row);
    }
    carry(e, e->side_rows, e->Y + (size_t)sample * (f + p) * row,
          e->other_Y + place * (f + p) * row);
  }
  return status;
}

/* Notes a step with an impact: the state before it, and both sides of it. */
static void note_sides(evaluation *e, int sample) {
  shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D;
  e->struck[sample] = e->sided && carom_rollout_impact_count(e->rollout, sample) > 0;
  if (!e->struck[sample]) return;
  load_state(e, sample, e->before + (size_t)sample * row);
  for (int side = 0; side < BRANCH_SIDES && !e->derivatives; side++)
    branch_state(&sh->flight, e->rollout, sample, (branch_side)side,
                 e->other + ((size_t)sample * BRANCH_SIDES + (size_t)side) * row);
}

/* All samples one time step on, to state `at` of their pieces, with what hangs on them. */
static carom_status advance(evaluation *e, int at, carom_error *error) {
  shooting *sh = e->sh;
  size_t D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  for (int k = e->count; k < e->batch; k++) { // the rest of the batch repeats the first sample
    memcpy(e->x0 + (size_t)k * D, e->x0, sizeof(double) * D);
    memcpy(e->v0 + (size_t)k * D, e->v0, sizeof(double) * D);
  }
  carom_status status = carom_rollout_run(e->rollout, sh->theta, e->x0, e->v0, error);
  if (status != CAROM_OK) return status;
  carom_report report = carom_rollout_report(e->rollout);
  carom_report_add(&sh->report, &report);
  const double *x = carom_rollout_positions(e->rollout), *v = carom_rollout_velocities(e->rollout);
  for (int k = 0; k < e->count; k++) {
    if (sh->note_felt) note_contacts(e, k, at);
    note_sides(e, k);
    memcpy(e->x0 + (size_t)k * D, x + ((size_t)k * 2 + 1) * D, sizeof(double) * D);
    memcpy(e->v0 + (size_t)k * D, v + ((size_t)k * 2 + 1) * D, sizeof(double) * D);
    if (!e->derivatives) continue;
    load_state(e, k, e->state);
    tangent_at(&sh->tangent, e->state, e->B, e->L + (size_t)k * f * 2 * D);
  }
  if (!e->derivatives) return CAROM_OK;
  status = reverse_rows(e, error);
  for (int k = 0; k < e->count && status == CAROM_OK; k++) {
    double *Y = e->Y + (size_t)k * (f + p) * 2 * D;
    if (e->struck[k]) status = differentiate_sides(e, k, error);
    load_state(e, k, e->state);
    tangent_at(&sh->tangent, e->state, e->B, e->L + (size_t)k * f * 2 * D);
    carry(e, e->rows + (size_t)k * f * (2 * D + p), Y, Y);
  }
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Time steps of a piece: to its own last state; pieces that are joined, or begin where it was measured,
 * go on to the first state of the next one. */
static int steps_of(const shooting *sh, int index) {
  const piece *p = &sh->pieces[index];
  if (sh->horizon < p->count) return sh->horizon - 1;
  bool further = !p->last && (!sh->free_states || (sh->join > 0 && sh->horizon == INT_MAX));
  return p->count - 1 + further;
}

static void keep_end(evaluation *e, int sample) {
  shooting *sh = e->sh;
  piece_normal *n = &sh->normals[e->pieces[sample]];
  size_t row = 2 * (size_t)sh->D, C = (size_t)(sh->f + sh->p);
  load_state(e, sample, n->end);
  if (e->derivatives) memcpy(n->end_by, e->Y + (size_t)sample * C * row, sizeof(double) * C * row);
}

// states of a batch from the first to the last
static carom_status run_batch(evaluation *e, const double *starts, carom_error *error) {
  shooting *sh = e->sh;
  int most = 0;
  for (int k = 0; k < e->count; k++) {
    begin_piece(e, k, starts);
    e->pending[k] = -1;
    e->struck[k] = false;
    if (sh->free_states) compare(e, k, 0);
    int steps = steps_of(sh, e->pieces[k]) + e->sided; // an impact may follow the last state
    most = steps > most ? steps : most;
  }
  carom_status status = CAROM_OK;
  for (int at = 1; at <= most && status == CAROM_OK; at++) {
    status = advance(e, at, error);
    for (int k = 0; k < e->count && status == CAROM_OK; k++) {
      const piece *p = &sh->pieces[e->pieces[k]];
      int steps = steps_of(sh, e->pieces[k]);
      bool joined = sh->free_states && at == p->count;
      if (e->pending[k] >= 0 && e->struck[k]) consider(e, k, BRANCH_AFTER);
      settle(e, k);
      if (at <= steps && !joined) compare(e, k, at);
      if (at == steps && joined) keep_end(e, k);
    }
  }
  return status;
}

static double prior_cost(const shooting *sh, const double *q) {
  double cost = 0, slope, curvature;
  for (int j = 0; j < sh->p; j++)
    cost += unknown_prior(&sh->unknowns->items[j], q[j], &slope, &curvature);
  return cost;
}

double shooting_join_cost(shooting *sh, const double *end, const double *start) {
  double cost = 0, *r = sh->joining;
  measure_residual(&sh->plain, end, start, r);
  for (int k = 0; k < sh->measure.count; k++) {
    double off = r[k] / (sh->join * sh->noise[sh->measure.channel[k]]);
    cost += 0.5 * off * off;
  }
  return cost;
}

/* Ends of pieces beside the starts of the next ones. */
static double joins_cost(shooting *sh, const double *starts) {
  double cost = 0;
  for (int i = 0; i < sh->piece_count; i++)
    if (!sh->pieces[i].last)
      cost +=
          shooting_join_cost(sh, sh->normals[i].end, starts + (size_t)(i + 1) * 2 * (size_t)sh->D);
  return cost;
}

carom_status shooting_evaluate(shooting *sh, const double *q, const double *starts,
                               const int *subset, int subset_count, bool derivatives, double *cost,
                               carom_error *error) {
  int count = subset != NULL ? subset_count : sh->piece_count;
  *cost = INFINITY;
  sh->sums = (residual_sums){0};
  sh->report = (carom_report){0};
  sh->join_cost = 0;
  if (sh->note_felt)
    memset(sh->felt, 0, (size_t)sh->piece_count * (size_t)sh->system->contact_count);
  carom_parameters_default(sh->system, sh->theta);
  unknowns_put(sh->unknowns, q, sh->theta, &sh->measure);
  evaluation e = evaluation_make(sh, q, derivatives);
  double total = prior_cost(sh, q);
  bool few = count <= 4 * FEW && count < sh->batch;
  e.rollout = few ? sh->few : sh->many;
  e.batch = few ? FEW : sh->batch;
  for (int at = 0; at < count; at += e.count) {
    e.count = count - at < e.batch ? count - at : e.batch;
    for (int k = 0; k < e.count; k++) e.pieces[k] = subset != NULL ? subset[at + k] : at + k;
    carom_status status = run_batch(&e, starts, error);
    if (status == CAROM_NUMERICAL_FAILURE || status == CAROM_INVALID_ARGUMENT ||
        status == CAROM_INVALID_DATA)
      return CAROM_OK; // an infinite cost; the error says what happened
    if (status != CAROM_OK) return status;
    for (int k = 0; k < e.count; k++) total += sh->piece_cost[e.pieces[k]];
  }
  if (sh->free_states && sh->join > 0 && subset == NULL) {
    sh->join_cost = joins_cost(sh, starts);
    total += sh->join_cost;
  }
  if (isfinite(total)) *cost = total;
  return CAROM_OK;
}

void shooting_measured_starts(shooting *sh, const double *q, double *starts) {
  carom_parameters_default(sh->system, sh->theta);
  unknowns_put(sh->unknowns, q, sh->theta, &sh->measure);
  for (int i = 0; i < sh->piece_count; i++)
    measure_invert(&sh->measure, sh->clean + (size_t)sh->pieces[i].first * 2 * (size_t)sh->D,
                   starts + (size_t)i * 2 * (size_t)sh->D);
}
