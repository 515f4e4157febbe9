/* What may not matter: units of length, time and mass, where the scene stands and how it is turned,
 * handedness, the order of bodies, how the axes of a ball lie. Random scenes of disks or spheres, boxes and
 * point masses, some tied to each other, that overlap each other and walls; the motion and its derivative are
 * compared with those of the same scene after a change.
 *
 * Bodies that collide forget their start exponentially, rounding included: the steps are few, so that what is
 * compared stays near rounding; 8 of them have 8 events with several contacts each. */
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
#include "support/quick.h"
#include "support/systems.h"

enum { BODIES = 5, LINKS = 2, STEPS = 8, SCENES = 60, TEXT = 16384 };

typedef enum body_kind { POINT, BALL, BOX } body_kind;

typedef struct placed_body {
  body_kind kind;
  double mass, radius, half[3];
  double position[3], velocity[3], spin[3];
  double frame[3][3]; /* columns: body axes */
} placed_body;

/* A link from a point of a body to a point of another, or of the world. */
typedef struct placed_link {
  int from, to;    /* to -1: the world */
  double at[2][3]; /* body coordinates; of the world a place */
} placed_link;

typedef struct placed_scene {
  int dimension;
  double dt, gravity[3], friction, restitution;
  int plane_count;
  double normal[3][3], offset[3];
  placed_body bodies[BODIES];
  int link_count;
  placed_link links[LINKS];
} placed_scene;

/* ---- rotations --------------------------------------------------------------------------------- */

static void multiply(double a[3][3], double b[3][3], double out[3][3]) {
  double product[3][3] = {{0}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 3; k++) product[i][j] += a[i][k] * b[k][j];
  memcpy(out, product, sizeof product);
}

static void apply(double a[3][3], const double v[3], double out[3]) {
  double product[3] = {0};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) product[i] += a[i][k] * v[k];
  memcpy(out, product, sizeof product);
}

/* The rotation by |turn| about turn. */
static void rotation(const double turn[3], double out[3][3]) {
  double angle = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
  double n[3] = {0, 0, 1};
  for (int i = 0; i < 3 && angle > 0; i++) n[i] = turn[i] / angle;
  double c = cos(angle), s = sin(angle);
  double cross[3][3] = {{0, -n[2], n[1]}, {n[2], 0, -n[0]}, {-n[1], n[0], 0}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out[i][j] = (i == j ? c : 0) + (1 - c) * n[i] * n[j] + s * cross[i][j];
}

/* The turn of a rotation by less than half a circle. */
static void turn_of(double r[3][3], double out[3]) {
  double axis[3] = {r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]};
  double sine = 0.5 * sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  double angle = atan2(sine, 0.5 * (r[0][0] + r[1][1] + r[2][2] - 1));
  for (int i = 0; i < 3; i++) out[i] = sine > 0 ? axis[i] / (2 * sine) * angle : 0;
}

/* ---- random scenes ----------------------------------------------------------------------------- */

static void draw_turn(rng *r, int dimension, double size, double out[3]) {
  for (int i = 0; i < 3; i++) out[i] = dimension == 3 || i == 2 ? size * rng_normal(r) : 0;
}

static placed_body draw_body(rng *r, const placed_scene *s, int index) {
  placed_body b = {.kind = index == 0 ? BOX : index == 1 ? POINT : BALL};
  double turn[3];
  b.mass = exp(rng_uniform(r, -1.5, 1.5));
  b.radius = rng_uniform(r, 0.2, 0.4);
  for (int i = 0; i < s->dimension; i++) b.half[i] = rng_uniform(r, 0.1, 0.4);
  // crowded, near the floor
  for (int i = 0; i < s->dimension; i++) {
    bool up = i == s->dimension - 1;
    b.position[i] = up ? rng_uniform(r, 0.2, 0.7) : rng_uniform(r, -0.7, 0.7);
    b.velocity[i] = rng_normal(r) - (up ? 1 : 0);
  }
  draw_turn(r, s->dimension, 0.5, turn);
  rotation(turn, b.frame);
  if (b.kind != POINT) draw_turn(r, s->dimension, 2, b.spin);
  return b;
}

