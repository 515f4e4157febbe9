#include "io/checkpoint_file.h"

#include "base/error.h"
#include "io/h5_file.h"
#include "io/json_difference.h"
#include "learn/trainer.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINT_VERSION = 1, MOST_VALUES = 24 };

/* A number that stands in the file as an attribute. */
typedef struct named_value {
  const char *name;
  double value;
} named_value;

/* Text that stands in the file as an attribute. */
typedef struct named_text {
  const char *name;
  char text[32];
} named_text;

/* ---- options and state as attributes --------------------------------------------------------- */

// the options that decide how many parameters there are, what they mean and where they begin
static int model_values(const carom_model_options *o, named_value *values) {
  const named_value all[] = {{"hidden_layers", o->hidden_layers},
                             {"hidden_size", o->hidden_size},
                             {"shared_properties", o->shared_properties},
                             {"learn_regularizer", o->learn_regularizer},
                             {"single_precision", o->single_precision},
                             {"initial_friction", o->initial_friction},
                             {"elastic_term", o->elastic_term},
                             {"length_scale", o->length_scale},
                             {"speed_scale", o->speed_scale}};
  memcpy(values, all, sizeof all);
  return sizeof all / sizeof all[0];
}

const char *carom_model_options_name(const carom_model_options *o) {
  for (int k = 0; k < carom_model_name_count(); k++) {
    carom_model_options named = *o;
    if (carom_model_options_by_name(&named, carom_model_name(k), NULL) != CAROM_OK) continue;
    if (named.contact == o->contact && named.dynamics == o->dynamics) return carom_model_name(k);
  }
  return "";
}

const char *carom_schedule_name(carom_schedule schedule) {
  return schedule == CAROM_COSINE ? "cosine" : "constant";
}

static int train_values(const carom_trainer_options *o, named_value *values) {
  const named_value all[] = {{"batch", o->batch},
                             {"learning_rate", o->learning_rate},
                             {"beta1", o->beta1},
                             {"beta2", o->beta2},
                             {"epsilon", o->epsilon},
                             {"weight_decay", o->weight_decay},
                             {"final_rate", o->final_rate},
                             {"property_rate", o->property_rate},
                             {"search_every", o->search_every},
                             {"epochs", o->epochs}};
  memcpy(values, all, sizeof all);
  return sizeof all / sizeof all[0];
}

static int train_texts(const carom_trainer *t, named_text *texts) {
  texts[0] = (named_text){.name = "schedule"};
  texts[1] = (named_text){.name = "train_seed"};
  texts[2] = (named_text){.name = "data_hash"};
  snprintf(texts[0].text, sizeof texts[0].text, "%s", carom_schedule_name(t->options.schedule));
  snprintf(texts[1].text, sizeof texts[1].text, "%" PRIu64, t->options.seed);
  snprintf(texts[2].text, sizeof texts[2].text, "%016" PRIx64, t->data_hash);
  return 3;
}

/* The state as numbers, out of it and back into it: first the real ones, then the counts. */
enum { REAL_STATE_VALUES = 4 };

static int state_values(const training_state *s, int64_t optimizer_steps, named_value *values) {
  const carom_report *r = &s->report;
  const named_value all[] = {{"best_loss", s->best_loss},
                             {"loss_sum", s->loss_sum},
                             {"gradient_norm", s->gradient_norm},
                             {"worst_residual", r->worst_residual},
                             {"optimizer_steps", (double)optimizer_steps},
                             {"epochs_done", s->epochs_done},
                             {"best_epoch", s->best_epoch},
                             {"batches_done", s->batches_done},
                             {"time_steps", (double)r->time_steps},
                             {"events", (double)r->events},
                             {"contacts", (double)r->contacts},
                             {"programs", (double)r->programs},
                             {"interior_programs", (double)r->interior_programs},
                             {"singular_programs", (double)r->singular_programs},
                             {"degenerate_programs", (double)r->degenerate_programs},
                             {"failed_programs", (double)r->failed_programs},
                             {"moves", s->moves},
                             {"search_loss_before", s->search_loss_before},
                             {"search_loss_after", s->search_loss_after}};
  _Static_assert(sizeof all <= MOST_VALUES * sizeof all[0], "room for the state");
  memcpy(values, all, sizeof all);
  return sizeof all / sizeof all[0];
}

