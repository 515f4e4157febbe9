/* Rollouts of the built-in scenes. */
#include "bench/bench.h"

#include <stdlib.h>

enum { STEPS = 100, BATCH = 8, MOST_POINTS = 40 };

/* A rollout with everything it reads and writes. */
typedef struct rollout_fixture {
  carom_system *system;
  carom_rollout_options options;
  carom_rollout *rollout;
  carom_rollout_options event_options; /* the same with contacts at the time of impact */
  carom_rollout *event_rollout;
  size_t state, all; /* doubles in the states and in the trajectories of the batch */
  double *x0, *v0, *x0_bar, *v0_bar;
  double *x, *v, *bar;
  double *theta_bar;
  carom_status status; /* of the last call */
  carom_error error;
} rollout_fixture;

static carom_status allocate(rollout_fixture *f, carom_error *error) {
  const carom_system_info info = carom_system_describe(f->system);
  f->state = (size_t)(BATCH * info.point_count * info.dimension);
  f->all = f->state * (STEPS + 1);
  double **const states[] = {&f->x0, &f->v0, &f->x0_bar, &f->v0_bar};
  double **const trajectories[] = {&f->x, &f->v, &f->bar};
  bool have = true;
  for (int k = 0; k < 4; k++) {
    *states[k] = calloc(f->state, sizeof(double));
    have = have && *states[k] != NULL;
  }
  for (int k = 0; k < 3; k++) {
    *trajectories[k] = calloc(f->all, sizeof(double));
    have = have && *trajectories[k] != NULL;
  }
  f->theta_bar = calloc((size_t)carom_parameters_count(f->system), sizeof(double));
  if (have && f->theta_bar != NULL) return CAROM_OK;
  return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
}

static carom_status fixture_make(rollout_fixture *f, const char *scene, carom_error *error) {
  *f = (rollout_fixture){0};
  carom_status status = carom_system_load(scene, &f->system, error);
  if (status == CAROM_OK) status = allocate(f, error);
  if (status != CAROM_OK) return status;
  f->options = carom_rollout_default_options(f->system);
  f->options.steps = STEPS;
  f->options.threads = 1;
  for (size_t k = 0; k < f->all; k++) f->bar[k] = k % 2 == 0 ? 1.0 : -0.5;
  status = carom_system_sample(f->system, 0, BATCH, f->x0, f->v0, error);
  if (status != CAROM_OK) return status;
  status = carom_rollout_create(f->system, &f->options, BATCH, &f->rollout, error);
  if (status != CAROM_OK) return status;
  f->event_options = f->options;
  f->event_options.contact_time = CAROM_CONTACT_TIME_EVENT;
  return carom_rollout_create(f->system, &f->event_options, BATCH, &f->event_rollout, error);
}

static void fixture_free(rollout_fixture *f) {
  carom_rollout_destroy(f->rollout);
  carom_rollout_destroy(f->event_rollout);
  carom_system_destroy(f->system);
  double *const arrays[] = {f->x0, f->v0, f->x0_bar, f->v0_bar, f->x, f->v, f->bar, f->theta_bar};
  for (int k = 0; k < 8; k++) free(arrays[k]);
}

static void simulate(rollout_fixture *f, const carom_rollout_options *options) {
  f->status = carom_system_simulate(f->system, options, NULL, BATCH, f->x0, f->v0, f->x, f->v, NULL,
                                    NULL, &f->error);
}

static void reverse(rollout_fixture *f, carom_rollout *rollout) {
  f->status =
      carom_rollout_vjp(rollout, f->bar, f->bar, f->x0_bar, f->v0_bar, f->theta_bar, &f->error);
}

static void run_plain(void *user) {
  rollout_fixture *f = user;
  simulate(f, &f->options);
}

static void run_tape(void *user) {
  rollout_fixture *f = user;
  f->status = carom_rollout_run(f->rollout, NULL, f->x0, f->v0, &f->error);
}

static void run_reverse(void *user) {
  rollout_fixture *f = user;
  reverse(f, f->rollout);
}

static void run_events(void *user) {
  rollout_fixture *f = user;
  simulate(f, &f->event_options);
}

static void run_event_tape(void *user) {
  rollout_fixture *f = user;
  f->status = carom_rollout_run(f->event_rollout, NULL, f->x0, f->v0, &f->error);
}

static void run_event_reverse(void *user) {
  rollout_fixture *f = user;
  reverse(f, f->event_rollout);
}

static carom_status measure(rollout_fixture *f, double seconds, const char *name, json_t *rows,
                            carom_error *error) {
  // long ropes chatter: minutes with every impact followed
  const int measured = carom_system_describe(f->system).point_count <= MOST_POINTS ? 6 : 3;
  void (*const work[])(void *) = {run_plain,  run_tape,       run_reverse,
                                  run_events, run_event_tape, run_event_reverse};
  double time[6] = {0.0};
  for (int k = 0; k < measured && f->status == CAROM_OK; k++) {
    time[k] = bench_least_time(work[k], f, seconds);
  }
  if (f->status != CAROM_OK)
    return carom_error_set(error, f->status, "%s: %.900s", name, f->error.message);
  double steps = BATCH * STEPS;
  json_array_append_new(
      rows, json_pack("{ss si sf sf sf sf sf sf}", "scene", name, "events",
                      (int)carom_rollout_report(f->rollout).events, "plain_steps_per_s",
                      steps / time[0], "run_steps_per_s", steps / time[1], "reverse_steps_per_s",
                      steps / time[2], "reverse_ratio", time[2] / time[1], "event_ratio",
                      time[3] / time[0], "event_reverse_ratio", time[5] / time[2]));
  return CAROM_OK;
}

carom_status bench_scenes(const bench_options *options, json_t *rows, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < carom_scene_count(); k++) {
    if (!options->go_on()) return carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
    rollout_fixture f;
    status = fixture_make(&f, carom_scene_name(k), error);
    if (status == CAROM_OK) {
      status = measure(&f, options->seconds, carom_scene_name(k), rows, error);
    }
    fixture_free(&f);
  }
  return status;
}
