#include "io/checkpoint_file.h"

#include "base/error.h"
#include "base/size.h"
#include "io/h5_file.h"
#include "io/json_difference.h"
#include "io/option_file.h"
#include "learn/model.h"
#include "learn/options.h"
#include "learn/trainer.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINT_VERSION = 1 };

/* ---- options and state as attributes --------------------------------------------------------- */

/* Everything of a training but its arrays. */
typedef struct saved_state {
  training_state training;
  int64_t optimizer_steps;
  double noise_scale;
} saved_state;

#define STATE(member, attribute) OPTION(saved_state, member), .file = attribute
#define REPORT(member) STATE(training.report.member, #member)
#define COUNT OPTION_RANGE(0, 0x1p53)
#define SIZE OPTION_RANGE(0, INT_MAX)
#define REAL OPTION_RANGE(-INFINITY, INFINITY)

static const option_field state_fields[] = {
    {STATE(training.warm.done, "warm_done"), .role = OPTION_LATER},
    {STATE(training.warm.kept, "warm_kept"), .role = OPTION_LATER},
    {STATE(training.warm.loss_before, "warm_loss_before"), REAL, .role = OPTION_LATER},
    {STATE(training.warm.loss_after, "warm_loss_after"), REAL, .role = OPTION_LATER},
    {STATE(training.warm.validation_before, "warm_validation_before"), REAL, .role = OPTION_LATER},
    {STATE(training.warm.validation_after, "warm_validation_after"), REAL, .role = OPTION_LATER},
    {STATE(training.warm.pairs, "warm_pairs"), SIZE, .role = OPTION_LATER},
    {STATE(training.warm.unknowns, "warm_unknowns"), SIZE, .role = OPTION_LATER},
    {STATE(training.warm.chunks, "warm_chunks"), SIZE, .role = OPTION_LATER},
    {STATE(training.warm.properties, "warm_properties"), SIZE, .role = OPTION_LATER},
    {STATE(training.best_loss, "best_loss"), REAL},
    {STATE(training.best_epoch, "best_epoch"), SIZE},
    {STATE(training.lowest_loss, "lowest_loss"), REAL, .role = OPTION_LATER},
    {STATE(training.lowest_epoch, "lowest_epoch"), SIZE, .role = OPTION_LATER},
    {STATE(training.epochs_done, "epochs_done"), SIZE},
    {STATE(training.batches_done, "batches_done"), SIZE},
    {STATE(training.loss_sum, "loss_sum"), REAL},
    {STATE(training.gradient_norm, "gradient_norm"), REAL},
    {STATE(training.kinds.free, "free_loss"), REAL, .role = OPTION_LATER},
    {STATE(training.kinds.contact, "contact_loss"), REAL, .role = OPTION_LATER},
    {STATE(training.kinds.free_count, "free_count"), SIZE, .role = OPTION_LATER},
    {STATE(training.kinds.contact_count, "contact_count"), SIZE, .role = OPTION_LATER},
    {STATE(training.contact_weight, "contact_weight"), REAL, .role = OPTION_LATER},
    {STATE(training.moves, "moves"), SIZE},
    {STATE(training.search_loss_before, "search_loss_before"), REAL, .role = OPTION_LATER},
    {STATE(training.search_loss_after, "search_loss_after"), REAL, .role = OPTION_LATER},
    {STATE(optimizer_steps, "optimizer_steps"), COUNT},
    {STATE(noise_scale, "noise_scale"), REAL, .role = OPTION_LATER},
    {REPORT(time_steps), COUNT},
    {REPORT(events), COUNT},
    {REPORT(contacts), COUNT},
    {REPORT(programs), COUNT},
    {REPORT(interior_programs), COUNT},
    {REPORT(singular_programs), COUNT},
    {REPORT(degenerate_programs), COUNT},
    {REPORT(projected_programs), COUNT, .role = OPTION_LATER},
    {REPORT(failed_programs), COUNT},
    {REPORT(worst_residual), REAL},
    {REPORT(failed_projections), COUNT, .role = OPTION_LATER},
    {REPORT(impacts), COUNT, .role = OPTION_LATER},
    {REPORT(resting_contacts), COUNT, .role = OPTION_LATER},
    {REPORT(grazing_impacts), COUNT, .role = OPTION_LATER},
    {REPORT(overlaps), COUNT, .role = OPTION_LATER},
    {REPORT(cut_steps), COUNT, .role = OPTION_LATER},
};
static const option_table state_table = OPTION_TABLE(state_fields);

