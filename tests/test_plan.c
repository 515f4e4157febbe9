/* Plans: the derivative of every kind of unknown and of every term beside central differences, closed forms,
 * optimisers, bounds, starts on any threads, learned properties, and what bad plans are told. */
#include "support/differences.h"
#include "support/files.h"
#include "support/messages.h"
#include "support/quick.h"
#include "support/systems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_UNKNOWNS = 64, TEXT = 8192 };

/* ---- plans ----------------------------------------------------------------------------------- */

/* A disk thrown in a box. */
static const char disk_scene[] = "\"bd1\"";
static const char disk_start[] =
    "[{\"body\": \"a\", \"position\": [0.3, 0.6], \"velocity\": [0.5, 0.3], \"angle\": 0.4, "
    "\"rate\": 2}]";
static const char disk_unknowns[] =
    "[{\"body\": \"a\", \"quantity\": \"position\"}, {\"body\": \"a\", \"quantity\": \"velocity\"},"
    " {\"body\": \"a\", \"quantity\": \"angle\"}, {\"body\": \"a\", \"quantity\": \"rate\"}]";

/* Two balls and a disk that can be pushed and turned; the disk hits a ball, which hits the ground. */
static const char pushed_scene[] =
    "{\"carom\": 1, \"name\": \"pushed\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 60,"
    " \"gravity\": [0, -2],"
    " \"bodies\": [{\"id\": \"disk\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.2},"
    "  {\"id\": \"ball\", \"type\": \"point\", \"mass\": 0.7, \"radius\": 0.1}],"
    " \"planes\": [{\"id\": \"ground\", \"normal\": [0, 1], \"offset\": 0}],"
    " \"controls\": [{\"id\": \"push\", \"type\": \"force\", \"body\": \"disk\", \"at\": [0.1, "
    "0.05]},"
    "  {\"id\": \"turn\", \"type\": \"torque\", \"body\": \"disk\"}],"
    " \"contacts\": {\"pairs\": true, \"friction\": 0.1, \"restitution\": 0.8},"
    " \"initial\": {\"sampler\": \"state\", \"bodies\": ["
    "  {\"body\": \"disk\", \"position\": [0, 0.8], \"velocity\": [2, 0.6], \"spin\": 1},"
    "  {\"body\": \"ball\", \"position\": [0.7, 0.75], \"velocity\": [-0.3, 0]}]}}";
static const char pushed_unknowns[] =
    "[{\"control\": \"push\", \"pieces\": 4, \"start\": [0.3, 0.2]},"
    " {\"control\": \"turn\", \"pieces\": 3, \"start\": 0.1},"
    " {\"parameter\": \"mass\", \"body\": \"ball\"}, {\"parameter\": \"moment\", \"body\": "
    "\"disk\"},"
    " {\"parameter\": \"friction\", \"contact\": \"disk-ball\"}, {\"parameter\": \"restitution\"},"
    " {\"parameter\": \"gravity\", \"axes\": [\"y\"]},"
    " {\"body\": \"ball\", \"quantity\": \"position\", \"axes\": [\"y\"]}]";

/* A rigid ball in space that falls on the ground. */
static const char space_scene[] =
    "{\"carom\": 1, \"name\": \"space\", \"dimension\": 3, \"dt\": 0.01, \"steps\": 60,"
    " \"gravity\": [0, 0, -9.81],"
    " \"bodies\": [{\"id\": \"top\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.1,"
    "  \"moments\": [0.004, 0.006, 0.003]}],"
    " \"planes\": [{\"id\": \"ground\", \"normal\": [0, 0, 1], \"offset\": 0}],"
    " \"contacts\": {\"friction\": 0.3, \"restitution\": 0.7},"
    " \"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"top\", \"position\": [0, 0, "
    "0.6],"
    "  \"velocity\": [0.4, -0.2, 0.1], \"rotation\": [0.3, -0.5, 0.8], \"spin\": [1, 4, -2]}]}}";
static const char space_unknowns[] =
    "[{\"body\": \"top\", \"quantity\": \"angle\"}, {\"body\": \"top\", \"quantity\": \"rate\"},"
    " {\"body\": \"top\", \"quantity\": \"velocity\"}, {\"body\": \"top\", \"quantity\": "
    "\"position\","
    "  \"axes\": [\"z\"]}]";

