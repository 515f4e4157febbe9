/* The part of b that no impulse can change, and the units of contacts.
 *
 * b = b_R + b_N, b_R in the range of A, b_N in its null space. For b = Jv with v on the equality
 * constraints b_N is rounding; drift off the constraints makes it larger. If the cones hold a direction
 * d with Ad = 0 and b.d < 0 the program falls without bound along it, however small b_N is. So what
 * is small is taken for drift and left out, and of a program that is unbounded the part that impulses
 * can change is solved. */
#ifndef CAROM_CONTACT_CONE_RANGE_H
#define CAROM_CONTACT_CONE_RANGE_H

#include "base/semidefinite.h"
#include "contact/cone_equations.h"

typedef struct cone_range {
  semidefinite A;
  bool deficient;  /* the rank of A is below its size */
  double *outside; /* [C] b_N */
  double *b;       /* [C] b_R */
  double share;    /* largest |b_N|, of the speed of its contact */
} cone_range;

/* A b_N up to this share of the speed is drift, and left out; up to the second, if nothing else gives a
 * solution. More is a failure. */
#define CONE_DRIFT 2e-8
#define CONE_MOST_DRIFT 1e-6

/* Below this it is rounding. */
#define CONE_RANGE_ROUNDING 1e-12

cone_range cone_range_make(const cone_program *program, const cone_scale *scale, arena *scratch);

/* Is there a direction d of the cones with Ad = 0 and b.d < 0? The program is unbounded then. */
bool cone_range_has_recession(const cone_range *range, const cone_program *program, arena *scratch);

/* ---- units */

/* Are the units of contacts too far apart for one size to mean something for all? */
bool cone_units_differ(const cone_program *program);

/* The program in f^ = D f with D a power of two for each contact, so that all blocks of A are of size
 * one and nothing is rounded. D [contact_count] is written. */
cone_program cone_units_make(const cone_program *program, double *D, arena *scratch);

/* f, s of the solution back to the units of the program. */
void cone_units_restore(const cone_program *program, const double *D, cone_solution *solution);

#endif