static void draw_links(rng *r, placed_scene *s) {
  s->link_count = LINKS;
  for (int k = 0; k < LINKS; k++) {
    placed_link *l = &s->links[k];
    *l = (placed_link){.from = 2 + k, .to = k == 0 ? 0 : -1};
    for (int end = 0; end < 2; end++)
      for (int i = 0; i < s->dimension; i++)
        l->at[end][i] = rng_uniform(r, -0.2, 0.2) + (l->to < 0 && end == 1 ? 1.5 : 0);
    // constraints are to hold at the start: what is linked is at rest
    for (int end = 0; end < 2; end++) {
      int body = end == 0 ? l->from : l->to;
      if (body < 0) continue;
      memset(s->bodies[body].velocity, 0, sizeof s->bodies[body].velocity);
      memset(s->bodies[body].spin, 0, sizeof s->bodies[body].spin);
    }
  }
}

static placed_scene draw_scene(rng *r, int dimension) {
  placed_scene s = {.dimension = dimension, .dt = 0.01, .plane_count = 2};
  s.friction = rng_uniform(r, 0.05, 1);
  s.restitution = rng_uniform(r, 0, 1) < 0.3 ? 0 : rng_uniform(r, 0.1, 0.9);
  s.gravity[0] = 1;
  s.gravity[dimension - 1] = -9.81;
  s.normal[0][dimension - 1] = 1;
  s.normal[1][0] = 0.8;
  s.normal[1][dimension - 1] = 0.6;
  s.offset[1] = 0.3;
  for (int k = 0; k < BODIES; k++) s.bodies[k] = draw_body(r, &s, k);
  draw_links(r, &s);
  return s;
}

/* ---- changes that may not matter --------------------------------------------------------------- */

/* x -> length * turn x + move, t -> time t, m -> mass m; bodies in another order; balls turned in
 * themselves. */
typedef struct change {
  const char *name;
  double length, time, mass;
  double turn[3][3]; /* orthogonal, may mirror */
  double move[3];
  int order[BODIES]; /* place of each body */
  bool turns_balls;
} change;

static change no_change(const char *name) {
  change c = {.name = name, .length = 1, .time = 1, .mass = 1};
  for (int i = 0; i < 3; i++) c.turn[i][i] = 1;
  for (int k = 0; k < BODIES; k++) c.order[k] = k;
  return c;
}

static double handedness(double a[3][3]) {
  return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
         a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
         a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

/* A mirror turns body axes with it; since frames have one handedness, the first body axis is then turned
 * round, and body coordinates along it. */
static void change_body(const change *c, placed_body *b) {
  double turn[3][3], hand;
  memcpy(turn, c->turn, sizeof turn);
  hand = handedness(turn);
  apply(turn, b->position, b->position);
  apply(turn, b->velocity, b->velocity);
  apply(turn, b->spin, b->spin);
  multiply(turn, b->frame, b->frame);
  for (int i = 0; i < 3; i++) {
    b->position[i] = c->length * b->position[i] + c->move[i];
    b->velocity[i] *= c->length / c->time;
    b->spin[i] *= hand / c->time;
    b->frame[i][0] *= hand;
    b->half[i] *= c->length;
  }
  b->radius *= c->length;
  b->mass *= c->mass;
}

/* The axes of a ball turned, and body coordinates of what hangs on it turned back. */
static void turn_ball(placed_scene *s, int k, rng *r) {
  double about[3], more[3][3], back[3][3];
  draw_turn(r, s->dimension, 0.6, about);
  rotation(about, more);
  multiply(s->bodies[k].frame, more, s->bodies[k].frame);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) back[i][j] = more[j][i];
  for (int l = 0; l < s->link_count; l++) {
    if (s->links[l].from == k) apply(back, s->links[l].at[0], s->links[l].at[0]);
    if (s->links[l].to == k) apply(back, s->links[l].at[1], s->links[l].at[1]);
  }
}

