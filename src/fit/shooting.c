#include "fit/shooting.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/evaluation.h"
#include "system/system.h"

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
  int batch = sh->piece_count < EVALUATION_BATCH ? sh->piece_count : EVALUATION_BATCH;
  if (batch == sh->batch) return CAROM_OK;
  carom_rollout_destroy(sh->rollout);
  sh->batch = batch;
  return carom_rollout_create(sh->system, &sh->step, batch, &sh->rollout, error);
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
                   .degree = 1,
                   .noise = {1, 1, 1, 1}};
  bool ready = tangent_space_init(&sh->tangent, system) && measure_init(&sh->measure, system) &&
               cut(sh, length);
  sh->f = sh->tangent.size;
  sh->plain = sh->measure;
  sh->plain.centre = NULL;
  if (ready) {
    sh->batch = sh->piece_count < EVALUATION_BATCH ? sh->piece_count : EVALUATION_BATCH;
    size_t pieces = (size_t)sh->piece_count;
    sh->theta = size_allocate((size_t)system->parameter_count, sizeof(double));
    sh->piece_cost = size_allocate_zero(pieces, sizeof(double));
    sh->mark_cost = size_allocate_zero(pieces, sizeof(double));
    sh->side_gain = size_allocate_zero(pieces, sizeof(double));
    sh->piece_square = size_allocate_zero(pieces, sizeof(double));
    sh->piece_outliers = size_allocate_zero(pieces, sizeof(int));
    sh->piece_channel = size_allocate_zero(pieces * CAROM_CHANNEL_COUNT, sizeof(double));
    sh->felt = size_allocate_zero(size_multiply(pieces, (size_t)system->contact_count), 1);
    int last = run_count - 1;
    sh->struck = size_allocate_zero((size_t)(first[last] + count[last]), 1);
    sh->unit = size_allocate((size_t)sh->measure.count, sizeof(int));
    sh->taken = size_allocate((size_t)system->assembly_count, sizeof(int));
    ready = place_normals(sh) && sh->struck != NULL && sh->unit != NULL && sh->taken != NULL &&
            sh->theta != NULL && sh->piece_cost != NULL && sh->mark_cost != NULL &&
            sh->side_gain != NULL && sh->piece_square != NULL && sh->piece_outliers != NULL &&
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
  carom_status status = carom_rollout_create(system, &one, sh->batch, &sh->rollout, error);
  one.threads = 1;
  if (status == CAROM_OK && one.contact_time == CAROM_CONTACT_TIME_EVENT)
    status = carom_rollout_create(system, &one, 1, &sh->one, error);
  if (status != CAROM_OK) return status;
  set_units(sh);
  sh->work = size_allocate_zero(evaluation_size(sh), sizeof(double));
  bool there = branch_flight_init(&sh->flight, system, &one) && sh->work != NULL;
  if (there) { // any state will do for the shape of the rows
    double *B = sh->work, *L = B + (size_t)sh->f * 2 * (size_t)sh->D;
    tangent_at(&sh->tangent, clean, B, L);
    there = parts_init(&sh->parts, system, unknowns, sh->f, L, sh->batch);
  }
  if (!there)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d pieces of trajectories",
                     sh->piece_count);
  return CAROM_OK;
}

void shooting_free(shooting *sh) {
  carom_rollout_destroy(sh->rollout);
  carom_rollout_destroy(sh->one);
  branch_flight_free(&sh->flight);
  parts_free(&sh->parts);
  tangent_space_free(&sh->tangent);
  measure_free(&sh->measure);
  free(sh->pieces);
  free(sh->run_piece);
  free(sh->theta);
  free(sh->normals);
  free(sh->normal_memory);
  free(sh->piece_cost);
  free(sh->mark_cost);
  free(sh->side_gain);
  free(sh->piece_square);
  free(sh->piece_outliers);
  free(sh->piece_channel);
  free(sh->felt);
  free(sh->struck);
  free(sh->unit);
  free(sh->taken);
  free(sh->work);
}

double shooting_step_length(const shooting *sh, int index, int at) {
  const piece *p = &sh->pieces[index];
  if (sh->times == NULL || at >= p->count + !p->last) return sh->dt;
  return sh->times[p->first + at] - sh->times[p->first + at - 1];
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

void shooting_measured_starts(shooting *sh, const double *q, double *starts) {
  carom_parameters_default(sh->system, sh->theta);
  unknowns_put(sh->unknowns, q, sh->theta, &sh->measure);
  for (int i = 0; i < sh->piece_count; i++)
    measure_invert(&sh->measure, sh->clean + (size_t)sh->pieces[i].first * 2 * (size_t)sh->D,
                   starts + (size_t)i * 2 * (size_t)sh->D);
}