static int to_int(double value) { return value < INT_MAX ? (int)value : INT_MAX; }

static training_state state_from(const named_value *v, int64_t *optimizer_steps) {
  *optimizer_steps = (int64_t)v[4].value;
  return (training_state){.best_loss = v[0].value,
                          .loss_sum = v[1].value,
                          .gradient_norm = v[2].value,
                          .epochs_done = to_int(v[5].value),
                          .best_epoch = to_int(v[6].value),
                          .batches_done = to_int(v[7].value),
                          .moves = to_int(v[16].value),
                          .search_loss_before = v[17].value,
                          .search_loss_after = v[18].value,
                          .report = {.worst_residual = v[3].value,
                                     .time_steps = (int64_t)v[8].value,
                                     .events = (int64_t)v[9].value,
                                     .contacts = (int64_t)v[10].value,
                                     .programs = (int64_t)v[11].value,
                                     .interior_programs = (int64_t)v[12].value,
                                     .singular_programs = (int64_t)v[13].value,
                                     .degenerate_programs = (int64_t)v[14].value,
                                     .failed_programs = (int64_t)v[15].value}};
}

/* ---- writing --------------------------------------------------------------------------------- */

static carom_status write_values(h5_writer *writer, int count, const named_value *values,
                                 carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < count; k++) {
    status = h5_write_number_attribute(writer, values[k].name, values[k].value, error);
  }
  return status;
}

// a column is stored as a row, anything else as a matrix
static int array_axes(const carom_array_info *s, h5_axis axes[2]) {
  axes[0] = (h5_axis){"rows", s->rows};
  axes[1] = (h5_axis){"columns", s->columns};
  return s->columns == 1 ? 1 : 2;
}

static carom_status write_model(h5_writer *writer, const carom_model *model, carom_error *error) {
  const carom_model_options options = carom_model_describe(model).options;
  const carom_system_info info = carom_system_describe(carom_model_describe(model).system);
  char seed[32];
  snprintf(seed, sizeof seed, "%" PRIu64, options.seed);
  named_value values[MOST_VALUES];
  const int value_count = model_values(&options, values);
  carom_status status = h5_write_number_attribute(writer, "checkpoint", CHECKPOINT_VERSION, error);
  if (status == CAROM_OK) status = h5_write_origin(writer, info.json, options.dt, error);
  if (status == CAROM_OK)
    status = h5_write_text_attribute(writer, "model", carom_model_options_name(&options), error);
  if (status == CAROM_OK) status = write_values(writer, value_count, values, error);
  if (status == CAROM_OK) status = h5_write_text_attribute(writer, "model_seed", seed, error);
  // the parameters are open to change only through a model that is not constant
  const double *parameters = carom_model_parameters((carom_model *)model);
  for (int k = 0; status == CAROM_OK && k < carom_model_describe(model).array_count; k++) {
    const carom_array_info s = carom_model_array(model, k);
    h5_axis axes[2];
    const int rank = array_axes(&s, axes);
    status = h5_write_doubles(writer, s.name, rank, axes, parameters + s.offset, error);
  }
  return status;
}

static carom_status write_training(h5_writer *writer, const carom_trainer *t, carom_error *error) {
  const h5_axis axis = {"parameters", t->optimizer.size};
  named_value values[MOST_VALUES];
  carom_status status = write_values(writer, train_values(&t->options, values), values, error);
  const int count = state_values(&t->state, t->optimizer.steps, values);
  if (status == CAROM_OK) status = write_values(writer, count, values, error);
  named_text texts[3];
  const int text_count = train_texts(t, texts);
  for (int k = 0; status == CAROM_OK && k < text_count; k++) {
    status = h5_write_text_attribute(writer, texts[k].name, texts[k].text, error);
  }
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, "first_moment", 1, &axis, t->optimizer.m, error);
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, "second_moment", 1, &axis, t->optimizer.v, error);
  return status;
}

