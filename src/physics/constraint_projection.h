/* States put back on the equality constraints, one assembly at a time, and the derivative of that.
 *
 * Positions take Newton steps that are shortest in a metric W (M^-1 of inertia, or 1: plain distance),
 *
 *   x <- x - W J_E' (J_E W J_E')^-1 Phi(x)     until Phi = 0 to rounding,
 *
 * velocities one projection on the tangent space at the new positions,
 *
 *   v <- v - W J_E' (J_E W J_E')^-1 J_E v      in the metric of inertia M^ M v,
 *
 * which for momenta p = M v is p - J_E' mu: of both forms of the equations of motion the same, and what an
 * impulse of the constraints does. Units, place and orientation do not matter to rounding.
 *
 * The derivative is that of the steps, exact for each, and of a further one where they have arrived, which
 * moves nothing but projects changes: so it is what the implicit function theorem gives, however many
 * steps were needed, none included. */
#ifndef CAROM_PHYSICS_CONSTRAINT_PROJECTION_H
#define CAROM_PHYSICS_CONSTRAINT_PROJECTION_H

#include "physics/constraints.h"

/* Puts the positions x [D] of an assembly on its constraints. False if Newton's method does not arrive:
 * x is as it was then. */
bool project_positions(const mechanics *m, constraint_metric metric, int assembly_index, double *x,
                       arena *scratch);

/* Puts the velocities v [D] of an assembly on the tangent space at x. */
void project_velocities(const mechanics *m, constraint_metric metric, int assembly_index,
                        const double *x, double *v, arena *scratch);

/* Their reverse in the metric of inertia; x and v are those before. The cotangents of what was projected
 * are replaced by those of what was given; x_bar of velocities and theta_bar are added to. */
void project_positions_vjp(const mechanics *m, int assembly_index, const double *x, double *x_bar,
                           double *theta_bar, arena *scratch);
void project_velocities_vjp(const mechanics *m, int assembly_index, const double *x,
                            const double *v, double *v_bar, double *x_bar, double *theta_bar,
                            arena *scratch);

/* Both for all assemblies, in the metric of inertia. Returns how many could not be put on their
 * constraints; these are left as they were. */
int project_state(const mechanics *m, double *x, double *v, arena *scratch);

/* Its reverse, x_bar and v_bar in place, theta_bar added to. */
void project_state_vjp(const mechanics *m, const double *x, const double *v, double *x_bar,
                       double *v_bar, double *theta_bar, arena *scratch);

#endif