/* Text that stands in the file as an attribute. */
typedef struct named_text {
  const char *name;
  char text[32];
} named_text;

enum { TRAIN_TEXTS = 2 };

static void train_texts(const carom_trainer *t, named_text texts[TRAIN_TEXTS]) {
  texts[0] = (named_text){.name = "train_seed"};
  texts[1] = (named_text){.name = "data_hash"};
  snprintf(texts[0].text, sizeof texts[0].text, "%" PRIu64, t->options.seed);
  snprintf(texts[1].text, sizeof texts[1].text, "%016" PRIx64, t->data_hash);
}

/* ---- writing --------------------------------------------------------------------------------- */

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
  carom_status status = h5_write_number_attribute(writer, "checkpoint", CHECKPOINT_VERSION, error);
  if (status == CAROM_OK) status = h5_write_origin(writer, info.json, options.dt, error);
  if (status == CAROM_OK)
    status = h5_write_text_attribute(writer, "model", carom_model_options_name(&options), error);
  if (status == CAROM_OK)
    status = options_write_attributes(writer, &model_option_table, &options, "dt", error);
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

/* Estimated states of chunks, as they stand in the file: rows are chunks. */
typedef struct estimate_array {
  const char *name;
  h5_axis axes[2];
  double *values;
} estimate_array;

enum { ESTIMATE_ARRAYS = 6 };

/* The parameters after the last pass over the states: how states follow the model is taken from there. */
static const char PASS_PARAMETERS[] = "states_parameters";

static void estimate_arrays(const carom_trainer *t, estimate_array arrays[ESTIMATE_ARRAYS]) {
  static const char *const names[ESTIMATE_ARRAYS] = {
      "train_x", "train_v", "train_damping", "validation_x", "validation_v", "validation_damping"};
  const int width = t->model->system->coordinate_count;
  for (int k = 0; k < ESTIMATE_ARRAYS; k++) {
    const state_estimates *s = k < 3 ? &t->estimated.train : &t->estimated.validation;
    double *const values[] = {s->x, s->v, s->damping};
    arrays[k] = (estimate_array){
        names[k], {{"chunks", s->chunks.count}, {"numbers", k % 3 < 2 ? width : 1}}, values[k % 3]};
  }
}

static carom_status write_training(h5_writer *writer, const carom_trainer *t, carom_error *error) {
  const h5_axis axis = {"parameters", t->optimizer.size};
  const saved_state state = {.training = t->state,
                             .optimizer_steps = t->optimizer.steps,
                             .noise_scale = t->estimated.noise.scale};
  carom_status status =
      options_write_attributes(writer, &trainer_option_table, &t->options, NULL, error);
  if (status == CAROM_OK)
    status = options_write_attributes(writer, &state_table, &state, NULL, error);
  named_text texts[TRAIN_TEXTS];
  train_texts(t, texts);
  for (int k = 0; status == CAROM_OK && k < TRAIN_TEXTS; k++) {
    status = h5_write_text_attribute(writer, texts[k].name, texts[k].text, error);
  }
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, "first_moment", 1, &axis, t->optimizer.m, error);
  if (status == CAROM_OK)
    status = h5_write_doubles(writer, "second_moment", 1, &axis, t->optimizer.v, error);
  estimate_array arrays[ESTIMATE_ARRAYS];
  estimate_arrays(t, arrays);
  for (int k = 0; status == CAROM_OK && t->estimated.on && k < ESTIMATE_ARRAYS; k++)
    status = h5_write_doubles(writer, arrays[k].name, 2, arrays[k].axes, arrays[k].values, error);
  if (status == CAROM_OK && t->estimated.parameters != NULL)
    status = h5_write_doubles(writer, PASS_PARAMETERS, 1, &axis, t->estimated.parameters, error);
  return status;
}

carom_status carom_model_save(const carom_model *model, const char *path, carom_error *error) {
  REQUIRE(model, error);
  REQUIRE(path, error);
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  return h5_writer_finish(writer, write_model(writer, model, error), error);
}