carom_status carom_model_save(const carom_model *model, const char *path, carom_error *error) {
  if (model == NULL) return error_set(error, CAROM_INVALID_ARGUMENT, "the model is NULL");
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  return h5_writer_finish(writer, write_model(writer, model, error), error);
}

carom_status carom_trainer_save(const carom_trainer *trainer, const char *path,
                                carom_error *error) {
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  status = write_model(writer, trainer->model, error);
  if (status == CAROM_OK) status = write_training(writer, trainer, error);
  return h5_writer_finish(writer, status, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

static carom_status missing(const char *path, const char *name, carom_error *error) {
  return error_set(error, CAROM_INVALID_DATA, "%s: attribute %s is missing; the file is damaged",
                   path, name);
}

static carom_status check_version(const h5_reader *reader, const char *path, carom_error *error) {
  double version;
  if (!h5_read_number_attribute(reader, "checkpoint", &version)) {
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: is not a checkpoint of carom (it has no attribute 'checkpoint')", path);
  }
  if (version == CHECKPOINT_VERSION) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: is a checkpoint of version %g, this carom reads version %d", path, version,
                   CHECKPOINT_VERSION);
}

static carom_status check_scene(const h5_reader *reader, const char *path,
                                const carom_system *system, carom_error *error) {
  char *scene;
  if (!h5_read_text_attribute(reader, "scene", &scene)) return missing(path, "scene", error);
  json_difference found;
  const bool differ = scene_find_difference(scene, carom_system_describe(system).json, &found);
  free(scene);
  if (!differ) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: is a checkpoint of another scene: %s is %s there and %s here", path,
                   found.path, found.first, found.second);
}

// an integer in its range, as all sizes and switches of a model are
static carom_status read_integer(const h5_reader *reader, const char *path, const char *name,
                                 int low, int high, int *value, carom_error *error) {
  double number;
  if (!h5_read_number_attribute(reader, name, &number)) return missing(path, name, error);
  if (number != floor(number) || !(number >= low && number <= high)) {
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: attribute %s is %g, expected an integer from %d to %d", path, name,
                     number, low, high);
  }
  *value = (int)number;
  return CAROM_OK;
}

static carom_status read_name(const h5_reader *reader, const char *path,
                              carom_model_options *options, carom_error *error) {
  char *name;
  if (!h5_read_text_attribute(reader, "model", &name)) return missing(path, "model", error);
  carom_status status = carom_model_options_by_name(options, name, error);
  free(name);
  if (status == CAROM_OK) return CAROM_OK;
  error_prefix(error, "%s", path);
  return status;
}

static carom_status read_model_options(const h5_reader *reader, const char *path,
                                       carom_model_options *options, carom_error *error) {
  carom_status status = read_name(reader, path, options, error);
  enum { ENTRIES = 6 };
  int values[ENTRIES];
  static const struct {
    const char *name;
    int low, high;
  } entries[ENTRIES] = {{"hidden_layers", 0, 1000},  {"hidden_size", 1, 1 << 20},
                        {"shared_properties", 0, 1}, {"learn_regularizer", 0, 1},
                        {"single_precision", 0, 1},  {"elastic_term", 0, 1}};
  for (int k = 0; status == CAROM_OK && k < ENTRIES; k++) {
    status = read_integer(reader, path, entries[k].name, entries[k].low, entries[k].high,
                          &values[k], error);
  }
  if (status != CAROM_OK) return status;
  options->hidden_layers = values[0];
  options->hidden_size = values[1];
  options->shared_properties = values[2] != 0;
  options->learn_regularizer = values[3] != 0;
  options->single_precision = values[4] != 0;
  options->elastic_term = values[5] != 0;
  char *seed;
  if (!h5_read_text_attribute(reader, "model_seed", &seed))
    return missing(path, "model_seed", error);
  options->seed = strtoull(seed, NULL, 10);
  free(seed);
  if (!h5_read_number_attribute(reader, "initial_friction", &options->initial_friction))
    return missing(path, "initial_friction", error);
  // files from before there were scales have none
  if (!h5_read_number_attribute(reader, "length_scale", &options->length_scale))
    options->length_scale = 0;
  if (!h5_read_number_attribute(reader, "speed_scale", &options->speed_scale))
    options->speed_scale = 0;
  if (!h5_read_number_attribute(reader, "dt", &options->dt)) return missing(path, "dt", error);
  return CAROM_OK;
}

