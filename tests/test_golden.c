/* Contact events, trajectories and gradients of the reference implementation (tests/data/golden). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contact/contact_event.h"
#include "rollout/rollout.h"
#include "support/golden.h"
#include "support/golden_task.h"

/* Largest |a - b|. */
static double largest_difference(const double *a, const double *b, int count) {
  double largest = 0;
  for (int i = 0; i < count; i++) largest = fmax(largest, fabs(a[i] - b[i]));
  return largest;
}

/* Does an active contact agree with entry `index` of the event's lists (pairs, walls, limits)? */
static bool same_contact(const contact_id *id, const json_t *event, size_t index) {
  const char *lists[] = {"contact_ij", "contact_bdry", "contact_limit"};
  for (int k = 0; k < 3; k++) {
    json_t *list = golden_get(event, lists[k]);
    if (index >= json_array_size(list)) {
      index -= json_array_size(list);
      continue;
    }
    int first = (int)json_integer_value(json_array_get(json_array_get(list, index), 0));
    int second = (int)json_integer_value(json_array_get(json_array_get(list, index), 1));
    if (k == 0) return id->kind == CONTACT_PAIR && id->first == first && id->second == second;
    if (k == 1)
      return (id->kind == CONTACT_BALL_PLANE || id->kind == CONTACT_POINT_PLANE) &&
             id->first == first && id->second == second;
    return id->kind == CONTACT_LIMIT && id->property == first && id->detail == second;
  }
  return false;
}

/* Gaps and Jacobian rows of the active contacts at x. */
static void check_geometry(const carom_system *s, const json_t *event, const contact_list *active,
                           const double *x) {
  int d = s->dimension, count;
  double *gaps = golden_numbers(golden_get(event, "dist"), &count);
  assert_int_equal(active->count, count);
  double *jacobian = golden_numbers(golden_get(event, "Jac"), &count);
  assert_int_equal(count, active->count * d * s->coordinate_count);
  double *row = calloc((size_t)s->coordinate_count, sizeof(double));
  arena memory;
  arena_init(&memory);
  for (int c = 0; c < active->count; c++) {
    contact geometry;
    contact_geometry(s, &active->ids[c], x, &geometry, &memory);
    assert_true(same_contact(&active->ids[c], event, (size_t)c));
    // the reference has the rim in single precision
    assert_true(fabs(geometry.gap - gaps[c]) < (d == 3 ? 5e-8 : 1e-12));
    for (int i = 0; i < d; i++) {
      double impulse[3] = {i == 0, i == 1, i == 2};
      memset(row, 0, sizeof(double) * (size_t)s->coordinate_count);
      contact_apply_transpose(&geometry, d, impulse, row);
      double off = largest_difference(
          row, jacobian + (size_t)(c * d + i) * (size_t)s->coordinate_count, s->coordinate_count);
      assert_true(off < (d == 3 ? 1e-7 : 1e-10));
    }
  }
  arena_free(&memory);
  free(row);
  free(gaps);
  free(jacobian);
}

/* Gives the one contact of a gyroscope event the file's own gap and Jacobian: the reference has the
 * rim in single precision. */
