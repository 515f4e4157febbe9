/* The operators of mechanics.h and constraints.h for all bodies and constraints of LANES states at once, as the
 * equations of motion need them at every stage of every step. Vectors of coordinates are [D] lanes, rows and factors
 * likewise. */
#ifndef CAROM_PHYSICS_LANE_MECHANICS_H
#define CAROM_PHYSICS_LANE_MECHANICS_H

#include "physics/lanes.h"
#include "physics/mechanics.h"

/* out = M^-1 force; out may be force. theta_bar += derivative of left' M^-1 right, summed over lanes. */
void lane_mass_inverse(const mechanics *m, const lanes *force, lanes *out);
void lane_mass_inverse_vjp(const mechanics *m, const lanes *left, const lanes *right,
                           double *theta_bar);

/* arm [constraint_count][dimension] at x; the factor of K = J M^-1 J' there; z = K^-1 z */
void lane_arms(const mechanics *m, const lanes *x, lanes *arm);
void lane_factor(const mechanics *m, const lanes *arm, lanes *factor);
void lane_solve(const mechanics *m, const lanes *factor, lanes *z);

/* rows = J u;  out += J' rows */
void lane_apply(const mechanics *m, const lanes *arm, const lanes *u, lanes *rows);
void lane_apply_transpose(const mechanics *m, const lanes *arm, const lanes *rows, lanes *out);

/* rows = B(v) y, B(v) = D_x (J v);  out += scale B(v)' rows, which is also the gradient of scale rows' J v by x */
void lane_curvature(const mechanics *m, const lanes *v, const lanes *y, lanes *rows);
void lane_curvature_transpose(const mechanics *m, double scale, const lanes *v, const lanes *rows,
                              lanes *out);

#endif
