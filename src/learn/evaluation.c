#include "learn/evaluation.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/baseline.h"
#include "learn/determination.h"
#include "learn/force.h"
#include "learn/options.h"
#include "physics/energy.h"
#include "rollout/rollout_options.h"
#include "system/system.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NORMAL_95 = 1.96; /* half of the 95 % interval of a normal deviate */

/* ---- numbers over trajectories ---- */

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

carom_estimate estimate_of(double *values, int count) {
  carom_estimate e = {count, NAN, NAN, NAN, NAN};
  if (count == 0) return e;
  double sum = 0, squares = 0;
  for (int k = 0; k < count; k++) sum += values[k];
  e.mean = sum / count;
  // half width 1.96 s / sqrt(n)
  for (int k = 0; k < count; k++) squares += (values[k] - e.mean) * (values[k] - e.mean);
  if (count > 1) e.half_width = NORMAL_95 * sqrt(squares / (count - 1) / count);
  qsort(values, (size_t)count, sizeof(double), compare_doubles);
  e.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
  e.largest = values[count - 1];
  return e;
}

// nothing over nothing is no error
static double ratio(double part, double whole) {
  if (whole > 0) return part / whole;
  return part > 0 ? INFINITY : 0;
}

/* ---- horizons ---- */

static void horizon_release(carom_horizon *h) {
  free(h->x);
  free(h->v);
  free(h->true_x);
  free(h->true_v);
  free(h->failed);
  free(h->curve);
  free(h->curve_half_width);
}

static carom_status horizon_allocate(const carom_system *system, int count, int states,
                                     carom_horizon *h, carom_error *error) {
  size_t entries = (size_t)count * (size_t)states;
  size_t bytes = sizeof(double) * (size_t)system->coordinate_count;
  h->count = count;
  h->states = states;
  double **const arrays[] = {&h->x, &h->v, &h->true_x, &h->true_v};
  bool enough_memory = true;
  for (int k = 0; k < 4; k++) {
    *arrays[k] = size_allocate_zero(entries, bytes);
    enough_memory = enough_memory && *arrays[k] != NULL;
  }
  h->failed = size_allocate_zero((size_t)count, sizeof(bool));
  h->curve = size_allocate_zero((size_t)states, sizeof(double));
  h->curve_half_width = size_allocate_zero((size_t)states, sizeof(double));
  if (enough_memory && h->failed != NULL && h->curve != NULL && h->curve_half_width != NULL)
    return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d trajectories of %d states", count,
                   states);
}

/* Sums over the states [begin, end) of a trajectory. */
typedef struct sums {
  double difference, magnitude; /* of absolute values */
  double difference_square, magnitude_square;
} sums;

static sums sum_states(const carom_horizon *h, int size, int sample, int begin, int end) {
  sums s = {0};
  const double *predicted[] = {h->x, h->v}, *expected[] = {h->true_x, h->true_v};
  size_t first = (size_t)sample * (size_t)h->states;
  for (int part = 0; part < 2; part++) {
    for (size_t i = (first + (size_t)begin) * (size_t)size;
         i < (first + (size_t)end) * (size_t)size; i++) {
      double is = expected[part][i], off = predicted[part][i] - is;
      s.difference += fabs(off);
      s.magnitude += fabs(is);
      s.difference_square += off * off;
      s.magnitude_square += is * is;
    }
  }
  return s;
}

/* sum |predicted - true| / sum |true| over x and v */
static double relative_error(const carom_horizon *h, int size, int sample, int begin, int end) {
  const sums s = sum_states(h, size, sample, begin, end);
  return ratio(s.difference, s.magnitude);
}

/* mean over states of sqrt(sum (predicted - true)^2 / sum true^2) */
static double state_norm_error(const carom_horizon *h, int size, int sample) {
  double sum = 0;
  for (int k = 0; k < h->states; k++) {
    const sums s = sum_states(h, size, sample, k, k + 1);
    sum += sqrt(ratio(s.difference_square, s.magnitude_square));
  }
  return sum / h->states;
}

