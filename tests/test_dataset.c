/* Data sets: shares of contacts, free first states, determinism, splits that have nothing in common,
 * noise on the constraints, trajectories of one's own, and messages about bad ones. */
#include "learn/chunks.h"
#include "learn/dataset.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/messages.h"
#include "support/recordings.h"
#include "support/systems.h"

static carom_dataset *generate(const carom_system *system, const carom_dataset_options *options) {
  carom_dataset *data;
  carom_error error;
  if (carom_dataset_generate(system, NULL, options, &data, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return data;
}

// first states are free, flags tell the truth
static void assert_flags(const carom_system *system, const carom_chunks *chunks) {
  size_t states = (size_t)chunks->count * (size_t)chunks->states;
  uint8_t *flags = malloc(states);
  assert_int_equal(contacts_flag(system, states, chunks->x, flags, NULL), CAROM_OK);
  assert_memory_equal(flags, chunks->contact, states);
  for (int k = 0; k < chunks->count; k++) assert_int_equal(flags[k * chunks->states], 0);
  free(flags);
}

// a chunk is what the system does from its first state on
static void assert_motion(const carom_system *system, const carom_chunks *chunks) {
  size_t size = size_of(system), each = (size_t)chunks->states * size;
  carom_rollout_options o = carom_rollout_default_options(system);
  o.steps = chunks->states - 1;
  double *x = malloc(sizeof(double) * each), *v = malloc(sizeof(double) * each);
  for (int k = 0; k < chunks->count; k++) {
    const double *from_x = chunks->x + (size_t)k * each, *from_v = chunks->v + (size_t)k * each;
    assert_int_equal(
        carom_system_simulate(system, &o, NULL, 1, from_x, from_v, x, v, NULL, NULL, NULL),
        CAROM_OK);
    for (size_t i = 0; i < each; i++) assert_true(fabs(x[i] - from_x[i]) <= 1e-9);
    for (size_t i = 0; i < each; i++) assert_true(fabs(v[i] - from_v[i]) <= 1e-7);
  }
  free(x);
  free(v);
}

static void chunks_are_as_wanted(void **state) {
  (void)state;
  static const char *const scenes[] = {"cp3", "bp5", "bd5", "gyro", "rope"};
  for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++) {
    carom_system *system = load_system(scenes[k]);
    const carom_dataset_options o = small_options(system);
    carom_dataset *data = generate(system, &o);
    assert_true(data->dt == carom_system_describe(system).dt);
    assert_int_equal(data->train.count, 100);
    assert_int_equal(data->validation.count, 30);
    assert_int_equal(data->test.count, 20);
    assert_int_equal(data->report.failed_programs, 0);
    assert_true(data->report.time_steps == (int64_t)150 * o.steps);
    for (int split = 0; split < SPLIT_COUNT; split++) {
      const carom_chunks *chunks = dataset_split(data, split);
      assert_int_equal(chunks->states, 5);
      assert_int_equal(carom_chunks_with_contact(chunks), chunks->count / 2);
      assert_flags(system, chunks);
    }
    assert_motion(system, &data->test);
    carom_dataset_destroy(data);
    carom_system_destroy(system);
  }
}

static void share_is_as_wanted(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  carom_dataset_options o = small_options(system);
  static const double shares[] = {0, 0.2, 0.8};
  for (int k = 0; k < 3; k++) {
    o.contact_share = shares[k];
    carom_dataset *data = generate(system, &o);
    assert_int_equal(carom_chunks_with_contact(&data->train), lround(100 * shares[k]));
    carom_dataset_destroy(data);
  }
  carom_system_destroy(system);
}

// trajectories as long as a chunk have no choice: all that touch are taken, and they are few
static void few_contacts_are_all_taken(void **state) {
  (void)state;
  carom_system *system = load_system("bd1");
  carom_dataset_options o = small_options(system);
  o.steps = 4;
  carom_dataset *half = generate(system, &o);
  o.contact_share = 1;
  carom_dataset *all = generate(system, &o);
  assert_same_data(system, half, all);
  int touching = carom_chunks_with_contact(&half->train);
  assert_true(touching > 0 && touching < 50);
  carom_dataset_destroy(half);
  carom_dataset_destroy(all);
  carom_system_destroy(system);
}

static void same_for_any_threads(void **state) {
  (void)state;
  static const char *const scenes[] = {"cp3", "gyro"};
  for (int k = 0; k < 2; k++) {
    carom_system *system = load_system(scenes[k]);
    carom_dataset_options o = small_options(system);
    o.noise = 0.01;
    o.threads = 1;
    carom_dataset *first = generate(system, &o);
    for (int threads = 2; threads <= 4; threads += 2) {
      o.threads = threads;
      carom_dataset *other = generate(system, &o);
      assert_same_data(system, first, other);
      carom_dataset_destroy(other);
    }
    carom_dataset_destroy(first);
    carom_system_destroy(system);
  }
}

// the number of equal states in the first states of two sets of chunks
static int shared_states(const carom_system *system, const carom_chunks *a, const carom_chunks *b) {
  size_t size = size_of(system), bytes = sizeof(double) * size;
  int shared = 0;
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++)
      shared += a != b || i != j ? memcmp(a->x + (size_t)i * (size_t)a->states * size,
                                          b->x + (size_t)j * (size_t)b->states * size, bytes) == 0
                                 : 0;
  return shared;
}

