#include "physics/collision.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* ---- detection ------------------------------------------------------------------------------- */

void contact_list_init(contact_list *list) { *list = (contact_list){0}; }

void contact_list_free(contact_list *list) {
  free(list->ids);
  free(list->balls);
  free(list->reach_low);
  *list = (contact_list){0};
}

bool contact_list_push(contact_list *list, contact_id id) {
  if (list->count == list->capacity) {
    int capacity = list->capacity > 0 ? 2 * list->capacity : 16;
    contact_id *ids = realloc(list->ids, sizeof(contact_id) * (size_t)capacity);
    if (ids == NULL) return false;
    list->ids = ids;
    list->capacity = capacity;
  }
  list->ids[list->count++] = id;
  return true;
}

/* Between the centres of two balls. */
static double pair_distance(const carom_system *s, int i, int j, const double *x) {
  int d = s->dimension;
  const double *a = x + s->bodies[i].first_point * d;
  const double *b = x + s->bodies[j].first_point * d;
  double square = 0;
  for (int k = 0; k < d; k++) square += (b[k] - a[k]) * (b[k] - a[k]);
  return sqrt(square);
}

static double pair_gap(const carom_system *s, int i, int j, const double *x) {
  return pair_distance(s, i, j, x) - s->bodies[i].radius - s->bodies[j].radius;
}

/* Position of a body-fixed point: x_0 + sum_k c_k (x_k - x_0). */
static void shape_point(const carom_system *s, const body *b, int index, const double *x,
                        double *position) {
  int d = s->dimension;
  const double *x0 = x + b->first_point * d;
  const double *c = b->shape_points + index * d;
  for (int i = 0; i < d; i++) {
    position[i] = x0[i];
    for (int k = 0; k < d; k++) position[i] += c[k] * (x0[(k + 1) * d + i] - x0[i]);
  }
}

static double point_plane_gap(const carom_system *s, const body *b, int index, const plane *p,
                              const double *x) {
  double position[MAX_DIMENSION] = {0};
  shape_point(s, b, index, x, position);
  return vector_dot_small(p->normal, position, s->dimension) + p->offset - b->rounding;
}

static int lowest_point(const carom_system *s, const body *b, const plane *p, const double *x,
                        double *gap) {
  int lowest = 0;
  *gap = INFINITY;
  for (int k = 0; k < b->shape_point_count; k++) {
    double distance = point_plane_gap(s, b, k, p, x);
    if (distance < *gap) {
      *gap = distance;
      lowest = k;
    }
  }
  return lowest;
}

/* The segments before and after the joint of a bend, and by how much the second is turned from the
 * first: in 2D the difference of their angles atan2(x, -y), wrapped to +-pi; in 3D, where a turn has
 * no sign, from 0 to pi. */
typedef struct bend {
  double before[MAX_DIMENSION], after[MAX_DIMENSION];
  double normal[MAX_DIMENSION]; /* 3D: before x after */
  double sine, cosine;          /* of the angle, times both lengths */
  double angle;
} bend;

static bend bend_at(const limit *l, int d, const double *x) {
  bend b = {.sine = 0};
  combination_value(&l->segment, d, x, true, b.before);
  combination_value(&l->next_segment, d, x, true, b.after);
  if (d == 2) {
    b.sine = b.before[0] * b.after[1] - b.before[1] * b.after[0];
    b.cosine = b.before[0] * b.after[0] + b.before[1] * b.after[1];
  } else {
    vector_cross(b.before, b.after, b.normal);
    b.sine = sqrt(vector_dot_small(b.normal, b.normal, 3));
    b.cosine = vector_dot_small(b.before, b.after, 3);
  }
  // accurate for straight and for folded segments alike
  b.angle = atan2(b.sine, b.cosine);
  return b;
}

static bool detect_pair(const carom_system *s, const double *x, int i, int j, contact_list *list) {
  if (pair_gap(s, i, j, x) >= list->margin) return true;
  return contact_list_push(list,
                           (contact_id){CONTACT_PAIR, i, j, 0, system_pair_property(s, i, j)});
}

static int compare_ids(const void *a, const void *b) {
  const contact_id *p = a, *q = b;
  return p->property != q->property ? (p->property > q->property) - (p->property < q->property)
                                    : p->detail - q->detail;
}

/* Balls in order of their lower ends along the first axis; the order of the last call is nearly
 * right, so insertion sort takes linear time. */
