/* Forces and torques from outside: closed forms of the motion, their derivative beside central differences,
 * the same bits from any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vector.h"
#include "physics/controls.h"
#include "rollout/rollout.h"
#include "support/differences.h"
#include "support/messages.h"
#include "support/systems.h"

/* A run of one scene with controls of every step. */
typedef struct fixture {
  carom_system *system;
  carom_system_info info;
  carom_rollout_options options;
  carom_rollout *rollout;
  int batch, state, control; /* samples, numbers of a state, of all controls of a sample */
  double *x0, *v0, *u, *theta, *wx, *wv, *x0_bar, *v0_bar, *theta_bar;
} fixture;

static double *numbers(int count) {
  double *made = calloc((size_t)count + 1, sizeof(double));
  assert_non_null(made);
  return made;
}

static void fixture_open(fixture *f, const char *scene, int batch) {
  carom_error error;
  *f = (fixture){.system = parse_system(scene), .batch = batch};
  f->info = carom_system_describe(f->system);
  f->options = carom_rollout_default_options(f->system);
  f->state = f->info.point_count * f->info.dimension;
  f->control = f->info.steps * f->info.control_size;
  int states = batch * f->state, all = states * (f->info.steps + 1);
  double **const arrays[] = {&f->x0, &f->v0, &f->x0_bar, &f->v0_bar};
  for (int k = 0; k < 4; k++) *arrays[k] = numbers(states);
  f->u = numbers(batch * f->control);
  f->wx = numbers(all);
  f->wv = numbers(all);
  f->theta = numbers(carom_parameters_count(f->system));
  f->theta_bar = numbers(carom_parameters_count(f->system));
  carom_parameters_default(f->system, f->theta);
  if (carom_system_sample(f->system, 3, batch, f->x0, f->v0, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

static void fixture_close(fixture *f) {
  carom_rollout_destroy(f->rollout);
  carom_system_destroy(f->system);
  double *const arrays[] = {f->x0, f->v0, f->x0_bar, f->v0_bar,   f->u,
                            f->wx, f->wv, f->theta,  f->theta_bar};
  for (int k = 0; k < 9; k++) free(arrays[k]);
}

static void fixture_run(fixture *f) {
  carom_error error = {0};
  if (f->rollout == NULL)
    carom_rollout_create(f->system, &f->options, f->batch, &f->rollout, &error);
  if (carom_rollout_set_controls(f->rollout, f->u, &error) != CAROM_OK ||
      carom_rollout_run(f->rollout, f->theta, f->x0, f->v0, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

/* The same u at every step of the only sample. */
static void hold(fixture *f, const double *u) {
  for (int step = 0; step < f->info.steps; step++)
    vector_copy(f->u + step * f->info.control_size, u, f->info.control_size);
}

static const double *last(const fixture *f, const double *trajectory) {
  return trajectory + f->state * f->info.steps;
}

/* ---- closed forms ---- */

#define HEAD(dimension, steps) \
  "{\"carom\":1,\"name\":\"c\",\"dimension\":" #dimension ",\"dt\":0.01,\"steps\":" #steps ","
#define STATE(bodies) "\"initial\":{\"sampler\":\"state\",\"bodies\":[" bodies "]}}"

/* x = x0 + v0 t + F t^2 / 2m, which RK4 has exactly; a force that changes acts in its own step alone. */
static void test_point_under_a_force(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f,
               HEAD(2, 50) "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2}],"
                           "\"controls\":[{\"id\":\"push\",\"body\":\"a\",\"type\":\"force\"}],"
               STATE("{\"body\":\"a\",\"position\":[1,2],\"velocity\":[3,-1]}"),
               1);
  hold(&f, (const double[]){4, -6});
  fixture_run(&f);
  const double *x = last(&f, carom_rollout_positions(f.rollout));
  const double t = 0.5;
  assert_near(x[0], 1 + 3 * t + 0.5 * 2 * t * t, 1e-13);
  assert_near(x[1], 2 - 1 * t - 0.5 * 3 * t * t, 1e-13);

  // an impulse at step 7: velocities change by F dt / m there, not before, not after
  memset(f.u, 0, sizeof(double) * (size_t)f.control);
  f.u[2 * 7] = 5;
  fixture_run(&f);
  const double *v = carom_rollout_velocities(f.rollout);
  for (int step = 0; step <= 50; step++)
    assert_near(v[2 * step], step <= 7 ? 3 : 3 + 5 * 0.01 / 2, 1e-14);
  fixture_close(&f);
}

/* angle = tau t^2 / 2I; the centre does not move */
static void test_disk_under_a_torque(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f,
               HEAD(2, 100) "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"radius\":0.5}],"
                            "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"}],"
               STATE("{\"body\":\"a\",\"position\":[1,2],\"rotation\":0.3}"),
               1);
  double tau = 0.2, inertia = 2 * 0.5 * 0.5 / 2, t = 1;
  hold(&f, &tau);
  fixture_run(&f);
  const double *x = last(&f, carom_rollout_positions(f.rollout));
  double angle = 0.3 + tau / inertia * t * t / 2;
  assert_near(x[0], 1, 1e-13);
  assert_near(x[1], 2, 1e-13);
  assert_near(x[2] - x[0], cos(angle), 1e-8);
  assert_near(x[3] - x[1], sin(angle), 1e-8);
  fixture_close(&f);
}

static const char *const TOP =
    HEAD(3, 100) "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,"
                 "\"moments\":[0.1,0.2,0.4]}],"
                 "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},"
                 "{\"id\":\"off\",\"body\":\"a\",\"type\":\"force\",\"at\":[0.3,-0.2,0.5]}],"
    STATE("{\"body\":\"a\",\"position\":[1,2,3],\"rotation\":[0.4,-0.7,0.2],\"spin\":[1,2,-1]}");

/* About its third axis, which is the world's, a body turns by tau t^2 / 2I, I = m (lambda_1 + lambda_2). */
static void test_space_body_about_a_principal_axis(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, TOP, 1);
  const double u[6] = {0, 0, 0.3}, start[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  vector_copy(f.x0, start, 12);
  memset(f.v0, 0, sizeof(double) * 12);
  hold(&f, u);
  fixture_run(&f);
  const double *x = last(&f, carom_rollout_positions(f.rollout));
  double angle = 0.3 / (2 * 0.3) / 2;
  assert_near(x[3] - x[0], cos(angle), 1e-9);
  assert_near(x[4] - x[1], sin(angle), 1e-9);
  assert_near(x[5] - x[2], 0, 1e-13);
  fixture_close(&f);
}

/* L = m sum_k lambda_k e_k x e_k', about the centre, of a body with the moments of TOP */
static void angular_momentum(const double *x, const double *v, double *L) {
  static const double lambda[3] = {0.1, 0.2, 0.4};
  memset(L, 0, 3 * sizeof *L);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, l = (i + 2) % 3, at = 3 * (k + 1);
      L[i] += 2 * lambda[k] *
              ((x[at + j] - x[j]) * (v[at + l] - v[l]) - (x[at + l] - x[l]) * (v[at + j] - v[j]));
    }
}

/* dL/dt = tau and dP/dt = F of a body that tumbles: the torque is that of the world, and the force off its
 * centre has the torque r x F. */
static void test_balance_of_momenta(void **state) {
  (void)state;
  for (int dynamics = 0; dynamics < 2; dynamics++) {
    fixture f;
    fixture_open(&f, TOP, 1);
    f.options.dynamics = (carom_dynamics)dynamics;
    double before[3], after[3];
    const double u[6] = {0.3, -0.2, 0.5};
    hold(&f, u);
    fixture_run(&f);
    angular_momentum(f.x0, f.v0, before);
    const double *x = last(&f, carom_rollout_positions(f.rollout));
    const double *v = last(&f, carom_rollout_velocities(f.rollout));
    angular_momentum(x, v, after);
    for (int i = 0; i < 3; i++) assert_near(after[i] - before[i], u[i], 1e-7);
    for (int i = 0; i < 3; i++) assert_near(x[i], f.x0[i], 1e-12);
    fixture_close(&f);
  }
}

/* One step of a force off the centre is one step of the force at the centre and the torque r x F, to the
 * last digits, off the constraints too. */
static void test_force_off_the_centre(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, TOP, 1);
  rng random;
  rng_seed(&random, 5, 0);
  for (int i = 0; i < 12; i++) f.x0[i] += 0.1 * rng_normal(&random);
  double push[3] = {1.5, -2, 0.7}, at[3], torque[3];
  const double weight[3] = {0.3, -0.2, 0.5};
  for (int i = 0; i < 3; i++) {
    at[i] = 0;
    for (int k = 0; k < 3; k++) at[i] += weight[k] * (f.x0[3 * (k + 1) + i] - f.x0[i]);
  }
  for (int i = 0; i < 3; i++)
    torque[i] = at[(i + 1) % 3] * push[(i + 2) % 3] - at[(i + 2) % 3] * push[(i + 1) % 3];

  // both give the same wrench
  double off[12] = {0}, centre[12] = {0};
  const double u[6] = {0, 0, 0, push[0], push[1], push[2]};
  const double other[6] = {torque[0], torque[1], torque[2]};
  controls_apply(f.system, f.x0, u, off);
  controls_apply(f.system, f.x0, other, centre);
  for (int i = 0; i < 3; i++) {
    double sum = 0, pushed = 0, turned[2] = {0};
    for (int k = 0; k < 4; k++) {
      const double *e = f.x0 + 3 * k;
      int j = (i + 1) % 3, l = (i + 2) % 3;
      pushed -= off[3 * k + i];
      sum -= centre[3 * k + i];
      turned[0] -= (e[j] - f.x0[j]) * off[3 * k + l] - (e[l] - f.x0[l]) * off[3 * k + j];
      turned[1] -= (e[j] - f.x0[j]) * centre[3 * k + l] - (e[l] - f.x0[l]) * centre[3 * k + j];
    }
    assert_near(pushed, push[i], 1e-13);
    assert_near(sum, 0, 1e-13);
    assert_near(turned[0], torque[i], 1e-13);
    assert_near(turned[1], torque[i], 1e-13);
  }
  fixture_close(&f);
}