/* mean |predicted - true| over x and v */
static double absolute_error(const carom_horizon *h, int size, int sample) {
  return sum_states(h, size, sample, 0, h->states).difference / (2.0 * h->states * size);
}

/* All numbers of a horizon; `values` is scratch for one number a trajectory. */
static void horizon_measure(carom_horizon *h, int size, double *values) {
  int used = 0;
  for (int i = 0; i < h->count; i++)
    if (!h->failed[i]) values[used++] = relative_error(h, size, i, 0, h->states);
  h->relative = estimate_of(values, used);
  used = 0;
  for (int i = 0; i < h->count; i++)
    if (!h->failed[i]) values[used++] = state_norm_error(h, size, i);
  h->state_norm = estimate_of(values, used);
  used = 0;
  for (int i = 0; i < h->count; i++)
    if (!h->failed[i]) values[used++] = absolute_error(h, size, i);
  h->absolute = estimate_of(values, used);
  for (int k = 0; k < h->states; k++) {
    used = 0;
    for (int i = 0; i < h->count; i++)
      if (!h->failed[i]) values[used++] = relative_error(h, size, i, k, k + 1);
    const carom_estimate e = estimate_of(values, used);
    h->curve[k] = e.mean;
    h->curve_half_width[k] = e.half_width;
  }
}

/* ---- predictions ---- */

/* What all parts of an evaluation use. */
typedef struct evaluator {
  const carom_system *system;
  carom_model *model;
  const carom_chunks *chunks;
  const carom_evaluation_options *options;
  carom_evaluation *result;
  double *x0, *v0; /* [chunks->count][D] first states */
  double *values;  /* [chunks->count] */
} evaluator;