static bool sort_balls(const carom_system *s, const double *x, contact_list *list) {
  if (list->reach_low == NULL) {
    if (list->balls == NULL) list->balls = size_allocate((size_t)s->body_count, sizeof(int));
    list->reach_low = size_allocate((size_t)s->body_count, sizeof(double));
    if (list->balls == NULL || list->reach_low == NULL) {
      free(list->reach_low);
      list->reach_low = NULL;
      return false;
    }
    for (int i = 0; i < s->body_count; i++)
      if (s->bodies[i].shape == SHAPE_BALL) list->balls[list->ball_count++] = i;
  }
  for (int i = 0; i < s->body_count; i++)
    list->reach_low[i] = x[s->bodies[i].first_point * s->dimension] - s->bodies[i].radius;
  for (int i = 1; i < list->ball_count; i++) {
    int ball = list->balls[i];
    int k = i - 1;
    for (; k >= 0 && list->reach_low[list->balls[k]] > list->reach_low[ball]; k--)
      list->balls[k + 1] = list->balls[k];
    list->balls[k + 1] = ball;
  }
  return true;
}

static bool sweep_pairs(const carom_system *s, const double *x, contact_list *list) {
  if (!sort_balls(s, x, list)) return false;
  for (int a = 0; a < list->ball_count; a++) {
    int i = list->balls[a];
    double reach = list->reach_low[i] + 2 * s->bodies[i].radius;
    for (int b = a + 1; b < list->ball_count; b++) {
      int j = list->balls[b];
      if (list->reach_low[j] > reach + list->margin) break;
      if (!detect_pair(s, x, i < j ? i : j, i < j ? j : i, list)) return false;
    }
  }
  // the order of possible contacts, whatever the sweep's was
  if (list->count > 1) qsort(list->ids, (size_t)list->count, sizeof(contact_id), compare_ids);
  return true;
}

static bool detect_pairs(const carom_system *s, const double *x, contact_list *list) {
  enum { SWEEP_FROM = 24 }; // bodies from which sorting pays
  if (!s->pair_contacts) return true;
  if (s->body_count >= SWEEP_FROM) return sweep_pairs(s, x, list);
  for (int i = 0; i < s->body_count; i++) {
    if (s->bodies[i].shape != SHAPE_BALL) continue;
    for (int j = i + 1; j < s->body_count; j++)
      if (s->bodies[j].shape == SHAPE_BALL && !detect_pair(s, x, i, j, list)) return false;
  }
  return true;
}

static bool detect_body_plane(const carom_system *s, const double *x, int i, int p,
                              contact_list *list) {
  const body *b = &s->bodies[i];
  const plane *wall = &s->planes[p];
  int property = system_plane_property(s, i, p);
  if (b->shape == SHAPE_BALL) {
    const double *centre = x + b->first_point * s->dimension;
    double gap = vector_dot_small(wall->normal, centre, s->dimension) + wall->offset - b->radius;
    return gap >= list->margin ||
           contact_list_push(list, (contact_id){CONTACT_BALL_PLANE, i, p, 0, property});
  }
  if (b->shape == SHAPE_RIM) {
    double gap;
    int lowest = lowest_point(s, b, wall, x, &gap);
    return gap >= list->margin ||
           contact_list_push(list, (contact_id){CONTACT_POINT_PLANE, i, p, lowest, property});
  }
  if (b->shape == SHAPE_POINTS)
    for (int k = 0; k < b->shape_point_count; k++)
      if (point_plane_gap(s, b, k, wall, x) < list->margin &&
          !contact_list_push(list, (contact_id){CONTACT_POINT_PLANE, i, p, k, property}))
        return false;
  return true;
}

/* By how much a bend turns at most where the ends of its segments move by 1 against each other. */
static double turn_of_length(const bend *b, int d) {
  return 1 / sqrt(vector_dot_small(b->before, b->before, d)) +
         1 / sqrt(vector_dot_small(b->after, b->after, d));
}

static bool detect_limit(const carom_system *s, const double *x, int index, contact_list *list) {
  const limit *l = &s->limits[index];
  double measure;
  double low = l->low, margin = list->margin;
  if (l->kind == LIMIT_BEND) {
    bend b = bend_at(l, s->dimension, x);
    margin = list->bend_margin;
    if (list->bend_margin_is_length) margin *= turn_of_length(&b, s->dimension);
    measure = b.angle;
    low = -l->high;
  } else {
    double segment[MAX_DIMENSION];
    combination_value(&l->segment, s->dimension, x, true, segment);
    measure = sqrt(vector_dot_small(segment, segment, s->dimension));
  }
  if (l->high - measure < margin &&
      !contact_list_push(list, (contact_id){CONTACT_LIMIT, index, 0, 0, l->property}))
    return false;
  return measure - low >= margin ||
         contact_list_push(list, (contact_id){CONTACT_LIMIT, index, 0, 1, l->property});
}