/* A pendulum at an angle stays where it is under the force that its weight needs, or under the torque on a
 * hinged rod: joints carry the rest. */
static void test_pendulum_is_held(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f,
               HEAD(2, 100) "\"gravity\":[0,-9.8],"
                            "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2},"
                            "{\"id\":\"rod\",\"type\":\"rigid\",\"mass\":3,\"radius\":0.1}],"
                            "\"joints\":[{\"type\":\"link\",\"ends\":[[0,0],\"a\"],\"length\":1},"
                            "{\"type\":\"ball\",\"ends\":[[5,0],{\"body\":\"rod\",\"at\":[0,0.5]}]}],"
                            "\"controls\":[{\"body\":\"a\",\"type\":\"force\"},"
                            "{\"body\":\"rod\",\"type\":\"torque\"}],"
               STATE("{\"body\":\"a\",\"position\":[0.6,-0.8]},"
                     "{\"body\":\"rod\",\"position\":[5.5,0],\"rotation\":1.5707963267948966}"),
               1);
  // a horizontal force F against m g: F cos = m g sin; the rod is level, its weight at 0.5
  const double u[3] = {2 * 9.8 * 0.6 / 0.8, 0, 3 * 9.8 * 0.5};
  hold(&f, u);
  fixture_run(&f);
  const double *x = last(&f, carom_rollout_positions(f.rollout));
  for (int i = 0; i < f.state; i++) assert_near(x[i], f.x0[i], 1e-9);
  fixture_close(&f);
}

