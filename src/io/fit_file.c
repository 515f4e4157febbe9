#include "io/fit_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/fit.h"
#include "io/h5_file.h"
#include "system/system.h"

typedef double estimate_field(const carom_fit_estimate *e);
static double value_of(const carom_fit_estimate *e) { return e->value; }
static double deviation_of(const carom_fit_estimate *e) { return e->deviation; }
static double low_of(const carom_fit_estimate *e) { return e->low; }
static double high_of(const carom_fit_estimate *e) { return e->high; }
static double start_of(const carom_fit_estimate *e) { return e->start; }
static double scene_of(const carom_fit_estimate *e) { return e->scene; }
static double determined_of(const carom_fit_estimate *e) { return e->determined; }
static double profiled_of(const carom_fit_estimate *e) { return e->profiled; }

static carom_status write_estimates(h5_writer *w, const carom_fit_result *r, double *column,
                                    carom_error *error) {
  static const struct {
    const char *name;
    estimate_field *field;
  } fields[] = {{"value", value_of},
                {"deviation", deviation_of},
                {"low", low_of},
                {"high", high_of},
                {"start", start_of},
                {"scene", scene_of},
                {"determined", determined_of},
                {"profiled", profiled_of}};
  h5_axis axis = {"estimates", r->estimate_count};
  carom_status status = CAROM_OK;
  for (size_t k = 0; k < sizeof fields / sizeof fields[0] && status == CAROM_OK; k++) {
    for (int i = 0; i < r->estimate_count; i++) column[i] = fields[k].field(&r->estimates[i]);
    status = h5_write_doubles(w, fields[k].name, 1, &axis, column, error);
  }
  return status;
}

static carom_status write_names(h5_writer *w, const carom_fit_result *r, carom_error *error) {
  size_t size = 1;
  for (int i = 0; i < r->estimate_count; i++) size += strlen(r->estimates[i].name) + 1;
  char *text = malloc(size), *at = text;
  if (text == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for names");
  for (int i = 0; i < r->estimate_count; i++)
    at += snprintf(at, size - (size_t)(at - text), "%s%s", i > 0 ? "\n" : "", r->estimates[i].name);
  carom_status status = h5_write_text_attribute(w, "names", text, error);
  free(text);
  return status;
}

static carom_status write_all(h5_writer *w, const carom_fit *fit, double *column,
                              carom_error *error) {
  const carom_fit_result *r = &fit->result;
  h5_axis square[2] = {{"unknowns", r->unknown_count}, {"unknowns", r->unknown_count}};
  h5_axis channels = {"channels", CAROM_CHANNEL_COUNT};
  double noise[CAROM_CHANNEL_COUNT];
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) noise[c] = r->channels[c].noise;
  carom_status status = h5_write_origin(w, fit->system->json, fit->simulation.dt, error);
  if (status == CAROM_OK) status = write_names(w, r, error);
  if (status == CAROM_OK) status = write_estimates(w, r, column, error);
  if (status == CAROM_OK)
    status = h5_write_doubles(w, "correlation", 2, square, r->correlation, error);
  if (status == CAROM_OK) status = h5_write_doubles(w, "noise", 1, &channels, noise, error);
  return status;
}

carom_status carom_fit_write(const carom_fit *fit, const char *path, carom_error *error) {
  REQUIRE(fit, error);
  REQUIRE(path, error);
  if (!fit->has_result)
    return error_set(error, CAROM_INVALID_ARGUMENT, "the fit has not been run; call carom_fit_run");
  double *column = size_allocate((size_t)fit->result.estimate_count, sizeof(double));
  h5_writer *w;
  carom_status status = column == NULL ? error_set(error, CAROM_OUT_OF_MEMORY, "no memory to write")
                                       : h5_writer_create(path, &w, error);
  if (status == CAROM_OK) status = h5_writer_finish(w, write_all(w, fit, column, error), error);
  free(column);
  return status == CAROM_OK ? error_clear(error) : status;
}
