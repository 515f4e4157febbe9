/* The search for frictions and restitutions, on disks that fly free in a box: with a potential that is
 * flat and the true masses, only the properties of contacts are left to be wrong. */
#include "learn/golden_section.h"
#include "learn/model.h"
#include "learn/simplex.h"
#include "learn/touch.h"
#include "learn/trainer.h"
#include "support/data_fixture.h"
#include "support/systems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* No gravity; the top is out of reach. Properties are no values of the search's own. */
static const char scene[] =
    "{\"carom\": 1, \"name\": \"slab\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 60,"
    "\"gravity\": [0, 0],"
    "\"bodies\": [{\"id\": \"a\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.1}],"
    "\"planes\": [{\"id\": \"left\", \"normal\": [1, 0], \"offset\": 0},"
    "             {\"id\": \"bottom\", \"normal\": [0, 1], \"offset\": 0},"
    "             {\"id\": \"top\", \"normal\": [0, -1], \"offset\": 50}],"
    "\"contacts\": {\"friction\": 0.16, \"restitution\": 0.44, \"overrides\": ["
    "   {\"body\": \"a\", \"plane\": \"left\", \"friction\": 0.31, \"restitution\": 0.87}]},"
    "\"initial\": {\"sampler\": \"box\", \"low\": [0.1, 0.1], \"high\": [0.5, 0.5],"
    "              \"speed\": 1, \"rate\": 5}}";
enum { LEFT, BOTTOM, TOP };

static int set_up(void **state) {
  carom_system *system = parse_system(scene);
  carom_dataset_options options = carom_dataset_default_options(system);
  options.train = 60;
  options.validation = 5;
  options.test = 1;
  return data_fixture_make(system, options, state);
}

// the truth, but for friction and restitution
static carom_model *make_model_with(const data_fixture *f, carom_contact_model kind,
                                    bool learn_regularizer, int threads, const double friction[3],
                                    const double restitution[3]) {
  carom_model_options options = carom_model_default_options(f->system);
  options.contact = kind;
  options.learn_regularizer = learn_regularizer;
  options.hidden_layers = 1;
  options.hidden_size = 4;
  options.threads = threads;
  carom_model *m;
  assert_int_equal(carom_model_create(f->system, &options, &m, NULL), CAROM_OK);
  double theta[256];
  assert_true(f->system->parameter_count <= 256);
  carom_parameters_default(f->system, theta);
  double *p = carom_model_parameters(m);
  memcpy(p + m->mass, theta + f->system->segments[CAROM_LOG_MASS].offset, sizeof(double));
  memcpy(p + m->moment, theta + f->system->segments[CAROM_LOG_MOMENT].offset, 2 * sizeof(double));
  for (int k = 0; k < 3; k++) {
    p[m->friction + k] = friction[k];
    p[m->restitution + k] = 6 * (restitution[k] - 0.5);
  }
  // no output weights: a flat potential
  for (int i = m->parameter_count - 5; i < m->parameter_count; i++) p[i] = 0;
  return m;
}

static carom_model *make_model_of(const data_fixture *f, carom_contact_model kind, int threads,
                                  const double friction[3], const double restitution[3]) {
  return make_model_with(f, kind, false, threads, friction, restitution);
}

static carom_model *make_model(const data_fixture *f, int threads, const double friction[3],
                               const double restitution[3]) {
  return make_model_of(f, CAROM_CM, threads, friction, restitution);
}

static double loss_of(const data_fixture *f, carom_model *m) {
  double loss;
  assert_int_equal(
      carom_model_loss(m, &f->data->train, f->data->train.count, NULL, &loss, NULL, NULL, NULL),
      CAROM_OK);
  return loss;
}

// moves, none of which raised the training loss
static search_result search_chunks(carom_model *m, const carom_chunks *chunks, adamw *optimizer) {
  double before, after;
  search_result result;
  assert_int_equal(carom_model_loss(m, chunks, chunks->count, NULL, &before, NULL, NULL, NULL),
                   CAROM_OK);
  const observations observed = observations_of(chunks);
  assert_int_equal(property_search_run(m, &observed, optimizer, &result, NULL), CAROM_OK);
  assert_int_equal(carom_model_loss(m, chunks, chunks->count, NULL, &after, NULL, NULL, NULL),
                   CAROM_OK);
  if (result.count == 0) {
    assert_true(after == before && isnan(result.loss_before) && isnan(result.loss_after));
    return result;
  }
  assert_true(after < before);
  assert_near(result.loss_before, before, 1e-12 * before);
  assert_near(result.loss_after, after, 1e-12 * before);
  return result;
}

