#include "cli/picture.h"

#include "cli/memory.h"

#include <math.h>
#include <string.h>

typedef struct colour {
  double red, green, blue;
} colour;

#define RGB(hex) \
  { ((hex) >> 16 & 255) / 255.0, ((hex) >> 8 & 255) / 255.0, ((hex)&255) / 255.0 }

enum { PALETTE = 10 };

/* Colours of pictures, those of the viewer. */
static const struct {
  colour paper, ink, soft, wall, flash, truth;
  colour palette[PALETTE];
} themes[] = {
    {RGB(0xffffff),
     RGB(0x1d2530),
     RGB(0x7b8794),
     RGB(0x9aa5b1),
     RGB(0xd9480f),
     RGB(0x44505c),
     {RGB(0x3b76b0), RGB(0xe8833a), RGB(0x4a9d5b), RGB(0xc8504b), RGB(0x8a6fb8), RGB(0x2a9d9a),
      RGB(0xd4a72c), RGB(0x9a6b4f), RGB(0xd277a8), RGB(0x7a8794)}},
    {RGB(0x14181d),
     RGB(0xe6eaef),
     RGB(0x8d99a6),
     RGB(0x5c6875),
     RGB(0xffb454),
     RGB(0xc3ccd5),
     {RGB(0x6ba6e0), RGB(0xf4a261), RGB(0x77c98a), RGB(0xec7a74), RGB(0xb39ddb), RGB(0x5cc8c4),
      RGB(0xecc94b), RGB(0xc69c82), RGB(0xf0a3c8), RGB(0xa9b4bf)}},
};

/* One motion that is being drawn. */
typedef struct drawing {
  const picture *picture;
  cairo_t *pen;
  const picture_motion *motion;
  int index; /* of the motion */
  double time;
  double alpha; /* of everything */
  const double *x;
} drawing;

static void set_colour(cairo_t *pen, colour c, double alpha) {
  cairo_set_source_rgba(pen, c.red, c.green, c.blue, alpha);
}

// laid over each other each motion has a colour of its own, else each body
static colour body_colour(const drawing *d, int body) {
  const carom_system_info *info = &d->motion->set->info;
  const colour *palette = themes[d->picture->theme].palette;
  if (d->picture->count > 1) {
    const char *role = d->motion->motion->role;
    if (strcmp(role, "true") == 0 || strcmp(role, "before") == 0)
      return themes[d->picture->theme].truth;
    return palette[strcmp(role, "predicted") == 0 ? 1 : d->index % PALETTE];
  }
  // the points of a long rope are one thing
  const bool one =
      info->body_count > 24 && carom_system_body(d->motion->set->system, body).radius == 0;
  return palette[one ? 0 : body % PALETTE];
}

static bool is_ghost(const drawing *d) { return d->picture->count > 1 && d->index == 0; }

/* ---- what does not move ---------------------------------------------------------------------- */

/* The part of a wall of the plane that can be touched: foot + s tangent, s from low to high. What lies behind
 * other walls is cut off; nothing is, where nothing would be left. */
static void cut_wall(const carom_system *system, const carom_plane_info *plane, const double *foot,
                     double *low, double *high) {
  double from = *low, to = *high;
  for (int k = 0; k < carom_system_plane_count(system); k++) {
    // n . (foot + s t) + offset >= 0 with t the normal of the wall turned
    const carom_plane_info other = carom_system_plane(system, k);
    const double slope = plane->normal[0] * other.normal[1] - plane->normal[1] * other.normal[0];
    if (fabs(slope) < 1e-9) continue;
    const double at =
        -(other.normal[0] * foot[0] + other.normal[1] * foot[1] + other.offset) / slope;
    if (slope > 0)
      from = fmax(from, at);
    else
      to = fmin(to, at);
  }
  if (from >= to) return;
  *low = from;
  *high = to;
}

