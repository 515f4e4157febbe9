/* The part of the learned potential that is linear in its parameters (network_potential.h).
 *
 * With the hidden layers as they stand,
 *
 *   V(x) = sum_j c_j f_j(x) + a constant,
 *
 * where c are the coefficients of the elasticity and the weights of the output layer: forces are linear in
 * them, and fitting them is a linear problem. The derivative of f_j along r is one more forward sweep,
 *
 *   a'_1 = T r W_1',  h'_l = s_l * a'_l,  a'_{l+1} = h'_l W_{l+1}',   energy h'_L,
 *
 * the first half of the derivative in mlp.h, for many directions at one place. In double precision. */
#ifndef CAROM_NN_FEATURES_H
#define CAROM_NN_FEATURES_H

#include "nn/network_potential.h"

/* How many c_j there are, and where the j-th stands among the network's parameters. */
int network_feature_count(const network_potential *network);
int network_feature_entry(const network_potential *network, int j);

/* rows [count][directions][stride], of which the first network_feature_count are set: the derivative of
 * f_j at x [count][D] along each of `along` [count][directions][D]. Needs no prepared parameters. */
void network_features_along(const network_potential *network, int count, const double *x,
                            int directions, const double *along, int stride, double *rows,
                            arena *scratch);

#endif
