/* The normal rows J_n of an event's contact Jacobian, by themselves: what moves bodies apart without a word
 * about tangents. */
#ifndef CAROM_CONTACT_NORMAL_ROWS_H
#define CAROM_CONTACT_NORMAL_ROWS_H

#include "contact/event_operators.h"

/* normals [count] = J_n v */
void normal_velocities(const contact_event *e, const double *v, double *normals);

/* out += scale J_n' normals */
void add_normal_forces(const contact_event *e, double scale, const double *normals, double *out);

/* The cotangent of J_n that a term normals' J_n points gives, times scale. */
void add_normal_outer(const contact_event *e, double scale, const double *normals,
                      const double *points, double *blocks_bar);

/* H = J_n M^ J_n' + softness diag(J_n,i M^-1 J_n,i') of an island, with its shape; needs e->mobility. It is
 * positive definite however contacts depend on each other. */
typedef struct normal_matrix {
  envelope shape;
  double *values;
} normal_matrix;

normal_matrix normal_matrix_make(const contact_event *e, int island, double softness,
                                 arena *memory);

/* H of an island of one contact. */
double normal_entry(const contact_event *e, int island, double softness);

/* From the term scale * J_n M^-1 J_n' of contact c: cotangents of J_n and masses; force and velocity [D] are
 * scratch. */
void mobility_vjp(const contact_event *e, int c, double scale, const event_cotangents *bars,
                  double *force, double *velocity);

#endif
