/* Contacts that act when their gaps close, beside closed forms: final states and their derivatives by initial
 * states and parameters. Closed forms are written with complex numbers: the imaginary part of f(p + i h) / h is
 * the derivative of f, to rounding, for h as small as one likes. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rollout/rollout.h"
#include "support/quick.h"
#include "support/scene_run.h"
#include "support/systems.h"

typedef double complex number;

enum { MOST = 64, MOST_GIVEN = 16, MOST_OUT = 12 };

/* A case: what is given (p) sets initial states and parameters, and the final coordinates follow from it. */
typedef struct closed_form {
  const char *name, *scene;
  int given_count, out_count;
  double given[MOST_GIVEN];
  /* x, v, theta come with the scene's values */
  void (*state)(const carom_system *s, const number *p, number *x, number *v, number *theta);
  /* out [out_count]: pairs of positions and velocities, whose places are in `places` */
  void (*final)(const number *p, number *out);
  int places[MOST_OUT]; /* coordinate of each number; velocities are at 1000 + coordinate */
  carom_friction_law friction;
  int substeps;
  int impacts;
} closed_form;

static int restitution_at(const carom_system *s, int contact) {
  return carom_parameters_segment(s, CAROM_RESTITUTION).offset + contact;
}
static int log_mass_at(const carom_system *s, int index) {
  return carom_parameters_segment(s, CAROM_LOG_MASS).offset + index;
}
static int gravity_at(const carom_system *s, int axis) {
  return carom_parameters_segment(s, CAROM_GRAVITY).offset + axis;
}

#define SCENE(steps, gravity, bodies, rest)                                                    \
  "{\"carom\":1,\"name\":\"c\",\"dimension\":2,\"dt\":0.0020833333333333333,\"steps\":" #steps \
  ",\"gravity\":" gravity ",\"bodies\":[" bodies "]," rest
#define GROUND "\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0}],"
#define AT(body, x, y) "{\"body\":\"" body "\",\"position\":[" #x "," #y "]}"
#define INITIAL(bodies) "\"initial\":{\"sampler\":\"state\",\"bodies\":[" bodies "]}}"
#define POINT(id) "{\"id\":\"" id "\",\"type\":\"point\",\"mass\":1,\"radius\":0.1}"

/* ---- a ball and the ground ---- */

/* p: x, y, vx, vy, e, g downwards; T = 1 */
static void ball_state(const carom_system *s, const number *p, number *x, number *v,
                       number *theta) {
  memcpy(x, p, 2 * sizeof *p);
  memcpy(v, p + 2, 2 * sizeof *p);
  theta[restitution_at(s, 0)] = p[4];
  theta[gravity_at(s, 1)] = -p[5];
}

/* y + v t - g t^2 / 2 = r at the later time, for g = 0 too */
static number fall_time(number height, number v, number g) {
  return 2 * height / (csqrt(v * v + 2 * g * height) - v);
}

static void ball_final(const number *p, number *out) {
  number t = fall_time(p[1] - 0.1, p[3], p[5]), left = 1 - t;
  number up = -p[4] * (p[3] - p[5] * t);
  out[0] = p[0] + p[2];
  out[1] = 0.1 + up * left - p[5] * left * left / 2;
  out[2] = up - p[5] * left;
}

/* ---- ground, then a wall ---- */

/* p: as above without g = 10; the wall at x = 1 has the same e */
static void corner_state(const carom_system *s, const number *p, number *x, number *v,
                         number *theta) {
  memcpy(x, p, 2 * sizeof *p);
  memcpy(v, p + 2, 2 * sizeof *p);
  theta[restitution_at(s, 0)] = theta[restitution_at(s, 1)] = p[4];
}

static void corner_final(const number *p, number *out) {
  number with_gravity[] = {p[0], p[1], p[2], p[3], p[4], 10}, fall[3];
  ball_final(with_gravity, fall);
  number t = (0.9 - p[0]) / p[2];
  out[0] = 0.9 - p[4] * p[2] * (1 - t);
  out[1] = fall[1];
  out[2] = -p[4] * p[2];
  out[3] = fall[2];
}

