/* Evaluations: numbers over trajectories, a model that is the truth has no error, one that is not
 * has the error that it was given, and a model that leaves the finite is counted. */
#include "learn/evaluation.h"

#include "io/evaluation_file.h"
#include "io/h5_file.h"
#include "learn/dataset.h"
#include "learn/force.h"
#include "system/system.h"

#include <jansson.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/systems.h"

/* bp5-e has no gravity: a network of zeros is its true potential. */
typedef struct fixture {
  carom_system *system;
  carom_dataset *data;
  carom_model *model;
  carom_evaluation *result;
} fixture;

static double *segment(carom_model *model, const char *name, int *size) {
  for (int k = 0; k < carom_model_describe(model).array_count; k++) {
    const carom_array_info s = carom_model_array(model, k);
    if (strcmp(s.name, name) != 0) continue;
    *size = s.rows * s.columns;
    return carom_model_parameters(model) + s.offset;
  }
  fail_msg("no segment '%s'", name);
  return NULL;
}

static void fill(carom_model *model, const char *name, double value) {
  int size = 0;
  double *values = segment(model, name, &size);
  for (int k = 0; k < size; k++) values[k] = value;
}

// the truth of bp5-e: no friction, restitution 1, no potential, all masses alike
static carom_model *make_true_model(const carom_system *system, const char *name, double mass) {
  carom_model_options m = carom_model_default_options(system);
  m.hidden_size = 8;
  carom_model *model = NULL;
  if (carom_model_options_by_name(&m, name, NULL) != CAROM_OK ||
      carom_model_create(system, &m, &model, NULL) != CAROM_OK)
    return NULL;
  memset(carom_model_parameters(model), 0,
         sizeof(double) * (size_t)carom_model_describe(model).parameter_count);
  fill(model, "mass", log(mass));
  fill(model, "friction", -1);
  fill(model, "restitution", 4);
  return model;
}

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->system = load_system("bp5-e");
  carom_dataset_options o = carom_dataset_default_options(f->system);
  o.train = 40, o.validation = 0, o.test = 20;
  if (carom_dataset_generate(f->system, NULL, &o, &f->data, NULL) != CAROM_OK) return -1;
  // in another unit of mass
  f->model = make_true_model(f->system, "cm-cd-clnn", 2);
  if (f->model == NULL) return -1;
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  carom_evaluation_destroy(f->result);
  carom_model_destroy(f->model);
  carom_dataset_destroy(f->data);
  carom_system_destroy(f->system);
  free(f);
  return 0;
}