static int run_search(const data_fixture *f, carom_model *m, adamw *optimizer) {
  const search_result result = search_chunks(m, &f->data->train, optimizer);
  free(result.moves);
  return result.count;
}

/* ---- the simplex ----------------------------------------------------------------------------- */

/* A valley with a kink along x + 2 y = 1, which falls slowly to (0.6, 0.2). */
static carom_status valley(void *user, const double at[2], double *value, carom_error *error) {
  (void)error;
  int *calls = user;
  (*calls)++;
  *value = 10 * fabs(at[0] + 2 * at[1] - 1) + fabs(at[0] - 0.6) + (at[0] < -1 ? INFINITY : 0);
  return *calls > 1000 ? CAROM_INTERRUPTED : CAROM_OK;
}

// from a place where every step along an axis goes up
static void simplex_follows_a_valley(void **state) {
  (void)state;
  int calls = 0;
  double at[2] = {0.2, 0.4}, value;
  assert_int_equal(valley(&calls, at, &value, NULL), CAROM_OK);
  for (int i = 0; i < 4; i++) {
    double beside[2] = {at[0], at[1]}, there;
    beside[i / 2] += i % 2 ? 0.01 : -0.01;
    valley(&calls, beside, &there, NULL);
    assert_true(there > value);
  }
  calls = 0;
  const double step[2] = {0.01, 0.01};
  assert_int_equal(simplex_minimise(valley, &calls, step, 80, at, &value, NULL), CAROM_OK);
  assert_in_range(calls, 78, 83);
  assert_true(value < 0.05);
  assert_near(at[0], 0.6, 0.05);
  assert_near(at[1], 0.2, 0.03);
  // an error ends it
  calls = 990;
  assert_int_equal(simplex_minimise(valley, &calls, step, 80, at, &value, NULL), CAROM_INTERRUPTED);
}

/* ---- one number ------------------------------------------------------------------------------ */

static carom_status kink(void *user, double at, double *value, carom_error *error) {
  (void)error;
  int *calls = user;
  (*calls)++;
  *value = at < 0 ? INFINITY : fabs(at - 0.62);
  return *calls > 100 ? CAROM_INTERRUPTED : CAROM_OK;
}

static void golden_section_finds_a_kink(void **state) {
  (void)state;
  const double values[] = {-1, 0, 0.3, 0.7, 1.1};
  int calls = 0, best;
  double value, place;
  assert_int_equal(best_of(kink, &calls, 5, values, &best, &value, NULL), CAROM_OK);
  assert_int_equal(best, 3);
  assert_int_equal(golden_section(kink, &calls, 5, values, best, &place, &value, NULL), CAROM_OK);
  assert_int_equal(calls, 12);
  assert_near(place, 0.62, 0.02);
  assert_near(value, fabs(place - 0.62), 0);
  // the best one at an end, and an error
  assert_int_equal(best_of(kink, &calls, 3, values, &best, &value, NULL), CAROM_OK);
  assert_int_equal(golden_section(kink, &calls, 3, values, best, &place, &value, NULL), CAROM_OK);
  assert_true(best == 2 && place == 0.3);
  calls = 99;
  assert_int_equal(best_of(kink, &calls, 5, values, &best, &value, NULL), CAROM_INTERRUPTED);
}

/* ---- the search ------------------------------------------------------------------------------ */

// the top, which nothing ever reaches, follows the other planes: the median of two is their mean
static void assert_top_follows(const carom_model *m) {
  const double *friction = m->parameters + m->friction,
               *restitution = m->parameters + m->restitution;
  assert_near(friction[TOP], (friction[LEFT] + friction[BOTTOM]) / 2, 1e-15);
  assert_near(restitution_of(restitution[TOP]),
              (restitution_of(restitution[LEFT]) + restitution_of(restitution[BOTTOM])) / 2, 1e-15);
}

static const double high[3] = {2, 1.9, 1.8}, dull[3] = {0.1, 0.95, 0.3};