// reads every array into `parameters`
static carom_status read_parameters(h5_reader *reader, const carom_model *model, double *parameters,
                                    carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < carom_model_describe(model).array_count; k++) {
    const carom_array_info s = carom_model_array(model, k);
    h5_axis axes[2];
    const int rank = array_axes(&s, axes);
    double *values;
    status = h5_read_doubles(reader, s.name, rank, axes, &values, error);
    if (status != CAROM_OK) return status;
    memcpy(parameters + s.offset, values, sizeof(double) * (size_t)(s.rows * s.columns));
    free(values);
  }
  return status;
}

static carom_status load_model(h5_reader *reader, const char *path, const carom_system *system,
                               carom_model **model, carom_error *error) {
  carom_model_options options = carom_model_default_options(system);
  carom_status status = check_version(reader, path, error);
  if (status == CAROM_OK) status = check_scene(reader, path, system, error);
  if (status == CAROM_OK) status = read_model_options(reader, path, &options, error);
  if (status != CAROM_OK) return status;
  status = carom_model_create(system, &options, model, error);
  if (status != CAROM_OK) {
    error_prefix(error, "%s", path);
    return status;
  }
  status = read_parameters(reader, *model, carom_model_parameters(*model), error);
  if (status == CAROM_OK) return CAROM_OK;
  carom_model_destroy(*model);
  *model = NULL;
  return status;
}

/* What a model is loaded for, and into. */
typedef struct model_target {
  const carom_system *system;
  carom_model **model;
} model_target;

static carom_status read_model(h5_reader *reader, void *user, carom_error *error) {
  const model_target *target = user;
  return load_model(reader, h5_reader_path(reader), target->system, target->model, error);
}

carom_status carom_model_load(const carom_system *system, const char *path, carom_model **model,
                              carom_error *error) {
  if (model != NULL) *model = NULL;
  if (system == NULL || model == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "carom_model_load: a pointer is NULL");
  model_target target = {system, model};
  carom_status status = h5_read_file(path, read_model, &target, error);
  return status == CAROM_OK ? error_clear(error) : status;
}

/* ---- taking a training up -------------------------------------------------------------------- */

static carom_status differs(const char *path, const char *name, const char *there, const char *here,
                            carom_error *error) {
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: is a checkpoint of another training: %s is %s there and %s here", path,
                   name, there, here);
}

static carom_status compare_values(const h5_reader *reader, const char *path, int count,
                                   const named_value *values, carom_error *error) {
  for (int k = 0; k < count; k++) {
    double there;
    if (!h5_read_number_attribute(reader, values[k].name, &there))
      return missing(path, values[k].name, error);
    if (there == values[k].value) continue;
    char there_text[32], here_text[32];
    snprintf(there_text, sizeof there_text, "%.15g", there);
    snprintf(here_text, sizeof here_text, "%.15g", values[k].value);
    return differs(path, values[k].name, there_text, here_text, error);
  }
  return CAROM_OK;
}

static carom_status compare_text(const h5_reader *reader, const char *path, const char *name,
                                 const char *here, carom_error *error) {
  char *there;
  if (!h5_read_text_attribute(reader, name, &there)) return missing(path, name, error);
  const bool same = strcmp(there, here) == 0;
  if (!same) differs(path, name, there, here, error);
  free(there);
  return same ? CAROM_OK : CAROM_INVALID_DATA;
}

static carom_status compare_model(const h5_reader *reader, const char *path,
                                  const carom_model *model, carom_error *error) {
  const carom_model_options options = carom_model_describe(model).options;
  named_value values[MOST_VALUES];
  int count = model_values(&options, values);
  values[count++] = (named_value){.name = "dt", .value = options.dt};
  carom_status status = check_version(reader, path, error);
  if (status == CAROM_OK)
    status = check_scene(reader, path, carom_model_describe(model).system, error);
  if (status == CAROM_OK)
    status = compare_text(reader, path, "model", carom_model_options_name(&options), error);
  if (status == CAROM_OK) status = compare_values(reader, path, count, values, error);
  return status;
}

