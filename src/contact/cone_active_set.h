/* Semismooth Newton on f = P(f - rho s): every contact is on one face of its cone, the equations of
 * the faces are solved, the faces are revised by projecting w = f - rho s. Where the equations are
 * singular the method goes on with A + delta I until the faces settle, then finds the least-norm
 * solution on them exactly (level two). */
#ifndef CAROM_CONTACT_CONE_ACTIVE_SET_H
#define CAROM_CONTACT_CONE_ACTIVE_SET_H

#include "contact/cone_equations.h"

typedef struct active_set {
  const cone_program *program;
  const cone_scale *scale;
  double tolerance;     /* largest residual that counts as solved */
  cone_equations equations;
  contact_face *faces;  /* that the last step was made with */
  contact_face *next;   /* that its result asks for */
  double *f;            /* [C] */
  double *s;            /* [C] */
  double *best, *last;         /* [C] */
  double *y, *work;     /* [C], [2 C] */
  double delta;         /* regulariser, 0 until the equations were singular */
  double residual;      /* of f, for the regularised problem if delta > 0 */
  double magnitude;     /* largest entry of f in the same units, at least 1 */
  bool balanced;
  int changes;          /* contacts whose next face is another than their face */
  int steps;            /* Newton steps made, over all runs */
  bool singular;        /* the solution is a least-norm selection */
  bool degenerate;      /* a contact lies on the border between two states */
  arena *scratch;
} active_set;

active_set active_set_make(const cone_program *program, const cone_scale *scale, double tolerance,
                           arena *scratch);

/* Iterates from a->f; first with `states` if given. True if f solves the program, a->faces are then
 * its faces. */
bool active_set_run(active_set *a, const unsigned char *states, int max_steps);

bool active_set_continue(active_set *a);

/* Least-norm quantities at given faces of a singular problem: f1 = df/d(epsilon) of A + epsilon I
 * up to the null space, and its multiplier sigma = f + A f1. */
typedef struct semidefinite semidefinite;
void cone_second_level(const cone_equations *e, const semidefinite *h, const double *f,
                       double *f1, double *sigma, double *y);

/* The face that a contact of a least-norm solution lies on: where the velocity s is below
 * `threshold`, sigma takes its place. */
contact_face cone_second_face(const cone_program *program, const cone_scale *scale, int contact,
                              const double *f, const double *s, const double *sigma,
                              double threshold, double *projection);

/* Pivots below this count as zero. */
double cone_rank_threshold(const cone_scale *scale);

#endif
