/* Primal-dual interior point for the cone program: globally convergent, and the only method for the
 * smoothed problem.
 *
 * With f = S g, S = diag(1, mu, mu), every friction cone is the Lorentz cone g_n >= |g_t| (one-
 * dimensional at mu = 0). Q = SAS + delta SS, q = Sb. The point of the central path with
 * complementarity kappa solves
 *   Q g + q = z + w e_n,   g o z = kappa e,   (g_n - lower) w = kappa
 * (o is the Jordan product). A step linearises these in Nesterov-Todd scaling, which leaves one
 * symmetric positive definite system with Q + D, D = W^-2 + w / (g_n - lower) on the normal:
 * Mehrotra's predictor and corrector share its factor. Everything is in scaled units: A by its
 * mean diagonal entry, b by its size. delta makes sets of minimisers bounded. */
#ifndef CAROM_CONTACT_CONE_INTERIOR_H
#define CAROM_CONTACT_CONE_INTERIOR_H

#include "contact/cone_equations.h"

/* delta, in units of the mean diagonal entry of A. Without smoothing it begins at the first value
 * (sets of minimisers are bounded then) and ends at the last (it does not show in the result). With
 * smoothing it is a share of kappa, small beside the smoothing itself. */
#define CONE_FIRST_DELTA 1e-10
#define CONE_LAST_DELTA 1e-13
#define CONE_SMOOTHING_DELTA 0.1
static inline double cone_interior_delta(double smoothing) {
  return smoothing > 0 ? CONE_SMOOTHING_DELTA * smoothing : CONE_LAST_DELTA;
}

/* Scaling of one contact's cone. */
typedef struct cone_scaling {
  double eta;
  double point[MAX_CONE_DIMENSION]; /* w, with w_0^2 - |w_1|^2 = 1 */
  double root[MAX_CONE_DIMENSION];  /* v, W = eta (2 v v' - J) */
} cone_scaling;

typedef struct cone_interior {
  const cone_program *program;
  const cone_scale *scale;
  double smoothing;         /* kappa; if > 0, g_n >= lower is kept beside the cone everywhere */
  int degree;               /* number of cones and bounds */
  cone_equations equations; /* T = S */
  double delta;
  double *Q, *q;     /* envelope of the equations, [size] */
  double *g, *z, *w; /* [size], [size], [contact_count], contiguous; w: duals of the bounds */
  double *saved;     /* the point before the last step */
  int point_size;
  double *bound;          /* [contact_count] lower in scaled units */
  cone_scaling *scaling;  /* [contact_count] */
  double *lambda;         /* [size] W z */
  double *dg, *dz, *dw;   /* step; affine step first */
  double *right;          /* [size] */
  double complementarity; /* mean of g.z and (g_n - lower) w */
  double dual_residual;   /* largest entry of Q g + q - z - w e_n */
  double largest;         /* largest entry of g */
  double centrality;      /* largest entry of lambda o lambda / complementarity - e */
} cone_interior;

cone_interior cone_interior_make(const cone_program *program, const cone_scale *scale,
                                 double smoothing, arena *scratch);

/* Changes delta. */
void cone_interior_set_delta(cone_interior *in, double delta);

/* Residuals at the present point. */
void cone_interior_measure(cone_interior *in);

/* One step: towards the solution, or with kappa > 0 to that point of the central path. False when
 * no progress is possible. */
bool cone_interior_step(cone_interior *in, double kappa);

/* f in the program's units; duals z [C], w [contact_count] likewise. */
void cone_interior_impulse(const cone_interior *in, double *f);
void cone_interior_duals(const cone_interior *in, double *z, double *w);

/* T = S for a program. */
void cone_interior_equations(cone_equations *e, contact_face *faces);

/* D of one contact with `size` unknowns, [size][size] row-major, without the bound. */
cone_scaling cone_scaling_make(int size, const double *g, const double *z);
void cone_scaling_hessian(int size, const cone_scaling *scaling, double *D);

#endif
