/* What a system looks like, what touches at a state and with which impulse, numbers of files by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "carom.h"
#include "support/files.h"
#include "support/systems.h"

enum { MOST = 4096 };

static void sample(const carom_system *system, double *x, double *v) {
  carom_error error;
  if (carom_system_sample(system, 5, 1, x, v, &error) != CAROM_OK) fail_msg("%s", error.message);
}

static double distance(const double *a, const double *b, int dimension) {
  double square = 0;
  for (int k = 0; k < dimension; k++) square += (a[k] - b[k]) * (a[k] - b[k]);
  return sqrt(square);
}

/* ---- ties, bodies, planes ---- */

// ends of links are a length apart and ends of joints in one place, in every scene, at states of its own
static void check_ties(const carom_system *system, int *links, int *joints) {
  static double x[MOST], v[MOST];
  const carom_system_info info = carom_system_describe(system);
  sample(system, x, v);
  for (int k = 0; k < carom_system_tie_count(system); k++) {
    const carom_tie_info tie = carom_system_tie(system, k);
    double ends[2][3];
    for (int i = 0; i < 2; i++) carom_place_position(&tie.ends[i], system, x, ends[i]);
    if (tie.kind == CAROM_TIE_LINK) {
      assert_near(distance(ends[0], ends[1], info.dimension), tie.length, 1e-9);
      ++*links;
    }
    if (tie.kind == CAROM_TIE_JOINT) {
      assert_near(distance(ends[0], ends[1], info.dimension), 0, 1e-9);
      ++*joints;
    }
    // places are those of bodies: weights sum to one, or of the world
    for (int i = 0; i < 2; i++) {
      double sum = 0;
      for (int j = 0; j < tie.ends[i].count; j++) sum += tie.ends[i].weights[j];
      assert_near(sum, tie.ends[i].count > 0, 1e-12);
    }
  }
}

static void test_ties(void **state) {
  (void)state;
  static const char *const more[] = {"double-pendulum", "tethered-disk", NULL};
  int links = 0, joints = 0;
  for (int k = 0; k < carom_scene_count(); k++) {
    carom_system *system = load_system(carom_scene_name(k));
    check_ties(system, &links, &joints);
    carom_system_destroy(system);
  }
  for (int k = 0; more[k] != NULL; k++) {
    char path[512];
    snprintf(path, sizeof path, "%s/examples/scenes/%s.json", CAROM_SOURCE_DIR, more[k]);
    carom_system *system = load_system(path);
    check_ties(system, &links, &joints);
    carom_system_destroy(system);
  }
  assert_true(links >= 6);
  assert_true(joints >= 2);
}

// the first link of the chain of pendulums hangs on the world at 0, 0
static void test_ends_of_ties(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  double x[MOST], v[MOST];
  sample(system, x, v);
  assert_int_equal(carom_system_tie_count(system), 3);
  int hooks = 0;
  for (int k = 0; k < 3; k++) {
    const carom_tie_info tie = carom_system_tie(system, k);
    if (tie.ends[0].count > 0) continue;
    double end[2];
    hooks++;
    carom_place_position(&tie.ends[1], system, x, end);
    assert_near(tie.ends[0].constant[0], 0, 0);
    assert_near(distance(end, x, 2), 0, 0);
  }
  assert_int_equal(hooks, 1);
  carom_system_destroy(system);
  // a spring and a bounded length for each segment of a rope
  system = load_system("rope");
  int springs = 0, segments = 0;
  for (int k = 0; k < carom_system_tie_count(system); k++) {
    springs += carom_system_tie(system, k).kind == CAROM_TIE_SPRING;
    segments += carom_system_tie(system, k).kind == CAROM_TIE_SEGMENT;
  }
  assert_int_equal(springs, 10);
  assert_int_equal(segments, 10);
  carom_system_destroy(system);
}

static void test_bodies_and_planes(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  const carom_body_info b = carom_system_body(system, 1);
  assert_string_equal(b.id, "b");
  assert_int_equal(b.shape, CAROM_SHAPE_BALL);
  assert_near(b.radius, 0.15, 0);
  assert_near(b.mass, 0.2, 0);
  assert_int_equal(b.first_point, 1);
  assert_int_equal(carom_system_plane_count(system), 1);
  const carom_plane_info ground = carom_system_plane(system, 0);
  assert_string_equal(ground.id, "ground");
  assert_near(ground.normal[1], 1, 0);
  assert_near(ground.offset, 1, 0);
  carom_system_destroy(system);
  system = load_system("gyro");
  const carom_body_info top = carom_system_body(system, 0);
  assert_int_equal(top.shape, CAROM_SHAPE_RIM);
  assert_int_equal(top.shape_point_count, 20);
  assert_near(hypot(top.shape_points[0], top.shape_points[1]), 0.3, 1e-12);
  carom_system_destroy(system);
}

