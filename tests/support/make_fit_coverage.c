/* Do the intervals of `carom fit` hold the truth as often as they say? Fits noisy repetitions of a scene and counts.
 *
 *   make_fit_coverage SCENE UNKNOWNS NOISE REPETITIONS TRAJECTORIES STEPS given|estimated|truth [SEED [all]]
 *
 * The noise is given to the fit or estimated by it. With `truth` it is given, and the minimum is that which descent
 * alone finds from the true numbers and first states: what the cost and its intervals are worth where the search
 * has found the right valley. Of fits is counted how many end more than 0.5 above that minimum.
 *
 * Each repetition has trajectories of its own (contacts at the time of impact), with normal noise of one deviation
 * on positions and velocities of points and centres, angles and rates of rigid bodies. For each unknown is printed
 *
 *   held        share of the 95 % intervals that hold the scene's value
 *   bias        mean of estimate - truth in deviations of the estimates
 *   deviation   root mean square of estimate - truth beside the bound of Cramer and Rao, which is the inverse of the
 *               information at the truth, the first state of each trajectory unknown and eliminated
 *   said        root mean square of the deviations that were said, beside the bound
 *   error       root mean square of estimate - truth
 *
 * over the repetitions whose bound is below a natural unit of the unknown (its number is the first column); bias and
 * deviations over those with an estimate whose bound is below a quarter of the truth (the second), so that what is
 * estimated is near enough to it for a bound to mean something: a friction of which a lower bound alone is known has
 * no estimate. With `all`, a line for each estimate, `counted` where it is one of those, and one for each fit:
 * scripts/fit_coverage.py sums up the lines of runs with different seeds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dense.h"
#include "fit/fit.h"
#include "support/give_up.h"
#include "support/noisy.h"
#include "system/system.h"

typedef struct setting {
  noisy_setting data;
  const char *unknowns;
} setting;

typedef struct tally {
  char name[96];
  int count, regular, held, at_border, undetermined;
  double sum, square, said, error;
} tally;

/* ---- the bound ------------------------------------------------------------------------------- */

/* Deviations [p] of the coordinates of the unknowns at the truth. */
static void find_bound(const setting *s, const carom_trajectories *exact, double noise,
                       double *bound) {
  carom_fit_options options = carom_fit_default_options();
  options.piece = 1000000;
  options.threads = 1;
  options.huber = 0;
  carom_fit *fit;
  carom_error error = {0};
  if (carom_fit_create(s->data.system, exact, s->unknowns, &s->data.how, &options, &fit, &error) !=
      CAROM_OK)
    give_up("make_fit_coverage", error.message);
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  int p = sh->p;
  for (int j = 0; j < p; j++)
    m->q[j] = unknown_coordinate(&fit->unknowns.items[j], fit->unknowns.items[j].scene);
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) sh->noise[c] = noise;
  sh->free_states = true;
  if (shooting_recut(sh, 1000000, &error) != CAROM_OK) give_up("make_fit_coverage", error.message);
  shooting_measured_starts(sh, m->q, m->starts);
  double cost;
  if (shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, &error) != CAROM_OK)
    give_up("make_fit_coverage", error.message);
  normal_reduce(&m->normal, m->q, m->starts, 0, false);
  double *a = malloc(sizeof(double) * (size_t)(p * p + p)), *e = a + p * p;
  memcpy(a, m->normal.S, sizeof(double) * (size_t)(p * p));
  bool regular = dense_factor(p, a);
  for (int j = 0; j < p; j++) {
    memset(e, 0, sizeof(double) * (size_t)p);
    e[j] = 1;
    dense_solve(p, a, e);
    bound[j] = regular ? sqrt(e[j]) : INFINITY;
  }
  free(a);
  carom_fit_destroy(fit);
}

/* ---- repetitions ----------------------------------------------------------------------------- */

