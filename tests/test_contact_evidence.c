/* Contacts told by states alone: exact bounces that are never seen to penetrate, built-in scenes sampled
 * coarsely, noise, bodies at rest, free flight. */
#include "learn/contact_evidence.h"

#include "base/rng.h"
#include "physics/collision.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/quick.h"
#include "support/systems.h"

/* Trajectories with the flags that are true of them. */
typedef struct film {
  carom_system *system;
  int count, states, size;
  double dt;
  double *x, *v;
  uint8_t *truth;
} film;

static film film_make(carom_system *system, int count, int states, double dt) {
  const carom_system_info info = carom_system_describe(system);
  film f = {.system = system, .count = count, .states = states, .dt = dt};
  f.size = info.point_count * info.dimension;
  const size_t all = (size_t)count * (size_t)states;
  f.x = calloc(all * (size_t)f.size, sizeof(double));
  f.v = calloc(all * (size_t)f.size, sizeof(double));
  f.truth = calloc(all, 1);
  return f;
}

static void film_free(film *f) {
  free(f->x);
  free(f->v);
  free(f->truth);
  carom_system_destroy(f->system);
}

static void add_noise(film *f, double on_x, double on_v) {
  rng random;
  rng_seed(&random, 1, 0);
  for (size_t i = 0; i < (size_t)f->count * (size_t)f->states * (size_t)f->size; i++) {
    f->x[i] += on_x * rng_normal(&random);
    f->v[i] += on_v * rng_normal(&random);
  }
}

/* What was found beside what is true, first states left out. */
typedef struct score {
  int hits, false_alarms, misses;
  evidence_counts counts;
} score;

static double precision_of(const score *s) {
  return s->hits + s->false_alarms == 0 ? 1 : s->hits / (double)(s->hits + s->false_alarms);
}
static double recall_of(const score *s) {
  return s->hits + s->misses == 0 ? 1 : s->hits / (double)(s->hits + s->misses);
}

static score judge(const film *f, bool velocities) {
  motion *motions = calloc((size_t)f->count, sizeof *motions);
  uint8_t *flags = malloc((size_t)f->states), *impacts = malloc((size_t)f->states);
  for (int i = 0; i < f->count; i++) {
    const size_t at = (size_t)i * (size_t)f->states * (size_t)f->size;
    motions[i] =
        (motion){f->states, f->size, f->dt, f->x + at, velocities ? f->v + at : NULL, NULL};
  }
  contact_evidence *evidence;
  assert_int_equal(contact_evidence_create(f->system, f->count, motions, &evidence, NULL),
                   CAROM_OK);
  score s = {0};
  for (int i = 0; i < f->count; i++) {
    assert_int_equal(contact_evidence_flag(evidence, &motions[i], flags, impacts, &s.counts, NULL),
                     CAROM_OK);
    for (int k = 1; k < f->states; k++) {
      const bool truth = f->truth[i * f->states + k] != 0;
      s.hits += truth && flags[k];
      s.false_alarms += !truth && flags[k];
      s.misses += truth && !flags[k];
    }
  }
  contact_evidence_destroy(evidence);
  free(motions);
  free(flags);
  free(impacts);
  return s;
}

/* ---- closed forms ---- */

static carom_system *ball_on_ground(void) {
  return parse_system(
      "{\"carom\": 1, \"name\": \"ball\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 100,"
      "\"gravity\": [0, -9.81],"
      "\"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1}],"
      "\"planes\": [{\"id\": \"ground\", \"normal\": [0, 1], \"offset\": 0}],"
      "\"contacts\": {\"friction\": 0, \"restitution\": 0.7},"
      "\"initial\": {\"sampler\": \"box\", \"low\": [0, 1], \"high\": [1, 2], \"speed\": 1}}");
}

/* A ball that falls from `height` above the ground at time 0 and bounces with e = 0.7: gap and rate at
 * time t, and how often it has bounced. */