bool collision_detect(const carom_system *s, const double *x, contact_list *list) {
  list->count = 0;
  if (!detect_pairs(s, x, list)) return false;
  for (int i = 0; i < s->body_count; i++)
    for (int p = 0; p < s->plane_count; p++)
      if (!detect_body_plane(s, x, i, p, list)) return false;
  for (int l = 0; l < s->limit_count; l++)
    if (!detect_limit(s, x, l, list)) return false;
  return true;
}

static double limit_gap(const carom_system *s, const contact_id *id, const double *x) {
  const limit *l = &s->limits[id->first];
  double segment[MAX_DIMENSION];
  if (l->kind == LIMIT_BEND) {
    double angle = bend_at(l, s->dimension, x).angle;
    return id->detail == 0 ? l->high - angle : l->high + angle;
  }
  combination_value(&l->segment, s->dimension, x, true, segment);
  double length = sqrt(vector_dot_small(segment, segment, s->dimension));
  return id->detail == 0 ? l->high - length : length - l->low;
}

double contact_gap(const carom_system *s, contact_id *id, const double *x) {
  if (id->kind == CONTACT_PAIR) return pair_gap(s, id->first, id->second, x);
  if (id->kind == CONTACT_LIMIT) return limit_gap(s, id, x);
  const body *b = &s->bodies[id->first];
  const plane *wall = &s->planes[id->second];
  double gap;
  if (id->kind == CONTACT_BALL_PLANE) {
    const double *centre = x + b->first_point * s->dimension;
    return vector_dot_small(wall->normal, centre, s->dimension) + wall->offset - b->radius;
  }
  if (b->shape != SHAPE_RIM) return point_plane_gap(s, b, id->detail, wall, x);
  id->detail = lowest_point(s, b, wall, x, &gap);
  return gap;
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* Completes a frame whose first row, the unit normal, is set. 2D: the normal turned by 90 degrees.
 * 3D: the branchless basis of Duff et al., both tangents negated. */
static void complete_frame(double frame[MAX_DIMENSION][MAX_DIMENSION], int d) {
  const double *n = frame[0];
  if (d == 2) {
    frame[1][0] = -n[1];
    frame[1][1] = n[0];
    return;
  }
  double sign = n[2] >= 0 ? 1 : -1;
  double a = -1 / (sign + n[2]);
  double b = n[0] * n[1] * a;
  frame[1][0] = -(1 + sign * n[0] * n[0] * a);
  frame[1][1] = -sign * b;
  frame[1][2] = sign * n[0];
  frame[2][0] = -b;
  frame[2][1] = -(sign + n[1] * n[1] * a);
  frame[2][2] = n[1];
}

static void add_point(contact *c, int point, double weight) {
  c->point[c->point_count] = point;
  c->weight[c->point_count++] = weight;
}

/* The points of a body with the weights of its point at `lever` e_n from the centre, or from the point with
 * body coordinates `corner` where that is not NULL, times sign. */
static void add_side(const carom_system *s, int body_index, double sign, double lever,
                     const double *corner, const double *x, contact *c) {
  const body *b = &s->bodies[body_index];
  int d = s->dimension;
  if (!b->rigid) {
    add_point(c, b->first_point, sign);
    return;
  }
  // c_k = corner_k + lever e_n . (x_k - x_0); weights (1 - sum c, c_1, ..., c_d)
  const double *x0 = x + b->first_point * d;
  double coordinate[MAX_DIMENSION], sum = 0;
  for (int k = 0; k < d; k++) {
    coordinate[k] = 0;
    for (int i = 0; i < d; i++) coordinate[k] += c->frame[0][i] * (x0[(k + 1) * d + i] - x0[i]);
    coordinate[k] = lever * coordinate[k] + (corner != NULL ? corner[k] : 0);
    sum += coordinate[k];
  }
  add_point(c, b->first_point, sign * (1 - sum));
  for (int k = 0; k < d; k++) add_point(c, b->first_point + k + 1, sign * coordinate[k]);
}

/* gap = |c_b - c_a| - r_a - r_b, e_n from a to b; the points that touch are r_a e_n and -r_b e_n from
 * their centres. */
static void pair_geometry(const carom_system *s, const double *x, contact *c) {
  int d = s->dimension;
  const body *a = &s->bodies[c->id.first];
  const body *b = &s->bodies[c->id.second];
  double distance = pair_distance(s, c->id.first, c->id.second, x);
  c->gap = pair_gap(s, c->id.first, c->id.second, x);
  for (int i = 0; i < d; i++) {
    double delta = x[b->first_point * d + i] - x[a->first_point * d + i];
    // two centres in the same place: any normal will do
    c->frame[0][i] = distance > 0 ? delta / distance : i == 0;
  }
  complete_frame(c->frame, d);
  add_side(s, c->id.first, -1, a->radius, NULL, x, c);
  add_side(s, c->id.second, 1, -b->radius, NULL, x, c);
}

/* The point of a shape that a contact is of, in body coordinates; NULL: the centre of a ball. */
static const double *corner_of(const carom_system *s, const contact_id *id) {
  const body *b = &s->bodies[id->first];
  return id->kind == CONTACT_POINT_PLANE ? b->shape_points + id->detail * s->dimension : NULL;
}

// of the ball about that point
static double radius_of(const carom_system *s, const contact_id *id) {
  const body *b = &s->bodies[id->first];
  return id->kind == CONTACT_POINT_PLANE ? b->rounding : b->radius;
}

/* gap = n . p + offset, where p = centre - radius n for a ball, else a point of the shape, lowered in the same
 * way by what it is rounded by; e_n = -n points from the body into the wall. */
static void plane_geometry(const carom_system *s, const double *x, contact *c) {
  int d = s->dimension;
  const body *b = &s->bodies[c->id.first];
  const plane *wall = &s->planes[c->id.second];
  for (int i = 0; i < d; i++) c->frame[0][i] = -wall->normal[i];
  complete_frame(c->frame, d);
  if (c->id.kind == CONTACT_BALL_PLANE)
    c->gap = vector_dot_small(wall->normal, x + b->first_point * d, d) + wall->offset - b->radius;
  else
    c->gap = point_plane_gap(s, b, c->id.detail, wall, x);
  add_side(s, c->id.first, -1, radius_of(s, &c->id), corner_of(s, &c->id), x, c);
}

/* gap = high - |s| or |s| - low, e_n = s / |s| */
static void stretch_geometry(const carom_system *s, const double *x, contact *c) {
  const limit *l = &s->limits[c->id.first];
  int d = s->dimension;
  double segment[MAX_DIMENSION];
  combination_value(&l->segment, d, x, true, segment);
  double length = sqrt(vector_dot_small(segment, segment, d));
  for (int i = 0; i < d; i++) c->frame[0][i] = length > 0 ? segment[i] / length : i == 0;
  complete_frame(c->frame, d);
  double sign = c->id.detail == 0 ? -1 : 1;
  c->gap = c->id.detail == 0 ? l->high - length : length - l->low;
  for (int k = 0; k < l->segment.count; k++)
    add_point(c, l->segment.point[k], sign * l->segment.weight[k]);
}

/* Points of both segments of a bend, each once, with its weight in either. */
static void list_bend_points(const limit *l, contact *c) {
  for (int k = 0; k < l->segment.count; k++) {
    add_point(c, l->segment.point[k], l->segment.weight[k]);
    c->next_weight[k] = 0;
  }
  for (int k = 0; k < l->next_segment.count; k++) {
    int at = 0;
    while (at < c->point_count && c->point[at] != l->next_segment.point[k]) at++;
    if (at == c->point_count) {
      add_point(c, l->next_segment.point[k], 0);
      c->next_weight[at] = 0;
    }
    c->next_weight[at] += l->next_segment.weight[k];
  }
}

/* 3D: the unit axis about which a bend turns. It exists where a bend can be active, since a limit is
 * above 0; two segments folded onto each other have many: any will do. */
static void bend_axis(const bend *b, double *axis) {
  if (b->sine > 0) {
    for (int i = 0; i < 3; i++) axis[i] = b->normal[i] / b->sine;
    return;
  }
  double frame[MAX_DIMENSION][MAX_DIMENSION];
  double length = sqrt(vector_dot_small(b->before, b->before, 3));
  for (int i = 0; i < 3; i++) frame[0][i] = b->before[i] / length;
  complete_frame(frame, 3);
  memcpy(axis, frame[1], sizeof frame[1]);
}

static double square_length(int d, const double *a) {
  return a[0] * a[0] + a[1] * a[1] + (d == 3 ? a[2] * a[2] : 0);
}

/* What a bend takes of the velocity of one segment s, rows [d][d]. The first is the gradient of the
 * segment's angle: s / |s|^2 turned by 90 degrees about the axis, which is z in 2D. The second is
 * the first turned once more, the relative stretch. 3D has a third, the first turned about the
 * segment: the turn out of the bend's plane. */
static void turn_rows(int d, const double *segment, const double *axis, double *rows) {
  double square = square_length(d, segment), g[MAX_DIMENSION];
  for (int i = 0; i < d; i++) g[i] = segment[i] / square;
  if (d == 2) {
    rows[0] = -g[1], rows[1] = g[0];
    rows[2] = -g[0], rows[3] = -g[1];
    return;
  }
  vector_cross(axis, g, rows);
  for (int i = 0; i < 3; i++) {
    rows[3 + i] = -g[i];
    rows[6 + i] = axis[i] / sqrt(square);
  }
}

/* gap = high -+ angle; the block of point k is -+(w_after turn(after) - w_before turn(before)) */
static void bend_geometry(const carom_system *s, const double *x, contact *c) {
  const limit *l = &s->limits[c->id.first];
  int d = s->dimension;
  double axis[MAX_DIMENSION] = {0};
  double before[MAX_DIMENSION * MAX_DIMENSION], after[MAX_DIMENSION * MAX_DIMENSION];
  bend b = bend_at(l, d, x);
  if (d == 3) bend_axis(&b, axis);
  turn_rows(d, b.before, axis, before);
  turn_rows(d, b.after, axis, after);
  double sign = c->id.detail == 0 ? -1 : 1;
  c->gap = l->high + sign * b.angle;
  list_bend_points(l, c);
  for (int k = 0; k < c->point_count; k++)
    for (int i = 0; i < d * d; i++)
      c->block[k * d * d + i] = sign * (c->next_weight[k] * after[i] - c->weight[k] * before[i]);
}

/* Points that a contact can touch at most. */
static int point_limit(const carom_system *s, const contact_id *id) {
  if (id->kind == CONTACT_PAIR)
    return s->bodies[id->first].point_count + s->bodies[id->second].point_count;
  if (id->kind != CONTACT_LIMIT) return s->bodies[id->first].point_count;
  const limit *l = &s->limits[id->first];
  return l->segment.count + (l->kind == LIMIT_BEND ? l->next_segment.count : 0);
}

void contact_geometry(const carom_system *s, const contact_id *id, const double *x, contact *c,
                      arena *memory) {
  int d = s->dimension, limit_count = point_limit(s, id);
  c->id = *id;
  c->point_count = 0;
  c->first_block = 0;

  // one piece of memory for all arrays
  c->block = arena_doubles(memory, limit_count * (d * d + 3));
  c->weight = c->block + limit_count * d * d;
  c->next_weight = c->weight + limit_count;
  c->point = (int *)(void *)(c->next_weight + limit_count);
  memset(c->frame, 0, sizeof c->frame);
  c->turns = false;
  switch (id->kind) {
    case CONTACT_PAIR: pair_geometry(s, x, c); break;
    case CONTACT_BALL_PLANE:
    case CONTACT_POINT_PLANE: plane_geometry(s, x, c); break;
    case CONTACT_LIMIT:
      if (s->limits[id->first].kind == LIMIT_BEND) {
        bend_geometry(s, x, c);
        return;
      }
      stretch_geometry(s, x, c);
      break;
  }
  for (int k = 0; k < c->point_count; k++)
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) c->block[(k * d + i) * d + j] = c->weight[k] * c->frame[i][j];
}