// a line, and strokes where bodies cannot be
static void draw_wall(const picture *p, cairo_t *pen, const carom_plane_info *plane) {
  const double DEEP = 12, APART = 8;
  const projection *v = &p->view;
  const double nx = plane->normal[0], ny = plane->normal[1];
  const double distance = nx * v->centre[0] + ny * v->centre[1] + plane->offset;
  const double foot[2] = {v->centre[0] - distance * nx, v->centre[1] - distance * ny};
  const double reach = hypot(v->width, v->height) / v->unit;
  double low = -reach, high = reach;
  cut_wall(p->motions[0].set->system, plane, foot, &low, &high);
  const projected from = project(v, (double[2]){foot[0] - low * ny, foot[1] + low * nx});
  const projected to = project(v, (double[2]){foot[0] - high * ny, foot[1] + high * nx});
  const double length = hypot(to.x - from.x, to.y - from.y);
  const double tx = (to.x - from.x) / length, ty = (to.y - from.y) / length;
  cairo_save(pen);
  cairo_move_to(pen, from.x, from.y);
  cairo_line_to(pen, to.x, to.y);
  cairo_line_to(pen, to.x - nx * DEEP, to.y + ny * DEEP);
  cairo_line_to(pen, from.x - nx * DEEP, from.y + ny * DEEP);
  cairo_clip(pen);
  set_colour(pen, themes[p->theme].wall, 0.55);
  cairo_set_line_width(pen, 1);
  for (double s = 0; s < length + DEEP; s += APART) {
    cairo_move_to(pen, from.x + tx * s, from.y + ty * s);
    cairo_rel_line_to(pen, -tx * DEEP - nx * DEEP, -ty * DEEP + ny * DEEP);
  }
  cairo_stroke(pen);
  cairo_restore(pen);
  set_colour(pen, themes[p->theme].wall, 1);
  cairo_set_line_width(pen, 2);
  cairo_move_to(pen, from.x, from.y);
  cairo_line_to(pen, to.x, to.y);
  cairo_stroke(pen);
}

static void line_between(const picture *p, cairo_t *pen, const double *a, const double *b) {
  const projected from = project(&p->view, a), to = project(&p->view, b);
  cairo_move_to(pen, from.x, from.y);
  cairo_line_to(pen, to.x, to.y);
}

enum { PANE_LINES = 6, MOST_CORNERS = 64 };

/* Points of space, in order. */
typedef struct outline {
  int count;
  double points[MOST_CORNERS][3];
} outline;

static double height_above(const carom_plane_info *plane, const double *p) {
  return plane->normal[0] * p[0] + plane->normal[1] * p[1] + plane->normal[2] * p[2] +
         plane->offset;
}

static void add_corner(outline *o, const double *p) {
  if (o->count < MOST_CORNERS) memcpy(o->points[o->count++], p, sizeof o->points[0]);
}

// what is on the free side of a plane, of a polygon or of an open line (Sutherland and Hodgman)
static void clip_outline(outline *o, const carom_plane_info *plane, bool closed) {
  outline out = {.count = 0};
  for (int k = 0; k < o->count; k++) {
    const double *p = o->points[k], *q = o->points[(k + 1) % o->count];
    const double a = height_above(plane, p), b = height_above(plane, q);
    double between[3];
    if (a >= 0) add_corner(&out, p);
    if ((a >= 0) == (b >= 0) || (!closed && k + 1 == o->count)) continue;
    for (int i = 0; i < 3; i++) between[i] = p[i] + a / (a - b) * (q[i] - p[i]);
    add_corner(&out, between);
  }
  *o = out;
}

/* A wall of space as a pane: its middle and two directions along it, as long as half the pane. */
typedef struct pane {
  double foot[3], u[3], w[3];
} pane;

static pane pane_of(const projection *v, const carom_plane_info *plane) {
  const double *n = plane->normal;
  const double distance = height_above(plane, v->centre);
  const double size = 0.3 * hypot(hypot(v->eye[0] - v->centre[0], v->eye[1] - v->centre[1]),
                                  v->eye[2] - v->centre[2]);
  const bool steep = fabs(n[0]) < 0.9;
  pane p = {.u = {steep ? 0 : -n[2], steep ? n[2] : 0, steep ? -n[1] : n[0]}};
  const double norm = sqrt(p.u[0] * p.u[0] + p.u[1] * p.u[1] + p.u[2] * p.u[2]);
  for (int k = 0; k < 3; k++) {
    p.foot[k] = v->centre[k] - distance * n[k];
    p.u[k] *= size / norm;
  }
  for (int k = 0; k < 3; k++)
    p.w[k] = n[(k + 1) % 3] * p.u[(k + 2) % 3] - n[(k + 2) % 3] * p.u[(k + 1) % 3];
  return p;
}