static carom_status evaluator_init(evaluator *e, carom_error *error) {
  size_t count = (size_t)e->chunks->count, size = (size_t)e->system->coordinate_count;
  size_t stride = (size_t)e->chunks->states * size;
  e->x0 = size_allocate_zero(count * size, sizeof(double));
  e->v0 = size_allocate_zero(count * size, sizeof(double));
  e->values = size_allocate_zero(count, sizeof(double));
  if (e->x0 == NULL || e->v0 == NULL || e->values == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %zu states", count);
  for (size_t k = 0; k < count; k++) {
    memcpy(e->x0 + k * size, e->chunks->x + k * stride, sizeof(double) * size);
    memcpy(e->v0 + k * size, e->chunks->v + k * stride, sizeof(double) * size);
  }
  return CAROM_OK;
}

static void evaluator_free(evaluator *e) {
  free(e->x0);
  free(e->v0);
  free(e->values);
}

// one trajectory after the other, so that one that leaves the finite does not take the rest along
static carom_status predict_each(evaluator *e, carom_horizon *h, carom_error *error) {
  size_t size = (size_t)e->system->coordinate_count, stride = (size_t)h->states * size;
  for (int k = 0; k < h->count; k++) {
    double *x = h->x + (size_t)k * stride, *v = h->v + (size_t)k * stride;
    carom_report report = {0};
    carom_status status = carom_model_predict(e->model, 1, h->states - 1, e->x0 + (size_t)k * size,
                                              e->v0 + (size_t)k * size, x, v, NULL, &report, error);
    carom_report_add(&e->result->report, &report);
    if (status == CAROM_OK) continue;
    if (status != CAROM_NUMERICAL_FAILURE) return status;
    h->failed[k] = true;
    h->failed_count++;
    for (size_t i = 0; i < stride; i++) x[i] = v[i] = NAN;
  }
  return CAROM_OK;
}

static carom_status predict(evaluator *e, carom_horizon *h, carom_error *error) {
  carom_report report = {0};
  carom_status status = carom_model_predict(e->model, h->count, h->states - 1, e->x0, e->v0, h->x,
                                            h->v, NULL, &report, error);
  if (status == CAROM_NUMERICAL_FAILURE) return predict_each(e, h, error);
  carom_report_add(&e->result->report, &report);
  return status;
}

// the scene with its own parameters from the same states
static carom_status simulate_scene(const evaluator *e, carom_contact_model contact,
                                   carom_dynamics dynamics, int steps, double *x, double *v,
                                   carom_error *error) {
  carom_rollout_options o = carom_rollout_default_options(e->system);
  o.steps = steps;
  o.dt = e->result->dt;
  o.contact = contact;
  o.dynamics = dynamics;
  const carom_model_options model = carom_model_describe(e->model).options;
  o.compensation = model.compensation;
  o.contact_time = model.contact_time;
  o.friction = carom_model_friction_law(&model, e->system);
  o.threads = e->options->threads;
  carom_status status = carom_system_simulate(e->system, &o, NULL, e->chunks->count, e->x0, e->v0,
                                              x, v, NULL, NULL, error);
  return status == CAROM_OK ? status : error_prefix(error, "the true motion");
}

/* The scene's own parameters against the data, in the model's contact model and dynamics: what the
 * model could reach at best. */
static carom_status measure_scene(evaluator *e, carom_error *error) {
  const carom_horizon *data = &e->result->chunk;
  carom_horizon h = {
      .count = data->count, .states = data->states, .true_x = data->true_x, .true_v = data->true_v};
  size_t entries = (size_t)h.count * (size_t)h.states;
  size_t bytes = sizeof(double) * (size_t)e->system->coordinate_count;
  h.x = size_allocate_zero(entries, bytes);
  h.v = size_allocate_zero(entries, bytes);
  carom_status status = CAROM_OK;
  if (h.x == NULL || h.v == NULL)
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d trajectories", h.count);
  const carom_model_options o = carom_model_describe(e->model).options;
  if (status == CAROM_OK)
    status = simulate_scene(e, o.contact, o.dynamics, h.states - 1, h.x, h.v, error);
  for (int k = 0; k < h.count && status == CAROM_OK; k++)
    e->values[k] = relative_error(&h, e->system->coordinate_count, k, 0, h.states);
  if (status == CAROM_OK) e->result->scene_relative = estimate_of(e->values, h.count);
  free(h.x);
  free(h.v);
  return status;
}

static carom_status evaluate_chunks(evaluator *e, carom_error *error) {
  carom_horizon *h = &e->result->chunk;
  const carom_chunks *c = e->chunks;
  carom_status status = horizon_allocate(e->system, c->count, c->states, h, error);
  if (status != CAROM_OK) return status;
  size_t bytes =
      sizeof(double) * (size_t)c->count * (size_t)c->states * (size_t)e->system->coordinate_count;
  memcpy(h->true_x, c->x, bytes);
  memcpy(h->true_v, c->v, bytes);
  status = predict(e, h, error);
  if (status != CAROM_OK) return status;
  horizon_measure(h, e->system->coordinate_count, e->values);
  return e->options->truth_known ? measure_scene(e, error) : CAROM_OK;
}

/* ---- energies ---- */

/* energy [count] of states, with the scene's parameters */
static carom_status energies(const evaluator *e, const carom_horizon *h, const double *x,
                             const double *v, double *energy, carom_error *error) {
  double *kinetic = size_allocate((size_t)h->states, sizeof(double));
  if (kinetic == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the energies of %d states",
                     h->states);
  const size_t trajectory = (size_t)h->states * (size_t)e->system->coordinate_count;
  carom_status status = CAROM_OK;
  for (int k = 0; k < h->count && status == CAROM_OK; k++, energy += h->states) {
    const size_t at = (size_t)k * trajectory;
    status = energy_of_states(e->system, e->result->scene_theta, h->states, x + at, v + at, kinetic,
                              energy, error);
    for (int i = 0; status == CAROM_OK && i < h->states; i++) energy[i] += kinetic[i];
  }
  free(kinetic);
  return status;
}

/* What energies of each trajectory are relative to: kinetic + |potential| of its first state. */
static carom_status energy_scales(const evaluator *e, int count, double *scales,
                                  carom_error *error) {
  double *kinetic = scales + count;
  carom_status status = energy_of_states(e->system, e->result->scene_theta, count, e->x0, e->v0,
                                         kinetic, scales, error);
  for (int k = 0; status == CAROM_OK && k < count; k++) scales[k] = kinetic[k] + fabs(scales[k]);
  return status;
}

/* Largest and mean |energy_k - reference_k| of a trajectory; reference_step 0: always the first. */
static void deviations(const double *energy, const double *reference, int reference_step,
                       int states, double scale, double *greatest, double *average) {
  double most = 0, sum = 0;
  for (int k = 0; k < states; k++) {
    double off = fabs(energy[k] - reference[k * reference_step]);
    most = fmax(most, off);
    sum += off;
  }
  *greatest = ratio(most, scale);
  *average = ratio(sum / states, scale);
}

/* `reference` NULL: each trajectory's own start. Behind the `scales` there is scratch as e->values. */
static carom_energy_drift measure_energy(const evaluator *e, const double *energy,
                                         const double *reference, double *scales) {
  const carom_horizon *h = &e->result->extended;
  double *averages = scales + h->count;
  int used = 0;
  for (int k = 0; k < h->count; k++) {
    if (h->failed[k]) continue;
    size_t at = (size_t)k * (size_t)h->states;
    deviations(energy + at, reference != NULL ? reference + at : energy + at, reference != NULL,
               h->states, scales[k], &e->values[used], &averages[used]);
    used++;
  }
  return (carom_energy_drift){estimate_of(e->values, used), estimate_of(averages, used)};
}

static carom_status evaluate_energy(evaluator *e, carom_error *error) {
  carom_evaluation *r = e->result;
  const carom_horizon *h = &r->extended;
  size_t states = (size_t)h->count * (size_t)h->states;
  r->energy = size_allocate_zero(states, sizeof(double));
  r->true_energy = size_allocate_zero(states, sizeof(double));
  double *scales = size_allocate_zero(2 * (size_t)h->count, sizeof(double));
  carom_status status = CAROM_OK;
  if (r->energy == NULL || r->true_energy == NULL || scales == NULL) {
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %zu energies", states);
  } else {
    status = energies(e, h, h->x, h->v, r->energy, error);
    if (status == CAROM_OK) status = energies(e, h, h->true_x, h->true_v, r->true_energy, error);
    if (status == CAROM_OK) status = energy_scales(e, h->count, scales, error);
  }
  if (status == CAROM_OK) {
    r->drift = measure_energy(e, r->energy, NULL, scales);
    r->true_drift = measure_energy(e, r->true_energy, NULL, scales);
    r->energy_error = measure_energy(e, r->energy, r->true_energy, scales).greatest;
  }
  free(scales);
  return status;
}

static carom_status evaluate_extended(evaluator *e, carom_error *error) {
  carom_horizon *h = &e->result->extended;
  carom_status status =
      horizon_allocate(e->system, e->chunks->count, e->options->steps + 1, h, error);
  if (status == CAROM_OK)
    status = simulate_scene(e, e->options->contact, CAROM_LAGRANGIAN, e->options->steps, h->true_x,
                            h->true_v, error);
  if (status == CAROM_OK) status = predict(e, h, error);
  if (status != CAROM_OK) return status;
  horizon_measure(h, e->system->coordinate_count, e->values);
  return evaluate_energy(e, error);
}

/* ---- properties ---- */

// what a baseline is given or does without is not learned
static void forget_segment(const carom_system *system, carom_segment which, double *theta) {
  const carom_segment_info s = carom_parameters_segment(system, which);
  for (int k = 0; k < s.size; k++) theta[s.offset + k] = NAN;
}

static void forget_unlearned(const carom_system *system, carom_baseline kind, double *theta) {
  if (!baseline_learns_contacts(kind)) {
    forget_segment(system, CAROM_FRICTION, theta);
    forget_segment(system, CAROM_RESTITUTION, theta);
  }
  if (!baseline_learns_potential(kind)) {
    forget_segment(system, CAROM_LOG_MASS, theta);
    forget_segment(system, CAROM_LOG_MOMENT, theta);
  }
}

static carom_status evaluate_properties(evaluator *e, const carom_chunks *train,
                                        carom_error *error) {
  carom_evaluation *r = e->result;
  r->parameter_count = e->system->parameter_count;
  r->theta = size_allocate_zero((size_t)r->parameter_count, sizeof(double));
  r->scene_theta = size_allocate_zero((size_t)r->parameter_count, sizeof(double));
  r->counts = size_allocate_zero((size_t)e->system->contact_count, sizeof *r->counts);
  if (r->theta == NULL || r->scene_theta == NULL || r->counts == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for parameters");
  carom_model_theta(e->model, r->theta);
  forget_unlearned(e->system, carom_model_describe(e->model).options.baseline, r->theta);
  carom_parameters_default(e->system, r->scene_theta);
  if (train == NULL) return CAROM_OK;
  r->train_count = train->count;
  return carom_chunks_count_contacts(train, e->system, r->counts, error);
}

/* What is known of frictions and restitutions, from the training chunks or, where they are not there,
 * from those that are evaluated. */
static carom_status evaluate_ranges(evaluator *e, const carom_chunks *train, carom_error *error) {
  carom_evaluation *r = e->result;
  const size_t count = (size_t)e->system->contact_count;
  r->friction = size_allocate_zero(count, sizeof *r->friction);
  r->restitution = size_allocate_zero(count, sizeof *r->restitution);
  if (r->friction == NULL || r->restitution == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for ranges of properties");
  const bool trained = train != NULL && train->count > 0;
  return determination_run(e->model, trained ? train : e->chunks, r->friction, r->restitution,
                           error);
}

/* ---- accelerations ---- */

// mean and deviation over states of values [count][width]
static void measure_columns(const double *values, int count, int width, double *mean,
                            double *spread) {
  for (int i = 0; i < width; i++) {
    double sum = 0, squares = 0;
    for (int k = 0; k < count; k++) sum += values[(size_t)k * (size_t)width + (size_t)i];
    mean[i] = sum / count;
    for (int k = 0; k < count; k++) {
      const double off = values[(size_t)k * (size_t)width + (size_t)i] - mean[i];
      squares += off * off;
    }
    spread[i] = sqrt(squares / count);
  }
}

static carom_status evaluate_accelerations(evaluator *e, carom_error *error) {
  carom_evaluation *r = e->result;
  const size_t width = (size_t)(e->system->body_count * e->system->dimension);
  double **const arrays[] = {&r->acceleration, &r->acceleration_spread, &r->scene_acceleration,
                             &r->scene_acceleration_spread};
  bool enough_memory = true;
  for (int k = 0; k < 4; k++) {
    *arrays[k] = size_allocate_zero(width, sizeof(double));
    enough_memory = enough_memory && *arrays[k] != NULL;
  }
  double *scratch = malloc(sizeof(double) * width * (size_t)e->chunks->count);
  carom_status status = CAROM_OK;
  if (!enough_memory || scratch == NULL)
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for accelerations");
  if (status == CAROM_OK)
    status = model_accelerations(e->model, e->chunks->count, e->x0, scratch, error);
  if (status == CAROM_OK)
    measure_columns(scratch, e->chunks->count, (int)width, r->acceleration, r->acceleration_spread);
  if (status == CAROM_OK)
    status = scene_accelerations(e->system, e->chunks->count, e->x0, scratch, error);
  if (status == CAROM_OK)
    measure_columns(scratch, e->chunks->count, (int)width, r->scene_acceleration,
                    r->scene_acceleration_spread);
  free(scratch);
  return status;
}

static carom_status evaluate_all(evaluator *e, const carom_chunks *train, carom_error *error) {
  carom_status status = evaluator_init(e, error);
  if (status == CAROM_OK) status = evaluate_properties(e, train, error);
  if (status == CAROM_OK) status = evaluate_chunks(e, error);
  if (status == CAROM_OK && e->options->truth_known) status = evaluate_extended(e, error);
  if (status == CAROM_OK) status = evaluate_accelerations(e, error);
  if (status == CAROM_OK) status = evaluate_ranges(e, train, error);
  return status;
}

carom_status evaluation_run(const carom_system *system, carom_model *trained, double dt,
                            const carom_chunks *chunks, const carom_chunks *train,
                            const carom_evaluation_options *options, carom_evaluation **result,
                            carom_error *error) {
  *result = NULL;
  if (chunks->count < 1)
    return error_set(error, CAROM_INVALID_DATA, "there are no chunks to evaluate on");
  const bool learned = train != NULL && train->count > 0;
  if (chunks->states < 2 || (learned && train->states < 2))
    return error_set(error, CAROM_INVALID_DATA,
                     "chunks of %d states cannot be evaluated, nor learned from: they need 2",
                     chunks->states < 2 ? chunks->states : train->states);
  carom_status status = options_check(&evaluation_option_table, options, error);
  if (status != CAROM_OK) return status;
  carom_evaluation *made = calloc(1, sizeof *made);
  if (made == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for an evaluation");
  made->dt = dt;
  made->truth_known = options->truth_known;
  evaluator e = {
      .system = system, .model = trained, .chunks = chunks, .options = options, .result = made};
  status = evaluate_all(&e, train, error);
  evaluator_free(&e);
  if (status != CAROM_OK) {
    carom_evaluation_destroy(made);
    return status;
  }
  *result = made;
  return error_clear(error);
}

carom_status carom_model_evaluate(carom_model *model, const carom_dataset *dataset,
                                  carom_split split, const carom_evaluation_options *options,
                                  carom_evaluation **result, carom_error *error) {
  if (result != NULL) *result = NULL;
  REQUIRE(model, error);
  REQUIRE(dataset, error);
  if (result == NULL) return error_null(error, __func__, "evaluation");
  if ((int)split < 0 || split >= CAROM_SPLIT_COUNT)
    return error_set(error, CAROM_INVALID_ARGUMENT, "%d is no split of a data set", (int)split);
  const double dt = carom_model_describe(model).options.dt;
  if (!(fabs(dataset->dt - dt) <= 1e-9 * dt))
    return error_set(error, CAROM_INVALID_DATA,
                     "the time step of the data is %.12g, the model was trained with %.12g",
                     dataset->dt, dt);
  const carom_evaluation_options usual = carom_evaluation_default_options();
  if (options == NULL) options = &usual;
  return evaluation_run(
      carom_model_describe(model).system, model, dataset->dt, carom_dataset_split(dataset, split),
      options->train != NULL ? options->train : &dataset->train, options, result, error);
}

void carom_evaluation_destroy(carom_evaluation *e) {
  if (e == NULL) return;
  horizon_release(&e->chunk);
  horizon_release(&e->extended);
  free(e->energy);
  free(e->true_energy);
  free(e->theta);
  free(e->scene_theta);
  free(e->counts);
  free(e->friction);
  free(e->restitution);
  free(e->acceleration);
  free(e->acceleration_spread);
  free(e->scene_acceleration);
  free(e->scene_acceleration_spread);
  free(e);
}