/* ---- derivative of the geometry -------------------------------------------------------------- */

/* The basis of complete_frame turns about the normal by omega = a (n_0 dn_1 - n_1 dn_0), a = -1 / (sign + n_2), as that
 * moves: dt_1 = omega t_2, dt_2 = -omega t_1 beside what carries them along. */
static void turn_cotangent(const contact *c, double frame_bar[MAX_DIMENSION][MAX_DIMENSION],
                           double *normal_bar) {
  const double *n = c->frame[0];
  double a = -1 / ((n[2] >= 0 ? 1 : -1) + n[2]);
  double bar = a * (vector_dot_small(frame_bar[1], c->frame[2], 3) -
                    vector_dot_small(frame_bar[2], c->frame[1], 3));
  normal_bar[0] -= bar * n[1];
  normal_bar[1] += bar * n[0];
}

/* in the forward pass this was block_k = weight_k frame, so now frame_bar = sum_k weight_k
 * block_bar_k, and with the tangents carried along, dt = -(t.de_n) e_n, all of it on e_n */
static void normal_cotangent(const contact *c, int d, const double *block_bar, double *normal_bar) {
  double frame_bar[MAX_DIMENSION][MAX_DIMENSION] = {{0}};
  for (int k = 0; k < c->point_count; k++)
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) frame_bar[i][j] += c->weight[k] * block_bar[(k * d + i) * d + j];
  for (int j = 0; j < d; j++) normal_bar[j] = frame_bar[0][j];
  for (int t = 1; t < d; t++) {
    double along = vector_dot_small(frame_bar[t], c->frame[0], d);
    for (int j = 0; j < d; j++) normal_bar[j] -= along * c->frame[t][j];
  }
  if (c->turns && d == 3) turn_cotangent(c, frame_bar, normal_bar);
}

