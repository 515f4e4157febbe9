/* Equality constraints Phi(x) = 0 (appendix B.1): the Jacobian J_E as an operator, the matrix
 * K = J_E M^-1 J_E', and what its derivative needs.
 *
 * With the arm c = sum_k w_k x_k + constant, a distance constraint |c|^2 - l^2 has the row 2 w_k c on
 * point k, a coincidence c = 0 the rows w_k I. Functions take a range of constraints
 * [begin, end), so that a contact event touches only the assemblies it moves. */
#ifndef CAROM_PHYSICS_CONSTRAINTS_H
#define CAROM_PHYSICS_CONSTRAINTS_H

#include "physics/mechanics.h"

/* Pivot ratios below this are treated as a redundant constraint: its multiplier is held near 0. */
static const double CONSTRAINT_PIVOT_FLOOR = 1e-13;

/* arm [constraint_count][dimension] at x. */
void constraints_arms(const mechanics *m, int begin, int end, const double *x, double *arm);

/* rows = Phi: how far the arms are from what they are held at. */
void constraints_values(const mechanics *m, int begin, int end, const double *arm, double *rows);

typedef enum constraint_metric {
  METRIC_INERTIAL, /* J_E M^-1 J_E' */
  METRIC_GEOMETRIC /* J_E J_E' */
} constraint_metric;

/* Builds and factorises the matrix in system->constraint_shape. Returns the smallest pivot ratio:
 * close to 0 where constraints are redundant. */
double constraints_factor(const mechanics *m, int begin, int end, const double *arm,
                          constraint_metric metric, double *factor);

/* rows z of the range: z = K^-1 z in place */
void constraints_solve(const mechanics *m, int begin, int end, const double *factor, double *z);

/* rows = J_E u;  out += J_E' rows */
void constraints_apply(const mechanics *m, int begin, int end, const double *arm, const double *u,
                       double *rows);
void constraints_apply_transpose(const mechanics *m, int begin, int end, const double *arm,
                                 const double *rows, double *out);

/* x_bar += scale * gradient by x of rows' J_E(x) u, with rows and u constant. */
void constraints_bilinear_vjp(const mechanics *m, int begin, int end, double scale,
                              const double *rows, const double *u, double *x_bar);

/* rows = (D_x (J_E v)) y, symmetric in v and y;  out += scale * (D_x (J_E v))' rows, which is also
 * the gradient of rows' (D_x (J_E v)) y by y. */
void constraints_curvature(const mechanics *m, const double *v, const double *y, double *rows);
void constraints_curvature_transpose(const mechanics *m, double scale, const double *v,
                                     const double *rows, double *out);

#endif
