/* M^ of an extended body that no joint holds, in closed form. The velocities that J_E allows it are its
 * rigid motions v_k = v_0 + omega x e_k, e_k = x_k - x_0, whatever the lengths of the e_k have drifted to.
 * Forces on its points act by their sum and their torque about the centre, the wrench, and
 *
 *   M^ force = (v_0, omega):   m v_0 = sum_k force_k,   I omega = sum_k e_k x force_k,
 *   I = m sum_k lambda_k (|e_k|^2 1 - e_k e_k').
 *
 * The same as by a factor of J_E M^-1 J_E', in less time, and with the zeros that it ought to have: a push
 * through the centre turns nothing, to the last bit, so that nothing begins to roll by rounding. */
#ifndef CAROM_PHYSICS_RIGID_BODY_H
#define CAROM_PHYSICS_RIGID_BODY_H

#include "physics/mechanics.h"

enum { MAX_WRENCH = 6 };

typedef struct rigid_body {
  int dimension;
  int size;                     /* of a wrench or a motion: 3 in the plane, 6 in space */
  int at;                       /* where its first point stands in vectors over points */
  double mass;                  /* m */
  double moment[MAX_DIMENSION]; /* lambda */
  double axis[MAX_DIMENSION * MAX_DIMENSION];              /* e_k */
  double inertia[MAX_DIMENSION * (MAX_DIMENSION + 1) / 2]; /* I: xx, xy, xz, yy, yz, zz */
} rigid_body;

/* Is an assembly one extended body without joints? */
bool assembly_is_rigid_body(const carom_system *s, const assembly *a);

/* Such an assembly at x. */
rigid_body rigid_body_at(const mechanics *m, const assembly *a, const double *x);

/* Any rigid body by itself, with mass and moments 1, from its points [dimension + 1][dimension]. */
rigid_body rigid_body_unit(int dimension, const double *points);

/* The wrench (force, torque) of forces [D] on its points, its motion (v_0, omega) from a wrench, in place,
 * and the velocities [D] of its points in a motion. */
void rigid_body_wrench(const rigid_body *b, const double *force, double wrench[MAX_WRENCH]);
void rigid_body_move(const rigid_body *b, double wrench[MAX_WRENCH]);
void rigid_body_velocities(const rigid_body *b, const double motion[MAX_WRENCH], double *v);

/* Momenta M v [D] of its points in a motion. */
void rigid_body_momenta(const rigid_body *b, const double motion[MAX_WRENCH], double *momenta);

/* v = M^ M v: the rigid motion with the same momentum and angular momentum. */
void rigid_body_project(const rigid_body *b, double motion[MAX_WRENCH], double *v);

/* x_bar += what the term force' dM^ (...) of a scalar gives through the axes: tips get reaction x omega, the
 * centre the opposite. */
void rigid_body_axes_vjp(const rigid_body *b, const double *reaction, const double *omega,
                         double *x_bar);

/* Takes the tips of such an assembly back to unit axes at right angles, to second order of what they are off
 * by, C = E'E - 1 for E = (e_1, ...): with the least motion in the metric of inertia,
 *
 *   e_k += sum_l e_l G_lk,   G_lk = -C_lk lambda_l / (lambda_k + lambda_l)
 *
 * so that E'dE + dE'E = -C. The reverse is given x before; x_bar is that after on entry, before on return. */
void rigid_body_straighten(const mechanics *m, const assembly *a, double *x);
void rigid_body_straighten_vjp(const mechanics *m, const assembly *a, const double *x,
                               double *x_bar, double *theta_bar);

#endif