/* ---- the derivative ---- */

static double functional(void *user) {
  fixture *f = user;
  fixture_run(f);
  const double *x = carom_rollout_positions(f->rollout);
  const double *v = carom_rollout_velocities(f->rollout);
  double sum = 0;
  for (int i = 0; i < f->batch * f->state * (f->info.steps + 1); i++)
    sum += f->wx[i] * x[i] + f->wv[i] * v[i];
  return sum;
}

/* Compares with differences by u, initial states and parameters; adds up what could be compared. */
static void compare(fixture *f, rng *random, const char *what, int *compared, int *tried) {
  functional(f);
  assert_int_equal(
      carom_rollout_vjp(f->rollout, f->wx, f->wv, f->x0_bar, f->v0_bar, f->theta_bar, NULL),
      CAROM_OK);
  int states = f->batch * f->state, controls = f->batch * f->control;
  double *u_bar = numbers(controls);
  vector_copy(u_bar, carom_rollout_controls_bar(f->rollout), controls);
  const struct {
    const char *name;
    double *values;
    const double *bar;
    int count;
  } inputs[] = {{"u", f->u, u_bar, controls},
                {"x0", f->x0, f->x0_bar, states},
                {"v0", f->v0, f->v0_bar, states},
                {"theta", f->theta, f->theta_bar, carom_parameters_count(f->system)}};
  for (int k = 0; k < 4; k++) {
    double error = 0;
    ++*tried;
    if (!smooth_gradient_error(functional, f, inputs[k].values, inputs[k].bar, inputs[k].count,
                               random, &error))
      continue;
    ++*compared;
    if (!(error < 1e-6)) fail_msg("%s by %s: error %g", what, inputs[k].name, error);
  }
  free(u_bar);
}

