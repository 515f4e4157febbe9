/* The derivative of a function along a direction by central differences with steps h, h/2, h/4 and
 * Richardson extrapolation, where the values themselves show that the function is smooth there.
 *
 * It is not if two extrapolations from different steps disagree (a kink inside the step), or if the
 * slopes to the left and to the right do (a kink at the point itself). Neither looks at the derivative
 * that is to be checked, so that a wrong one cannot pass for a kink. Shared with the tests. */
#ifndef CAROM_CLI_STENCIL_H
#define CAROM_CLI_STENCIL_H

#include <math.h>
#include <stdbool.h>

enum { STENCIL_STEPS = 3 };

/* Function values: plus[i] and minus[i] at distance h / 2^i. */
typedef struct stencil {
  double h;
  double base;
  double plus[STENCIL_STEPS], minus[STENCIL_STEPS];
} stencil;

/* True, with the derivative, where the function is smooth. Derivatives below `least` are judged
 * absolutely; `noise` is what rounding of the values may change a difference by. */
static inline bool stencil_derivative(const stencil *st, double least, double noise,
                                      double *derivative) {
  // what two extrapolations, and the slopes on both sides, may differ by
  static const double AGREEMENT = 1e-7, KINK = 1e-6;
  double central[STENCIL_STEPS], bend[STENCIL_STEPS];
  for (int i = 0; i < STENCIL_STEPS; i++) {
    double h = st->h / (1 << i);
    central[i] = (st->plus[i] - st->minus[i]) / (2.0 * h);
    bend[i] = ((st->plus[i] - st->base) - (st->base - st->minus[i])) / h;
  }
  double coarse = (4.0 * central[1] - central[0]) / 3.0;
  double fine = (4.0 * central[2] - central[1]) / 3.0;
  double size = fmax(fabs(fine), least);
  // right slope minus left slope, extrapolated to a step of zero
  double jump = 2.0 * bend[2] - bend[1];
  *derivative = fine;
  return fabs(fine - coarse) <= AGREEMENT * size + noise && fabs(jump) <= KINK * size + 4.0 * noise;
}

#endif