static int bouncing(double height, double t, double *gap, double *rate) {
  const double g = 9.81, e = 0.7;
  const double first = sqrt(2 * height / g);
  if (t < first) {
    *gap = height - 0.5 * g * t * t;
    *rate = -g * t;
    return 0;
  }
  double since = t - first, speed = e * g * first;
  int bounces = 1;
  for (; since >= 2 * speed / g; bounces++, speed *= e) since -= 2 * speed / g;
  *gap = speed * since - 0.5 * g * since * since;
  *rate = speed - g * since;
  return bounces;
}

static film bounces(double dt) {
  film f = film_make(ball_on_ground(), 10, (int)(1.2 / dt), dt);
  for (int i = 0; i < f.count; i++) {
    int before = 0;
    for (int k = 0; k < f.states; k++) {
      double gap, rate;
      const int now = bouncing(0.5 + 0.13 * i, k * dt, &gap, &rate);
      const size_t at = ((size_t)i * (size_t)f.states + (size_t)k) * 2;
      f.x[at] = 0.3 * k * dt;
      f.x[at + 1] = gap + 0.1;
      f.v[at] = 0.3;
      f.v[at + 1] = rate;
      f.truth[i * f.states + k] = k > 0 && now > before;
      before = now;
    }
  }
  return f;
}

// nothing ever penetrates, every bounce is found in its step
static void exact_bounces(void **state) {
  (void)state;
  static const double steps[] = {0.02, 0.01, 0.003};
  for (int k = 0; k < 3; k++) {
    film f = bounces(steps[k]);
    const score s = judge(&f, true);
    assert_int_equal(s.counts.contacts[EVIDENCE_PENETRATION], 0);
    assert_true(s.hits >= 15);
    assert_int_equal(s.misses, 0);
    assert_int_equal(s.false_alarms, 0);
    // positions alone tell the same, up to a step where a bounce is at a sample
    const score alone = judge(&f, false);
    assert_true(recall_of(&alone) >= 0.95 && precision_of(&alone) >= 0.95);
    film_free(&f);
  }
}

static void noisy_bounces(void **state) {
  (void)state;
  film f = bounces(0.01);
  // a hundredth of the fall, and of the speeds
  add_noise(&f, 0.002, 0.02);
  const score s = judge(&f, true);
  assert_true(recall_of(&s) >= 0.9);
  assert_true(precision_of(&s) >= 0.9);
  film_free(&f);
}

static carom_system *two_disks(void) {
  return parse_system(
      "{\"carom\": 1, \"name\": \"disks\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 100,"
      "\"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1},"
      "{\"id\": \"b\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1},"
      "{\"id\": \"c\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1}],"
      "\"contacts\": {\"pairs\": true, \"friction\": 0, \"restitution\": 1},"
      "\"initial\": {\"sampler\": \"box\", \"low\": [0, 0], \"high\": [2, 2], \"speed\": 1}}");
}

/* Two equal disks with the centre of both at rest fly towards each other, `offset` beside the line of
 * their centres, and exchange the normal parts of their velocities; a third one is far away. */
static film disk_collisions(void) {
  enum { COUNT = 20, STATES = 60 };
  const double dt = 0.02;
  film f = film_make(two_disks(), COUNT, STATES, dt);
  for (int i = 0; i < COUNT; i++) {
    const double offset = 0.011 * i; // 0.2 and more pass by
    const bool meet = offset < 0.2;
    const double start[2] = {-0.5, offset / 2}, speed = 1.013 + 0.03 * i;
    const double reach = meet ? sqrt(0.01 - offset * offset / 4) : 0;
    const double when = (0.5 - reach) / speed;
    const double normal[2] = {-reach / 0.1, offset / 2 / 0.1};
    for (int k = 0; k < STATES; k++) {
      const double t = k * dt;
      double v[2] = {speed, 0}, x[2] = {start[0] + speed * t, start[1]};
      if (meet && t >= when) {
        const double along = speed * normal[0];
        v[0] -= 2 * along * normal[0], v[1] -= 2 * along * normal[1];
        x[0] = start[0] + speed * when + v[0] * (t - when);
        x[1] = start[1] + v[1] * (t - when);
      }
      double *at = f.x + (size_t)(i * STATES + k) * 6, *rate = f.v + (size_t)(i * STATES + k) * 6;
      for (int j = 0; j < 2; j++) {
        at[j] = x[j], at[2 + j] = -x[j], at[4 + j] = 5;
        rate[j] = v[j], rate[2 + j] = -v[j];
      }
      f.truth[i * STATES + k] = meet && t >= when && t - dt < when;
    }
  }
  return f;
}