static const struct {
  const char *name, *scene;
  bool touches;
} differentiated[] = {
    {"points on springs",
     HEAD(2, 6) "\"gravity\":[0,-9.8],\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2},"
                "{\"id\":\"b\",\"type\":\"point\",\"mass\":1}],"
                "\"springs\":[{\"ends\":[\"a\",\"b\"],\"stiffness\":3,\"length\":0.5}],"
                "\"controls\":[{\"body\":\"b\",\"type\":\"force\"},{\"body\":\"a\",\"type\":"
                "\"force\"}]," STATE(
                    "{\"body\":\"a\",\"position\":[0,0]},{\"body\":\"b\",\"position\":[1,0.2]}"),
     false},
    {"disk",
     HEAD(2, 6) "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"radius\":0.5}],"
                "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},"
                "{\"body\":\"a\",\"type\":\"force\",\"at\":[0.4,0.1]}]," STATE(
                    "{\"body\":\"a\",\"position\":[0,0],\"rotation\":0.4,\"spin\":3,\"velocity\":["
                    "1,2]}"),
     false},
    {"body in space",
     HEAD(3,
          6) "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"moments\":[0.1,0.2,0.4]}],"
             "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},"
             "{\"body\":\"a\",\"type\":\"force\",\"at\":[0.3,-0.2,0.5]}]," STATE(
                 "{\"body\":\"a\",\"position\":[1,2,3],\"rotation\":[0.4,-0.7,0.2],\"spin\":[1,2,-"
                 "1]}"),
     false},
    {"hinged bodies",
     HEAD(2,
          6) "\"gravity\":[0,-9.8],"
             "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"moments\":[0.1,0.2]},"
             "{\"id\":\"b\",\"type\":\"rigid\",\"mass\":1,\"moments\":[0.2,0.1]}],"
             "\"joints\":[{\"type\":\"ball\",\"ends\":[[0,0],{\"body\":\"a\",\"at\":[0,0.5]}]},"
             "{\"type\":\"ball\",\"ends\":[{\"body\":\"a\",\"at\":[0,-0.5]},"
             "{\"body\":\"b\",\"at\":[0,0.5]}]}],"
             "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},{\"body\":\"b\",\"type\":"
             "\"torque\"},"
             "{\"body\":\"b\",\"type\":\"force\",\"at\":[0,-0.5]}]," STATE(
                 "{\"body\":\"a\",\"position\":[0,-0.5]},{\"body\":\"b\",\"position\":[0,-1.5]}"),
     false},
    {"top on a joint",
     HEAD(3,
          6) "\"gravity\":[0,0,-9.8],"
             "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"moments\":[0.1,0.2,0.4]}],"
             "\"joints\":[{\"type\":\"ball\",\"ends\":[[0,0,0],{\"body\":\"a\",\"at\":[0,0,-0.5]}]}"
             "],"
             "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},"
             "{\"body\":\"a\",\"type\":\"force\",\"at\":[0.3,0,0.5]}]," STATE(
                 "{\"body\":\"a\",\"position\":[0,0,0.5],\"spin\":[0,0,4]}"),
     false},
    {"balls and disks on the ground",
     HEAD(2, 6) "\"gravity\":[0,-9.8],"
                "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"radius\":0.5},"
                "{\"id\":\"b\",\"type\":\"point\",\"mass\":1,\"radius\":0.3}],"
                "\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0}],"
                "\"contacts\":{\"pairs\":true,\"friction\":0.4,\"restitution\":0.6},"
                "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},"
                "{\"body\":\"a\",\"type\":\"force\",\"at\":[0.4,0.1]},{\"body\":\"b\",\"type\":"
                "\"force\"}]," STATE(
                    "{\"body\":\"a\",\"position\":[0,0.52],\"velocity\":[2,-1.2],\"spin\":3,"
                    "\"rotation\":0.3},"
                    "{\"body\":\"b\",\"position\":[0.87,0.6],\"velocity\":[-1,-0.3]}"),
     true},
    {"box in space on the ground",
     HEAD(3,
          6) "\"gravity\":[0,0,-9.8],"
             "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,"
             "\"shape\":{\"type\":\"box\",\"half_extents\":[0.3,0.2,0.1]}}],"
             "\"planes\":[{\"id\":\"ground\",\"normal\":[0,0,1],\"offset\":0}],"
             "\"contacts\":{\"friction\":0.4,\"restitution\":0.6},"
             "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},"
             "{\"body\":\"a\",\"type\":\"force\",\"at\":[0.3,0.2,0.1]}]," STATE(
                 "{\"body\":\"a\",\"position\":[0,0,0.36],\"velocity\":[1,0.5,-2],\"spin\":[1,2,3],"
                 "\"rotation\":[0.7,0.4,0.2]}"),
     true},
    {"pendulum at a wall",
     HEAD(2, 6) "\"gravity\":[0,-9.8],"
                "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2,\"radius\":0.1},"
                "{\"id\":\"b\",\"type\":\"point\",\"mass\":1,\"radius\":0.1}],"
                "\"joints\":[{\"type\":\"link\",\"ends\":[[0,0],\"a\"],\"length\":1},"
                "{\"type\":\"link\",\"ends\":[\"a\",\"b\"],\"length\":1}],"
                "\"planes\":[{\"id\":\"wall\",\"normal\":[-1,0],\"offset\":0.13}],"
                "\"contacts\":{\"friction\":0.2,\"restitution\":0.5},"
                "\"controls\":[{\"body\":\"a\",\"type\":\"force\"},{\"body\":\"b\",\"type\":"
                "\"force\"}]," STATE("{\"body\":\"a\",\"position\":[0,-1],\"velocity\":[1,0]},"
                                     "{\"body\":\"b\",\"position\":[0,-2],\"velocity\":[1.5,0]}"),
     true}};

