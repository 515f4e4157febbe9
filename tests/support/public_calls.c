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

#include "support/systems.h"

call_objects have;
void *const garbage = &have;

bool is_spoilt(trial *t, const char *name) {
  if (t->name == NULL || strcmp(t->name, name) != 0) return false;
  t->passed = true;
  return true;
}

void *spoilt_options(const trial *t, void *options) {
  if (t->field == NULL) return NULL;
  option_set_number(t->field, options, t->number);
  return options;
}

const public_call *public_call_at(int index) {
  const public_call *const tables[] = {engine_calls, learning_calls, plan_calls, fit_calls};
  for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++)
    for (const public_call *row = tables[k]; row->function != NULL; row++)
      if (index-- == 0) return row;
  return NULL;
}

const public_call *public_call_of(const char *function) {
  const public_call *row = public_call_at(0);
  for (int i = 1; row != NULL && strcmp(row->function, function) != 0; i++) row = public_call_at(i);
  return row;
}

// what reading functions read
static void write_files(void) {
  const carom_states states = some_states();
  const carom_trajectories trajectories = some_trajectories();
  const carom_controls controls = some_controls();
  const carom_cone_program program = small_program();
  carom_evaluation_options options = carom_evaluation_default_options();
  options.steps = STEPS;
  assert_int_equal(carom_states_write(&states, have.system, "states.h5", NULL), CAROM_OK);
  assert_int_equal(carom_parameters_write(have.system, have.theta, "theta.h5", NULL), CAROM_OK);
  assert_int_equal(carom_cone_program_write(&program, "program.json", NULL), CAROM_OK);
  assert_int_equal(carom_trajectories_write(&trajectories, have.system, "trajectories.h5", NULL),
                   CAROM_OK);
  assert_int_equal(carom_controls_write(&controls, have.pushed, "controls.h5", NULL), CAROM_OK);
  assert_int_equal(carom_dataset_write(have.dataset, have.system, "dataset.h5", NULL), CAROM_OK);
  assert_int_equal(carom_trainer_save(have.trainer, "training.h5", NULL), CAROM_OK);
  assert_int_equal(
      carom_model_evaluate(have.model, have.dataset, CAROM_TEST, &options, &have.evaluation, NULL),
      CAROM_OK);
  have.fit = make_fit();
  assert_int_equal(carom_fit_run(have.fit, NULL), CAROM_OK);
}

void public_calls_prepare(void) {
  have.system = load_system("cp3");
  have.pushed = load_system(CAROM_SOURCE_DIR "/examples/scenes/pushed.json");
  carom_parameters_default(have.system, have.theta);
  const carom_rollout_options options = small_rollout_options();
  assert_int_equal(carom_system_sample(have.system, 1, BATCH, have.x0, have.v0, NULL), CAROM_OK);
  assert_int_equal(carom_rollout_create(have.system, &options, BATCH, &have.rollout, NULL),
                   CAROM_OK);
  assert_int_equal(carom_rollout_run(have.rollout, NULL, have.x0, have.v0, NULL), CAROM_OK);
  assert_int_equal(carom_cone_solver_create(&have.solver, NULL), CAROM_OK);
  have.dataset = make_dataset();
  have.model = make_model();
  have.trainer = make_trainer();
  have.plan = make_plan_object();
  write_files();
}

void public_calls_finish(void) {
  carom_plan_destroy(have.plan);
  carom_evaluation_destroy(have.evaluation);
  carom_fit_destroy(have.fit);
  carom_trainer_destroy(have.trainer);
  carom_model_destroy(have.model);
  carom_dataset_destroy(have.dataset);
  carom_cone_solver_destroy(have.solver);
  carom_rollout_destroy(have.rollout);
  carom_system_destroy(have.system);
  carom_system_destroy(have.pushed);
}
