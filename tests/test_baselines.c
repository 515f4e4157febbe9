/* The paper's baselines: their networks beside differences, what they see of a scene, training on pairs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/model.h"
#include "learn/trainer.h"
#include "support/differences.h"
#include "support/quick.h"

static const carom_baseline kinds[] = {CAROM_BASELINE_MLP_CLNN, CAROM_BASELINE_IN_CLNN,
                                       CAROM_BASELINE_IN};
static const char *const kind_names[] = {"mlp-cd-clnn", "in-cp-clnn", "in-cp-sp"};
static const char *const scenes[] = {"bp5", "bd5", "cp3", "gyro", "rope"};
enum { KINDS = 3, SCENES = 5 };

static carom_system *load(const char *name) {
  carom_system *s;
  carom_error error;
  if (carom_system_load(name, &s, &error) != CAROM_OK) fail_msg("%s", error.message);
  return s;
}

/* A small model with units of its own. */
static carom_model *make(const carom_system *s, int kind, bool single) {
  carom_model_options o = carom_model_default_options(s);
  carom_model *m;
  carom_error error;
  assert_int_equal(carom_model_options_by_name(&o, kind_names[kind], &error), CAROM_OK);
  o.hidden_size = 8;
  o.hidden_layers = 2;
  o.baseline_size = 9;
  o.single_precision = single;
  o.length_scale = 0.7;
  o.speed_scale = 1.7;
  o.seed = (uint64_t)kind + 3;
  if (carom_model_create(s, &o, &m, &error) != CAROM_OK) fail_msg("%s", error.message);
  return m;
}

static carom_dataset *make_data(const carom_system *s, int train) {
  carom_dataset_options o = carom_dataset_default_options(s);
  carom_dataset *d;
  carom_error error;
  o.train = train;
  o.validation = o.test = 2;
  if (carom_dataset_generate(s, NULL, &o, &d, &error) != CAROM_OK) fail_msg("%s", error.message);
  return d;
}

/* ---- the perceptron beside differences ------------------------------------------------------- */

typedef struct dense_case {
  dense_shape shape;
  int count;
  double *parameters, *input, *weight; /* weight [count][outputs]: a functional of the output */
  arena memory;
} dense_case;

static double dense_functional(void *user) {
  dense_case *c = user;
  arena_mark mark = arena_save(&c->memory);
  double *prepared = ARENA_ARRAY(&c->memory, double, dense_double_prepared_count(&c->shape));
  double *kept = ARENA_ARRAY(&c->memory, double, dense_kept_count(&c->shape, c->count));
  double *output = arena_doubles(&c->memory, c->count * c->shape.output_size), sum = 0;
  dense_double_prepare(&c->shape, c->parameters, prepared);
  dense_double_forward(&c->shape, prepared, c->count, c->input, kept, output);
  for (int i = 0; i < c->count * c->shape.output_size; i++) sum += c->weight[i] * output[i];
  arena_restore(&c->memory, mark);
  return sum;
}

static void test_dense_derivatives(void **state) {
  (void)state;
  static const dense_shape shapes[] = {{5, 1, 7, 3}, {9, 3, 11, 4}, {3, 4, 17, 1}};
  for (int k = 0; k < 3; k++) {
    dense_case c = {.shape = shapes[k], .count = 6};
    rng random;
    rng_seed(&random, 1, (uint64_t)k);
    arena_init(&c.memory);
    const int parameters = (int)dense_parameter_count(&c.shape);
    const int inputs = c.count * c.shape.input_size, outputs = c.count * c.shape.output_size;
    c.parameters = arena_zeros(&c.memory, parameters);
    c.input = arena_zeros(&c.memory, inputs);
    c.weight = arena_zeros(&c.memory, outputs);
    assert_int_equal(dense_initialise(&c.shape, 0.5, &random, c.parameters), CAROM_OK);
    for (int i = 0; i < inputs; i++) c.input[i] = rng_normal(&random);
    for (int i = 0; i < outputs; i++) c.weight[i] = rng_normal(&random);

    double *prepared = ARENA_ARRAY(&c.memory, double, dense_double_prepared_count(&c.shape));
    double *kept = ARENA_ARRAY(&c.memory, double, dense_kept_count(&c.shape, c.count));
    double *output = arena_doubles(&c.memory, outputs), *input_bar = arena_zeros(&c.memory, inputs);
    double *bar = arena_zeros(&c.memory, parameters);
    dense_double_prepare(&c.shape, c.parameters, prepared);
    dense_double_forward(&c.shape, prepared, c.count, c.input, kept, output);
    dense_double_vjp(&c.shape, prepared, c.count, c.input, kept, c.weight, input_bar, bar,
                     &c.memory);
    assert_true(gradient_error(dense_functional, &c, c.input, input_bar, inputs, &random) < 1e-7);
    for (int l = 0; l <= c.shape.hidden_layers; l++) {
      const int weight = dense_weight_offset(&c.shape, l), bias = dense_bias_offset(&c.shape, l);
      assert_true(gradient_error(dense_functional, &c, c.parameters + weight, bar + weight,
                                 bias - weight, &random) < 1e-7);
      assert_true(gradient_error(dense_functional, &c, c.parameters + bias, bar + bias,
                                 dense_layer_outputs(&c.shape, l), &random) < 1e-7);
    }
    arena_free(&c.memory);
  }
}

