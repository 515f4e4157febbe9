/* What a system looks like: bodies, planes, and what ties bodies together, for pictures and viewers. */
#ifndef CAROM_PUBLIC_DRAWING_H
#define CAROM_PUBLIC_DRAWING_H

#include <stdbool.h>

#include "system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum carom_shape {
  CAROM_SHAPE_NONE,  /* touches nothing: a point */
  CAROM_SHAPE_BALL,  /* circle or sphere about the centre of mass */
  CAROM_SHAPE_RIM,   /* a circle of points in the plane of the first two body axes */
  CAROM_SHAPE_POINTS /* body-fixed points: the corners of a box */
} carom_shape;

/* A body. Its points stand at [first_point, first_point + point_count) of a state: the centre of mass,
 * and of a rigid body the tips of its axes, at unit distance. A place with body coordinates c is
 * x_0 + sum_k c_k (x_k - x_0). */
typedef struct carom_body_info {
  const char *id; /* owned by the system */
  bool rigid;
  int first_point, point_count;
  double mass;
  carom_shape shape;
  double radius;         /* of a ball or a rim; 0 */
  int shape_point_count; /* of a rim or points */
  const double
      *shape_points; /* [shape_point_count][dimension] body coordinates, owned by the system */
} carom_body_info;

/* Body 0 .. body_count - 1; of another index: id "", no points. */
CAROM_API carom_body_info carom_system_body(const carom_system *system, int body);

/* A wall: normal . x + offset >= 0 is where bodies can be; |normal| = 1. */
typedef struct carom_plane_info {
  const char *id; /* owned by the system */
  double normal[3];
  double offset;
} carom_plane_info;

CAROM_API int carom_system_plane_count(const carom_system *system);
/* Plane 0 .. plane_count - 1; of another index: id "", zeros. */
CAROM_API carom_plane_info carom_system_plane(const carom_system *system, int plane);

/* A place that is linear in the state: constant + sum_k weight_k x_{point_k}. */
typedef struct carom_place {
  int count;
  int points[8];
  double weights[8];
  double constant[3];
} carom_place;

/* The position of a place at x [point_count][dimension]; position is [dimension]. */
CAROM_API void carom_place_position(const carom_place *place, const carom_system *system,
                                    const double *x, double *position);

typedef enum carom_tie_kind {
  CAROM_TIE_LINK,   /* a rigid distance */
  CAROM_TIE_JOINT,  /* both ends in one place */
  CAROM_TIE_SPRING, /* pulls towards its length */
  CAROM_TIE_SEGMENT /* a length that is bounded, of a rope */
} carom_tie_kind;

typedef struct carom_tie_info {
  carom_tie_kind kind;
  carom_place ends[2];
  double length; /* of a link; at rest, of a spring; 0 */
} carom_tie_info;

/* Joints and links of the scene, then springs, then bounded segments. */
CAROM_API int carom_system_tie_count(const carom_system *system);
/* Tie 0 .. tie_count - 1; of another index: zeros. */
CAROM_API carom_tie_info carom_system_tie(const carom_system *system, int tie);

#ifdef __cplusplus
}
#endif
#endif