/* ---- two balls ---- */

/* p: x1, y1, x2, y2, u1, w1, u2, w2, m1, m2, e */
static void pair_state(const carom_system *s, const number *p, number *x, number *v,
                       number *theta) {
  memcpy(x, p, 4 * sizeof *p);
  memcpy(v, p + 4, 4 * sizeof *p);
  theta[log_mass_at(s, 0)] = clog(p[8]);
  theta[log_mass_at(s, 1)] = clog(p[9]);
  theta[restitution_at(s, 0)] = p[10];
}

/* |d + w t| = 2 r, then an impulse along the line of centres; no friction */
static void pair_final(const number *p, number *out) {
  number d[2], w[2], n[2];
  for (int i = 0; i < 2; i++) {
    d[i] = p[2 + i] - p[i];
    w[i] = p[6 + i] - p[4 + i];
  }
  number a = w[0] * w[0] + w[1] * w[1], b = d[0] * w[0] + d[1] * w[1];
  number c = d[0] * d[0] + d[1] * d[1] - 0.04, t = (-b - csqrt(b * b - a * c)) / a;
  for (int i = 0; i < 2; i++) n[i] = (d[i] + w[i] * t) / 0.2;
  number f = -(1 + p[10]) * (w[0] * n[0] + w[1] * n[1]) / (1 / p[8] + 1 / p[9]);
  for (int i = 0; i < 2; i++) {
    out[4 + i] = p[4 + i] - f / p[8] * n[i];
    out[6 + i] = p[6 + i] + f / p[9] * n[i];
    out[i] = p[i] + p[4 + i] * t + out[4 + i] * (1 - t);
    out[2 + i] = p[2 + i] + p[6 + i] * t + out[6 + i] * (1 - t);
  }
}

/* ---- a disk that grips ---- */

/* p: x, y, vx, vy, turning rate, e; the axes are at an angle of 0.3 */
static void disk_state(const carom_system *s, const number *p, number *x, number *v,
                       number *theta) {
  const double axes[2][2] = {{cos(0.3), sin(0.3)}, {-sin(0.3), cos(0.3)}};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 2; i++) {
      double arm = k > 0 ? axes[k - 1][i] : 0, turned = k > 0 ? axes[k - 1][1 - i] : 0;
      x[2 * k + i] = p[i] + arm;
      v[2 * k + i] = p[2 + i] + (i == 0 ? -1 : 1) * p[4] * turned;
    }
  theta[restitution_at(s, 0)] = p[5];
}

/* The contact point comes to rest along the ground: with I = m r^2 / 2, vx' = (2 vx - r w) / 3, w' = -vx' / r.
 * From then on it rolls or flies at that speed. g = 10. */
static void disk_final(const number *p, number *out) {
  number t = fall_time(p[1] - 0.1, p[3], 10), left = 1 - t, up = -p[5] * (p[3] - 10 * t);
  number vx = (2 * p[2] - 0.1 * p[4]) / 3, angle = 0.3 + p[4] * t - vx / 0.1 * left;
  out[0] = p[0] + p[2] * t + vx * left;
  out[1] = p[5] == 0 ? 0.1 : 0.1 + up * left - 5 * left * left;
  out[2] = out[0] + ccos(angle);
  out[3] = vx;
  out[4] = p[5] == 0 ? 0 : up - 10 * left;
}

/* The same on the ground with e = 0, which is not differentiated by it. */
static void rolling_state(const carom_system *s, const number *p, number *x, number *v,
                          number *theta) {
  number with_e[] = {p[0], p[1], p[2], p[3], p[4], 0};
  disk_state(s, with_e, x, v, theta);
}
static void rolling_final(const number *p, number *out) {
  number with_e[] = {p[0], p[1], p[2], p[3], p[4], 0};
  disk_final(with_e, out);
}