static void test_derivative(void **state) {
  (void)state;
  enum { COUNT = sizeof differentiated / sizeof differentiated[0] };
  rng random;
  rng_seed(&random, 11, 0);
  int compared = 0, tried = 0;
  for (int k = 0; k < COUNT; k++)
    for (int choice = 0; choice < 12; choice++) {
      fixture f;
      fixture_open(&f, differentiated[k].scene, 1);
      f.options.integrator = (carom_integrator)(choice % 3);
      f.options.dynamics = (carom_dynamics)(choice / 3 % 2);
      f.options.stabilize = choice >= 6;
      f.options.substeps = choice % 2 + 1;
      for (int i = 0; i < f.control; i++) f.u[i] = 5 * rng_normal(&random);
      for (int i = 0; i < f.state * (f.info.steps + 1); i++) {
        f.wx[i] = rng_normal(&random);
        f.wv[i] = rng_normal(&random);
      }
      // off the constraints too, where lengths of axes matter
      for (int i = 0; choice == 1 && i < f.state; i++) f.x0[i] += 1e-3 * rng_normal(&random);
      char what[96];
      snprintf(what, sizeof what, "%s, choice %d", differentiated[k].name, choice);
      compare(&f, &random, what, &compared, &tried);
      if (differentiated[k].touches && carom_rollout_report(f.rollout).events == 0)
        fail_msg("%s: no contact", what);
      fixture_close(&f);
    }
  // kinks are rare
  if (compared < tried * 95 / 100) fail_msg("%d of %d compared", compared, tried);
}