static void note_one(const carom_fit *fit, const double *bound, int j, uint64_t seed, bool all,
                     tally *t) {
  const unknown *u = &fit->unknowns.items[j];
  const carom_fit_estimate *e = &fit->result.estimates[j];
  snprintf(t->name, sizeof t->name, "%s", e->name);
  if (!(bound[j] < u->natural)) return;
  double slope = unknown_slope(u, unknown_coordinate(u, u->scene));
  double off = (e->value - e->scene) / (bound[j] * slope);
  bool held = e->low <= e->scene && e->scene <= e->high;
  t->count++;
  t->held += held;
  t->at_border += e->at_border;
  t->undetermined += !e->determined;
  bool regular = e->determined && (e->scene == 0 || bound[j] * slope < 0.25 * fabs(e->scene));
  if (regular) {
    t->regular++;
    t->sum += off;
    t->square += off * off;
    t->error += pow(e->value - e->scene, 2);
    t->said += pow(e->deviation / (bound[j] * slope), 2);
  }
  if (all)
    printf("  %llu %-20s %+7.2f of the bound, said %5.2f, %s%s%s%s\n", (unsigned long long)seed,
           e->name, off, e->deviation / (bound[j] * slope), held ? "held" : "LOST",
           e->at_border ? ", at its border" : "", e->determined ? "" : ", not determined",
           regular ? ", counted" : "");
}

/* The minimum beside the truth: its numbers, and first states of trajectories without noise. */
static carom_status descend_from_truth(carom_fit *fit, const carom_trajectories *exact,
                                       carom_error *error) {
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  size_t D = (size_t)sh->D;
  for (int j = 0; j < sh->p; j++)
    m->q[j] = unknown_coordinate(&fit->unknowns.items[j], fit->unknowns.items[j].scene);
  sh->free_states = true;
  carom_status status = shooting_recut(sh, 1000000, error);
  for (int i = 0; i < sh->piece_count; i++) {
    size_t from = (size_t)i * (size_t)exact->state_count * D;
    memcpy(m->starts + (size_t)i * 2 * D, exact->x + from, sizeof(double) * D);
    memcpy(m->starts + ((size_t)i * 2 + 1) * D, exact->v + from, sizeof(double) * D);
  }
  if (status == CAROM_OK) status = minimise(m, error);
  sh->note_felt = true;
  if (status == CAROM_OK)
    status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &m->cost, error);
  sh->note_felt = false;
  return status;
}

static carom_fit_options fit_options(double noise, bool given) {
  carom_fit_options options = carom_fit_default_options();
  options.threads = 1;
  options.project = true;
  if (given)
    options.position_noise = options.velocity_noise = options.angle_noise = options.rate_noise =
        noise;
  return options;
}

/* The minimum beside the truth, with its estimates in the place of those of a fit. */
static carom_status fit_truth(const setting *s, const carom_trajectories *exact,
                              const carom_trajectories *t, double noise, carom_fit **fit,
                              carom_error *error) {
  carom_fit_options options = fit_options(noise, true);
  options.piece = 1000000;
  carom_status status =
      carom_fit_create(s->data.system, t, s->unknowns, &s->data.how, &options, fit, error);
  if (status == CAROM_OK) status = descend_from_truth(*fit, exact, error);
  if (status == CAROM_OK) status = judge(&(*fit)->minimiser, NULL, &(*fit)->verdict, error);
  if (status == CAROM_OK) (*fit)->result.estimates = (*fit)->verdict.estimates;
  return status;
}

/* The cost of a fit beside that of the minimum beside the truth, trajectory by trajectory where they differ. */
static void print_cost(const carom_fit *fit, const carom_fit *beside, uint64_t seed, double least) {
  const shooting *here = &fit->shooting;
  printf("  %llu iterations %d cost %.3f, from the truth %.3f", (unsigned long long)seed,
         fit->minimiser.iterations, fit->minimiser.cost, least);
  if (beside != NULL && fabs(fit->minimiser.cost - least) > 0.05 &&
      here->piece_count == beside->shooting.piece_count)
    for (int i = 0; i < here->piece_count; i++)
      printf("%s %+.3f", i == 0 ? ":" : ",", here->piece_cost[i] - beside->shooting.piece_cost[i]);
  printf("\n");
}

