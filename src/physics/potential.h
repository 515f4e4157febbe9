/* The potential energy V(x) behind one interface, over a batch of states at once: the scene's own
 * (gravity and springs) here, a network elsewhere. The engine needs the gradient of V and the
 * derivative of that gradient. */
#ifndef CAROM_PHYSICS_POTENTIAL_H
#define CAROM_PHYSICS_POTENTIAL_H

#include "physics/mechanics.h"

typedef struct potential potential;

struct potential {
  /* value [count] of V at x [count][D] */
  void (*value)(const potential *self, const mechanics *m, int count, const double *x,
                double *value, arena *scratch);
  /* bytes that the derivative of one evaluation of `count` states needs kept; NULL: none */
  size_t (*record_bytes)(const potential *self, int count);
  /* gradient [count][D] of V at x [count][D]; fills `record` */
  void (*gradient)(const potential *self, const mechanics *m, int count, const double *x,
                   double *gradient, void *record, arena *scratch);
  /* from the cotangent of the gradient: x_bar += Hessian * gradient_bar, and parameters_bar +=,
   * which is the engine's theta_bar for the scene's potential, the network's own otherwise (which may
   * be NULL: not wanted) */
  void (*gradient_vjp)(const potential *self, const mechanics *m, int count, const double *x,
                       void *record, const double *gradient_bar, double *x_bar,
                       double *parameters_bar, arena *scratch);
};

/* Gravity on the centres of mass, -m g.x, and springs, k (|arm| - length)^2. */
extern const potential scene_potential;

#endif
