/* Contacts that last where contacts act when their gaps close: bodies rest, slide and roll as Coulomb's law
 * says, for as long as one likes; bouncing comes to its end; nothing gains energy, sinks or creeps. */
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

static const double G = 9.81;

/* A body of mass 2 on a slope that rises to the right by `degrees`, its lowest point on it. */
static void open_on_slope(scene_run *r, const char *shape, double friction, double degrees,
                          double speed, double dt, int steps) {
  char scene[1024];
  double a = degrees * M_PI / 180;
  snprintf(
      scene, sizeof scene,
      "{\"carom\":1,\"name\":\"slope\",\"dimension\":2,\"dt\":%g,\"steps\":%d,"
      "\"gravity\":[0,-9.81],\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,%s}],"
      "\"planes\":[{\"id\":\"slope\",\"normal\":[%.17g,%.17g],\"offset\":0}],"
      "\"contacts\":{\"friction\":%g,\"restitution\":0.3},"
      "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":[%.17g,%.17g],"
      "\"rotation\":%.17g,\"velocity\":[%.17g,%.17g]}]}}",
      dt, steps, shape, -sin(a), cos(a), friction, -0.1 * sin(a), 0.1 * cos(a), a, speed * cos(a),
      speed * sin(a));
  scene_run_open(r, scene, 1, 0, 1);
  r->options.contact_time = CAROM_CONTACT_TIME_EVENT;
  r->options.substeps = 4;
  scene_run_go(r);
}

#define BOX "\"shape\":{\"type\":\"box\",\"half_extents\":[0.2,0.1]}"
#define DISK "\"radius\":0.1"

/* Position and velocity of the centre along the slope, and above it. */
typedef struct on_slope {
  double along, above, speed, rise;
} on_slope;

static on_slope look(const scene_run *r, double degrees, int step) {
  double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
  const double *x = scene_run_x(r, 0, step), *v = scene_run_v(r, 0, step);
  return (on_slope){.along = x[0] * c + x[1] * s,
                    .above = x[1] * c - x[0] * s - 0.1,
                    .speed = v[0] * c + v[1] * s,
                    .rise = v[1] * c - v[0] * s};
}

/* 10,000 time steps with acceleration a along the slope from the speed v: s = v t + a t^2 / 2, until it stops
 * if it is to. */
