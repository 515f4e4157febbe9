/* Contact events by themselves: rows of touching balls, ropes, groups of disks. */
#include "bench/bench.h"
#include "bench/event_fixture.h"

#include <math.h>
#include <stdio.h>

enum { VELOCITIES = 32, GROWTH_VELOCITIES = 4, MAX_SIZES = 8, ROUNDS = 4 };
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

// makes a scene's fixture and makes sure that the contacts are those that are meant
static carom_status make_fixture(event_fixture *f, json_t *scene, int velocities,
                                 int expected_contacts, double speed, carom_error *error) {
  carom_status status = event_fixture_make(f, scene, velocities, speed, error);
  if (status != CAROM_OK || f->active.count == expected_contacts) return status;
  return carom_error_set(error, CAROM_NUMERICAL_FAILURE,
                         "the bench scene has %d active contacts, expected %d", f->active.count,
                         expected_contacts);
}

static carom_status measure_row(int contacts, int dimension, bool rigid,
                                const bench_options *options, json_t *rows, carom_error *error) {
  event_fixture f;
  carom_status status =
      make_fixture(&f, row_of_balls(contacts, dimension, rigid), VELOCITIES, contacts, 1.0, error);
  if (status == CAROM_OK) {
    const event_times times = event_fixture_time(&f, options->seconds);
    json_array_append_new(
        rows,
        json_pack("{ss si si sf sf sf}", "bodies", rigid ? "rigid" : "point", "dimension",
                  dimension, "contacts", contacts, "forward_us", 1e6 * times.forward, "reverse_us",
                  1e6 * times.reverse, "reverse_ratio", times.reverse / times.forward));
  }
  event_fixture_free(&f);
  return status;
}

carom_status bench_events(const bench_options *options, json_t *rows, carom_error *error) {
  for (int rigid = 0; rigid < 2; rigid++) {
    for (int dimension = 2; dimension <= 3; dimension++) {
      for (int contacts = 1; contacts <= 8; contacts *= 2) {
        if (!options->go_on()) return carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
        carom_status status = measure_row(contacts, dimension, rigid != 0, options, rows, error);
        if (status != CAROM_OK) return status;
      }
    }
  }
  return CAROM_OK;
}

/* ---- growth with size ---- */

/* Events of the same kind, each size twice the one before. */
typedef struct series {
  const char *size_name;
  int first_size;
  int count;
  json_t *(*scene)(int size);
  int (*contacts)(int size);
  double speed;
} series;

// all sizes in turn, several times over: what disturbs the machine for a while disturbs them alike
static carom_status time_rounds(event_fixture *fixtures, int count, const bench_options *options,
                                event_times *least, carom_error *error) {
  for (int k = 0; k < count; k++) least[k] = (event_times){INFINITY, INFINITY};
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < count; k++) {
      if (!options->go_on()) return carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
      const event_times times = event_fixture_time(&fixtures[k], options->seconds / ROUNDS);
      least[k].forward = fmin(least[k].forward, times.forward);
      least[k].reverse = fmin(least[k].reverse, times.reverse);
    }
  }
  return CAROM_OK;
}

// a row of times and their ratios to those of half the size
static json_t *growth_row(const series *s, const event_times *times, int k) {
  int size = s->first_size << k;
  const event_times *half = k > 0 ? &times[k - 1] : NULL;
  return json_pack(
      "{si si sf sf so so}", s->size_name, size, "contacts", s->contacts(size), "forward_ms",
      1e3 * times[k].forward, "reverse_ms", 1e3 * times[k].reverse, "forward_growth",
      half != NULL ? json_real(times[k].forward / half->forward) : json_null(), "reverse_growth",
      half != NULL ? json_real(times[k].reverse / half->reverse) : json_null());
}

static carom_status measure_series(const series *s, const bench_options *options, json_t *rows,
                                   carom_error *error) {
  event_fixture fixtures[MAX_SIZES];
  event_times least[MAX_SIZES];
  carom_status status = CAROM_OK;
  int made = 0;
  while (status == CAROM_OK && made < s->count) {
    int size = s->first_size << made;
    status = make_fixture(&fixtures[made++], s->scene(size), GROWTH_VELOCITIES, s->contacts(size),
                          s->speed, error);
  }
  if (status == CAROM_OK) status = time_rounds(fixtures, made, options, least, error);
  for (int k = 0; status == CAROM_OK && k < made; k++) {
    json_array_append_new(rows, growth_row(s, least, k));
  }
  for (int k = 0; k < made; k++) event_fixture_free(&fixtures[k]);
  return status;
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

static int rope_contacts(int points) { return 2 * points - 1; }

carom_status bench_rope(const bench_options *options, json_t *rows, carom_error *error) {
  const series ropes = {"points", 50, 7, rope_beyond_limits, rope_contacts, 0.1};
  return measure_series(&ropes, options, rows, error);
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

static int group_contacts(int groups) { return 3 * groups; }

carom_status bench_groups(const bench_options *options, json_t *rows, carom_error *error) {
  const series groups = {"groups", 8, 7, separate_groups, group_contacts, 1.0};
  return measure_series(&groups, options, rows, error);
}
