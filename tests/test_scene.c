/* Scene text to system: built-in scenes against the constants of the paper's tasks and the golden
 * files, indices of contacts, order of constraints. What is refused is in test_bad_scenes.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/golden.h"
#include "support/systems.h"
#include "system/system.h"

// ---- built-in scenes ----

static void every_builtin_scene_loads(void **state) {
  (void)state;
  assert_true(carom_scene_count() >= 13);
  for (int i = 0; i < carom_scene_count(); i++) {
    carom_system *system = load_system(carom_scene_name(i));
    carom_system_info info = carom_system_describe(system);
    assert_string_equal(info.name, carom_scene_name(i));
    assert_string_equal(info.json, carom_scene_text(i));
    assert_true(strlen(info.description) > 0);
    carom_system_destroy(system);
  }
  assert_null(carom_scene_name(-1));
  assert_null(carom_scene_text(carom_scene_count()));
}

typedef struct expectation {
  const char *name;
  int dimension, bodies, points, constraints, contacts, springs, steps;
  double dt;
  bool shared, conservative;
} expectation;

static void sizes_are_those_of_the_tasks(void **state) {
  (void)state;
  static const expectation table[] = {
      {"bp5-e", 2, 5, 5, 0, 30, 0, 100, 0.01, true, true},
      {"bp5", 2, 5, 5, 0, 30, 0, 100, 0.01, false, false},
      {"bd5", 2, 5, 15, 15, 30, 0, 100, 0.01, false, false},
      {"bd1", 2, 1, 3, 3, 4, 0, 100, 0.01, true, false},
      {"cp3-e", 2, 3, 3, 3, 3, 0, 100, 0.01, true, true},
      {"cp3", 2, 3, 3, 3, 3, 0, 100, 0.01, true, false},
      {"gyro-e", 3, 1, 4, 9, 1, 0, 100, 0.02, true, true},
      {"gyro", 3, 1, 4, 9, 1, 0, 100, 0.02, true, false},
      {"rope", 2, 10, 10, 0, 19, 10, 20, 0.005, true, false},
      {"rope50", 2, 50, 50, 0, 99, 50, 20, 0.005, true, false},
      {"rope100", 2, 100, 100, 0, 199, 100, 20, 0.005, true, false},
      {"rope200", 2, 200, 200, 0, 399, 200, 20, 0.005, true, false},
      {"billiards", 2, 11, 11, 0, 55, 0, 1024, 0.003, true, false},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    const expectation *e = &table[i];
    carom_system *system = load_system(e->name);
    carom_system_info info = carom_system_describe(system);
    assert_int_equal(info.dimension, e->dimension);
    assert_int_equal(info.body_count, e->bodies);
    assert_int_equal(info.point_count, e->points);
    assert_int_equal(info.constraint_count, e->constraints);
    assert_int_equal(info.contact_count, e->contacts);
    assert_int_equal(info.spring_count, e->springs);
    assert_int_equal(info.steps, e->steps);
    assert_true(info.dt == e->dt);
    assert_int_equal(info.shared_properties, e->shared);
    assert_int_equal(info.conservative, e->conservative);
    carom_system_destroy(system);
  }
}

// M of TASKS section 1, assembled from what the system holds, against the golden one
static void compare_mass(const carom_system *system, const double *golden) {
  int n = system->point_count;
  for (int i = 0; i < system->body_count; i++) {
    const body *b = &system->bodies[i];
    const double *block = golden + b->first_point * n + b->first_point;
    double sum = 0;
    for (int k = 1; k < b->point_count; k++) {
      double moment = b->mass * b->moment[k - 1];
      sum += moment;
      assert_near(block[k * n + k], moment, 1e-14);
      assert_near(block[k], -moment, 1e-14);
    }
    assert_near(block[0], b->mass + sum, 1e-14);
  }
}

static void compare_planes(const carom_system *system, const double *golden) {
  int d = system->dimension;
  for (int i = 0; i < system->plane_count; i++) {
    for (int k = 0; k < d; k++)
      assert_near(system->planes[i].normal[k], golden[i * (d + 1) + k], 1e-15);
    assert_near(system->planes[i].offset, golden[i * (d + 1) + d], 1e-15);
  }
}

// the golden initial states must be possible states of the scene; those of the disks are numbers of
// single precision, which hold the constraints to 1e-7 only
static void check_golden_states(const carom_system *system, const json_t *file) {
  int count, size = system->coordinate_count;
  double tolerance = strcmp(system->name, "bd5") == 0 ? 1e-6 : 1e-12;
  double *z0 = golden_numbers(golden_get(file, "z0"), &count);
  assert_int_equal(count % (2 * size), 0);
  for (int b = 0; b < count / (2 * size); b++) {
    carom_error error;
    const double *x = z0 + b * 2 * size;
    if (carom_system_check_states(system, 1, x, x + size, tolerance, &error) != CAROM_OK)
      fail_msg("%s: %s", system->name, error.message);
  }
  free(z0);
}

static void scenes_agree_with_golden_files(void **state) {
  (void)state;
  static const char *const tasks[][2] = {
      {"bp5-e", "traj_BP5-e.json"}, {"bp5", "traj_BP5.json"},  {"bd5", "traj_BD5.json"},
      {"cp3-e", "traj_CP3-e.json"}, {"cp3", "traj_CP3.json"},  {"gyro-e", "traj_Gyro-e.json"},
      {"gyro", "traj_Gyro.json"},   {"rope", "traj_Rope.json"}};
  for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++) {
    carom_system *system = load_system(tasks[t][0]);
    json_t *file = golden_load(tasks[t][1]);
    int count;
    double *friction = golden_numbers(golden_get(file, "mus"), &count);
    double *restitution = golden_numbers(golden_get(file, "cors"), &count);
    double *mass = golden_numbers(golden_get(file, "M"), &count);
    double *planes = golden_numbers(golden_get(file, "bdry_lin_coef"), &count);
    assert_true(system->dt == golden_number(file, "dt"));
    assert_int_equal(system->contact_count, (int)golden_number(file, "n_c"));
    for (int i = 0; i < system->contact_count; i++) {
      assert_near(system->friction[i], friction[i], 0);
      assert_near(system->restitution[i], restitution[i], 0);
    }
    compare_mass(system, mass);
    compare_planes(system, planes);
    check_golden_states(system, file);
    free(friction);
    free(restitution);
    free(mass);
    free(planes);
    json_decref(file);
    carom_system_destroy(system);
  }
}

static void constants_of_single_scenes(void **state) {
  (void)state;
  carom_system *gyro = load_system("gyro");
  const body *top = &gyro->bodies[0];
  assert_int_equal(top->shape, SHAPE_RIM);
  assert_int_equal(top->shape_point_count, 20);
  for (int k = 0; k < 20; k++) {
    assert_near(top->shape_points[3 * k], 0.3 * cos(6.28 * k / 20), 1e-15);
    assert_near(top->shape_points[3 * k + 1], 0.3 * sin(6.28 * k / 20), 1e-15);
    assert_near(top->shape_points[3 * k + 2], 0, 0);
  }
  assert_near(gyro->initial.joint[2], -0.5, 0);
  assert_near(gyro->gravity[2], -9.81, 0);
  carom_system_destroy(gyro);

  carom_system *rope = load_system("rope");
  assert_near(rope->springs[3].stiffness, 50, 0);
  assert_near(rope->springs[3].length, 0.05, 0);
  assert_near(rope->limits[0].high, 0.3, 0);
  assert_near(rope->limits[9].low, 0.04, 1e-17);
  assert_near(rope->limits[9].high, 0.06, 1e-17);
  carom_system_destroy(rope);

  carom_system *billiards = load_system("billiards");
  assert_int_equal(billiards->integrator, CAROM_EULER);
  for (int layer = 0, ball = 1; layer < 4; layer++) {
    for (int j = 0; j <= layer; j++, ball++) {
      assert_near(billiards->initial.x[2 * ball], 0.5 + 0.06 * layer, 1e-12);
      assert_near(billiards->initial.x[2 * ball + 1], 0.5 + 0.06 * j - 0.021 * layer, 1e-12);
    }
  }
  assert_near(billiards->initial.v[0], 0.3, 0);
  carom_system_destroy(billiards);
}

static void example_scenes_load(void **state) {
  (void)state;
  static const char *const names[] = {"falling-box", "spheres", "double-pendulum", "tethered-disk"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/examples/scenes/%s.json", CAROM_SOURCE_DIR, names[i]);
    carom_system *system = load_system(path);
    assert_string_equal(system->name, names[i]);
    carom_system_destroy(system);
  }
}

// the first example of the format's description, and the two messages that it shows
static char *read_documented_scene(void) {
  FILE *file = fopen(CAROM_SOURCE_DIR "/docs/scene-format.md", "rb");
  assert_non_null(file);
  static char page[65536];
  size_t length = fread(page, 1, sizeof page - 1, file);
  fclose(file);
  page[length] = '\0';
  char *begin = strstr(page, "```json\n{\n");
  assert_non_null(begin);
  begin += strlen("```json\n");
  char *end = strstr(begin, "```");
  assert_non_null(end);
  *end = '\0';
  return begin;
}

static void documented_scene_is_read(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *message;
  } edits[] = {{"\"mass\"", "\"mas\" ", ":11: bodies[0].mas: unknown field; did you mean 'mass'?"},
               {"[-0.5, 0]", "[-0.6, 0]",
                ":24: initial.bodies: position violates joints[0]: the distance of "
                "its ends is 0.6, should be 0.5 (off by 0.1)"}};
  char *text = read_documented_scene();
  carom_system_destroy(parse_system(text));
  for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
    text = read_documented_scene();
    char *place = strstr(text, edits[i].from);
    assert_non_null(place);
    memcpy(place, edits[i].to, strlen(edits[i].to));
    carom_system *system;
    carom_error error;
    assert_int_equal(carom_system_parse(text, strlen(text), "w.json", &system, &error),
                     CAROM_INVALID_SCENE);
    if (strstr(error.message, edits[i].message) == NULL) fail_msg("%s", error.message);
  }
}

// ---- possible contacts ----

static void contact_indices_and_labels(void **state) {
  (void)state;
  carom_system *bp5 = load_system("bp5");
  char label[64];
  // pairs first, (i, j) -> j + n i - (i + 1)(i + 2) / 2, one after the other
  int next = 0;
  for (int i = 0; i < 5; i++) {
    for (int j = i + 1; j < 5; j++, next++) {
      assert_int_equal(system_pair_property(bp5, i, j), next);
      char expected[8];
      snprintf(expected, sizeof expected, "%c-%c", 'a' + i, 'a' + j);
      carom_system_contact_label(bp5, next, label, sizeof label);
      assert_string_equal(label, expected);
    }
  }
  // then body by body its planes
  for (int i = 0; i < 5; i++) {
    for (int p = 0; p < 4; p++, next++) assert_int_equal(system_plane_property(bp5, i, p), next);
  }
  assert_int_equal(next, bp5->contact_count);
  carom_system_contact_label(bp5, 10 + 4 * 2 + 3, label, sizeof label);
  assert_string_equal(label, "c|top");
  carom_system_contact_label(bp5, 30, label, sizeof label);
  assert_string_equal(label, "");
  carom_system_contact_label(bp5, 11, label, 4);
  assert_string_equal(label, "a|b");
  assert_string_equal(carom_system_body_id(bp5, 4), "e");
  assert_null(carom_system_body_id(bp5, 5));
  carom_system_destroy(bp5);

  // a rope: bends, then stretches
  carom_system *rope = load_system("rope");
  for (int i = 0; i < 19; i++) {
    assert_int_equal(rope->limits[i].property, i);
    assert_int_equal(rope->limits[i].kind, i < 9 ? LIMIT_BEND : LIMIT_STRETCH);
  }
  carom_system_contact_label(rope, 3, label, sizeof label);
  assert_string_equal(label, "rope bend 3");
  carom_system_contact_label(rope, 18, label, sizeof label);
  assert_string_equal(label, "rope stretch 9");
  carom_system_destroy(rope);

  // in space as in the plane
  carom_system *space = load_system(CAROM_TEST_DATA "/rope3d.json");
  assert_int_equal(space->contact_count, 5 + 6);
  for (int i = 0; i < 11; i++)
    assert_int_equal(space->limits[i].kind, i < 5 ? LIMIT_BEND : LIMIT_STRETCH);
  assert_near(space->limits[4].high, 0.3, 0);
  carom_system_destroy(space);
  carom_system *bodies = load_system(CAROM_TEST_DATA "/bodies3d.json");
  assert_string_equal(bodies->limits[0].label, "bow");
  assert_int_equal(bodies->limits[0].kind, LIMIT_BEND);
  assert_near(bodies->limits[0].high, 0.9, 0);
  carom_system_destroy(bodies);
}

// ---- parameters ----

static void parameters_and_their_checks(void **state) {
  (void)state;
  carom_system *bd5 = load_system("bd5");
  int count = carom_parameters_count(bd5);
  double *theta = malloc(sizeof(double) * (size_t)count);
  carom_parameters_default(bd5, theta);
  int next = 0;
  for (int s = 0; s < CAROM_SEGMENT_COUNT; s++) {
    carom_segment_info segment = carom_parameters_segment(bd5, (carom_segment)s);
    assert_int_equal(segment.offset, next);
    next += segment.size;
  }
  assert_int_equal(next, count);
  assert_near(theta[1], log(0.1), 1e-15);
  assert_near(theta[5 + 2 * 2 + 1], log(0.13 * 0.13 / 4), 1e-14);
  carom_error error;
  assert_int_equal(carom_parameters_check(bd5, theta, &error), CAROM_OK);

  static const struct {
    carom_segment segment;
    int entry;
    double value;
    const char *message;
  } bad[] = {{CAROM_FRICTION, 0, -0.1, "friction[0] (a-b) is -0.1; it must not be negative"},
             {CAROM_RESTITUTION, 11, 1.5, "restitution[11] (a|bottom) is 1.5; it must be from 0"},
             {CAROM_REGULARIZER, 0, -1, "regularizer[0] is -1; it must not be negative"},
             {CAROM_LOG_MASS, 2, NAN, "log_mass[2] (c) is nan; it must be finite"},
             {CAROM_LOG_MOMENT, 9, INFINITY, "log_moment[9] (e) is inf; it must be finite"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    int place = carom_parameters_segment(bd5, bad[i].segment).offset + bad[i].entry;
    double kept = theta[place];
    theta[place] = bad[i].value;
    // (-nan and nan are the same to a reader)
    assert_int_equal(carom_parameters_check(bd5, theta, &error), CAROM_INVALID_ARGUMENT);
    if (strstr(error.message, bad[i].message) == NULL) fail_msg("%s", error.message);
    theta[place] = kept;
  }
  free(theta);
  carom_system_destroy(bd5);

  // point masses have no moments: zeros
  carom_system *cp3 = load_system("cp3");
  double small[28];
  assert_int_equal(carom_parameters_count(cp3), 28);
  carom_parameters_default(cp3, small);
  for (int k = 0; k < 6; k++) assert_near(small[3 + k], 0, 0);
  assert_int_equal(carom_parameters_check(cp3, small, &error), CAROM_OK);
  carom_system_destroy(cp3);
}

// ---- constraints ----

// rigid bodies in a row joined by ball joints that are listed in a scattered order
static char *write_row_of_bodies(int count) {
  char *text = malloc((size_t)count * 400 + 1000);
  if (text == NULL) abort();
  char *p = text;
  p += sprintf(p,
               "{\"carom\": 1, \"name\": \"row\", \"dimension\": 3, \"dt\": 0.01, \"steps\": 1,"
               "\"bodies\": [");
  for (int i = 0; i < count; i++)
    p += sprintf(p, "%s{\"id\": \"r%d\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.3}",
                 i > 0 ? "," : "", i);
  p += sprintf(p, "], \"joints\": [");
  for (int i = 0; i + 1 < count; i++) {
    int k = (i * 7 + 3) % (count - 1); // count - 1 is no multiple of 7
    p += sprintf(p,
                 "%s{\"type\": \"ball\", \"ends\": [{\"body\": \"r%d\", \"at\": [0.5, 0, 0]}, "
                 "{\"body\": \"r%d\", \"at\": [-0.5, 0, 0]}]}",
                 i > 0 ? "," : "", k, k + 1);
  }
  p += sprintf(p, "], \"initial\": {\"sampler\": \"state\", \"bodies\": [");
  for (int i = 0; i < count; i++)
    p += sprintf(p, "%s{\"body\": \"r%d\", \"position\": [%d, 0, 0]}", i > 0 ? "," : "", i, i);
  sprintf(p, "]}}");
  return text;
}

static bool share_a_body(const carom_system *s, const constraint *a, const constraint *b) {
  for (int i = 0; i < a->arm.count; i++) {
    for (int k = 0; k < b->arm.count; k++) {
      if (s->point_body[a->arm.point[i]] == s->point_body[b->arm.point[k]]) return true;
    }
  }
  return false;
}

// every pair of coupled rows has a place in the shape, rows of an assembly are contiguous
static void check_shape(const carom_system *s) {
  int row = 0;
  for (int i = 0; i < s->constraint_count; i++) {
    const constraint *c = &s->constraints[i];
    const assembly *whole = &s->assemblies[c->assembly];
    assert_int_equal(c->first_row, row);
    assert_in_range(c->first_row, whole->first_row, whole->first_row + whole->row_count - 1);
    for (int k = 0; k < c->row_count; k++, row++) {
      assert_in_range(s->constraint_shape.first[row], whole->first_row, c->first_row);
      for (int j = 0; j < i; j++) {
        if (share_a_body(s, c, &s->constraints[j]))
          assert_true(s->constraint_shape.first[row] <= s->constraints[j].first_row);
      }
    }
  }
  assert_int_equal(row, s->row_count);
  for (int a = 0; a < s->assembly_count; a++) {
    for (int k = 0; k < s->assemblies[a].point_count; k++) {
      int point = s->assemblies[a].points[k];
      assert_int_equal(s->point_assembly[point], a);
      assert_int_equal(s->point_in_assembly[point], k);
      if (k > 0) assert_true(point > s->assemblies[a].points[k - 1]);
    }
  }
}

static void rows_follow_chains(void **state) {
  (void)state;
  enum { COUNT = 60 };
  char *text = write_row_of_bodies(COUNT);
  carom_system *row = parse_system(text);
  check_shape(row);
  assert_int_equal(row->assembly_count, 1);
  assert_int_equal(row->row_count, 6 * COUNT + 3 * (COUNT - 1));
  // a body's six rows and two joints: no row reaches further back than two bodies
  for (int i = 0; i < row->row_count; i++) assert_true(i - row->constraint_shape.first[i] < 15);
  carom_system_destroy(row);
  free(text);
  for (int i = 0; i < carom_scene_count(); i++) {
    carom_system *system = load_system(carom_scene_name(i));
    check_shape(system);
    carom_system_destroy(system);
  }
}

static void assemblies_are_separate(void **state) {
  (void)state;
  carom_system *bd5 = load_system("bd5");
  assert_int_equal(bd5->assembly_count, 5);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(bd5->assemblies[i].first_row, 3 * i);
    assert_int_equal(bd5->assemblies[i].row_count, 3);
    assert_int_equal(bd5->assemblies[i].points[0], 3 * i);
  }
  carom_system_destroy(bd5);
}

// bodies that are tied in whatever order, beside one that is free
static void tied_bodies_are_one_assembly(void **state) {
  (void)state;
  static const char *const orders[] = {"[\"a\", \"d\"]", "[\"d\", \"a\"]"};
  for (int i = 0; i < 2; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "{\"carom\": 1, \"name\": \"t\", \"dimension\": 2, \"dt\": 1, \"steps\": 1,"
             "\"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1},"
             "{\"id\": \"free\", \"type\": \"point\", \"mass\": 1},"
             "{\"id\": \"c\", \"type\": \"point\", \"mass\": 1},"
             "{\"id\": \"d\", \"type\": \"point\", \"mass\": 1}], \"joints\": ["
             "{\"type\": \"link\", \"ends\": [\"d\", \"c\"], \"length\": 1},"
             "{\"type\": \"link\", \"ends\": %s, \"length\": 1}],"
             "\"initial\": {\"sampler\": \"state\", \"bodies\": ["
             "{\"body\": \"a\", \"position\": [0, 0]}, {\"body\": \"free\", \"position\": [5, 0]},"
             "{\"body\": \"c\", \"position\": [2, 0]}, {\"body\": \"d\", \"position\": [1, 0]}]}}",
             orders[i]);
    carom_system *system = parse_system(text);
    check_shape(system);
    assert_int_equal(system->assembly_count, 2);
    assert_int_equal(system->assemblies[0].point_count, 3);
    assert_int_equal(system->assemblies[0].row_count, 2);
    assert_int_equal(system->assemblies[1].points[0], 1);
    assert_int_equal(system->assemblies[1].row_count, 0);
    carom_system_destroy(system);
  }
}

static void combinations(void **state) {
  (void)state;
  body rigid = {.rigid = true, .first_point = 4, .point_count = 3};
  const double at[2] = {0.25, 0};
  combination a = combination_on_body(&rigid, 2, at);
  assert_int_equal(a.count, 2); // the second axis has no weight
  double x[14] = {0};
  x[8] = 1, x[9] = 2;   // centre
  x[10] = 1, x[11] = 3; // first tip: the axis points up
  double value[2];
  combination_value(&a, 2, x, true, value);
  assert_near(value[0], 1, 0);
  assert_near(value[1], 2.25, 1e-15);
  combination none = combination_difference(&a, &a);
  assert_int_equal(none.count, 0);
  const double anchor[2] = {1, 1};
  combination fixed = combination_world(2, anchor);
  combination arm = combination_difference(&fixed, &a);
  combination_value(&arm, 2, x, true, value);
  assert_near(value[1], -1.25, 1e-15);
  combination_value(&arm, 2, x, false, value);
  assert_near(value[1], -2.25, 1e-15);
}

// ---- states ----

static void states_are_checked(void **state) {
  (void)state;
  carom_system *cp3 = load_system("cp3");
  // straight down, at rest
  double x[12] = {0, -0.35, 0, -0.75, 0, -1.1, 0, -0.35, 0, -0.75, 0, -1.1}, v[12] = {0};
  carom_error error;
  assert_int_equal(carom_system_check_states(cp3, 2, x, v, 1e-9, &error), CAROM_OK);
  x[9] = -0.76;
  assert_int_equal(carom_system_check_states(cp3, 2, x, v, 1e-9, &error), CAROM_INVALID_DATA);
  assert_non_null(strstr(error.message, "state 1: position violates joints[1]"));
  assert_non_null(strstr(error.message, "is 0.41, should be 0.4 (off by 0.01)"));
  x[9] = -0.75;
  v[1] = 0.5;
  assert_int_equal(carom_system_check_states(cp3, 2, x, v, 1e-9, &error), CAROM_INVALID_DATA);
  assert_non_null(strstr(error.message, "state 0: velocity violates joints[0]"));
  v[1] = NAN;
  assert_int_equal(carom_system_check_states(cp3, 2, x, v, 1e-9, &error), CAROM_INVALID_DATA);
  assert_non_null(strstr(error.message, "velocity of body 'a' (point 0, coordinate 1)"));
  assert_int_equal(carom_system_check_states(cp3, 1, NULL, v, 1, &error), CAROM_INVALID_ARGUMENT);
  carom_system_destroy(cp3);
}

static void files_are_read_or_reported(void **state) {
  (void)state;
  carom_system *system;
  carom_error error;
  assert_int_equal(carom_system_load("no-such-scene", &system, &error), CAROM_FILE_ERROR);
  assert_non_null(strstr(error.message, "'no-such-scene' is neither a scene file nor a built-in"));
  assert_non_null(strstr(error.message, "cp3"));
  assert_int_equal(carom_system_load("/", &system, &error), CAROM_FILE_ERROR);
  assert_non_null(strstr(error.message, "cannot read '/'"));
  assert_int_equal(carom_system_load(NULL, &system, &error), CAROM_INVALID_ARGUMENT);
  assert_int_equal(carom_system_parse("", 0, "empty", &system, &error), CAROM_INVALID_SCENE);
  assert_int_equal(carom_system_parse(NULL, 0, "null", &system, &error), CAROM_INVALID_ARGUMENT);
  // the built-in scenes as files
  for (int i = 0; i < carom_scene_count(); i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/scenes/%s.json", CAROM_SOURCE_DIR, carom_scene_name(i));
    carom_system_destroy(load_system(path));
  }
}

// the text that a system keeps makes the same system again
static void round_trip(void **state) {
  (void)state;
  for (int i = 0; i < carom_scene_count(); i++) {
    carom_system *first = load_system(carom_scene_name(i));
    carom_system *second = parse_system(carom_system_describe(first).json);
    int count = carom_parameters_count(first);
    assert_int_equal(carom_parameters_count(second), count);
    double *theta = malloc(sizeof(double) * (size_t)count * 2);
    carom_parameters_default(first, theta);
    carom_parameters_default(second, theta + count);
    assert_memory_equal(theta, theta + count, sizeof(double) * (size_t)count);
    assert_int_equal(first->row_count, second->row_count);
    for (int k = 0; k < first->constraint_count; k++)
      assert_string_equal(first->constraints[k].label, second->constraints[k].label);
    free(theta);
    carom_system_destroy(first);
    carom_system_destroy(second);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_builtin_scene_loads),
      cmocka_unit_test(sizes_are_those_of_the_tasks),
      cmocka_unit_test(scenes_agree_with_golden_files),
      cmocka_unit_test(constants_of_single_scenes),
      cmocka_unit_test(example_scenes_load),
      cmocka_unit_test(documented_scene_is_read),
      cmocka_unit_test(contact_indices_and_labels),
      cmocka_unit_test(parameters_and_their_checks),
      cmocka_unit_test(rows_follow_chains),
      cmocka_unit_test(assemblies_are_separate),
      cmocka_unit_test(tied_bodies_are_one_assembly),
      cmocka_unit_test(combinations),
      cmocka_unit_test(states_are_checked),
      cmocka_unit_test(files_are_read_or_reported),
      cmocka_unit_test(round_trip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