/* ---- a pendulum and a wall ---- */

/* p: angle from straight down, rate, e; without gravity, length 1, wall at x = 0.6 for a ball of 0.1 */
static void pendulum_state(const carom_system *s, const number *p, number *x, number *v,
                           number *theta) {
  x[0] = csin(p[0]), x[1] = -ccos(p[0]);
  v[0] = p[1] * ccos(p[0]), v[1] = p[1] * csin(p[0]);
  theta[restitution_at(s, 0)] = p[2];
}

static void pendulum_final(const number *p, number *out) {
  number t = (asin(0.5) - p[0]) / p[1], rate = -p[2] * p[1];
  number angle = asin(0.5) + rate * (1 - t);
  out[0] = csin(angle);
  out[1] = -ccos(angle);
  out[2] = rate * ccos(angle);
  out[3] = rate * csin(angle);
}

#define FREE(e) "\"contacts\":{\"pairs\":true,\"friction\":0,\"restitution\":" #e "},"
#define TWO_BALLS                                \
  SCENE(480, "[0,0]", POINT("a") "," POINT("b"), \
        FREE(0.5) INITIAL(AT("a", 0, 0) "," AT("b", 1, 0.05)))
#define DISK                                                                           \
  SCENE(480, "[0,-10]", "{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"radius\":0.1}", \
        GROUND                                                                         \
        "\"contacts\":{\"friction\":2,\"restitution\":0},\"initial\":{\"sampler\":"    \
        "\"state\",\"bodies\":[{\"body\":\"a\",\"position\":[0,1],\"rotation\":0.3}]}}")

#define BALL SCENE(480, "[0,-1]", POINT("a"), GROUND FREE(0.5) INITIAL(AT("a", 0, 1)))

static const closed_form forms[] = {
    {"ball and ground, no gravity",
     BALL,
     6,
     3,
     {-1, 1, 2, -2, 1, 0},
     ball_state,
     ball_final,
     {0, 1, 1001},
     0,
     1,
     1},
    {"ball and ground, gravity, e < 1",
     BALL,
     6,
     3,
     {-1, 0.7, 2, 0.3, 0.6, 3},
     ball_state,
     ball_final,
     {0, 1, 1001},
     0,
     1,
     1},
    {"head-on, equal masses, e = 1",
     TWO_BALLS,
     11,
     8,
     {0, 0, 1, 0, 2, 0, -1, 0, 1, 1, 1},
     pair_state,
     pair_final,
     {0, 1, 2, 3, 1000, 1001, 1002, 1003},
     0,
     1,
     1},
    {"head-on, unequal masses, e < 1",
     TWO_BALLS,
     11,
     8,
     {0, 0, 1, 0, 2, 0, -1, 0, 1, 3, 0.4},
     pair_state,
     pair_final,
     {0, 1, 2, 3, 1000, 1001, 1002, 1003},
     0,
     1,
     1},
    {"oblique, unequal masses, e < 1",
     TWO_BALLS,
     11,
     8,
     {0, 0, 1, 0.1, 2, 0.1, -1, -0.05, 0.7, 2, 0.8},
     pair_state,
     pair_final,
     {0, 1, 2, 3, 1000, 1001, 1002, 1003},
     0,
     1,
     1},
    {"corner of ground and wall, e 0.92",
     SCENE(480, "[0,-10]", POINT("a"),
           "\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0},"
           "{\"id\":\"wall\",\"normal\":[-1,0],\"offset\":1}]," FREE(0.92) INITIAL(AT("a", 0, 1))),
     5,
     4,
     {0, 1.7, 1.3, -1.5, 0.92},
     corner_state,
     corner_final,
     {0, 1, 1000, 1001},
     0,
     1,
     2},
    {"disk that grips and flies",
     DISK,
     6,
     5,
     {0, 3, 1, 0.2, 5, 0.6},
     disk_state,
     disk_final,
     {0, 1, 2, 1000, 1001},
     CAROM_COULOMB_FRICTION,
     4,
     1},
    {"disk that grips and flies, convex friction",
     DISK,
     6,
     5,
     {0, 3, 1, 0.2, 5, 0.6},
     disk_state,
     disk_final,
     {0, 1, 2, 1000, 1001},
     CAROM_CONVEX_FRICTION,
     4,
     1},
    {"disk that grips and rolls",
     DISK,
     5,
     5,
     {0, 1, 1, 0.2, 5},
     rolling_state,
     rolling_final,
     {0, 1, 2, 1000, 1001},
     CAROM_COULOMB_FRICTION,
     4,
     1},
    {"pendulum and wall",
     SCENE(480, "[0,0]", POINT("a"),
           "\"planes\":[{\"id\":\"wall\",\"normal\":[-1,0],\"offset\":0.6}],"
           "\"joints\":[{\"type\":\"link\",\"ends\":[[0,0],\"a\"],\"length\":1}]," FREE(0.7)
               INITIAL(AT("a", 0, -1))),
     3,
     4,
     {0.1, 0.9, 0.7},
     pendulum_state,
     pendulum_final,
     {0, 1, 1000, 1001},
     0,
     4,
     1},
};