static void seeds_and_splits_differ(void **state) {
  (void)state;
  carom_system *system = load_system("bp5");
  carom_dataset_options o = small_options(system);
  carom_dataset *first = generate(system, &o);
  o.seed = 1;
  carom_dataset *second = generate(system, &o);
  assert_int_equal(shared_states(system, &first->train, &first->train), 0);
  assert_int_equal(shared_states(system, &first->train, &first->validation), 0);
  assert_int_equal(shared_states(system, &first->train, &first->test), 0);
  assert_int_equal(shared_states(system, &first->validation, &first->test), 0);
  assert_int_equal(shared_states(system, &first->train, &second->train), 0);
  carom_dataset_destroy(first);
  carom_dataset_destroy(second);
  carom_system_destroy(system);
}

/* ---- noise ---- */

static void noise_keeps_constraints(void **state) {
  (void)state;
  static const char *const scenes[] = {"cp3",
                                       "gyro",
                                       "bd5",
                                       CAROM_SOURCE_DIR "/examples/scenes/tethered-disk.json",
                                       CAROM_SOURCE_DIR "/examples/scenes/double-pendulum.json",
                                       CAROM_SOURCE_DIR "/examples/scenes/spheres.json"};
  for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++) {
    carom_system *system = load_system(scenes[k]);
    carom_dataset_options o = small_options(system);
    carom_dataset *clean = generate(system, &o);
    o.noise = 0.05;
    carom_dataset *noisy = generate(system, &o);
    size_t states = (size_t)clean->train.count * (size_t)clean->train.states;
    assert_constraints(system, &noisy->train, 1e-9);
    // the chunks are the same, and the flags tell what happened
    assert_int_equal(noisy->train.count, clean->train.count);
    assert_memory_equal(noisy->train.contact, clean->train.contact, states);
    double sum = 0;
    for (size_t i = 0; i < states * size_of(system); i++)
      sum += fabs(noisy->train.x[i] - clean->train.x[i]);
    assert_true(sum / (double)(states * size_of(system)) > 0.005);
    carom_dataset_destroy(clean);
    carom_dataset_destroy(noisy);
    carom_system_destroy(system);
  }
}

static double deviation_of(const double *a, const double *b, size_t count) {
  double squares = 0;
  for (size_t i = 0; i < count; i++) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(squares / (double)count);
}

static void noise_has_its_deviation(void **state) {
  (void)state;
  carom_system *system = load_system("bp5");
  carom_dataset_options o = small_options(system);
  carom_dataset *clean = generate(system, &o);
  o.noise = 0.01;
  carom_dataset *noisy = generate(system, &o);
  size_t count = (size_t)clean->train.count * 5 * size_of(system);
  assert_true(fabs(deviation_of(clean->train.x, noisy->train.x, count) - 0.01) < 0.0005);
  assert_true(fabs(deviation_of(clean->train.v, noisy->train.v, count) - 0.01) < 0.0005);
  carom_dataset_destroy(clean);
  carom_dataset_destroy(noisy);
  carom_system_destroy(system);
}

