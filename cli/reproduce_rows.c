#include "cli/reproduce_rows.h"

#include "cli/output.h"
#include "cli/template.h"

#include <math.h>
#include <stdio.h>

json_t *rows_of_groups(const result_list *list, void (*add)(const run_group *g, json_t *rows)) {
  json_t *rows = json_array();
  for (int k = 0, end; k < list->count; k = end) {
    end = results_group_end(list, k);
    const run_group g = {&list->items[k], end - k};
    add(&g, rows);
  }
  return rows;
}

json_t *group_row(const run_group *g) {
  json_t *seeds = json_array();
  for (int k = 0; k < g->count; k++) json_array_append_new(seeds, json_integer(g->runs[k].seed));
  return json_pack("{ss ss so}", "task", g->runs[0].task, "model", g->runs[0].model, "seeds",
                   seeds);
}

json_t *group_value(const run_group *g, const char *path, const char *true_path, double paper,
                    int decimals) {
  const double truth = json_at(g->runs[0].evaluation, true_path);
  double sum = 0.0, least = INFINITY, most = -INFINITY, off = 0.0;
  for (int k = 0; k < g->count; k++) {
    const double value = json_at(g->runs[k].evaluation, path);
    sum += value;
    least = fmin(least, value);
    most = fmax(most, value);
    off = fmax(off, fabs(value - truth));
  }
  // half a unit of the paper's last decimal, with room for rounding of its own
  const double room = 0.5 * pow(10.0, -decimals) * (1.0 + 1e-9);
  json_t *close = isnan(paper) ? json_null() : json_boolean(off <= fabs(paper - truth) + room);
  return json_pack("{so so so so so so so}", "true", json_number(truth), "mean",
                   json_number(sum / g->count), "min", json_number(least), "max", json_number(most),
                   "off", json_number(off), "paper", json_number(paper), "at_least_as_close",
                   close);
}

/* ---- estimates ------------------------------------------------------------------------------- */

/* What an evaluation says of one number over trajectories; a null is that of too few. */
typedef struct sample {
  double count, mean, half_width;
} sample;

static double or_zero(double value) { return isnan(value) ? 0.0 : value; }

static sample sample_of(const result *r, const char *path) {
  const json_t *value = json_find(r->evaluation, path);
  return (sample){or_zero(json_at(value, "count")), or_zero(json_at(value, "mean")),
                  or_zero(json_at(value, "half_width_95"))};
}

/* From each seed's count n, mean m and half width h = 1.96 s / sqrt(n), the squares about the common
 * mean are the sum of (n - 1) s^2 + n (m - mean)^2. */
json_t *group_estimate(const run_group *g, const char *path) {
  static const double quantile = 1.96;
  double count = 0.0, mean = 0.0, least = INFINITY, most = -INFINITY, squares = 0.0;
  for (int k = 0; k < g->count; k++) {
    const sample s = sample_of(&g->runs[k], path);
    if (s.count < 1.0) continue;
    count += s.count;
    mean += (s.mean - mean) * s.count / count;
    least = fmin(least, s.mean);
    most = fmax(most, s.mean);
  }
  for (int k = 0; k < g->count; k++) {
    const sample s = sample_of(&g->runs[k], path);
    const double deviation = s.half_width * sqrt(s.count) / quantile, off = s.mean - mean;
    if (s.count < 1.0) continue;
    squares += (s.count - 1.0) * deviation * deviation + s.count * off * off;
  }
  // without trajectories there is no mean, from one no interval
  const double half_width = quantile * sqrt(squares / (count * (count - 1.0)));
  return json_pack("{si so so so so}", "count", (int)count, "mean",
                   json_number(count > 0.0 ? mean : NAN), "half_width_95", json_number(half_width),
                   "min", json_number(least), "max", json_number(most));
}

json_t *group_curve(const run_group *g, const char *path) {
  const size_t states = json_array_size(json_find(g->runs[0].evaluation, path));
  json_t *curve = json_array();
  for (size_t state = 0; state < states; state++) {
    double sum = 0.0;
    for (int k = 0; k < g->count; k++) {
      const json_t *values = json_find(g->runs[k].evaluation, path);
      const json_t *value = json_array_get(values, state);
      sum += json_is_number(value) ? json_number_value(value) : NAN;
    }
    json_array_append_new(curve, json_number(sum / g->count));
  }
  return curve;
}

double group_sum(const run_group *g, const char *path) {
  double sum = 0.0;
  for (int k = 0; k < g->count; k++) sum += or_zero(json_at(g->runs[k].evaluation, path));
  return sum;
}

/* ---- runs ------------------------------------------------------------------------------------ */

json_t *run_rows(const result_list *list) {
  json_t *rows = json_array();
  for (int k = 0; k < list->count; k++) {
    const result *r = &list->items[k];
    const double programs = or_zero(json_at(r->evaluation, "report.programs"));
    const double unsolved = or_zero(json_at(r->evaluation, "report.failed_programs"));
    json_array_append_new(
        rows, json_pack("{ss ss si si si so sI sI ss ss}", "task", r->task, "model", r->model,
                        "seed", r->seed, "epochs", r->epochs, "best_epoch", r->best_epoch,
                        "seconds", json_number(r->seconds), "programs",
                        (json_int_t)r->programs + (json_int_t)programs, "unsolved_programs",
                        (json_int_t)r->unsolved + (json_int_t)unsolved, "carom_version", r->version,
                        "command", r->command));
  }
  return rows;
}