static void use_file_geometry(const json_t *event, contact *c) {
  int count;
  double *gap = golden_numbers(golden_get(event, "dist"), &count);
  double *jacobian = golden_numbers(golden_get(event, "Jac"), &count);
  c->gap = gap[0];
  for (int k = 0; k < c->point_count; k++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        c->block[(k * 3 + i) * 3 + j] = jacobian[i * 12 + c->point[k] * 3 + j];
  free(gap);
  free(jacobian);
}

/* A f of an event with one island. */
static void multiply_A(const contact_event *e, const double *f, double *Af) {
  assert_int_equal(e->group.island_count, 1);
  envelope_multiply(&e->shape[0], e->A[0], f, Af);
}

typedef struct event_errors {
  int compared;
  int undetermined; /* f is not unique: v_after may differ */
  double velocity;
  double compression; /* of A f_c */
} event_errors;

static void check_event(golden_task *task, const json_t *event, event_errors *errors) {
  const carom_system *s = task->system;
  int count;
  double *x = golden_numbers(golden_get(event, "x"), &count);
  double *v = golden_numbers(golden_get(event, "v_before"), &count);
  double *after = golden_numbers(golden_get(event, "v_after"), &count);
  double *f_c = golden_numbers(golden_get(event, "f_c_polished"), &count);
  arena memory, scratch;
  arena_init(&memory);
  arena_init(&scratch);
  contact_list active;
  contact_list_init(&active);
  assert_true(collision_detect(s, x, &active));
  check_geometry(s, event, &active, x);

  carom_rollout_options options = carom_rollout_default_options(s);
  contact_group group = contact_group_make(s, &active, x, &memory);
  if (s->dimension == 3) use_file_geometry(event, &group.contacts[0]);
  contact_event e = contact_event_from_group(&task->mechanics, &options, &group, x, &memory);
  event_impulses impulses = event_impulses_at(&e, arena_bytes(&memory, event_impulses_bytes(&e)));
  contact_event_solve(&e, x, v, &impulses, &scratch);

  // A f_c is unique even where f_c is not
  bool gyro = s->dimension == 3;
  bool determined = true;
  if (gyro) {
    double ours[3], theirs[3];
    multiply_A(&e, impulses.compression.f, ours);
    multiply_A(&e, f_c, theirs);
    errors->compression = fmax(errors->compression, largest_difference(ours, theirs, 3));
    determined =
        impulses.compression.state[0] != FREE_STICK && impulses.compression.state[0] != INTERIOR;
  }
  if (determined) {
    errors->compared++;
    errors->velocity = fmax(errors->velocity, largest_difference(v, after, s->coordinate_count));
  } else {
    errors->undetermined++;
  }
  contact_list_free(&active);
  arena_free(&memory);
  arena_free(&scratch);
  free(x);
  free(v);
  free(after);
  free(f_c);
}

static void test_events(void **state) {
  (void)state;
  for (int i = 0; i < GOLDEN_TASK_COUNT; i++) {
    golden_task task;
    golden_task_open(&task, i, "events");
    json_t *events = golden_get(task.root, "events");
    event_errors errors = {0};
    for (size_t k = 0; k < json_array_size(events); k++)
      check_event(&task, json_array_get(events, k), &errors);
    print_message("%-6s %2zu events: v_after differs by at most %.1e (%d compared, %d not unique)",
                  golden_task_name(i), json_array_size(events), errors.velocity, errors.compared,
                  errors.undetermined);
    print_message(task.system->dimension == 3 ? ", A f_c by %.1e\n" : "\n", errors.compression);
    assert_true(errors.velocity < 1e-8);
    assert_true(errors.compression < 1e-8);
    assert_true(errors.compared > 0);
    golden_task_close(&task);
  }
}

/* ---- trajectories ---------------------------------------------------------------------------- */

/* First step at which two trajectories part by more than `tolerance`. */
static int parting_step(const double *a, const double *b, int states, int size, double tolerance) {
  for (int t = 0; t < states; t++)
    for (int i = 0; i < size; i++)
      if (!(fabs(a[t * size + i] - b[t * size + i]) <= tolerance)) return t;
  return states;
}

static void test_trajectories(void **state) {
  (void)state;
  for (int i = 0; i < GOLDEN_TASK_COUNT; i++) {
    golden_task task;
    golden_task_open(&task, i, "traj");
    const carom_system *s = task.system;
    json_t *trajectories = golden_get(task.root, "traj_polished");
    json_t *starts = golden_get(task.root, "z0");
    for (size_t b = 0; b < json_array_size(trajectories); b++) {
      int count, states;
      double *z0 = golden_numbers(json_array_get(starts, b), &count);
      double *x = golden_numbers(golden_get(json_array_get(trajectories, b), "x"), &count);
      double *v = golden_numbers(golden_get(json_array_get(trajectories, b), "v"), &count);
      double *flags = golden_numbers(json_array_get(golden_get(task.root, "is_cld"), b), &states);
      carom_rollout_options options = carom_rollout_default_options(s);
      options.steps = states - 1;
      double *our_x = malloc(sizeof(double) * (size_t)count);
      double *our_v = malloc(sizeof(double) * (size_t)count);
      uint8_t *contacts = malloc((size_t)states);
      carom_error error;
      assert_int_equal(
          carom_system_simulate(s, &options, task.mechanics.theta, 1, z0, z0 + s->coordinate_count,
                                our_x, our_v, contacts, NULL, &error),
          CAROM_OK);
      int step_x = parting_step(our_x, x, states, s->coordinate_count, 1e-6);
      int step_v = parting_step(our_v, v, states, s->coordinate_count, 1e-6);
      int parted = step_x < step_v ? step_x : step_v;
      int flags_agree = 0;
      for (int t = 0; t < parted; t++) flags_agree += contacts[t] == (flags[t] != 0);
      print_message("%-6s trajectory %zu: within 1e-6 for %d of %d states\n", golden_task_name(i),
                    b, parted, states);
      assert_true(parted >= golden_task_shared_states(i) || parted == states);
      assert_int_equal(flags_agree, parted);
      free(z0);
      free(x);
      free(v);
      free(flags);
      free(our_x);
      free(our_v);
      free(contacts);
    }
    golden_task_close(&task);
  }
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Parameters of a chunk: friction, restitution, and m_params = log mass, then log moments. */
static void chunk_parameters(const carom_system *s, const json_t *chunk, double *theta) {
  int count;
  double *mus = golden_numbers(golden_get(chunk, "mus"), &count);
  double *cors = golden_numbers(golden_get(chunk, "cors"), &count);
  memcpy(theta + s->segments[CAROM_FRICTION].offset, mus, sizeof(double) * (size_t)count);
  memcpy(theta + s->segments[CAROM_RESTITUTION].offset, cors, sizeof(double) * (size_t)count);
  double *m_params = golden_numbers(golden_get(chunk, "m_params"), &count);
  int width = count / s->body_count;
  for (int b = 0; b < s->body_count; b++) {
    theta[s->segments[CAROM_LOG_MASS].offset + b] = m_params[b * width];
    for (int k = 1; k < width; k++)
      theta[s->segments[CAROM_LOG_MOMENT].offset + b * s->dimension + k - 1] =
          m_params[b * width + k];
  }
  free(mus);
  free(cors);
  free(m_params);
}

/* The reference keeps the potential of the true masses while it perturbs the masses. */
typedef struct fixed_potential {
  potential base;
  const mechanics *truth;
} fixed_potential;

static void fixed_gradient(const potential *self, const mechanics *m, int count, const double *x,
                           double *gradient, void *record, arena *scratch) {
  (void)m;
  const mechanics *truth = ((const fixed_potential *)(const void *)self)->truth;
  scene_potential.gradient(&scene_potential, truth, count, x, gradient, record, scratch);
}

static void fixed_gradient_vjp(const potential *self, const mechanics *m, int count,
                               const double *x, void *record, const double *gradient_bar,
                               double *x_bar, double *parameters_bar, arena *scratch) {
  (void)parameters_bar;
  const mechanics *truth = ((const fixed_potential *)(const void *)self)->truth;
  double *unused = arena_zeros(scratch, m->system->parameter_count);
  scene_potential.gradient_vjp(&scene_potential, truth, count, x, record, gradient_bar, x_bar,
                               unused, scratch);
}

/* Mean |pred - target| and its cotangents, states stored as [T][2][n][d] in the file. */
static double loss_of(const double *x, const double *v, const double *target, int states, int size,
                      double *x_bar, double *v_bar) {
  double loss = 0, scale = 1.0 / (2 * states * size);
  for (int t = 0; t < states; t++)
    for (int i = 0; i < size; i++) {
      double dx = x[t * size + i] - target[(2 * t) * size + i];
      double dv = v[t * size + i] - target[(2 * t + 1) * size + i];
      loss += (fabs(dx) + fabs(dv)) * scale;
      x_bar[t * size + i] = scale * ((dx > 0) - (dx < 0));
      v_bar[t * size + i] = scale * ((dv > 0) - (dv < 0));
    }
  return loss;
}

/* Compares one gradient; returns the relative difference. */
static double compare_gradient(const char *name, const json_t *chunk, const char *field,
                               const double *ours, int count, int *compared) {
  char path[64];
  snprintf(path, sizeof path, "fd/%s/agrees", name);
  if (!json_is_true(golden_get(chunk, path))) return 0;
  snprintf(path, sizeof path, "%s/%s", field, name);
  int size;
  double *theirs = golden_numbers(golden_get(chunk, path), &size);
  if (theirs == NULL) return 0;
  assert_int_equal(size, count);
  double norm = 0, off = 0;
  for (int i = 0; i < count; i++) {
    norm = fmax(norm, fabs(theirs[i]));
    off = fmax(off, fabs(theirs[i] - ours[i]));
  }
  free(theirs);
  (*compared)++;
  // a gradient that is zero to rounding in both
  if (norm < 1e-9) return off < 1e-9 ? 0 : off / 1e-9;
  return off / norm;
}

static double check_chunk(golden_task *task, const json_t *chunk, bool stopped, int *compared,
                          double *prediction_error) {
  const carom_system *s = task->system;
  int count, states, n = s->coordinate_count;
  double *z0 = golden_numbers(golden_get(chunk, "z0"), &count);
  double *target = golden_numbers(golden_get(chunk, "target"), &count);
  double *pred = golden_numbers(golden_get(chunk, "pred"), &count);
  states = count / (2 * n);
  double *theta = malloc(sizeof(double) * (size_t)s->parameter_count);
  double *theta_bar = malloc(sizeof(double) * (size_t)s->parameter_count);
  memcpy(theta, task->mechanics.theta, sizeof(double) * (size_t)s->parameter_count);
  chunk_parameters(s, chunk, theta);

  carom_rollout_options options = carom_rollout_default_options(s);
  options.steps = states - 1;
  options.stop_target_gradient = stopped;
  carom_rollout *rollout;
  carom_error error;
  fixed_potential fixed = {{.gradient = fixed_gradient, .gradient_vjp = fixed_gradient_vjp},
                           &task->mechanics};
  assert_int_equal(rollout_create_with(s, &options, &fixed.base, 1, &rollout, &error), CAROM_OK);
  assert_int_equal(carom_rollout_run(rollout, theta, z0, z0 + n, &error), CAROM_OK);
  const double *x = carom_rollout_positions(rollout), *v = carom_rollout_velocities(rollout);
  for (int t = 0; t < states; t++) {
    *prediction_error = fmax(*prediction_error, largest_difference(x + t * n, pred + 2 * t * n, n));
    *prediction_error =
        fmax(*prediction_error, largest_difference(v + t * n, pred + (2 * t + 1) * n, n));
  }
  double *x_bar = malloc(sizeof(double) * (size_t)(states * n));
  double *v_bar = malloc(sizeof(double) * (size_t)(states * n));
  double *z0_bar = malloc(sizeof(double) * (size_t)(2 * n));
  double loss = loss_of(x, v, target, states, n, x_bar, v_bar);
  assert_true(fabs(loss - golden_number(chunk, "loss")) < 1e-8);
  assert_int_equal(carom_rollout_vjp(rollout, x_bar, v_bar, z0_bar, z0_bar + n, theta_bar, &error),
                   CAROM_OK);

  const char *field = stopped ? "grad_target_stopped" : "grad";
  double worst = compare_gradient("z0", chunk, field, z0_bar, 2 * n, compared);
  worst = fmax(worst,
               compare_gradient("mus", chunk, field, theta_bar + s->segments[CAROM_FRICTION].offset,
                                s->contact_count, compared));
  worst = fmax(worst, compare_gradient("cors", chunk, field,
                                       theta_bar + s->segments[CAROM_RESTITUTION].offset,
                                       s->contact_count, compared));
  int width = s->bodies[0].rigid ? s->dimension + 1 : 1;
  double *m_bar = malloc(sizeof(double) * (size_t)(s->body_count * width));
  for (int b = 0; b < s->body_count; b++) {
    m_bar[b * width] = theta_bar[s->segments[CAROM_LOG_MASS].offset + b];
    for (int k = 1; k < width; k++)
      m_bar[b * width + k] =
          theta_bar[s->segments[CAROM_LOG_MOMENT].offset + b * s->dimension + k - 1];
  }
  worst = fmax(worst,
               compare_gradient("m_params", chunk, field, m_bar, s->body_count * width, compared));
  carom_rollout_destroy(rollout);
  free(z0);
  free(target);
  free(pred);
  free(theta);
  free(theta_bar);
  free(x_bar);
  free(v_bar);
  free(z0_bar);
  free(m_bar);
  return worst;
}

static void test_gradients(void **state) {
  (void)state;
  for (int i = 0; i < GOLDEN_TASK_COUNT; i++) {
    golden_task task;
    golden_task_open(&task, i, "grads");
    json_t *chunks = golden_get(task.root, "chunks");
    for (int stopped = 0; stopped < 2; stopped++) {
      for (size_t k = 0; k < json_array_size(chunks); k++) {
        int compared = 0;
        double prediction_error = 0;
        double worst =
            check_chunk(&task, json_array_get(chunks, k), stopped, &compared, &prediction_error);
        print_message("%-6s chunk %zu%s: %d gradients, worst %.1e relative; predictions %.1e\n",
                      golden_task_name(i), k, stopped ? " (v_C* held)" : "", compared, worst,
                      prediction_error);
        assert_true(worst < 1e-5);
      }
    }
    golden_task_close(&task);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_trajectories),
      cmocka_unit_test(test_gradients),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