/* weight_bar_k = block_bar_k : frame */
static double weight_cotangent(const contact *c, int d, const double *block_bar, int k) {
  double sum = 0;
  for (int i = 0; i < d; i++) sum += vector_dot_small(block_bar + (k * d + i) * d, c->frame[i], d);
  return sum;
}

/* The reverse of add_side, whose points begin at `at`; adds to the cotangents of the normal, of the lever and,
 * where that is not NULL, of the corner. */
static int side_vjp(const carom_system *s, int body_index, double sign, double lever,
                    const contact *c, int at, const double *x, const double *block_bar,
                    double *normal_bar, double *x_bar, double *lever_bar, double *corner_bar) {
  const body *b = &s->bodies[body_index];
  int d = s->dimension;
  if (!b->rigid) return at + 1;
  const double *x0 = x + b->first_point * d;
  double *x0_bar = x_bar + b->first_point * d;
  double centre_bar = weight_cotangent(c, d, block_bar, at);
  for (int k = 0; k < d; k++) {
    // c_k = corner_k + lever e_n . (x_k - x_0), weights sign * (1 - sum c, c_1, ...)
    double along = sign * (weight_cotangent(c, d, block_bar, at + 1 + k) - centre_bar);
    double bar = lever * along;
    if (corner_bar != NULL) corner_bar[k] += along;
    for (int i = 0; i < d; i++) {
      *lever_bar += along * c->frame[0][i] * (x0[(k + 1) * d + i] - x0[i]);
      normal_bar[i] += bar * (x0[(k + 1) * d + i] - x0[i]);
      x0_bar[(k + 1) * d + i] += bar * c->frame[0][i];
      x0_bar[i] -= bar * c->frame[0][i];
    }
  }
  return at + 1 + d;
}