static void exact_collisions(void **state) {
  (void)state;
  film f = disk_collisions();
  const score s = judge(&f, true);
  assert_int_equal(s.counts.contacts[EVIDENCE_PENETRATION], 0);
  assert_int_equal(s.hits, 19);
  assert_int_equal(s.misses, 0);
  assert_int_equal(s.false_alarms, 0);
  film_free(&f);
}

// which contact it was: the pair that met, not the ones that did not
static void contacts_are_attributed(void **state) {
  (void)state;
  film f = disk_collisions();
  contact_evidence *evidence;
  contact_list found;
  contact_list_init(&found);
  assert_int_equal(contact_evidence_create_plain(f.system, &evidence, NULL), CAROM_OK);
  int seen = 0;
  for (int i = 0; i < f.count; i++) {
    const size_t at = (size_t)i * (size_t)f.states * (size_t)f.size;
    const motion m = {f.states, f.size, f.dt, f.x + at, f.v + at, NULL};
    for (int k = 1; k < f.states; k++) {
      if (f.truth[i * f.states + k] == 0) continue;
      assert_int_equal(contact_evidence_attribute(evidence, &m, k, &found, NULL), CAROM_OK);
      assert_int_equal(found.count, 1);
      assert_int_equal(found.ids[0].property, 0);
      seen++;
    }
  }
  assert_int_equal(seen, 19);
  contact_list_free(&found);
  contact_evidence_destroy(evidence);
  film_free(&f);
}

/* A ball slides on the ground, held by it and never in it, then flies off an edge it does not see: of
 * `resting` states all are in contact. */
static void bodies_at_rest(void **state) {
  (void)state;
  enum { COUNT = 4, STATES = 80, FALL = 40 };
  const double dt = 0.01, g = 9.81;
  film f = film_make(ball_on_ground(), COUNT, STATES, dt);
  for (int i = 0; i < COUNT; i++) {
    const double height = 0.5 * g * pow((FALL - 0.5) * dt, 2);
    for (int k = 0; k < STATES; k++) {
      const double t = k * dt;
      const size_t at = (size_t)(i * STATES + k) * 2;
      const bool held = k >= FALL;
      f.x[at] = t;
      f.x[at + 1] = 0.1 + (held ? 0 : height - 0.5 * g * t * t);
      f.v[at] = 1;
      f.v[at + 1] = held ? 0 : -g * t;
      f.truth[i * STATES + k] = held;
    }
  }
  const score s = judge(&f, true);
  assert_int_equal(s.counts.contacts[EVIDENCE_PENETRATION], 0);
  assert_int_equal(s.misses, 0);
  assert_int_equal(s.false_alarms, 0);
  assert_true(s.counts.contacts[EVIDENCE_HELD] >= COUNT * (STATES - FALL - 2));
  film_free(&f);
}

/* ---- simulations ---- */

/* The built-in scene at a time step `every` times finer, one state in `every` kept: what happened in
 * between is true, and is hardly ever seen to penetrate. */