// from contacts that stick, where descent has no gradient, to the neighbourhood of the truth
static void finds_the_truth(void **state) {
  data_fixture *f = *state;
  carom_model *m = make_model(f, 1, high, dull);
  adamw optimizer;
  assert_true(adamw_init(&optimizer, m->parameter_count));
  for (int i = 0; i < m->parameter_count; i++) optimizer.m[i] = optimizer.v[i] = 1;
  const double before = loss_of(f, m);
  assert_true(run_search(f, m, &optimizer) >= 4);
  const double *p = m->parameters;
  assert_near(p[m->friction + LEFT], 0.31, 0.02);
  assert_near(p[m->friction + BOTTOM], 0.16, 1e-3); // the pair was tried together
  assert_near(p[m->restitution + LEFT] / 6 + 0.5, 0.87, 0.02);
  assert_near(p[m->restitution + BOTTOM] / 6 + 0.5, 0.44, 2e-3);
  assert_true(loss_of(f, m) < 0.1 * before);
  // a contact that never occurs follows the others, and its moments stay; the others lose their momentum
  assert_top_follows(m);
  assert_true(optimizer.m[m->friction + TOP] == 1 && optimizer.m[m->restitution + TOP] == 1);
  assert_true(optimizer.m[m->friction + LEFT] == 0 && optimizer.v[m->friction + LEFT] == 1);
  assert_true(optimizer.m[m->mass] == 1 && optimizer.m[m->network] == 1);
  adamw_free(&optimizer);
  carom_model_destroy(m);
}

// a move says what went from where to where, on how many chunks, and what it gained there
static void tells_its_moves(void **state) {
  data_fixture *f = *state;
  carom_model *m = make_model(f, 1, high, dull);
  adamw optimizer;
  assert_true(adamw_init(&optimizer, m->parameter_count));
  const search_result result = search_chunks(m, &f->data->train, &optimizer);
  assert_string_equal(result.moves[0].name, "restitution/a|left");
  assert_near(result.moves[0].from, dull[LEFT], 1e-12);
  int frictions = 0;
  for (int k = 0; k < result.count; k++) {
    const carom_move *move = &result.moves[k];
    assert_null(strstr(move->name, "top"));
    assert_true(move->from != move->to && move->loss_after < move->loss_before);
    assert_in_range(move->chunks, 5, 60);
    if (strcmp(move->name, "friction/a|left") != 0) continue;
    assert_true(frictions++ > 0 || move->from == high[LEFT]);
    if (k == result.count - 1) assert_true(move->to == m->parameters[m->friction + LEFT]);
  }
  assert_true(frictions > 0);
  free(result.moves);
  adamw_free(&optimizer);
  carom_model_destroy(m);
}

/* ---- one chunk with a detected contact ------------------------------------------------------- */

static carom_chunks copy_chunks(const data_fixture *f) {
  const carom_chunks *from = &f->data->train;
  const size_t count =
      (size_t)from->count * (size_t)from->states * (size_t)f->system->coordinate_count;
  carom_chunks made = {.count = from->count, .states = from->states};
  made.x = malloc(sizeof(double) * count);
  made.v = malloc(sizeof(double) * count);
  assert_true(made.x != NULL && made.v != NULL);
  memcpy(made.x, from->x, sizeof(double) * count);
  memcpy(made.v, from->v, sizeof(double) * count);
  return made;
}

// lifts a disk that is in the ground (y < 0.1) out of it, and in the last chunk that has one makes it
// stay there instead: a single place where the data shows a contact, and no rebound
static void hide_contacts(const carom_chunks *chunks, int *odd_one) {
  enum { D = 6, Y = 1 };
  *odd_one = -1;
  for (int chunk = 0; chunk < chunks->count; chunk++)
    for (int k = 1; k < chunks->states; k++)
      if (chunks->x[(chunk * chunks->states + k) * D + Y] < 0.1) *odd_one = chunk;
  for (int chunk = 0; chunk < chunks->count; chunk++) {
    bool met = false;
    for (int k = 1; k < chunks->states; k++) {
      double *x = chunks->x + (chunk * chunks->states + k) * D;
      double *v = chunks->v + (chunk * chunks->states + k) * D;
      const double lift = 0.1 - x[Y], rebound = fmax(v[Y], 0);
      met = met || lift > 0;
      for (int p = Y; p < D && chunk != *odd_one && lift > 0; p += 2) x[p] += lift + 1e-6;
      for (int p = Y; p < D && chunk == *odd_one && met; p += 2) v[p] -= rebound;
    }
  }
}

