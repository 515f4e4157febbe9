/* A learned elasticity of the segments whose lengths a scene bounds:
 *
 *   E(x) = sum_k a_k z_k + b_k z_k^2,   z_k = |s_k(x)| / length_k - 1,
 *
 * with s_k the segment of the k-th stretch limit and length_k the middle of its bounds: a spring of
 * unknown stiffness and rest length for each of them. In coordinates a stiff spring is a narrow ring
 * around the spring's end, which a network of smooth units does not find.
 *
 * Coefficients are [K][2]: a_k, b_k. Arrays of states are [count][D]. */
#ifndef CAROM_NN_ELASTIC_TERM_H
#define CAROM_NN_ELASTIC_TERM_H

#include "base/arena.h"
#include "system/system.h"

/* K of a system. */
int elastic_term_count(const carom_system *s);

/* value [count] += E */
void elastic_term_value(const carom_system *s, const double *coefficients, int count,
                        const double *x, double *value, arena *scratch);

/* gradient += grad E */
void elastic_term_gradient(const carom_system *s, const double *coefficients, int count,
                           const double *x, double *gradient, arena *scratch);

/* From the cotangent of the gradient: x_bar +=, coefficients_bar +=. */
void elastic_term_gradient_vjp(const carom_system *s, const double *coefficients, int count,
                               const double *x, const double *gradient_bar, double *x_bar,
                               double *coefficients_bar, arena *scratch);

#endif
