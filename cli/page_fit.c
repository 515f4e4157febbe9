/* The folder of a fit (`carom fit -o`) as a document: what fit.json says, as facts, tables and charts. */
#include "cli/memory.h"
#include "cli/page_input.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool page_is_fit(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/fit.json", folder);
  return access(path, R_OK) == 0;
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

// a member as it is, null where there is none
static json_t *member(const json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  return value != NULL ? json_incref(value) : json_null();
}

static bool is_set(const json_t *object, const char *key) {
  return json_is_true(json_object_get(object, key));
}

static void add_estimates(page_document *d, const json_t *fit) {
  static const char *const columns[] = {"unknown", "value", "deviation", "95 % from", "to",
                                        "start",   "scene", "",          NULL};
  json_t *rows = page_table(d, "Estimates",
                            "Intervals are those of the information matrix, at a border those of "
                            "the profile likelihood.",
                            columns);
  size_t index;
  json_t *e;
  json_array_foreach(json_object_get(fit, "estimates"), index, e) {
    const char *remark = !is_set(e, "determined") ? "not determined"
                         : is_set(e, "profiled")  ? "at its border, profile"
                         : is_set(e, "at_border") ? "at its border"
                         : is_set(e, "derived")   ? "derived"
                                                  : "";
    json_array_append_new(rows,
                          json_pack("[s o o o o o o s]", text_of(e, "name"), member(e, "value"),
                                    member(e, "deviation"), member(e, "low"), member(e, "high"),
                                    member(e, "start"), member(e, "scene"), remark));
  }
}

/* Names as columns; the darker a pair, the harder it is to tell apart, so numbers stand with their sign. */
static void add_correlation(page_document *d, const json_t *fit) {
  enum { MOST = 64 };
  const json_t *matrix = json_object_get(fit, "correlation"),
               *estimates = json_object_get(fit, "estimates");
  const size_t count = json_array_size(matrix);
  const char *columns[MOST + 2] = {""};
  if (count < 2 || count > MOST) return;
  for (size_t k = 0; k < count; k++) columns[k + 1] = text_of(json_array_get(estimates, k), "name");
  columns[count + 1] = NULL;
  json_t *rows = page_table(
      d, "Correlation", "Near +1 or -1: the data tells a combination of the two alone.", columns);
  for (size_t i = 0; i < count; i++) {
    json_t *row = json_pack("[s]", columns[i + 1]);
    for (size_t j = 0; j < count; j++) {
      const double c = json_number_value(json_array_get(json_array_get(matrix, i), j));
      char text[16];
      snprintf(text, sizeof text, "%+.3f", c);
      json_array_append_new(row, json_string(text));
    }
    json_array_append_new(rows, row);
  }
}

static void add_channels(page_document *d, const json_t *fit) {
  static const char *const columns[] = {"channel", "numbers", "noise", "residual", "", NULL};
  json_t *rows = page_table(d, "Residuals by channel", "Root mean squares.", columns);
  const char *name;
  json_t *c;
  json_object_foreach(json_object_get(fit, "channels"), name, c) {
    json_array_append_new(
        rows, json_pack("[s o o o s]", name, member(c, "numbers"), member(c, "noise"),
                        member(c, "residual"), is_set(c, "estimated") ? "estimated" : "as given"));
  }
}