// the chunks that show a contact do not decide about the many in which the model meets it
static void is_not_led_by_one_chunk(void **state) {
  data_fixture *f = *state;
  const double friction[] = {0.31, 0.16, 0.16}, restitution[] = {0.87, 0.44, 0.44};
  const carom_chunks chunks = copy_chunks(f);
  int odd_one;
  hide_contacts(&chunks, &odd_one);
  assert_true(odd_one >= 0);
  carom_model *m = make_model(f, 1, friction, restitution);
  adamw optimizer;
  assert_true(adamw_init(&optimizer, m->parameter_count));
  const search_result result = search_chunks(m, &chunks, &optimizer);
  assert_near(restitution_of(m->parameters[m->restitution + BOTTOM]), 0.44, 0.05);
  assert_near(m->parameters[m->friction + BOTTOM], 0.16, 0.05);
  free(result.moves);
  adamw_free(&optimizer);
  carom_model_destroy(m);
  free(chunks.x);
  free(chunks.v);
}

// there is nothing to find at the truth: not a bit changes, but for the contact that never occurs
static void leaves_the_truth(void **state) {
  data_fixture *f = *state;
  const double friction[] = {0.31, 0.16, 0.16}, restitution[] = {0.87, 0.44, 0.44};
  carom_model *m = make_model(f, 1, friction, restitution),
              *kept = make_model(f, 1, friction, restitution);
  adamw optimizer;
  assert_true(adamw_init(&optimizer, m->parameter_count));
  assert_true(loss_of(f, m) < 1e-9);
  assert_int_equal(run_search(f, m, &optimizer), 0);
  assert_top_follows(m);
  kept->parameters[m->friction + TOP] = m->parameters[m->friction + TOP];
  kept->parameters[m->restitution + TOP] = m->parameters[m->restitution + TOP];
  assert_memory_equal(m->parameters, kept->parameters, sizeof(double) * (size_t)m->parameter_count);
  adamw_free(&optimizer);
  carom_model_destroy(kept);
  carom_model_destroy(m);
}

/* Values are tried on at most 100 chunks. Here these, and no others, say that nothing rebounds: what
 * they win, the rest loses. */
static void is_not_led_by_its_sample(void **state) {
  (void)state;
  enum { TRIED = 100, D = 6, Y = 1 };
  carom_system *system = parse_system(scene);
  carom_dataset_options options = carom_dataset_default_options(system);
  options.train = 900;
  options.validation = options.test = 1;
  void *made;
  assert_int_equal(data_fixture_make(system, options, &made), 0);
  data_fixture *f = made;
  const double friction[] = {0.31, 0.16, 0.16}, restitution[] = {0.87, 0.44, 0.44};
  carom_model *m = make_model(f, 1, friction, restitution);
  const carom_chunks *chunks = &f->data->train;
  touch_lists touches;
  const observations observed = observations_of(chunks);
  assert_int_equal(touch_lists_make(&touches, m, &observed, chunks->count, NULL, NULL), CAROM_OK);
  const chunk_list *felt = &touches.lists[BOTTOM];
  assert_true(felt->count > 2 * TRIED);
  for (int k = 0; k < TRIED; k++) {
    const int chunk = felt->items[spread_index(k, TRIED, felt->count)];
    for (int i = 1; i < chunks->states; i++) {
      double *v = chunks->v + (chunk * chunks->states + i) * D;
      const double rebound = fmax(v[Y], 0);
      for (int q = Y; q < D; q += 2) v[q] -= rebound;
    }
  }
  adamw optimizer;
  assert_true(adamw_init(&optimizer, m->parameter_count));
  const search_result result = search_chunks(m, chunks, &optimizer);
  assert_near(restitution_of(m->parameters[m->restitution + BOTTOM]), 0.44, 0.05);
  free(result.moves);
  adamw_free(&optimizer);
  touch_lists_free(&touches);
  carom_model_destroy(m);
  data_fixture_free(&made);
}

