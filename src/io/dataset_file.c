#include "io/dataset_file.h"

#include "base/error.h"
#include "base/size.h"
#include "io/h5_file.h"
#include "io/trajectory_file.h"
#include "learn/chunks.h"
#include "learn/dataset.h"
#include "learn/options.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name of a dataset in the group of a split. */
typedef struct item_name {
  char text[32];
} item_name;

static item_name item(int split, const char *name) {
  item_name full;
  snprintf(full.text, sizeof full.text, "%s/%s", carom_split_name(split), name);
  return full;
}

/* ---- writing ---- */

static carom_status write_times(h5_writer *writer, int split, int states, double dt,
                                carom_error *error) {
  double *t = size_allocate((size_t)states, sizeof(double));
  if (t == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  for (int k = 0; k < states; k++) t[k] = k * dt;
  const h5_axis axis = {"states", states};
  carom_status status = h5_write_doubles(writer, item(split, "t").text, 1, &axis, t, error);
  free(t);
  return status;
}

static carom_status write_split(h5_writer *writer, const carom_system_info *info, int split,
                                const carom_chunks *chunks, double dt, carom_error *error) {
  const h5_axis axes[] = {{"chunks", chunks->count},
                          {"states", chunks->states},
                          {"points", info->point_count},
                          {"dimension", info->dimension}};
  carom_status status = h5_write_group(writer, carom_split_name(split), error);
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, item(split, "x").text, 4, axes, chunks->x, error);
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, item(split, "v").text, 4, axes, chunks->v, error);
  if (status == CAROM_OK) status = write_times(writer, split, chunks->states, dt, error);
  if (status == CAROM_OK)
    status = h5_write_bytes(writer, item(split, "contact").text, 2, axes, chunks->contact, error);
  return status;
}

carom_status carom_dataset_write(const carom_dataset *dataset, const carom_system *system,
                                 const char *path, carom_error *error) {
  REQUIRE(dataset, error);
  REQUIRE(system, error);
  REQUIRE(path, error);
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const carom_system_info info = carom_system_describe(system);
  const carom_chunks *const splits[SPLIT_COUNT] = {&dataset->train, &dataset->validation,
                                                   &dataset->test};
  status = h5_write_origin(writer, info.json, dataset->dt, error);
  if (status == CAROM_OK && dataset->simulated)
    status = h5_write_text_attribute(writer, "compensation",
                                     compensation_names[dataset->compensation], error);
  if (status == CAROM_OK && dataset->simulated)
    status = h5_write_text_attribute(writer, "contact_time",
                                     contact_time_names[dataset->contact_time], error);
  if (status == CAROM_OK && dataset->simulated)
    status = h5_write_text_attribute(writer, "friction", friction_names[dataset->friction], error);
  for (int split = 0; split < SPLIT_COUNT && status == CAROM_OK; split++)
    status = write_split(writer, &info, split, splits[split], dataset->dt, error);
  return h5_writer_finish(writer, status, error);
}

/* ---- reading ---- */

