/* The equations of a set of contact states, shared by the methods that solve a complementarity problem and by the
 * derivative.
 *
 *   f = T y,   R'((A + delta I) T y + b) = 0,   G = R'(A + delta I)T
 *
 *   state    columns of T                                          of R
 *   STICK    unit vectors                                          unit vectors
 *   corner   (1, mu sign)                                          (1, 0), or as T
 *   edge     (1, mu signs / 2), (0, sign_1, -sign_2)/sqrt(2)       (1, 0) or as T, (0, sign_1, -sign_2)/sqrt(2)
 *
 * f_t is an impulse in the diamond. By Coulomb's law the normal impulse has no friction in its equation, so G is not
 * symmetric where a contact slides; by the convex law R is T. */
#ifndef CAROM_CONTACT_LCP_EQUATIONS_H
#define CAROM_CONTACT_LCP_EQUATIONS_H

#include "base/general_inverse.h"
#include "contact/cone_equations.h"
#include "contact/lcp.h"

/* Columns of one contact, a row for each. */
typedef struct lcp_columns {
  int count;
  double T[MAX_CONE_DIMENSION][MAX_CONE_DIMENSION];
  double R[MAX_CONE_DIMENSION][MAX_CONE_DIMENSION];
  double slope[MAX_CONE_DIMENSION]; /* of the first column of T by mu */
} lcp_columns;

typedef struct lcp_equations {
  const cone_program *program;
  cone_scale scale;
  const double *A;   /* [C][C] dense, symmetric */
  const double *b;   /* [C] */
  bool convex;       /* the law: R is T */
  double delta;      /* added to the diagonal of A */
  int size;          /* of y */
  int *offset;       /* [contact_count] first y of each contact */
  lcp_columns *on;   /* [contact_count] */
  double *G;         /* [C][C] at most */
  double *y, *f, *s; /* [C] */
} lcp_equations;

lcp_equations lcp_equations_make(const cone_program *program, carom_friction_law law,
                                 arena *memory);

/* The columns of all contacts for these states. */
void lcp_set_states(lcp_equations *e, const unsigned char *state);

/* G and its inverse; f of the states; s = (A + delta I) f + b. */
general_inverse lcp_factor(lcp_equations *e, arena *memory);
void lcp_solve_states(lcp_equations *e, const general_inverse *inverse);
void lcp_velocity(lcp_equations *e);

/* out = R' rows, rows = R in, and likewise T; [size] and [C] */
void lcp_reduce(const lcp_equations *e, const double *rows, double *out);
void lcp_reduce_impulse(const lcp_equations *e, const double *rows, double *out);
void lcp_expand(const lcp_equations *e, const double *in, double *rows);
void lcp_expand_impulse(const lcp_equations *e, const double *in, double *rows);

/* out = A in, or (A + delta I) in */
void lcp_multiply(const lcp_equations *e, double delta, const double *in, double *out);

/* The normal velocity that complements f_n: s_n, by the convex law s_n - mu max|s_t|. */
double lcp_opening(const lcp_equations *e, int contact);

/* Where the natural map takes a contact's w = f - rho s, and the state of that face. */
unsigned char lcp_project(int dimension, double mu, const double *w, double *out);

/* The map of all contacts at f and s: the residual, relative to the speed; states [contact_count] are written. */
double lcp_map(const lcp_equations *e, unsigned char *state);

#endif