static bool repeat(const setting *s, double noise, const char *how, uint64_t seed, bool all,
                   tally *tallies, int *outliers, double *channel, int *higher, double *time) {
  carom_trajectories exact = noisy_simulate(&s->data, seed), t = noisy_simulate(&s->data, seed);
  const bool truth = strcmp(how, "truth") == 0, given = strcmp(how, "given") == 0;
  double bound[256], least = INFINITY;
  find_bound(s, &t, noise, bound);
  noisy_disturb(&s->data, &t, noise, seed);
  carom_fit *fit = NULL, *beside = NULL;
  carom_error error = {0};
  carom_status status = CAROM_OK;
  if (truth || given) status = fit_truth(s, &exact, &t, noise, &beside, &error);
  if (beside != NULL && status == CAROM_OK) least = beside->minimiser.cost;
  if (truth) {
    fit = beside;
    beside = NULL;
  } else if (status == CAROM_OK) {
    const carom_fit_options options = fit_options(noise, given);
    clock_t start = clock();
    status =
        carom_fit_create(s->data.system, &t, s->unknowns, &s->data.how, &options, &fit, &error);
    if (status == CAROM_OK) status = carom_fit_run(fit, &error);
    *time += (double)(clock() - start) / CLOCKS_PER_SEC;
  }
  if (status == CAROM_OK) {
    for (int j = 0; j < fit->unknowns.count; j++) note_one(fit, bound, j, seed, all, &tallies[j]);
    for (int r = 0; r < fit->result.trajectory_count; r++)
      *outliers += fit->result.trajectories[r].outliers;
    for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) channel[c] += fit->shooting.noise[c] / noise;
    *higher += fit->minimiser.cost > least + 0.5;
    if (all) print_cost(fit, beside, seed, least);
  } else {
    fprintf(stderr, "repetition %llu: %s\n", (unsigned long long)seed, error.message);
  }
  carom_fit_destroy(fit);
  carom_fit_destroy(beside);
  carom_trajectories_free(&t);
  carom_trajectories_free(&exact);
  return status == CAROM_OK;
}

int main(int argc, char **argv) {
  if (argc < 8)
    give_up("make_fit_coverage",
            "SCENE UNKNOWNS NOISE REPETITIONS TRAJECTORIES STEPS given|estimated|truth");
  setting s = {.unknowns = argv[2]};
  double noise = atof(argv[3]);
  int repetitions = atoi(argv[4]), failed = 0, outliers = 0, higher = 0;
  uint64_t first = argc > 8 ? strtoull(argv[8], NULL, 10) : 1;
  bool all = argc > 9;
  carom_error error = {0};
  carom_system *system;
  if (carom_system_load(argv[1], &system, &error) != CAROM_OK)
    give_up("make_fit_coverage", error.message);
  s.data = noisy_make(system, atoi(argv[5]), atoi(argv[6]));
  tally tallies[256] = {0};
  double channel[CAROM_CHANNEL_COUNT] = {0};
  double time = 0;
  for (int k = 0; k < repetitions; k++) {
    failed += !repeat(&s, noise, argv[7], first + (uint64_t)k, all, tallies, &outliers, channel,
                      &higher, &time);
    if (all) fflush(stdout);
  }
  printf(
      "%s, noise %s (%s), %d repetitions of %d x %d steps, %d failed, %d above the minimum beside "
      "the "
      "truth; %.2f s and %.1f outliers each\n",
      argv[1], argv[3], argv[7], repetitions, s.data.count, s.data.steps, failed, higher,
      time / repetitions, (double)outliers / repetitions);
  printf("noise found, by the truth:");
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) printf(" %.3f", channel[c] / repetitions);
  printf("\n  %5s %7s  %-24s %7s %7s %10s %7s %10s %7s %7s\n", "count", "regular", "unknown",
         "held", "bias", "deviation", "said", "error", "border", "open");
  for (int j = 0; j < 256 && tallies[j].name[0] != '\0'; j++) {
    const tally *t = &tallies[j];
    double n = t->regular, deviation = sqrt(t->square / n);
    if (t->count == 0) continue;
    printf("  %5d %7d  %-24s %7.3f %+7.3f %10.3f %7.3f %10.2e %7d %7d\n", t->count, t->regular,
           t->name, (double)t->held / t->count, t->sum / n / deviation, deviation,
           sqrt(t->said / n), sqrt(t->error / n), t->at_border, t->undetermined);
  }
  carom_system_destroy(system);
  return 0;
}