/* From the cotangents of the unit normal e = a / |a| and of the length of an arm, that of the arm:
 *   a_bar = (e_bar - (e . e_bar) e) / |a| + length_bar e */
static void arm_cotangent(const contact *c, int d, double length, const double *normal_bar,
                          double length_bar, double *arm_bar) {
  double along = vector_dot_small(normal_bar, c->frame[0], d);
  double inverse = length > 0 ? 1 / length : 0;
  for (int i = 0; i < d; i++)
    arm_bar[i] = (normal_bar[i] - along * c->frame[0][i]) * inverse + length_bar * c->frame[0][i];
}

static void pair_vjp(const carom_system *s, const contact *c, const double *x,
                     const double *block_bar, double gap_bar, double *x_bar, double *theta_bar) {
  int d = s->dimension;
  const body *a = &s->bodies[c->id.first];
  const body *b = &s->bodies[c->id.second];
  double normal_bar[MAX_DIMENSION] = {0}, arm_bar[MAX_DIMENSION] = {0}, levers_bar[2] = {0, 0};
  normal_cotangent(c, d, block_bar, normal_bar);
  int at = side_vjp(s, c->id.first, -1, a->radius, c, 0, x, block_bar, normal_bar, x_bar,
                    &levers_bar[0], NULL);
  side_vjp(s, c->id.second, 1, -b->radius, c, at, x, block_bar, normal_bar, x_bar, &levers_bar[1],
           NULL);
  if (theta_bar != NULL) {
    double *radius_bar = theta_bar + s->segments[CAROM_RADIUS].offset;
    radius_bar[c->id.first] += levers_bar[0] - gap_bar;
    radius_bar[c->id.second] -= levers_bar[1] + gap_bar;
  }
  double distance = pair_distance(s, c->id.first, c->id.second, x);
  arm_cotangent(c, d, distance, normal_bar, gap_bar, arm_bar);
  for (int i = 0; i < d; i++) {
    x_bar[b->first_point * d + i] += arm_bar[i];
    x_bar[a->first_point * d + i] -= arm_bar[i];
  }
}