static void add_pane_point(outline *o, const pane *p, double s, double t) {
  double place[3];
  for (int k = 0; k < 3; k++) place[k] = p->foot[k] + s * p->u[k] + t * p->w[k];
  add_corner(o, place);
}

// a path of what lies in front of all other walls
static void outline_path(const picture *p, cairo_t *pen, outline *o, int index, bool closed) {
  const carom_system *system = p->motions[0].set->system;
  for (int k = 0; k < carom_system_plane_count(system); k++) {
    const carom_plane_info other = carom_system_plane(system, k);
    if (k != index) clip_outline(o, &other, closed);
  }
  cairo_new_sub_path(pen);
  for (int k = 0; k < o->count; k++) {
    const projected at = project(&p->view, o->points[k]);
    cairo_line_to(pen, at.x, at.y);
  }
}

// a wall of space: a pane with a grid about the foot of what is looked at
static void draw_floor(const picture *p, cairo_t *pen, const carom_plane_info *plane, int index) {
  const pane around = pane_of(&p->view, plane);
  outline o = {.count = 0};
  for (int k = 0; k < 4; k++)
    add_pane_point(&o, &around, k == 1 || k == 2 ? 1 : -1, k < 2 ? -1 : 1);
  outline_path(p, pen, &o, index, true);
  set_colour(pen, themes[p->theme].wall, 0.12);
  cairo_fill(pen);
  for (int i = -PANE_LINES; i <= PANE_LINES; i++)
    for (int across = 0; across < 2; across++) {
      const double at = (double)i / PANE_LINES;
      outline line = {.count = 0};
      add_pane_point(&line, &around, across ? at : -1, across ? -1 : at);
      add_pane_point(&line, &around, across ? at : 1, across ? 1 : at);
      outline_path(p, pen, &line, index, false);
    }
  set_colour(pen, themes[p->theme].wall, 0.4);
  cairo_set_line_width(pen, 1);
  cairo_stroke(pen);
}

static void draw_planes(const picture *p, cairo_t *pen) {
  const carom_system *system = p->motions[0].set->system;
  for (int k = 0; k < carom_system_plane_count(system); k++) {
    const carom_plane_info plane = carom_system_plane(system, k);
    if (p->view.dimension == 2)
      draw_wall(p, pen, &plane);
    else
      draw_floor(p, pen, &plane, k);
  }
}

// where a body is to be: its outline, dashed, and a cross
static void draw_target(const picture *p, cairo_t *pen, const plan_target *target) {
  static const double dashes[] = {5, 4};
  const projected at = project(&p->view, target->position);
  const double radius = fmax(target->radius * projection_scale(&p->view, target->position), 6);
  set_colour(pen, themes[p->theme].ink, 1);
  cairo_set_line_width(pen, 1.5);
  cairo_set_dash(pen, dashes, 2, 0);
  cairo_new_sub_path(pen);
  cairo_arc(pen, at.x, at.y, radius, 0, 2 * M_PI);
  cairo_stroke(pen);
  cairo_set_dash(pen, NULL, 0, 0);
  cairo_move_to(pen, at.x - 5, at.y);
  cairo_line_to(pen, at.x + 5, at.y);
  cairo_move_to(pen, at.x, at.y - 5);
  cairo_line_to(pen, at.x, at.y + 5);
  cairo_stroke(pen);
}

/* ---- ties ------------------------------------------------------------------------------------ */

// a zigzag, but for the short ones of a rope
static void draw_spring(const drawing *d, const double *a, const double *b) {
  enum { TURNS = 12 };
  const projected p = project(&d->picture->view, a), q = project(&d->picture->view, b);
  const double length = hypot(q.x - p.x, q.y - p.y);
  if (length < 24) return;
  const double tx = (q.x - p.x) / length, ty = (q.y - p.y) / length, wide = fmin(6, length / 8);
  cairo_move_to(d->pen, p.x, p.y);
  for (int k = 1; k < 2 * TURNS; k++) {
    const double along = length * (0.1 + 0.8 * k / (2 * TURNS)), side = k % 2 == 0 ? wide : -wide;
    cairo_line_to(d->pen, p.x + tx * along - ty * side, p.y + ty * along + tx * side);
  }
  cairo_line_to(d->pen, q.x, q.y);
  cairo_set_line_width(d->pen, 1.4);
  cairo_stroke(d->pen);
}

