#include "cli/projection.h"

#include "cli/memory.h"

#include <math.h>
#include <string.h>

/* ---- what is to be seen ---------------------------------------------------------------------- */

void picture_box_grow(picture_box *box, const double *point, int dimension, double margin) {
  for (int k = 0; k < dimension; k++) {
    box->low[k] = fmin(box->low[k], point[k] - margin);
    box->high[k] = fmax(box->high[k], point[k] + margin);
  }
}

// how far a body reaches from its centre
static double body_reach(const carom_body_info *b, int dimension) {
  double reach = b->radius;
  for (int i = 0; i < b->shape_point_count; i++) {
    double square = 0;
    for (int k = 0; k < dimension; k++)
      square += b->shape_points[i * dimension + k] * b->shape_points[i * dimension + k];
    reach = fmax(reach, sqrt(square));
  }
  return reach;
}

static void grow_to_motion(picture_box *box, const motion_set *set, const motion *m, int first,
                           int last) {
  const int d = set->info.dimension;
  const size_t size = (size_t)set->info.point_count * (size_t)d;
  const int stride = (last - first) / 400 + 1;
  for (int i = 0; i < set->info.body_count; i++) {
    const carom_body_info b = carom_system_body(set->system, i);
    const double reach = body_reach(&b, d);
    for (int k = first; k <= last; k += stride)
      picture_box_grow(box, m->x + (size_t)k * size + b.first_point * d, d, reach);
  }
}

// a wall that is not far from what moves is shown
static void grow_to_plane(picture_box *box, const carom_plane_info *plane, int d) {
  double size = 1e-9, distance = plane->offset, foot[3];
  for (int k = 0; k < d; k++) size = fmax(size, box->high[k] - box->low[k]);
  for (int k = 0; k < d; k++) distance += plane->normal[k] * (box->low[k] + box->high[k]) / 2;
  for (int k = 0; k < d; k++) {
    foot[k] = (box->low[k] + box->high[k]) / 2 - distance * plane->normal[k];
    if (foot[k] < box->low[k] - size / 2 || foot[k] > box->high[k] + size / 2) return;
  }
  picture_box_grow(box, foot, d, 0);
}

static int state_index(const motion_set *set, const motion *m, double time) {
  const double k = floor(time / set->dt + 1e-6);
  return k < 0 ? 0 : k > m->states - 1 ? m->states - 1 : (int)k;
}

picture_box picture_box_of(const motion_set *set, const motion *const *motions, int count,
                           double from, double to) {
  const int d = set->info.dimension;
  picture_box box = {.low = {INFINITY, INFINITY, INFINITY},
                     .high = {-INFINITY, -INFINITY, -INFINITY}};
  for (int k = 0; k < count; k++)
    grow_to_motion(&box, set, motions[k], state_index(set, motions[k], from),
                   state_index(set, motions[k], to));
  for (int k = 0; k < carom_system_tie_count(set->system); k++) {
    const carom_tie_info tie = carom_system_tie(set->system, k);
    for (int end = 0; end < 2; end++)
      if (tie.ends[end].count == 0) picture_box_grow(&box, tie.ends[end].constant, d, 0);
  }
  for (int k = 0; k < carom_system_plane_count(set->system); k++) {
    const carom_plane_info plane = carom_system_plane(set->system, k);
    grow_to_plane(&box, &plane, d);
  }
  return box;
}

/* ---- cameras --------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static void normalise(double *a) {
  const double length = sqrt(dot(a, a));
  for (int k = 0; k < 3; k++) a[k] /= length > 0 ? length : 1;
}

// against gravity; along the last axis where there is none
static void up_of(const carom_system *system, double *up) {
  const carom_segment_info segment = carom_parameters_segment(system, CAROM_GRAVITY);
  double *theta = allocate((size_t)carom_parameters_count(system), sizeof(double));
  memcpy(up, (double[3]){0, 0, 1}, sizeof(double) * 3);
  if (theta == NULL) return;
  carom_parameters_default(system, theta);
  const double *g = theta + segment.offset;
  if (segment.size == 3 && dot(g, g) > 0)
    for (int k = 0; k < 3; k++) up[k] = -g[k];
  normalise(up);
  free(theta);
}

static void fit_plane(projection *p, const picture_box *box) {
  const double across = fmax(box->high[0] - box->low[0], 1e-9);
  const double up = fmax(box->high[1] - box->low[1], 1e-9);
  p->unit = 0.86 * fmin(p->width / across, p->height / up);
}

static void fit_space(projection *p, const carom_system *system, const picture_box *box, double yaw,
                      double pitch) {
  const double FIELD = 32 * M_PI / 180;
  double above[3], east[3], north[3], square = 0;
  up_of(system, above);
  cross(above, fabs(above[0]) < 0.9 ? (double[3]){1, 0, 0} : (double[3]){0, 1, 0}, north);
  normalise(north);
  cross(north, above, east);
  for (int k = 0; k < 3; k++) {
    p->back[k] = cos(pitch) * (cos(yaw) * east[k] + sin(yaw) * north[k]) + sin(pitch) * above[k];
    square += (box->high[k] - box->low[k]) * (box->high[k] - box->low[k]) / 4;
  }
  cross(above, p->back, p->right);
  normalise(p->right);
  cross(p->back, p->right, p->up);
  const double half = fmin(FIELD / 2, atan(tan(FIELD / 2) * p->width / p->height));
  const double distance = 0.9 * sqrt(square) / sin(half);
  for (int k = 0; k < 3; k++) p->eye[k] = p->centre[k] + distance * p->back[k];
  p->focal = p->height / 2 / tan(FIELD / 2);
}

projection projection_make(const carom_system *system, const picture_box *box, double width,
                           double height, double yaw, double pitch) {
  projection p = {
      .dimension = carom_system_describe(system).dimension, .width = width, .height = height};
  for (int k = 0; k < p.dimension; k++) p.centre[k] = (box->low[k] + box->high[k]) / 2;
  if (p.dimension == 2)
    fit_plane(&p, box);
  else
    fit_space(&p, system, box, yaw, pitch);
  return p;
}

projected project(const projection *p, const double *point) {
  if (p->dimension == 2)
    return (projected){p->width / 2 + (point[0] - p->centre[0]) * p->unit,
                       p->height / 2 - (point[1] - p->centre[1]) * p->unit, 0};
  const double off[3] = {point[0] - p->eye[0], point[1] - p->eye[1], point[2] - p->eye[2]};
  const double depth = fmax(-dot(off, p->back), 1e-9);
  return (projected){p->width / 2 + p->focal / depth * dot(off, p->right),
                     p->height / 2 - p->focal / depth * dot(off, p->up), depth};
}

double projection_scale(const projection *p, const double *point) {
  return p->dimension == 2 ? p->unit : p->focal / project(p, point).depth;
}

void motion_state(const motion_set *set, const motion *m, double time, double *x) {
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  const int k = state_index(set, m, time);
  const double share = fmin(fmax(time / set->dt - k, 0), 1);
  const double *from = m->x + (size_t)k * size;
  const double *to = k + 1 < m->states ? from + size : from;
  // a state that is there is shown as it is
  for (size_t i = 0; i < size; i++)
    x[i] = share < 1e-4 ? from[i] : (1 - share) * from[i] + share * to[i];
}
