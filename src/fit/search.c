#include "fit/search.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/draws.h"
#include "fit/edge.h"
#include "fit/look_along.h"
#include "fit/outvote.h"
#include "fit/population.h"
#include "fit/steep.h"
#include "fit/valley.h"

int search_length(const carom_fit *fit) {
  enum { SHORT_PIECE = 10 };
  return fit->options.piece < SHORT_PIECE ? fit->options.piece : SHORT_PIECE;
}

int search_shortest(const carom_fit *fit) {
  enum { SHORTEST = 2, MOST_PIECES = 5000 /* they need memory */ };
  const int last = fit->run_count - 1, states = fit->run_first[last] + fit->run_states[last];
  const int length = states / MOST_PIECES + 1, most = search_length(fit);
  return length < SHORTEST ? SHORTEST : length < most ? length : most;
}

// whether a channel's noise is more than so many times what rounding leaves
static bool is_beyond(const carom_fit *fit, double times) {
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++)
    if (fit->shooting.measured[c] && fit->shooting.sums.count[c] > 0 &&
        fit->shooting.noise[c] > times * fit->floor[c])
      return true;
  return false;
}
static bool is_exact(const carom_fit *fit) { return !is_beyond(fit, 1e3); }
// so much that it is none of unknowns which are not found yet: 1e-4 of the size of what is measured
static bool is_noisy(const carom_fit *fit) { return is_beyond(fit, 1e7); }

/* Pieces begin where they were measured: near enough to the truth that contacts happen when they
 * should, whatever the unknowns are. Exact data ends here; of noisy data this is where the unknowns
 * begin, and noise is that of predictions from such states. */
static carom_status fit_anchored(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { ROUNDS = 6 };
  const double ROUGH =
      1e-2; // exact data falls by much more in every iteration until nothing is left
  minimiser *m = &fit->minimiser;
  fit->shooting.free_states = false;
  m->rival_count = 0;
  m->coarse = false;
  m->gain = 0;
  carom_status status = CAROM_OK;
  for (int round = 0; round < ROUNDS && status == CAROM_OK; round++) {
    bool moved = false;
    m->tolerance = round == 0 ? ROUGH : fit->options.tolerance;
    if (fit->options.search) status = minimise_search(m, &moved, error);
    if (status == CAROM_OK) status = minimise(m, error);
    if (status != CAROM_OK) break;
    double change = judge_noise(m, estimate, fit->floor);
    if (fit->options.free_states && is_noisy(fit)) break;
    if (fit->options.search && round > 0 && !moved)
      status = minimise_search_borders(m, &moved, error);
    if (!moved && round > 0 && change < 0.01) break;
  }
  m->tolerance = fit->options.tolerance;
  if (status == CAROM_OK && fit->options.search && is_exact(fit))
    status = minimise_rest_at_borders(m, error);
  return status;
}

// pieces are whole trajectories
static bool is_whole(const carom_fit *fit) { return fit->shooting.piece_count == fit->run_count; }

static int longest_piece(const shooting *sh) {
  int most = 0;
  for (int i = 0; i < sh->piece_count; i++)
    most = sh->pieces[i].count > most ? sh->pieces[i].count : most;
  return most;
}

/* Draws of populations: of looking far, of pieces whose unknowns are held, of those among them that
 * went wrong. */
enum { FAR, HELD, AGAIN };

/* Minimises, and looks for what descent cannot find: first states on the other side of a contact,
 * properties far from where they stand. Until nothing moves any more, or `rounds` times. */
