/* Which contacts are active, and the geometry of each: gap, frame, Jacobian, with derivatives.
 *
 * Contact space has `dimension` axes, the normal first. The Jacobian of a contact is one
 * dimension x dimension block for every point it touches: v_C = sum_k block_k v_k, a positive normal
 * component separating. For contacts of bodies block_k = weight_k F, with F the frame (rows: normal
 * e_n, tangents) and weight_k the affine weight of the contact point on the body's points, negative
 * on the first body: v_C = F (v_second - v_first). */
#ifndef CAROM_PHYSICS_COLLISION_H
#define CAROM_PHYSICS_COLLISION_H

#include "physics/mechanics.h"

typedef enum contact_kind {
  CONTACT_PAIR,        /* ball `first` and ball `second`, first < second */
  CONTACT_BALL_PLANE,  /* ball `first`, plane `second` */
  CONTACT_POINT_PLANE, /* shape point `detail` of body `first` (SHAPE_POINTS or the lowest of a
                           SHAPE_RIM), plane `second` */
  CONTACT_LIMIT        /* limit `first`, side `detail`: 0 upper (stretch > high, bend > high),
                           1 lower (stretch < low, bend < -high; bends have a sign in 2D only) */
} contact_kind;

/* Names an active contact; its geometry follows from it and x. */
typedef struct contact_id {
  contact_kind kind;
  int first;
  int second;
  int detail;
  int property; /* index of its friction and restitution */
} contact_id;

/* A growing list, kept between time steps. */
typedef struct contact_list {
  int count;
  int capacity;
  contact_id *ids;
  /* contacts with a gap below it are listed: 0 for those that act, more for those that are near; the
     gap of a bend is an angle, whose margin may be given as a length: how far the ends of its segments
     may move against each other */
  double margin, bend_margin;
  bool bend_margin_is_length;
  /* sweep order of balls, nearly sorted from one call to the next */
  int ball_count;
  int *balls;
  double *reach_low; /* [body_count] lower ends of the balls along the first axis */
} contact_list;

void contact_list_init(contact_list *list);
void contact_list_free(contact_list *list);

/* Adds one; false if there is no memory. */
bool contact_list_push(contact_list *list, contact_id id);

/* Lists the contacts with gap < margin (0) at x, in the order of possible contacts: pairs, planes, limits.
 * Returns false if memory for the list could not be had. */
bool collision_detect(const carom_system *s, const double *x, contact_list *list);

typedef struct contact {
  contact_id id;
  double gap;
  double frame[MAX_DIMENSION][MAX_DIMENSION]; /* rows; unused for bends */
  int point_count;
  int first_block;     /* points of the contacts before this one in a group */
  int *point;          /* [point_count] */
  double *weight;      /* block_k = weight_k frame; for bends, of the segment before the joint */
  double *next_weight; /* bends: of the segment after */
  double *block;       /* [point_count][dimension][dimension] */
  bool
      turns; /* what is made of the contact depends on how its tangents lie, as pyramids of friction do: the derivative
                 has their turn about the normal. False from contact_geometry */
} contact;

/* Fills `c`, its arrays from `memory`. */
void contact_geometry(const carom_system *s, const contact_id *id, const double *x, contact *c,
                      arena *memory);

/* x_bar += and theta_bar += (radii, corners, places of planes; may be NULL) from the cotangents of the blocks
 * [point_count][dimension * dimension] and of the gap.
 * Tangents are carried along with the normal without turning about it, dt = -(t.de_n) e_n, unless c->turns: what
 * a contact does depends on the frame only up to such a turn. */
void contact_geometry_vjp(const carom_system *s, const contact *c, const double *x,
                          const double *block_bar, double gap_bar, double *x_bar,
                          double *theta_bar);

/* The gap of one contact at x. Of a rim, id->detail becomes the point that is lowest there. */
double contact_gap(const carom_system *s, contact_id *id, const double *x);

/* velocity_C = J v for one contact;  out += J' impulse */
void contact_apply(const contact *c, int dimension, const double *v, double *velocity_c);
void contact_apply_transpose(const contact *c, int dimension, const double *impulse, double *out);

#endif
