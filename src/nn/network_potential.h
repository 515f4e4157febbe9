/* The learned potential behind the engine's interface: the multi-layer perceptron N of mlp.h on the
 * coordinates and, where the scene bounds lengths, the elasticity E of elastic_term.h:
 *
 *   V(x) = energy (N(q) + E(x)),   q = centre / length,
 *                                  q = centre / length + (tip - centre) for the tips of body axes
 *
 * With a length and an energy per mass (the square of a speed) of the data, N takes and gives the
 * same numbers in whatever units the data is; with 1 and 1 it takes the coordinates as they are.
 *
 * Parameters: the elasticity's [K][2], if it is there, then the perceptron's. */
#ifndef CAROM_NN_NETWORK_POTENTIAL_H
#define CAROM_NN_NETWORK_POTENTIAL_H

#include "nn/mlp.h"
#include "physics/potential.h"

typedef struct network_potential {
  potential base;
  mlp_shape shape;
  const carom_system *system;
  int elastic_count; /* K; 0: without an elasticity */
  double length, energy;
  const double *parameters;
  bool single;    /* arithmetic of the perceptron */
  void *prepared; /* its parameters as products take them, floats if single */
} network_potential;

/* The potential of a system in units of 1; it has no parameters yet. */
network_potential network_potential_make(const carom_system *system, bool elastic,
                                         int hidden_layers, int hidden_size);

/* All of its parameters. */
int network_parameter_count(const network_potential *network);

/* Bytes of prepared parameters, SIZE_MAX for more than there can be. */
size_t network_prepared_bytes(const mlp_shape *shape, bool single);

/* `parameters` are kept, not copied; `prepared` has room for network_prepared_bytes. */
void network_potential_set(network_potential *network, const double *parameters, bool single,
                           void *prepared);

/* First parameters: the perceptron's as mlp_initialise says, no elasticity. */
carom_status network_potential_initialise(const network_potential *network, rng *random,
                                          double *parameters, carom_progress progress, void *user);

/* q [count][D] of coordinates x, or of directions: x itself where both are the same. */
const double *network_inputs(const network_potential *network, int count, const double *x,
                             arena *scratch);

/* Takes changed parameters over into the prepared ones. */
void network_potential_refresh(network_potential *network);

#endif