static carom_status settle(carom_fit *fit, const bool *estimate, int rounds, carom_error *error) {
  minimiser *m = &fit->minimiser;
  const shooting *sh = &fit->shooting;
  carom_status status = CAROM_OK;
  for (int round = 0; round < rounds && status == CAROM_OK; round++) {
    bool moved = false, states_moved = false;
    status = minimise(m, error);
    if (status != CAROM_OK) break;
    // dear, so while pieces grow only where something does not fit
    bool worth = (round == 0 && sh->horizon == INT_MAX) || fit_misfits(fit);
    double change = judge_noise(m, estimate, fit->floor);
    if (change > 0) m->rival_count = 0; // costs are others now
    if (fit->options.search) status = minimise_search_states(m, &states_moved, error);
    if (status == CAROM_OK && fit->options.search && worth)
      status = minimise_search(m, &moved, error);
    if (status == CAROM_OK && fit->options.search && worth && !moved && !states_moved)
      status = minimise_search_borders(m, &moved, error);
    if (!moved && !states_moved && change < 0.01) return status;
  }
  return status == CAROM_OK ? minimise(m, error) : status;
}

/* First states of pieces that cost more than so many deviations above what noise leaves, found
 * anew, with a descent of all behind. Populations are of the first round alone: they are dear. */
static carom_status find_states(minimiser *m, double deviations, int round, bool *moved,
                                carom_error *error) {
  bool alone = false, populated = false;
  carom_status status = valley_states(m, false, &alone, error);
  if (status == CAROM_OK && alone) status = minimise(m, error);
  if (status == CAROM_OK && round == 0)
    status = population_search(m, deviations, FAR, &populated, error);
  if (status == CAROM_OK && populated) status = minimise(m, error);
  *moved = alone || populated;
  return status;
}

/* Valleys far off: other orders of impacts, other properties. */
static carom_status look_far(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { ROUNDS = 4 };
  const double SUSPECT = 0.5; // deviations
  minimiser *m = &fit->minimiser;
  carom_status status = CAROM_OK;
  bool moved = true;
  for (int round = 0; round < ROUNDS && moved && status == CAROM_OK; round++) {
    bool states_moved = false;
    status = find_states(m, SUSPECT, round, &states_moved, error);
    if (status == CAROM_OK) status = valley_properties(m, &moved, error);
    moved = moved || states_moved;
    if (status == CAROM_OK && !moved) status = steep_search(m, &moved, error);
    if (status == CAROM_OK && !moved) status = outvote_search(m, &moved, error);
    if (status == CAROM_OK && moved) status = settle(fit, estimate, 2, error);
  }
  return status;
}

carom_status search_close(minimiser *m, carom_error *error) {
  enum { ROUNDS = 10, ENOUGH = 2 };
  carom_status status = CAROM_OK;
  int in_vain = 0;
  for (int round = 0; round < ROUNDS && in_vain < ENOUGH && status == CAROM_OK; round++) {
    bool slid = false, moved = false;
    status = edge_search(m, &slid, error);
    if (status == CAROM_OK && slid) status = minimise(m, error);
    if (status == CAROM_OK) status = draws_search(m, round, &moved, error);
    if (status == CAROM_OK && moved) status = minimise(m, error);
    in_vain = moved ? 0 : in_vain + 1;
  }
  return status;
}

/* Looks for other valleys of the cost until there is none that is deeper. */
static carom_status leave_valley(carom_fit *fit, const bool *estimate, carom_error *error) {
  carom_status status = look_far(fit, estimate, error);
  return status == CAROM_OK ? search_close(&fit->minimiser, error) : status;
}

/* Pieces of about `length` states with free first states, which begin where they were measured.
 * Rivals are of the same pieces. */
static carom_status begin_free(carom_fit *fit, int length, carom_error *error) {
  const double ROUGH = 1e-4, WORTH = 0.5; // of the cost, which is a logarithm of likelihood
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  const bool whole = sh->free_states && is_whole(fit);
  double cost;
  sh->note_felt = true;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, false, &cost, error);
  sh->note_felt = false;
  if (status == CAROM_OK) status = shooting_recut(sh, length, error);
  sh->free_states = true;
  sh->join = 0;
  shooting_measured_starts(sh, m->q, m->starts);
  m->gain = WORTH;
  if (!whole || !is_whole(fit)) m->rival_count = 0;
  m->coarse = true;
  m->tolerance = ROUGH;
  return status;
}

/* Pieces are fitted from their first states on to the next `growth` states, and the next: what is
 * known of a first state by the states near it is good enough to predict a few more, and contacts
 * happen as they should. */