static void plane_vjp(const carom_system *s, const contact *c, const double *x,
                      const double *block_bar, double gap_bar, double *x_bar, double *theta_bar) {
  int d = s->dimension;
  const body *b = &s->bodies[c->id.first];
  const plane *wall = &s->planes[c->id.second];
  const double *corner = corner_of(s, &c->id), *x0 = x + b->first_point * d;
  double *x0_bar = x_bar + b->first_point * d;
  double unused[MAX_DIMENSION] = {0}, corner_bar[MAX_DIMENSION] = {0}, lever_bar = 0;
  side_vjp(s, c->id.first, -1, radius_of(s, &c->id), c, 0, x, block_bar, unused, x_bar, &lever_bar,
           corner_bar);

  // gap = normal . (x_0 + sum_k corner_k (x_k - x_0)) + offset - radius
  double centre = 1;
  for (int k = 0; corner != NULL && k < d; k++) {
    centre -= corner[k];
    for (int i = 0; i < d; i++) {
      x0_bar[(k + 1) * d + i] += gap_bar * corner[k] * wall->normal[i];
      corner_bar[k] += gap_bar * wall->normal[i] * (x0[(k + 1) * d + i] - x0[i]);
    }
  }
  for (int i = 0; i < d; i++) x0_bar[i] += gap_bar * centre * wall->normal[i];

  if (theta_bar == NULL) return;
  theta_bar[s->segments[CAROM_OFFSET].offset + c->id.second] += gap_bar;
  if (b->shape == SHAPE_RIM) return; // its points are not parameters
  theta_bar[s->segments[CAROM_RADIUS].offset + c->id.first] += lever_bar - gap_bar;
  double *to = theta_bar + s->segments[CAROM_CORNER].offset + (b->first_corner + c->id.detail) * d;
  for (int k = 0; corner != NULL && k < d; k++) to[k] += corner_bar[k];
}

static void stretch_vjp(const carom_system *s, const contact *c, const double *block_bar,
                        double gap_bar, double *x_bar) {
  const limit *l = &s->limits[c->id.first];
  int d = s->dimension;
  double sign = c->id.detail == 0 ? -1 : 1;
  double length = c->id.detail == 0 ? l->high - c->gap : c->gap + l->low;
  double normal_bar[MAX_DIMENSION] = {0}, arm_bar[MAX_DIMENSION] = {0};
  normal_cotangent(c, d, block_bar, normal_bar);
  arm_cotangent(c, d, length, normal_bar, sign * gap_bar, arm_bar);
  for (int k = 0; k < l->segment.count; k++)
    for (int i = 0; i < d; i++)
      x_bar[l->segment.point[k] * d + i] += l->segment.weight[k] * arm_bar[i];
}

/* The reverse of turn_rows; adds to the cotangents of the segment and of the axis. */
static void turn_rows_vjp(int d, const double *segment, const double *axis, const double *rows_bar,
                          double *segment_bar, double *axis_bar) {
  double square = square_length(d, segment), g[MAX_DIMENSION], g_bar[MAX_DIMENSION];
  for (int i = 0; i < d; i++) g[i] = segment[i] / square;
  if (d == 2) {
    // rows were (-g_1, g_0) and (-g_0, -g_1)
    g_bar[0] = rows_bar[1] - rows_bar[2];
    g_bar[1] = -rows_bar[0] - rows_bar[3];
  } else {
    // rows were axis x g, -g and axis / |segment|
    double turned[MAX_DIMENSION], length = sqrt(square);
    double along = vector_dot_small(rows_bar + 6, axis, 3) / (square * length);
    vector_cross(rows_bar, axis, g_bar);
    vector_cross(g, rows_bar, turned);
    for (int i = 0; i < 3; i++) {
      g_bar[i] -= rows_bar[3 + i];
      axis_bar[i] += turned[i] + rows_bar[6 + i] / length;
      segment_bar[i] -= along * segment[i];
    }
  }
  // g = segment / |segment|^2
  double along = 2 * vector_dot_small(g_bar, g, d);
  for (int i = 0; i < d; i++) segment_bar[i] += (g_bar[i] - along * segment[i]) / square;
}