static placed_scene change_scene(const placed_scene *s, const change *c, rng *r) {
  placed_scene out = *s;
  double turn[3][3], hand;
  memcpy(turn, c->turn, sizeof turn);
  hand = handedness(turn);
  out.dt *= c->time;
  apply(turn, s->gravity, out.gravity);
  for (int i = 0; i < 3; i++) out.gravity[i] *= c->length / (c->time * c->time);
  for (int p = 0; p < s->plane_count; p++) {
    apply(turn, s->normal[p], out.normal[p]);
    out.offset[p] *= c->length;
    for (int i = 0; i < 3; i++) out.offset[p] -= out.normal[p][i] * c->move[i];
  }
  for (int k = 0; k < BODIES; k++) {
    out.bodies[c->order[k]] = s->bodies[k];
    change_body(c, &out.bodies[c->order[k]]);
  }
  for (int k = 0; k < s->link_count; k++) {
    placed_link *l = &out.links[k];
    l->from = c->order[l->from];
    if (l->to >= 0) l->to = c->order[l->to];
    for (int end = 0; end < 2; end++) {
      bool world = end == 1 && l->to < 0;
      if (world) apply(turn, l->at[end], l->at[end]);
      for (int i = 0; i < 3; i++)
        l->at[end][i] =
            c->length * l->at[end][i] * (!world && i == 0 ? hand : 1) + (world ? c->move[i] : 0);
    }
  }
  for (int k = 0; k < BODIES && c->turns_balls; k++)
    if (out.bodies[k].kind == BALL) turn_ball(&out, k, r);
  return out;
}

/* ---- scenes as text ---------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void put(char *text, const char *format, ...) {
  size_t used = strlen(text);
  va_list list;
  va_start(list, format);
  vsnprintf(text + used, TEXT - used, format, list);
  va_end(list);
}

static void put_vector(char *text, const char *name, const double *v, int dimension) {
  put(text, "\"%s\": [", name);
  for (int i = 0; i < dimension; i++) put(text, "%s%.17g", i > 0 ? ", " : "", v[i]);
  put(text, "]");
}

static void put_body(char *text, const placed_scene *s, int k) {
  const placed_body *b = &s->bodies[k];
  put(text, "%s{\"id\": \"b%d\", \"type\": \"%s\", \"mass\": %.17g, ", k > 0 ? ", " : "", k,
      b->kind == POINT ? "point" : "rigid", b->mass);
  if (b->kind == BOX) {
    put(text, "\"shape\": {\"type\": \"box\", ");
    put_vector(text, "half_extents", b->half, s->dimension);
    put(text, "}}");
  } else {
    put(text, "\"radius\": %.17g}", b->radius);
  }
}

static void put_state(char *text, const placed_scene *s, int k) {
  const placed_body *b = &s->bodies[k];
  double turn[3], frame[3][3];
  memcpy(frame, b->frame, sizeof frame);
  turn_of(frame, turn);
  put(text, "%s{\"body\": \"b%d\", ", k > 0 ? ", " : "", k);
  put_vector(text, "position", b->position, s->dimension);
  put(text, ", ");
  put_vector(text, "velocity", b->velocity, s->dimension);
  if (b->kind != POINT && s->dimension == 2)
    put(text, ", \"rotation\": %.17g, \"spin\": %.17g", turn[2], b->spin[2]);
  if (b->kind != POINT && s->dimension == 3) {
    put(text, ", ");
    put_vector(text, "rotation", turn, 3);
    put(text, ", ");
    put_vector(text, "spin", b->spin, 3);
  }
  put(text, "}");
}

/* Where the end of a link is. */
static void end_place(const placed_scene *s, const placed_link *l, int end, double out[3]) {
  memcpy(out, l->at[end], sizeof l->at[end]);
  int k = end == 0 ? l->from : l->to;
  if (k < 0) return;
  double frame[3][3];
  memcpy(frame, s->bodies[k].frame, sizeof frame);
  apply(frame, l->at[end], out);
  for (int i = 0; i < 3; i++) out[i] += s->bodies[k].position[i];
}

