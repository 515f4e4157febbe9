/* Scenes that are refused, each with a message that says what is wrong, and where. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/systems.h"
#include "system/system.h"

static const char base_scene[] =
    "{\n"
    "  \"carom\": 1,\n"
    "  \"name\": \"base\",\n"
    "  \"dimension\": 2,\n"
    "  \"dt\": 0.01,\n"
    "  \"steps\": 10,\n"
    "  \"gravity\": [0, -1],\n"
    "  \"bodies\": [\n"
    "    {\"id\": \"ball\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1},\n"
    "    {\"id\": \"disk\", \"type\": \"rigid\", \"mass\": 2, \"radius\": 0.1},\n"
    "    {\"id\": \"crate\", \"type\": \"rigid\", \"mass\": 2,\n"
    "     \"shape\": {\"type\": \"box\", \"half_extents\": [0.1, 0.2]}}\n"
    "  ],\n"
    "  \"chains\": [{\"id\": \"rope\", \"points\": 2, \"mass\": 1, \"length\": 1, \"stiffness\": "
    "5,\n"
    "    \"bend_limit\": 0.5, \"stretch_limits\": [0.5, 2]}],\n"
    "  \"planes\": [{\"id\": \"ground\", \"normal\": [0, 2], \"offset\": 10}],\n"
    "  \"joints\": [\n"
    "    {\"type\": \"link\", \"ends\": [[0, 0], \"ball\"], \"length\": 2},\n"
    "    {\"type\": \"ball\", \"ends\": [{\"body\": \"disk\", \"at\": [1, 0]}, \"crate\"]}\n"
    "  ],\n"
    "  \"springs\": [{\"ends\": [\"ball\", \"disk\"], \"stiffness\": 3, \"length\": 1}],\n"
    "  \"limits\": [{\"id\": \"leash\", \"type\": \"stretch\", \"ends\": [\"ball\", \"crate\"],"
    " \"high\": 9}], \"controls\": [{\"id\":\"push\",\"type\":\"force\",\"body\":\"crate\","
    "\"at\":[0,1]}, {\"type\":\"torque\",\"body\":\"disk\"}],\n"
    "  \"contacts\": {\"pairs\": true, \"friction\": 0.5, \"restitution\": 0.25, \"overrides\": [\n"
    "    {\"between\": [\"disk\", \"ball\"], \"friction\": 0.75},\n"
    "    {\"body\": \"crate\", \"plane\": \"ground\", \"restitution\": 1},\n"
    "    {\"limit\": \"rope bend 0\", \"friction\": 0}]},\n"
    "  \"initial\": {\"sampler\": \"state\", \"bodies\": [\n"
    "    {\"body\": \"ball\", \"position\": [2, 0], \"velocity\": [0, 1]},\n"
    "    {\"body\": \"disk\", \"position\": [4, 0], \"rotation\": 0, \"spin\": 0},\n"
    "    {\"body\": \"crate\", \"position\": [5, 0]},\n"
    "    {\"body\": \"rope.0\", \"position\": [0, -1]}, {\"body\": \"rope.1\", \"position\": [0, "
    "-2]}]}\n"
    "}\n";

// base_scene with the first `from` replaced; the caller frees
static char *edited(const char *from, const char *to) {
  const char *place = strstr(base_scene, from);
  if (place == NULL) fail_msg("the base scene has no %s", from);
  char *text = malloc(strlen(base_scene) + strlen(to) + 1);
  if (text == NULL) abort();
  sprintf(text, "%.*s%s%s", (int)(place - base_scene), base_scene, to, place + strlen(from));
  return text;
}

static void base_scene_is_read(void **state) {
  (void)state;
  carom_system *s = parse_system(base_scene);
  assert_int_equal(s->body_count, 5);
  assert_int_equal(s->point_count, 9);
  assert_int_equal(s->contact_count, 10 + 5 + 4);
  assert_near(s->planes[0].normal[1], 1, 0);
  assert_near(s->planes[0].offset, 5, 0);
  assert_near(s->bodies[1].moment[0], 0.0025, 1e-17);
  assert_near(s->bodies[2].moment[1], 0.04 / 3, 1e-17);
  assert_int_equal(s->bodies[2].shape_point_count, 4);
  assert_near(s->friction[system_pair_property(s, 0, 1)], 0.75, 0);
  assert_near(s->restitution[system_pair_property(s, 0, 1)], 0.25, 0);
  assert_near(s->restitution[system_plane_property(s, 2, 0)], 1, 0);
  assert_near(s->friction[s->limit_property_first], 0, 0);
  assert_near(s->friction[s->limit_property_first + 1], 0.5, 0);
  assert_string_equal(s->limits[1].label, "leash");
  assert_string_equal(s->controls[0].id, "push");
  assert_string_equal(s->controls[1].id, "controls[1]");
  assert_int_equal(s->controls[1].first, 2);
  assert_int_equal(s->control_size, 3);
  assert_true(isinf(s->limits[1].high) == 0 && s->limits[1].low == 0);
  carom_system_destroy(s);
}

typedef struct bad_scene {
  const char *from, *to, *message;
} bad_scene;

static const bad_scene bad_scenes[] = {
    // the document
    {"{\n", "", "test.json:1:"},
    {"\"dt\": 0.01,", "\"dt\": 0.01", "test.json:6:"},
    {"\"dt\": 0.01", "\"dt\": 0.01, \"dt\": 0.02", "duplicate object key"},
    {"\"carom\": 1", "\"carom\": 2", "test.json:2: carom: must be a whole number from 1 to 1"},
    {"\"carom\": 1,", "", "carom: missing"},
    {"\"name\": \"base\"", "\"name\": 5", "test.json:3: name: expected a string, found a number"},
    {"\"name\": \"base\"", "\"name\": \"\"", "name: must not be empty"},
    {"\"gravity\"", "\"grvity\"", "test.json:7: grvity: unknown field; did you mean 'gravity'?"},
    {"\"gravity\"", "\"magnetism\"", "magnetism: unknown field; the fields here are carom, name,"},
    {"\"gravity\"", "\"\\u001b[31m\"", "?[31m: unknown field"},
    {"\"dimension\": 2", "\"dimension\": 4", "dimension: must be a whole number from 2 to 3, is 4"},
    {"\"dimension\": 2", "\"dimension\": 2.5", "dimension: must be a whole number"},
    {"\"dimension\": 2", "\"dimension\": 3", "gravity: expected 3 numbers, found 2"},
    {"\"dt\": 0.01", "\"dt\": 0", "dt: must be above 0, is 0"},
    {"\"dt\": 0.01", "\"dt\": \"0.01\"", "dt: expected a number, found a string"},
    {"\"dt\": 0.01", "\"dt\": 1e999", "not valid JSON: real number overflow"},
    {"\"steps\": 10", "\"steps\": -1", "steps: must be a whole number from 1"},
    {"\"steps\": 10", "\"steps\": 1e300", "steps: 1e+300 is too large"},
    {"\"steps\": 10", "\"steps\": 10, \"integrator\": \"rk5\"",
     "integrator: 'rk5' is not one of rk4, euler, symplectic-euler, rk4-secant"},
    // bodies
    {"\"bodies\": [", "\"bodies\": 1, \"x\": [", "unknown field"},
    {"\"mass\": 1,", "\"mass\": -1,", "test.json:9: bodies[0].mass: must be above 0, is -1"},
    {"\"mass\": 1,", "\"mass\": 0,", "bodies[0].mass: must be above 0"},
    {"\"mass\": 1,", "\"mass\": 1e-300,", "bodies[0].mass: 1e-300 is too small"},
    {"\"mass\": 1,", "\"mas\": 1,", "bodies[0].mas: unknown field; did you mean 'mass'?"},
    {"\"mass\": 1,", "", "test.json:9: bodies[0].mass: missing; a number is required"},
    {"\"type\": \"point\"", "\"type\": \"points\"", "bodies[0].type: 'points' is not one of point"},
    {"\"id\": \"disk\"", "\"id\": \"ball\"", "id 'ball' is already taken by a body"},
    {"\"id\": \"disk\"", "\"id\": \"rope.1\"", "id 'rope.1' is already taken by a body"},
    {"\"id\": \"ground\"", "\"id\": \"rope\"", "id 'rope' is already taken by a chain"},
    {"\"id\": \"disk\"", "\"id\": \"a disk\"", "bodies[1].id: 'a disk' is not an id"},
    {"\"id\": \"disk\"", "\"id\": \"\"", "bodies[1].id: '' is not an id"},
    {"\"mass\": 2, \"radius\": 0.1", "\"mass\": 2", "bodies[1].moments: missing; a rigid body"},
    {"\"mass\": 2, \"radius\": 0.1", "\"mass\": 2, \"moments\": [1, 0]",
     "moment 1 must be above 0"},
    {"\"mass\": 2, \"radius\": 0.1", "\"mass\": 2, \"moments\": [1]",
     "expected 2 numbers, found 1"},
    {"\"mass\": 1, \"radius\"", "\"mass\": 1, \"moments\": [1, 1], \"radius\"",
     "bodies[0].moments: a point mass has no moments"},
    {"\"radius\": 0.1},", "\"radius\": -0.1},", "bodies[0].radius: must be above 0"},
    {"\"radius\": 0.1},", "\"shape\": {\"type\": \"box\"}},", "a point mass has no axes"},
    {"\"shape\":", "\"radius\": 1, \"shape\":", "either a radius (a ball) or a shape"},
    {"\"type\": \"box\"", "\"type\": \"cone\"", "bodies[2].shape.type: 'cone' is not one of rim"},
    {"\"type\": \"box\"", "\"type\": \"rim\"", "half_extents: unknown field"},
    {"{\"type\": \"box\", \"half_extents\": [0.1, 0.2]}",
     "{\"type\": \"rim\", \"radius\": 1, \"count\": 9}", "a rim needs dimension 3"},
    {"{\"type\": \"box\", \"half_extents\": [0.1, 0.2]}", "{\"type\": \"points\", \"points\": []}",
     "a set of points needs at least one"},
    {"{\"type\": \"box\", \"half_extents\": [0.1, 0.2]}",
     "{\"type\": \"points\", \"points\": [[1]]}",
     "test.json:12: bodies[2].shape.points[0]: expected 2 numbers, found 1"},
    {"[0.1, 0.2]", "[0.1, -0.2]", "half_extents: must be above 0"},
    // chains and planes
    {"\"points\": 2", "\"points\": 0", "chains[0].points: must be a whole number from 1 to 100000"},
    {"\"points\": 2", "\"points\": 100001", "chains[0].points: must be a whole number"},
    {"\"points\": 2", "\"points\": 99999", "bodies: the bodies have more than 100000 points"},
    {"\"points\": 2", "\"points\": 4000", "possible contacts"},
    {"\"bend_limit\": 0.5", "\"bend_limit\": 3.2", "must be below pi"},
    {"[0.5, 2]", "[1.5, 2]", "must lie on both sides of the rest length"},
    {"[0.5, 2]", "[2, 0.5]", "the low end 2 is above the high end 0.5"},
    {"\"stiffness\": 5,", "", "the links of a chain without stiffness are rigid"},
    {"\"normal\": [0, 2]", "\"normal\": [0, 0]", "planes[0].normal: must not be zero"},
    {"\"normal\": [0, 2]", "\"normal\": [0, 2, 0]",
     "planes[0].normal: expected 2 numbers, found 3"},
    {"\"normal\": [0, 2]", "\"normal\": [0, null]",
     "planes[0].normal[1]: expected a number, found"},
    // joints, springs, limits
    {"\"type\": \"link\"", "\"type\": \"rod\"", "joints[0].type: 'rod' is not one of link, ball"},
    {"[[0, 0], \"ball\"]", "[[0, 0], \"bal\"]", "there is no body 'bal'; did you mean 'ball'?"},
    {"[[0, 0], \"ball\"]", "[[0, 0], \"ground\"]", "'ground' is a plane; the id of a body is"},
    {"[[0, 0], \"ball\"]", "[[0, 0], 7]", "joints[0].ends[1]: an end is the id of a body"},
    {"[[0, 0], \"ball\"]", "[[0], \"ball\"]", "joints[0].ends[0]: expected 2 numbers"},
    {"[[0, 0], \"ball\"]", "[[0, 0], [1, 1]]", "at least one end must be on a body"},
    {"[[0, 0], \"ball\"]", "[\"ball\", \"ball\"]", "both ends are on the same body"},
    {"[[0, 0], \"ball\"]", "[\"ball\"]", "joints[0].ends: expected 2 ends, found 1"},
    {"\"length\": 2", "\"length\": 0", "joints[0].length: must be above 0"},
    {"\"ends\": [{\"body\": \"disk\"", "\"length\": 1, \"ends\": [{\"body\": \"disk\"",
     "joints[1].length: unknown field"},
    {"\"at\": [1, 0]}, \"crate\"", "\"at\": [1, 0]}, {\"body\": \"ball\", \"at\": [1, 0]}",
     "'ball' is a point mass and has no body coordinates"},
    {"\"stiffness\": 3", "\"stiffness\": -3", "springs[0].stiffness: must be above 0"},
    {"\"high\": 9", "\"low\": 10, \"high\": 9", "limits[0].low: 10 is not below \"high\", 9"},
    {", \"high\": 9", "", "a stretch limit needs \"low\", \"high\" or both"},
    {"\"type\": \"stretch\"", "\"type\": \"strech\"",
     "limits[0].type: 'strech' is not one of bend"},
    {"\"type\": \"stretch\"", "\"type\": \"bend\"", "limits[0].high: unknown field"},

    // controls
    {"\"type\":\"force\"", "\"type\":\"forse\"",
     "test.json:22: controls[0].type: 'forse' is not one of"},
    {"\"type\":\"force\",", "", "controls[0].type: missing"},
    {"\"type\":\"torque\",\"body\":\"disk\"", "\"type\":\"torque\"", "controls[1].body: missing"},
    {"\"type\":\"torque\",\"body\":\"disk\"", "\"type\":\"torque\",\"body\":\"dusk\"",
     "controls[1].body: there is no body 'dusk'; did you mean 'disk'?"},
    {"\"type\":\"torque\",\"body\":\"disk\"", "\"type\":\"torque\",\"body\":\"ball\"",
     "controls[1].body: 'ball' is a point mass and cannot turn"},
    {"\"type\":\"torque\",", "\"type\":\"torque\",\"at\":[0,0],", "controls[1].at: unknown field"},
    {"\"at\":[0,1]", "\"at\":[0,1,2]", "controls[0].at: expected 2 numbers, found 3"},
    {"\"body\":\"crate\"", "\"body\":\"rope.1\"",
     "controls[0].at: 'rope.1' is a point mass and has no body coordinates"},
    {"\"id\":\"push\"", "\"id\":\"leash\"", "id 'leash' is already taken by a limit"},
    {"\"id\":\"push\"", "\"id\":\"pu sh\"", "controls[0].id: 'pu sh' is not an id"},
    {"\"controls\": [", "\"controls\": 3, \"limitz\": [", "unknown field; did you mean 'limits'?"},
    {"\"id\":\"push\"", "\"idd\":\"push\"", "controls[0].idd: unknown field; did you mean 'id'?"},
    {"\"type\": \"stretch\", \"ends\": [\"ball\", \"crate\"], \"high\": 9",
     "\"type\": \"bend\", \"ends\": [\"ball\", \"ball\", \"crate\"], \"angle\": 1",
     "the first two ends coincide"},
    {"\"type\": \"stretch\", \"ends\": [\"ball\", \"crate\"], \"high\": 9",
     "\"type\": \"bend\", \"ends\": [\"ball\", \"disk\"], \"angle\": 1",
     "expected 3 ends, found 2"},
    {"\"length\": 2},",
     "\"length\": 2}, {\"type\": \"link\", \"ends\": [[4, 0], \"ball\"], \"length\""
     ": 2}, {\"type\": \"link\", \"ends\": [[3, 0], \"ball\"], \"length\": 1},",
     "the bodies tied by joints[0] have 3 constraints but only 2 coordinates"},
    // contacts
    {"\"friction\": 0.5", "\"friction\": -0.5", "contacts.friction: must not be negative, is -0.5"},
    {"\"restitution\": 0.25", "\"restitution\": 1.25", "contacts.restitution: must be from 0 to 1"},
    {"\"restitution\": 0.25", "\"restitution\": 0.25, \"regularizer\": -1", "contacts.regularizer"},
    {"\"pairs\": true", "\"pairs\": 1", "contacts.pairs: expected true or false, found a number"},
    {"\"pairs\": true", "\"pairs\": false", "set contacts.pairs to true"},
    {"\"pairs\": true", "\"pairs\": true, \"shared\": true", "cannot be overridden"},
    {"[\"disk\", \"ball\"]", "[\"disk\", \"disk\"]", "a body does not touch itself"},
    {"[\"disk\", \"ball\"]", "[\"disk\"]", "expected the ids of two bodies, found 1"},
    {"\"friction\": 0.75", "\"friction\": -1",
     "test.json:24: contacts.overrides[0].friction: must not be negative"},
    {", \"friction\": 0.75", "", "give \"friction\", \"restitution\" or both"},
    {"\"plane\": \"ground\", ", "", "contacts.overrides[1].plane: missing"},
    {"\"body\": \"crate\", \"plane\": \"ground\", ", "", "say which contact"},
    {"\"limit\": \"rope bend 0\"", "\"limit\": \"rope bend 5\"", "did you mean 'rope bend 0'?"},
    {"\"body\": \"crate\", \"plane\": \"ground\"", "\"between\": [\"ball\", \"disk\"]",
     "contacts.overrides[1]: this contact has been given before"},
    // initial state
    {"\"initial\"", "\"contacts2\"", "contacts2: unknown field; did you mean 'contacts'?"},
    {"\"sampler\": \"state\"", "\"sampler\": \"stat\"", "initial.sampler: 'stat' is not one of"},
    {"\"position\": [2, 0]", "\"position\": [2.5, 0]",
     "test.json:27: initial.bodies: position violates joints[0]: the distance of its ends "
     "is 2.5, should be 2 (off by 0.5)"},
    {"\"velocity\": [0, 1]", "\"velocity\": [1, 1]", "velocity violates joints[0]"},
    {"\"position\": [5, 0]", "\"position\": [5, 1]", "position violates joints[1]: the gap of its"},
    {"\"position\": [2, 0]", "\"spin\": 1, \"position\": [2, 0]", "a point mass does not turn"},
    {"\"body\": \"rope.1\", ", "\"body\": \"rope.0\", ", "the state of 'rope.0' has been given"},
    {", {\"body\": \"rope.1\", \"position\": [0, -2]}", "", "state of body 'rope.1' is missing"},
    {"\"sampler\": \"state\", \"bodies\"", "\"sampler\": \"box\", \"bodies\"",
     "initial.bodies: unknown field"},
};

static void bad_scenes_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_scenes / sizeof bad_scenes[0]; i++) {
    const bad_scene *bad = &bad_scenes[i];
    char *text = edited(bad->from, bad->to);
    carom_system *system = (carom_system *)(void *)text; // must become NULL
    carom_error error;
    carom_status status = carom_system_parse(text, strlen(text), "test.json", &system, &error);
    if (status != CAROM_INVALID_SCENE || error.status != status)
      fail_msg("'%s' for '%s' was accepted", bad->to, bad->from);
    if (strstr(error.message, bad->message) == NULL)
      fail_msg("expected: %s\nfound: %s", bad->message, error.message);
    assert_null(system);
    // without an error object as well
    assert_int_equal(carom_system_parse(text, strlen(text), NULL, &system, NULL), status);
    free(text);
  }
}

// the samplers know what they can sample
static void samplers_are_refused_where_they_do_not_fit(void **state) {
  (void)state;
  static const char start[] = "\"initial\": {\"sampler\": ";
  static const struct {
    const char *scene, *sampler, *message;
  } table[] = {
      {"cp3", "\"box\", \"low\": [0, 0], \"high\": [1, 1]}}", "sampler 'box' places bodies ind"},
      {"bp5", "\"box\", \"low\": [0, 2], \"high\": [1, 1]}}",
       "initial.high: 1 is below \"low\", 2"},
      {"bp5", "\"angles\", \"angle\": [0, 1]}}", "body 'a' does not hang on the one before it"},
      {"bd5", "\"angles\", \"angle\": [0, 1]}}", "is for point masses; 'a' is rigid"},
      {"cp3", "\"angles\", \"angle\": [0, 1], \"bodies\": [\"b\", \"a\", \"c\"]}}",
       "joints[0] is not a link of one chain"},
      {"cp3", "\"angles\", \"angle\": [0, 1], \"bodies\": [\"a\", \"a\", \"c\"]}}", "a body twice"},
      {"cp3", "\"angles\", \"angle\": [0, 1], \"bodies\": [\"a\"]}}", "must name all 3 bodies"},
      {"gyro", "\"angles\", \"angle\": [0, 1]}}", "sampler 'angles' is for dimension 2 only"},
      {"cp3", "\"chain\", \"angle\": [0, 1]}}", "for a scene of one chain"},
      {"bp5", "\"euler\", \"angle\": [0, 1]}}", "sampler 'euler' is for dimension 3 only"},
      {CAROM_TEST_DATA "/rope3d.json", "\"chain\", \"angle\": [0, 1]}}",
       "sampler 'chain' is for dimension 2 only"},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    carom_system *system = load_system(table[i].scene);
    char text[8192];
    const char *place = strstr(system->json, "\"initial\"");
    assert_non_null(place);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(place - system->json), system->json, start,
             table[i].sampler);
    carom_system_destroy(system);
    carom_error error;
    if (carom_system_parse(text, strlen(text), "test", &system, &error) != CAROM_INVALID_SCENE)
      fail_msg("%s was accepted", table[i].sampler);
    if (strstr(error.message, table[i].message) == NULL)
      fail_msg("expected: %s\nfound: %s", table[i].message, error.message);
  }
}

// joints of one scene: those that follow from others are refused, dead points are not
typedef struct joint_case {
  const char *what;
  int dimension;
  const char *bodies, *joints, *state; // contents of the arrays
  const char *message;                 // NULL: the scene is fine
} joint_case;

#define POINT(id) "{\"id\": \"" id "\", \"type\": \"point\", \"mass\": 1}"
#define RIGID(id) "{\"id\": \"" id "\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.1}"
#define LINK(a, b, length) "{\"type\": \"link\", \"ends\": [" a ", " b "], \"length\": " length "}"
#define BALL(a, b) "{\"type\": \"ball\", \"ends\": [" a ", " b "]}"
#define ID(id) "\"" id "\""
#define AT(id, at) "{\"body\": \"" id "\", \"at\": " at "}"
#define PLACE(id, position) "{\"body\": \"" id "\", \"position\": " position "}"

#define SQUARE_BODIES POINT("a") "," POINT("b") "," POINT("c") "," POINT("d")
#define SQUARE_STATE \
  PLACE("a", "[0, 0]") "," PLACE("b", "[3, 0]") "," PLACE("c", "[3, 4]") "," PLACE("d", "[0, 4]")
#define SQUARE_JOINTS                                                       \
  LINK(ID("a"), ID("b"), "3")                                               \
  "," LINK(ID("b"), ID("c"), "4") "," LINK(ID("c"), ID("d"), "3") "," LINK( \
      ID("d"), ID("a"), "4") "," LINK(ID("a"), ID("c"), "5")

static const joint_case joint_cases[] = {
    {"a square with one diagonal", 2, SQUARE_BODIES, SQUARE_JOINTS, SQUARE_STATE, NULL},
    {"a square with both", 2, SQUARE_BODIES, SQUARE_JOINTS "," LINK(ID("b"), ID("d"), "5"),
     SQUARE_STATE,
     "test:1: joints[5]: follows from other constraints of the same bodies; remove it"},
    {"a link twice", 2, SQUARE_BODIES,
     LINK(ID("a"), ID("b"), "3") "," LINK(ID("b"), ID("c"), "4") "," LINK(ID("b"), ID("a"), "3"),
     SQUARE_STATE, "joints[2]: follows"},
    {"a link inside what a ball joint holds", 2, RIGID("a") "," POINT("b"),
     BALL(AT("a", "[1, 0]"), ID("b")) "," LINK(ID("a"), ID("b"), "1"),
     PLACE("a", "[0, 0]") "," PLACE("b", "[1, 0]"), "joints[1]: follows"},

    // on the states that hold the joints only: elsewhere their rows are independent
    {"a hinge of two ball joints", 3, RIGID("a") "," RIGID("b"),
     BALL(AT("a", "[0.1, -0.5, 0]"), AT("b", "[0.1, 0.5, 0]")) "," BALL(AT("a", "[-0.1, -0.5, 0]"),
                                                                        AT("b", "[-0.1, 0.5, 0]")),
     PLACE("a", "[0, 0, 0]") "," PLACE("b", "[0, -1, 0]"),
     "joints[1]: other constraints of the same bodies hold this, or a part of it, already"},
    {"a hinge of a ball joint and two links", 3, RIGID("a") "," RIGID("b"),
     BALL(AT("a", "[0.1, -0.5, 0]"), AT("b", "[0.1, 0.5, 0]")) "," LINK(
         AT("a", "[-0.1, -0.5, 0]"), AT("b", "[-0.1, 0.8, 0]"),
         "0.3") "," LINK(AT("a", "[-0.1, -0.5, 0]"), AT("b", "[-0.1, 0.5, 0.3]"), "0.3"),
     PLACE("a", "[0, 0, 0]") "," PLACE("b", "[0, -1, 0]"), NULL},
    {"three parallel bars", 2, RIGID("a"),
     LINK("[-1, 0]", AT("a", "[-1, 0]"), "1") "," LINK("[0, 0]", ID("a"), "1") "," LINK(
         "[1, 0]", AT("a", "[1, 0]"), "1"),
     PLACE("a", "[0.6, -0.8]"), "joints[2]: follows"},
    {"two parallel bars", 2, RIGID("a"),
     LINK("[-1, 0]", AT("a", "[-1, 0]"), "1") "," LINK("[1, 0]", AT("a", "[1, 0]"), "1"),
     PLACE("a", "[0.6, -0.8]"), NULL},

    // dependent rows at this state and not at others
    {"four bars, flat", 2, POINT("a") "," POINT("b"),
     LINK("[0, 0]", ID("a"), "1") "," LINK(ID("a"), ID("b"), "2") "," LINK(ID("b"), "[2, 0]", "1"),
     PLACE("a", "[1, 0]") "," PLACE("b", "[3, 0]"), NULL},
    {"four long bars, flat and nearly alike", 2, POINT("a") "," POINT("b"),
     LINK("[0, 0]", ID("a"), "1000") "," LINK(ID("a"), ID("b"), "1000.001") "," LINK(
         ID("b"), "[1000, 0]", "1000.001"),
     PLACE("a", "[1000, 0]") "," PLACE("b", "[2000.001, 0]"), NULL},
    // dependent rows at the only state there is: every link is needed all the same
    {"a chain pulled straight", 2, POINT("a") "," POINT("b"),
     LINK("[0, 0]", ID("a"), "1") "," LINK(ID("a"), ID("b"), "1") "," LINK(ID("b"), "[3, 0]", "1"),
     PLACE("a", "[1, 0]") "," PLACE("b", "[2, 0]"), NULL},
};

static void check_joints(const joint_case *c) {
  char text[4096];
  snprintf(text, sizeof text,
           "{\"carom\": 1, \"name\": \"j\", \"dimension\": %d, \"dt\": 1, \"steps\": 1, "
           "\"bodies\": [%s], \"joints\": [%s], "
           "\"initial\": {\"sampler\": \"state\", \"bodies\": [%s]}}",
           c->dimension, c->bodies, c->joints, c->state);
  carom_system *system;
  carom_error error;
  carom_status status = carom_system_parse(text, strlen(text), "test", &system, &error);
  if (c->message == NULL && status != CAROM_OK) fail_msg("%s: %s", c->what, error.message);
  if (c->message != NULL && status != CAROM_INVALID_SCENE) fail_msg("%s was accepted", c->what);
  if (c->message != NULL && strstr(error.message, c->message) == NULL)
    fail_msg("%s\nexpected: %s\nfound: %s", c->what, c->message, error.message);
  carom_system_destroy(system);
}

static void redundant_joints_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof joint_cases / sizeof joint_cases[0]; i++)
    check_joints(&joint_cases[i]);
}

// a chain of more links than a dense factor takes, with one link more: to a fixed point at its end, or
// again between two points that have one; straight down or in waves
static void check_long_chain(bool twice, double wave) {
  enum { POINTS = 300 };
  static char places[POINTS * 100], text[sizeof places + 1000];
  double x = 0, y = 0;
  size_t used = 0;
  for (int i = 0; i < POINTS; i++) {
    x += sin(wave * sin(0.1 * i));
    y -= cos(wave * sin(0.1 * i));
    used += (size_t)snprintf(places + used, sizeof places - used,
                             "%s{\"body\": \"c.%d\", \"position\": [%.17g, %.17g]}",
                             i > 0 ? ", " : "", i, x, y);
  }
  char ends[100] = "\"c.150\", \"c.149\"";
  if (!twice) snprintf(ends, sizeof ends, "\"c.299\", [%.17g, %.17g]", x, y - 1);
  snprintf(text, sizeof text,
           "{\"carom\": 1, \"name\": \"c\", \"dimension\": 2, \"dt\": 1, \"steps\": 1, "
           "\"chains\": [{\"id\": \"c\", \"points\": %d, \"mass\": 1, \"length\": 1}], "
           "\"joints\": [{\"type\": \"link\", \"ends\": [%s], \"length\": 1}], "
           "\"initial\": {\"sampler\": \"state\", \"bodies\": [%s]}}",
           POINTS, ends, places);
  carom_system *system;
  carom_error error;
  carom_status status = carom_system_parse(text, strlen(text), "test", &system, &error);
  if (!twice && status != CAROM_OK) fail_msg("%s", error.message);
  if (twice) assert_int_equal(status, CAROM_INVALID_SCENE);
  if (twice) assert_non_null(strstr(error.message, "joints[0]: follows from other constraints"));
  carom_system_destroy(system);
}

static void redundancy_in_long_chains(void **state) {
  (void)state;
  check_long_chain(true, 0.3);
  check_long_chain(true, 0);
  check_long_chain(false, 0.3);
  check_long_chain(false, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(base_scene_is_read),
      cmocka_unit_test(bad_scenes_are_refused),
      cmocka_unit_test(samplers_are_refused_where_they_do_not_fit),
      cmocka_unit_test(redundant_joints_are_refused),
      cmocka_unit_test(redundancy_in_long_chains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
