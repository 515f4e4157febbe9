#include "io/run_config.h"

#include "base/error.h"
#include "io/json_difference.h"
#include "io/option_file.h"
#include "learn/options.h"
#include "rollout/rollout_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_contact_model(carom_contact_model contact) {
  return contact == CAROM_CM || contact == CAROM_CMR || contact == CAROM_LCP;
}

// by its name; what has none, as a number
static json_t *contact_json(carom_contact_model contact) {
  return is_contact_model(contact) ? json_string(contact_choices[contact])
                                   : json_integer((json_int_t)contact);
}

static json_t *dataset_json(const carom_run_config *c) {
  json_t *object = options_json(&dataset_option_table, &c->dataset);
  json_object_set_new(object, "contact", contact_json(c->data_contact));
  return object;
}

json_t *run_config_json(const carom_run_config *c) {
  return json_pack("{ss ss ss ss sI so so so}", "carom_version", CAROM_VERSION, "scene", c->scene,
                   "model", carom_model_options_name(&c->model), "data", c->data, "seed",
                   (json_int_t)c->train.seed, "train",
                   options_json(&trainer_option_table, &c->train), "model_options",
                   options_json(&model_option_table, &c->model), "dataset", dataset_json(c));
}

// what could not be read again is not written
static carom_status check_config(const carom_run_config *c, const char *path, carom_error *error) {
  if (c->scene == NULL || c->data == NULL)
    return error_null(error, "carom_run_config_write",
                      c->scene == NULL ? "config->scene" : "config->data");
  carom_status status = options_check(&trainer_option_table, &c->train, error);
  if (status == CAROM_OK) status = options_check(&model_option_table, &c->model, error);
  if (status == CAROM_OK) status = options_check(&dataset_option_table, &c->dataset, error);
  if (status != CAROM_OK) return error_prefix(error, "%s", path);
  if (is_contact_model(c->data_contact)) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT, "%s: data_contact is %d, must be cm, cmr or lcp",
                   path, (int)c->data_contact);
}

carom_status carom_run_config_write(const carom_run_config *config, const char *path,
                                    carom_error *error) {
  REQUIRE(config, error);
  REQUIRE(path, error);
  const carom_status possible = check_config(config, path, error);
  if (possible != CAROM_OK) return possible;
  json_t *document = run_config_json(config);
  char *text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  char *line = NULL;
  const int size = text != NULL ? asprintf(&line, "%s\n", text) : -1;
  json_decref(document);
  free(text);
  if (size < 0) return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  const carom_status status = carom_file_write(path, line, (size_t)size, error);
  free(line);
  return status;
}

bool carom_run_config_differs(const carom_run_config *first, const carom_run_config *second,
                              carom_difference *found) {
  if (first == NULL || second == NULL) return first != second;
  json_t *a = run_config_json(first), *b = run_config_json(second);
  carom_difference ignored;
  const bool differ = json_find_difference(a, b, found != NULL ? found : &ignored);
  json_decref(a);
  json_decref(b);
  return differ;
}

/* ---- reading --------------------------------------------------------------------------------- */

static carom_status wrong(const char *path, const char *what, carom_error *error) {
  return error_set(error, CAROM_INVALID_DATA, "%s: %s; it is not the configuration of a run", path,
                   what);
}

// members of the document that this version does not know would be lost without a word
static carom_status check_members(json_t *root, const char *path, carom_error *error) {
  static const char *const known[] = {"carom_version", "scene", "model",         "data",
                                      "seed",          "train", "model_options", "dataset"};
  const char *name;
  json_t *value;
  json_object_foreach(root, name, value) {
    size_t k = 0;
    while (k < sizeof known / sizeof known[0] && strcmp(name, known[k]) != 0) k++;
    if (k == sizeof known / sizeof known[0])
      return error_set(error, CAROM_INVALID_DATA,
                       "%s: %s is nothing that this version of carom (%s) knows", path, name,
                       CAROM_VERSION);
  }
  return CAROM_OK;
}

// the contact model of the simulation stands with the options of the data, and is none of them
static carom_status read_dataset(json_t *root, carom_run_config *c, carom_error *error) {
  json_t *object = json_object_get(root, "dataset");
  const char *contact = json_string_value(json_object_get(object, "contact"));
  int k = 0;
  while (contact != NULL && contact_choices[k] != NULL && strcmp(contact, contact_choices[k]) != 0)
    k++;
  if (contact == NULL || contact_choices[k] == NULL)
    return error_set(error, CAROM_INVALID_DATA,
                     "dataset.contact is missing, or not cm, cmr or lcp");
  c->data_contact = (carom_contact_model)k;
  json_object_del(object, "contact");
  return options_read_json(&dataset_option_table, object, "dataset", &c->dataset, error);
}

static carom_status read_options(json_t *root, const char *path, carom_run_config *c,
                                 carom_error *error) {
  const char *model;
  json_int_t seed;
  json_error_t problem;
  if (json_unpack_ex(root, &problem, 0, "{ss sI}", "model", &model, "seed", &seed) != 0)
    return wrong(path, problem.text, error);
  c->train = carom_trainer_default_options();
  carom_status status = options_read_json(&trainer_option_table, json_object_get(root, "train"),
                                          "train", &c->train, error);
  if (status == CAROM_OK)
    status = options_read_json(&model_option_table, json_object_get(root, "model_options"),
                               "model_options", &c->model, error);
  if (status == CAROM_OK) status = read_dataset(root, c, error);
  if (status == CAROM_OK) status = carom_model_options_by_name(&c->model, model, error);
  if (status != CAROM_OK) error_prefix(error, "%s", path);
  // one seed for everything
  c->train.seed = c->model.seed = c->dataset.seed = (uint64_t)seed;
  return status;
}

static carom_status read_document(json_t *root, const char *path, carom_run_config *c,
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
  status = check_members(root, path, error);
  return status == CAROM_OK ? read_options(root, path, c, error) : status;
}

carom_status carom_run_config_read(const char *path, carom_run_config *config,
                                   carom_system **system, carom_error *error) {
  if (config != NULL) *config = (carom_run_config){0};
  if (system != NULL) *system = NULL;
  REQUIRE(path, error);
  REQUIRE(config, error);
  REQUIRE(system, error);
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
  carom_run_config_free(config);
  carom_system_destroy(*system);
  *system = NULL;
  return status;
}

void carom_run_config_free(carom_run_config *config) {
  if (config == NULL) return;
  free(config->scene);
  free(config->data);
  *config = (carom_run_config){0};
}