static void add_trajectories(page_document *d, const json_t *fit) {
  static const char *const columns[] = {"trajectory", "numbers", "deviations", "states far off",
                                        NULL};
  const json_t *all = json_object_get(fit, "trajectories");
  json_t *rows = page_table(d, "Residuals by trajectory",
                            "The worst first. Root mean squares in deviations of the noise: near 1 "
                            "where only noise is left.",
                            columns);
  const size_t count = json_array_size(all);
  double *values = allocate(2 * count, sizeof(double));
  size_t index;
  json_t *t;
  json_array_foreach(all, index, t) {
    json_array_append_new(rows,
                          json_pack("[o o o o]", member(t, "trajectory"), member(t, "numbers"),
                                    member(t, "deviation"), member(t, "outliers")));
    if (values == NULL) continue;
    values[index] = (double)index;
    values[count + index] = json_number_value(json_object_get(t, "deviation"));
  }
  if (values != NULL && count > 1)
    page_series(page_chart(d,
                           &(page_chart_info){.title = "Residuals by trajectory, the worst first",
                                              .x_label = "place",
                                              .y_label = "deviations of the noise",
                                              .group = "fit"},
                           page_numbers(d, values, (int)count, 1, true)),
                "residual", page_numbers(d, values + count, (int)count, 1, true), 1);
  d->failed = d->failed || values == NULL;
  free(values);
}

static void add_texts(page_document *d, const json_t *fit) {
  static const char *const columns[] = {"", "note", NULL};
  const json_t *notes = json_object_get(fit, "notes"), *findings = json_object_get(fit, "findings");
  if (json_array_size(notes) + json_array_size(findings) == 0) return;
  json_t *rows = page_table(d, "Notes", NULL, columns), *n;
  size_t index;
  json_array_foreach(notes, index, n) {
    json_array_append_new(rows, json_pack("[s o]", is_set(n, "warning") ? "warning" : "",
                                          page_text(text_of(n, "text"))));
  }
  json_array_foreach(findings, index, n) {
    json_array_append_new(rows, json_pack("[s o]", "data", page_text(json_string_value(n))));
  }
}

static void add_hypotheses(page_document *d, const json_t *fit) {
  static const char *const columns[] = {"unknowns", "how many",          "log likelihood",
                                        "BIC",      "position held out", NULL};
  const json_t *all = json_object_get(fit, "hypotheses");
  if (json_array_size(all) == 0) return;
  json_t *rows = page_table(d, "Hypotheses", "The least BIC is the best.", columns), *h;
  size_t index;
  json_array_foreach(all, index, h) {
    json_array_append_new(
        rows, json_pack("[o o o o o]", page_text(text_of(h, "unknown")), member(h, "unknowns"),
                        member(h, "log_likelihood"), member(h, "bic"), member(h, "position")));
  }
}

carom_status page_add_fit(page *p, const char *folder, carom_error *error) {
  char path[4096], name[256];
  json_error_t problem;
  snprintf(path, sizeof path, "%s/fit.json", folder);
  json_t *fit = json_load_file(path, 0, &problem);
  if (!json_is_object(fit) || !json_is_array(json_object_get(fit, "estimates"))) {
    const bool unread = fit == NULL;
    json_decref(fit);
    return carom_error_set(error, CAROM_INVALID_DATA, "%s: is not the result of a fit%s%s", path,
                           unread ? ": " : "", unread ? problem.text : "");
  }
  page_document *d = page_add(p, "file", path_name(folder, name, sizeof name));
  if (d == NULL) {
    json_decref(fit);
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  }
  page_fact(d, "scene", "%s", text_of(fit, "scene"));
  page_fact(d, "data", "%s", text_of(fit, "data"));
  page_fact(d, "unknown", "%s", text_of(fit, "unknown"));
  page_fact(d, "pieces", "%d", (int)json_integer_value(json_object_get(fit, "pieces")));
  page_fact(d, "log likelihood", "%.6g", json_number_value(json_object_get(fit, "log_likelihood")));
  page_fact(d, "BIC", "%.6g", json_number_value(json_object_get(fit, "bic")));
  const json_t *held = json_object_get(fit, "prediction");
  if (held != NULL)
    page_fact(d, "held out", "%d trajectories, position off by %.4g on average",
              (int)json_integer_value(json_object_get(held, "trajectories")),
              json_number_value(json_object_get(held, "position")));
  add_estimates(d, fit);
  add_texts(d, fit);
  add_correlation(d, fit);
  add_channels(d, fit);
  add_trajectories(d, fit);
  add_hypotheses(d, fit);
  json_decref(fit);
  return CAROM_OK;
}