static carom_status grow(carom_fit *fit, const bool *estimate, int growth, carom_error *error) {
  shooting *sh = &fit->shooting;
  const int most = longest_piece(sh);
  carom_status status = CAROM_OK;
  for (int states = growth; status == CAROM_OK && states < most; states += growth) {
    sh->horizon = states;
    status = settle(fit, estimate, 2, error);
  }
  sh->horizon = INT_MAX;
  return status;
}

carom_status search_pieces(carom_fit *fit, const bool *estimate, int length, int rounds,
                           carom_error *error) {
  const double SUSPECT = 1, WRONG = 2.5; // deviations
  minimiser *m = &fit->minimiser;
  bool moved;
  carom_status status = begin_free(fit, length, error);
  const bool all = m->populated && is_whole(fit) && fit->shooting.piece_count <= POPULATION_PIECES;
  if (status == CAROM_OK && !all) status = valley_states(m, true, &moved, error);
  if (status == CAROM_OK)
    status = population_search(m, all ? -INFINITY : SUSPECT, HELD, &moved, error);
  if (status == CAROM_OK) status = population_search(m, WRONG, AGAIN, &moved, error);
  return status == CAROM_OK ? settle(fit, estimate, rounds, error) : status;
}

/* Pieces of four states hardly have more than one impact, so that single first states are enough:
 * once with the unknowns of pieces that begin where they were measured, which noise has biased, and
 * again where those were too far off. */
static carom_status fit_four(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { FOUR = 4 };
  minimiser *m = &fit->minimiser;
  bool moved;
  if (search_shortest(fit) > FOUR || search_length(fit) <= FOUR) return CAROM_OK;
  carom_status status = begin_free(fit, FOUR, error);
  if (status == CAROM_OK) status = valley_states(m, true, &moved, error);
  if (status == CAROM_OK) status = settle(fit, estimate, 2, error);
  if (status == CAROM_OK) status = valley_states(m, false, &moved, error);
  return status == CAROM_OK && moved ? settle(fit, estimate, 2, error) : status;
}

/* Unknowns of noisy data by short pieces of all of it. The shortest begin where they were measured
 * and have one impact each at most, so that nothing can come in another order; first states of
 * longer ones are free, so that noise does not bias anything. */
static carom_status fit_short(carom_fit *fit, const bool *estimate, carom_error *error) {
  const double SUSPECT = 1; // deviations
  bool moved;
  carom_status status = shooting_recut(&fit->shooting, search_shortest(fit), error);
  if (status == CAROM_OK) status = fit_anchored(fit, estimate, error);
  if (status == CAROM_OK) status = fit_four(fit, estimate, error);
  if (status == CAROM_OK) status = search_pieces(fit, estimate, search_length(fit), 2, error);
  return status == CAROM_OK ? find_states(&fit->minimiser, SUSPECT, 0, &moved, error) : status;
}

carom_status search_whole(carom_fit *fit, const bool *estimate, int growth, carom_error *error) {
  enum { ROUNDS = 6 };
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  carom_status status;
  if (growth > 0) {
    status = begin_free(fit, fit->options.piece, error);
    if (status == CAROM_OK) status = grow(fit, estimate, growth, error);
    if (status == CAROM_OK) status = settle(fit, estimate, ROUNDS, error);
  } else {
    status = search_pieces(fit, estimate, fit->options.piece, ROUNDS, error);
    if (status == CAROM_OK && m->populated && is_whole(fit))
      status = look_along(fit, estimate, error);
  }
  if (status == CAROM_OK && fit->options.search) status = leave_valley(fit, estimate, error);
  // joins from soft to what was asked for
  double join =
      fit->options.join > 0 && sh->piece_count > fit->run_count ? fmax(1, fit->options.join) : 0;
  while (status == CAROM_OK && join > 0) {
    sh->join = join;
    m->rival_count = 0;
    status = settle(fit, estimate, ROUNDS, error);
    if (join <= fit->options.join) break;
    join = fmax(fit->options.join, 0.1 * join);
  }
  m->tolerance = fit->options.tolerance;
  m->gain = 0;
  return status == CAROM_OK ? minimise(m, error) : status;
}