/* G(x) u by itself, far off the constraints. */
typedef struct couple_trial {
  const carom_system *system;
  double x[12], u[6], weight[12];
} couple_trial;

static double couple_value(void *user) {
  const couple_trial *t = user;
  double gradient[12] = {0}, sum = 0;
  controls_apply(t->system, t->x, t->u, gradient);
  for (int i = 0; i < 12; i++) sum += t->weight[i] * gradient[i];
  return sum;
}

static void test_derivative_far_off_the_constraints(void **state) {
  (void)state;
  rng random;
  rng_seed(&random, 12, 0);
  for (int dimension = 2; dimension <= 3; dimension++) {
    carom_system *s = parse_system(dimension == 3 ? TOP : differentiated[1].scene);
    int size = (dimension + 1) * dimension, control_size = carom_system_describe(s).control_size;
    for (int k = 0; k < 20; k++) {
      couple_trial t = {.system = s};
      double x_bar[12] = {0}, u_bar[6] = {0};
      for (int i = 0; i < size; i++) {
        t.x[i] = rng_normal(&random);
        t.weight[i] = rng_normal(&random);
      }
      for (int i = 0; i < control_size; i++) t.u[i] = rng_normal(&random);
      controls_apply_vjp(s, t.x, t.u, t.weight, x_bar, u_bar);
      assert_true(gradient_error(couple_value, &t, t.x, x_bar, size, &random) < 1e-7);
      assert_true(gradient_error(couple_value, &t, t.u, u_bar, control_size, &random) < 1e-9);
      // x_bar alone
      double again[12] = {0};
      controls_apply_vjp(s, t.x, t.u, t.weight, again, NULL);
      assert_memory_equal(again, x_bar, sizeof again);
    }
    carom_system_destroy(s);
  }
}

/* ---- the interface ---- */

static void test_names_and_places(void **state) {
  (void)state;
  carom_system *s = parse_system(TOP);
  const carom_system_info info = carom_system_describe(s);
  assert_int_equal(info.control_count, 2);
  assert_int_equal(info.control_size, 6);
  const carom_control_info torque = carom_system_control(s, 0), force = carom_system_control(s, 1);
  assert_string_equal(torque.id, "controls[0]");
  assert_string_equal(force.id, "off");
  assert_int_equal(torque.kind, CAROM_CONTROL_TORQUE);
  assert_int_equal(force.kind, CAROM_CONTROL_FORCE);
  assert_int_equal(force.first, 3);
  assert_int_equal(force.size, 3);
  assert_int_equal(carom_system_control(s, 2).body, -1);
  carom_system_destroy(s);
}

/* Zeros are no controls, to the last bit but the sign of a zero, and taking controls away is that too. */
static void test_zeros_are_none(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, differentiated[5].scene, 1);
  fixture_run(&f);
  int count = f.state * (f.info.steps + 1);
  double *with = numbers(count);
  vector_copy(with, carom_rollout_positions(f.rollout), count);
  assert_memory_equal(carom_rollout_controls(f.rollout), f.u, sizeof(double) * (size_t)f.control);
  assert_int_equal(carom_rollout_set_controls(f.rollout, NULL, NULL), CAROM_OK);
  assert_null(carom_rollout_controls(f.rollout));
  assert_int_equal(carom_rollout_run(f.rollout, f.theta, f.x0, f.v0, NULL), CAROM_OK);
  const double *x = carom_rollout_positions(f.rollout);
  for (int i = 0; i < count; i++) assert_true(with[i] == x[i]);
  assert_int_equal(carom_rollout_vjp(f.rollout, x, x, f.x0_bar, NULL, NULL, NULL), CAROM_OK);
  assert_null(carom_rollout_controls_bar(f.rollout));
  free(with);
  fixture_close(&f);
}

