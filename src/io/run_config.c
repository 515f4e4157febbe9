#include "io/run_config.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/checkpoint_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *train_json(const carom_trainer_options *o) {
  return json_pack("{si si sf sf sf sf sf ss sf sf si}", "epochs", o->epochs, "batch", o->batch,
                   "learning_rate", o->learning_rate, "beta1", o->beta1, "beta2", o->beta2,
                   "epsilon", o->epsilon, "weight_decay", o->weight_decay, "schedule",
                   carom_schedule_name(o->schedule), "final_rate", o->final_rate, "property_rate",
                   o->property_rate, "search_every", o->search_every);
}

static json_t *model_json(const carom_model_options *o) {
  return json_pack("{si si sb sb sb sb sf sf sf sf}", "hidden_layers", o->hidden_layers,
                   "hidden_size", o->hidden_size, "shared_properties", (int)o->shared_properties,
                   "learn_regularizer", (int)o->learn_regularizer, "elastic_term",
                   (int)o->elastic_term, "single_precision", (int)o->single_precision,
                   "initial_friction", o->initial_friction, "length_scale", o->length_scale,
                   "speed_scale", o->speed_scale, "dt", o->dt);
}

static json_t *dataset_json(const run_config *c) {
  const carom_dataset_options *o = &c->dataset;
  return json_pack("{si si si si si sf sf ss}", "train", o->train, "val", o->validation, "test",
                   o->test, "chunk", o->chunk, "steps", o->steps, "share", o->contact_share,
                   "noise", o->noise, "contact", c->data_contact == CAROM_CMR ? "cmr" : "cm");
}

json_t *run_config_json(const run_config *c) {
  return json_pack("{ss ss ss ss sI so so so}", "carom_version", CAROM_VERSION, "scene", c->scene,
                   "model", carom_model_options_name(&c->model), "data", c->data, "seed",
                   (json_int_t)c->train.seed, "train", train_json(&c->train), "model_options",
                   model_json(&c->model), "dataset", dataset_json(c));
}

