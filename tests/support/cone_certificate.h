/* How good an answer to a cone program is, computed from the program alone, in long double, with
 * nothing of the solver: a feasible f, a dual point that s = Af + b gives, and the duality gap between
 * the two.
 *
 * Everything is relative to the scale of the data. D_i is the root of the mean diagonal entry of a
 * contact's block of A, so that D f and s / D have one unit, that of the root of an energy, whatever
 * the units of a contact; S is the largest |b_i| / D_i or D_i lower_i. For b = Jv it is at most the
 * root of twice the kinetic energy. */
#ifndef CAROM_TESTS_CONE_CERTIFICATE_H
#define CAROM_TESTS_CONE_CERTIFICATE_H

#include <stdbool.h>

#include "carom.h"

typedef struct cone_certificate {
  bool finite;
  double size;      /* largest |D f| / S */
  double sum;       /* of all of them */
  double outside;   /* distance of f from its cone and bound, relative to |f| */
  double violation; /* distance of s / D from the dual cones, relative to S */
  double gap;       /* f's - lower w with both projected, relative to S^2 */
  double objective; /* less that of f = (lower, 0), relative to S^2 */
} cone_certificate;

cone_certificate cone_certify(const carom_cone_program *program, const double *f);

/* Does it solve the program to `tolerance`? f itself is rounded, which moves s by up to
 * sum |A_ij f_j| 1.1e-16 and the gap by up to 1.1e-16 (sum |D f| / S)^2: that much is allowed, up to
 * |D f| = 1e7 S. So is the gap of velocities that are off by 1e-10 S, at which the solver stops: with impulses thousands of
 * times as large as the data, 1e-10 sum |D f| / S is more than a tolerance of 1e-8. */
bool cone_certificate_holds(const cone_certificate *certificate, double tolerance);

#endif
