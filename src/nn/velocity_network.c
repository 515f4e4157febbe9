#include "nn/velocity_network.h"

#include "base/error.h"
#include "base/size.h"
#include "nn/relation_touch.h"
#include "physics/potential.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of a relation's input behind the difference of two states and what touches: two attributes of each
 * end, three of the relation; and of an object's behind its state: two attributes, then the force if it is known. */
enum { RELATION_EXTRA = 7, OBJECT_EXTRA = 2 };

static const velocity_network *network_of(const velocity_change *self) {
  return (const velocity_network *)(const void *)self; // its first member
}

static bool has_objects(const velocity_network *n) { return n->object.input_size > 0; }

static bool knows_force(const velocity_network *n) { return n->force_unit > 0; }

/* ---- states as the network sees them --------------------------------------------------------- */

/* Lets a function work on the points of every body of `count` states [count][D]. */
typedef void (*body_map)(int points, int dimension, double length, double unit, const double *from,
                         double *to);

static void map_bodies(const velocity_network *n, int count, double unit, const double *from,
                       double *to, body_map map) {
  const carom_system *s = n->system;
  for (int k = 0; k < count; k++)
    for (int b = 0; b < s->body_count; b++) {
      const int points = s->bodies[b].point_count;
      map(points, s->dimension, n->body_lengths[b], unit, from, to);
      from += points * s->dimension;
      to += points * s->dimension;
    }
}

// to = T from / unit: a tip goes to (1 - l) c + l t
static void see(int points, int d, double length, double unit, const double *from, double *to) {
  for (int i = 0; i < points * d; i++)
    to[i] = (i < d ? from[i] : (1 - length) * from[i % d] + length * from[i]) / unit;
}

// to += T' from / unit
static void see_vjp(int points, int d, double length, double unit, const double *from, double *to) {
  for (int i = 0; i < points * d; i++) {
    const double bar = from[i] / unit;
    if (i < d) {
      to[i] += bar;
    } else {
      to[i % d] += (1 - length) * bar;
      to[i] += length * bar;
    }
  }
}

// to += unit T^-1 from: a tip moves by c + (t - c) / l
static void act(int points, int d, double length, double unit, const double *from, double *to) {
  for (int i = 0; i < points * d; i++)
    to[i] += unit * (i < d ? from[i] : from[i % d] + (from[i] - from[i % d]) / length);
}

