/* Cameras of pictures: from coordinates of a scene to those of the paper. The plane is seen straight, space by
 * a perspective camera about the middle of what is shown, up against gravity; as in the viewer. */
#ifndef CAROM_CLI_PROJECTION_H
#define CAROM_CLI_PROJECTION_H

#include "cli/motion_file.h"

/* What is to be seen. */
typedef struct picture_box {
  double low[3], high[3];
} picture_box;

/* Around all bodies between two times, hooks, and planes that are near. */
picture_box picture_box_of(const motion_set *set, const motion *const *motions, int count,
                           double from, double to);

/* Makes room for a place and so much around it. */
void picture_box_grow(picture_box *box, const double *point, int dimension, double margin);

typedef struct projection {
  int dimension;
  double width, height;
  double unit;                                    /* plane: paper for a length of one */
  double centre[3];                               /* what is in the middle */
  double right[3], up[3], back[3], eye[3], focal; /* space */
} projection;

/* `yaw` and `pitch` in radians turn the camera of space. */
projection projection_make(const carom_system *system, const picture_box *box, double width,
                           double height, double yaw, double pitch);

/* x, y on the paper, and the distance from the eye. */
typedef struct projected {
  double x, y, depth;
} projected;

projected project(const projection *p, const double *point);

/* Paper for a length of one at a place. */
double projection_scale(const projection *p, const double *point);

/* The state of a motion at a time, between two states linear; x is [point_count * dimension]. */
void motion_state(const motion_set *set, const motion *m, double time, double *x);

#endif