/* ---- gaps and impulses ---- */

static const char drop[] =
    "{\"carom\": 1, \"name\": \"drop\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 4,"
    " \"gravity\": [0, -10],"
    " \"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 2, \"radius\": 0.5},"
    "              {\"id\": \"b\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.25}],"
    " \"planes\": [{\"id\": \"ground\", \"normal\": [0, 1], \"offset\": 0}],"
    " \"contacts\": {\"pairs\": true, \"friction\": 0, \"restitution\": 0.5},"
    " \"initial\": {\"sampler\": \"box\", \"low\": [0, 1], \"high\": [3, 3]}}";

static carom_contact find(const carom_contact_list *list, const carom_system *system,
                          const char *label) {
  for (int k = 0; k < list->count; k++) {
    char text[64];
    carom_system_contact_label(system, list->items[k].contact, text, sizeof text);
    if (strcmp(text, label) == 0) return list->items[k];
  }
  fail_msg("no contact %s", label);
  return (carom_contact){0};
}

static void test_gaps(void **state) {
  (void)state;
  carom_system *system = parse_system(drop);
  const double x[] = {0, 0.4, 3, 4.4};
  carom_contact_list list;
  carom_error error;
  assert_int_equal(carom_system_contacts(system, x, INFINITY, &list, &error), CAROM_OK);
  assert_int_equal(list.count, 3);
  const carom_contact ground = find(&list, system, "a|ground");
  assert_near(ground.gap, -0.1, 1e-15);
  assert_near(ground.point[1], -0.1, 1e-15);
  assert_near(ground.normal[1], 1, 0);
  assert_int_equal(ground.bodies[0], 0);
  assert_int_equal(ground.bodies[1], -1);
  const carom_contact pair = find(&list, system, "a-b");
  assert_near(pair.gap, 5 - 0.75, 1e-12);
  assert_near(pair.normal[0], -0.6, 1e-12); // towards a
  assert_near(pair.normal_impulse, 0, 0);
  carom_contact_list_free(&list);
  // those that overlap alone
  assert_int_equal(carom_system_contacts(system, x, 0, &list, &error), CAROM_OK);
  assert_int_equal(list.count, 1);
  carom_contact_list_free(&list);
  carom_system_destroy(system);
}

// a ball that hits the ground at speed s takes (1 + e) m s
static void test_impulse_closed_form(void **state) {
  (void)state;
  carom_system *system = parse_system(drop);
  carom_rollout_options options = carom_rollout_default_options(system);
  const double x[] = {0, 0.505, 3, 2}, v[] = {1, -2, 0, 0};
  carom_contact_list list;
  carom_error error;
  assert_int_equal(carom_system_step_contacts(system, &options, NULL, x, v, NULL, &list, &error),
                   CAROM_OK);
  assert_int_equal(list.count, 1);
  const double speed = 2 + 10 * options.dt;
  assert_near(list.items[0].normal_impulse, 1.5 * 2 * speed, 1e-9);
  assert_near(list.items[0].impulse[1], 1.5 * 2 * speed, 1e-9);
  assert_near(list.items[0].impulse[0], 0, 1e-9); // no friction
  carom_contact_list_free(&list);
  // nothing touches: nothing acts
  const double high[] = {0, 2, 3, 2};
  assert_int_equal(carom_system_step_contacts(system, &options, NULL, high, v, NULL, &list, &error),
                   CAROM_OK);
  assert_int_equal(list.count, 0);
  carom_contact_list_free(&list);
  carom_system_destroy(system);
}