// flags from the file, 0 or 1, or detected ones
static carom_status read_contacts(h5_reader *reader, const carom_system *system, int split,
                                  carom_chunks *chunks, carom_error *error) {
  size_t states = (size_t)chunks->count * (size_t)chunks->states;
  h5_axis axes[] = {{"chunks", chunks->count}, {"states", chunks->states}};
  const item_name name = item(split, "contact");
  if (h5_has_dataset(reader, name.text))
    return h5_read_flags(reader, name.text, 2, axes, &chunks->contact, error);
  chunks->contact = size_allocate_zero(states, 1);
  if (chunks->contact == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  return contacts_find(system, chunks, error);
}

static carom_status read_split(h5_reader *reader, const carom_system *system, double dt, int split,
                               carom_chunks *chunks, carom_error *error) {
  const char *group = carom_split_name(split);
  if (!h5_has_group(reader, group))
    return error_set(error, CAROM_INVALID_DATA,
                     "group /%s is missing; a data set has /train, /val and /test (with 0 chunks "
                     "where there are none)",
                     group);
  const carom_system_info info = carom_system_describe(system);
  h5_axis axes[] = {
      {"chunks", -1}, {"states", -1}, {"points", info.point_count}, {"dimension", info.dimension}};
  carom_status status = h5_read_doubles(reader, item(split, "x").text, 4, axes, &chunks->x, error);
  if (status == CAROM_OK)
    status = h5_read_doubles(reader, item(split, "v").text, 4, axes, &chunks->v, error);
  if (status != CAROM_OK) return status;
  chunks->count = axes[0].size;
  chunks->states = axes[1].size;
  chunks->dt = dt;
  if (split == 0 && chunks->count == 0)
    return error_set(error, CAROM_INVALID_DATA, "/train has no chunks, at least one is needed");
  if (chunks->count > 0 && chunks->states < 2)
    return error_set(error, CAROM_INVALID_DATA, "/%s has chunks of %d states, expected at least 2",
                     group, chunks->states);
  char what[32];
  snprintf(what, sizeof what, "/%s, chunk", group);
  status =
      trajectories_check(system, what, chunks->count, chunks->states, chunks->x, chunks->v, error);
  return status == CAROM_OK ? read_contacts(reader, system, split, chunks, error) : status;
}

// the place of an attribute's text in a list; -1: it is missing, or not in the list
static int read_choice(const h5_reader *reader, const char *name, const char *const *choices) {
  char *text = NULL;
  int place = -1;
  if (!h5_read_text_attribute(reader, name, &text)) return -1;
  for (int k = 0; choices[k] != NULL; k++)
    if (strcmp(text, choices[k]) == 0) place = k;
  free(text);
  return place;
}

// how contacts were simulated; files that were not, or before there was a choice, lack it
static void read_simulation(const h5_reader *reader, const carom_system *system,
                            carom_dataset *made) {
  int compensation = read_choice(reader, "compensation", compensation_names);
  int time = read_choice(reader, "contact_time", contact_time_names);
  int law = read_choice(reader, "friction", friction_names);
  made->simulated = compensation >= 0;
  if (compensation >= 0) made->compensation = (carom_compensation)compensation;
  if (time >= 0) made->contact_time = (carom_contact_time)time;
  made->friction = law >= 0 ? (carom_friction_law)law : system->friction_law;
}

static carom_status read_dataset(h5_reader *reader, const carom_system *system, carom_dataset *made,
                                 carom_error *error) {
  if (!h5_read_number_attribute(reader, "dt", &made->dt))
    return error_set(error, CAROM_INVALID_DATA,
                     "the attribute dt (length of a time step) is missing or no number");
  if (!(made->dt > 0) || !isfinite(made->dt))
    return error_set(error, CAROM_INVALID_DATA,
                     "the attribute dt is %g, expected a positive number", made->dt);
  made->dt_from = CAROM_DT_OF_ATTRIBUTE;
  read_simulation(reader, system, made);
  carom_status status = CAROM_OK;
  for (int split = 0; split < SPLIT_COUNT && status == CAROM_OK; split++)
    status = read_split(reader, system, made->dt, split, dataset_split(made, split), error);
  return status;
}

// the time step of trajectories: the file's, else the scene's
static double time_step(const carom_system *system, const carom_trajectories *data) {
  return data->dt_from != CAROM_DT_OF_SCENE ? data->dt : carom_system_describe(system).dt;
}

static bool holds_trajectories(const h5_reader *reader) {
  return h5_has_dataset(reader, "x") || h5_has_dataset(reader, "v");
}

/* What is read from a file: trajectories, which are cut afterwards, or a data set. */
typedef struct dataset_target {
  const carom_system *system;
  carom_dataset *made;             /* NULL where there are trajectories */
  carom_trajectories trajectories; /* x is NULL where there is a data set */
} dataset_target;

static carom_status read_made(h5_reader *reader, dataset_target *target, carom_error *error) {
  target->made = calloc(1, sizeof *target->made);
  if (target->made == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  carom_status status = read_dataset(reader, target->system, target->made, error);
  if (status == CAROM_OK) return CAROM_OK;
  carom_dataset_destroy(target->made);
  target->made = NULL;
  return status;
}

static carom_status read_target(h5_reader *reader, void *user, carom_error *error) {
  dataset_target *target = user;
  if (holds_trajectories(reader))
    return trajectory_read_partial(reader, target->system, &target->trajectories, error);
  if (h5_has_group(reader, "train")) return read_made(reader, target, error);
  char content[512];
  h5_describe_content(reader, content, sizeof content);
  return error_set(error, CAROM_INVALID_DATA,
                   "the dataset /x is missing: trajectories are /x and /v "
                   "[samples][states][points][dimension], a data set has the groups /train, /val "
                   "and /test; there is %s",
                   content);
}

static carom_status read_is_cut(h5_reader *reader, void *user, carom_error *error) {
  (void)error;
  *(bool *)user = !holds_trajectories(reader) && h5_has_group(reader, "train");
  return CAROM_OK;
}

carom_status carom_dataset_is_cut(const char *path, bool *is_cut, carom_error *error) {
  REQUIRE(path, error);
  REQUIRE(is_cut, error);
  return h5_read_file(path, read_is_cut, is_cut, error);
}

// messages of h5_file begin with the path, the others get it here
static carom_status name_file(const char *path, carom_status status, carom_error *error) {
  if (status == CAROM_OK || error == NULL || path == NULL) return status;
  const size_t length = strlen(path);
  return strncmp(error->message, path, length) == 0 ? status : error_prefix(error, "%s", path);
}

static carom_status cut(dataset_target *target, const carom_dataset_options *options,
                        carom_dataset **dataset, carom_error *error) {
  const carom_dataset_options defaults = carom_dataset_default_options(target->system);
  carom_trajectories *data = &target->trajectories;
  const carom_dt_source source = data->dt_from;
  data->dt = time_step(target->system, data);
  carom_status status = carom_dataset_from_trajectories(
      target->system, data, options != NULL ? options : &defaults, dataset, error);
  if (status == CAROM_OK) (*dataset)->dt_from = source;
  carom_trajectories_free(data);
  if (status == CAROM_OK) return CAROM_OK;
  carom_dataset_destroy(*dataset);
  *dataset = NULL;
  return status;
}

carom_status carom_dataset_read(const carom_system *system, const char *path,
                                const carom_dataset_options *options, carom_dataset **dataset,
                                carom_error *error) {
  if (dataset != NULL) *dataset = NULL;
  REQUIRE(system, error);
  REQUIRE(path, error);
  REQUIRE(dataset, error);
  carom_status status =
      options != NULL ? options_check(&dataset_option_table, options, error) : CAROM_OK;
  if (status != CAROM_OK) return status;
  dataset_target target = {.system = system};
  status = h5_read_file(path, read_target, &target, error);
  if (status == CAROM_OK && target.made == NULL) {
    status = cut(&target, options, dataset, error);
  } else if (status == CAROM_OK) {
    *dataset = target.made;
  }
  return name_file(path, status, error);
}