// all bodies by one factor: ratios of masses, which motion tells, stay
static void scales_all_masses_alike(void **state) {
  (void)state;
  carom_system *system = parse_system(
      "{\"carom\": 1, \"name\": \"balls\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 60,"
      "\"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1},"
      "{\"id\": \"b\", \"type\": \"point\", \"mass\": 2, \"radius\": 0.1},"
      "{\"id\": \"c\", \"type\": \"point\", \"mass\": 3, \"radius\": 0.1}],"
      "\"planes\": [{\"id\": \"ground\", \"normal\": [0, 1], \"offset\": 0}],"
      "\"contacts\": {\"friction\": 0, \"restitution\": 0.5},"
      "\"initial\": {\"sampler\": \"box\", \"low\": [0.1, 0.1], \"high\": [2, 0.4],"
      "\"speed\": 1}}");
  carom_dataset_options options = carom_dataset_default_options(system);
  options.train = 60;
  options.validation = options.test = 1;
  void *made;
  assert_int_equal(data_fixture_make(system, options, &made), 0);
  const data_fixture *f = made;
  carom_model_options small = carom_model_default_options(f->system);
  small.contact = CAROM_CMR;
  small.hidden_layers = 1;
  small.hidden_size = 4;
  carom_model *m;
  assert_int_equal(carom_model_create(f->system, &small, &m, NULL), CAROM_OK);
  double *p = m->parameters, before[3];
  for (int i = 0; i < 3; i++) before[i] = p[m->mass + i] = log(1 + i);
  for (int k = 0; k < m->property_count; k++) p[m->friction + k] = p[m->restitution + k] = 0;
  for (int i = m->parameter_count - 5; i < m->parameter_count; i++) p[i] = 0;
  adamw optimizer;
  assert_true(adamw_init(&optimizer, m->parameter_count));
  const search_result result = search_chunks(m, &f->data->train, &optimizer);
  assert_true(result.count > 0);
  assert_string_equal(result.moves[0].name, "mass_scale");
  for (int i = 0; i < 3; i++)
    assert_near(exp(p[m->mass + i] - before[i]), result.moves[0].to, 1e-12);
  free(result.moves);
  adamw_free(&optimizer);
  carom_model_destroy(m);
  data_fixture_free(&made);
}

// smaller masses make epsilon of CMr weigh less: the data, made by CM, asks for them
static void scales_masses_of_cmr(void **state) {
  data_fixture *f = *state;
  const double friction[] = {0.31, 0.16, 0.16}, restitution[] = {0.87, 0.44, 0.44};
  carom_model *m = make_model_of(f, CAROM_CMR, 1, friction, restitution);
  // a potential, to be scaled along
  const int output = m->parameter_count - 5;
  for (int i = 0; i < 5; i++) m->parameters[output + i] = 1e-3 * (i + 1);
  const double mass = m->parameters[m->mass], before = loss_of(f, m);
  adamw optimizer;
  assert_true(adamw_init(&optimizer, m->parameter_count));
  for (int i = 0; i < m->parameter_count; i++) optimizer.m[i] = optimizer.v[i] = 1;
  assert_true(run_search(f, m, &optimizer) > 0);
  const double factor = exp(m->parameters[m->mass] - mass);
  assert_true(factor < 0.5 && loss_of(f, m) < 0.7 * before);
  for (int i = 0; i < 5; i++) {
    assert_near(m->parameters[output + i], factor * 1e-3 * (i + 1), 1e-15);
    assert_near(optimizer.m[output + i] * factor, 1, 1e-12);
    assert_near(optimizer.v[output + i] * factor * factor, 1, 1e-12);
  }
  assert_true(optimizer.m[m->mass] == 1 && optimizer.m[m->network] == 1);
  adamw_free(&optimizer);
  carom_model_destroy(m);
}

/* One restitution of a model as the only number that is free. */
typedef struct free_restitution {
  const data_fixture *fixture;
  carom_model *model;
  int contact;
} free_restitution;

static carom_status loss_of_restitution(void *user, double value, double *loss,
                                        carom_error *error) {
  (void)error;
  free_restitution *r = user;
  r->model->parameters[r->model->restitution + r->contact] = restitution_parameter(value);
  *loss = loss_of(r->fixture, r->model);
  return CAROM_OK;
}

// heavy bodies, beside which epsilon weighs, with the restitutions that are the best for them
static carom_model *make_heavy(const data_fixture *f, bool learn_regularizer) {
  const double friction[] = {0.31, 0.16, 0.16}, restitution[] = {0.87, 0.44, 0.44};
  carom_model *m = make_model_with(f, CAROM_CMR, learn_regularizer, 1, friction, restitution);
  m->parameters[m->mass] = log(30);
  const double values[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};
  for (int k = 0; k < TOP; k++) {
    free_restitution r = {f, m, k};
    int best;
    double loss, value;
    assert_int_equal(best_of(loss_of_restitution, &r, 8, values, &best, &loss, NULL), CAROM_OK);
    assert_int_equal(golden_section(loss_of_restitution, &r, 8, values, best, &value, &loss, NULL),
                     CAROM_OK);
    loss_of_restitution(&r, value, &loss, NULL);
  }
  return m;
}