// the body that a place belongs to, or -1
static int place_body(const motion_set *set, const carom_place *place) {
  for (int k = 0; place->count > 0 && k < set->info.body_count; k++) {
    const carom_body_info b = carom_system_body(set->system, k);
    if (place->points[0] >= b.first_point && place->points[0] < b.first_point + b.point_count)
      return k;
  }
  return -1;
}

static void draw_dot(const drawing *d, const double *place, double radius, colour c) {
  const projected p = project(&d->picture->view, place);
  set_colour(d->pen, c, d->alpha);
  cairo_arc(d->pen, p.x, p.y, radius, 0, 2 * M_PI);
  cairo_fill(d->pen);
}

static void draw_tie(const drawing *d, const carom_tie_info *tie) {
  const motion_set *set = d->motion->set;
  const int dimension = set->info.dimension;
  double ends[2][3];
  for (int k = 0; k < 2; k++) carom_place_position(&tie->ends[k], set->system, d->x, ends[k]);
  const int body[2] = {place_body(set, &tie->ends[0]), place_body(set, &tie->ends[1])};
  const int owner = body[1] > body[0] ? body[1] : body[0];
  const bool own = tie->kind == CAROM_TIE_SEGMENT || d->picture->count > 1;
  set_colour(d->pen, own && owner >= 0 ? body_colour(d, owner) : themes[d->picture->theme].soft,
             d->alpha * (is_ghost(d) ? 0.55 : 1));
  cairo_set_line_width(d->pen, tie->kind == CAROM_TIE_SEGMENT ? 3 : 2);
  if (tie->kind == CAROM_TIE_SPRING) {
    draw_spring(d, ends[0], ends[1]);
  } else if (tie->kind == CAROM_TIE_JOINT) {
    // an arm from the centre of each body to the joint
    for (int k = 0; k < 2; k++)
      if (body[k] >= 0)
        line_between(d->picture, d->pen,
                     d->x + carom_system_body(set->system, body[k]).first_point * dimension,
                     ends[1]);
    cairo_stroke(d->pen);
    draw_dot(d, ends[1], 3, themes[d->picture->theme].ink);
  } else {
    line_between(d->picture, d->pen, ends[0], ends[1]);
    cairo_stroke(d->pen);
  }
  for (int k = 0; k < 2; k++)
    if (tie->ends[k].count == 0) draw_dot(d, ends[k], 3.5, themes[d->picture->theme].ink);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

// x_0 + sum_k c_k (x_k - x_0)
static void body_place(const drawing *d, const carom_body_info *b, const double *c, double *place) {
  const int dimension = d->motion->set->info.dimension;
  const double *centre = d->x + b->first_point * dimension;
  for (int i = 0; i < dimension; i++) {
    place[i] = centre[i];
    for (int k = 0; b->rigid && k < dimension; k++)
      place[i] += c[k] * (centre[(k + 1) * dimension + i] - centre[i]);
  }
}

static void fill_and_stroke(const drawing *d, colour c) {
  cairo_t *pen = d->pen;
  set_colour(pen, c, d->alpha * (is_ghost(d) ? 0.1 : 0.32));
  cairo_fill_preserve(pen);
  set_colour(pen, c, d->alpha * (is_ghost(d) ? 0.75 : 1));
  cairo_set_line_width(pen, 2);
  cairo_stroke(pen);
}

// spheres have a light side
static void draw_ball(const drawing *d, const carom_body_info *b, colour c) {
  const int dimension = d->motion->set->info.dimension;
  const double *centre = d->x + b->first_point * dimension;
  const projected p = project(&d->picture->view, centre);
  const double r = fmax(b->radius * projection_scale(&d->picture->view, centre), 1.5);
  if (dimension == 3 && !is_ghost(d)) {
    cairo_pattern_t *light =
        cairo_pattern_create_radial(p.x - r / 3, p.y - r / 3, r / 10, p.x, p.y, r);
    cairo_pattern_add_color_stop_rgba(light, 0, (1 + c.red) / 2, (1 + c.green) / 2,
                                      (1 + c.blue) / 2, d->alpha);
    cairo_pattern_add_color_stop_rgba(light, 1, 0.8 * c.red, 0.8 * c.green, 0.8 * c.blue, d->alpha);
    cairo_set_source(d->pen, light);
    cairo_arc(d->pen, p.x, p.y, r, 0, 2 * M_PI);
    cairo_fill(d->pen);
    cairo_pattern_destroy(light);
  } else {
    cairo_arc(d->pen, p.x, p.y, r, 0, 2 * M_PI);
    fill_and_stroke(d, c);
  }
  // which way it is turned
  for (int k = 0; b->rigid && k < dimension - 1; k++) {
    double at[3] = {0}, tip[3];
    at[k] = b->radius;
    body_place(d, b, at, tip);
    cairo_set_line_width(d->pen, k == 0 ? 2 : 1);
    set_colour(d->pen, dimension == 3 ? themes[d->picture->theme].ink : c, d->alpha);
    line_between(d->picture, d->pen, centre, tip);
    cairo_stroke(d->pen);
  }
}

static double turn(const projected *a, const projected *b, const projected *c) {
  return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

static int by_place(const void *a, const void *b) {
  const projected *p = a, *q = b;
  return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

// the convex hull as a path (Andrew's monotone chain); `points` are sorted
static void hull_path(cairo_t *pen, projected *points, int count, projected *chain) {
  qsort(points, (size_t)count, sizeof *points, by_place);
  int used = 0;
  for (int side = 0; side < 2; side++) {
    const int begin = used;
    for (int i = 0; i < count; i++) {
      const projected *p = &points[side == 0 ? i : count - 1 - i];
      while (used - begin > 1 && turn(&chain[used - 2], &chain[used - 1], p) <= 0) used--;
      chain[used++] = *p;
    }
    used--;
  }
  for (int k = 0; k < used; k++) cairo_line_to(pen, chain[k].x, chain[k].y);
  cairo_close_path(pen);
}

// edges of a box of space: between corners that differ in one coordinate
static void draw_edges(const drawing *d, const carom_body_info *b, colour c) {
  const double *corner = b->shape_points;
  for (int i = 0; i < b->shape_point_count; i++)
    for (int j = 0; j < i; j++) {
      int differ = 0;
      for (int k = 0; k < 3; k++) differ += fabs(corner[3 * i + k] - corner[3 * j + k]) > 1e-9;
      if (differ != 1) continue;
      double from[3], to[3];
      body_place(d, b, corner + 3 * i, from);
      body_place(d, b, corner + 3 * j, to);
      line_between(d->picture, d->pen, from, to);
    }
  set_colour(d->pen, c, d->alpha * 0.6);
  cairo_set_line_width(d->pen, 1.2);
  cairo_stroke(d->pen);
}

static void draw_outline(const drawing *d, const carom_body_info *b, colour c) {
  const int dimension = d->motion->set->info.dimension, n = b->shape_point_count;
  projected *points = allocate(3 * (size_t)n + 2, sizeof *points);
  double farthest = 0, spoke[3] = {0}, tip[3];
  if (points == NULL) return;
  for (int k = 0; k < n; k++) {
    double place[3];
    body_place(d, b, b->shape_points + k * dimension, place);
    points[k] = project(&d->picture->view, place);
    farthest = fmax(farthest, fabs(b->shape_points[k * dimension]));
  }
  if (b->shape == CAROM_SHAPE_RIM) {
    for (int k = 0; k < n; k++) cairo_line_to(d->pen, points[k].x, points[k].y);
    cairo_close_path(d->pen);
  } else {
    hull_path(d->pen, points, n, points + n);
  }
  fill_and_stroke(d, c);
  const bool box = dimension == 3 && b->shape == CAROM_SHAPE_POINTS;
  if (box && n <= 32) draw_edges(d, b, c);
  // which way it is turned
  spoke[0] = b->shape == CAROM_SHAPE_RIM ? b->radius : farthest;
  body_place(d, b, spoke, tip);
  cairo_set_line_width(d->pen, 1.5);
  line_between(d->picture, d->pen, d->x + b->first_point * dimension, tip);
  cairo_stroke(d->pen);
  free(points);
}

static void draw_body(const drawing *d, int index) {
  const motion_set *set = d->motion->set;
  const carom_body_info b = carom_system_body(set->system, index);
  const colour c = body_colour(d, index);
  switch (b.shape) {
    case CAROM_SHAPE_BALL: draw_ball(d, &b, c); return;
    case CAROM_SHAPE_RIM:
    case CAROM_SHAPE_POINTS: draw_outline(d, &b, c); return;
    case CAROM_SHAPE_NONE:
      draw_dot(d, d->x + b.first_point * set->info.dimension, set->info.body_count > 24 ? 2 : 4, c);
      return;
  }
}

/* A body and how far away it is. */
typedef struct body_depth {
  int body;
  double depth;
} body_depth;

static int farther_first(const void *a, const void *b) {
  const body_depth *p = a, *q = b;
  return p->depth != q->depth ? (p->depth < q->depth) - (p->depth > q->depth) : p->body - q->body;
}

static void draw_bodies(const drawing *d) {
  const motion_set *set = d->motion->set;
  body_depth *order = allocate((size_t)set->info.body_count, sizeof *order);
  if (order == NULL) return;
  for (int k = 0; k < set->info.body_count; k++) {
    const int first = carom_system_body(set->system, k).first_point;
    order[k] =
        (body_depth){k, project(&d->picture->view, d->x + first * set->info.dimension).depth};
  }
  qsort(order, (size_t)set->info.body_count, sizeof *order, farther_first);
  for (int k = 0; k < set->info.body_count; k++) draw_body(d, order[k].body);
  free(order);
}

/* ---- trails and contacts --------------------------------------------------------------------- */

// of a long rope the way of its end alone
static bool has_trail(const motion_set *set, int body) {
  return set->info.body_count <= 24 || body == set->info.body_count - 1 ||
         carom_system_body(set->system, body).radius > 0;
}

// older parts are paler
static void draw_trail(const drawing *d, int body) {
  enum { PARTS = 6, MOST = 240 };
  const motion_set *set = d->motion->set;
  const motion *m = d->motion->motion;
  const int dimension = set->info.dimension;
  const size_t size = (size_t)set->info.point_count * (size_t)dimension;
  const int point = carom_system_body(set->system, body).first_point * dimension;
  const int last = (int)fmin(floor(d->time / set->dt + 1e-6), m->states - 1);
  const int first = (int)fmax(0, last - ceil(d->picture->trail / set->dt));
  const int stride = (last - first) / MOST + 1;
  const colour c = body_colour(d, body);
  for (int part = 0; part < PARTS; part++) {
    const int from = first + (last - first) * part / PARTS,
              to = first + (last - first) * (part + 1) / PARTS;
    for (int k = from; k < to + stride; k += stride) {
      const projected p =
          project(&d->picture->view, m->x + (size_t)(k < to ? k : to) * size + point);
      cairo_line_to(d->pen, p.x, p.y);
    }
    set_colour(d->pen, c, (is_ghost(d) ? 0.5 : 0.8) * pow((part + 1.0) / PARTS, 1.5));
    cairo_set_line_width(d->pen, 1.6);
    cairo_stroke(d->pen);
  }
}

static void draw_arrow(const drawing *d, const double *from, const double *direction,
                       double length) {
  const projection *v = &d->picture->view;
  const double reach = length / projection_scale(v, from);
  double tip[3];
  for (int k = 0; k < v->dimension; k++) tip[k] = from[k] + reach * direction[k];
  const projected p = project(v, from), q = project(v, tip);
  const double shown = hypot(q.x - p.x, q.y - p.y);
  if (shown < 4) return;
  const double tx = (q.x - p.x) / shown, ty = (q.y - p.y) / shown, head = fmin(9, shown * 0.45);
  cairo_set_line_width(d->pen, 2.5);
  cairo_move_to(d->pen, p.x, p.y);
  cairo_line_to(d->pen, q.x - tx * head, q.y - ty * head);
  cairo_stroke(d->pen);
  cairo_move_to(d->pen, q.x, q.y);
  cairo_line_to(d->pen, q.x - tx * head - ty * head * 0.5, q.y - ty * head + tx * head * 0.5);
  cairo_line_to(d->pen, q.x - tx * head + ty * head * 0.5, q.y - ty * head - tx * head * 0.5);
  cairo_close_path(d->pen);
  cairo_fill(d->pen);
}

static double length_of(const double *a, int dimension) {
  double square = 0;
  for (int k = 0; k < dimension; k++) square += a[k] * a[k];
  return sqrt(square);
}

// rings that grow and fade, impulses as arrows; contacts are in order of states
static void draw_contacts(const drawing *d) {
  const motion_set *set = d->motion->set;
  const motion_contacts *found = &d->motion->contacts;
  const int dimension = set->info.dimension;
  const double seen = fmax(3 * set->dt, 0.08);
  const double longest = 0.16 * fmin(d->picture->view.width, d->picture->view.height);
  double most = 0;
  for (int k = 0; k < found->count; k++)
    most = fmax(most, length_of(found->items[k].impulse, dimension));
  for (int k = 0; k < found->count; k++) {
    const carom_contact *c = &found->items[k];
    const double age = (d->time - found->state[k] * set->dt) / seen;
    if (age < -1e-6 || age >= 1) continue;
    const projected p = project(&d->picture->view, c->point);
    const double impulse = length_of(c->impulse, dimension);
    // a limit of a rope is a dot, while it acts
    if (c->bodies[0] < 0) {
      if (c->normal_impulse > 0 && age * seen < 0.999 * set->dt)
        draw_dot(d, c->point, 2.5, themes[d->picture->theme].flash);
      continue;
    }
    // what touches without pushing, while others push, is not marked
    if (impulse < 1e-6 * most) continue;
    double direction[3];
    for (int i = 0; i < dimension; i++) direction[i] = impulse > 0 ? c->impulse[i] / impulse : 0;
    set_colour(d->pen, themes[d->picture->theme].flash, (1 - age) * (is_ghost(d) ? 0.4 : 1));
    cairo_set_line_width(d->pen, 2);
    cairo_new_sub_path(d->pen);
    cairo_arc(d->pen, p.x, p.y, 4 + 12 * age, 0, 2 * M_PI);
    cairo_stroke(d->pen);
    if (impulse > 0) draw_arrow(d, c->point, direction, longest * sqrt(impulse / most));
  }
}

/* ---- a moment -------------------------------------------------------------------------------- */

static void draw_things(const drawing *d) {
  for (int k = 0; k < d->picture->tie_count; k++) draw_tie(d, &d->picture->ties[k]);
  draw_bodies(d);
}

static void draw_motion(const picture *p, cairo_t *pen, int index, double time) {
  const picture_motion *m = &p->motions[index];
  drawing d = {.picture = p,
               .pen = pen,
               .motion = m,
               .index = index,
               .time = time,
               .alpha = 1,
               .x = p->state};
  for (int k = 0; p->trail > 0 && k < m->set->info.body_count; k++)
    if (has_trail(m->set, k)) draw_trail(&d, k);
  for (int k = 0; k < p->strobe; k++) {
    // the start and what follows, up to the moment itself
    d.alpha = 0.12 + 0.5 * (k + 1) / (p->strobe + 1);
    motion_state(m->set, m->motion, p->strobe_from + (time - p->strobe_from) * k / p->strobe,
                 p->state);
    draw_things(&d);
  }
  d.alpha = 1;
  motion_state(m->set, m->motion, time, p->state);
  draw_things(&d);
}

void picture_draw(const picture *p, cairo_t *pen, double time) {
  set_colour(pen, themes[p->theme].paper, 1);
  cairo_paint(pen);
  cairo_set_line_cap(pen, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join(pen, CAIRO_LINE_JOIN_ROUND);
  draw_planes(p, pen);
  for (int k = 0; k < p->target_count; k++) draw_target(p, pen, &p->targets[k]);
  for (int k = 0; k < p->count; k++) draw_motion(p, pen, k, time);
  for (int k = 0; p->contacts && k < p->count; k++) {
    const drawing d = {.picture = p,
                       .pen = pen,
                       .motion = &p->motions[k],
                       .index = k,
                       .time = time,
                       .alpha = 1,
                       .x = p->state};
    draw_contacts(&d);
  }
}