/* The state that p gives, or its derivative by p_k. */
static void set_state(const closed_form *f, scene_run *r, int k, number *x, number *v,
                      number *theta) {
  number p[MOST_GIVEN];
  for (int i = 0; i < f->given_count; i++) p[i] = f->given[i] + (i == k ? 1e-30 * I : 0);
  for (int i = 0; i < r->state; i++) x[i] = r->x0[i], v[i] = r->v0[i];
  for (int i = 0; i < r->parameters; i++) theta[i] = r->theta[i];
  f->state(r->system, p, x, v, theta);
}

static void close_to(const char *name, const char *what, int out, int k, double value,
                     double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance * fmax(1, fabs(expected))))
    fail_msg("%s: %s of number %d by %d is %.15g, not %.15g (off by %.2g)", name, what, out, k,
             value, expected, value - expected);
}

/* One final number: its value, and its derivative by everything that is given. */
static double compare_number(const closed_form *f, scene_run *r, int out, const number *final) {
  number x[MOST], v[MOST], theta[MOST];
  int place = f->places[out] % 1000, at = r->options.steps * r->state + place;
  bool is_velocity = f->places[out] >= 1000;
  const double *end =
      is_velocity ? scene_run_v(r, 0, r->options.steps) : scene_run_x(r, 0, r->options.steps);
  close_to(f->name, "value", out, -1, end[place], creal(final[out]), 1e-10);
  memset(r->wx, 0, sizeof(double) * (size_t)((r->options.steps + 1) * r->state));
  memset(r->wv, 0, sizeof(double) * (size_t)((r->options.steps + 1) * r->state));
  (is_velocity ? r->wv : r->wx)[at] = 1;
  scene_run_vjp(r);
  double worst = 0;
  for (int k = 0; k < f->given_count; k++) {
    number p[MOST_GIVEN], moved[MOST_OUT];
    for (int i = 0; i < f->given_count; i++) p[i] = f->given[i] + (i == k ? 1e-30 * I : 0);
    f->final(p, moved);
    set_state(f, r, k, x, v, theta);
    double derivative = 0, expected = cimag(moved[out]) / 1e-30;
    for (int i = 0; i < r->state; i++)
      derivative += (r->x0_bar[i] * cimag(x[i]) + r->v0_bar[i] * cimag(v[i])) / 1e-30;
    for (int i = 0; i < r->parameters; i++) derivative += r->theta_bar[i] * cimag(theta[i]) / 1e-30;
    close_to(f->name, "derivative", out, k, derivative, expected, 1e-10);
    worst = fmax(worst, fabs(derivative - expected) / fmax(1, fabs(expected)));
  }
  return worst;
}

