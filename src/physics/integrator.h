/* One time step without contacts over a shard of states, and its reverse.
 *
 * Runge-Kutta 4 is Kutta's 3/8 rule, which ODE libraries for learning call rk4 and which has the
 * smaller error of the two classical fourth-order methods. Runge-Kutta 4 by secants is the same rule with the
 * potential's gradient g taken twice and not four times in a step of length h: at the start and at
 *   y = x + c h x' + (c h)^2 / 2 v',   c = 2/3,
 * its stages at the time t h take g(x) + t / c (g(y) - g(x)). For potentials of constant gradient the two are the
 * same, for others the order is 3: it is for potentials whose gradient is what a step costs. Symplectic Euler takes v1 = v + h v'(x, v), then
 * x1 = x + h (v1 + x'(x, v) - v). */
#ifndef CAROM_PHYSICS_INTEGRATOR_H
#define CAROM_PHYSICS_INTEGRATOR_H

#include "base/stopwatch.h"
#include "physics/controls.h"
#include "physics/dynamics.h"
#include "physics/potential.h"

typedef struct integrator {
  const mechanics *mechanics;
  const potential *potential;
  carom_integrator method;
  carom_dynamics dynamics;
  double dt;
  int substeps;
} integrator;

/* Controls of one time step of several samples, constant over the step; sample i's numbers stand at
 * i * stride. Set by who calls, before the step and before its reverse. */
typedef struct step_controls {
  const double *u; /* NULL: none */
  double *u_bar;   /* += by the reverse; NULL: not wanted */
  size_t stride;
} step_controls;

/* Stages of one time step of `capacity` states, kept for the reverse. */
typedef struct step_record {
  int capacity;
  int stage_count; /* substeps * stages of the method */
  double **x;      /* [stage_count] states [capacity][D] at which a stage evaluates */
  double **v;
  double **kx; /* [stage_count] x', v' [capacity][D] there */
  double **kv;
  dynamics_record **dynamics; /* [stage_count], one for each LANES states */
  void **potential;           /* records of the potential's gradients, one after the other */
  double **point;         /* [substeps][capacity][D] where rk4-secant takes its second gradient */
  step_controls controls; /* none unless set */
  const double *weights;  /* of the reverse, below; NULL unless set */
  stopwatch *watch;       /* NULL unless a benchmark wants to know */
} step_record;

/* Bytes that step_record_make takes, SIZE_MAX for more than there can be. */
size_t step_record_bytes(const integrator *in, int capacity);
step_record step_record_make(const integrator *in, int capacity, arena *memory);

/* Advances x, v [count][D] by dt in place. Fills `record`. */
void integrator_step(const integrator *in, int count, double *x, double *v, step_record *record,
                     arena *scratch);

/* The end of the step that filled `record` again, without evaluating anything. */
void integrator_replay(const integrator *in, int count, const step_record *record, double *x,
                       double *v);

/* Reverses the step that filled `record`: x_bar, v_bar [count][D] of the state after become those
 * of the state before; theta_bar += and, for a potential with parameters of its own,
 * potential_bar += (NULL: not wanted). dt_bar [count] += that of the step's length, where it is not
 * NULL. Where the record has `weights` [count], not 0, a sample counts so much in theta_bar and potential_bar, with no
 * effect on its other cotangents; those of controls are not to be asked for then. */
void integrator_step_vjp(const integrator *in, int count, const step_record *record, double *x_bar,
                         double *v_bar, double *theta_bar, double *potential_bar, double *dt_bar,
                         arena *scratch);

#endif