carom_status carom_trainer_save(const carom_trainer *trainer, const char *path,
                                carom_error *error) {
  REQUIRE(trainer, error);
  REQUIRE(path, error);
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

// an attribute that is nothing here stands for something that this version would not do
static carom_status check_known(const h5_reader *reader, const char *path, carom_error *error) {
  static const char *const others[] = {"checkpoint", "carom_version", "scene",     "model",
                                       "model_seed", "train_seed",    "data_hash", NULL};
  const option_table *const tables[] = {&model_option_table, &trainer_option_table, &state_table};
  char name[64];
  for (int k = 0; h5_attribute_name(reader, k, name, sizeof name); k++) {
    bool known = false;
    for (int other = 0; others[other] != NULL; other++)
      known = known || strcmp(name, others[other]) == 0;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
      known = known || option_in_file(tables[t], name) != NULL;
    if (known) continue;
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: attribute %s is nothing that this version of carom (%s) knows", path,
                     name, CAROM_VERSION);
  }
  return CAROM_OK;
}

static carom_status check_version(const h5_reader *reader, const char *path, carom_error *error) {
  double version;
  if (!h5_read_number_attribute(reader, "checkpoint", &version)) {
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: is not a checkpoint of carom (it has no attribute 'checkpoint')", path);
  }
  if (version == CHECKPOINT_VERSION) return check_known(reader, path, error);
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: is a checkpoint of version %g, this carom reads version %d", path, version,
                   CHECKPOINT_VERSION);
}

static carom_status check_scene(const h5_reader *reader, const char *path,
                                const carom_system *system, carom_error *error) {
  char *scene;
  if (!h5_read_text_attribute(reader, "scene", &scene)) return missing(path, "scene", error);
  carom_difference found;
  const bool differ = scene_find_difference(scene, carom_system_describe(system).json, &found);
  free(scene);
  if (!differ) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: is a checkpoint of another scene: %s is %s there and %s here", path,
                   found.path, found.first, found.second);
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
  if (status == CAROM_OK)
    status = options_read_attributes(reader, path, &model_option_table, options, error);
  if (status != CAROM_OK) return status;
  char *seed;
  if (!h5_read_text_attribute(reader, "model_seed", &seed))
    return missing(path, "model_seed", error);
  options->seed = strtoull(seed, NULL, 10);
  free(seed);
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
  status = model_make(system, &options, false, model, error);
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
  REQUIRE(system, error);
  REQUIRE(path, error);
  REQUIRE(model, error);
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

// `except` is the name of an option that may differ; NULL: none may
static carom_status compare_options(const char *path, const option_table *table, const void *there,
                                    const void *here, const char *except, carom_error *error) {
  for (int k = 0; k < table->count; k++) {
    const option_field *f = &table->fields[k];
    if (!option_is_saved(f) || option_equal(f, there, here)) continue;
    if (except != NULL && strcmp(f->name, except) == 0) continue;
    char there_text[OPTION_TEXT], here_text[OPTION_TEXT];
    option_text(f, there, there_text);
    option_text(f, here, here_text);
    return differs(path, option_file_name(f), there_text, here_text, error);
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
  carom_model_options there = options;
  carom_status status = check_version(reader, path, error);
  if (status == CAROM_OK)
    status = check_scene(reader, path, carom_model_describe(model).system, error);
  if (status == CAROM_OK)
    status = compare_text(reader, path, "model", carom_model_options_name(&options), error);
  if (status == CAROM_OK)
    status = options_read_attributes(reader, path, &model_option_table, &there, error);
  if (status != CAROM_OK) return status;
  return compare_options(path, &model_option_table, &there, &options, NULL, error);
}

static carom_status compare_training(const h5_reader *reader, const char *path,
                                     const carom_trainer *t, carom_error *error) {
  named_text texts[TRAIN_TEXTS];
  train_texts(t, texts);
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < TRAIN_TEXTS; k++) {
    status = compare_text(reader, path, texts[k].name, texts[k].text, error);
  }
  carom_trainer_options there = t->options;
  if (status == CAROM_OK)
    status = options_read_attributes(reader, path, &trainer_option_table, &there, error);
  if (status != CAROM_OK) return status;
  // when a training ends changes nothing of what it has done
  there.patience = t->options.patience;
  there.tolerance = t->options.tolerance;
  // only the cosine schedule depends on how many epochs there will be
  const char *except = t->options.schedule == CAROM_CONSTANT ? "epochs" : NULL;
  return compare_options(path, &trainer_option_table, &there, &t->options, except, error);
}

