/* Contact events by themselves: rows of touching balls, ropes, groups of disks. */
#include "base/error.h"
#include "bench/bench.h"
#include "bench/event_fixture.h"

#include <math.h>
#include <stdio.h>

enum { VELOCITIES = 32, GROWTH_VELOCITIES = 4 };
static const double RADIUS = 0.1, OVERLAP = 1e-3;

static json_t *vector(int dimension, double x, double y) {
  json_t *array = json_pack("[ff]", x, y);
  if (dimension == 3) json_array_append_new(array, json_real(0.0));
  return array;
}

/* Scenes of balls at given places. */
typedef struct ball_scene {
  json_t *bodies, *initial;
  int dimension, count;
  bool rigid;
} ball_scene;

static ball_scene ball_scene_begin(int dimension, bool rigid) {
  return (ball_scene){json_array(), json_array(), dimension, 0, rigid};
}

static void add_ball(ball_scene *scene, double x, double y) {
  char id[32];
  snprintf(id, sizeof id, "b%d", scene->count++);
  json_array_append_new(
      scene->bodies, json_pack("{ss ss sf sf}", "id", id, "type", scene->rigid ? "rigid" : "point",
                               "mass", 1.0, "radius", RADIUS));
  json_array_append_new(
      scene->initial, json_pack("{ss so}", "body", id, "position", vector(scene->dimension, x, y)));
}

static json_t *ball_scene_end(ball_scene *scene) {
  return json_pack("{si ss si sf si so s{sb sf sf} s{ss so}}", "carom", 1, "name", "balls",
                   "dimension", scene->dimension, "dt", 0.01, "steps", 1, "bodies", scene->bodies,
                   "contacts", "pairs", 1, "friction", 0.5, "restitution", 0.5, "initial",
                   "sampler", "state", "bodies", scene->initial);
}

// a slightly bent row, so that nothing is aligned with the axes
static json_t *row_of_balls(int contacts, int dimension, bool rigid) {
  ball_scene scene = ball_scene_begin(dimension, rigid);
  double x = 0.0, y = 0.0;
  for (int k = 0; k <= contacts; k++) {
    add_ball(&scene, x, y);
    double angle = 0.3 * sin(1.7 * k);
    x += (2.0 * RADIUS - OVERLAP) * cos(angle);
    y += (2.0 * RADIUS - OVERLAP) * sin(angle);
  }
  return ball_scene_end(&scene);
}

// times a scene and appends a row that begins with `row`
static carom_status measure(json_t *row, json_t *scene, int velocities, int expected_contacts,
                            double speed, const bench_options *options, event_times *times,
                            carom_error *error) {
  event_fixture f;
  carom_status status = event_fixture_make(&f, scene, velocities, speed, error);
  if (status == CAROM_OK && expected_contacts != f.active.count) {
    status = error_set(error, CAROM_NUMERICAL_FAILURE,
                       "the bench scene has %d active contacts, expected %d", f.active.count,
                       expected_contacts);
  }
  if (status == CAROM_OK) {
    *times = event_fixture_time(&f, options->seconds);
    json_object_set_new(row, "contacts", json_integer(f.active.count));
  }
  event_fixture_free(&f);
  return status;
}

static carom_status measure_row(int contacts, int dimension, bool rigid,
                                const bench_options *options, json_t *rows, carom_error *error) {
  json_t *row = json_pack("{ss si}", "bodies", rigid ? "rigid" : "point", "dimension", dimension);
  event_times times = {0};
  carom_status status = measure(row, row_of_balls(contacts, dimension, rigid), VELOCITIES, contacts,
                                1.0, options, &times, error);
  json_object_set_new(row, "forward_us", json_real(1e6 * times.forward));
  json_object_set_new(row, "reverse_us", json_real(1e6 * times.reverse));
  json_object_set_new(row, "reverse_ratio", json_real(times.reverse / fmax(times.forward, 1e-12)));
  json_array_append_new(rows, row);
  return status;
}

carom_status bench_events(const bench_options *options, json_t *rows, carom_error *error) {
  for (int rigid = 0; rigid < 2; rigid++) {
    for (int dimension = 2; dimension <= 3; dimension++) {
      for (int contacts = 1; contacts <= 8; contacts *= 2) {
        if (!options->go_on()) return error_set(error, CAROM_INTERRUPTED, "interrupted");
        carom_status status = measure_row(contacts, dimension, rigid != 0, options, rows, error);
        if (status != CAROM_OK) return status;
      }
    }
  }
  return CAROM_OK;
}

