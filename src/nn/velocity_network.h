/* The networks of the paper's baselines, which change velocities in the place of the contact model:
 *
 *   perceptron    dv = S T^-1 P(q, w, touch), P: 2D + contacts -> h -> h -> h -> D, in states with an active contact
 *   interaction   dv = S T^-1 I(q, w), an interaction network (Battaglia et al. 2016), in every state:
 *                 effect e_k = near_k R(receiver - sender, touch, attributes of both, of the relation k), [50],
 *                 I_i = O(q_i, w_i, attributes, force, sum of the effects on i) of each point i
 *
 * Where the network is not the whole motion, the change of a point is taken times min(1, sum of near_k over the contacts
 * on it): what is away from all contacts keeps its velocity.
 *
 * q = T x / L, w = T v / S: L and S are a length and a speed of the data, T moves the tips of body axes to
 * the body's own length, as the loss sees them (learn/units.h). R has four hidden layers, O one.
 * What is seen of a contact, `touch`, is explained in relation_touch.h; of a constraint it is 0, and near = 1. Relations that
 * are not near have no effect and cost nothing.
 * Attributes of a point are its inverse mass (the diagonal of M^-1 of these points, masses by `mass_unit`)
 * and radius / L; of a relation friction, restitution and 1, or 0, 0 and -1 for a constraint. Relations
 * are those of relation_graph.h. What is fixed has no velocity, inverse mass and radius 0. A force is the
 * scene's own, where it is known.
 *
 * Parameters: P's, or R's then O's (dense.h). */
#ifndef CAROM_NN_VELOCITY_NETWORK_H
#define CAROM_NN_VELOCITY_NETWORK_H

#include "nn/dense.h"
#include "nn/relation_graph.h"
#include "rollout/velocity_change.h"

enum { EFFECT_SIZE = 50 };

typedef struct velocity_network {
  velocity_change base;
  const carom_system *system;
  carom_baseline kind;
  dense_shape perceptron;     /* P, or R */
  dense_shape object;         /* O; no inputs: there is none */
  relation_graph graph;       /* of a perceptron too, which sees contacts */
  double length, speed;       /* 1, 1 */
  double dt;                  /* of a time step; 1 */
  const double *body_lengths; /* [body_count], not owned */
  double mass_unit;           /* inverse masses are multiplied by it */
  double force_unit;          /* forces likewise; 0: they are not known */
  int parameter_offset;       /* in the cotangents that it is given */
  const double *parameters;   /* not owned */
  bool single;                /* arithmetic */
  void *prepared;             /* parameters as products take them; owned */
} velocity_network;

/* Shapes alone; `hidden` 0: the paper's widths. No memory is taken. */
velocity_network velocity_network_shape(const carom_system *system, carom_baseline kind,
                                        int hidden);

/* Relations and room for prepared parameters. velocity_network_free is due in any case. */
carom_status velocity_network_allocate(velocity_network *network, bool single, carom_error *error);
void velocity_network_free(velocity_network *network);

size_t velocity_network_parameter_count(const velocity_network *network);
size_t velocity_network_prepared_bytes(const velocity_network *network, bool single);

carom_status velocity_network_initialise(const velocity_network *network, rng *random,
                                         double *parameters);

/* Takes changed parameters over into the prepared ones. */
void velocity_network_refresh(velocity_network *network);

#endif