/* What a checkpoint gives a trainer, complete before anything of it is used. */
typedef struct restored {
  saved_state state;
  double *parameters, *m, *v;
  double *estimates[ESTIMATE_ARRAYS]; /* NULL where states are not estimated */
  double *pass; /* parameters of the last pass over them; NULL before it, and of earlier versions */
} restored;

static void restored_free(restored *r) {
  free(r->parameters);
  free(r->m);
  free(r->v);
  free(r->pass);
  for (int k = 0; k < ESTIMATE_ARRAYS; k++) free(r->estimates[k]);
}

static carom_status read_state(const h5_reader *reader, const char *path, const carom_trainer *t,
                               saved_state *state, carom_error *error) {
  carom_status status = options_read_attributes(reader, path, &state_table, state, error);
  const int done = state->training.batches_done;
  if (status == CAROM_OK && t->estimated.on && !(state->noise_scale >= 1))
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: attribute noise_scale is %g, it is at least 1; the file is damaged", path,
                     state->noise_scale);
  if (status != CAROM_OK || done <= trainer_batch_count(t)) return status;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: attribute batches_done is %d, an epoch has %d; the file is damaged", path,
                   done, trainer_batch_count(t));
}

static carom_status read_estimates(h5_reader *reader, const carom_trainer *t, restored *r,
                                   carom_error *error) {
  estimate_array arrays[ESTIMATE_ARRAYS];
  estimate_arrays(t, arrays);
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < ESTIMATE_ARRAYS; k++)
    status = h5_read_doubles(reader, arrays[k].name, 2, arrays[k].axes, &r->estimates[k], error);
  h5_axis axis = {"parameters", t->optimizer.size};
  if (status == CAROM_OK && h5_has_dataset(reader, PASS_PARAMETERS))
    status = h5_read_doubles(reader, PASS_PARAMETERS, 1, &axis, &r->pass, error);
  return status;
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
  if (status == CAROM_OK) status = read_state(reader, path, t, &r->state, error);
  if (status == CAROM_OK) status = h5_read_doubles(reader, "first_moment", 1, &axis, &r->m, error);
  if (status == CAROM_OK) status = h5_read_doubles(reader, "second_moment", 1, &axis, &r->v, error);
  if (status == CAROM_OK && t->estimated.on) status = read_estimates(reader, t, r, error);
  if (status != CAROM_OK) return status;
  r->parameters = size_allocate((size_t)t->optimizer.size, sizeof(double));
  if (r->parameters == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  return read_parameters(reader, t->model, r->parameters, error);
}

// the last thing that is done: it may fail for want of memory, and then the trainer is of no use
static carom_status take_estimates(carom_trainer *t, const restored *r, carom_error *error) {
  if (!t->estimated.on) return CAROM_OK;
  estimate_array arrays[ESTIMATE_ARRAYS];
  estimate_arrays(t, arrays);
  for (int k = 0; k < ESTIMATE_ARRAYS; k++) {
    const size_t count = (size_t)arrays[k].axes[0].size * (size_t)arrays[k].axes[1].size;
    memcpy(arrays[k].values, r->estimates[k], sizeof(double) * count);
  }
  t->estimated.noise.scale = r->state.noise_scale;
  if (r->pass == NULL) return CAROM_OK;
  return states_respond_as(&t->estimated, t->model, r->pass, error);
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
    trainer->optimizer.steps = r.state.optimizer_steps;
    trainer->state = r.state.training;
    status = take_estimates(trainer, &r, error);
  }
  restored_free(&r);
  return status;
}

carom_status carom_trainer_restore(carom_trainer *trainer, const char *path, carom_error *error) {
  REQUIRE(trainer, error);
  REQUIRE(path, error);
  carom_status status = h5_read_file(path, read_training, trainer, error);
  return status == CAROM_OK ? error_clear(error) : status;
}