/* A pendulum on a link, whose start is put on it, with a spring, beside a wall. */
static const char hung_scene[] =
    "{\"carom\": 1, \"name\": \"hung\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 60,"
    " \"gravity\": [0, -9.81],"
    " \"bodies\": [{\"id\": \"bob\", \"type\": \"point\", \"mass\": 0.5, \"radius\": 0.05}],"
    " \"planes\": [{\"id\": \"wall\", \"normal\": [1, 0], \"offset\": 0.1}],"
    " \"joints\": [{\"type\": \"link\", \"ends\": [[0, 0], \"bob\"],"
    "  \"length\": 1}],"
    " \"springs\": [{\"ends\": [[1, -1], \"bob\"], \"stiffness\": 1,"
    "  \"length\": 0.2}],"
    " \"contacts\": {\"friction\": 0, \"restitution\": 0.6},"
    " \"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"bob\", \"position\": [0.6, "
    "-0.8],"
    "  \"velocity\": [-0.8, -0.6]}]}}";
static const char hung_unknowns[] =
    "[{\"body\": \"bob\", \"quantity\": \"position\"}, {\"body\": \"bob\", \"quantity\": "
    "\"velocity\"},"
    " {\"parameter\": \"stiffness\", \"spring\": 0}]";

static carom_plan *parse_plan(const char *text) {
  carom_plan *plan;
  carom_error error;
  if (carom_plan_parse(text, strlen(text), "test.json", &plan, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return plan;
}

static carom_plan *make_plan(const char *scene, const char *start, const char *unknowns,
                             const char *term, const char *rollout) {
  char text[TEXT];
  const int used =
      snprintf(text, sizeof text,
               "{\"carom_plan\": 1, \"name\": \"test\", \"scene\": %s,\n\"start\": %s,\n"
               "\"unknowns\": %s,\n\"objective\": [%s],\n\"rollout\": {%s}}",
               scene, start, unknowns, term, rollout);
  assert_true(used > 0 && (size_t)used < sizeof text);
  return parse_plan(text);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

/* The objective as a function of its unknowns. */
typedef struct objective {
  carom_plan *plan;
  double z[MOST_UNKNOWNS];
} objective;

static double objective_value(void *user) {
  const objective *o = user;
  double loss;
  carom_error error;
  if (carom_plan_loss(o->plan, o->z, &loss, NULL, NULL, NULL, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return loss;
}

/* The gradient along each unknown and along a random direction, beside differences. */
static void check_gradient(const char *scene, const char *start, const char *unknowns,
                           const char *term, const char *rollout, double tolerance) {
  objective o = {.plan = make_plan(scene, start, unknowns, term, rollout)};
  const int count = carom_plan_describe(o.plan).unknown_count;
  double gradient[MOST_UNKNOWNS];
  int missing;
  carom_error error;
  rng random;
  rng_seed(&random, 3, 1);
  assert_true(count <= MOST_UNKNOWNS);
  for (int k = 0; k < count; k++) o.z[k] = carom_plan_unknown(o.plan, k).start;
  assert_int_equal(carom_plan_loss(o.plan, o.z, NULL, gradient, NULL, &missing, &error), CAROM_OK);
  if (missing > 0) fail_msg("%s: did not happen", term);
  double worst = gradient_error(objective_value, &o, o.z, gradient, count, &random);
  for (int k = 0; k < repeats(count); k++) {
    const double off = gradient_error(objective_value, &o, o.z + k, gradient + k, 1, &random);
    if (off > tolerance)
      fail_msg("%s by %s: off by %g", term, carom_plan_unknown(o.plan, k).name, off);
    worst = fmax(worst, off);
  }
  if (!(worst <= tolerance)) fail_msg("%s: off by %g", term, worst);
  carom_plan_destroy(o.plan);
}

static const double ALLOWED = 1e-6;

static void every_term_has_its_derivative(void **state) {
  (void)state;
  static const char *const terms[] = {
      "{\"term\": \"position\", \"body\": \"a\", \"target\": [0.9, 0.2]}",
      "{\"term\": \"position\", \"body\": \"a\", \"target\": [0.9, 0.2], \"norm\": \"absolute\","
      " \"at\": {\"contact\": \"bottom\", \"number\": 2, \"side\": \"before\"}}",
      "{\"term\": \"position\", \"body\": \"a\", \"target\": [0.9, 0.2], \"norm\": \"euclidean\","
      " \"at\": {\"step\": 37}, \"weight\": 2.5}",
      "{\"term\": \"velocity\", \"body\": \"a\", \"at\": {\"contact\": \"a|bottom\", \"side\": "
      "\"after\"}}",
      "{\"term\": \"velocity\", \"body\": \"a\", \"axes\": [\"x\"], \"at\": {\"contact\": \"any\","
      " \"side\": \"before\"}}",
      "{\"term\": \"position\", \"body\": \"a\", \"target\": [0, 0], \"at\": \"apex\"}",
      "{\"term\": \"position\", \"body\": \"a\", \"target\": [0, 1], \"at\": {\"apex_after\": "
      "{\"contact\":"
      " \"bottom\"}}}",
      "{\"term\": \"position\", \"body\": \"a\", \"axes\": [\"x\"], \"at\": {\"apex_after\": "
      "{\"contact\":"
      " \"bottom\"}}, \"target\": {\"at\": {\"contact\": \"bottom\", \"side\": \"after\"}}}",
      "{\"term\": \"angle\", \"body\": \"a\", \"target\": 1, \"at\": {\"time\": 0.7}}",
      "{\"term\": \"rate\", \"body\": \"a\", \"target\": 3}",
      "{\"term\": \"clearance\", \"body\": \"a\", \"from\": \"left\", \"distance\": 0.4}",
      "{\"term\": \"clearance\", \"body\": \"a\", \"from\": [0.5, 0.5], \"distance\": 0.3}",
  };
  const int count = sizeof terms / sizeof terms[0];
  for (int k = 0; k < count; k += count / repeats(count)) {
    check_gradient(disk_scene, disk_start, disk_unknowns, terms[k], "", ALLOWED);
    check_gradient(disk_scene, disk_start, disk_unknowns, terms[k],
                   "\"contact_time\": \"step\", \"compensation\": \"position\"", ALLOWED);
  }
}

/* A time step so long that a bounce has its apex in the step of its impact: the height is e^2 h. */
static void apex_in_the_step_of_the_impact(void **state) {
  (void)state;
  static const char low_start[] =
      "[{\"body\": \"a\", \"position\": [0.3, 0.15], \"velocity\": [%g, 0], \"angle\": 0, "
      "\"rate\": 0}]";
  static const char long_steps[] = "\"dt\": 0.1, \"steps\": 5";
  static const char term[] =
      "{\"term\": \"position\", \"body\": \"a\", \"norm\": \"absolute\", \"target\": [%g, %g],"
      " \"at\": {\"apex_after\": {\"contact\": \"bottom\"}}}";
  char start[256], wanted[256];
  snprintf(start, sizeof start, low_start, 0.0);
  snprintf(wanted, sizeof wanted, term, 0.3, 0.132);
  carom_plan *plan = make_plan(disk_scene, start, disk_unknowns, wanted, long_steps);
  const double z[] = {0.3, 0.15, 0, 0, 0, 0};
  double loss;
  assert_int_equal(carom_plan_loss(plan, z, &loss, NULL, NULL, NULL, NULL), CAROM_OK);
  assert_near(loss, 0, 1e-10);
  carom_plan_destroy(plan);
  snprintf(start, sizeof start, low_start, 0.5);
  snprintf(wanted, sizeof wanted, term, 0.9, 0.3);
  check_gradient(disk_scene, start, disk_unknowns, wanted, long_steps, ALLOWED);
}

static void controls_and_parameters_have_theirs(void **state) {
  (void)state;
  static const char *const terms[] = {
      "{\"term\": \"position\", \"body\": \"ball\", \"target\": [1, 1]}",
      "{\"term\": \"effort\"}, {\"term\": \"velocity\", \"body\": \"ball\"}",
      "{\"term\": \"effort\", \"control\": \"turn\", \"weight\": 0.5},"
      "{\"term\": \"rate\", \"body\": \"disk\"}",
      "{\"term\": \"clearance\", \"body\": \"ball\", \"from\": \"disk\", \"distance\": 0.5}",
      "{\"term\": \"position\", \"body\": \"ball\", \"target\": {\"body\": \"disk\"}, \"at\": "
      "{\"contact\":"
      " \"disk-ball\", \"side\": \"after\"}}",
  };
  for (size_t k = 0; k < sizeof terms / sizeof terms[0]; k++)
    check_gradient(pushed_scene, "[]", pushed_unknowns, terms[k], "", ALLOWED);
}

static void bodies_in_space_have_theirs(void **state) {
  (void)state;
  static const char *const terms[] = {
      "{\"term\": \"position\", \"body\": \"top\", \"target\": [1, 1, 0.3]}",
      "{\"term\": \"rate\", \"body\": \"top\", \"target\": [1, 0, 2]}",
      "{\"term\": \"velocity\", \"body\": \"top\","
      " \"at\": {\"contact\": \"ground\", \"side\": \"after\"}},"
      "{\"term\": \"velocity\", \"body\": \"top\"}",
  };
  for (size_t k = 0; k < sizeof terms / sizeof terms[0]; k++)
    check_gradient(space_scene, "[]", space_unknowns, terms[k], "", ALLOWED);
}

static void starts_on_joints_have_theirs(void **state) {
  (void)state;
  check_gradient(hung_scene, "[]", hung_unknowns,
                 "{\"term\": \"position\", \"body\": \"bob\", \"target\": [0, 1]},"
                 "{\"term\": \"velocity\", \"body\": \"bob\", \"weight\": 0.3}",
                 "", ALLOWED);
  // a start off the link is put on it
  carom_plan *plan =
      make_plan(hung_scene, "[]", hung_unknowns,
                "{\"term\": \"position\", \"body\": \"bob\", \"target\": [0, 1]}", "");
  const double z[] = {0.9, -1.2, 0.3, 0.4, 1};
  double x[2 * 61], v[2 * 61];
  assert_int_equal(carom_plan_motion(plan, z, x, v, NULL, NULL, NULL), CAROM_OK);
  assert_near(hypot(x[0], x[1]), 1, 1e-12);
  assert_near(x[0] * v[0] + x[1] * v[1], 0, 1e-12);
  carom_plan_destroy(plan);
}

/* ---- what is found --------------------------------------------------------------------------- */

/* A ball without contacts under gravity: the start that ends at a target is known. */
static const char flight[] =
    "{\"carom_plan\": 1, \"name\": \"flight\", \"scene\": {\"carom\": 1, \"name\": \"flight\","
    " \"dimension\": 2, \"dt\": 0.01, \"steps\": 100, \"gravity\": [0, -10],"
    " \"bodies\": [{\"id\": \"ball\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1}],"
    " \"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"ball\", \"position\": [0, "
    "0]}]}},"
    " \"unknowns\": [{\"body\": \"ball\", \"quantity\": \"velocity\"%s}],"
    " \"objective\": [{\"term\": \"position\", \"body\": \"ball\", \"target\": [3, 1]}]}";

static carom_plan *flight_plan(const char *more) {
  char text[TEXT];
  snprintf(text, sizeof text, flight, more);
  return parse_plan(text);
}

static carom_plan_result *solve(carom_plan *plan, const carom_plan_options *options) {
  carom_plan_result *result;
  carom_error error;
  if (carom_plan_solve(plan, options, NULL, NULL, &result, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return result;
}

static void every_optimiser_arrives(void **state) {
  (void)state;
  static const struct {
    carom_optimizer optimizer;
    double rate;
    int iterations;
    double tolerance;
  } ways[] = {{CAROM_GRADIENT_DESCENT, 0.3, 100, 1e-9},
              {CAROM_ADAMW, 0.3, 600, 1e-3},
              {CAROM_LBFGS, 0.1, 20, 1e-9}};
  for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
    carom_plan *plan = flight_plan("");
    carom_plan_options options = carom_plan_default_options();
    options.optimizer = ways[k].optimizer;
    options.learning_rate = ways[k].rate;
    options.iterations = ways[k].iterations;
    options.schedule = options.optimizer == CAROM_ADAMW ? CAROM_COSINE : CAROM_CONSTANT;
    carom_plan_result *r = solve(plan, &options);
    // x = v T, y = v T - g T^2 / 2
    assert_near(r->unknowns[0], 3, ways[k].tolerance);
    assert_near(r->unknowns[1], 6, ways[k].tolerance);
    assert_int_equal(r->motions, 2);
    assert_near(r->x[2 * 100], 0, 1e-12);
    assert_near(r->x[2 * 101 + 2 * 100], 3, ways[k].tolerance);
    assert_near(r->losses[0], 9 + 36, 1e-9);
    assert_true(r->loss <= r->losses[r->iterations] && r->loss < r->losses[0]);
    carom_plan_result_destroy(r);
    carom_plan_destroy(plan);
  }
}

static void bounds_are_kept(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    carom_plan *plan = flight_plan(", \"low\": [-1, -1], \"high\": [2, 10]");
    carom_plan_options options = carom_plan_default_options();
    options.optimizer = (carom_optimizer)k;
    options.iterations = 300;
    options.learning_rate = 0.2;
    carom_plan_result *r = solve(plan, &options);
    assert_near(r->unknowns[0], 2, 1e-12);
    assert_near(r->unknowns[1], 6, k == CAROM_ADAMW ? 1e-2 : 1e-6);
    for (int i = 0; i <= r->iterations; i++) assert_true(r->history[2 * i] <= 2);
    carom_plan_result_destroy(r);
    carom_plan_destroy(plan);
  }
}

/* carom plan two-balls: the continuous problem has the optimum 1.396542. */
static void two_balls_reach_the_optimum(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    carom_plan *plan;
    assert_int_equal(carom_plan_load("two-balls", &plan, NULL), CAROM_OK);
    carom_plan_options options = carom_plan_describe(plan).options;
    if (k == 1) {
      options.optimizer = CAROM_GRADIENT_DESCENT;
      options.learning_rate = 1;
    }
    options.iterations = repeats(100);
    carom_plan_result *r = solve(plan, &options);
    if (options.iterations == 100) assert_near(r->loss, 1.396542, 1e-3);
    assert_true(r->loss < 2.05);
    carom_plan_result_destroy(r);
    carom_plan_destroy(plan);
  }
}

/* A disk that grips leaves straight up if it has no angular momentum about the point of contact:
 * m r v = I w, I = m r^2 / 2, so w = 2 v / r = 12. */
static void spin_for_a_vertical_bounce(void **state) {
  (void)state;
  carom_plan *plan;
  assert_int_equal(carom_plan_load("vertical", &plan, NULL), CAROM_OK);
  carom_plan_options options = carom_plan_describe(plan).options;
  options.goal = 1e-9;
  carom_plan_result *r = solve(plan, &options);
  assert_true(r->success);
  assert_near(r->unknowns[0], 12, 1e-7);
  carom_plan_result_destroy(r);
  carom_plan_destroy(plan);
}

static void same_bits_from_any_threads(void **state) {
  (void)state;
  carom_plan *plan;
  assert_int_equal(carom_plan_load("ground-wall", &plan, NULL), CAROM_OK);
  carom_plan_options options = carom_plan_describe(plan).options;
  options.starts = 6;
  options.iterations = repeats(20);
  options.threads = 1;
  carom_plan_result *one = solve(plan, &options);
  options.threads = 3;
  carom_plan_result *three = solve(plan, &options);
  assert_int_equal(one->best, three->best);
  assert_memory_equal(one->end_unknowns, three->end_unknowns, sizeof(double) * 12);
  assert_memory_equal(one->losses, three->losses, sizeof(double) * ((size_t)one->iterations + 1));
  for (int k = 0; k < 6; k++) assert_true(one->starts[k].loss < 1e-8 || options.iterations < 20);
  carom_plan_result_destroy(one);
  carom_plan_result_destroy(three);
  carom_plan_destroy(plan);
}

/* The disk thrown, with a step of the time at which contacts are seen: what is planned is what happens. */
static void learned_properties_are_judged_by_the_true_ones(void **state) {
  (void)state;
  carom_plan *plan;
  carom_model *model;
  assert_int_equal(carom_plan_load("hit", &plan, NULL), CAROM_OK);
  const carom_system *system = carom_plan_describe(plan).system;
  carom_model_options options = carom_model_default_options(system);
  options.hidden_layers = 1;
  options.hidden_size = 8;
  options.threads = 1;
  assert_int_equal(carom_model_create(system, &options, &model, NULL), CAROM_OK);
  assert_int_equal(carom_plan_set_model(plan, model, NULL), CAROM_OK);
  // the gradient through the network's potential
  objective o = {.plan = plan, .z = {0.7, 0.2, 1}};
  double gradient[3];
  rng random;
  rng_seed(&random, 3, 1);
  assert_int_equal(carom_plan_loss(plan, o.z, NULL, gradient, NULL, NULL, NULL), CAROM_OK);
  assert_true(gradient_error(objective_value, &o, o.z, gradient, 3, &random) < 1e-3);
  carom_plan_options how = carom_plan_describe(plan).options;
  how.iterations = 2;
  how.goal = 0;
  carom_plan_result *r = solve(plan, &how);
  assert_true(r->judged);
  assert_int_equal(r->motions, 3);
  // the third motion is that of the scene itself
  double truth;
  assert_int_equal(carom_plan_set_model(plan, NULL, NULL), CAROM_OK);
  assert_int_equal(carom_plan_loss(plan, r->unknowns, &truth, NULL, NULL, NULL, NULL), CAROM_OK);
  assert_true(truth == r->true_loss && truth != r->loss);
  carom_plan_result_destroy(r);
  carom_plan_destroy(plan);
  carom_model_destroy(model);
}

static bool stop_at_once(void *user, const carom_plan_progress *progress) {
  *(double *)user = progress->loss;
  return false;
}

static void interruption_leaves_the_best_so_far(void **state) {
  (void)state;
  carom_plan *plan = flight_plan("");
  carom_plan_result *r;
  double seen = 0;
  assert_int_equal(carom_plan_solve(plan, NULL, stop_at_once, &seen, &r, NULL), CAROM_OK);
  assert_int_equal(r->starts[0].stop, CAROM_PLAN_INTERRUPTED);
  assert_int_equal(r->iterations, 1);
  assert_true(r->loss == seen && seen < r->losses[0]);
  carom_plan_result_destroy(r);
  carom_plan_destroy(plan);
}

static void files_hold_all_of_it(void **state) {
  (void)state;
  carom_plan *plan;
  assert_int_equal(carom_plan_load("two-balls", &plan, NULL), CAROM_OK);
  carom_plan_options options = carom_plan_describe(plan).options;
  options.iterations = 3;
  carom_plan_result *r = solve(plan, &options);
  carom_error error;
  if (carom_plan_result_write(r, plan, "plan.h5", &error) != CAROM_OK)
    fail_msg("%s", error.message);
  carom_arrays arrays;
  assert_int_equal(carom_arrays_read("plan.h5", &arrays, NULL), CAROM_OK);
  static const char *const names[] = {"x",
                                      "v",
                                      "u",
                                      "contact",
                                      "t",
                                      "loss",
                                      "unknowns",
                                      "gradient_norm",
                                      "rate",
                                      "terms",
                                      "gradient",
                                      "best_unknowns",
                                      "starts_loss",
                                      "starts_begin",
                                      "start_unknowns",
                                      "starts_end"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
    if (carom_arrays_find(&arrays, names[k]) == NULL) fail_msg("no %s", names[k]);
  const carom_array *loss = carom_arrays_find(&arrays, "loss");
  assert_int_equal(loss->shape[0], r->iterations + 1);
  assert_memory_equal(loss->values, r->losses, sizeof(double) * (size_t)loss->shape[0]);
  // and what the numbers are, in words
  assert_int_equal(
      strncmp(carom_arrays_note(&arrays, "unknown_names"), "push x, step 0\npush y, ", 23), 0);
  assert_string_equal(carom_arrays_note(&arrays, "stop"), carom_plan_stop_text(r->starts[0].stop));
  assert_near(atof(carom_arrays_note(&arrays, "best_loss")), r->loss, 0);
  assert_null(carom_arrays_note(&arrays, "true_loss"));
  assert_null(carom_arrays_note(&arrays, "scene"));
  carom_arrays_free(&arrays);
  // and it is a trajectory file
  carom_trajectories trajectories;
  assert_int_equal(
      carom_trajectories_read(carom_plan_describe(plan).system, "plan.h5", &trajectories, NULL),
      CAROM_OK);
  assert_int_equal(trajectories.batch, 2);
  assert_non_null(trajectories.u);
  carom_trajectories_free(&trajectories);
  carom_plan_result_destroy(r);
  carom_plan_destroy(plan);
}

/* ---- bad plans ------------------------------------------------------------------------------- */

static void refuse(const char *scene, const char *unknowns, const char *terms, const char *rollout,
                   const char *piece) {
  char text[TEXT];
  carom_plan *plan;
  carom_error error = {0};
  snprintf(text, sizeof text,
           "{\"carom_plan\": 1, \"name\": \"test\", \"scene\": %s,\n\"unknowns\": %s,\n"
           "\"objective\": %s,\n\"rollout\": {%s}}",
           scene, unknowns, terms, rollout);
  carom_plan_parse(text, strlen(text), "bad.json", &plan, &error);
  assert_null(plan);
  assert_message(&error, CAROM_INVALID_PLAN, piece);
}

static void bad_plans_are_refused(void **state) {
  (void)state;
  static const char one[] = "[{\"body\": \"a\", \"quantity\": \"velocity\"}]";
  static const char end[] = "[{\"term\": \"position\", \"body\": \"a\", \"target\": [0, 0]}]";
#define AT(when) "[{\"term\": \"velocity\", \"body\": \"a\", \"at\": " when "}]"
  static const struct {
    const char *unknowns, *terms, *rollout, *piece;
  } cases[] = {
      {"[]", end, "", "bad.json:2: unknowns: there is nothing to be found"},
      {one, "[]", "", "bad.json:3: objective: there is nothing to be reached"},
      {"[{\"body\": \"b\", \"quantity\": \"velocity\"}]", end, "",
       "bad.json:2: unknowns[0].body: there is no body 'b'"},
      {"[{\"body\": \"a\", \"quantity\": \"speed\"}]", end, "",
       "unknowns[0].quantity: 'speed' is not one of position, velocity, angle, rate"},
      {"[{\"body\": \"a\", \"quantity\": \"rate\", \"axes\": [\"y\"]}]", end, "",
       "unknowns[0].axes[0]: not an axis"},
      {"[{\"body\": \"a\", \"quantity\": \"velocity\", \"strat\": 1}]", end, "",
       "unknowns[0].strat: unknown field; did you mean 'start'?"},
      {"[{\"control\": \"push\"}]", end, "", "unknowns[0].control: there is no control 'push'"},
      {"[{\"parameter\": \"friction\", \"contact\": \"a|roof\"}]", end, "",
       "unknowns[0].contact: 'a|roof' names no possible contact"},
      {"[{\"parameter\": \"stiffness\", \"spring\": 0}]", end, "", "the scene has no springs"},
      {"[{\"parameter\": \"restitution\", \"high\": 2}]", end, "", "unknowns[0].high: 2 is above"},
      {"[{\"body\": \"a\", \"quantity\": \"velocity\", \"low\": 1, \"high\": 0}]", end, "",
       "unknowns[0].high: the bound 1 is above 0"},
      {"[{\"body\": \"a\", \"quantity\": \"velocity\", \"start\": 0, \"low\": 1}]", end, "",
       "unknowns[0].start: it starts at 0, outside of its bounds"},
      {"[{\"body\": \"a\", \"quantity\": \"velocity\"}, {\"body\": \"a\", \"quantity\": "
       "\"velocity\","
       " \"axes\": [\"y\"]}]",
       end, "", "unknowns[1]: unknowns[0] is about the same numbers"},
      {one, "[{\"term\": \"wish\", \"body\": \"a\"}]", "",
       "objective[0].term: 'wish' is not one of"},
      {one, "[{\"term\": \"position\", \"body\": \"a\"}]", "", "objective[0].target: missing"},
      {one, "[{\"term\": \"position\", \"body\": \"a\", \"target\": [1]}]", "",
       "objective[0].target: expected 2 numbers, found 1"},
      {one, "[{\"term\": \"effort\"}]", "", "objective[0]: the scene 'bd1' has no controls"},
      {one, "[{\"term\": \"clearance\", \"body\": \"a\", \"from\": \"roof\", \"distance\": 1}]", "",
       "objective[0].from: there is no body 'roof'"},
      {one, AT("{\"time\": 1.5}"), "",
       "bad.json:3: objective[0]: time 1.5 is beyond the end of the motion, 1 (100 time steps of "
       "0.01)"},
      {one, AT("{\"step\": 101}"), "", "objective[0]: step 101 is beyond the end of the motion"},
      {one, AT("{\"time\": 0.505}"), "", "objective[0]: time 0.505 is between two time steps"},
      {one, AT("{\"step\": 60}"), "\"steps\": 50", "step 60 is beyond the end"},
      {one, AT("\"noon\""), "", "objective[0].at: 'noon' is not one of end, apex"},
      {one, AT("{\"contact\": \"bottom\"}"), "", "objective[0].at.side: missing"},
      {one, AT("{\"contact\": \"bottom\", \"side\": \"before\", \"number\": 0}"), "",
       "objective[0].at.number: must be a whole number from 1"},
      {one, AT("{\"contact\": \"bottom\", \"step\": 1}"), "", "objective[0].at: one of"},
      {one, end, "\"integrater\": \"rk4\"",
       "rollout.integrater: unknown field; did you mean 'integrator'?"},
      {one, end, "\"integrator\": \"rk5\"", "rollout.integrator: integrator rk5: expected one of"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    refuse("\"bd1\"", cases[k].unknowns, cases[k].terms, cases[k].rollout, cases[k].piece);
  refuse("\"nowhere.json\"", one, end, "", "scene: 'nowhere.json' is neither a scene file nor");
  refuse("\"billiards\"", "[{\"body\": \"cue\", \"quantity\": \"rate\"}]", end, "",
         "'cue' is a point mass and does not turn");
  refuse("\"bp5\"", "[{\"body\": \"a\", \"quantity\": \"velocity\"}]",
         "[{\"term\": \"velocity\", \"body\": \"a\", \"at\": \"apex\"}]", "",
         "has no gravity, and so no apex");
}

static void scenes_inside_have_their_lines(void **state) {
  (void)state;
  static const char text[] =
      "{\"carom_plan\": 1,\n\"name\": \"test\",\n\"scene\": {\n  \"carom\": 1,\n"
      "  \"name\": \"s\",\n  \"dimension\": 5}}";
  carom_plan *plan;
  carom_error error;
  assert_int_equal(carom_plan_parse(text, strlen(text), "in.json", &plan, &error),
                   CAROM_INVALID_SCENE);
  assert_message(&error, CAROM_INVALID_SCENE, "in.json:6: dimension:");
}

static void unknowns_without_effect_are_named(void **state) {
  (void)state;
  carom_plan *plan = make_plan("\"bd1\"", disk_start, disk_unknowns,
                               "{\"term\": \"position\", \"body\": \"a\", \"target\": [0, 0],"
                               " \"at\": {\"step\": 5}}",
                               "");
  carom_plan_result *result;
  carom_error error;
  assert_int_equal(carom_plan_solve(plan, NULL, NULL, NULL, &result, &error), CAROM_INVALID_DATA);
  assert_null(result);
  assert_message(&error, CAROM_INVALID_DATA, "does not depend on a angle, a rate at any start");
  carom_plan_destroy(plan);
}

static void starts_in_contact_are_refused(void **state) {
  (void)state;
  carom_plan *plan =
      make_plan("\"bd1\"", "[{\"body\": \"a\", \"position\": [0.05, 0.5]}]", disk_unknowns,
                "{\"term\": \"position\", \"body\": \"a\", \"target\": [0, 0]}", "");
  carom_plan_result *result;
  carom_error error;
  assert_int_equal(carom_plan_solve(plan, NULL, NULL, NULL, &result, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "would start in contact: a|left overlap by 0.05");
  carom_plan_destroy(plan);
}

static void several_starts_need_a_range(void **state) {
  (void)state;
  carom_plan *plan = flight_plan("");
  carom_plan_options options = carom_plan_default_options();
  carom_plan_result *result;
  carom_error error;
  options.starts = 2;
  assert_int_equal(carom_plan_solve(plan, &options, NULL, NULL, &result, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "does not say where to draw them");
  carom_plan_destroy(plan);
}

static void missing_contacts_are_counted(void **state) {
  (void)state;
  carom_plan *plan =
      make_plan("\"bd1\"", disk_start, disk_unknowns,
                "{\"term\": \"position\", \"body\": \"a\", \"target\": [0, 0], \"at\":"
                " {\"contact\": \"top\", \"number\": 7, \"side\": \"before\"}}",
                "");
  const double z[] = {0.3, 0.6, 0.5, 0.3, 0.4, 2};
  int missing = -1;
  assert_int_equal(carom_plan_loss(plan, z, NULL, NULL, NULL, &missing, NULL), CAROM_OK);
  assert_int_equal(missing, 1);
  carom_plan_destroy(plan);
}

static test_folder folder;

static int enter(void **state) {
  (void)state;
  return folder_enter(&folder, "plan");
}

static int leave(void **state) {
  (void)state;
  return folder_leave(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_term_has_its_derivative),
      cmocka_unit_test(apex_in_the_step_of_the_impact),
      cmocka_unit_test(controls_and_parameters_have_theirs),
      cmocka_unit_test(bodies_in_space_have_theirs),
      cmocka_unit_test(starts_on_joints_have_theirs),
      cmocka_unit_test(every_optimiser_arrives),
      cmocka_unit_test(bounds_are_kept),
      cmocka_unit_test(two_balls_reach_the_optimum),
      cmocka_unit_test(spin_for_a_vertical_bounce),
      cmocka_unit_test(same_bits_from_any_threads),
      cmocka_unit_test(learned_properties_are_judged_by_the_true_ones),
      cmocka_unit_test(interruption_leaves_the_best_so_far),
      cmocka_unit_test(files_hold_all_of_it),
      cmocka_unit_test(bad_plans_are_refused),
      cmocka_unit_test(scenes_inside_have_their_lines),
      cmocka_unit_test(unknowns_without_effect_are_named),
      cmocka_unit_test(starts_in_contact_are_refused),
      cmocka_unit_test(several_starts_need_a_range),
      cmocka_unit_test(missing_contacts_are_counted),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
