#include "cli/fit_compare.h"

#include "cli/output.h"

#include <math.h>
#include <stdio.h>

void hypothesis_free(hypothesis *h) {
  carom_fit_prediction_free(&h->prediction);
  carom_fit_destroy(h->fit);
  *h = (hypothesis){0};
}

static double bic_of(const hypothesis *h) { return carom_fit_result_of(h->fit)->bic; }

static int best_of(const hypothesis *all, int count) {
  int best = 0;
  for (int k = 1; k < count; k++)
    if (bic_of(&all[k]) < bic_of(&all[best])) best = k;
  return best;
}

/* How much further off the predictions of `h` are than those of the first, trajectory by trajectory. */
typedef struct excess {
  double mean, error;
} excess;

static excess excess_of(const hypothesis *first, const hypothesis *h) {
  const carom_fit_prediction *a = &first->prediction, *b = &h->prediction;
  const int count = a->count < b->count ? a->count : b->count;
  excess e = {0, 0};
  for (int k = 0; k < count; k++) e.mean += (b->position[k] - a->position[k]) / count;
  for (int k = 0; k < count; k++) {
    const double off = b->position[k] - a->position[k] - e.mean;
    e.error += off * off;
  }
  e.error = count > 1 ? sqrt(e.error / (count - 1) / count) : 0;
  return e;
}

void hypotheses_print(const hypothesis *all, int count) {
  const int best = best_of(all, count);
  printf("\nhypotheses     %-36s %8s %14s %12s %s\n", "", "unknowns", "log likelihood", "BIC",
         all[0].predicted ? "   position held out" : "");
  for (int k = 0; k < count; k++) {
    const carom_fit_result *r = carom_fit_result_of(all[k].fit);
    printf("               %-36s %8d %14.6g %+12.6g", all[k].unknown, r->unknown_count,
           r->log_likelihood, r->bic - bic_of(&all[best]));
    if (all[k].predicted) printf(" %12.5g", all[k].prediction.position_mean);
    if (all[k].predicted && k > 0) {
      const excess e = excess_of(&all[0], &all[k]);
      printf(" (%+.2g +- %.2g)", e.mean, e.error);
    }
    putchar('\n');
  }
  printf("               the least BIC is that of %s; %s\n", all[best].unknown,
         count == 2 && fabs(bic_of(&all[0]) - bic_of(&all[1])) < 6
             ? "a difference below 6 says little"
             : "10 more is strong evidence against a hypothesis");
}

json_t *hypotheses_json(const hypothesis *all, int count) {
  json_t *array = json_array();
  for (int k = 0; k < count; k++) {
    const carom_fit_result *r = carom_fit_result_of(all[k].fit);
    json_t *one =
        json_pack("{ss si so so}", "unknown", all[k].unknown, "unknowns", r->unknown_count,
                  "log_likelihood", json_number(r->log_likelihood), "bic", json_number(r->bic));
    if (one != NULL && all[k].predicted) {
      const excess e = excess_of(&all[0], &all[k]);
      json_object_set_new(one, "position", json_number(all[k].prediction.position_mean));
      json_object_set_new(one, "angle", json_number(all[k].prediction.angle_mean));
      json_object_set_new(one, "position_excess", json_number(e.mean));
      json_object_set_new(one, "position_excess_error", json_number(e.error));
    }
    json_array_append_new(array, one);
  }
  return array;
}