/* Restitutions have made up for an epsilon that the data does not have, so that a smaller one alone makes all
 * worse: both have to move together, whether the masses stand for epsilon or it is learned itself. */
static void searches_scale_with_restitution(void **state) {
  data_fixture *f = *state;
  for (int learned = 0; learned < 2; learned++) {
    carom_model *m = make_heavy(f, learned), *kept = make_heavy(f, learned);
    const double before = loss_of(f, m), mass = m->parameters[m->mass];
    const double wrong = restitution_of(m->parameters[m->restitution + BOTTOM]);
    assert_true(fabs(wrong - 0.44) > 0.05);
    m->parameters[m->mass] = mass + log(0.3);
    assert_true(loss_of(f, m) > before);
    m->parameters[m->mass] = mass;
    adamw optimizer;
    assert_true(adamw_init(&optimizer, m->parameter_count));
    for (int i = 0; i < m->parameter_count; i++) optimizer.m[i] = 1;
    const search_result result = search_chunks(m, &f->data->train, &optimizer);
    assert_string_equal(result.moves[0].name, learned ? "regularizer" : "mass_scale");
    assert_string_equal(result.moves[1].name, "restitution/a|left");
    for (int k = 0; k < result.count; k++)
      print_message("%s %g -> %g: %.2e -> %.2e\n", result.moves[k].name, result.moves[k].from,
                    result.moves[k].to, result.moves[k].loss_before, result.moves[k].loss_after);
    print_message("loss %.2e -> %.2e, restitution %.3f -> %.3f (truth 0.44)\n", before,
                  loss_of(f, m), wrong, restitution_of(m->parameters[m->restitution + BOTTOM]));
    assert_near(result.moves[0].from, learned ? 0.01 : 1, 1e-12);
    assert_true(result.moves[0].to < 0.3 * result.moves[0].from);
    assert_near(restitution_of(m->parameters[m->restitution + BOTTOM]), 0.44, 0.3 * (wrong - 0.44));
    assert_true(loss_of(f, m) < 0.5 * before);
    // what has moved, and has lost its momentum
    const int entry = learned ? m->regularizer : m->mass;
    assert_true(m->parameters[entry] < kept->parameters[entry]);
    if (learned) assert_true(m->parameters[m->mass] == mass && optimizer.m[m->regularizer] == 0);
    assert_true(optimizer.m[m->restitution + BOTTOM] == 0);
    assert_top_follows(m);
    free(result.moves);
    adamw_free(&optimizer);
    carom_model_destroy(kept);
    carom_model_destroy(m);
  }
}

// the first chunk, if any, whose motion does not depend on epsilon: it meets no contact
static int free_chunk(const data_fixture *f, carom_model *a, carom_model *b) {
  for (int k = 0; k < f->data->train.count; k++) {
    double of_a, of_b;
    carom_model_loss(a, &f->data->train, 1, &k, &of_a, NULL, NULL, NULL);
    carom_model_loss(b, &f->data->train, 1, &k, &of_b, NULL, NULL, NULL);
    if (fabs(of_a - of_b) < 1e-5 * of_a) return k;
  }
  return -1;
}

/* A model with masses and potential a hundredth of another's moves alike without contacts, and so does descent
 * move both: the potential by a hundredth, all else the same. */