/* ---- growth with size ---- */

// appends times and their ratios to those of the row before
static void append_growth(json_t *rows, json_t *row, const event_times *times,
                          event_times *before) {
  json_object_set_new(row, "forward_ms", json_real(1e3 * times->forward));
  json_object_set_new(row, "reverse_ms", json_real(1e3 * times->reverse));
  bool first = before->forward == 0.0;
  json_object_set_new(row, "forward_growth",
                      first ? json_null() : json_real(times->forward / before->forward));
  json_object_set_new(row, "reverse_growth",
                      first ? json_null() : json_real(times->reverse / before->reverse));
  json_array_append_new(rows, row);
  *before = *times;
}

// a zigzag rope whose every bend and stretch is a little beyond its limit
static json_t *rope_beyond_limits(int points) {
  static const double LENGTH = 0.05, BEND = 0.3, STRETCH = 1.2;
  json_t *bodies = json_array();
  double x = 0.0, y = 0.0;
  for (int k = 0; k < points; k++) {
    double angle = (k % 2 == 0 ? 0.5 : -0.5) * (BEND + 0.01);
    double length = LENGTH * (STRETCH + 0.002);
    x += length * sin(angle);
    y -= length * cos(angle);
    char id[32];
    snprintf(id, sizeof id, "rope.%d", k);
    json_array_append_new(bodies, json_pack("{ss so}", "body", id, "position", vector(2, x, y)));
  }
  json_t *chain = json_pack("{ss si sf sf s[ff] sf sf s[ff]}", "id", "rope", "points", points,
                            "mass", 0.1, "length", LENGTH, "anchor", 0.0, 0.0, "stiffness", 50.0,
                            "bend_limit", BEND, "stretch_limits", 0.8, STRETCH);
  return json_pack("{si ss si sf si s[ff] s[o] s{sf sf} s{ss so}}", "carom", 1, "name", "rope",
                   "dimension", 2, "dt", 0.005, "steps", 1, "gravity", 0.0, -9.81, "chains", chain,
                   "contacts", "friction", 0.0, "restitution", 0.0, "initial", "sampler", "state",
                   "bodies", bodies);
}

carom_status bench_rope(const bench_options *options, json_t *rows, carom_error *error) {
  event_times before = {0};
  for (int points = 50; points <= 3200; points *= 2) {
    if (!options->go_on()) return error_set(error, CAROM_INTERRUPTED, "interrupted");
    json_t *row = json_pack("{si}", "points", points);
    event_times times;
    carom_status status = measure(row, rope_beyond_limits(points), GROWTH_VELOCITIES,
                                  2 * points - 1, 0.1, options, &times, error);
    if (status != CAROM_OK) {
      json_decref(row);
      return status;
    }
    append_growth(rows, row, &times, &before);
  }
  return CAROM_OK;
}

// triples of touching disks, far from each other
static json_t *separate_groups(int groups) {
  ball_scene scene = ball_scene_begin(2, true);
  double reach = 2.0 * RADIUS - OVERLAP;
  for (int k = 0; k < groups; k++) {
    double x = 10.0 * RADIUS * (k % 32), y = 10.0 * RADIUS * (k / 32);
    add_ball(&scene, x, y);
    add_ball(&scene, x + reach, y);
    add_ball(&scene, x + 0.5 * reach, y + 0.5 * sqrt(3.0) * reach);
  }
  return ball_scene_end(&scene);
}

carom_status bench_groups(const bench_options *options, json_t *rows, carom_error *error) {
  event_times before = {0};
  for (int groups = 8; groups <= 512; groups *= 2) {
    if (!options->go_on()) return error_set(error, CAROM_INTERRUPTED, "interrupted");
    json_t *row = json_pack("{si}", "groups", groups);
    event_times times;
    carom_status status = measure(row, separate_groups(groups), GROWTH_VELOCITIES, 3 * groups, 1.0,
                                  options, &times, error);
    if (status != CAROM_OK) {
      json_decref(row);
      return status;
    }
    append_growth(rows, row, &times, &before);
  }
  return CAROM_OK;
}