// to = unit T^-1' from
static void act_vjp(int points, int d, double length, double unit, const double *from, double *to) {
  for (int i = 0; i < d; i++) to[i] = unit * from[i];
  for (int i = d; i < points * d; i++) {
    to[i % d] += unit * (1 - 1 / length) * from[i];
    to[i] = unit * from[i] / length;
  }
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Inverse mass of each point: 1 / m of a centre, (1 + l^2 / lambda) / m of a tip at the length l. */
static void inverse_masses(const velocity_network *n, const mechanics *m, double *attributes) {
  const carom_system *s = n->system;
  for (int b = 0; b < s->body_count; b++)
    for (int k = 0; k < s->bodies[b].point_count; k++) {
      const double square = n->body_lengths[b] * n->body_lengths[b];
      const double turning = k > 0 ? square * m->inverse_moment[b * s->dimension + k - 1] : 0;
      attributes[s->bodies[b].first_point + k] = n->mass_unit * m->inverse_mass[b] * (1 + turning);
    }
}

static void inverse_masses_vjp(const velocity_network *n, const mechanics *m, const double *bars,
                               double *theta_bar) {
  const carom_system *s = n->system;
  double *mass_bar = theta_bar + s->segments[CAROM_LOG_MASS].offset;
  double *moment_bar = theta_bar + s->segments[CAROM_LOG_MOMENT].offset;
  for (int b = 0; b < s->body_count; b++)
    for (int k = 0; k < s->bodies[b].point_count; k++) {
      const double bar = bars[s->bodies[b].first_point + k] * n->mass_unit * m->inverse_mass[b];
      const double square = n->body_lengths[b] * n->body_lengths[b];
      const int axis = b * s->dimension + k - 1;
      const double turning = k > 0 ? square * m->inverse_moment[axis] : 0;
      // of exp(-log m) (1 + l^2 exp(-log lambda))
      mass_bar[b] -= bar * (1 + turning);
      if (k > 0) moment_bar[axis] -= bar * turning;
    }
}

static double point_radius(const velocity_network *n, int point) {
  const body *b = &n->system->bodies[n->system->point_body[point]];
  const bool round = b->shape == SHAPE_BALL || b->shape == SHAPE_RIM;
  return round && point == b->first_point ? b->radius / n->length : 0;
}

/* ---- records --------------------------------------------------------------------------------- */

/* What one change keeps. Arrays of numbers are of the network's own arithmetic. */
typedef struct change_record {
  int *rows; /* [1 + count] how many samples it acted on, and which */
  int *
      felt; /* [1 + count relations] how many relations R saw, and which: k relations + i of sample k */
  double *x, *v; /* [count][D] */
  void *inputs;  /* of P, or of R: [rows][...] */
  void *kept;
  void *effects;       /* of R: [rows][EFFECT_SIZE] */
  void *object_inputs; /* of O: [points][...] */
  void *object_kept;
  void *output; /* of P or O: [samples][D] */
  size_t bytes; /* of all */
} change_record;

/* Rows of P or R, and of O, for `count` samples. */
static int first_rows(const velocity_network *n, int count) {
  return has_objects(n) ? count * n->graph.count : count;
}
static int object_rows(const velocity_network *n, int count) {
  return has_objects(n) ? count * n->system->point_count : 0;
}

// takes so many bytes and keeps what follows aligned
static void *take(unsigned char *memory, size_t *used, size_t bytes) {
  const size_t at = *used;
  *used = size_multiply(size_add(at, size_add(bytes, 63)) / 64, 64);
  return memory != NULL ? memory + at : NULL;
}

static change_record record_at(const velocity_network *n, int count, void *memory) {
  const size_t real = n->single ? sizeof(float) : sizeof(double);
  const int first = first_rows(n, count), objects = object_rows(n, count);
  const size_t state = (size_t)count * (size_t)n->system->coordinate_count;
  change_record r = {0};
  r.rows = take(memory, &r.bytes, sizeof(int) * ((size_t)count + 1));
  r.felt = take(memory, &r.bytes, has_objects(n) ? sizeof(int) * ((size_t)first + 1) : 0);
  r.x = take(memory, &r.bytes, sizeof(double) * state);
  r.v = take(memory, &r.bytes, sizeof(double) * state);
  r.inputs =
      take(memory, &r.bytes, size_multiply((size_t)first, real * (size_t)n->perceptron.input_size));
  r.kept = take(memory, &r.bytes, size_multiply(dense_kept_count(&n->perceptron, first), real));
  r.output = take(memory, &r.bytes, size_multiply(state, real));
  if (objects == 0) return r;
  r.effects = take(memory, &r.bytes, size_multiply((size_t)first, real * EFFECT_SIZE));
  r.object_inputs =
      take(memory, &r.bytes, size_multiply((size_t)objects, real * (size_t)n->object.input_size));
  r.object_kept =
      take(memory, &r.bytes, size_multiply(dense_kept_count(&n->object, objects), real));
  return r;
}

static size_t network_record_bytes(const velocity_change *self, int count) {
  return record_at(network_of(self), count, NULL).bytes;
}

/* What a change is computed of, or its cotangents: q, w, of each point inverse mass and force, and what
 * relations see of their contacts. */
typedef struct seen_states {
  double *q, *w;        /* [count][D] */
  double *inverse_mass; /* [points] */
  double *force;        /* [count][D], NULL where it is not known */
  double *touch;        /* [count][relations][touch_size]; of constraints 0, but near */
} seen_states;

static int touch_size(const velocity_network *n) { return TOUCH_VELOCITY + n->system->dimension; }

static seen_states seen_make(const velocity_network *n, int count, arena *scratch) {
  const int size = count * n->system->coordinate_count;
  return (seen_states){.q = arena_zeros(scratch, size),
                       .w = arena_zeros(scratch, size),
                       .inverse_mass = arena_zeros(scratch, n->system->point_count),
                       .force = knows_force(n) ? arena_zeros(scratch, size) : NULL,
                       .touch = arena_zeros(scratch, count * n->graph.count * touch_size(n))};
}

static touch_units units_of(const velocity_network *n) {
  return (touch_units){.speed = n->speed, .dt = n->dt, .ahead = n->base.whole_step};
}

/* Of the samples that the change acts on. */
static void see_contacts(const velocity_network *n, const change_record *r, double *touch,
                         arena *scratch) {
  const touch_units units = units_of(n);
  const int size = n->system->coordinate_count, each = n->graph.count;
  for (int k = 0; k < r->rows[0]; k++)
    for (int i = 0, sample = r->rows[1 + k]; i < each; i++) {
      const relation *of = &n->graph.items[i];
      double *out = touch + (sample * each + i) * touch_size(n);
      if (of->property < 0)
        out[TOUCH_NEAR] = 1;
      else
        relation_touch(n->system, of, &units, r->x + sample * size, r->v + sample * size, out,
                       scratch);
    }
}

static void see_contacts_vjp(const velocity_network *n, const change_record *r,
                             const double *touch_bar, double *x_bar, double *v_bar,
                             arena *scratch) {
  const touch_units units = units_of(n);
  const int size = n->system->coordinate_count, each = n->graph.count;
  for (int k = 0; k < r->rows[0]; k++)
    for (int i = 0, sample = r->rows[1 + k]; i < each; i++)
      if (n->graph.items[i].property >= 0)
        relation_touch_vjp(n->system, &n->graph.items[i], &units, r->x + sample * size,
                           r->v + sample * size, touch_bar + (sample * each + i) * touch_size(n),
                           x_bar + sample * size, v_bar + sample * size, scratch);
}

/* ---- the networks in double and in single precision ------------------------------------------ */

#define REAL double
#define NAME(stem) double_##stem
#define DENSE(stem) dense_double_##stem
#include "nn/velocity_kernel.inc"

#define REAL float
#define NAME(stem) single_##stem
#define DENSE(stem) dense_single_##stem
#include "nn/velocity_kernel.inc"

/* ---- the change ------------------------------------------------------------------------------ */

// samples on which it acts: all of them for an interaction network
static void note_rows(int count, const bool *acts, int *rows) {
  rows[0] = 0;
  for (int i = 0; i < count; i++)
    if (acts[i]) rows[1 + rows[0]++] = i;
}

static void network_apply(const velocity_change *self, const mechanics *m, int count,
                          const bool *acts, const double *x, double *v, void *memory,
                          arena *scratch) {
  const velocity_network *n = network_of(self);
  const arena_mark mark = arena_save(scratch);
  const int size = count * n->system->coordinate_count;
  const change_record r = record_at(n, count, memory);
  const seen_states seen = seen_make(n, count, scratch);
  double *change = arena_zeros(scratch, size);
  map_bodies(n, count, n->length, x, seen.q, see);
  map_bodies(n, count, n->speed, v, seen.w, see);
  inverse_masses(n, m, seen.inverse_mass);
  memcpy(r.x, x, sizeof(double) * (size_t)size);
  memcpy(r.v, v, sizeof(double) * (size_t)size);
  note_rows(count, acts, r.rows);
  see_contacts(n, &r, seen.touch, scratch);
  if (knows_force(n)) {
    scene_potential.gradient(&scene_potential, m, count, x, seen.force, NULL, scratch);
    for (int i = 0; i < size; i++) seen.force[i] *= -n->force_unit;
  }
  (n->single ? single_forward : double_forward)(n, m, count, &seen, &r, change, scratch);
  // v += S T^-1 change
  map_bodies(n, count, n->speed, change, v, act);
  arena_restore(scratch, mark);
}

static void network_apply_vjp(const velocity_change *self, const mechanics *m, int count,
                              void *memory, double *x_bar, double *v_bar, double *theta_bar,
                              double *parameters_bar, arena *scratch) {
  const velocity_network *n = network_of(self);
  const arena_mark mark = arena_save(scratch);
  const int size = count * n->system->coordinate_count;
  const change_record r = record_at(n, count, memory);
  const seen_states bars = seen_make(n, count, scratch);
  double *change_bar = arena_zeros(scratch, size);
  map_bodies(n, count, n->speed, v_bar, change_bar, act_vjp);
  (n->single ? single_reverse : double_reverse)(n, count, &r, change_bar, &bars,
                                                parameters_bar + n->parameter_offset, scratch);
  if (knows_force(n)) {
    // in the forward pass this was force = -unit grad V(x)
    for (int i = 0; i < size; i++) bars.force[i] *= -n->force_unit;
    scene_potential.gradient_vjp(&scene_potential, m, count, r.x, NULL, bars.force, x_bar,
                                 theta_bar, scratch);
  }
  if (has_objects(n)) inverse_masses_vjp(n, m, bars.inverse_mass, theta_bar);
  see_contacts_vjp(n, &r, bars.touch, x_bar, v_bar, scratch);
  map_bodies(n, count, n->length, bars.q, x_bar, see_vjp);
  map_bodies(n, count, n->speed, bars.w, v_bar, see_vjp);
  arena_restore(scratch, mark);
}

/* ---- making one ------------------------------------------------------------------------------ */

/* Widths of P, R and O of the paper's baselines. */
enum { PERCEPTRON_LAYERS = 3, RELATION_LAYERS = 4, OBJECT_LAYERS = 1 };

static int default_width(carom_baseline kind) {
  return kind == CAROM_BASELINE_MLP_CLNN ? 256 : kind == CAROM_BASELINE_IN_CLNN ? 150 : 300;
}

/* Possible contacts that P sees: all, or none where they are too many. */
static int seen_contacts(const velocity_network *n) {
  enum { MOST_CONTACTS = 1024 };
  return n->system->contact_count <= MOST_CONTACTS ? n->system->contact_count : 0;
}

velocity_network velocity_network_shape(const carom_system *system, carom_baseline kind,
                                        int hidden) {
  const int d = system->dimension, size = system->coordinate_count;
  const int width = hidden > 0 ? hidden : default_width(kind);
  const bool alone = kind == CAROM_BASELINE_IN;
  velocity_network n = {.base = {.at_contacts = kind == CAROM_BASELINE_MLP_CLNN,
                                 .whole_step = alone,
                                 .record_bytes = network_record_bytes,
                                 .apply = network_apply,
                                 .apply_vjp = network_apply_vjp},
                        .system = system,
                        .kind = kind,
                        .length = 1,
                        .speed = 1,
                        .dt = 1,
                        .mass_unit = 1};
  if (kind == CAROM_BASELINE_MLP_CLNN) {
    n.perceptron = (dense_shape){2 * size + seen_contacts(&n) * touch_size(&n), PERCEPTRON_LAYERS,
                                 width, size};
    return n;
  }
  n.perceptron =
      (dense_shape){2 * d + touch_size(&n) + RELATION_EXTRA, RELATION_LAYERS, width, EFFECT_SIZE};
  n.object = (dense_shape){(alone ? 3 : 2) * d + OBJECT_EXTRA + EFFECT_SIZE, OBJECT_LAYERS,
                           (2 * width + 2) / 3, d};
  return n;
}

size_t velocity_network_parameter_count(const velocity_network *n) {
  return size_add(dense_parameter_count(&n->perceptron),
                  has_objects(n) ? dense_parameter_count(&n->object) : 0);
}

size_t velocity_network_prepared_bytes(const velocity_network *n, bool single) {
  const dense_shape *p = &n->perceptron, *o = &n->object;
  size_t numbers = single ? dense_single_prepared_count(p) : dense_double_prepared_count(p);
  if (has_objects(n))
    numbers =
        size_add(numbers, single ? dense_single_prepared_count(o) : dense_double_prepared_count(o));
  return size_multiply(numbers, single ? sizeof(float) : sizeof(double));
}

carom_status velocity_network_allocate(velocity_network *n, bool single, carom_error *error) {
  n->single = single;
  const bool sees = has_objects(n) || seen_contacts(n) > 0;
  carom_status status = sees ? relation_graph_make(&n->graph, n->system, error) : CAROM_OK;
  if (status != CAROM_OK) return status;
  n->prepared = size_allocate_aligned(velocity_network_prepared_bytes(n, single), 1);
  if (n->prepared != NULL) return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a network of %zu parameters",
                   velocity_network_parameter_count(n));
}

void velocity_network_free(velocity_network *n) {
  relation_graph_free(&n->graph);
  free(n->prepared);
  n->prepared = NULL;
}

/* First changes are small: the last layer's weights are a tenth of orthogonal ones. */
carom_status velocity_network_initialise(const velocity_network *n, rng *random,
                                         double *parameters) {
  static const double SMALL = 0.1;
  const bool objects = has_objects(n);
  carom_status status = dense_initialise(&n->perceptron, objects ? 1 : SMALL, random, parameters);
  if (status != CAROM_OK || !objects) return status;
  return dense_initialise(&n->object, SMALL, random,
                          parameters + dense_parameter_count(&n->perceptron));
}

void velocity_network_refresh(velocity_network *n) {
  if (n->single)
    single_prepare(n, n->prepared);
  else
    double_prepare(n, n->prepared);
}
