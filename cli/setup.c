#include "cli/setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static carom_status load_parameters(const run_options *given, setup *s, carom_error *error) {
  s->theta = malloc(sizeof(double) * (size_t)carom_parameters_count(s->system));
  if (s->theta == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  carom_parameters_default(s->system, s->theta);
  if (given->parameters != NULL) {
    carom_status status = carom_parameters_read(s->system, given->parameters, s->theta, error);
    if (status != CAROM_OK) return status;
  }
  if (given->epsilon >= 0.0) {
    s->theta[carom_parameters_segment(s->system, CAROM_REGULARIZER).offset] = given->epsilon;
  }
  return CAROM_OK;
}

carom_status setup_load(const run_options *given, setup *s, carom_error *error) {
  *s = (setup){0};
  carom_status status = carom_system_load(given->scene, &s->system, error);
  if (status != CAROM_OK) return status;
  s->info = carom_system_describe(s->system);
  s->options = carom_rollout_default_options(s->system);
  given_options_apply(&given->rollout, &s->options);
  s->options.threads = given->general.threads;
  status = load_parameters(given, s, error);
  if (status != CAROM_OK) setup_close(s);
  return status;
}

size_t state_size(const setup *s) {
  return (size_t)s->info.point_count * (size_t)s->info.dimension;
}

static carom_status read_states(const run_options *given, setup *s, carom_error *error) {
  carom_states read;
  carom_status status = carom_states_read(s->system, given->init, &read, error);
  if (status != CAROM_OK) return status;
  s->batch = read.batch;
  s->x0 = read.x;
  s->v0 = read.v;
  status = carom_system_check_states(s->system, s->batch, s->x0, s->v0, given->tolerance, error);
  if (status == CAROM_OK) return CAROM_OK;
  const carom_error found = *error;
  return carom_error_set(error, status, "%.400s: %.600s", given->init, found.message);
}

int drawn_states(const run_options *given) { return given->sample > 0 ? given->sample : 1; }

carom_status setup_states(const run_options *given, setup *s, carom_error *error) {
  if (given->init != NULL) return read_states(given, s, error);
  s->batch = drawn_states(given);
  size_t bytes = sizeof(double) * state_size(s) * (size_t)s->batch;
  s->x0 = malloc(bytes);
  s->v0 = malloc(bytes);
  if (s->x0 == NULL || s->v0 == NULL) {
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d initial states", s->batch);
  }
  return carom_system_sample(s->system, given->seed, s->batch, s->x0, s->v0, error);
}

carom_status setup_controls_begin(const run_options *given, setup *s, carom_controls *read,
                                  carom_error *error) {
  if (given->controls == NULL) return CAROM_OK;
  carom_status status = carom_controls_read(s->system, given->controls, read, error);
  if (status != CAROM_OK) return status;
  if (given_text(&given->rollout, "steps") == NULL) s->options.steps = read->steps;
  if (read->dt > 0.0 && fabs(read->dt - s->options.dt) > 1e-9 * s->options.dt) {
    return carom_error_set(error, CAROM_INVALID_DATA,
                           "%s: has the time step %g, but the run has %g; give --dt %.17g",
                           given->controls, read->dt, s->options.dt, read->dt);
  }
  return CAROM_OK;
}

// the controls of one sample, for all
static carom_status repeat_controls(setup *s, const carom_controls *read, carom_error *error) {
  const size_t each = (size_t)read->steps * (size_t)s->info.control_size;
  s->u = calloc((size_t)s->batch, each * sizeof(double));
  if (s->u == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for controls of %d samples",
                           s->batch);
  for (int k = 0; k < s->batch; k++)
    memcpy(s->u + (size_t)k * each, read->u, each * sizeof(double));
  return CAROM_OK;
}

carom_status setup_controls(const run_options *given, setup *s, carom_controls *read,
                            carom_error *error) {
  if (given->controls == NULL) return CAROM_OK;
  if (read->steps != s->options.steps) {
    return carom_error_set(error, CAROM_INVALID_DATA,
                           "%s: /u has controls of %d time steps, but the run has %d",
                           given->controls, read->steps, s->options.steps);
  }
  if (read->batch == 1) return repeat_controls(s, read, error);
  if (read->batch != s->batch) {
    return carom_error_set(
        error, CAROM_INVALID_DATA,
        "%s: /u has controls of %d samples, but the run has %d; give those of as "
        "many, or of one for all",
        given->controls, read->batch, s->batch);
  }
  s->u = read->u;
  read->u = NULL;
  return CAROM_OK;
}

void setup_close(setup *s) {
  carom_system_destroy(s->system);
  free(s->theta);
  free(s->x0);
  free(s->v0);
  free(s->u);
  *s = (setup){0};
}