/* First states free; where what is left is not noise, again with shorter steps, from there. */
static carom_status fit_states(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { LONG = 10, SHORT = 4 };
  const bool search = fit->options.search;
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  carom_status status = search ? fit_short(fit, estimate, error) : CAROM_OK;
  if (status == CAROM_OK) status = search_whole(fit, estimate, search ? 0 : LONG, error);
  if (status != CAROM_OK || !fit_misfits(fit)) return status;
  double before = fit_log_likelihood(fit), noise[CAROM_CHANNEL_COUNT];
  size_t p = (size_t)sh->p, states = (size_t)sh->piece_count * 2 * (size_t)sh->D;
  double *kept = size_allocate(p + states, sizeof(double));
  if (kept == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a search");
  memcpy(kept, m->q, sizeof(double) * p);
  memcpy(kept + p, m->starts, sizeof(double) * states);
  memcpy(noise, sh->noise, sizeof noise);
  status = search_whole(fit, estimate, SHORT, error);
  if (status == CAROM_OK && fit_log_likelihood(fit) < before) {
    memcpy(m->q, kept, sizeof(double) * p);
    memcpy(m->starts, kept + p, sizeof(double) * states);
    memcpy(sh->noise, noise, sizeof noise);
    m->rival_count = 0;
  }
  free(kept);
  return status;
}

/* Pieces from their measured states once more, with the unknowns that free first states led to:
 * where data is exact and the start was too far for contacts to happen when they should, this ends
 * with nothing left, which the free ones approach slowly, over a kink for each impact beside a
 * measured time. If something is left, it is noise, and all stays as it was. */
static carom_status fit_again(carom_fit *fit, const bool *estimate, carom_error *error) {
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  size_t p = (size_t)sh->p, states = (size_t)sh->piece_count * 2 * (size_t)sh->D;
  size_t all = (size_t)(fit->run_first[fit->run_count - 1] + fit->run_states[fit->run_count - 1]);
  double *kept = size_allocate(p + states, sizeof(double)), noise[CAROM_CHANNEL_COUNT];
  uint8_t *struck = size_allocate(all, 1);
  carom_status status = kept == NULL || struck == NULL
                            ? error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a search")
                            : CAROM_OK;
  if (status == CAROM_OK) {
    memcpy(kept, m->q, sizeof(double) * p);
    memcpy(kept + p, m->starts, sizeof(double) * states);
    memcpy(noise, sh->noise, sizeof noise);
    memcpy(struck, sh->struck, all);
    status = shooting_recut(sh, search_length(fit), error);
  }
  if (status == CAROM_OK) status = fit_anchored(fit, estimate, error);
  if (status == CAROM_OK && !is_exact(fit)) {
    memcpy(sh->struck, struck, all); // for the same cuts
    status = shooting_recut(sh, fit->options.piece, error);
    memcpy(m->q, kept, sizeof(double) * p);
    memcpy(m->starts, kept + p, sizeof(double) * states);
    memcpy(sh->noise, noise, sizeof noise);
    sh->free_states = true;
  }
  free(kept);
  free(struck);
  return status;
}

carom_status search_run(carom_fit *fit, const bool *estimate, carom_error *error) {
  fit->minimiser.populated = false;
  visited_free(&fit->visited);
  carom_status status = shooting_recut(&fit->shooting, search_length(fit), error);
  if (status == CAROM_OK) status = fit_anchored(fit, estimate, error);
  if (status == CAROM_OK && fit->options.free_states && !is_exact(fit))
    status = fit_states(fit, estimate, error);
  const double LITTLE = 3e8; // 3e-3 of the size of what is measured
  if (status == CAROM_OK && fit->shooting.free_states && !is_beyond(fit, LITTLE))
    status = fit_again(fit, estimate, error);
  return status;
}