static film simulated(const char *scene, int count, int every) {
  carom_system *system = load_system(scene);
  carom_rollout_options o = carom_rollout_default_options(system);
  film f = film_make(system, count, o.steps + 1, o.dt);
  o.steps *= every;
  o.dt /= every;
  const size_t size = (size_t)f.size, fine = (size_t)o.steps + 1;
  double *x0 = malloc(sizeof(double) * size * (size_t)count),
         *v0 = malloc(sizeof(double) * size * (size_t)count);
  double *x = malloc(sizeof(double) * size * fine * (size_t)count);
  double *v = malloc(sizeof(double) * size * fine * (size_t)count);
  uint8_t *touched = malloc(fine * (size_t)count);
  assert_int_equal(carom_system_sample(system, 3, count, x0, v0, NULL), CAROM_OK);
  assert_int_equal(
      carom_system_simulate(system, &o, NULL, count, x0, v0, x, v, touched, NULL, NULL), CAROM_OK);
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < f.states; k++) {
      const size_t to = (size_t)i * (size_t)f.states + (size_t)k;
      const size_t from = (size_t)i * fine + (size_t)(k * every);
      memcpy(f.x + to * size, x + from * size, sizeof(double) * size);
      memcpy(f.v + to * size, v + from * size, sizeof(double) * size);
      for (int j = 0; j < every && k > 0; j++) f.truth[to] |= touched[from - (size_t)j];
    }
  }
  free(x0);
  free(v0);
  free(x);
  free(v);
  free(touched);
  return f;
}

static const char *const scenes[] = {"bd1",   "bp5",  "bp5-e",  "bd5", "cp3",
                                     "cp3-e", "gyro", "gyro-e", "rope"};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

static int trajectories(void) { return quick() ? 8 : 60; }

// where the engine says so, and nowhere else: chains that whip are no contacts
static void flags_of_the_engine(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    film f = simulated(scenes[k], trajectories(), 1);
    const score s = judge(&f, true);
    assert_true(s.hits > 0);
    assert_int_equal(s.misses, 0);
    assert_int_equal(s.false_alarms, 0);
    film_free(&f);
  }
}

// sampled so coarsely that an impact is over before it is seen
static void contacts_between_samples(void **state) {
  (void)state;
  static const double least_recall[SCENES] = {0.97, 0.95, 0.98, 0.9, 0.85, 0.97, 0.7, 0.85, 0.93};
  const double less = quick() ? 0.15 : 0; // few contacts are not all of a mean
  for (int k = 0; k < SCENES; k++) {
    film f = simulated(scenes[k], trajectories(), 10);
    const score s = judge(&f, true), alone = judge(&f, false);
    print_message("%-7s precision %.3f recall %.3f, from positions alone %.3f %.3f\n", scenes[k],
                  precision_of(&s), recall_of(&s), precision_of(&alone), recall_of(&alone));
    assert_true(precision_of(&s) >= 0.995);
    assert_true(recall_of(&s) >= least_recall[k] - less);
    assert_true(precision_of(&alone) >= 0.93);
    assert_true(recall_of(&alone) >= least_recall[k] - 0.2 - less);
    film_free(&f);
  }
}

/* ---- no contact ---- */

// pendulums high above the ground: strong accelerations, and all of them smooth
static void whips_are_no_contacts(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  const carom_system_info info = carom_system_describe(system);
  char *text = strdup(info.json);
  char *offset = strstr(text, "\"offset\"");
  assert_non_null(offset);
  char *digit = strpbrk(offset, "0123456789");
  // the ground one whole metre lower
  *digit = (char)(*digit + 1);
  const char *place = "cp3-high.json";
  FILE *file = fopen(place, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  film f = simulated(place, quick() ? 10 : 100, 1);
  const score s = judge(&f, true), alone = judge(&f, false);
  assert_int_equal(s.hits + s.misses, 0);
  assert_int_equal(s.false_alarms, 0);
  assert_int_equal(alone.false_alarms, 0);
  remove(place);
  free(text);
  film_free(&f);
  carom_system_destroy(system);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_bounces),
      cmocka_unit_test(noisy_bounces),
      cmocka_unit_test(exact_collisions),
      cmocka_unit_test(contacts_are_attributed),
      cmocka_unit_test(bodies_at_rest),
      cmocka_unit_test(flags_of_the_engine),
      cmocka_unit_test(contacts_between_samples),
      cmocka_unit_test(whips_are_no_contacts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