// of a chain the angle and the rate of the first link have the deviation
static void noise_of_a_chain_is_on_angles(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  carom_dataset_options o = small_options(system);
  carom_dataset *clean = generate(system, &o);
  o.noise = 0.01;
  carom_dataset *noisy = generate(system, &o);
  double angle_squares = 0, rate_squares = 0;
  int states = clean->train.count * clean->train.states;
  for (int k = 0; k < states; k++) {
    double angle[2], rate[2];
    const carom_chunks *both[] = {&clean->train, &noisy->train};
    for (int i = 0; i < 2; i++) {
      const double *x = both[i]->x + k * 6, *v = both[i]->v + k * 6;
      angle[i] = atan2(x[0], -x[1]);
      rate[i] = (v[0] * cos(angle[i]) + v[1] * sin(angle[i])) / 0.35;
    }
    angle_squares += pow(remainder(angle[1] - angle[0], 2 * acos(-1)), 2);
    rate_squares += pow(rate[1] - rate[0], 2);
  }
  assert_true(fabs(sqrt(angle_squares / states) - 0.01) < 0.001);
  assert_true(fabs(sqrt(rate_squares / states) - 0.01) < 0.001);
  carom_dataset_destroy(clean);
  carom_dataset_destroy(noisy);
  carom_system_destroy(system);
}

static void too_much_noise_is_refused(void **state) {
  (void)state;
  carom_system *system = load_system(CAROM_SOURCE_DIR "/examples/scenes/tethered-disk.json");
  carom_dataset_options o = small_options(system);
  o.noise = 1e9;
  carom_dataset *data;
  carom_error error;
  assert_int_equal(carom_dataset_generate(system, NULL, &o, &data, &error),
                   CAROM_NUMERICAL_FAILURE);
  assert_message(&error, CAROM_NUMERICAL_FAILURE, "take less noise");
  assert_null(data);
  carom_system_destroy(system);
}

/* ---- trajectories of one's own ---- */

static carom_status cut(const recording *r, const uint8_t *contact, const carom_dataset_options *o,
                        carom_dataset **data, carom_error *error) {
  const carom_trajectories given = trajectories_of(r, contact);
  return carom_dataset_from_trajectories(r->system, &given, o, data, error);
}

static void own_trajectories_with_and_without_flags(void **state) {
  (void)state;
  recording r = record("cp3", 40, 100);
  carom_dataset_options o = small_options(r.system);
  carom_dataset *given, *detected;
  assert_int_equal(cut(&r, r.contact, &o, &given, NULL), CAROM_OK);
  assert_int_equal(cut(&r, NULL, &o, &detected, NULL), CAROM_OK);
  assert_same_data(r.system, given, detected);
  assert_int_equal(given->train.count, 100);
  assert_int_equal(given->validation.count, 30);
  assert_int_equal(given->test.count, 20);
  assert_int_equal(carom_chunks_with_contact(&given->train), 50);
  assert_true(given->dt == 0.01);
  for (int split = 0; split < SPLIT_COUNT; split++)
    assert_flags(r.system, dataset_split(given, split));
  carom_dataset_destroy(given);
  carom_dataset_destroy(detected);
  record_free(&r);
}

static void own_trajectories_are_split(void **state) {
  (void)state;
  recording r = record("cp3", 40, 100);
  carom_dataset_options o = carom_dataset_default_options(r.system);
  carom_dataset *data;
  assert_int_equal(cut(&r, NULL, &o, &data, NULL), CAROM_OK);
  // more is wanted than there is: what is there, without overlap
  assert_true(data->train.count > 400 && data->train.count < 800);
  uint8_t *owner = find_owners(&r, data);
  // 800 : 100 : 100 of 40 trajectories
  int of_split[SPLIT_COUNT] = {0};
  for (int k = 0; k < r.count; k++) {
    int seen[SPLIT_COUNT + 1] = {0};
    for (int i = 0; i < r.states; i++) seen[owner[k * r.states + i]] = 1;
    assert_int_equal(seen[1] + seen[2] + seen[3], 1);
    for (int split = 0; split < SPLIT_COUNT; split++) of_split[split] += seen[split + 1];
  }
  assert_int_equal(of_split[0], 32);
  assert_int_equal(of_split[1], 4);
  assert_int_equal(of_split[2], 4);
  free(owner);
  carom_dataset_destroy(data);
  record_free(&r);
}

