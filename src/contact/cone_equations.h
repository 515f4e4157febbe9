/* The equations of a set of contact states, shared by the active-set method, the interior point
 * and the derivatives.
 *
 * With the states given, every impulse is f = T y + f0: T has for each contact 0 to `dimension`
 * orthonormal columns (the directions in which f may move along its face of the cone), f0 is the
 * part that the bound fixes. Stationarity on the face is
 *
 *   H y = -T'(A f0 + b),   H = T'AT + diag(curvature)
 *
 *   state         columns                                       curvature            f0
 *   FREE_STICK    unit vectors                                  0                    0
 *   FREE_SLIDE    (1, mu n)/sqrt(1 + mu^2), and in 3D (0, n')   0, |s_t|/(mu f_n)    0
 *   BOUND_STICK   tangents                                      0                    (l, 0)
 *   BOUND_SLIDE   in 3D with mu l > 0: (0, n')                  |s_t|/(mu l)         (l, mu l n)
 *
 * n is the unit vector along f_t (against s_t), n' is n turned by a right angle. At mu = 0 the
 * tangential impulse is zero and a contact is never sticking. The equations are a semismooth Newton
 * step on f = P(f - rho s) when n and the curvature are taken from w = f - rho s. */
#ifndef CAROM_CONTACT_CONE_EQUATIONS_H
#define CAROM_CONTACT_CONE_EQUATIONS_H

#include <math.h>

#include "base/arena.h"
#include "base/envelope.h"
#include "contact/cone_program.h"

enum { MAX_CONE_DIMENSION = 3 };

/* Share of a diagonal entry that a pivot is raised to. It is near rounding, so that it acts where H is
 * singular and nowhere else; how small the pivot was is told to those who ask. */
#define CONE_PIVOT_FLOOR 1e-14

/* |x_t| of x = (x_n, x_t) */
static inline double cone_tangent_length(int dimension, const double *x) {
  if (dimension == 1) return 0;
  return dimension == 2 ? fabs(x[1]) : sqrt(x[1] * x[1] + x[2] * x[2]);
}

/* How big things are: makes residuals and thresholds free of units. They are sizes of the data, never
 * of an impulse: a huge impulse would make everything else look small. */
typedef struct cone_scale {
  double stiffness; /* mean diagonal entry of A; powers of two, so that scaling is exact and */
  double speed;     /* has no derivative. speed: size of b, and of A lower */
  double *rho;      /* [contact_count] inverse mean diagonal entry of each contact's block */
  double *speeds; /* [contact_count] the speed that a contact can have with the energy of the data:
                        the largest |b_j| / D_j or D_j lower_j, times D_i, D = 1 / sqrt(rho); at least
                        program->scale */
} cone_scale;

/* What a contact does: its state, the direction of its tangential impulse, its curvature. */
typedef struct contact_face {
  contact_state state;
  double n[2];
  double curvature;
  double
      weight; /* length of the column (0, n') is 1/sqrt(weight); 1 but for least-norm selection */
} contact_face;

typedef struct cone_equations {
  const cone_program *program;
  int size;         /* unknowns y */
  int *offset;      /* [contact_count + 1] first unknown of each contact */
  double *T;        /* [contact_count][column][row], 9 numbers a contact */
  double *diagonal; /* [size] added to the diagonal */
  double *largest;  /* [contact_count] largest diagonal entry of a contact's block of A */
  double *reach;    /* [size] what the entry t'At of a column could be, |t|^2 of that: a pivot far
                        below is a cancellation, and its digits are rounding */
  int *first, *start;
  envelope shape; /* of H */
  double *H;
  double *rows; /* work space of the assembly, [3][C] */
} cone_equations;

/* The largest diagonal entry of a contact's block of A. */
double cone_largest_diagonal(const cone_program *program, int contact);

cone_scale cone_scale_make(const cone_program *program, arena *scratch);

/* Projects w on {|t| <= mu n, n >= lower}; gives the projection and the face that it lies on. */
contact_face cone_project(int dimension, double mu, double lower, double rho, const double *w,
                          double *projection);

/* The face of a contact of a solution, from its state, f and s. */
contact_face cone_face(int dimension, double mu, double lower, contact_state state, const double *f,
                       const double *s);

/* How many columns T has for a contact. */
int cone_columns(int dimension, double mu, double lower, contact_state state);

/* s = A f + b */
void cone_velocity(const cone_program *program, const double *f, double *s);

/* Memory for any set of states of a program. */
cone_equations cone_equations_make(const cone_program *program, arena *scratch);

/* Sets T and the layout from faces, then H. */
void cone_equations_set(cone_equations *e, const contact_face *faces);
void cone_equations_assemble(cone_equations *e);

/* y = T'x and x = T y (+ f0 where faces are given). */
void cone_reduce(const cone_equations *e, const double *x, double *y);
void cone_expand(const cone_equations *e, const double *y, double *x);
void cone_add_fixed(const cone_program *program, const contact_face *faces, double *f);

/* Right-hand side -T'(A f0 + b); work is [2 C]. */
void cone_right_side(const cone_equations *e, const contact_face *faces, double *y, double *work);

#endif
