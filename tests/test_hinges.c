/* Bodies on hinges that touch the ground, where constraints leave contacts one freedom: legs, trapdoors,
 * wheels on axles and boxes, at random, in both dynamics. Nothing becomes infinite, no event gives kinetic
 * energy, and the energy stays below what it was and what was lifted.
 *
 *   CAROM_HINGES=10000 build/release/tests/test_hinges      tries so many of each kind */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/quick.h"
#include "support/stepper.h"
#include "support/systems.h"

enum { USUAL_COUNT = 40, STEPS = 300, TEXT = 4096 };

/* A body that turns about the y axis (in the plane: about a point). */
typedef struct hinged_body {
  double at[3];     /* body coordinates of the hinge */
  double height;    /* of the hinge above the ground */
  double angle;     /* about the hinge */
  double rate;      /* of turning */
  double moment[3]; /* second moments */
  char shape[512];
} hinged_body;

static double uniform(rng *r, double low, double high) { return rng_uniform(r, low, high); }

static void draw_moments(rng *r, double size, hinged_body *b) {
  for (int i = 0; i < 3; i++) b->moment[i] = size * size * exp(uniform(r, log(0.02), log(0.5)));
}

/* A rod that hangs from its upper end, or stands on its lower: it touches with its other end. */
static void draw_leg(rng *r, hinged_body *b) {
  double half = uniform(r, 0.1, 1);
  *b = (hinged_body){.at = {0, 0, half}, .angle = uniform(r, -2.5, 2.5)};
  b->height = uniform(r, 0.2, 1.99) * half;
  draw_moments(r, half, b);
  snprintf(b->shape, sizeof b->shape, "{\"type\": \"points\", \"points\": [[0, 0, %.17g]]}", -half);
}

/* A plate hinged at one edge, which touches with two corners of the other, or with its middle. */
static void draw_trapdoor(rng *r, hinged_body *b) {
  double half = uniform(r, 0.1, 1), y = rng_uniform(r, 0, 1) < 0.5 ? 0 : uniform(r, 0.1, 1) * half;
  *b = (hinged_body){.at = {-half, 0, 0}, .angle = uniform(r, -1.4, 0.5)};
  b->height = uniform(r, 0, 1.5) * half;
  draw_moments(r, half, b);
  snprintf(b->shape, sizeof b->shape,
           "{\"type\": \"points\", \"points\": [[%.17g, %.17g, 0], [%.17g, %.17g, 0]]}", half, y,
           half, -y - 0.01 * half);
}

/* A wheel, a polygon of 12 points, whose axle holds it so low that it rubs on the ground. */
static void draw_wheel(rng *r, hinged_body *b) {
  double radius = uniform(r, 0.1, 1), off = uniform(r, 0, 0.2) * radius;
  *b = (hinged_body){.at = {off, 0, 0}, .angle = uniform(r, -3, 3)};
  b->height = uniform(r, 0.85, 1.1) * radius;
  draw_moments(r, radius, b);
  int used = snprintf(b->shape, sizeof b->shape, "{\"type\": \"points\", \"points\": [");
  for (int k = 0; k < 12; k++)
    used += snprintf(b->shape + used, sizeof b->shape - (size_t)used, "%s[%.6g, 0, %.6g]",
                     k > 0 ? ", " : "", radius * cos(k * 0.5236), radius * sin(k * 0.5236));
  snprintf(b->shape + used, sizeof b->shape - (size_t)used, "]}");
}

/* A box that turns about one of its edges. */
static void draw_box(rng *r, hinged_body *b) {
  double half[3];
  for (int i = 0; i < 3; i++) half[i] = uniform(r, 0.05, 0.6);
  *b = (hinged_body){.at = {-half[0], 0, half[2]}, .angle = uniform(r, -1.5, 1.5)};
  b->height = uniform(r, 0.1, 2.5) * (half[0] + half[2]);
  for (int i = 0; i < 3; i++) b->moment[i] = half[i] * half[i] / 3;
  snprintf(b->shape, sizeof b->shape,
           "{\"type\": \"box\", \"half_extents\": [%.17g, %.17g, %.17g]}", half[0], half[1],
           half[2]);
}

typedef void (*drawer)(rng *r, hinged_body *b);
static const struct {
  const char *name;
  drawer draw;
} kinds[] = {
    {"leg", draw_leg}, {"trapdoor", draw_trapdoor}, {"wheel", draw_wheel}, {"box", draw_box}};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