static void test_slopes(void **state) {
  (void)state;
  const int STEPS = quick() ? 1000 : 10000;
  static const struct {
    const char *name, *shape;
    double friction, degrees, speed;
    bool rolls;
  } cases[] = {{"box that stays", BOX, 0.5, 20, 0, false},
               {"box that slides", BOX, 0.2, 20, 0, false},
               {"box that slides uphill and stays", BOX, 0.5, 20, 2, false},
               {"box that slides uphill and back", BOX, 0.2, 20, 2, false},
               {"disk that rolls", DISK, 0.5, 20, 0, true},
               {"disk that slips", DISK, 0.1, 20, 0, true},
               {"disk at rest on level ground", DISK, 0.5, 0, 0, true},
               {"box on level ground", BOX, 0.3, 0, 3, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    scene_run r;
    double c = cos(cases[i].degrees * M_PI / 180), s = sin(cases[i].degrees * M_PI / 180);
    double mu = cases[i].friction, degrees = cases[i].degrees, v = cases[i].speed;
    // a disk turns by 0.2 in the last time step then
    double dt = cases[i].rolls ? 0.001 : 0.01;
    open_on_slope(&r, cases[i].shape, mu, degrees, v, dt, STEPS);
    // a disk of inertia m r^2 / 2 rolls with 2/3 of g sin, if mu g cos is at least a third of it
    bool grips = cases[i].rolls && mu * c >= s / 3;
    double down = grips ? -2 * G * s / 3 : mu * c >= s ? 0 : -G * (s - mu * c);
    double up = -G * (s + mu * c), stop = v > 0 ? -v / up : 0;
    double worst = 0, sunk = 0, speed_off = 0;
    for (int step = 1; step <= STEPS; step++) {
      on_slope now = look(&r, degrees, step);
      double t = step * dt, first = fmin(t, stop), then = t - first;
      double along = v * first + up * first * first / 2 + down * then * then / 2;
      double speed = v + up * first + down * then;
      worst = fmax(worst, fabs(now.along - along) / fmax(1, fabs(along)));
      speed_off = fmax(speed_off, fabs(now.speed - speed) / fmax(1, fabs(speed)));
      sunk = fmax(sunk, fmax(fabs(now.above) / fmax(1, fabs(along)), fabs(now.rise)));
    }
    printf("%-34s off by %.1e (speed %.1e), off the slope by %.1e\n", cases[i].name, worst,
           speed_off, sunk);
    // what turns from sliding to rest or back within a time step does so at its end
    double allowed = v > 0 ? 2 * fabs(up) * dt : grips ? 1e-6 : 1e-9;
    assert_true(worst <= allowed && speed_off <= allowed);
    assert_true(sunk <= 1e-9);
    carom_report report = carom_rollout_report(r.rollout);
    assert_int_equal(report.impacts, 0);
    assert_int_equal(report.overlaps + report.failed_programs + report.failed_projections, 0);
    scene_run_close(&r);
  }
}

/* ---- bouncing comes to an end ---- */

/* Dropped from a height h it falls for t0 = sqrt(2 h / g), and comes to rest at t0 (1 + e) / (1 - e). */
static void test_bouncing_ends(void **state) {
  (void)state;
  static const double restitutions[] = {0.3, 0.5, 0.8};
  for (int i = 0; i < 3; i++) {
    double e = restitutions[i];
    char scene[512];
    snprintf(scene, sizeof scene,
             "{\"carom\":1,\"name\":\"b\",\"dimension\":2,\"dt\":0.005,\"steps\":2000,"
             "\"gravity\":[0,-9.81],\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":1,"
             "\"radius\":0.1}],\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0}],"
             "\"contacts\":{\"friction\":0,\"restitution\":%g},\"initial\":{\"sampler\":\"state\","
             "\"bodies\":[{\"body\":\"a\",\"position\":[0,1.1]}]}}",
             e);
    scene_run r;
    scene_run_open(&r, scene, 1, 0, 1);
    r.options.contact_time = CAROM_CONTACT_TIME_EVENT;
    r.options.keep_impacts = true;
    scene_run_go(&r);
    int count = carom_rollout_impact_count(r.rollout, 0);
    double end = carom_rollout_impact(r.rollout, 0, count - 1).time;
    double expected = sqrt(2 / G) * (1 + e) / (1 - e), energy = INFINITY;
    printf("e = %g: %d impacts, the last at %.5f, rest at %.5f by the series\n", e, count, end,
           expected);
    assert_true(fabs(end - expected) <= 0.01 * expected);
    for (int step = 0; step <= 2000; step++) {
      const double *x = scene_run_x(&r, 0, step), *v = scene_run_v(&r, 0, step);
      double now = v[1] * v[1] / 2 + G * (x[1] - 0.1);
      assert_true(now <= energy + 1e-12);
      energy = now;
      if (step * 0.005 > 1.01 * expected) assert_true(fabs(x[1] - 0.1) < 1e-14 && v[1] == 0);
    }
    scene_run_close(&r);
  }
}

/* ---- energy and momentum of elastic bodies ---- */

static double kinetic(const scene_run *r, int sample, int step) {
  double energy = 0;
  carom_system_energy(r->system, r->theta, scene_run_x(r, sample, step),
                      scene_run_v(r, sample, step), &energy, NULL, NULL);
  return energy;
}

/* bp5-e until 10,000 impacts have happened. */
static void test_elastic_energy(void **state) {
  (void)state;
  scene_run r;
  scene_run_open(&r, "bp5-e", 10, quick() ? 300 : 4500, 1);
  r.options.contact_time = CAROM_CONTACT_TIME_EVENT;
  scene_run_go(&r);
  double worst = 0;
  for (int b = 0; b < r.batch; b++) {
    double before = kinetic(&r, b, 0);
    for (int step = 1; step <= r.options.steps; step++)
      worst = fmax(worst, fabs(kinetic(&r, b, step) - before) / before);
  }
  carom_report report = carom_rollout_report(r.rollout);
  printf("bp5-e: %lld impacts in %lld steps, energy off by %.2e\n", (long long)report.impacts,
         (long long)report.time_steps, worst);
  assert_true(worst <= 1e-9);
  assert_int_equal(report.overlaps + report.cut_steps, 0);
  if (!quick()) assert_true(report.impacts >= 10000);
  scene_run_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slopes),
      cmocka_unit_test(test_bouncing_ends),
      cmocka_unit_test(test_elastic_energy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
