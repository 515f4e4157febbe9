/* From the unknowns z to what a rollout takes, and back. */
#ifndef CAROM_PLAN_UNKNOWNS_H
#define CAROM_PLAN_UNKNOWNS_H

#include "plan/plan.h"

/* Puts z into x [D], v [D], theta [parameters] and u [steps][control_size], which hold what z does not
 * say: the plan's own x0, v0. */
void unknowns_apply(const carom_plan *plan, const double *z, double *x, double *v, double *theta,
                    double *u);

/* z_bar [unknown_count] += from the cotangents of what unknowns_apply gave. */
void unknowns_apply_vjp(const carom_plan *plan, const double *z, const double *x_bar,
                        const double *v_bar, const double *theta_bar, const double *u_bar,
                        double *z_bar);

/* Angle (in space axis times angle), rate of a rigid body at a state: 1 or 3 numbers. */
void body_angle(const carom_system *system, int body, const double *x, double *angle);
void body_rate(const carom_system *system, int body, const double *x, const double *v,
               double *rate);

/* Time steps [first, end) of a piece of a control. */
void piece_steps(int steps, int pieces, int piece, int *first, int *end);

#endif