/* The scene: a hinge in space is a ball joint and two links that hold a second point of the axis. */
static void write_scene(rng *r, const hinged_body *b, char text[TEXT]) {
  double cosine = cos(b->angle), sine = sin(b->angle);
  double x = -(cosine * b->at[0] + sine * b->at[2]);
  double z = sine * b->at[0] - cosine * b->at[2];
  double friction = uniform(r, 0, 1) < 0.2 ? 10 : uniform(r, 0, 1.5);
  double restitution = uniform(r, 0, 1) < 0.2 ? 0 : uniform(r, 0, 1);
  snprintf(
      text, TEXT,
      "{\"carom\": 1, \"name\": \"hinge\", \"dimension\": 3, \"dt\": 0.01, \"steps\": 1,"
      "\"gravity\": [0, 0, -9.81],"
      "\"bodies\": [{\"id\": \"a\", \"type\": \"rigid\", \"mass\": %.17g,"
      "\"moments\": [%.17g, %.17g, %.17g], \"shape\": %s}],"
      "\"planes\": [{\"id\": \"g\", \"normal\": [%.17g, %.17g, 1], \"offset\": 0}],"
      "\"contacts\": {\"friction\": %.17g, \"restitution\": %.17g},"
      "\"joints\": [{\"type\": \"ball\", \"ends\": [{\"body\": \"a\", \"at\": [%.17g, 0, %.17g]},"
      "[0, 0, %.17g]]},"
      "{\"type\": \"link\", \"ends\": [{\"body\": \"a\", \"at\": [%.17g, 0.5, %.17g]},"
      "[0.3, 0.5, %.17g]], \"length\": 0.3},"
      "{\"type\": \"link\", \"ends\": [{\"body\": \"a\", \"at\": [%.17g, 0.5, %.17g]},"
      "[0, 0.5, %.17g]], \"length\": 0.3}],"
      "\"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"a\","
      "\"position\": [%.17g, 0, %.17g], \"rotation\": [0, %.17g, 0],"
      "\"velocity\": [%.17g, 0, %.17g], \"spin\": [0, %.17g, 0]}]}}",
      exp(uniform(r, -2, 2)), b->moment[0], b->moment[1], b->moment[2], b->shape,
      uniform(r, -0.3, 0.3), uniform(r, -0.3, 0.3), friction, restitution, b->at[0], b->at[2],
      b->height, b->at[0], b->at[2], b->height, b->at[0], b->at[2], b->height + 0.3, x,
      b->height + z, b->angle, b->rate * z, -b->rate * x, b->rate);
}

/* Whether one of them does what it must not; what it does is printed. */
static bool misbehaves(const char *kind, int index, const char *scene, carom_dynamics dynamics,
                       int *events) {
  stepper s;
  stepper_open(&s, parse_system(scene));
  s.options.dynamics = dynamics;
  double scale = fabs(s.first) + 9.81 * exp(-2);
  stepper_run(&s, STEPS);
  *events += s.events;
  // errors of integration may add a little to the energy, events nothing
  bool bad = !s.finite || s.impulse > 1e-12 * scale || s.given > 1e-9 * scale ||
             s.most > 0.02 * scale || s.failed > 0;
  if (bad)
    print_message(
        "%s %d, dynamics %d: finite %d, an event gave %.2e, events %.2e, all %.2e of %.2e; %d "
        "failed\n",
        kind, index, (int)dynamics, s.finite, s.impulse, s.given, s.most, scale, s.failed);
  if (bad && getenv("CAROM_HINGES_SHOW") != NULL) print_message("%s\n", scene);
  stepper_close(&s);
  return bad;
}

static void test_hinges(void **state) {
  (void)state;
  const char *wanted = getenv("CAROM_HINGES");
  int count = wanted != NULL ? atoi(wanted) : repeats(USUAL_COUNT), bad = 0;
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    int of_kind = 0, events = 0;
    for (int k = 0; k < count; k++) {
      hinged_body b;
      char scene[TEXT];
      rng random;
      rng_seed(&random, 41, (uint64_t)(k * KIND_COUNT + kind));
      kinds[kind].draw(&random, &b);
      b.rate = 3 * rng_normal(&random);
      write_scene(&random, &b, scene);
      for (int dynamics = 0; dynamics < 2; dynamics++)
        of_kind += misbehaves(kinds[kind].name, k, scene, (carom_dynamics)dynamics, &events);
    }
    print_message("%-9s %d of %d, %d events\n", kinds[kind].name, of_kind, 2 * count, events);
    assert_true(events > 50 * count);
    bad += of_kind;
  }
  assert_int_equal(bad, 0);
}

/* A leg and a trapdoor that went to 1e52 and beyond. */
static void test_cases(void **state) {
  (void)state;
  const char *const names[] = {"hingeleg", "trapdoor"};
  for (int k = 0; k < 4; k++) {
    char path[256];
    stepper s;
    snprintf(path, sizeof path, CAROM_TEST_DATA "/cases/%s.json", names[k / 2]);
    stepper_open(&s, load_system(path));
    s.options.dynamics = (carom_dynamics)(k % 2);
    stepper_run(&s, 400);
    assert_true(s.finite && s.events > 200);
    assert_int_equal(s.failed, 0);
    assert_true(s.impulse < 1e-12 && s.most < 1e-5 && s.energy < s.first);
    stepper_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hinges), cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