static void put_link(char *text, const placed_scene *s, int k) {
  const placed_link *l = &s->links[k];
  double a[3], b[3], square = 0;
  end_place(s, l, 0, a);
  end_place(s, l, 1, b);
  for (int i = 0; i < 3; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
  put(text, "%s{\"type\": \"link\", \"length\": %.17g, \"ends\": [{\"body\": \"b%d\", ",
      k > 0 ? ", " : "", sqrt(square), l->from);
  put_vector(text, "at", l->at[0], s->dimension);
  put(text, "}, ");
  if (l->to >= 0) {
    put(text, "{\"body\": \"b%d\", ", l->to);
    put_vector(text, "at", l->at[1], s->dimension);
    put(text, "}]}");
  } else {
    put(text, "[");
    for (int i = 0; i < s->dimension; i++) put(text, "%s%.17g", i > 0 ? ", " : "", l->at[1][i]);
    put(text, "]]}");
  }
}

static carom_system *scene_system(const placed_scene *s) {
  static char text[TEXT];
  text[0] = '\0';
  put(text, "{\"carom\": 1, \"name\": \"scene\", \"dimension\": %d, \"dt\": %.17g, \"steps\": %d, ",
      s->dimension, s->dt, STEPS);
  put_vector(text, "gravity", s->gravity, s->dimension);
  put(text, ", \"contacts\": {\"pairs\": true, \"friction\": %.17g, \"restitution\": %.17g}",
      s->friction, s->restitution);
  put(text, ", \"planes\": [");
  for (int p = 0; p < s->plane_count; p++) {
    put(text, "%s{\"id\": \"p%d\", \"offset\": %.17g, ", p > 0 ? ", " : "", p, s->offset[p]);
    put_vector(text, "normal", s->normal[p], s->dimension);
    put(text, "}");
  }
  put(text, "], \"bodies\": [");
  for (int k = 0; k < BODIES; k++) put_body(text, s, k);
  put(text, "], \"joints\": [");
  for (int k = 0; k < s->link_count; k++) put_link(text, s, k);
  put(text, "], \"initial\": {\"sampler\": \"state\", \"bodies\": [");
  for (int k = 0; k < BODIES; k++) put_state(text, s, k);
  put(text, "]}}");
  return parse_system(text);
}

/* ---- what a scene does ------------------------------------------------------------------------- */

/* Of each body, in the order and the units of the scene without a change: where it is at the end, how it
 * moves, and how a functional of all that changes with its start. A body is moved, and turned, as a whole:
 * how the functional changes when a body's points are moved against each other means nothing. */
typedef struct outcome {
  bool usable; /* programs were solved, and not at the border of two states */
  int contacts;
  double position[BODIES][3], velocity[BODIES][3], spin[BODIES][3];
  double by_position[BODIES][3], by_velocity[BODIES][3], by_turn[BODIES][3], by_spin[BODIES][3];
  double by_mass[BODIES], by_moment[BODIES], by_friction, by_restitution;
} outcome;

/* sum_k e_k x f_k over the tips of a body */
static void torque_of(const double *x, const double *f, int dimension, double out[3]) {
  memset(out, 0, 3 * sizeof *out);
  for (int k = 1; k <= dimension; k++) {
    double e[3] = {0}, g[3] = {0};
    for (int i = 0; i < dimension; i++) {
      e[i] = x[k * dimension + i] - x[i];
      g[i] = f[k * dimension + i];
    }
    for (int i = 0; i < 3; i++)
      out[i] += e[(i + 1) % 3] * g[(i + 2) % 3] - e[(i + 2) % 3] * g[(i + 1) % 3];
  }
}

static void sum_of(const double *f, int points, int dimension, double out[3]) {
  memset(out, 0, 3 * sizeof *out);
  for (int k = 0; k < points; k++)
    for (int i = 0; i < dimension; i++) out[i] += f[k * dimension + i];
}

/* out = back * v with the transposed turn */
static void turned_back(const change *c, double factor, const double v[3], double out[3]) {
  double back[3][3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) back[i][j] = c->turn[j][i];
  apply(back, v, out);
  for (int i = 0; i < 3; i++) out[i] *= factor;
}

static double weight(int k, int i) { return sin(1.0 + 3 * k + i); }

static int point_count(const placed_scene *s, int k) {
  return s->bodies[k].kind == POINT ? 1 : s->dimension + 1;
}

/* Weights of the functional on the last state: on centres, and on the turn and spin of boxes. */
static void put_weights(const placed_scene *s, const change *c, const double *x, double *x_bar,
                        double *v_bar) {
  int d = s->dimension, at = 0;
  double turn[3][3];
  memcpy(turn, c->turn, sizeof turn);
  for (int place = 0; place < BODIES; place++) {
    int k = 0;
    while (c->order[k] != place) k++;
    double w[3] = {0}, turned[3];
    for (int i = 0; i < d; i++) w[i] = weight(k, i);
    apply(turn, w, turned);
    for (int i = 0; i < d; i++) {
      x_bar[at + i] = turned[i] / c->length;
      v_bar[at + i] = 0.1 * turned[i] * c->time / c->length;
    }
    // the spin of a box: omega = 1/2 sum e x v in the plane of all axes, on e x w
    if (s->bodies[place].kind == BOX) {
      double spin[3];
      double out[3] = {weight(k, 3), weight(k, 4), weight(k, 5)};
      if (d == 2) out[0] = out[1] = 0;
      apply(turn, out, spin);
      for (int i = 0; i < 3; i++) spin[i] *= 0.1 * handedness(turn) * c->time;
      for (int p = 1; p <= d; p++) {
        double e[3] = {0}, cross[3];
        for (int i = 0; i < d; i++) e[i] = x[at + p * d + i] - x[at + i];
        for (int i = 0; i < 3; i++)
          cross[i] = spin[(i + 1) % 3] * e[(i + 2) % 3] - spin[(i + 2) % 3] * e[(i + 1) % 3];
        for (int i = 0; i < d; i++) {
          v_bar[at + p * d + i] += cross[i];
          v_bar[at + i] -= cross[i];
        }
      }
    }
    at += point_count(s, place) * d;
  }
}

static void read_state(const placed_scene *s, const change *c, const double *x, const double *v,
                       outcome *o) {
  int d = s->dimension, at = 0;
  double hand, turn[3][3];
  memcpy(turn, c->turn, sizeof turn);
  hand = handedness(turn);
  for (int place = 0; place < BODIES; place++) {
    int k = 0;
    while (c->order[k] != place) k++;
    double p[3] = {0}, q[3] = {0}, spin[3] = {0};
    for (int i = 0; i < d; i++) {
      p[i] = x[at + i] - c->move[i];
      q[i] = v[at + i];
    }
    if (s->bodies[place].kind != POINT) {
      double relative[12];
      for (int j = 0; j < (d + 1) * d; j++) relative[j] = v[at + j] - v[at + j % d];
      torque_of(x + at, relative, d, spin);
    }
    turned_back(c, 1 / c->length, p, o->position[k]);
    turned_back(c, c->time / c->length, q, o->velocity[k]);
    turned_back(c, hand * c->time, spin, o->spin[k]);
    at += point_count(s, place) * d;
  }
}

static void read_gradient(const placed_scene *s, const change *c, const carom_system *system,
                          const double *x, const double *x_bar, const double *v_bar,
                          const double *theta_bar, outcome *o) {
  int d = s->dimension, at = 0;
  double turn[3][3], hand;
  memcpy(turn, c->turn, sizeof turn);
  hand = handedness(turn);
  const carom_segment_info mass = carom_parameters_segment(system, CAROM_LOG_MASS);
  const carom_segment_info moment = carom_parameters_segment(system, CAROM_LOG_MOMENT);
  for (int place = 0; place < BODIES; place++) {
    int k = 0, points = point_count(s, place);
    while (c->order[k] != place) k++;
    double sum[3], torque[3];
    sum_of(x_bar + at, points, d, sum);
    turned_back(c, c->length, sum, o->by_position[k]);
    sum_of(v_bar + at, points, d, sum);
    turned_back(c, c->length / c->time, sum, o->by_velocity[k]);
    o->by_mass[k] = theta_bar[mass.offset + place];
    if (points > 1) {
      torque_of(x + at, x_bar + at, d, torque);
      turned_back(c, hand, torque, o->by_turn[k]);
      torque_of(x + at, v_bar + at, d, torque);
      turned_back(c, hand / c->time, torque, o->by_spin[k]);
      for (int i = 0; i < d; i++) o->by_moment[k] += theta_bar[moment.offset + place * d + i];
    }
    at += points * d;
  }
  const carom_segment_info mu = carom_parameters_segment(system, CAROM_FRICTION);
  const carom_segment_info e = carom_parameters_segment(system, CAROM_RESTITUTION);
  for (int i = 0; i < mu.size; i++) o->by_friction += theta_bar[mu.offset + i];
  for (int i = 0; i < e.size; i++) o->by_restitution += theta_bar[e.offset + i];
}

/* The motion of a scene after a change, and its derivative, in terms of the scene without it. */
static outcome run(const placed_scene *scene, const change *c, rng *r) {
  outcome o = {.usable = true};
  placed_scene changed = change_scene(scene, c, r);
  carom_system *system = scene_system(&changed);
  carom_rollout_options options = carom_rollout_default_options(system);
  options.threads = 1;
  carom_rollout *rollout = NULL;
  carom_error error;
  int size = carom_system_describe(system).point_count * scene->dimension;
  size_t states = (size_t)(STEPS + 1) * (size_t)size;
  double *x0 = calloc(4 * (size_t)size, sizeof *x0), *v0 = x0 + size;
  double *x0_bar = v0 + size, *v0_bar = x0_bar + size;
  double *x_bar = calloc(2 * states, sizeof *x_bar), *v_bar = x_bar + states;
  double *theta_bar = calloc((size_t)carom_parameters_count(system), sizeof *theta_bar);
  if (carom_system_sample(system, 0, 1, x0, v0, &error) != CAROM_OK ||
      carom_rollout_create(system, &options, 1, &rollout, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  if (carom_rollout_run(rollout, NULL, x0, v0, &error) != CAROM_OK) fail_msg("%s", error.message);
  const carom_report report = carom_rollout_report(rollout);
  // a program so near a border of states that it ended above rounding passes its residual on, magnified
  o.usable = report.failed_programs == 0 && report.degenerate_programs == 0 &&
             report.worst_residual < 1e-13;
  o.contacts = (int)report.contacts;
  const double *x = carom_rollout_positions(rollout) + states - size;
  const double *v = carom_rollout_velocities(rollout) + states - size;
  read_state(&changed, c, x, v, &o);
  put_weights(&changed, c, x, x_bar + states - size, v_bar + states - size);
  carom_rollout_vjp(rollout, x_bar, v_bar, x0_bar, v0_bar, theta_bar, &error);
  read_gradient(&changed, c, system, x0, x0_bar, v0_bar, theta_bar, &o);
  carom_rollout_destroy(rollout);
  carom_system_destroy(system);
  free(x0);
  free(x_bar);
  free(theta_bar);
  return o;
}

/* ---- comparison -------------------------------------------------------------------------------- */

/* The largest difference of two vectors, relative to the largest entry, which counts as at least 1. */
static double difference(const double *a, const double *b, size_t count) {
  double size = 1, worst = 0;
  for (size_t i = 0; i < count; i++) {
    size = fmax(size, fabs(a[i]));
    double here = fabs(a[i] - b[i]);
    worst = isnan(here) ? INFINITY : fmax(worst, here);
  }
  return worst / size;
}

#define COMPARE(field) \
  difference((const double *)a->field, (const double *)b->field, sizeof a->field / sizeof(double))

static double motion_difference(const outcome *a, const outcome *b) {
  return fmax(COMPARE(position), fmax(COMPARE(velocity), COMPARE(spin)));
}

static double gradient_difference(const outcome *a, const outcome *b) {
  double worst = fmax(COMPARE(by_position), COMPARE(by_velocity));
  worst = fmax(worst, fmax(COMPARE(by_turn), COMPARE(by_spin)));
  worst = fmax(worst, fmax(COMPARE(by_mass), COMPARE(by_moment)));
  worst = fmax(worst, difference(&a->by_friction, &b->by_friction, 1));
  return fmax(worst, difference(&a->by_restitution, &b->by_restitution, 1));
}

/* ---- the changes ------------------------------------------------------------------------------- */

enum { CHANGE_COUNT = 8 };

static void list_changes(rng *r, int dimension, change changes[CHANGE_COUNT]) {
  static const char *const names[CHANGE_COUNT] = {"length", "time",   "mass",  "place",
                                                  "turn",   "mirror", "order", "axes of balls"};
  double turn[3];
  for (int k = 0; k < CHANGE_COUNT; k++) changes[k] = no_change(names[k]);
  changes[0].length = exp(rng_uniform(r, -6, 6));
  changes[1].time = exp(rng_uniform(r, -6, 6));
  changes[2].mass = exp(rng_uniform(r, -6, 6));
  for (int i = 0; i < dimension; i++) changes[3].move[i] = rng_normal(r);
  draw_turn(r, dimension, 0.6, turn);
  rotation(turn, changes[4].turn);
  changes[5].turn[0][0] = -1;
  for (int k = 0; k < BODIES; k++) changes[6].order[k] = (2 * k + 3) % BODIES;
  changes[7].turns_balls = true;
}

static void check(int dimension) {
  double motion[CHANGE_COUNT] = {0}, gradient[CHANGE_COUNT] = {0};
  int compared = 0, contacts = 0;
  change changes[CHANGE_COUNT];
  for (int k = 0; k < repeats(SCENES); k++) {
    rng random;
    rng_seed(&random, 77, (uint64_t)(2 * k + dimension - 2));
    placed_scene scene = draw_scene(&random, dimension);
    const change none = no_change("none");
    const outcome plain = run(&scene, &none, &random);
    if (!plain.usable) continue;
    compared++;
    contacts += plain.contacts;
    list_changes(&random, dimension, changes);
    for (int c = 0; c < CHANGE_COUNT; c++) {
      const outcome changed = run(&scene, &changes[c], &random);
      if (!changed.usable) continue;
      assert_int_equal(changed.contacts, plain.contacts);
      double m = motion_difference(&plain, &changed), g = gradient_difference(&plain, &changed);
      if (getenv("CAROM_INVARIANCE_SHOW") != NULL && (m > 1e-11 || g > 1e-9))
        print_message("scene %d, %s: %.1e %.1e\n", k, changes[c].name, m, g);
      motion[c] = fmax(motion[c], m);
      gradient[c] = fmax(gradient[c], g);
    }
  }
  print_message("%dD: %d scenes, %.1f contacts each\n", dimension, compared,
                (double)contacts / compared);
  for (int c = 0; c < CHANGE_COUNT; c++)
    print_message("  %-14s motion %.1e, gradient %.1e\n", changes[c].name, motion[c], gradient[c]);
  assert_true(compared * 2 >= repeats(SCENES));
  for (int c = 0; c < CHANGE_COUNT; c++) {
    assert_true(motion[c] < 1e-10);
    assert_true(gradient[c] < 1e-9);
  }
}

static void test_plane(void **state) {
  (void)state;
  check(2);
}

static void test_space(void **state) {
  (void)state;
  check(3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plane), cmocka_unit_test(test_space)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