carom_status run_config_write(const char *path, const run_config *config, carom_error *error) {
  json_t *document = run_config_json(config);
  char *text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  json_decref(document);
  if (text == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  atomic_file file;
  carom_status status = atomic_file_open(path, &file, error);
  if (status == CAROM_OK) {
    status = atomic_file_write(&file, text, strlen(text), error);
    if (status == CAROM_OK) status = atomic_file_write(&file, "\n", 1, error);
    if (status == CAROM_OK) {
      status = atomic_file_commit(&file, error);
    } else {
      atomic_file_discard(&file);
    }
  }
  free(text);
  return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static carom_status wrong(const char *path, const char *what, carom_error *error) {
  return error_set(error, CAROM_INVALID_DATA, "%s: %s; it is not the configuration of a run", path,
                   what);
}

static carom_status read_train(json_t *root, const char *path, carom_trainer_options *o,
                               carom_error *error) {
  *o = carom_trainer_default_options();
  const char *schedule;
  json_int_t seed;
  json_error_t problem;
  if (json_unpack_ex(root, &problem, 0, "{sI s{si si sF sF sF sF sF ss sF sF si}}", "seed", &seed,
                     "train", "epochs", &o->epochs, "batch", &o->batch, "learning_rate",
                     &o->learning_rate, "beta1", &o->beta1, "beta2", &o->beta2, "epsilon",
                     &o->epsilon, "weight_decay", &o->weight_decay, "schedule", &schedule,
                     "final_rate", &o->final_rate, "property_rate", &o->property_rate,
                     "search_every", &o->search_every) != 0) {
    return wrong(path, problem.text, error);
  }
  o->seed = (uint64_t)seed;
  o->schedule =
      strcmp(schedule, carom_schedule_name(CAROM_COSINE)) == 0 ? CAROM_COSINE : CAROM_CONSTANT;
  if (strcmp(schedule, carom_schedule_name(o->schedule)) == 0) return CAROM_OK;
  return wrong(path, "train.schedule is neither constant nor cosine", error);
}

static carom_status read_model(json_t *root, const char *path, carom_model_options *o,
                               carom_error *error) {
  const char *name;
  int shared, regularizer, elastic, single;
  json_error_t problem;
  if (json_unpack_ex(root, &problem, 0, "{ss s{si si sb sb sb sb sF s?F s?F sF}}", "model", &name,
                     "model_options", "hidden_layers", &o->hidden_layers, "hidden_size",
                     &o->hidden_size, "shared_properties", &shared, "learn_regularizer",
                     &regularizer, "elastic_term", &elastic, "single_precision", &single,
                     "initial_friction", &o->initial_friction, "length_scale", &o->length_scale,
                     "speed_scale", &o->speed_scale, "dt", &o->dt) != 0) {
    return wrong(path, problem.text, error);
  }
  o->shared_properties = shared != 0;
  o->learn_regularizer = regularizer != 0;
  o->elastic_term = elastic != 0;
  o->single_precision = single != 0;
  carom_status status = carom_model_options_by_name(o, name, error);
  if (status != CAROM_OK) error_prefix(error, "%s", path);
  return status;
}

static carom_status read_dataset(json_t *root, const char *path, run_config *c,
                                 carom_error *error) {
  carom_dataset_options *o = &c->dataset;
  const char *contact;
  json_error_t problem;
  if (json_unpack_ex(root, &problem, 0, "{s{si si si si si sF sF ss}}", "dataset", "train",
                     &o->train, "val", &o->validation, "test", &o->test, "chunk", &o->chunk,
                     "steps", &o->steps, "share", &o->contact_share, "noise", &o->noise, "contact",
                     &contact) != 0) {
    return wrong(path, problem.text, error);
  }
  c->data_contact = strcmp(contact, "cmr") == 0 ? CAROM_CMR : CAROM_CM;
  return CAROM_OK;
}

static carom_status read_document(json_t *root, const char *path, run_config *c,
                                  carom_system **system, carom_error *error) {
  const char *scene, *data;
  json_error_t problem;
  if (json_unpack_ex(root, &problem, 0, "{ss ss}", "scene", &scene, "data", &data) != 0)
    return wrong(path, problem.text, error);
  carom_status status = carom_system_parse(scene, strlen(scene), path, system, error);
  if (status != CAROM_OK) return status;
  c->scene = strdup(scene);
  c->data = strdup(data);
  if (c->scene == NULL || c->data == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  c->model = carom_model_default_options(*system);
  c->dataset = carom_dataset_default_options(*system);
  status = read_train(root, path, &c->train, error);
  if (status == CAROM_OK) status = read_model(root, path, &c->model, error);
  if (status == CAROM_OK) status = read_dataset(root, path, c, error);
  // one seed for everything
  c->model.seed = c->train.seed;
  c->dataset.seed = c->train.seed;
  return status;
}

carom_status run_config_read(const char *path, run_config *config, carom_system **system,
                             carom_error *error) {
  *config = (run_config){0};
  *system = NULL;
  json_error_t problem;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
  if (root == NULL) {
    // without a line it was the file that could not be opened
    if (problem.line < 0)
      return error_set(error, CAROM_FILE_ERROR, "%s: cannot be read; is it a run folder?", path);
    return error_set(error, CAROM_INVALID_DATA, "%s:%d:%d: not valid JSON: %s", path, problem.line,
                     problem.column, problem.text);
  }
  carom_status status = read_document(root, path, config, system, error);
  json_decref(root);
  if (status == CAROM_OK) return error_clear(error);
  run_config_free(config);
  carom_system_destroy(*system);
  *system = NULL;
  return status;
}

void run_config_free(run_config *config) {
  free(config->scene);
  free(config->data);
  *config = (run_config){0};
}