static void descent_is_alike_at_any_scale(void **state) {
  data_fixture *f = *state;
  const double friction[] = {0.31, 0.16, 0.16}, restitution[] = {0.87, 0.44, 0.44};
  carom_model *models[2];
  for (int k = 0; k < 2; k++) {
    models[k] = make_model_of(f, CAROM_CMR, 1, friction, restitution);
    double *p = models[k]->parameters;
    const int output = models[k]->parameter_count - 5;
    p[models[k]->mass] = log(k == 0 ? 0.5 : 0.005);
    for (int i = 0; i < 5; i++) p[output + i] = (k == 0 ? 1 : 0.01) * (0.3 + 0.1 * i);
  }
  const int chunk = free_chunk(f, models[0], models[1]);
  assert_true(chunk >= 0);
  carom_trainer_options options = carom_trainer_default_options();
  options.weight_decay = 0;
  for (int k = 0; k < 2; k++) {
    carom_trainer *trainer;
    assert_int_equal(carom_trainer_create(models[k], f->data, &options, &trainer, NULL), CAROM_OK);
    for (int i = 0; i < 5; i++)
      assert_int_equal(carom_trainer_step(trainer, 1, &chunk, NULL, NULL), CAROM_OK);
    carom_trainer_destroy(trainer);
  }
  const double *a = models[0]->parameters, *b = models[1]->parameters;
  const int count = models[0]->parameter_count;
  for (int i = count - 5; i < count - 1; i++) {
    assert_true(fabs(a[i] - 0.3 - 0.1 * (i - count + 5)) > 1e-3);
    assert_near(b[i], 0.01 * a[i], 1e-6);
  }
  for (int i = models[0]->network; i < count - 5; i++) assert_near(b[i], a[i], 1e-3);
  for (int k = 0; k < 2; k++) carom_model_destroy(models[k]);
}

static void same_bits_with_threads(void **state) {
  data_fixture *f = *state;
  carom_model *models[3];
  for (int k = 0; k < 3; k++) {
    models[k] = make_model(f, 1 << k, high, dull);
    adamw optimizer;
    assert_true(adamw_init(&optimizer, models[k]->parameter_count));
    run_search(f, models[k], &optimizer);
    adamw_free(&optimizer);
  }
  for (int k = 1; k < 3; k++)
    assert_memory_equal(models[0]->parameters, models[k]->parameters,
                        sizeof(double) * (size_t)models[0]->parameter_count);
  for (int k = 0; k < 3; k++) carom_model_destroy(models[k]);
}

// a training searches between epochs, as often as it was told, and says what it moved
static void in_a_training(void **state) {
  data_fixture *f = *state;
  carom_trainer_options options = carom_trainer_default_options();
  options.epochs = 6;
  options.batch = 30;
  options.learning_rate = 1e-12; // descent does nothing: what changes is the search's
  for (int every = 0; every <= 3; every += 3) {
    options.search_every = every;
    carom_model *m = make_model(f, 1, high, dull);
    carom_trainer *trainer;
    assert_int_equal(carom_trainer_create(m, f->data, &options, &trainer, NULL), CAROM_OK);
    for (int k = 1; k <= 6; k++) {
      carom_epoch epoch;
      assert_int_equal(carom_trainer_epoch(trainer, &epoch, NULL), CAROM_OK);
      assert_int_equal(epoch.moves >= 4, every == 3 && k == 4);
      assert_int_equal(epoch.moves > 0, every == 3 && k == 4);
      int count;
      const carom_move *moves = carom_trainer_moves(trainer, &count);
      if (epoch.moves > 0) {
        assert_int_equal(count, epoch.moves);
        assert_string_equal(moves[0].name, "restitution/a|left");
        assert_true(epoch.search_loss_after < epoch.search_loss_before);
        assert_near(epoch.loss, epoch.search_loss_after, 1e-3 * epoch.loss);
      } else {
        assert_true(isnan(epoch.search_loss_before) && isnan(epoch.search_loss_after));
      }
    }
    assert_near(m->parameters[m->friction + LEFT], every == 0 ? 2 : 0.31, every == 0 ? 1e-9 : 0.05);
    carom_trainer_destroy(trainer);
    carom_model_destroy(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(simplex_follows_a_valley),
      cmocka_unit_test(golden_section_finds_a_kink),
      cmocka_unit_test(finds_the_truth),
      cmocka_unit_test(searches_scale_with_restitution),
      cmocka_unit_test(leaves_the_truth),
      cmocka_unit_test(tells_its_moves),
      cmocka_unit_test(is_not_led_by_one_chunk),
      cmocka_unit_test(is_not_led_by_its_sample),
      cmocka_unit_test(scales_masses_of_cmr),
      cmocka_unit_test(scales_all_masses_alike),
      cmocka_unit_test(descent_is_alike_at_any_scale),
      cmocka_unit_test(same_bits_with_threads),
      cmocka_unit_test(in_a_training),
  };
  return cmocka_run_group_tests(tests, set_up, data_fixture_free);
}