static carom_status compare_training(const h5_reader *reader, const char *path,
                                     const carom_trainer *t, carom_error *error) {
  named_value values[MOST_VALUES];
  int count = train_values(&t->options, values);
  // the last one is `epochs`, which only the cosine schedule depends on
  if (t->options.schedule == CAROM_CONSTANT) count--;
  named_text texts[3];
  const int text_count = train_texts(t, texts);
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < text_count; k++) {
    status = compare_text(reader, path, texts[k].name, texts[k].text, error);
  }
  if (status == CAROM_OK) status = compare_values(reader, path, count, values, error);
  return status;
}

/* What a checkpoint gives a trainer, complete before anything of it is used. */
typedef struct restored {
  training_state state;
  int64_t optimizer_steps;
  double *parameters, *m, *v;
} restored;

static void restored_free(restored *r) {
  free(r->parameters);
  free(r->m);
  free(r->v);
}

static carom_status read_state(const h5_reader *reader, const char *path, const carom_trainer *t,
                               restored *r, carom_error *error) {
  named_value values[MOST_VALUES];
  const int count = state_values(&t->state, 0, values);
  for (int k = 0; k < count; k++) {
    if (!h5_read_number_attribute(reader, values[k].name, &values[k].value))
      return missing(path, values[k].name, error);
    const double value = values[k].value;
    if (k >= REAL_STATE_VALUES && !(value >= 0.0 && value < 0x1p53)) {
      return error_set(error, CAROM_INVALID_DATA, "%s: attribute %s is %g; the file is damaged",
                       path, values[k].name, value);
    }
  }
  r->state = state_from(values, &r->optimizer_steps);
  if (r->state.batches_done <= trainer_batch_count(t)) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: attribute batches_done is %d, an epoch has %d; the file is damaged", path,
                   r->state.batches_done, trainer_batch_count(t));
}

static carom_status read_restored(h5_reader *reader, const char *path, const carom_trainer *t,
                                  restored *r, carom_error *error) {
  h5_axis axis = {"parameters", t->optimizer.size};
  carom_status status = compare_model(reader, path, t->model, error);
  if (status != CAROM_OK) return status;
  if (!h5_has_dataset(reader, "first_moment")) {
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: has a model, but not the state of its training; take last.h5", path);
  }
  status = compare_training(reader, path, t, error);
  if (status == CAROM_OK) status = read_state(reader, path, t, r, error);
  if (status == CAROM_OK) status = h5_read_doubles(reader, "first_moment", 1, &axis, &r->m, error);
  if (status == CAROM_OK) status = h5_read_doubles(reader, "second_moment", 1, &axis, &r->v, error);
  if (status != CAROM_OK) return status;
  r->parameters = malloc(sizeof(double) * ((size_t)t->optimizer.size + 1));
  if (r->parameters == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  return read_parameters(reader, t->model, r->parameters, error);
}

static carom_status read_training(h5_reader *reader, void *user, carom_error *error) {
  carom_trainer *trainer = user;
  restored r = {0};
  carom_status status = read_restored(reader, h5_reader_path(reader), trainer, &r, error);
  if (status == CAROM_OK) {
    const size_t bytes = sizeof(double) * (size_t)trainer->optimizer.size;
    memcpy(carom_model_parameters(trainer->model), r.parameters, bytes);
    memcpy(trainer->optimizer.m, r.m, bytes);
    memcpy(trainer->optimizer.v, r.v, bytes);
    trainer->optimizer.steps = r.optimizer_steps;
    trainer->state = r.state;
  }
  restored_free(&r);
  return status;
}

carom_status carom_trainer_restore(carom_trainer *trainer, const char *path, carom_error *error) {
  carom_status status = h5_read_file(path, read_training, trainer, error);
  return status == CAROM_OK ? error_clear(error) : status;
}