/* ---- changes of velocity beside differences -------------------------------------------------- */

typedef struct change_case {
  carom_model *model;
  int count;
  double *x, *v, *theta, *weight; /* weight [count][D]: a functional of the velocity after */
  bool acts[2];
  arena memory;
} change_case;

// v after the change; record for the derivative
static double *changed(change_case *c, void **record) {
  const velocity_change *change = &c->model->change.base;
  const int size = c->count * c->model->system->coordinate_count;
  double *v = arena_doubles(&c->memory, size);
  memcpy(v, c->v, sizeof(double) * (size_t)size);
  mechanics_set_parameters(&c->model->mechanics, c->theta);
  velocity_network_refresh(&c->model->change);
  *record = arena_bytes(&c->memory, change->record_bytes(change, c->count));
  change->apply(change, &c->model->mechanics, c->count, c->acts, c->x, v, *record, &c->memory);
  return v;
}

static double change_functional(void *user) {
  change_case *c = user;
  arena_mark mark = arena_save(&c->memory);
  void *record;
  const double *v = changed(c, &record);
  double sum = 0;
  for (int i = 0; i < c->count * c->model->system->coordinate_count; i++)
    sum += c->weight[i] * v[i];
  arena_restore(&c->memory, mark);
  return sum;
}

static void test_change_derivatives(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    for (int kind = 0; kind < KINDS; kind++) {
      carom_system *s = load(scenes[k]);
      change_case c = {.model = make(s, kind, false), .count = 2, .acts = {false, true}};
      carom_error error;
      rng random;
      rng_seed(&random, 5, (uint64_t)(10 * k + kind));
      arena_init(&c.memory);
      const int size = c.count * s->coordinate_count, theta_size = s->parameter_count;
      c.x = arena_zeros(&c.memory, size);
      c.v = arena_zeros(&c.memory, size);
      c.weight = arena_zeros(&c.memory, size);
      c.theta = arena_zeros(&c.memory, theta_size);
      assert_int_equal(carom_system_sample(s, 7, c.count, c.x, c.v, &error), CAROM_OK);
      carom_model_theta(c.model, c.theta);
      for (int i = 0; i < size; i++) c.weight[i] = rng_normal(&random);
      // first changes are small on purpose: here they should matter
      double *p =
          carom_model_parameters(c.model) + c.model->network + c.model->change.parameter_offset;
      const int count = (int)velocity_network_parameter_count(&c.model->change);
      for (int i = 0; i < count; i++) p[i] += 0.1 * rng_normal(&random);
      // and so should contacts: by steps as long as these, bodies that are some way apart are near
      c.model->change.dt = 0.2;

      void *record;
      changed(&c, &record);
      double *x_bar = arena_zeros(&c.memory, size), *v_bar = arena_zeros(&c.memory, size);
      double *theta_bar = arena_zeros(&c.memory, theta_size);
      double *bars = arena_zeros(&c.memory, c.model->parameter_count);
      memcpy(v_bar, c.weight, sizeof(double) * (size_t)size);
      c.model->change.base.apply_vjp(&c.model->change.base, &c.model->mechanics, c.count, record,
                                     x_bar, v_bar, theta_bar, bars, &c.memory);
      const double errors[] = {
          gradient_error(change_functional, &c, c.x, x_bar, size, &random),
          gradient_error(change_functional, &c, c.v, v_bar, size, &random),
          gradient_error(change_functional, &c, p, bars + c.model->change.parameter_offset, count,
                         &random),
          // masses and moments; friction and restitution are given
          gradient_error(change_functional, &c, c.theta, theta_bar,
                         s->segments[CAROM_FRICTION].offset, &random)};
      print_message("%-5s %-12s x %.1e  v %.1e  parameters %.1e  masses %.1e\n", scenes[k],
                    kind_names[kind], errors[0], errors[1], errors[2], errors[3]);
      for (int i = 0; i < 4; i++) assert_true(errors[i] < 1e-6);
      arena_free(&c.memory);
      carom_model_destroy(c.model);
      carom_system_destroy(s);
    }
  }
}