static void test_closed_forms(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    const closed_form *f = &forms[i];
    scene_run r;
    number x[MOST], v[MOST], theta[MOST], p[MOST_GIVEN], final[MOST_OUT];
    scene_run_open(&r, f->scene, 1, 0, 1);
    assert_true(r.state <= MOST && r.parameters <= MOST);
    r.options.contact_time = CAROM_CONTACT_TIME_EVENT;
    r.options.friction = f->friction;
    r.options.substeps = f->substeps;
    r.options.dt = 1.0 / 480;
    set_state(f, &r, -1, x, v, theta);
    for (int k = 0; k < r.state; k++) r.x0[k] = creal(x[k]), r.v0[k] = creal(v[k]);
    for (int k = 0; k < r.parameters; k++) r.theta[k] = creal(theta[k]);
    scene_run_go(&r);
    assert_int_equal(carom_rollout_report(r.rollout).impacts, f->impacts);
    for (int k = 0; k < f->given_count; k++) p[k] = f->given[k];
    f->final(p, final);
    double worst = 0;
    for (int out = 0; out < f->out_count; out++)
      worst = fmax(worst, compare_number(f, &r, out, final));
    printf("%-44s derivative off by %.1e at most\n", f->name, worst);
    scene_run_close(&r);
  }
}

/* ---- beside differences ---- */

#define SPACE(dimension, gravity)                         \
  "{\"carom\":1,\"name\":\"d\",\"dimension\":" #dimension \
  ",\"dt\":0.02,\"steps\":15,\"gravity\":" gravity ","

