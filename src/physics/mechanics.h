/* A system at given parameters: what the equations of motion need of theta, computed once for a
 * run and then constant.
 *
 * Mass. The inverse mass of a rigid body on its d + 1 points is (1/m)(11' + diag(0, 1/lambda)), of a
 * point mass 1/m; both act on every coordinate alike. */
#ifndef CAROM_PHYSICS_MECHANICS_H
#define CAROM_PHYSICS_MECHANICS_H

#include "system/system.h"

/* Two constraints whose arms share a body. Since M^-1 acts alike on all coordinates, their block of
 * J_E M^-1 J_E' is `inertial` times the product of their directions, and of J_E J_E' `geometric`
 * times that: two numbers that do not depend on the state. */
typedef struct coupling {
  int row_constraint;    /* a >= b */
  int column_constraint; /* b */
  double inertial;
  double geometric;
} coupling;

typedef struct mechanics {
  const carom_system *system; /* with radii, corners and planes where theta has them: `placed` */
  carom_system *placed;       /* a copy of the scene's system; what it does not change is shared */
  double *theta;              /* a copy */
  double *inverse_mass;       /* [body_count] */
  double *inverse_moment;     /* [body_count][dimension] 1 / lambda; 0 for point masses */
  const double *friction;
  const double *restitution;
  const double *gravity;
  const double *stiffness;
  const double *drag, *angular_drag; /* [body_count] */
  bool drags;                        /* any of them is not 0 */
  double regularizer;
  int coupling_count;
  coupling *couplings;      /* sorted by row_constraint */
  int *assembly_constraint; /* [assembly_count + 1] first constraint of each assembly */
  int *constraint_coupling; /* [constraint_count + 1] first coupling of each row constraint */
  arena memory;
} mechanics;

/* False if memory is short; mechanics_free is due in any case. */
bool mechanics_init(mechanics *m, const carom_system *system);
void mechanics_free(mechanics *m);

/* Takes new parameters. */
void mechanics_set_parameters(mechanics *m, const double *theta);

/* out = M^-1 force for the points of one body, of one assembly, or of all; both are
 * [point_count][dimension]. */
void mass_inverse_body(const mechanics *m, int body_index, const double *force, double *out);
void mass_inverse_assembly(const mechanics *m, const assembly *a, const double *force, double *out);
void mass_inverse(const mechanics *m, const double *force, double *out);

/* out = M velocity, of one body or of all; out may be velocity. */
void mass_apply_body(const mechanics *m, int body_index, const double *velocity, double *out);
void mass_apply(const mechanics *m, const double *velocity, double *out);

/* theta_bar += derivative of left' M^-1 right by the log-masses and log-moments, with left and
 * right constant; for one body, for one assembly, or for all. */
void mass_inverse_body_vjp(const mechanics *m, int body_index, const double *left,
                           const double *right, double *theta_bar);
void mass_inverse_assembly_vjp(const mechanics *m, const assembly *a, const double *left,
                               const double *right, double *theta_bar);
void mass_inverse_vjp(const mechanics *m, const double *left, const double *right,
                      double *theta_bar);

#endif