/* The reverse of bend_axis, axis = n / |n| with n = before x after. */
static void bend_axis_vjp(const bend *b, const double *axis, const double *axis_bar,
                          double *before_bar, double *after_bar) {
  if (!(b->sine > 0)) return;
  double normal_bar[MAX_DIMENSION], push[MAX_DIMENSION];
  double along = vector_dot_small(axis_bar, axis, 3);
  for (int i = 0; i < 3; i++) normal_bar[i] = (axis_bar[i] - along * axis[i]) / b->sine;
  vector_cross(b->after, normal_bar, push);
  for (int i = 0; i < 3; i++) before_bar[i] += push[i];
  vector_cross(normal_bar, b->before, push);
  for (int i = 0; i < 3; i++) after_bar[i] += push[i];
}

static void bend_vjp(const carom_system *s, const contact *c, const double *x,
                     const double *block_bar, double gap_bar, double *x_bar) {
  const limit *l = &s->limits[c->id.first];
  int d = s->dimension;
  double sign = c->id.detail == 0 ? -1 : 1;
  double axis[MAX_DIMENSION] = {0}, axis_bar[MAX_DIMENSION] = {0};
  double before_bar[MAX_DIMENSION] = {0}, after_bar[MAX_DIMENSION] = {0};
  bend b = bend_at(l, d, x);
  if (d == 3) bend_axis(&b, axis);

  // block_k = sign (next_weight_k after - weight_k before)
  double before_rows_bar[MAX_DIMENSION * MAX_DIMENSION] = {0};
  double after_rows_bar[MAX_DIMENSION * MAX_DIMENSION] = {0};
  for (int k = 0; k < c->point_count; k++) {
    const double *bar = block_bar + k * d * d;
    for (int i = 0; i < d * d; i++) {
      after_rows_bar[i] += sign * c->next_weight[k] * bar[i];
      before_rows_bar[i] -= sign * c->weight[k] * bar[i];
    }
  }
  turn_rows_vjp(d, b.before, axis, before_rows_bar, before_bar, axis_bar);
  turn_rows_vjp(d, b.after, axis, after_rows_bar, after_bar, axis_bar);
  if (d == 3) bend_axis_vjp(&b, axis, axis_bar, before_bar, after_bar);
  for (int k = 0; k < c->point_count; k++) {
    // gap = high + sign angle: its gradient is the normal row
    const double *normal_row = c->block + k * d * d;
    for (int i = 0; i < d; i++)
      x_bar[c->point[k] * d + i] +=
          gap_bar * normal_row[i] + c->weight[k] * before_bar[i] + c->next_weight[k] * after_bar[i];
  }
}

void contact_geometry_vjp(const carom_system *s, const contact *c, const double *x,
                          const double *block_bar, double gap_bar, double *x_bar,
                          double *theta_bar) {
  switch (c->id.kind) {
    case CONTACT_PAIR: pair_vjp(s, c, x, block_bar, gap_bar, x_bar, theta_bar); break;
    case CONTACT_BALL_PLANE:
    case CONTACT_POINT_PLANE: plane_vjp(s, c, x, block_bar, gap_bar, x_bar, theta_bar); break;
    case CONTACT_LIMIT:
      if (s->limits[c->id.first].kind == LIMIT_BEND)
        bend_vjp(s, c, x, block_bar, gap_bar, x_bar);
      else
        stretch_vjp(s, c, block_bar, gap_bar, x_bar);
      break;
  }
}

/* ---- the Jacobian as an operator ------------------------------------------------------------- */

/* v_C = sum_k block_k v_k, and the transpose: out_k += block_k' impulse. The loops for a dimension that
 * the compiler knows. */
static inline void apply_in(const int d, const contact *c, const double *v, double *velocity_c) {
  double sum[MAX_DIMENSION] = {0};
  for (int k = 0; k < c->point_count; k++) {
    const double *u = v + c->point[k] * d;
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) sum[i] += c->block[(k * d + i) * d + j] * u[j];
  }
  for (int i = 0; i < d; i++) velocity_c[i] = sum[i];
}

static inline void apply_transpose_in(const int d, const contact *c, const double *impulse,
                                      double *out) {
  for (int k = 0; k < c->point_count; k++) {
    double *u = out + c->point[k] * d;
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) u[j] += c->block[(k * d + i) * d + j] * impulse[i];
  }
}

void contact_apply(const contact *c, int dimension, const double *v, double *velocity_c) {
  if (dimension == 2)
    apply_in(2, c, v, velocity_c);
  else
    apply_in(3, c, v, velocity_c);
}

void contact_apply_transpose(const contact *c, int dimension, const double *impulse, double *out) {
  if (dimension == 2)
    apply_transpose_in(2, c, impulse, out);
  else
    apply_transpose_in(3, c, impulse, out);
}
