/* Which contacts are found: the sweep over many balls beside all pairs; geometry that has no normal. */
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
#include "physics/collision.h"
#include "support/systems.h"

/* ---- scenes of many balls ---------------------------------------------------------------------- */

enum { BALLS = 60, TEXT = 16384 };

/* Balls of several sizes, one body among them that is none, and a wall. */
static carom_system *make_balls(int dimension, int count) {
  char text[TEXT];
  const char *zero = dimension == 2 ? "[0, 0]" : "[0, 0, 0]";
  int at = snprintf(text, TEXT,
                    "{\"carom\": 1, \"name\": \"balls\", \"dimension\": %d, \"dt\": 0.01, "
                    "\"steps\": 1, \"bodies\": [",
                    dimension);
  for (int i = 0; i < count; i++)
    at += i == 7 ? snprintf(text + at, TEXT - at,
                            "{\"id\": \"b7\", \"type\": \"point\", \"mass\": 1},")
                 : snprintf(text + at, TEXT - at,
                            "{\"id\": \"b%d\", \"type\": \"%s\", \"mass\": 1, \"radius\": %g}%s", i,
                            i % 5 == 0 ? "rigid" : "point", i == 3 ? 1.5 : 0.1 + 0.05 * (i % 3),
                            i + 1 < count ? "," : "");
  at += snprintf(text + at, TEXT - at,
                 "], \"planes\": [{\"id\": \"w\", \"normal\": %s, \"offset\": 0}], "
                 "\"contacts\": {\"pairs\": true}, "
                 "\"initial\": {\"sampler\": \"state\", \"bodies\": [",
                 dimension == 2 ? "[1, 0]" : "[1, 0, 0]");
  for (int i = 0; i < count; i++)
    at += snprintf(text + at, TEXT - at, "{\"body\": \"b%d\", \"position\": %s}%s", i, zero,
                   i + 1 < count ? "," : "");
  snprintf(text + at, TEXT - at, "]}}");
  return parse_system(text);
}

/* How balls are put: anywhere; with first coordinates from a few values, so that many are equal; so
 * that ends along the first axis meet ends exactly; all in one place. */
typedef enum arrangement { ANYWHERE, IN_COLUMNS, END_TO_END, IN_ONE_PLACE } arrangement;

static void arrange(const carom_system *s, arrangement how, rng *r, double *x) {
  int d = s->dimension;
  double end = 0;
  for (int i = 0; i < s->body_count; i++) {
    const body *b = &s->bodies[i];
    double centre[MAX_DIMENSION];
    for (int k = 0; k < d; k++) centre[k] = rng_uniform(r, -1, 3);
    if (how == IN_COLUMNS) centre[0] = 0.25 * rng_below(r, 5);
    if (how == IN_ONE_PLACE) memset(centre, 0, sizeof centre);
    if (how == END_TO_END) {
      // each begins where the last one ends, or a hair before
      centre[0] = end + b->radius - (i % 2 == 0 ? 0 : 1e-9);
      end = centre[0] + b->radius;
      for (int k = 1; k < d; k++) centre[k] = 0;
    }
    for (int p = 0; p < b->point_count; p++)
      for (int k = 0; k < d; k++)
        x[(b->first_point + p) * d + k] = centre[k] + (p > 0 && k == p - 1);
  }
}

/* All pairs of balls that overlap, in the order of possible contacts. */
static int list_pairs(const carom_system *s, const double *x, contact_id *pairs) {
  int d = s->dimension, count = 0;
  for (int i = 0; i < s->body_count; i++)
    for (int j = i + 1; j < s->body_count; j++) {
      const body *a = &s->bodies[i], *b = &s->bodies[j];
      if (a->shape != SHAPE_BALL || b->shape != SHAPE_BALL) continue;
      double square = 0;
      for (int k = 0; k < d; k++)
        square += pow(x[b->first_point * d + k] - x[a->first_point * d + k], 2);
      if (sqrt(square) - a->radius - b->radius < 0)
        pairs[count++] = (contact_id){CONTACT_PAIR, i, j, 0, system_pair_property(s, i, j)};
    }
  return count;
}

static void assert_same_id(const contact_id *a, const contact_id *b) {
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->first, b->first);
  assert_int_equal(a->second, b->second);
  assert_int_equal(a->property, b->property);
}

/* One list from one arrangement to the next: its order is that of the last call, whatever that was. */
static void check_sweep(int dimension, int count) {
  carom_system *s = make_balls(dimension, count);
  double *x = calloc((size_t)s->coordinate_count, sizeof(double));
  contact_id *expected = calloc((size_t)(count * count), sizeof(contact_id));
  contact_list list;
  contact_list_init(&list);
  rng r;
  rng_seed(&r, 61, (uint64_t)(dimension * 100 + count));
  int total = 0, against_wall = 0;
  for (int draw = 0; draw < 80; draw++) {
    arrange(s, (arrangement)(draw % 4), &r, x);
    assert_true(collision_detect(s, x, &list));
    int pairs = list_pairs(s, x, expected);
    assert_true(list.count >= pairs);
    for (int k = 0; k < pairs; k++) assert_same_id(&list.ids[k], &expected[k]);
    for (int k = pairs; k < list.count; k++) assert_int_equal(list.ids[k].kind, CONTACT_BALL_PLANE);
    if (draw % 4 == IN_ONE_PLACE) assert_int_equal(pairs, (count - 1) * (count - 2) / 2);
    if (draw % 4 == END_TO_END) assert_in_range(pairs, (count - 3) / 2, count);
    total += pairs;
    against_wall += list.count - pairs;
  }
  assert_true(total > 80 * count && against_wall > 0);
  contact_list_free(&list);
  free(expected);
  free(x);
  carom_system_destroy(s);
}

/* Few bodies are tried pair by pair, many are swept: both find what there is. */
static void test_sweep_finds_all_pairs(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; dimension++) {
    check_sweep(dimension, 12);
    check_sweep(dimension, 24);
    check_sweep(dimension, BALLS);
  }
}

/* Two balls in one place have no direction between them: any will do, but it must be one. */
static void test_coinciding_centres(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; dimension++) {
    carom_system *s = make_balls(dimension, 12);
    double *x = calloc((size_t)s->coordinate_count, sizeof(double));
    rng r;
    rng_seed(&r, 62, 0);
    arrange(s, IN_ONE_PLACE, &r, x);
    arena memory;
    arena_init(&memory);
    contact c;
    contact_id id = {CONTACT_PAIR, 1, 2, 0, system_pair_property(s, 1, 2)};
    contact_geometry(s, &id, x, &c, &memory);
    assert_near(c.gap, -s->bodies[1].radius - s->bodies[2].radius, 1e-15);
    for (int i = 0; i < dimension; i++)
      for (int j = 0; j < dimension; j++) {
        double product = 0;
        for (int k = 0; k < dimension; k++) product += c.frame[i][k] * c.frame[j][k];
        assert_near(product, i == j, 1e-15);
      }
    arena_free(&memory);
    free(x);
    carom_system_destroy(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sweep_finds_all_pairs),
      cmocka_unit_test(test_coinciding_centres),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
