/* Whole trajectories predicted from their first states. */
#include <stdlib.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/fit.h"
#include "fit/forecast.h"
#include "learn/whole_length.h"
#include "system/system.h"

/* The first run of every trajectory: to the first state that is missing. */
static int first_runs(carom_fit *loaded) {
  int count = 0;
  for (int r = 0; r < loaded->run_count; r++) {
    if (r > 0 && loaded->run_trajectory[r] == loaded->run_trajectory[r - 1]) continue;
    loaded->run_first[count] = loaded->run_first[r];
    loaded->run_flight[count] = loaded->run_flight[r];
    loaded->run_states[count++] = loaded->run_states[r];
  }
  return count;
}

static carom_status predict_all(const carom_fit *fit, carom_fit *loaded, forecast *f,
                                carom_fit_prediction *p, carom_error *error) {
  carom_status status = forecast_init(
      f, fit->system, &loaded->simulation, loaded->data, loaded->clean, loaded->times,
      first_runs(loaded), loaded->run_first, loaded->run_states, fit_flights(loaded), 0, error);
  if (status != CAROM_OK) return status;
  measure_as(&f->measure, &fit->shooting.measure);
  double *residuals = size_allocate(f->place[f->count], sizeof(double));
  p->position = size_allocate_zero((size_t)f->count, sizeof(double));
  p->angle = size_allocate_zero((size_t)f->count, sizeof(double));
  if (residuals == NULL || p->position == NULL || p->angle == NULL)
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  if (status == CAROM_OK) status = forecast_run(f, fit->theta, residuals, error);
  if (status == CAROM_OK) {
    p->count = f->count;
    for (int i = 0; i < f->count; i++)
      forecast_errors(f, residuals, i, &p->position[i], &p->angle[i]);
    prediction_summarise(p);
  }
  free(residuals);
  return status;
}

/* The trajectories as a fit would take them: velocities at their states, states on the
 * constraints. */
static carom_status load_and_predict(const carom_fit *fit, const carom_trajectories *given,
                                     carom_fit_prediction *p, carom_error *error) {
  carom_trajectories data = *given;
  if (data.dt <= 0) data.dt = fit->simulation.dt;
  carom_fit loaded = {
      .system = fit->system, .options = fit->options, .simulation = fit->simulation};
  loaded.simulation.dt = data.dt;
  loaded.options.project = true; // how far off they are was a question for those fitted
  forecast f = {0};
  carom_status status = fit_load_data(&loaded, &data, error);
  if (status == CAROM_OK) status = predict_all(fit, &loaded, &f, p, error);
  forecast_free(&f);
  free(loaded.found.findings);
  free(loaded.data);
  free(loaded.clean);
  free(loaded.times);
  free(loaded.run_first);
  free(loaded.run_states);
  free(loaded.run_trajectory);
  free(loaded.run_flight);
  return status;
}

carom_status carom_fit_predict(const carom_fit *fit, const carom_trajectories *trajectories,
                               carom_fit_prediction *prediction, carom_error *error) {
  if (prediction != NULL) *prediction = (carom_fit_prediction){0};
  REQUIRE(fit, error);
  REQUIRE(trajectories, error);
  REQUIRE(prediction, error);
  const carom_trajectories *t = trajectories;
  const carom_system *s = fit->system;
  if (!fit->has_result)
    return error_set(error, CAROM_INVALID_ARGUMENT, "the fit has not been run; call carom_fit_run");
  if (t->batch < 1 || t->state_count < 2 || t->x == NULL || t->point_count != s->point_count ||
      t->dimension != s->dimension)
    return error_set(
        error, CAROM_INVALID_DATA,
        "trajectories to predict need positions of the scene's points, in two states at "
        "least");
  carom_status status = load_and_predict(fit, t, prediction, error);
  if (status != CAROM_OK) {
    carom_fit_prediction_free(prediction);
    return error_prefix(error, "prediction");
  }
  return error_clear(error);
}

void carom_fit_prediction_free(carom_fit_prediction *prediction) {
  if (prediction == NULL) return;
  free(prediction->position);
  free(prediction->angle);
  *prediction = (carom_fit_prediction){0};
}