/* ---- the loss beside differences ------------------------------------------------------------- */

typedef struct loss_case {
  carom_model *model;
  const carom_chunks *chunks;
  int count;
} loss_case;

static double loss_value(void *user) {
  const loss_case *c = user;
  double loss;
  carom_error error;
  if (carom_model_loss(c->model, c->chunks, c->count, NULL, &loss, NULL, NULL, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return loss;
}

/* Relative error of one array's gradient. The loss has a kink for every unit of every row: a direction that
 * meets one at all steps tells nothing, so the best of three is taken; a wrong gradient spoils all. */
static double array_error(loss_case *c, int index, const double *gradient, rng *random) {
  const carom_array_info a = carom_model_array(c->model, index);
  double best = INFINITY;
  for (int k = 0; k < 3 && best > 1e-7; k++)
    best = fmin(best, gradient_error(loss_value, c, carom_model_parameters(c->model) + a.offset,
                                     gradient + a.offset, a.rows * a.columns, random));
  return best;
}

static void test_loss_derivatives(void **state) {
  (void)state;
  // one scene tells valgrind as much as five
  for (int k = 0; k < (repeats(SCENES) < SCENES ? 1 : SCENES); k++) {
    carom_system *s = load(scenes[k]);
    carom_dataset *data = make_data(s, 4);
    for (int kind = 0; kind < KINDS; kind++) {
      s->stabilize = kind == 1;
      loss_case c = {make(s, kind, false), &data->train, 16};
      rng random;
      rng_seed(&random, 6, (uint64_t)(10 * k + kind));
      const int count = c.model->parameter_count;
      for (int i = c.model->network; i < count; i++)
        carom_model_parameters(c.model)[i] += 0.1 * rng_normal(&random);
      double *gradient = malloc(sizeof(double) * (size_t)count);
      carom_error error;
      assert_int_equal(
          carom_model_loss(c.model, c.chunks, c.count, NULL, NULL, gradient, NULL, &error),
          CAROM_OK);
      double worst = 0;
      for (int i = 0; i < c.model->array_count; i++)
        worst = fmax(worst, array_error(&c, i, gradient, &random));
      print_message("%-5s %-12s %d arrays, worst %.1e\n", scenes[k], kind_names[kind],
                    c.model->array_count, worst);
      assert_true(worst < 1e-5);
      free(gradient);
      carom_model_destroy(c.model);
    }
    carom_dataset_destroy(data);
    carom_system_destroy(s);
  }
}

/* ---- what they see and do -------------------------------------------------------------------- */

static void test_relations(void **state) {
  (void)state;
  /* bp5: 20 ways between balls, 20 walls. bd5: each way to three points, walls too, six inside each disk.
   * cp3: the ground to each ball by each ball, links both ways, the anchor. gyro: 12 inside, the joint on the centre
   * and the third axis, the wall to four points. rope: two neighbours on either side, the anchor's two. */
  static const struct {
    const char *scene;
    int relations;
  } expected[] = {{"bp5", 20 + 20},
                  {"bd5", 60 + 60 + 30},
                  {"cp3", 9 + 4 + 1},
                  {"gyro", 12 + 2 + 4},
                  {"rope", 2 * 9 + 2 * 8 + 2}};
  for (int k = 0; k < 5; k++) {
    carom_system *s = load(expected[k].scene);
    relation_graph g;
    carom_error error;
    assert_int_equal(relation_graph_make(&g, s, &error), CAROM_OK);
    assert_int_equal(g.count, expected[k].relations);
    for (int i = 0; i < g.count; i++) {
      const relation *r = &g.items[i];
      assert_true(i == 0 || g.items[i - 1].receiver <= r->receiver);
      assert_true(r->receiver >= 0 && r->receiver < s->point_count);
      assert_true(r->receiver != r->sender && r->sender < s->point_count);
      assert_true(r->property < s->contact_count && r->plane < s->plane_count);
    }
    relation_graph_free(&g);
    carom_system_destroy(s);
  }
}

/* Bodies that are alike may change places. */
static void test_interaction_of_equals(void **state) {
  (void)state;
  carom_system *s = load("bp5-e");
  for (int kind = 1; kind < KINDS; kind++) {
    carom_model *m = make(s, kind, false);
    for (int i = 0; m->mass >= 0 && i < s->body_count; i++)
      carom_model_parameters(m)[m->mass + i] = 0.3;
    double x[2][10], v[2][10], x1[2][20], v1[2][20];
    carom_error error;
    assert_int_equal(carom_system_sample(s, 3, 1, x[0], v[0], &error), CAROM_OK);
    for (int i = 0; i < 10; i++) {
      x[1][i] = x[0][(i + 2) % 10];
      v[1][i] = v[0][(i + 2) % 10];
    }
    // the potential of the other one does not know of places
    if (kind == 1)
      memset(carom_model_parameters(m) + m->network, 0,
             sizeof(double) * (size_t)m->change.parameter_offset);
    for (int k = 0; k < 2; k++)
      assert_int_equal(carom_model_predict(m, 1, 1, x[k], v[k], x1[k], v1[k], NULL, NULL, &error),
                       CAROM_OK);
    double moved = 0;
    for (int i = 0; i < 10; i++) {
      assert_true(fabs(v1[1][10 + i] - v1[0][10 + (i + 2) % 10]) < 1e-12);
      moved = fmax(moved, fabs(v1[0][10 + i] - v[0][i]));
    }
    assert_true(moved > 1e-4);
    carom_model_destroy(m);
  }
  carom_system_destroy(s);
}

/* in-cp-sp moves by its velocity; mlp-cd-clnn moves as cm-cd-clnn where nothing touches. */
static void test_motion(void **state) {
  (void)state;
  carom_system *s = load("cp3");
  enum { STEPS = 3, SIZE = 6, NUMBERS = (STEPS + 1) * SIZE };
  double x0[SIZE], v0[SIZE], x[NUMBERS], v[NUMBERS], free_x[NUMBERS], free_v[NUMBERS];
  carom_error error;
  assert_int_equal(carom_system_sample(s, 2, 1, x0, v0, &error), CAROM_OK);
  carom_model *m = make(s, 2, false);
  assert_int_equal(carom_model_predict(m, 1, STEPS, x0, v0, x, v, NULL, NULL, &error), CAROM_OK);
  for (int i = 0; i < STEPS * SIZE; i++)
    assert_true(fabs(x[SIZE + i] - x[i] - s->dt * v[SIZE + i]) < 1e-15);
  assert_int_equal(carom_model_potential(m, 1, x0, v, &error), CAROM_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "in-cp-sp learns no potential"));
  assert_int_equal(carom_model_force(m, 1, x0, v, &error), CAROM_INVALID_ARGUMENT);
  carom_model_destroy(m);

  m = make(s, 0, false);
  carom_model_options o = carom_model_describe(m).options;
  assert_int_equal(carom_model_options_by_name(&o, "cm-cd-clnn", &error), CAROM_OK);
  carom_model *cm;
  assert_int_equal(carom_model_create(s, &o, &cm, &error), CAROM_OK);
  memcpy(carom_model_parameters(cm), carom_model_parameters(m), sizeof(double) * 3);
  memcpy(carom_model_parameters(cm) + cm->network, carom_model_parameters(m) + m->network,
         sizeof(double) * (size_t)(cm->parameter_count - cm->network));
  uint8_t contacts[STEPS + 1];
  assert_int_equal(carom_model_predict(m, 1, STEPS, x0, v0, x, v, contacts, NULL, &error),
                   CAROM_OK);
  assert_int_equal(carom_model_predict(cm, 1, STEPS, x0, v0, free_x, free_v, NULL, NULL, &error),
                   CAROM_OK);
  for (int k = 0; k <= STEPS; k++) assert_int_equal(contacts[k], 0);
  assert_memory_equal(x, free_x, sizeof x);
  assert_memory_equal(v, free_v, sizeof v);
  carom_model_destroy(m);
  carom_model_destroy(cm);
  carom_system_destroy(s);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* The loss of a pair is that of one step from the first of its states. */
static void test_loss_of_pairs(void **state) {
  (void)state;
  carom_system *s = load("bp5");
  carom_dataset *data = make_data(s, 3);
  const carom_chunks *c = &data->train;
  const size_t size = (size_t)s->coordinate_count;
  for (int kind = 0; kind < KINDS; kind++) {
    carom_model *m = make(s, kind, true);
    carom_error error;
    double sum = 0, all, x[20], v[20];
    for (int pair = 0; pair < 12; pair++) {
      const size_t at = (size_t)(pair / 4 * 5 + pair % 4) * size;
      double loss, expected = 0;
      assert_int_equal(carom_model_loss(m, c, 1, &pair, &loss, NULL, NULL, &error), CAROM_OK);
      assert_int_equal(carom_model_predict(m, 1, 1, c->x + at, c->v + at, x, v, NULL, NULL, &error),
                       CAROM_OK);
      for (size_t i = 0; i < size; i++)
        expected += (fabs(x[size + i] - c->x[at + size + i]) / m->length +
                     fabs(v[size + i] - c->v[at + size + i]) / m->speed) /
                    (4.0 * (double)size);
      assert_true(fabs(loss - expected) <= 1e-12 * expected);
      sum += loss / 12;
    }
    assert_int_equal(carom_model_loss(m, c, 12, NULL, &all, NULL, NULL, &error), CAROM_OK);
    assert_true(fabs(all - sum) <= 1e-6 * sum);
    const int beyond = 12;
    assert_int_equal(carom_model_loss(m, c, 1, &beyond, &all, NULL, NULL, &error),
                     CAROM_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "no pair 12 of 12"));
    carom_model_destroy(m);
  }
  carom_dataset_destroy(data);
  carom_system_destroy(s);
}

static void test_same_bits_from_any_threads(void **state) {
  (void)state;
  carom_system *s = load("bd5");
  carom_dataset *data = make_data(s, repeats(60) < 20 ? 20 : 60);
  for (int kind = 0; kind < KINDS; kind++) {
    carom_model *m = make(s, kind, true);
    const size_t count = (size_t)m->parameter_count;
    double *gradient = malloc(sizeof(double) * 2 * count), loss[2];
    carom_error error;
    for (int k = 0; k < 2; k++) {
      carom_model_set_threads(m, 1 + 2 * k);
      assert_int_equal(carom_model_loss(m, &data->train, 4 * data->train.count, NULL, &loss[k],
                                        gradient + (size_t)k * count, NULL, &error),
                       CAROM_OK);
    }
    assert_true(loss[0] == loss[1]);
    assert_memory_equal(gradient, gradient + count, sizeof(double) * count);
    free(gradient);
    carom_model_destroy(m);
  }
  carom_dataset_destroy(data);
  carom_system_destroy(s);
}

static carom_trainer *make_trainer(carom_model *m, const carom_dataset *data) {
  carom_trainer_options o = carom_trainer_default_options();
  carom_trainer *t;
  carom_error error;
  o.epochs = repeats(30);
  o.batch = 16;
  o.search_every = 2;
  if (carom_trainer_create(m, data, &o, &t, &error) != CAROM_OK) fail_msg("%s", error.message);
  return t;
}

/* Training lowers the loss; stopped and taken up from a file it arrives at the same bits. */
static void test_training(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    carom_system *s = load(kind == 1 ? "gyro" : "cp3");
    carom_dataset *data = make_data(s, 25);
    carom_model *whole = make(s, kind, true), *cut = make(s, kind, true),
                *again = make(s, kind, true);
    carom_trainer *a = make_trainer(whole, data), *b = make_trainer(cut, data);
    carom_epoch first, last;
    carom_error error;
    assert_int_equal(carom_trainer_describe(a).batches, 7); // 100 pairs
    assert_int_equal(carom_trainer_epoch(a, &first, &error), CAROM_OK);
    for (int k = 1; k < repeats(30); k++)
      assert_int_equal(carom_trainer_epoch(a, &last, &error), CAROM_OK);
    print_message("%-12s loss %.2e -> %.2e\n", kind_names[kind], first.loss, last.loss);
    assert_true(last.loss < (repeats(30) == 30 ? 0.9 : 1) * first.loss);
    assert_int_equal(last.moves, 0);

    for (int k = 0; k < repeats(30) / 2; k++)
      assert_int_equal(carom_trainer_epoch(b, NULL, &error), CAROM_OK);
    assert_int_equal(carom_trainer_save(b, "baseline.h5", &error), CAROM_OK);
    carom_trainer *c = make_trainer(again, data);
    if (carom_trainer_restore(c, "baseline.h5", &error) != CAROM_OK) fail_msg("%s", error.message);
    assert_int_equal(carom_trainer_run(c, NULL, NULL, &error), CAROM_OK);
    assert_memory_equal(carom_model_parameters(whole), carom_model_parameters(again),
                        sizeof(double) * (size_t)whole->parameter_count);

    // a checkpoint of another scene
    carom_system *other = load(kind == 1 ? "gyro-e" : "cp3-e");
    carom_model *none;
    assert_int_equal(carom_model_load(other, "baseline.h5", &none, &error), CAROM_INVALID_DATA);
    assert_null(none);
    assert_non_null(strstr(error.message, "is a checkpoint of another scene"));
    carom_system_destroy(other);
    carom_trainer_destroy(a);
    carom_trainer_destroy(b);
    carom_trainer_destroy(c);
    carom_model_destroy(whole);
    carom_model_destroy(cut);
    carom_model_destroy(again);
    carom_dataset_destroy(data);
    carom_system_destroy(s);
  }
  remove("baseline.h5");
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* What a model is given does not look as if it had learned it. */
static void test_evaluation(void **state) {
  (void)state;
  carom_system *s = load("cp3");
  carom_dataset *data = make_data(s, 10);
  for (int kind = 0; kind < KINDS; kind++) {
    carom_model *m = make(s, kind, true);
    carom_evaluation *e;
    carom_error error;
    carom_evaluation_options o = carom_evaluation_default_options();
    o.steps = 5;
    assert_int_equal(carom_model_evaluate(m, data, CAROM_TEST, &o, &e, &error), CAROM_OK);
    assert_true(isnan(e->theta[s->segments[CAROM_FRICTION].offset]));
    assert_true(isnan(e->theta[s->segments[CAROM_RESTITUTION].offset]));
    assert_int_equal(isnan(e->theta[s->segments[CAROM_LOG_MASS].offset]) != 0, kind == 2);
    assert_int_equal(isnan(e->acceleration[0]) != 0, kind == 2);
    assert_true(e->friction[0].determined && e->friction[0].low == 0.5);
    assert_true(e->chunk.relative.mean > 0);
    carom_properties list;
    assert_int_equal(carom_model_properties(m, &list, &error), CAROM_OK);
    assert_int_equal(list.count, kind == 2 ? 0 : 2);
    carom_properties_free(&list);
    carom_evaluation_destroy(e);
    carom_model_destroy(m);
  }
  carom_dataset_destroy(data);
  carom_system_destroy(s);
}

static void test_names(void **state) {
  (void)state;
  carom_system *s = load("cp3");
  carom_error error;
  for (int kind = 0; kind < KINDS; kind++) {
    carom_model_options o = carom_model_default_options(s);
    assert_int_equal(carom_model_options_by_name(&o, kind_names[kind], &error), CAROM_OK);
    assert_int_equal(o.baseline, kinds[kind]);
    assert_string_equal(carom_model_options_name(&o), kind_names[kind]);
  }
  carom_model_options o = carom_model_default_options(s);
  assert_int_equal(carom_model_options_by_name(&o, "in-sp-cp", &error), CAROM_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "no model is called 'in-sp-cp'; there are cm-cd-clnn"));
  assert_non_null(strstr(error.message, "in-cp-sp"));
  carom_system_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dense_derivatives),
      cmocka_unit_test(test_change_derivatives),
      cmocka_unit_test(test_loss_derivatives),
      cmocka_unit_test(test_relations),
      cmocka_unit_test(test_interaction_of_equals),
      cmocka_unit_test(test_motion),
      cmocka_unit_test(test_loss_of_pairs),
      cmocka_unit_test(test_same_bits_from_any_threads),
      cmocka_unit_test(test_training),
      cmocka_unit_test(test_evaluation),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