static const carom_evaluation *run(fixture *f, const carom_evaluation_options *o) {
  carom_error error = {0};
  carom_evaluation_destroy(f->result);
  if (evaluation_run(f->system, f->model, f->data->dt, &f->data->test, &f->data->train, o,
                     &f->result, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return f->result;
}

static void estimates(void **state) {
  (void)state;
  double values[] = {4, 1, 2, 3};
  const carom_estimate e = estimate_of(values, 4);
  assert_true(e.mean == 2.5 && e.median == 2.5 && e.largest == 4 && e.count == 4);
  // those that failed are further off than any other
  assert_true(estimate_with_failures(values, 4, 0).median == 2.5);
  assert_true(estimate_with_failures(values, 4, 1).median == 3);
  assert_true(estimate_with_failures(values, 4, 2).median == 3.5);
  assert_true(isinf(estimate_with_failures(values, 4, 4).median));
  assert_true(estimate_with_failures(values, 4, 2).mean == 2.5);
  // s^2 = 5/3
  assert_true(fabs(e.half_width - 1.96 * sqrt(5.0 / 3.0 / 4.0)) < 1e-15);
  double one[] = {7};
  const carom_estimate single = estimate_of(one, 1);
  assert_true(single.mean == 7 && isnan(single.half_width) && single.median == 7);
  assert_true(isnan(estimate_of(one, 0).mean));
}

// the true values in the equations of a model that cannot be exact: that is what it reaches
static void floor_of_a_model(void **state) {
  fixture *f = *state;
  double *theta = malloc(sizeof(double) * (size_t)carom_parameters_count(f->system));
  carom_parameters_default(f->system, theta);
  const double mass = exp(theta[carom_parameters_segment(f->system, CAROM_LOG_MASS).offset]);
  free(theta);
  carom_model *kept = f->model;
  f->model = make_true_model(f->system, "cmr-cd-chnn", mass);
  assert_non_null(f->model);
  const carom_evaluation_options o = carom_evaluation_default_options();
  const carom_evaluation *e = run(f, &o);
  assert_true(e->scene_relative.mean > 1e-5);
  assert_true(fabs(e->chunk.relative.mean - e->scene_relative.mean) < 1e-10);
  carom_model_destroy(f->model);
  f->model = kept;
}

static void truth_has_no_error(void **state) {
  fixture *f = *state;
  const carom_evaluation_options o = carom_evaluation_default_options();
  const carom_evaluation *e = run(f, &o);
  assert_int_equal(e->chunk.count, 20);
  assert_int_equal(e->chunk.states, 5);
  assert_int_equal(e->extended.states, 51);
  assert_true(e->chunk.relative.largest < 1e-10);
  assert_true(e->chunk.state_norm.largest < 1e-10);
  assert_true(e->scene_relative.largest < 1e-12);
  // collisions amplify rounding errors
  assert_true(e->extended.relative.median < 1e-8);
  assert_true(e->energy_error.median < 1e-8);
  assert_true(fabs(e->drift.greatest.mean - e->true_drift.greatest.mean) < 1e-3);
  assert_true(e->chunk.curve[0] == 0);
  assert_int_equal(e->chunk.failed_count, 0);
  assert_int_equal(e->report.failed_programs, 0);
  assert_int_equal(e->train_count, 40);
  assert_true(fabs(carom_parameters_mass_ratio(f->system, e->theta, 3) - 1) < 1e-12);
}

// the errors by hand, of a model with a restitution of a half
static void errors_are_what_they_say(void **state) {
  fixture *f = *state;
  fill(f->model, "restitution", 0);
  const carom_evaluation_options o = carom_evaluation_default_options();
  const carom_evaluation *e = run(f, &o);
  const carom_horizon *h = &e->chunk;
  size_t each = 5 * 10;
  double sum = 0, norms = 0, at_last = 0, absolute = 0;
  for (size_t k = 0; k < 20; k++) {
    double off = 0, size = 0;
    for (size_t i = k * each; i < (k + 1) * each; i++) {
      off += fabs(h->x[i] - f->data->test.x[i]) + fabs(h->v[i] - f->data->test.v[i]);
      size += fabs(f->data->test.x[i]) + fabs(f->data->test.v[i]);
    }
    sum += off / size / 20;
    absolute += off / 100 / 20; // of 5 states, 10 coordinates and velocities each
    for (size_t s = 0; s < 5; s++) {
      double squares = 0, whole = 0, l1 = 0, l1_whole = 0;
      for (size_t i = k * each + s * 10; i < k * each + (s + 1) * 10; i++) {
        const double tx = f->data->test.x[i], tv = f->data->test.v[i];
        squares += pow(h->x[i] - tx, 2) + pow(h->v[i] - tv, 2);
        whole += tx * tx + tv * tv;
        l1 += fabs(h->x[i] - tx) + fabs(h->v[i] - tv);
        l1_whole += fabs(tx) + fabs(tv);
      }
      norms += sqrt(squares / whole) / 5 / 20;
      if (s == 4) at_last += l1 / l1_whole / 20;
    }
  }
  assert_true(sum > 1e-4);
  assert_true(fabs(h->relative.mean - sum) < 1e-12);
  assert_true(fabs(h->state_norm.mean - norms) < 1e-12);
  assert_true(fabs(h->absolute.mean - absolute) < 1e-12);
  assert_true(fabs(h->curve[4] - at_last) < 1e-12);
  // contacts that lose energy show in the drift, and the truth loses none
  assert_true(e->drift.greatest.mean > 0.05);
  assert_true(e->energy_error.mean > 0.05);
}

static void energies_are_the_scenes(void **state) {
  fixture *f = *state;
  const carom_evaluation_options o = carom_evaluation_default_options();
  const carom_evaluation *e = run(f, &o);
  const carom_horizon *h = &e->extended;
  for (int k = 0; k < h->count * h->states; k += 17) {
    double kinetic, potential;
    carom_system_energy(f->system, NULL, h->x + k * 10, h->v + k * 10, &kinetic, &potential, NULL);
    assert_true(fabs(e->energy[k] - kinetic - potential) < 1e-12);
  }
}

// energies count by kinetic and potential energy of the start together
static void energy_scale_has_both_parts(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  carom_dataset_options o = carom_dataset_default_options(system);
  o.train = 5, o.validation = 0, o.test = 3;
  carom_dataset *data;
  assert_int_equal(carom_dataset_generate(system, NULL, &o, &data, NULL), CAROM_OK);
  carom_model_options options = carom_model_default_options(system);
  options.hidden_size = 4;
  carom_model *model;
  assert_int_equal(carom_model_create(system, &options, &model, NULL), CAROM_OK);
  carom_evaluation *e;
  assert_int_equal(carom_model_evaluate(model, data, CAROM_TEST, NULL, &e, NULL), CAROM_OK);
  double largest = 0;
  const int states = e->extended.states, size = 6;
  for (int k = 0; k < 3; k++) {
    double kinetic, potential, most = 0;
    const size_t at = (size_t)(k * states) * (size_t)size;
    carom_system_energy(system, NULL, e->extended.true_x + at, e->extended.true_v + at, &kinetic,
                        &potential, NULL);
    for (int i = 0; i < states; i++)
      most = fmax(most, fabs(e->energy[k * states + i] - e->energy[k * states]));
    largest = fmax(largest, most / (kinetic + fabs(potential)));
  }
  assert_true(largest > 0);
  assert_near(e->drift.greatest.largest, largest, 1e-12 * largest);
  carom_evaluation_destroy(e);
  carom_model_destroy(model);
  carom_dataset_destroy(data);
  carom_system_destroy(system);
}

/* ---- what the data determines ---- */

// disks thrown along a rough floor: `friction` of the floor; the ceiling is out of reach
static carom_system *make_floor(double friction) {
  char text[1200];
  snprintf(text, sizeof text,
           "{\"carom\": 1, \"name\": \"floor\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 40,"
           "\"bodies\": [{\"id\": \"a\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.1}],"
           "\"planes\": [{\"id\": \"floor\", \"normal\": [0, 1], \"offset\": 0},"
           "{\"id\": \"ceiling\", \"normal\": [0, -1], \"offset\": 50}],"
           "\"contacts\": {\"friction\": %g, \"restitution\": 0.5, \"shared\": false},"
           "\"initial\": {\"sampler\": \"box\", \"low\": [0.1, 0.1], \"high\": [0.5, 0.3],"
           "\"speed\": 1, \"rate\": 2}}",
           friction);
  return parse_system(text);
}

// the truth but for the floor's friction, judged on data of the scene
static carom_evaluation *evaluate_floor(double friction, double learned) {
  carom_system *system = make_floor(friction);
  carom_dataset_options o = carom_dataset_default_options(system);
  o.train = 60, o.validation = 0, o.test = 5;
  carom_dataset *data;
  assert_int_equal(carom_dataset_generate(system, NULL, &o, &data, NULL), CAROM_OK);
  carom_model *model = make_true_model(system, "cm-cd-clnn", 1);
  int size;
  double theta[64];
  carom_parameters_default(system, theta);
  memcpy(segment(model, "moment", &size),
         theta + carom_parameters_segment(system, CAROM_LOG_MOMENT).offset, 2 * sizeof(double));
  fill(model, "restitution", 0);
  fill(model, "friction", learned);
  carom_evaluation *e;
  assert_int_equal(carom_model_evaluate(model, data, CAROM_TEST, NULL, &e, NULL), CAROM_OK);
  // nothing was changed on the way
  carom_model_theta(model, theta);
  assert_true(theta[carom_parameters_segment(system, CAROM_FRICTION).offset] == learned);
  carom_model_destroy(model);
  carom_dataset_destroy(data);
  carom_system_destroy(system);
  return e;
}

static void tells_what_is_determined(void **state) {
  (void)state;
  // a floor that slides determines both; a ceiling that is never met nothing
  carom_evaluation *e = evaluate_floor(0.2, 0.2);
  assert_true(e->friction[0].determined && e->restitution[0].determined);
  assert_true(e->friction[0].low > 0.15 && e->friction[0].high < 0.25);
  assert_false(e->friction[1].determined);
  assert_false(e->restitution[1].determined);
  assert_true(e->friction[1].low == 0 && e->friction[1].high == INFINITY);
  assert_true(e->restitution[1].low == 0 && e->restitution[1].high == 1);
  carom_evaluation_destroy(e);
  // one that always sticks is known from below only
  e = evaluate_floor(20, 15);
  assert_false(e->friction[0].determined);
  assert_true(e->friction[0].low > 0.1 && e->friction[0].low < 14);
  assert_true(e->friction[0].high == INFINITY);
  assert_true(e->restitution[0].determined);
  carom_evaluation_destroy(e);
  // one so large that none larger is tried may be larger, also where less would not do
  e = evaluate_floor(5, 5);
  assert_true(e->friction[0].low > 4.5 && e->friction[0].high == INFINITY);
  assert_false(e->friction[0].determined);
  carom_evaluation_destroy(e);
}

// the force is the potential's slope
static void force_by_differences(void **state) {
  (void)state;
  for (int scaled = 0; scaled < 2; scaled++) {
    carom_system *system = load_system("bd1");
    carom_model_options options = carom_model_default_options(system);
    options.hidden_size = 6;
    options.single_precision = false;
    options.length_scale = 0.3 * scaled;
    options.speed_scale = 2.0 * scaled;
    carom_model *model;
    assert_int_equal(carom_model_create(system, &options, &model, NULL), CAROM_OK);
    double x[6] = {0.3, 0.4, 1.3, 0.4, 0.3, 1.4}, force[6];
    assert_int_equal(carom_model_force(model, 1, x, force, NULL), CAROM_OK);
    for (int i = 0; i < 6; i++) {
      double sides[2];
      for (int k = 0; k < 2; k++) {
        const double kept = x[i];
        x[i] += k == 0 ? -1e-5 : 1e-5;
        assert_int_equal(carom_model_potential(model, 1, x, &sides[k], NULL), CAROM_OK);
        x[i] = kept;
      }
      assert_near(force[i], -(sides[1] - sides[0]) / 2e-5, 1e-7 * (1 + fabs(force[i])));
    }
    // a free body: the force on all its points by its mass
    double theta[64], acceleration[2];
    assert_int_equal(model_accelerations(model, 1, x, acceleration, NULL), CAROM_OK);
    carom_model_theta(model, theta);
    const double mass = exp(theta[carom_parameters_segment(system, CAROM_LOG_MASS).offset]);
    for (int i = 0; i < 2; i++)
      assert_near(acceleration[i] * mass, force[i] + force[2 + i] + force[4 + i], 1e-9);
    assert_int_equal(scene_accelerations(system, 1, x, acceleration, NULL), CAROM_OK);
    for (int i = 0; i < 2; i++) assert_near(acceleration[i], system->gravity[i], 1e-12);
    assert_int_equal(carom_model_force(NULL, 1, x, force, NULL), CAROM_INVALID_ARGUMENT);
    carom_model_destroy(model);
    carom_system_destroy(system);
  }
}

static void without_truth_only_the_data(void **state) {
  fixture *f = *state;
  carom_evaluation_options o = carom_evaluation_default_options();
  o.truth_known = false;
  const carom_evaluation *e = run(f, &o);
  assert_int_equal(e->extended.count, 0);
  assert_null(e->energy);
  assert_true(e->chunk.relative.largest < 1e-10);
}

// forces without measure: predictions that become non-finite are counted, not hidden
static void diverging_model_is_counted(void **state) {
  fixture *f = *state;
  int size = 0;
  double *last = segment(f->model, "weight3", &size);
  for (int k = 0; k < size; k++) last[k] = 1e200;
  for (int layer = 0; layer < 3; layer++) {
    char name[24];
    snprintf(name, sizeof name, "weight%d", layer);
    fill(f->model, name, 1e100);
  }
  const carom_evaluation_options o = carom_evaluation_default_options();
  const carom_evaluation *e = run(f, &o);
  assert_int_equal(e->chunk.failed_count, 20);
  assert_int_equal(e->chunk.relative.count, 0);
  assert_true(isnan(e->chunk.relative.mean));
  assert_true(isnan(e->chunk.x[0]));
}

/* Trajectories that the model made itself have no error; those that are moved and turned have what they were moved
 * and turned by. The time step has to be the model's. */
static void whole_lengths(void **state) {
  (void)state;
  enum { COUNT = 2, STEPS = 12, SIZE = 6 };
  carom_system *system = load_system("bd1");
  carom_model_options m = carom_model_default_options(system);
  m.hidden_size = 8;
  carom_model *model = NULL;
  assert_int_equal(carom_model_create(system, &m, &model, NULL), CAROM_OK);
  double x0[COUNT * SIZE], v0[COUNT * SIZE];
  static double x[COUNT * (STEPS + 1) * SIZE], v[COUNT * (STEPS + 1) * SIZE];
  int lengths[COUNT] = {STEPS + 1, 5};
  assert_int_equal(carom_system_sample(system, 3, COUNT, x0, v0, NULL), CAROM_OK);
  assert_int_equal(carom_model_predict(model, COUNT, STEPS, x0, v0, x, v, NULL, NULL, NULL),
                   CAROM_OK);
  carom_trajectories t = {.batch = COUNT,
                          .state_count = STEPS + 1,
                          .point_count = 3,
                          .dimension = 2,
                          .dt = carom_model_describe(model).options.dt,
                          .x = x,
                          .v = v,
                          .lengths = lengths};
  carom_fit_prediction p;
  assert_int_equal(carom_model_predict_whole(model, &t, CAROM_VELOCITY_GIVEN, &p, NULL), CAROM_OK);
  assert_int_equal(p.count, COUNT);
  for (int k = 0; k < COUNT; k++) assert_true(p.position[k] < 1e-9 && p.angle[k] < 1e-9);
  carom_fit_prediction_free(&p);
  for (int k = 1; k <= STEPS; k++) { // the first trajectory, but for its first state
    double *at = x + k * SIZE;
    for (int axis = 2; axis < SIZE; axis += 2) {
      double a[2] = {at[axis] - at[0], at[axis + 1] - at[1]};
      at[axis] = at[0] + cos(0.1) * a[0] - sin(0.1) * a[1] + 0.03;
      at[axis + 1] = at[1] + sin(0.1) * a[0] + cos(0.1) * a[1] + 0.04;
    }
    at[0] += 0.03;
    at[1] += 0.04;
  }
  assert_int_equal(carom_model_predict_whole(model, &t, CAROM_VELOCITY_GIVEN, &p, NULL), CAROM_OK);
  assert_near(p.position[0], 0.05, 1e-9);
  assert_near(p.angle[0], 0.1, 1e-9);
  assert_near(p.position_mean, 0.025, 1e-9);
  assert_near(p.angle_mean, 0.05, 1e-9);
  carom_fit_prediction_free(&p);
  carom_error error = {0};
  t.dt *= 2;
  assert_int_equal(carom_model_predict_whole(model, &t, CAROM_VELOCITY_GIVEN, &p, &error),
                   CAROM_INVALID_DATA);
  assert_non_null(strstr(error.message, "time step"));
  carom_model_destroy(model);
  carom_system_destroy(system);
}

static void bad_calls(void **state) {
  fixture *f = *state;
  carom_error error = {0};
  carom_evaluation *result;
  carom_evaluation_options o = carom_evaluation_default_options();
  assert_int_equal(evaluation_run(f->system, f->model, f->data->dt, &f->data->validation, NULL, &o,
                                  &result, &error),
                   CAROM_INVALID_DATA);
  assert_null(result);
  // every row of the table of options is checked
  o.steps = 0;
  assert_int_equal(
      evaluation_run(f->system, f->model, f->data->dt, &f->data->test, NULL, &o, &result, &error),
      CAROM_INVALID_ARGUMENT);
  o = carom_evaluation_default_options();
  o.contact = (carom_contact_model)55;
  assert_int_equal(
      evaluation_run(f->system, f->model, f->data->dt, &f->data->test, NULL, &o, &result, &error),
      CAROM_INVALID_ARGUMENT);
  assert_null(result);
}

static void files(void **state) {
  fixture *f = *state;
  char path[] = "/tmp/carom-evaluation-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  const carom_evaluation_options o = carom_evaluation_default_options();
  const carom_evaluation *e = run(f, &o);
  carom_error error = {0};
  assert_int_equal(carom_evaluation_write(e, f->system, path, &error), CAROM_OK);
  h5_reader *reader;
  assert_int_equal(h5_reader_open(path, &reader, NULL), CAROM_OK);
  h5_axis axes[] = {{"trajectories", 20}, {"states", 51}, {"points", 5}, {"dimension", 2}};
  double *x, *energy;
  assert_int_equal(h5_read_doubles(reader, "x_predicted", 4, axes, &x, NULL), CAROM_OK);
  assert_memory_equal(x, e->extended.x, sizeof(double) * 20 * 51 * 10);
  assert_int_equal(h5_read_doubles(reader, "energy_true", 2, axes, &energy, NULL), CAROM_OK);
  assert_memory_equal(energy, e->true_energy, sizeof(double) * 20 * 51);
  free(x);
  free(energy);
  h5_reader_close(reader);

  char *text = carom_evaluation_json(e, f->system);
  assert_non_null(text);
  json_t *read = json_loads(text, 0, NULL);
  assert_non_null(read);
  free(text);
  const json_t *relative = json_object_get(json_object_get(read, "chunk"), "relative_error");
  assert_true(json_real_value(json_object_get(relative, "mean")) == e->chunk.relative.mean);
  assert_int_equal(json_array_size(json_object_get(read, "contacts")), 30);
  assert_int_equal(json_array_size(json_object_get(read, "bodies")), 5);
  assert_true(json_is_object(json_object_get(json_object_get(read, "energy"), "drift_true")));
  json_decref(read);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(estimates),
      cmocka_unit_test(energy_scale_has_both_parts),
      cmocka_unit_test(tells_what_is_determined),
      cmocka_unit_test(force_by_differences),
      cmocka_unit_test(whole_lengths),
      cmocka_unit_test_setup_teardown(truth_has_no_error, set_up, tear_down),
      cmocka_unit_test_setup_teardown(floor_of_a_model, set_up, tear_down),
      cmocka_unit_test_setup_teardown(errors_are_what_they_say, set_up, tear_down),
      cmocka_unit_test_setup_teardown(energies_are_the_scenes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(without_truth_only_the_data, set_up, tear_down),
      cmocka_unit_test_setup_teardown(diverging_model_is_counted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bad_calls, set_up, tear_down),
      cmocka_unit_test_setup_teardown(files, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
