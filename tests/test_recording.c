/* Trajectories that were measured: of several lengths, with gaps, without velocities or with those of
 * another time, with noise, in other units; and what is said about them. */
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/messages.h"
#include "support/recordings.h"

// the first finding of a kind; NULL if there is none
static const carom_finding *finding_of(const carom_dataset *data, carom_finding_kind kind) {
  for (int k = 0; k < data->finding_count; k++)
    if (data->findings[k].kind == kind) return &data->findings[k];
  return NULL;
}

static void assert_finding(const carom_dataset *data, carom_finding_kind kind, bool warning,
                           const char *piece) {
  for (int k = 0; k < data->finding_count; k++) {
    const carom_finding *f = &data->findings[k];
    if (f->kind == kind && f->warning == warning && strstr(f->text, piece) != NULL) return;
  }
  for (int k = 0; k < data->finding_count; k++) print_message("%s\n", data->findings[k].text);
  fail_msg("no finding '%s'", piece);
}

static carom_dataset *cut_given(const recording *r, const carom_trajectories *given,
                                const carom_dataset_options *o) {
  carom_dataset *data;
  carom_error error;
  if (carom_dataset_from_trajectories(r->system, given, o, &data, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return data;
}

// lengths and NaN at the end say the same, and what is behind the end is never looked at
static void lengths_and_padding(void **state) {
  (void)state;
  recording r = record("cp3", 20, 40);
  carom_dataset_options o = small_options(r.system);
  int lengths[20];
  for (int k = 0; k < 20; k++) lengths[k] = k == 0 ? 3 : 10 + k;
  double *kept = malloc(sizeof(double) * 20 * (size_t)r.states * r.size);
  memcpy(kept, r.x, sizeof(double) * 20 * (size_t)r.states * r.size);
  for (int k = 0; k < 20; k++)
    for (int i = lengths[k]; i < r.states; i++)
      for (size_t c = 0; c < r.size; c++)
        r.x[((size_t)k * (size_t)r.states + (size_t)i) * r.size + c] = NAN;
  carom_trajectories given = trajectories_of(&r, NULL);
  carom_dataset *padded = cut_given(&r, &given, &o);
  assert_finding(padded, CAROM_FINDING_TRAJECTORIES, false, "20 of 20 trajectories end in missing");
  assert_finding(padded, CAROM_FINDING_TRAJECTORIES, true, "1 pieces with 3 states");
  given.x = kept;
  given.lengths = lengths;
  carom_dataset *said = cut_given(&r, &given, &o);
  assert_same_data(r.system, padded, said);
  assert_true(said->train.count > 20);
  // no chunk reaches over the end of its trajectory
  recording whole = r;
  whole.x = kept;
  uint8_t *owner = find_owners(&whole, said);
  for (int k = 0; k < 20; k++)
    for (int i = lengths[k]; i < r.states; i++) assert_int_equal(owner[k * r.states + i], 0);
  lengths[3] = 42;
  carom_dataset *data;
  carom_error error;
  assert_int_equal(carom_dataset_from_trajectories(r.system, &given, &o, &data, &error),
                   CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "trajectory 3 has a length of 42");
  free(owner);
  free(kept);
  carom_dataset_destroy(padded);
  carom_dataset_destroy(said);
  record_free(&r);
}

static void gaps_are_cut_out(void **state) {
  (void)state;
  recording r = record("bp5", 6, 60);
  carom_dataset_options o = small_options(r.system);
  o.validation = o.test = 0;
  // of trajectory 1 a state in the middle, of trajectory 2 one that leaves a piece too short behind it
  r.x[((size_t)r.states + 30) * r.size + 3] = NAN;
  r.v[((size_t)(2 * r.states) + 57) * r.size] = NAN;
  // of trajectory 3 the first two, side by side: there is no piece before or between them
  r.x[(size_t)(3 * r.states) * r.size] = r.x[((size_t)(3 * r.states) + 1) * r.size] = NAN;
  const carom_trajectories given = trajectories_of(&r, NULL);
  carom_dataset *data = cut_given(&r, &given, &o);
  assert_finding(data, CAROM_FINDING_TRAJECTORIES, true,
                 "4 states inside 3 trajectories are missing");
  assert_finding(data, CAROM_FINDING_TRAJECTORIES, true, "1 pieces with 3 states");
  for (size_t i = 0; i < (size_t)data->train.count * 5 * r.size; i++)
    assert_true(isfinite(data->train.x[i]) && isfinite(data->train.v[i]));
  uint8_t *owner = find_owners(&r, data);
  assert_int_equal(owner[r.states + 30], 0);
  for (int k = 57; k < 61; k++) assert_int_equal(owner[2 * r.states + k], 0);
  free(owner);
  carom_dataset_destroy(data);
  record_free(&r);
}

// greatest and mean distance of the velocities of two data sets with the same chunks
static double velocity_distance(const recording *r, const carom_dataset *a, const carom_dataset *b,
                                double *mean) {
  const size_t all = (size_t)a->train.count * (size_t)a->train.states * r->size;
  assert_int_equal(a->train.count, b->train.count);
  assert_memory_equal(a->train.x, b->train.x, sizeof(double) * all);
  double largest = 0;
  *mean = 0;
  for (size_t i = 0; i < all; i++) {
    const double distance = fabs(a->train.v[i] - b->train.v[i]);
    largest = fmax(largest, distance);
    *mean += distance / (double)all;
  }
  return largest;
}

/* Balls that fly in straight lines: what is estimated on each side of an impact is exact, and any
 * difference across one is off by the jump. */
static void velocities_are_estimated_beside_impacts(void **state) {
  (void)state;
  recording r = record("bp5-e", 30, 60);
  carom_dataset_options o = small_options(r.system);
  carom_trajectories given = trajectories_of(&r, r.contact);
  carom_dataset *truth = cut_given(&r, &given, &o);
  given.v = NULL;
  for (int k = 0; k < 2; k++) {
    o.velocity = k == 0 ? CAROM_VELOCITY_GIVEN : CAROM_VELOCITY_CENTRAL;
    carom_dataset *made = cut_given(&r, &given, &o);
    double mean;
    velocity_distance(&r, truth, made, &mean);
    // impacts in consecutive steps leave single states that nothing can tell
    assert_true(mean < 0.02);
    assert_finding(made, CAROM_FINDING_VELOCITY, false, "there are none in the data");
    carom_dataset_destroy(made);
  }
  o.velocity = CAROM_VELOCITY_NEXT;
  carom_dataset *data;
  carom_error error;
  assert_int_equal(carom_dataset_from_trajectories(r.system, &given, &o, &data, &error),
                   CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "no velocities that could be moved");
  carom_dataset_destroy(truth);
  record_free(&r);
}

/* The velocities of a recording as another convention has them: of the step before (-1) or after (1)
 * each state. */
static double *velocities_of_steps(const recording *r, int side) {
  double *v = malloc(sizeof(double) * (size_t)r->count * (size_t)r->states * r->size);
  for (int i = 0; i < r->count; i++) {
    for (int k = 0; k < r->states; k++) {
      const int low = side < 0 ? (k > 0 ? k - 1 : 0) : (k < r->states - 1 ? k : k - 1);
      const size_t at = (size_t)(i * r->states) * r->size, to = at + (size_t)k * r->size;
      for (size_t c = 0; c < r->size; c++)
        v[to + c] =
            (r->x[at + (size_t)(low + 1) * r->size + c] - r->x[at + (size_t)low * r->size + c]) /
            0.01;
    }
  }
  return v;
}

static void velocity_conventions_are_told(void **state) {
  (void)state;
  static const char *const scenes[] = {"cp3-e", "cp3", "bd1"};
  static const struct {
    int side;
    carom_velocity remedy;
    const char *text;
  } cases[] = {{-1, CAROM_VELOCITY_NEXT, "take --velocity next"},
               {1, CAROM_VELOCITY_PREVIOUS, "take --velocity previous"}};
  for (int s = 0; s < 3; s++) {
    recording r = record(scenes[s], 30, 99);
    carom_trajectories given = trajectories_of(&r, NULL);
    carom_dataset_options o = small_options(r.system);
    // a step of a body that turns is a chord, which breaks its constraints
    o.project = true;
    carom_dataset *truth = cut_given(&r, &given, &o);
    assert_finding(truth, CAROM_FINDING_VELOCITY, false, "v_k belongs to x_k");
    given.contact = r.contact;
    carom_dataset *flagged = cut_given(&r, &given, &o);
    for (int k = 0; k < 2; k++) {
      double *v = velocities_of_steps(&r, cases[k].side), off, late;
      given.v = v;
      o.velocity = CAROM_VELOCITY_GIVEN;
      carom_dataset *wrong = cut_given(&r, &given, &o);
      assert_finding(wrong, CAROM_FINDING_VELOCITY, true, cases[k].text);
      o.velocity = cases[k].remedy;
      carom_dataset *moved = cut_given(&r, &given, &o);
      assert_finding(moved, CAROM_FINDING_VELOCITY, false, "on each side of an impact");
      assert_finding(moved, CAROM_FINDING_VELOCITY, false, "v_k is that of the step");
      velocity_distance(&r, flagged, wrong, &late);
      velocity_distance(&r, flagged, moved, &off);
      assert_true(off < 0.35 * late);
      carom_dataset_destroy(wrong);
      carom_dataset_destroy(moved);
      free(v);
    }
    carom_dataset_destroy(flagged);
    carom_dataset_destroy(truth);
    record_free(&r);
  }
}

// where they are so far off that constraints break, the message tells why
static void late_velocities_of_a_chain(void **state) {
  (void)state;
  recording r = record("cp3", 30, 99);
  double *v = velocities_of_steps(&r, -1);
  carom_trajectories given = trajectories_of(&r, NULL);
  given.v = v;
  carom_dataset_options o = small_options(r.system);
  carom_dataset *data;
  carom_error error;
  assert_int_equal(carom_dataset_from_trajectories(r.system, &given, &o, &data, &error),
                   CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "velocity violates");
  assert_message(&error, CAROM_INVALID_DATA, "take --velocity next");
  o.velocity = CAROM_VELOCITY_NEXT;
  carom_dataset_destroy(cut_given(&r, &given, &o));
  free(v);
  record_free(&r);
}

// straight flight is the same in every convention: nothing is said
static void smooth_motion_is_undecided(void **state) {
  (void)state;
  recording r = record("bp5-e", 20, 60);
  double *v = velocities_of_steps(&r, -1);
  carom_trajectories given = trajectories_of(&r, r.contact);
  given.v = v;
  const carom_dataset_options o = small_options(r.system);
  carom_dataset *data = cut_given(&r, &given, &o);
  assert_null(finding_of(data, CAROM_FINDING_VELOCITY));
  carom_dataset_destroy(data);
  free(v);
  record_free(&r);
}

static void noise_is_projected(void **state) {
  (void)state;
  recording r = record("cp3", 10, 60);
  rng random;
  rng_seed(&random, 7, 0);
  for (size_t i = 0; i < (size_t)r.count * (size_t)r.states * r.size; i++) {
    r.x[i] += 0.05 * 0.35 * rng_normal(&random);
    r.v[i] += 0.05 * rng_normal(&random);
  }
  carom_dataset_options o = small_options(r.system);
  const carom_trajectories given = trajectories_of(&r, NULL);
  carom_dataset *data;
  carom_error error;
  assert_int_equal(carom_dataset_from_trajectories(r.system, &given, &o, &data, &error),
                   CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "--project");
  o.project = true;
  data = cut_given(&r, &given, &o);
  assert_constraints(r.system, &data->train, 1e-9);
  assert_finding(data, CAROM_FINDING_PROJECTION, false, "610 of 610 states were put on");
  carom_dataset_destroy(data);
  // what has no constraints is not moved
  recording clean = record("bp5", 5, 30);
  o = small_options(clean.system);
  o.project = true;
  const carom_trajectories held = trajectories_of(&clean, NULL);
  carom_dataset *kept = cut_given(&clean, &held, &o);
  assert_finding(kept, CAROM_FINDING_PROJECTION, false, "0 of 155 states");
  carom_dataset_destroy(kept);
  record_free(&clean);
  record_free(&r);
}

static void no_contact_is_a_warning(void **state) {
  (void)state;
  recording r = record("bd1", 10, 60);
  // the disk stays in the middle of its box
  for (size_t k = 0; k < (size_t)(r.count * r.states); k++)
    for (size_t c = 0; c < r.size; c++) {
      r.x[k * r.size + c] = 0.5 + (c == 2 || c == 5);
      r.v[k * r.size + c] = 0;
    }
  const carom_dataset_options o = small_options(r.system);
  const carom_trajectories given = trajectories_of(&r, NULL);
  carom_dataset *data = cut_given(&r, &given, &o);
  const carom_finding *f = finding_of(data, CAROM_FINDING_CONTACTS);
  if (f == NULL || !f->warning) fail_msg("no warning");
  assert_finding(data, CAROM_FINDING_CONTACTS, true, "the scene has");
  assert_finding(data, CAROM_FINDING_CONTACTS, true, "The least gap is");
  carom_dataset_destroy(data);
  record_free(&r);
}

static void other_units_are_a_warning(void **state) {
  (void)state;
  recording r = record("bd1", 10, 60);
  const carom_dataset_options o = small_options(r.system);
  carom_trajectories given = trajectories_of(&r, NULL);
  carom_dataset *data = cut_given(&r, &given, &o);
  assert_finding(data, CAROM_FINDING_UNITS, false, "free bodies accelerate by 9.8");
  carom_dataset_destroy(data);
  // the same states, said to be a tenth as far apart
  given.dt = 0.001;
  data = cut_given(&r, &given, &o);
  assert_finding(data, CAROM_FINDING_UNITS, true, "another unit of length");
  carom_dataset_destroy(data);
  record_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lengths_and_padding),
      cmocka_unit_test(gaps_are_cut_out),
      cmocka_unit_test(velocities_are_estimated_beside_impacts),
      cmocka_unit_test(velocity_conventions_are_told),
      cmocka_unit_test(late_velocities_of_a_chain),
      cmocka_unit_test(smooth_motion_is_undecided),
      cmocka_unit_test(noise_is_projected),
      cmocka_unit_test(no_contact_is_a_warning),
      cmocka_unit_test(other_units_are_a_warning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
