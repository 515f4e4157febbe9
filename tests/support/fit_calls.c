/* Calls of identification. */
#include "support/public_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The last run of the rollout, as if it had been measured. */
static carom_trajectories measured(void) {
  const carom_system_info info = carom_system_describe(have.system);
  return (carom_trajectories){.batch = BATCH,
                              .state_count = STEPS + 1,
                              .point_count = info.point_count,
                              .dimension = info.dimension,
                              .dt = info.dt,
                              .x = (double *)(uintptr_t)carom_rollout_positions(have.rollout),
                              .v = (double *)(uintptr_t)carom_rollout_velocities(have.rollout)};
}

carom_fit *make_fit(void) {
  const carom_trajectories data = measured();
  const carom_fit_options options = carom_fit_default_options();
  carom_fit *made = NULL;
  assert_int_equal(carom_fit_create(have.system, &data, "gravity", NULL, &options, &made, NULL),
                   CAROM_OK);
  return made;
}

static outcome try_channel_name(trial *t) {
  return (outcome){.harmless = carom_channel_name((carom_channel)N(channel, 0))[0] == '\0'};
}

static outcome try_fit_default_options(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_fit_default_options().piece > 0};
}

static outcome try_fit_create(trial *t) {
  const carom_trajectories data = measured();
  carom_rollout_options simulation = small_rollout_options();
  carom_fit_options options = carom_fit_default_options();
  carom_fit *made = garbage;
  outcome o = {.status = carom_fit_create(P(system, have.system), P(trajectories, &data),
                                          P(unknowns, "gravity"), O(simulation, simulation),
                                          O(options, options), P(fit, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_fit_destroy(made);
  return o;
}

static outcome try_fit_destroy(trial *t) {
  carom_fit *none = NULL;
  carom_fit_destroy(P(fit, none));
  return (outcome){.harmless = true};
}

static outcome try_fit_run(trial *t) {
  return (outcome){.status = carom_fit_run(P(fit, have.fit), ERROR)};
}

static outcome try_fit_result_of(trial *t) {
  return (outcome){.harmless = carom_fit_result_of(P(fit, have.fit)) == NULL};
}

static outcome try_fit_finding_count(trial *t) {
  return (outcome){.harmless = carom_fit_finding_count(P(fit, have.fit)) == 0};
}

static outcome try_fit_finding(trial *t) {
  return (outcome){.harmless = carom_fit_finding(P(fit, have.fit), N(index, 0)) == NULL};
}

static outcome try_fit_predict(trial *t) {
  const carom_trajectories data = measured();
  carom_fit_prediction made = {.position = garbage};
  outcome o = {.status = carom_fit_predict(P(fit, have.fit), P(trajectories, &data),
                                           P(prediction, &made), ERROR)};
  o.made = P(prediction, made.position);
  if (made.position != garbage) carom_fit_prediction_free(&made);
  return o;
}

static outcome try_model_predict_whole(trial *t) {
  const carom_trajectories data = measured();
  carom_fit_prediction made = {.position = garbage};
  outcome o = {.status = carom_model_predict_whole(P(model, have.model), P(trajectories, &data),
                                                   N(velocity, CAROM_VELOCITY_GIVEN),
                                                   P(prediction, &made), ERROR)};
  o.made = P(prediction, made.position);
  if (made.position != garbage) carom_fit_prediction_free(&made);
  return o;
}

static outcome try_fit_prediction_free(trial *t) {
  carom_fit_prediction none = {0};
  carom_fit_prediction_free(P(prediction, &none));
  return (outcome){.harmless = true};
}

static outcome try_fit_write(trial *t) {
  return (outcome){.status = carom_fit_write(P(fit, have.fit), P(path, "other.h5"), ERROR)};
}

const public_call fit_calls[] = {
    ROW(channel_name, ""),
    ROW(fit_default_options, ""),
    TRUSTING_ROW(fit_create, "simulation", "simulation.steps simulation.shard_size options.piece"),
    ROW(fit_destroy, ""),
    ROW(fit_run, ""),
    ROW(fit_result_of, ""),
    ROW(fit_finding_count, ""),
    ROW(fit_finding, ""),
    ROW(fit_predict, ""),
    ROW(fit_prediction_free, ""),
    ROW(model_predict_whole, ""),
    ROW(fit_write, ""),
    {0}};