/* Scenes with every kind of contact that hit, and then rest, slide or roll in some of them. */
static const struct {
  const char *name, *scene;
} differentiated[] = {
    {"balls and disks on the ground",
     SPACE(2, "[0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"radius\":0.5},"
                          "{\"id\":\"b\",\"type\":\"point\",\"mass\":1,\"radius\":0.3}]," GROUND
                          "\"contacts\":{\"pairs\":true,\"friction\":0.4,\"restitution\":0.3},"
                          "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"},{\"body\":\"b\","
                          "\"type\":\"force\"},"
                          "{\"body\":\"a\",\"type\":\"force\",\"at\":[0.4,0.1]}]," INITIAL(
                              "{\"body\":\"a\",\"position\":[0,0.52],\"velocity\":[2,-0.6],"
                              "\"spin\":3,\"rotation\":0.3},"
                              "{\"body\":\"b\",\"position\":[0.87,0.6],\"velocity\":[-1,-0.3]}")},
    {"disk that slides and rolls, inelastic",
     SPACE(2, "[0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"radius\":0.5}]"
                          "," GROUND "\"contacts\":{\"friction\":0.2,\"restitution\":0.05},"
                          "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"}]," INITIAL(
                              "{\"body\":\"a\",\"position\":[0,0.55],\"velocity\":[2,-0.6],"
                              "\"spin\":3,\"rotation\":0.3}")},
    {"box in space on the ground",
     SPACE(3, "[0,0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,"
                            "\"shape\":{\"type\":\"box\",\"half_extents\":[0.3,0.2,0.1]}}],"
                            "\"planes\":[{\"id\":\"ground\",\"normal\":[0,0,1],\"offset\":0}],"
                            "\"contacts\":{\"friction\":0.4,\"restitution\":0.3},"
                            "\"controls\":[{\"body\":\"a\",\"type\":\"torque\"}]," INITIAL(
                                "{\"body\":\"a\",\"position\":[0,0,0.36],\"velocity\":[1,0.5,-1],"
                                "\"spin\":[1,2,3],"
                                "\"rotation\":[0.7,0.4,0.2]}")},
    {"pendulums at a wall",
     SPACE(2, "[0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2,\"radius\":0.1},"
                          "{\"id\":\"b\",\"type\":\"point\",\"mass\":1,\"radius\":0.1}],"
                          "\"joints\":[{\"type\":\"link\",\"ends\":[[0,0],\"a\"],\"length\":1},"
                          "{\"type\":\"link\",\"ends\":[\"a\",\"b\"],\"length\":1}],"
                          "\"planes\":[{\"id\":\"wall\",\"normal\":[-1,0],\"offset\":0.17}],"
                          "\"contacts\":{\"friction\":0.2,\"restitution\":0.3},"
                          "\"controls\":[{\"body\":\"a\",\"type\":\"force\"},{\"body\":\"b\","
                          "\"type\":\"force\"}]," INITIAL(
                              "{\"body\":\"a\",\"position\":[0,-1],\"velocity\":[1,0]},"
                              "{\"body\":\"b\",\"position\":[0,-2],\"velocity\":[1.5,0]}")},
    {"hinged bodies on the ground",
     SPACE(2, "[0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"shape\":{"
                          "\"type\":\"box\","
                          "\"half_extents\":[0.3,0.1]}},{\"id\":\"b\",\"type\":\"rigid\",\"mass\":"
                          "1,\"shape\":{\"type\":\"box\","
                          "\"half_extents\":[0.3,0.1]}}],"
                          "\"joints\":[{\"type\":\"ball\",\"ends\":[{\"body\":\"a\",\"at\":[0.35,0]"
                          "},{\"body\":\"b\",\"at\":[-0.35,0]}]}]," GROUND
                          "\"contacts\":{\"friction\":0.3,\"restitution\":0.2}," INITIAL(
                              "{\"body\":\"a\",\"position\":[-0.35,0.25],\"velocity\":[0.5,-0.6]},"
                              "{\"body\":\"b\",\"position\":[0.35,0.25],\"velocity\":[0.5,-0.6]}")},
};

enum { CHOICES = 13 };

static void choose(scene_run *r, int choice) {
  r->options.contact_time = CAROM_CONTACT_TIME_EVENT;
  r->options.keep_impacts = true;
  r->options.integrator = choice == 12 ? CAROM_RK4_SECANT : (carom_integrator)(choice % 3);
  r->options.dynamics = (carom_dynamics)(choice / 3 % 2);
  r->options.stabilize = choice >= 6;
  r->options.substeps = choice % 2 + 1;
  r->options.friction = (carom_friction_law)(choice / 2 % 2);
  r->options.contact = choice == 4 ? CAROM_CMR : CAROM_CM;
}

/* Every integrator, form of the dynamics, law of friction; by initial states, parameters and controls; of the
 * trajectory and of impacts with their times. */
static void test_differences(void **state) {
  (void)state;
  rng random;
  rng_seed(&random, 8, 0);
  int compared = 0, tried = 0;
  int64_t impacts = 0, resting = 0;
  for (size_t k = 0; k < sizeof differentiated / sizeof differentiated[0]; k++)
    for (int n = 0; n < (quick() ? 2 : CHOICES); n++) {
      const int choice = quick() ? ((int)k * 4 + n * 6) % CHOICES : n; // others in each scene
      scene_run r;
      char what[96];
      scene_run_open(&r, differentiated[k].scene, 1, 0, 1);
      choose(&r, choice);
      scene_run_leave_bounds(&r);
      scene_run_weigh(&r, &random);
      for (int i = 0; i < r.control; i++) r.u[i] = 0.5 * rng_normal(&random);
      snprintf(what, sizeof what, "%s, choice %d", differentiated[k].name, choice);
      compared += scene_run_compare(&r, what, 1e-6, &random, &tried);
      impacts += carom_rollout_report(r.rollout).impacts;
      resting += carom_rollout_report(r.rollout).resting_contacts;
      if (carom_rollout_report(r.rollout).impacts == 0) fail_msg("%s: no impact", what);
      scene_run_close(&r);
    }
  printf("differences: %d of %d compared, %lld impacts, %lld pushes of resting contacts\n",
         compared, tried, (long long)impacts, (long long)resting);
  assert_true(compared * 4 >= tried * 3);
  assert_true(resting > (quick() ? 15 : 100));
}

/* The built-in scenes: pairs, walls, rims, stretch and bend limits. */
static void test_built_in_scenes(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int batch, steps, quick_steps;
  } scenes[] = {{"bp5", 3, 20, 12},
                {"bd5", 3, 20, 12},
                {"cp3", 8, 50, 50},
                {"gyro", 8, 50, 50},
                {"rope", 4, 20, 12}};
  rng random;
  rng_seed(&random, 9, 0);
  int compared = 0, tried = 0;
  for (int k = 0; k < 5; k++)
    for (int choice = 0; choice < (quick() ? 1 : 4); choice++) {
      scene_run r;
      scene_run_open(&r, scenes[k].name, scenes[k].batch,
                     quick() ? scenes[k].quick_steps : scenes[k].steps, 4);
      choose(&r, choice == 3 ? 9 : 3 * choice);
      scene_run_leave_bounds(&r);
      scene_run_weigh(&r, &random);
      compared += scene_run_compare(&r, scenes[k].name, 1e-6, &random, &tried);
      if (carom_rollout_report(r.rollout).impacts == 0) fail_msg("%s: no impact", scenes[k].name);
      scene_run_close(&r);
    }
  printf("built-in scenes: %d of %d compared\n", compared, tried);
  assert_true(compared * 4 >= tried * 3);
}

/* ---- continuity ---- */

enum { MOST_STARTS = 10000, SCAN_STEPS = 50 };

static int starts(void) { return repeats(MOST_STARTS); }

/* Heights after half a second, and their derivative, of balls dropped from 0.5 to 0.8 in equal distances. */
typedef struct height_scan {
  double end[MOST_STARTS], slope[MOST_STARTS];
} height_scan;

static double start_height(int k) { return 0.5 + 0.3 * k / (starts() - 1); }

static void scan(carom_contact_time when, height_scan *result) {
  scene_run r;
  scene_run_open(&r,
                 "{\"carom\":1,\"name\":\"s\",\"dimension\":2,\"dt\":0.01,\"steps\":50,"
                 "\"gravity\":[0,-9.81],\"bodies\":[" POINT("a") "]," GROUND FREE(0.8)
                     INITIAL(AT("a", 0, 1)),
                 starts(), 0, 1);
  r.options.contact_time = when;
  for (int k = 0; k < starts(); k++) r.x0[2 * k + 1] = start_height(k);
  scene_run_go(&r);
  for (int k = 0; k < starts(); k++) {
    result->end[k] = scene_run_x(&r, k, SCAN_STEPS)[1];
    r.wx[(k * (SCAN_STEPS + 1) + SCAN_STEPS) * 2 + 1] = 1;
  }
  scene_run_vjp(&r);
  for (int k = 0; k < starts(); k++) result->slope[k] = r.x0_bar[2 * k + 1];
  scene_run_close(&r);
}

static double largest_jump(const height_scan *s) {
  double most = 0;
  for (int k = 1; k < starts(); k++) most = fmax(most, fabs(s->end[k] - s->end[k - 1]));
  return most;
}

/* start, end and slope for both times of contacts and by the closed form, for scripts/draw_continuity.py */
static void write_scan(const char *path, const height_scan *event, const height_scan *step) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "start,event,event_slope,step,step_slope,closed_slope\n");
  for (int k = 0; k < starts(); k++) {
    number p[] = {0, start_height(k) + 1e-30 * I, 0, 0, 0.8, 9.81};
    number t = fall_time(p[1] - 0.1, p[3], p[5]), left = 0.5 - t;
    number up = -p[4] * (p[3] - p[5] * t), end = 0.1 + up * left - p[5] * left * left / 2;
    fprintf(file, "%.9g,%.12g,%.9g,%.12g,%.9g,%.9g\n", start_height(k), event->end[k],
            event->slope[k], step->end[k], step->slope[k], cimag(end) / 1e-30);
  }
  fclose(file);
}

