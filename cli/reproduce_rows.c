#include "cli/reproduce_rows.h"

#include "cli/output.h"
#include "cli/paper_values.h"
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

double group_mean(const run_group *g, const char *path) {
  double sum = 0.0;
  for (int k = 0; k < g->count; k++) sum += json_at(g->runs[k].evaluation, path);
  return sum / g->count;
}

/* ---- rows that several targets have ---------------------------------------------------------- */

// one friction and restitution for all contacts: that of the first
void add_property_row(const run_group *g, json_t *rows) {
  const result *r = &g->runs[0];
  if (!r->shared_properties || isnan(json_at(r->evaluation, "contacts.0.friction"))) return;
  const json_t *paper = paper_entry("properties", r->task, r->model);
  json_t *row = group_row(g);
  json_object_set_new(row, "friction",
                      group_value(g, "contacts.0.friction", "contacts.0.scene_friction",
                                  json_at(paper, "friction"), 3));
  json_object_set_new(row, "restitution",
                      group_value(g, "contacts.0.restitution", "contacts.0.scene_restitution",
                                  json_at(paper, "restitution"), 3));
  json_array_append_new(rows, row);
}

void add_error_row(const run_group *g, json_t *rows) {
  static const char *const parts[][2] = {{"chunk", "chunk.relative_error"},
                                         {"chunk_state_norm", "chunk.state_norm_error"},
                                         {"absolute", "chunk.absolute_error"},
                                         {"scene", "scene_relative_error"},
                                         {"extended", "extended.relative_error"},
                                         {"energy_drift", "energy.drift_predicted.greatest"},
                                         {"energy_drift_true", "energy.drift_true.greatest"}};
  const json_t *first = g->runs[0].evaluation;
  json_t *row = group_row(g);
  const int states = (int)fmax(1.0, json_at(first, "extended.states"));
  json_object_set_new(row, "chunk_states", json_integer((int)json_at(first, "chunk.states")));
  json_object_set_new(row, "steps", json_integer(states - 1));
  for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++)
    json_object_set_new(row, parts[part][0], group_estimate(g, parts[part][1]));
  json_object_set_new(row, "chunk_median",
                      json_number(group_mean(g, "chunk.relative_error.median")));
  json_object_set_new(row, "extended_median",
                      json_number(group_mean(g, "extended.relative_error.median")));
  double loss = 0, seconds = 0;
  for (int k = 0; k < g->count; k++) {
    loss += g->runs[k].best_loss / g->count;
    seconds += g->runs[k].iteration_seconds / g->count;
  }
  json_object_set_new(row, "training_chunks", json_integer((int)json_at(first, "training_chunks")));
  json_object_set_new(row, "validation_loss", json_number(loss));
  json_object_set_new(row, "iteration_seconds", json_number(seconds));
  json_object_set_new(row, "error_of_state", group_curve(g, "extended.error_of_state"));
  // predictions that became non-finite
  const double failed = group_sum(g, "chunk.failed") + group_sum(g, "extended.failed");
  json_object_set_new(row, "failed", json_integer((int)failed));
  const json_t *paper = paper_entry("errors", g->runs[0].task, g->runs[0].model);
  const bool at_most = json_at(row, "chunk.mean") <= json_at(paper, "mean");
  json_object_set_new(row, "paper", paper == NULL ? json_null() : json_incref((json_t *)paper));
  json_object_set_new(row, "at_most_paper", paper == NULL ? json_null() : json_boolean(at_most));
  json_array_append_new(rows, row);
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
