#include "io/plan_file.h"

#include "base/error.h"
#include "base/size.h"
#include "io/h5_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One array of numbers of the file. */
typedef struct numbers {
  const char *name;
  int rank;
  h5_axis axes[4];
  const double *values;
} numbers;

static carom_status write_motion(h5_writer *writer, const carom_plan_result *r,
                                 const carom_system_info *info, carom_error *error) {
  const int states = r->steps + 1;
  const numbers arrays[] = {
      {"x",
       4,
       {{"motions", r->motions},
        {"states", states},
        {"points", info->point_count},
        {"dimension", info->dimension}},
       r->x},
      {"v",
       4,
       {{"motions", r->motions},
        {"states", states},
        {"points", info->point_count},
        {"dimension", info->dimension}},
       r->v},
      {"u",
       3,
       {{"motions", r->motions}, {"steps", r->steps}, {"controls", info->control_size}},
       r->u}};
  carom_status status = CAROM_OK;
  for (size_t k = 0; status == CAROM_OK && k < sizeof arrays / sizeof arrays[0]; k++)
    if (arrays[k].values != NULL)
      status = h5_write_doubles(writer, arrays[k].name, arrays[k].rank, arrays[k].axes,
                                arrays[k].values, error);
  const h5_axis flags[] = {{"motions", r->motions}, {"states", states}};
  if (status == CAROM_OK) status = h5_write_bytes(writer, "contact", 2, flags, r->contacts, error);
  double *t = size_allocate((size_t)states, sizeof(double));
  if (t == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for times");
  for (int k = 0; k < states; k++) t[k] = k * r->dt;
  if (status == CAROM_OK) status = h5_write_doubles(writer, "t", 1, flags + 1, t, error);
  free(t);
  return status;
}

static carom_status write_course(h5_writer *writer, const carom_plan_result *r,
                                 carom_error *error) {
  const int points = r->iterations + 1, k = r->unknown_count;
  const numbers arrays[] = {
      {"loss", 1, {{"iterations", points}}, r->losses},
      {"gradient_norm", 1, {{"iterations", points}}, r->gradient_norms},
      {"rate", 1, {{"iterations", points}}, r->rates},
      {"unknowns", 2, {{"iterations", points}, {"unknowns", k}}, r->history},
      {"start_unknowns", 1, {{"unknowns", k}}, r->start_unknowns + (size_t)r->best * (size_t)k},
      {"best_unknowns", 1, {{"unknowns", k}}, r->unknowns},
      {"gradient", 1, {{"unknowns", k}}, r->gradient},
      {"terms", 1, {{"terms", r->term_count}}, r->terms},
      {"true_terms", 1, {{"terms", r->term_count}}, r->judged ? r->true_terms : NULL},
      {"starts_begin", 2, {{"starts", r->start_count}, {"unknowns", k}}, r->start_unknowns},
      {"starts_end", 2, {{"starts", r->start_count}, {"unknowns", k}}, r->end_unknowns}};
  carom_status status = CAROM_OK;
  for (size_t i = 0; status == CAROM_OK && i < sizeof arrays / sizeof arrays[0]; i++)
    if (arrays[i].values != NULL)
      status = h5_write_doubles(writer, arrays[i].name, arrays[i].rank, arrays[i].axes,
                                arrays[i].values, error);
  return status;
}

static carom_status write_starts(h5_writer *writer, const carom_plan_result *r,
                                 carom_error *error) {
  const h5_axis axis = {"starts", r->start_count};
  double *first = size_allocate(2 * (size_t)r->start_count, sizeof(double));
  int *iterations = size_allocate((size_t)r->start_count, sizeof(int));
  carom_status status = CAROM_OK;
  if (first == NULL || iterations == NULL)
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d starts", r->start_count);
  for (int k = 0; status == CAROM_OK && k < r->start_count; k++) {
    first[k] = r->starts[k].first_loss;
    first[r->start_count + k] = r->starts[k].loss;
    iterations[k] = r->starts[k].iterations;
  }
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, "starts_first_loss", 1, &axis, first, error);
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, "starts_loss", 1, &axis, first + r->start_count, error);
  if (status == CAROM_OK)
    status = h5_write_ints(writer, "starts_iterations", 1, &axis, iterations, error);
  free(first);
  free(iterations);
  return status;
}

/* Names, one on a line; an attribute holds 64 KB at most, so only as many as fit. */
static carom_status write_names(h5_writer *writer, const carom_plan *plan, const char *name,
                                bool terms, carom_error *error) {
  enum { ROOM = 60000 };
  const carom_plan_info info = carom_plan_describe(plan);
  const int count = terms ? info.term_count : info.unknown_count;
  char *text = size_allocate_zero(ROOM, 1);
  size_t used = 0;
  if (text == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for names");
  for (int k = 0; k < count && used + 512 < ROOM; k++) {
    char label[512];
    if (terms)
      carom_plan_term_label(plan, k, label, sizeof label);
    else
      snprintf(label, sizeof label, "%s", carom_plan_unknown(plan, k).name);
    used += (size_t)snprintf(text + used, ROOM - used, "%s%s", k > 0 ? "\n" : "", label);
  }
  carom_status status = h5_write_text_attribute(writer, name, text, error);
  free(text);
  return status;
}

static carom_status write_attributes(h5_writer *writer, const carom_plan_result *r,
                                     const carom_plan *plan, carom_error *error) {
  const carom_plan_info info = carom_plan_describe(plan);
  const struct {
    const char *name;
    double value;
    bool wanted;
  } values[] = {{"best_loss", r->loss, true},
                {"success", r->success, true},
                {"true_loss", r->true_loss, r->judged},
                {"true_success", r->true_success, r->judged}};
  carom_status status = h5_write_text_attribute(writer, "plan", info.json, error);
  if (status == CAROM_OK)
    status = h5_write_text_attribute(writer, "stop", carom_plan_stop_text(r->starts[r->best].stop),
                                     error);
  if (status == CAROM_OK) status = write_names(writer, plan, "unknown_names", false, error);
  if (status == CAROM_OK) status = write_names(writer, plan, "term_names", true, error);
  for (size_t k = 0; status == CAROM_OK && k < sizeof values / sizeof values[0]; k++)
    if (values[k].wanted)
      status = h5_write_number_attribute(writer, values[k].name, values[k].value, error);
  return status;
}

carom_status carom_plan_result_write(const carom_plan_result *result, const carom_plan *plan,
                                     const char *path, carom_error *error) {
  REQUIRE(result, error);
  REQUIRE(plan, error);
  REQUIRE(path, error);
  const carom_plan_info info = carom_plan_describe(plan);
  const carom_system_info system = carom_system_describe(info.system);
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  status = h5_write_origin(writer, system.json, result->dt, error);
  if (status == CAROM_OK) status = write_motion(writer, result, &system, error);
  if (status == CAROM_OK) status = write_course(writer, result, error);
  if (status == CAROM_OK) status = write_starts(writer, result, error);
  if (status == CAROM_OK) status = write_attributes(writer, result, plan, error);
  return h5_writer_finish(writer, status, error);
}