/* While an impact moves across the ends of time steps the final state is continuous where it acts at its time,
 * and jumps where it acts at the end of the step. */
static void test_continuity(void **state) {
  (void)state;
  static height_scan event, step;
  scan(CAROM_CONTACT_TIME_EVENT, &event);
  scan(CAROM_CONTACT_TIME_STEP, &step);
  double distance = 0.3 / (starts() - 1), jump = largest_jump(&event), steepest = 0;
  for (int k = 0; k < starts(); k++) steepest = fmax(steepest, fabs(event.slope[k]));
  printf("%d starts %.1e apart: the end jumps by %.2e at most (slope %.2f), in step mode by %.2e\n",
         starts(), distance, jump, steepest, largest_jump(&step));
  assert_true(jump <= 1.01 * steepest * distance);
  assert_true(largest_jump(&step) > 1e-3);
  // the slope is what differences of neighbours say
  for (int k = 1; k < starts() - 1; k++)
    assert_near(event.slope[k], (event.end[k + 1] - event.end[k - 1]) / (2 * distance), 1e-3);
  if (getenv("CAROM_CONTINUITY") != NULL) write_scan(getenv("CAROM_CONTINUITY"), &event, &step);
}

/* ---- the same bits, no allocation ---- */

static void test_threads_and_memory(void **state) {
  (void)state;
  scene_run one, four;
  rng random;
  scene_run *const runs[] = {&one, &four};
  for (int k = 0; k < 2; k++) {
    rng_seed(&random, 3, 0);
    scene_run_open(runs[k], "bd5", 21, 40, 2);
    runs[k]->options.contact_time = CAROM_CONTACT_TIME_EVENT;
    runs[k]->options.keep_impacts = true;
    runs[k]->options.threads = k == 0 ? 1 : 4;
    scene_run_weigh(runs[k], &random);
    scene_run_go(runs[k]);
    scene_run_vjp(runs[k]);
  }
  size_t all = sizeof(double) * (size_t)(21 * 41 * one.state);
  assert_memory_equal(carom_rollout_positions(one.rollout), carom_rollout_positions(four.rollout),
                      all);
  assert_memory_equal(one.v0_bar, four.v0_bar, sizeof(double) * (size_t)(21 * one.state));
  assert_memory_equal(one.theta_bar, four.theta_bar, sizeof(double) * (size_t)one.parameters);
  long before = rollout_allocations(one.rollout);
  scene_run_go(&one);
  scene_run_vjp(&one);
  assert_int_equal(rollout_allocations(one.rollout), before);
  scene_run_close(&one);
  scene_run_close(&four);
}