// momentum of each disk changes by its impulses, and by nothing else: there is no gravity in bd5
static void test_impulses_are_changes_of_momentum(void **state) {
  (void)state;
  enum { STEPS = 300 };
  carom_system *system = load_system("bd5");
  const carom_system_info info = carom_system_describe(system);
  const int size = info.point_count * info.dimension;
  carom_rollout_options options = carom_rollout_default_options(system);
  options.steps = STEPS;
  double x0[MOST], v0[MOST];
  carom_error error;
  carom_rollout *rollout;
  sample(system, x0, v0);
  assert_int_equal(carom_rollout_create(system, &options, 1, &rollout, &error), CAROM_OK);
  assert_int_equal(carom_rollout_run(rollout, NULL, x0, v0, &error), CAROM_OK);
  const double *x = carom_rollout_positions(rollout), *v = carom_rollout_velocities(rollout);
  int events = 0;
  for (int k = 0; k < STEPS; k++) {
    if (!carom_rollout_contacts(rollout)[k + 1]) continue;
    carom_contact_list list;
    assert_int_equal(carom_system_step_contacts(system, &options, NULL, x + k * size, v + k * size,
                                                NULL, &list, &error),
                     CAROM_OK);
    assert_true(list.count > 0);
    events++;
    for (int b = 0; b < info.body_count; b++) {
      const carom_body_info body = carom_system_body(system, b);
      for (int i = 0; i < 2; i++) {
        const int at = body.first_point * 2 + i;
        double change = body.mass * (v[(k + 1) * size + at] - v[k * size + at]);
        for (int c = 0; c < list.count; c++) {
          if (list.items[c].bodies[0] == b) change -= list.items[c].impulse[i];
          if (list.items[c].bodies[1] == b) change += list.items[c].impulse[i];
        }
        assert_near(change, 0, 1e-9);
      }
    }
    carom_contact_list_free(&list);
  }
  assert_true(events > 10);
  carom_rollout_destroy(rollout);
  carom_system_destroy(system);
}

/* ---- numbers by name ---- */

static void test_arrays(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  double x[6], v[6];
  carom_error error;
  sample(system, x, v);
  const carom_trajectories one = {
      .batch = 1, .state_count = 1, .point_count = 3, .dimension = 2, .dt = 0.01, .x = x, .v = v};
  assert_int_equal(carom_trajectories_write(&one, system, "one.h5", &error), CAROM_OK);
  carom_arrays arrays;
  assert_int_equal(carom_arrays_read("one.h5", &arrays, &error), CAROM_OK);
  const carom_array *found = carom_arrays_find(&arrays, "x");
  assert_non_null(found);
  assert_int_equal(found->rank, 4);
  assert_int_equal(found->shape[2], 3);
  assert_memory_equal(found->values, x, sizeof x);
  assert_null(carom_arrays_find(&arrays, "y"));
  assert_near(arrays.dt, 0.01, 0);
  assert_string_equal(arrays.scene, carom_system_describe(system).json);
  carom_arrays_free(&arrays);
  carom_system_destroy(system);
}

static void test_arrays_of_groups(void **state) {
  (void)state;
  carom_system *system = load_system("bp5-e");
  carom_dataset_options options = carom_dataset_default_options(system);
  options.train = 6;
  options.validation = options.test = 2;
  carom_dataset *data;
  carom_error error;
  carom_arrays arrays;
  assert_int_equal(carom_dataset_generate(system, NULL, &options, &data, &error), CAROM_OK);
  assert_int_equal(carom_dataset_write(data, system, "data.h5", &error), CAROM_OK);
  assert_int_equal(carom_arrays_read("data.h5", &arrays, &error), CAROM_OK);
  const carom_array *found = carom_arrays_find(&arrays, "train/x");
  assert_non_null(found);
  assert_int_equal(found->shape[0], 6);
  assert_memory_equal(found->values, data->train.x, sizeof(double) * 10);
  assert_non_null(carom_arrays_find(&arrays, "test/contact"));
  carom_arrays_free(&arrays);
  carom_dataset_destroy(data);
  carom_system_destroy(system);
}

static void test_bad_arrays(void **state) {
  (void)state;
  carom_arrays arrays;
  carom_error error;
  FILE *file = fopen("text.h5", "w");
  assert_non_null(file);
  fputs("not HDF5", file);
  fclose(file);
  assert_int_equal(carom_arrays_read("text.h5", &arrays, &error), CAROM_INVALID_DATA);
  assert_non_null(strstr(error.message, "not an HDF5 file"));
  assert_null(arrays.items);
  assert_int_equal(carom_arrays_read("missing.h5", &arrays, &error), CAROM_FILE_ERROR);
}

static test_folder folder;
static int prepare(void **state) {
  (void)state;
  return folder_enter(&folder, "looks");
}
static int put_away(void **state) {
  (void)state;
  return folder_leave(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ties),
      cmocka_unit_test(test_ends_of_ties),
      cmocka_unit_test(test_bodies_and_planes),
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_impulse_closed_form),
      cmocka_unit_test(test_impulses_are_changes_of_momentum),
      cmocka_unit_test(test_arrays),
      cmocka_unit_test(test_arrays_of_groups),
      cmocka_unit_test(test_bad_arrays),
  };
  return cmocka_run_group_tests(tests, prepare, put_away);
}