static void one_chunk_each_where_enough(void **state) {
  (void)state;
  recording r = record("bp5", 50, 60);
  carom_dataset_options o = small_options(r.system);
  o.train = 40, o.validation = 5, o.test = 5;
  carom_dataset *data;
  assert_int_equal(cut(&r, NULL, &o, &data, NULL), CAROM_OK);
  uint8_t *owner = find_owners(&r, data);
  assert_int_equal(data->train.count, 40);
  assert_int_equal(carom_chunks_with_contact(&data->train), 20);
  free(owner);
  carom_dataset_destroy(data);
  record_free(&r);
}

static void one_trajectory_is_cut_along_time(void **state) {
  (void)state;
  recording r = record("bp5", 1, 999);
  carom_dataset_options o = small_options(r.system);
  o.train = 40, o.validation = 5, o.test = 5;
  carom_dataset *data;
  assert_int_equal(cut(&r, NULL, &o, &data, NULL), CAROM_OK);
  uint8_t *owner = find_owners(&r, data);
  for (int k = 0; k < r.states; k++) {
    if (owner[k] == 1) assert_true(k < 800);
    if (owner[k] == 2) assert_true(k >= 800 && k < 900);
    if (owner[k] == 3) assert_true(k >= 900);
  }
  assert_int_equal(data->train.count, 40);
  assert_int_equal(data->validation.count, 5);
  assert_int_equal(data->test.count, 5);
  free(owner);
  carom_dataset_destroy(data);
  record_free(&r);
}

// short data is used to the last state
static void short_data_is_packed(void **state) {
  (void)state;
  recording r = record("bp5", 10, 9);
  memset(r.contact, 0, (size_t)r.count * (size_t)r.states);
  carom_dataset_options o = small_options(r.system);
  o.validation = o.test = 0;
  carom_dataset *data;
  assert_int_equal(cut(&r, r.contact, &o, &data, NULL), CAROM_OK);
  assert_int_equal(data->train.count, 20);
  assert_int_equal(data->validation.count, 0);
  assert_int_equal(data->test.count, 0);
  carom_dataset_destroy(data);
  record_free(&r);
}