/* A trajectory that is taken up at any of its states goes on to the same bits: nothing is hidden. */
static void test_taken_up(void **state) {
  (void)state;
  scene_run r, later;
  scene_run_open(&r, differentiated[0].scene, 1, 60, 1);
  r.options.contact_time = CAROM_CONTACT_TIME_EVENT;
  scene_run_go(&r);
  assert_true(carom_rollout_report(r.rollout).resting_contacts > 0);
  for (int step = 5; step < 60; step += 11) {
    scene_run_open(&later, differentiated[0].scene, 1, 60 - step, 1);
    later.options.contact_time = CAROM_CONTACT_TIME_EVENT;
    memcpy(later.x0, scene_run_x(&r, 0, step), sizeof(double) * (size_t)r.state);
    memcpy(later.v0, scene_run_v(&r, 0, step), sizeof(double) * (size_t)r.state);
    scene_run_go(&later);
    assert_memory_equal(scene_run_x(&later, 0, 60 - step), scene_run_x(&r, 0, 60),
                        sizeof(double) * (size_t)r.state);
    scene_run_close(&later);
  }
  scene_run_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_forms),       cmocka_unit_test(test_differences),
      cmocka_unit_test(test_built_in_scenes),    cmocka_unit_test(test_continuity),
      cmocka_unit_test(test_threads_and_memory), cmocka_unit_test(test_taken_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
