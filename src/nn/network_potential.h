/* The potential network behind the engine's interface. */
#ifndef CAROM_NN_NETWORK_POTENTIAL_H
#define CAROM_NN_NETWORK_POTENTIAL_H

#include "nn/mlp.h"
#include "physics/potential.h"

typedef struct network_potential {
  potential base;
  mlp_shape shape;
  const double *parameters;
  float *rounded; /* a copy of the parameters for single precision, or NULL for double */
} network_potential;

/* `parameters` are kept, not copied. */
network_potential network_potential_make(mlp_shape shape, const double *parameters, float *rounded);

/* Takes changed parameters over into the rounded copy. */
void network_potential_refresh(network_potential *network);

#endif
