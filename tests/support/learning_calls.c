/* Calls of data, models, training and evaluation. */
#include "support/public_calls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- thunks: data, models, training ---------------------------------------------------------- */

carom_dataset_options small_dataset_options(void) {
  carom_dataset_options options = carom_dataset_default_options(have.system);
  options.train = BATCH;
  options.validation = options.test = 1;
  options.chunk = CHUNK;
  options.steps = STEPS;
  options.threads = 1;
  return options;
}

static outcome try_dataset_default_options(trial *t) {
  carom_dataset_options options = carom_dataset_default_options(P(system, have.system));
  return (outcome){.harmless = options.steps == 0 && options.chunk > 0};
}

static outcome try_dataset_generate(trial *t) {
  carom_rollout_options simulation = small_rollout_options();
  carom_dataset_options options = small_dataset_options();
  carom_dataset *made = garbage;
  outcome o = {.status = carom_dataset_generate(P(system, have.system), O(simulation, simulation),
                                                O(options, options), P(dataset, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_dataset_destroy(made);
  return o;
}

static outcome try_dataset_from_trajectories(trial *t) {
  carom_dataset_options options = small_dataset_options();
  assert_int_equal(carom_rollout_run(have.rollout, NULL, have.x0, have.v0, NULL), CAROM_OK);
  carom_trajectories given = some_trajectories();
  given.batch = BATCH;
  given.state_count = STEPS + 1;
  given.x = (double *)carom_rollout_positions(have.rollout);
  given.v = (double *)carom_rollout_velocities(have.rollout);
  carom_dataset *made = garbage;
  outcome o = {.status =
                   carom_dataset_from_trajectories(P(system, have.system), P(trajectories, &given),
                                                   O(options, options), P(dataset, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_dataset_destroy(made);
  return o;
}

carom_dataset *make_dataset(void) {
  carom_dataset_options options = small_dataset_options();
  carom_dataset *made;
  assert_int_equal(carom_dataset_generate(have.system, NULL, &options, &made, NULL), CAROM_OK);
  return made;
}

static outcome try_dataset_destroy(trial *t) {
  carom_dataset *made = make_dataset();
  carom_dataset_destroy(P(dataset, made));
  if (t->name != NULL) carom_dataset_destroy(made);
  return (outcome){.harmless = true};
}

carom_model_options small_model_options(void) {
  carom_model_options options = carom_model_default_options(have.system);
  options.hidden_layers = 1;
  options.hidden_size = 4;
  options.threads = 1;
  return options;
}

carom_model *make_model(void) {
  carom_model_options options = small_model_options();
  carom_model *made;
  assert_int_equal(carom_model_create(have.system, &options, &made, NULL), CAROM_OK);
  return made;
}

static outcome try_model_default_options(trial *t) {
  carom_model_options options = carom_model_default_options(P(system, have.system));
  return (outcome){.harmless = options.dt == 0 && options.hidden_layers > 0};
}

static outcome try_model_name_count(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_model_name_count() == 9};
}

static outcome try_model_name(trial *t) {
  return (outcome){.harmless = carom_model_name(N(index, 0)) == NULL};
}

static outcome try_model_options_by_name(trial *t) {
  carom_model_options options = small_model_options();
  return (outcome){
      .status = carom_model_options_by_name(O(options, options), P(name, "cm-cd-chnn"), ERROR)};
}

static outcome try_model_options_check(trial *t) {
  carom_model_options options = small_model_options();
  return (outcome){
      .status = carom_model_options_check(O(options, options), P(system, have.system), ERROR)};
}

static outcome try_trainer_options_check(trial *t) {
  carom_trainer_options options = small_trainer_options();
  carom_model_options model = small_model_options();
  return (outcome){.status =
                       carom_trainer_options_check(O(options, options), O(model, model),
                                                   P(system, have.system), N(chunks, 4), ERROR)};
}

static outcome try_model_create(trial *t) {
  carom_model_options options = small_model_options();
  carom_model *made = garbage;
  outcome o = {.status = carom_model_create(P(system, have.system), O(options, options),
                                            P(model, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_model_destroy(made);
  return o;
}

static outcome try_model_destroy(trial *t) {
  carom_model *made = make_model();
  carom_model_destroy(P(model, made));
  if (t->name != NULL) carom_model_destroy(made);
  return (outcome){.harmless = true};
}

static outcome try_model_parameters(trial *t) {
  return (outcome){.harmless = carom_model_parameters(P(model, have.model)) == NULL};
}

static outcome try_model_array(trial *t) {
  const carom_array_info array = carom_model_array(P(model, have.model), N(index, 0));
  return (outcome){.harmless = array.rows == 0 && strlen(array.name) == 0};
}

static outcome try_model_theta(trial *t) {
  double theta[MOST_NUMBERS] = {[0] = 99};
  carom_model_theta(P(model, have.model), P(theta, theta));
  return (outcome){.harmless = theta[0] == 99};
}

static outcome try_model_loss(trial *t) {
  const int indices[2] = {1, 0};
  double loss, gradient[MOST_NUMBERS];
  carom_report report;
  return (outcome){.status = carom_model_loss(P(model, have.model), P(chunks, &have.dataset->train),
                                              N(count, BATCH), P(indices, indices), P(loss, &loss),
                                              P(gradient, gradient), P(report, &report), ERROR)};
}

static outcome try_model_predict(trial *t) {
  uint8_t contacts[BATCH * (STEPS + 1)];
  carom_report report;
  return (outcome){.status = carom_model_predict(P(model, have.model), N(batch, BATCH),
                                                 N(steps, STEPS), P(x0, have.x0), P(v0, have.v0),
                                                 P(x, have.x), P(v, have.v), P(contacts, contacts),
                                                 P(report, &report), ERROR)};
}

static outcome try_model_potential(trial *t) {
  double value[BATCH];
  return (outcome){.status = carom_model_potential(P(model, have.model), N(count, BATCH),
                                                   P(x, have.x0), P(value, value), ERROR)};
}

static outcome try_model_force(trial *t) {
  double force[MOST_NUMBERS];
  return (outcome){.status = carom_model_force(P(model, have.model), N(count, BATCH), P(x, have.x0),
                                               P(force, force), ERROR)};
}

static outcome try_model_save(trial *t) {
  return (outcome){.status = carom_model_save(P(model, have.model), P(path, "saved.h5"), ERROR)};
}

static outcome try_model_load(trial *t) {
  assert_int_equal(carom_model_save(have.model, "loaded.h5", NULL), CAROM_OK);
  carom_model *made = garbage;
  outcome o = {.status = carom_model_load(P(system, have.system), P(path, "loaded.h5"),
                                          P(model, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_model_destroy(made);
  return o;
}

carom_trainer_options small_trainer_options(void) {
  carom_trainer_options options = carom_trainer_default_options();
  options.batch = BATCH;
  options.epochs = 1;
  return options;
}

static outcome try_trainer_default_options(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_trainer_default_options().epochs > 0};
}

static outcome try_trainer_paper_options(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_trainer_paper_options().epochs > 0};
}

static outcome try_trainer_create(trial *t) {
  carom_trainer_options options = small_trainer_options();
  carom_trainer *made = garbage;
  outcome o = {.status = carom_trainer_create(P(model, have.model), P(dataset, have.dataset),
                                              O(options, options), P(trainer, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_trainer_destroy(made);
  return o;
}

carom_trainer *make_trainer(void) {
  carom_trainer_options options = small_trainer_options();
  carom_trainer *made;
  assert_int_equal(carom_trainer_create(have.model, have.dataset, &options, &made, NULL), CAROM_OK);
  return made;
}

static outcome try_trainer_destroy(trial *t) {
  carom_trainer *made = make_trainer();
  carom_trainer_destroy(P(trainer, made));
  if (t->name != NULL) carom_trainer_destroy(made);
  return (outcome){.harmless = true};
}

static outcome try_trainer_step(trial *t) {
  const int indices[2] = {1, 0};
  double loss;
  return (outcome){.status = carom_trainer_step(P(trainer, have.trainer), N(count, BATCH),
                                                P(indices, indices), P(loss, &loss), ERROR)};
}

static outcome try_trainer_epoch(trial *t) {
  carom_trainer *trainer = make_trainer();
  carom_epoch result;
  outcome o = {.status = carom_trainer_epoch(P(trainer, trainer), P(result, &result), ERROR)};
  carom_trainer_destroy(trainer);
  return o;
}

static bool go_on(void *user, const carom_epoch *result) {
  (void)user;
  return result != NULL;
}

static outcome try_trainer_warm_start(trial *t) {
  carom_trainer *trainer = make_trainer();
  carom_warm_start result;
  outcome o = {.status = carom_trainer_warm_start(P(trainer, trainer), P(result, &result), ERROR)};
  carom_trainer_destroy(trainer);
  return o;
}

static outcome try_trainer_run(trial *t) {
  carom_trainer *trainer = make_trainer();
  int user = 0;
  outcome o = {.status = carom_trainer_run(P(trainer, trainer), P(callback, go_on),
                                           P(user, (void *)&user), ERROR)};
  carom_trainer_destroy(trainer);
  return o;
}

static outcome try_dataset_split(trial *t) {
  return (outcome){
      .harmless = carom_dataset_split(P(dataset, have.dataset), N(split, CAROM_TRAIN)) == NULL};
}

static outcome try_split_name(trial *t) {
  return (outcome){.harmless = strlen(carom_split_name(N(split, CAROM_TRAIN))) == 0};
}

static outcome try_velocity_name(trial *t) {
  return (outcome){.harmless = strlen(carom_velocity_name(N(velocity, CAROM_VELOCITY_GIVEN))) == 0};
}

static outcome try_dataset_read(trial *t) {
  carom_dataset_options options = small_dataset_options();
  carom_dataset *made = garbage;
  outcome o = {.status = carom_dataset_read(P(system, have.system), P(path, "dataset.h5"),
                                            O(options, options), P(dataset, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_dataset_destroy(made);
  return o;
}

static outcome try_dataset_write(trial *t) {
  return (outcome){.status = carom_dataset_write(P(dataset, have.dataset), P(system, have.system),
                                                 P(path, "other.h5"), ERROR)};
}

static outcome try_dataset_is_cut(trial *t) {
  bool is_cut;
  return (outcome){.status =
                       carom_dataset_is_cut(P(path, "dataset.h5"), P(is_cut, &is_cut), ERROR)};
}

static outcome try_chunks_count_contacts(trial *t) {
  carom_contact_count counts[MOST_NUMBERS];
  return (outcome){.status = carom_chunks_count_contacts(P(chunks, &have.dataset->train),
                                                         P(system, have.system), P(counts, counts),
                                                         ERROR)};
}

static outcome try_chunks_with_contact(trial *t) {
  return (outcome){.harmless = carom_chunks_with_contact(P(chunks, &have.dataset->train)) == 0};
}

static outcome try_model_options_by_data(trial *t) {
  carom_model_options options = small_model_options();
  return (outcome){.status =
                       carom_model_options_by_data(O(options, options), P(system, have.system),
                                                   P(dataset, have.dataset), ERROR)};
}

static outcome try_trainer_moves(trial *t) {
  int count = 0;
  const carom_move *moves = carom_trainer_moves(P(trainer, have.trainer), P(count, &count));
  return (outcome){.harmless = count == 0 && moves == NULL};
}

static outcome try_trainer_states(trial *t) {
  const double *x = garbage, *v = garbage;
  outcome o = {.status = carom_trainer_states(P(trainer, have.trainer), N(split, CAROM_TRAIN),
                                              P(x, &x), P(v, &v), ERROR)};
  return o;
}

static outcome try_model_options_name(trial *t) {
  carom_model_options options = small_model_options();
  return (outcome){.harmless = strlen(carom_model_options_name(O(options, options))) == 0};
}

static outcome try_model_friction_law(trial *t) {
  carom_model_options options = small_model_options();
  const carom_friction_law law =
      carom_model_friction_law(O(options, options), P(system, have.system));
  return (outcome){.harmless = law == CAROM_CONVEX_FRICTION};
}

static outcome try_model_describe(trial *t) {
  const carom_model_info info = carom_model_describe(P(model, have.model));
  return (outcome){.harmless = info.parameter_count == 0 && info.system == NULL};
}

static outcome try_model_set_threads(trial *t) {
  carom_model_set_threads(P(model, have.model), N(threads, 1));
  carom_model_set_threads(have.model, 1);
  return (outcome){.harmless = true};
}

static outcome try_model_properties(trial *t) {
  carom_properties made = {.items = garbage};
  outcome o = {.status = carom_model_properties(P(model, have.model), P(properties, &made), ERROR)};
  o.made = P(properties, made.items);
  if (made.items != garbage) carom_properties_free(&made);
  return o;
}

static outcome try_properties_free(trial *t) {
  carom_properties none = {0};
  carom_properties_free(P(properties, &none));
  return (outcome){.harmless = true};
}

static outcome try_property_value(trial *t) {
  const carom_property property = {.name = "first", .reference = -1};
  return (outcome){.harmless =
                       isnan(carom_property_value(P(property, &property), P(theta, have.theta)))};
}

static outcome try_trainer_describe(trial *t) {
  const carom_trainer_info info = carom_trainer_describe(P(trainer, have.trainer));
  return (outcome){.harmless = info.epochs_done == 0 && info.batches == 0};
}

static outcome try_trainer_save(trial *t) {
  return (outcome){.status =
                       carom_trainer_save(P(trainer, have.trainer), P(path, "other.h5"), ERROR)};
}

static outcome try_trainer_restore(trial *t) {
  return (outcome){
      .status = carom_trainer_restore(P(trainer, have.trainer), P(path, "training.h5"), ERROR)};
}

static outcome try_evaluation_default_options(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_evaluation_default_options().steps > 0};
}

static outcome try_model_evaluate(trial *t) {
  carom_evaluation_options options = carom_evaluation_default_options();
  options.steps = STEPS;
  carom_evaluation *made = garbage;
  outcome o = {.status = carom_model_evaluate(P(model, have.model), P(dataset, have.dataset),
                                              N(split, CAROM_TEST), O(options, options),
                                              P(evaluation, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_evaluation_destroy(made);
  return o;
}

static outcome try_evaluation_destroy(trial *t) {
  carom_evaluation *none = NULL;
  carom_evaluation_destroy(P(evaluation, none));
  return (outcome){.harmless = true};
}

static outcome try_evaluation_json(trial *t) {
  char *text = carom_evaluation_json(P(evaluation, have.evaluation), P(system, have.system));
  const bool nothing = text == NULL;
  free(text);
  return (outcome){.harmless = nothing};
}

static outcome try_evaluation_write(trial *t) {
  return (outcome){.status =
                       carom_evaluation_write(P(evaluation, have.evaluation),
                                              P(system, have.system), P(path, "other.h5"), ERROR)};
}

static outcome try_option_count(trial *t) {
  return (outcome){.harmless = carom_option_count(N(of, CAROM_MODEL_OPTIONS)) == 0};
}

static outcome try_option_describe(trial *t) {
  return (outcome){.harmless =
                       carom_option_describe(N(of, CAROM_MODEL_OPTIONS), N(index, 0)).name == NULL};
}

static outcome try_option_set(trial *t) {
  carom_trainer_options options = small_trainer_options();
  return (outcome){.status = carom_option_set(N(of, CAROM_TRAINER_OPTIONS), O(options, options),
                                              P(name, "epochs"), P(text, "3"), ERROR)};
}

static outcome try_option_get(trial *t) {
  carom_trainer_options options = small_trainer_options();
  char text[64];
  return (outcome){.status =
                       carom_option_get(N(of, CAROM_TRAINER_OPTIONS), O(options, options),
                                        P(name, "epochs"), P(text, text), sizeof text, ERROR)};
}

static outcome try_options_check(trial *t) {
  carom_trainer_options options = small_trainer_options();
  return (outcome){
      .status = carom_options_check(N(of, CAROM_TRAINER_OPTIONS), O(options, options), ERROR)};
}

static outcome try_options_set_paper(trial *t) {
  carom_trainer_options options = small_trainer_options();
  carom_options_set_paper(N(of, CAROM_TRAINER_OPTIONS), O(options, options));
  return (outcome){.harmless = true};
}

/* ---- the table ------------------------------------------------------------------------------- */

/* ---- runs ------------------------------------------------------------------------------------ */

static carom_run_config some_config(void) {
  return (carom_run_config){.scene = (char *)carom_system_describe(have.system).json,
                            .data = (char *)"data.h5",
                            .model = small_model_options(),
                            .train = small_trainer_options(),
                            .dataset = small_dataset_options()};
}

static outcome try_run_config_write(trial *t) {
  const carom_run_config config = some_config();
  return (outcome){.status =
                       carom_run_config_write(P(config, &config), P(path, "config.json"), ERROR)};
}

static outcome try_run_config_read(trial *t) {
  const carom_run_config config = some_config();
  assert_int_equal(carom_run_config_write(&config, "config.json", NULL), CAROM_OK);
  carom_run_config made = {.scene = garbage};
  carom_system *system = garbage;
  outcome o = {.status = carom_run_config_read(P(path, "config.json"), P(config, &made),
                                               P(system, &system), ERROR)};
  o.made = P(config, P(system, made.scene));
  if (made.scene != garbage) carom_run_config_free(&made);
  if (system != garbage) carom_system_destroy(system);
  return o;
}

static outcome try_run_config_free(trial *t) {
  carom_run_config none = {0};
  carom_run_config_free(P(config, &none));
  return (outcome){.harmless = true};
}

static outcome try_run_config_differs(trial *t) {
  const carom_run_config config = some_config();
  carom_difference found;
  return (outcome){.harmless = carom_run_config_differs(P(first, &config), P(second, &config),
                                                        P(found, &found))};
}

static outcome try_system_differs(trial *t) {
  carom_difference found;
  return (outcome){.harmless = carom_system_differs(P(first, have.system), P(second, have.system),
                                                    P(found, &found))};
}

const public_call learning_calls[] = {
    ROW(dataset_default_options, ""),
    TRUSTING_ROW(dataset_generate, "simulation",
                 "simulation.steps simulation.substeps simulation.threads"),
    ROW(dataset_from_trajectories, ""),
    ROW(dataset_destroy, ""),
    ROW(model_default_options, ""),
    ROW(model_name_count, ""),
    ROW(model_name, ""),
    TRUSTING_ROW(model_options_by_name, "", "options"),
    ROW(model_options_check, ""),
    ROW(trainer_options_check, ""),
    ROW(model_create, ""),
    ROW(model_destroy, ""),
    ROW(model_parameters, ""),
    ROW(model_array, ""),
    ROW(model_theta, ""),
    TRUSTING_ROW(model_loss, "indices loss gradient report", "count"),
    TRUSTING_ROW(model_predict, "contacts report", "batch steps"),
    TRUSTING_ROW(model_potential, "", "count"),
    TRUSTING_ROW(model_force, "", "count"),
    ROW(model_save, ""),
    ROW(model_load, ""),
    ROW(trainer_default_options, ""),
    ROW(trainer_paper_options, ""),
    ROW(trainer_create, ""),
    ROW(trainer_destroy, ""),
    TRUSTING_ROW(trainer_step, "indices loss", "count"),
    ROW(trainer_epoch, "result"),
    ROW(trainer_warm_start, "result"),
    ROW(trainer_run, "callback user"),
    ROW(dataset_split, ""),
    ROW(split_name, ""),
    ROW(velocity_name, ""),
    ROW(dataset_read, "options"),
    ROW(dataset_write, ""),
    ROW(dataset_is_cut, ""),
    ROW(chunks_count_contacts, ""),
    ROW(chunks_with_contact, ""),
    TRUSTING_ROW(model_options_name, "", "options"),
    TRUSTING_ROW(model_friction_law, "", "options"),
    ROW(model_describe, ""),
    ROW(model_set_threads, ""),
    ROW(model_properties, ""),
    ROW(properties_free, ""),
    ROW(property_value, ""),
    ROW(trainer_describe, ""),
    ROW(trainer_save, ""),
    ROW(trainer_restore, ""),
    ROW(evaluation_default_options, ""),
    ROW(model_evaluate, "options"),
    ROW(evaluation_destroy, ""),
    ROW(evaluation_json, ""),
    ROW(evaluation_write, ""),
    TRUSTING_ROW(model_options_by_data, "", "options"),
    ROW(trainer_moves, "count"),
    ROW(trainer_states, ""),
    ROW(option_count, ""),
    ROW(option_describe, ""),
    ROW(option_set, ""),
    ROW(option_get, ""),
    ROW(options_check, ""),
    ROW(options_set_paper, ""),
    ROW(run_config_write, ""),
    ROW(run_config_read, ""),
    ROW(run_config_free, ""),
    ROW(run_config_differs, "found"),
    ROW(system_differs, "found"),
    {0},
};
