/* What a relation of bodies that may touch sees of their contact, beside the states of its ends:
 *
 *   h(g) = g / (1 + |g|),   g = gap / (S dt)    the gap by the way that a body goes in a time step, or
 *                           g = (gap + dt J_n v) / (S dt), that after the step, where the network is the whole step
 *   near                    1 where g <= 0, falling to 0 at g = 1: how much of the relation is felt
 *   J v / S                 the velocity in contact space, normal first
 *
 * Both follow from the states, but a contact is a jump within a hundredth of a body's way: networks that are
 * shown coordinates alone do not find it in a few thousand pairs of states (docs/results/baselines.md).
 *
 * Of a shape of several points it is the lowest. A limit with two sides has h(g_lower) - h(g_upper), from -1 where
 * the lower is reached to 1, the sum of both `near`, and the velocity of the upper. Gaps of bends are angles and are taken times the length of a
 * segment. */
#ifndef CAROM_NN_RELATION_TOUCH_H
#define CAROM_NN_RELATION_TOUCH_H

#include "nn/relation_graph.h"
#include "physics/collision.h"

/* Numbers of a touch in front of the velocity, and which they are. */
enum { TOUCH_GAP, TOUCH_NEAR, TOUCH_VELOCITY };

typedef struct touch_units {
  double speed; /* S */
  double dt;
  bool ahead; /* g is the gap after the step */
} touch_units;

/* out [TOUCH_VELOCITY + dimension] of a relation with a property, at a state x, v [D] */
void relation_touch(const carom_system *s, const relation *r, const touch_units *units,
                    const double *x, const double *v, double *out, arena *scratch);

/* x_bar +=, v_bar += from out_bar, as long */
void relation_touch_vjp(const carom_system *s, const relation *r, const touch_units *units,
                        const double *x, const double *v, const double *out_bar, double *x_bar,
                        double *v_bar, arena *scratch);

#endif