/* Samples with controls of their own in shards, whichever thread takes them: each as if alone. */
static void test_batch_and_threads(void **state) {
  (void)state;
  enum { BATCH = 11 };
  rng random;
  rng_seed(&random, 13, 0);
  fixture f;
  fixture_open(&f, differentiated[5].scene, BATCH);
  for (int i = 0; i < BATCH * f.control; i++) f.u[i] = 5 * rng_normal(&random);
  int count = BATCH * f.state * (f.info.steps + 1);
  double *x = numbers(count), *u_bar = numbers(BATCH * f.control);
  for (int threads = 1; threads <= 4; threads++) {
    f.options.threads = threads;
    f.options.shard_size = 3;
    long before = 0;
    for (int pass = 0; pass < 3; pass++) {
      fixture_run(&f);
      const double *now = carom_rollout_positions(f.rollout);
      assert_int_equal(carom_rollout_vjp(f.rollout, now, now, f.x0_bar, NULL, f.theta_bar, NULL),
                       CAROM_OK);
      if (threads == 1 && pass > 0) assert_int_equal(rollout_allocations(f.rollout), before);
      before = rollout_allocations(f.rollout);
    }
    const double *now = carom_rollout_positions(f.rollout);
    const double *bar = carom_rollout_controls_bar(f.rollout);
    if (threads == 1) vector_copy(x, now, count);
    if (threads == 1) vector_copy(u_bar, bar, BATCH * f.control);
    assert_memory_equal(now, x, sizeof(double) * (size_t)count);
    assert_memory_equal(bar, u_bar, sizeof(double) * (size_t)(BATCH * f.control));
    carom_rollout_destroy(f.rollout);
    f.rollout = NULL;
  }
  // sample 7 alone
  fixture one;
  fixture_open(&one, differentiated[5].scene, 1);
  vector_copy(one.x0, f.x0 + 7 * f.state, f.state);
  vector_copy(one.v0, f.v0 + 7 * f.state, f.state);
  vector_copy(one.u, f.u + 7 * f.control, f.control);
  fixture_run(&one);
  const double *now = carom_rollout_positions(one.rollout);
  assert_int_equal(carom_rollout_vjp(one.rollout, now, now, NULL, NULL, NULL, NULL), CAROM_OK);
  assert_memory_equal(now, x + 7 * count / BATCH, sizeof(double) * (size_t)(count / BATCH));
  assert_memory_equal(carom_rollout_controls_bar(one.rollout), u_bar + 7 * f.control,
                      sizeof(double) * (size_t)f.control);
  fixture_close(&one);
  free(x);
  free(u_bar);
  fixture_close(&f);
}

static void test_bad_calls(void **state) {
  (void)state;
  fixture f;
  carom_error error;
  fixture_open(&f, TOP, 2);
  fixture_run(&f);
  f.u[f.control + 6 * 4 + 1] = NAN;
  carom_rollout_set_controls(f.rollout, f.u, &error);
  assert_message(&error, CAROM_INVALID_DATA,
                 "controls of sample 1 at step 4: number 1 is not finite");
  // what was set stays, and so does the run
  assert_int_equal(carom_rollout_vjp(f.rollout, f.wx, NULL, NULL, NULL, NULL, &error), CAROM_OK);
  f.u[f.control + 6 * 4 + 1] = 0;
  assert_int_equal(carom_rollout_set_controls(f.rollout, f.u, &error), CAROM_OK);
  assert_int_equal(carom_rollout_vjp(f.rollout, f.wx, NULL, NULL, NULL, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  fixture_close(&f);

  carom_system *s = load_system("cp3");
  carom_rollout_options options = carom_rollout_default_options(s);
  carom_rollout *rollout;
  double none = 0;
  assert_int_equal(carom_rollout_create(s, &options, 1, &rollout, &error), CAROM_OK);
  carom_rollout_set_controls(rollout, &none, &error);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "cp3 has no controls");
  assert_int_equal(carom_rollout_set_controls(rollout, NULL, &error), CAROM_OK);
  carom_rollout_destroy(rollout);
  carom_system_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_point_under_a_force),
      cmocka_unit_test(test_disk_under_a_torque),
      cmocka_unit_test(test_space_body_about_a_principal_axis),
      cmocka_unit_test(test_balance_of_momenta),
      cmocka_unit_test(test_force_off_the_centre),
      cmocka_unit_test(test_pendulum_is_held),
      cmocka_unit_test(test_derivative),
      cmocka_unit_test(test_derivative_far_off_the_constraints),
      cmocka_unit_test(test_names_and_places),
      cmocka_unit_test(test_zeros_are_none),
      cmocka_unit_test(test_batch_and_threads),
      cmocka_unit_test(test_bad_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