static void own_trajectories_are_checked(void **state) {
  (void)state;
  recording r = record("cp3", 6, 20);
  const carom_dataset_options o = small_options(r.system);
  carom_dataset *data;
  carom_error error;
  // third trajectory, step 17, second body, first coordinate
  size_t at = ((size_t)(2 * r.states + 17)) * r.size + 2;
  double kept = r.x[at];
  r.x[at] = INFINITY;
  assert_int_equal(cut(&r, NULL, &o, &data, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "trajectory 2, step 17: position of body 'b'");
  assert_message(&error, CAROM_INVALID_DATA, "coordinate 2 of the state");
  assert_null(data);
  r.x[at] = kept + 0.2;
  assert_int_equal(cut(&r, NULL, &o, &data, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "trajectory 2, step 17: position violates");
  assert_message(&error, CAROM_INVALID_DATA, "more than 0.1 of");
  assert_message(&error, CAROM_INVALID_DATA, "--project");
  r.x[at] = kept;
  r.v[at] = INFINITY;
  assert_int_equal(cut(&r, NULL, &o, &data, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "trajectory 2, step 17: velocity of body 'b'");
  assert_int_equal(cut(&r, NULL, &o, &data, NULL), CAROM_INVALID_DATA);
  record_free(&r);
}

static void unusable_trajectories_are_refused(void **state) {
  (void)state;
  recording r = record("cp3", 6, 20);
  carom_dataset_options o = small_options(r.system);
  carom_dataset *data;
  carom_error error;
  o.chunk = 22;
  assert_int_equal(cut(&r, NULL, &o, &data, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "shorter than a chunk of 22 states");
  o.chunk = 5;
  memset(r.contact, 1, (size_t)r.count * (size_t)r.states);
  assert_int_equal(cut(&r, r.contact, &o, &data, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "no training chunk");
  r.count = 0;
  assert_int_equal(cut(&r, NULL, &o, &data, &error), CAROM_INVALID_DATA);
  r.count = 6;
  carom_trajectories given = trajectories_of(&r, NULL);
  given.dt = 0;
  assert_int_equal(carom_dataset_from_trajectories(r.system, &given, &o, &data, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "time step");
  record_free(&r);
}

// a scene with one given state: splits are parts of one trajectory
static void one_given_state(void **state) {
  (void)state;
  carom_system *system = load_system(CAROM_SOURCE_DIR "/examples/scenes/tethered-disk.json");
  carom_dataset_options o = small_options(system);
  carom_dataset *data = generate(system, &o);
  assert_true(data->train.count > 30 && data->validation.count > 0 && data->test.count > 0);
  assert_int_equal(shared_states(system, &data->train, &data->train), 0);
  assert_int_equal(shared_states(system, &data->train, &data->test), 0);
  assert_flags(system, &data->train);
  carom_dataset_destroy(data);
  carom_system_destroy(system);
}

/* ---- bad calls ---- */

static void bad_options_are_refused(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  const carom_dataset_options good = small_options(system);
  carom_dataset_options bad[9];
  for (int k = 0; k < 9; k++) bad[k] = good;
  bad[0].train = 0;
  bad[1].validation = -1;
  bad[2].chunk = 1;
  bad[3].contact_share = 1.5;
  bad[4].noise = -1;
  bad[5].noise = NAN;
  bad[6].steps = 3;
  bad[7].threads = -1;
  bad[8].velocity = CAROM_VELOCITY_COUNT;
  carom_dataset *data;
  carom_error error;
  for (int k = 0; k < 9; k++) {
    assert_int_equal(carom_dataset_generate(system, NULL, &bad[k], &data, &error),
                     CAROM_INVALID_ARGUMENT);
    assert_null(data);
    assert_true(strlen(error.message) > 10);
  }
  assert_int_equal(carom_dataset_generate(NULL, NULL, &good, &data, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_int_equal(carom_dataset_generate(system, NULL, &good, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  carom_dataset_destroy(NULL);
  carom_system_destroy(system);
}

typedef struct watcher {
  int64_t last, total;
  bool forward;
  int64_t stop_at;
} watcher;

static bool watch(void *user, int64_t done, int64_t total) {
  watcher *w = user;
  w->forward = w->forward && done >= w->last;
  w->last = done;
  w->total = total;
  return w->stop_at == 0 || done < w->stop_at;
}

static void progress_and_interruption(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  carom_dataset_options o = small_options(system);
  watcher w = {.forward = true};
  o.progress = watch;
  o.progress_user = &w;
  carom_dataset_destroy(generate(system, &o));
  assert_true(w.forward);
  assert_true(w.total == 15000 && w.last == 15000);
  w = (watcher){.forward = true, .stop_at = 8000};
  carom_dataset *data;
  assert_int_equal(carom_dataset_generate(system, NULL, &o, &data, NULL), CAROM_INTERRUPTED);
  assert_null(data);
  carom_system_destroy(system);
}

static void contacts_are_counted(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  const carom_dataset_options o = small_options(system);
  carom_dataset *data = generate(system, &o);
  carom_contact_count counts[3];
  assert_int_equal(carom_chunks_count_contacts(&data->train, system, counts, NULL), CAROM_OK);
  int64_t flagged = 0, chunks = 0, states = 0;
  for (int k = 0; k < data->train.count * data->train.states; k++)
    flagged += data->train.contact[k];
  for (int k = 0; k < 3; k++) {
    assert_true(counts[k].chunks <= counts[k].states);
    states += counts[k].states;
    chunks += counts[k].chunks;
  }
  // every flag has at least one contact, every chunk with one is counted
  assert_true(states >= flagged && flagged > 0);
  assert_true(chunks >= carom_chunks_with_contact(&data->train));
  carom_dataset_destroy(data);
  carom_system_destroy(system);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chunks_are_as_wanted),
      cmocka_unit_test(share_is_as_wanted),
      cmocka_unit_test(few_contacts_are_all_taken),
      cmocka_unit_test(same_for_any_threads),
      cmocka_unit_test(seeds_and_splits_differ),
      cmocka_unit_test(noise_keeps_constraints),
      cmocka_unit_test(noise_has_its_deviation),
      cmocka_unit_test(noise_of_a_chain_is_on_angles),
      cmocka_unit_test(too_much_noise_is_refused),
      cmocka_unit_test(own_trajectories_with_and_without_flags),
      cmocka_unit_test(own_trajectories_are_split),
      cmocka_unit_test(one_chunk_each_where_enough),
      cmocka_unit_test(one_trajectory_is_cut_along_time),
      cmocka_unit_test(short_data_is_packed),
      cmocka_unit_test(own_trajectories_are_checked),
      cmocka_unit_test(unusable_trajectories_are_refused),
      cmocka_unit_test(one_given_state),
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(progress_and_interruption),
      cmocka_unit_test(contacts_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
