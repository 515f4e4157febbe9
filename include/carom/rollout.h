/* Simulation of batches, its derivative, and a report of what happened on the way. */
#ifndef CAROM_PUBLIC_ROLLOUT_H
#define CAROM_PUBLIC_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "cone.h"
#include "system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum carom_integrator {
  CAROM_RK4, /* Kutta's 3/8 rule */
  CAROM_EULER,
  CAROM_SYMPLECTIC_EULER,
  CAROM_RK4_SECANT /* the 3/8 rule with the potential's gradient taken twice in a step, not four times */
} carom_integrator;

typedef enum carom_dynamics {
  CAROM_LAGRANGIAN, /* appendix B.2 of the paper */
  CAROM_HAMILTONIAN /* appendix B.3: the same motion, with the constraints held on momenta too */
} carom_dynamics;

typedef enum carom_contact_model {
  CAROM_CM,  /* the cone programs with A */
  CAROM_CMR, /* the cone programs with A + epsilon I */
  CAROM_LCP /* a linear complementarity problem: friction in pyramids by either law, and restitution
                by Newton's hypothesis (docs/theory.md, section 17) */
} carom_contact_model;

/* How bodies that overlap come apart (docs/theory.md, section 9). */
typedef enum carom_compensation {
  CAROM_COMPENSATION_POSITION, /* they are moved apart, and velocities know nothing of it; the event
                                  begins with the velocity put on the equality constraints */
  CAROM_COMPENSATION_PAPER     /* by the target velocity v_C* of the paper's appendix G */
} carom_compensation;

typedef enum carom_friction_law {
  CAROM_CONVEX_FRICTION, /* the paper's: a sliding contact parts at mu times its sliding speed */
  CAROM_COULOMB_FRICTION /* Coulomb's: a sliding contact does not part */
} carom_friction_law;

/* When contacts act (docs/theory.md, section 16). */
typedef enum carom_contact_time {
  CAROM_CONTACT_TIME_STEP, /* at the end of the time step in which bodies have begun to overlap */
  CAROM_CONTACT_TIME_EVENT /* at the time at which their gap closes, which has a derivative too */
} carom_contact_time;

/* Called between time steps from one thread at a time; return false to stop. */
typedef bool (*carom_progress)(void *user, int64_t done, int64_t total);

typedef struct carom_rollout_options {
  int steps;    /* time steps; the scene's */
  double dt;    /* length of a time step; the scene's */
  int substeps; /* integrator steps in a time step; 1. Contacts act at the end of a time step */
  carom_integrator integrator;     /* CAROM_RK4 unless the scene says otherwise */
  carom_dynamics dynamics;         /* CAROM_LAGRANGIAN */
  bool stabilize;                  /* the scene's, else false; true puts states on the constraints
                                      after each time step */
  carom_contact_time contact_time; /* CAROM_CONTACT_TIME_STEP unless the scene says otherwise */
  carom_contact_model contact;     /* CAROM_CM */
  carom_friction_law friction;     /* CAROM_CONVEX_FRICTION unless the scene says otherwise */
  bool hold_contacts; /* the scene's, else false; true lets friction act on positions too:
                                      bodies that stick do not creep */
  carom_compensation compensation; /* CAROM_COMPENSATION_POSITION unless the scene says otherwise */
  bool penetration_compensation;   /* true; false: bodies that overlap stay so */
  double compensation_steps;       /* time steps in which a penetration is undone; 8 */
  bool stop_target_gradient;       /* false; true leaves the target velocity v_C* out of the
                                          derivative, as the paper does; of that compensation alone */
  carom_cone_options cone;
  int threads;             /* 0: as many as the machine has. The result is the same */
  int shard_size;          /* samples a thread takes at once; 8 */
  bool keep_impacts;       /* false; true: carom_rollout_impact has the impacts of a run */
  carom_progress progress; /* NULL */
  void *progress_user;
} carom_rollout_options;

CAROM_API carom_rollout_options carom_rollout_default_options(const carom_system *system);

/* What happened in a rollout; counters of numerical trouble stay until the next run. */
typedef struct carom_report {
  int64_t time_steps;
  int64_t events;   /* time steps with at least one active contact, over the batch */
  int64_t contacts; /* active contacts in all events */
  int64_t
      programs; /* cone programs solved: two for each group of touching bodies; one of CAROM_LCP */
  int64_t interior_programs; /* those that needed the interior-point method; of CAROM_LCP, pivots */
  int64_t singular_programs; /* those where the least-norm selection was needed */
  int64_t degenerate_programs;
  int64_t projected_programs; /* those of which a part of b that no impulse can change, the trace of
                                  drift off the constraints, was left out */
  int64_t failed_programs;    /* inaccurate, unbounded or invalid; the best impulse found is used */
  double worst_residual;
  int64_t failed_projections; /* joined bodies that could not be put on their constraints, and stay
                                 where they were */

  /* of contacts that act when their gap closes */
  int64_t impacts; /* times at which gaps closed, over the batch */
  int64_t
      resting_contacts; /* contacts that pushed over a stretch of time: resting, rolling, sliding */
  int64_t
      grazing_impacts; /* impacts along the surface, whose time has a derivative too large to use */
  int64_t overlaps;    /* contacts that overlapped at the start of a time step */
  int64_t cut_steps;   /* time steps with more impacts than are followed one by one */
} carom_report;

/* Adds the counters of one report to another; worst_residual becomes the larger. */
CAROM_API void carom_report_add(carom_report *into, const carom_report *from);

/* The counter at `index`, from 0, with its name in the struct, for whoever writes them all; the name is NULL
 * beyond the last. worst_residual is none of them. */
typedef struct carom_counter {
  const char *name;
  int64_t value;
} carom_counter;
CAROM_API carom_counter carom_report_counter(const carom_report *report, int index);

/* A rollout simulates batches of one size and keeps what its derivative needs (the tape). */
typedef struct carom_rollout carom_rollout;

CAROM_API carom_status carom_rollout_create(const carom_system *system,
                                            const carom_rollout_options *options, int batch,
                                            carom_rollout **rollout, carom_error *error);
CAROM_API void carom_rollout_destroy(carom_rollout *rollout);

/* Controls of the runs that follow: u [batch][steps][control_size] (carom_system_describe), in the order
 * of carom_system_control, constant over each time step; NULL: none. u is copied. The last run cannot be
 * differentiated any more. */
CAROM_API carom_status carom_rollout_set_controls(carom_rollout *rollout, const double *u,
                                                  carom_error *error);

/* The controls that are set, or NULL; and their cotangents [batch][steps][control_size] by the last
 * carom_rollout_vjp, owned by the rollout (NULL where no controls are set: set zeros for the derivative
 * at zero). */
CAROM_API const double *carom_rollout_controls(const carom_rollout *rollout);
CAROM_API const double *carom_rollout_controls_bar(const carom_rollout *rollout);

/* Simulates Algorithm 1 of the paper. theta may be NULL for the scene's values. theta, x0 and v0 are
 * copied: they may change or go afterwards. A run that fails leaves the rollout ready for another, but
 * nothing to differentiate. */
CAROM_API carom_status carom_rollout_run(carom_rollout *rollout, const double *theta,
                                         const double *x0, const double *v0, carom_error *error);

/* Runs finished so far. A rollout keeps the last one alone: who differentiates later notes the count
 * and compares, or has a rollout for each. */
CAROM_API int64_t carom_rollout_run_count(const carom_rollout *rollout);

/* Results of the last run, owned by the rollout. */
CAROM_API const double *carom_rollout_positions(const carom_rollout *rollout);
CAROM_API const double *carom_rollout_velocities(const carom_rollout *rollout);
/* [batch][steps + 1]: 1 where a contact acted at the end of the step that led to this state. */
CAROM_API const uint8_t *carom_rollout_contacts(const carom_rollout *rollout);
CAROM_API carom_report carom_rollout_report(const carom_rollout *rollout);

/* A contact event of the last run as a result of it. Arrays are owned by the rollout and good until the
 * next run. */
typedef struct carom_impact {
  int step; /* the time step in which it happened, 0 to steps - 1; -1: there is no such impact */
  double
      time; /* since the start of the run. Contacts that act at the end of a time step: (step + 1) dt */
  int contact_count; /* those that acted at once */
  const int
      *contacts; /* [contact_count] possible contacts, ascending; a body whose corners touch has
                              one for each of them, all with the same number */
  const double
      *impulses;   /* [contact_count][dimension] along the contact's axes, the normal first */
  const double *x; /* [point_count][dimension] where bodies were */
  const double *v_before; /* velocities just before it, */
  const double *v_after;  /* and just after it */
} carom_impact;

/* Impacts of a sample in order of time, where options.keep_impacts is set; else there are none. */
CAROM_API int carom_rollout_impact_count(const carom_rollout *rollout, int sample);
CAROM_API carom_impact carom_rollout_impact(const carom_rollout *rollout, int sample, int index);

/* Where cotangents of an impact go: zero after a run, written by the caller, read by each
 * carom_rollout_vjp that follows. NULL where there is no such impact. */
typedef struct carom_impact_bars {
  double *time;
  double *x, *v_before, *v_after; /* [point_count][dimension] */
} carom_impact_bars;

CAROM_API carom_impact_bars carom_rollout_impact_bars(carom_rollout *rollout, int sample,
                                                      int index);

/* The derivative of the last run (an error if that did not finish). x_bar, v_bar (either may be NULL)
 * are cotangents of the whole trajectory [batch][steps + 1][point_count][dimension], beside those of
 * impacts. Overwrites x0_bar, v0_bar [batch][point_count][dimension] and theta_bar [carom_parameters_count], each may be
 * NULL. */
CAROM_API carom_status carom_rollout_vjp(carom_rollout *rollout, const double *x_bar,
                                         const double *v_bar, double *x0_bar, double *v0_bar,
                                         double *theta_bar, carom_error *error);

/* Cone programs that failed in the last run: how many are kept (at most 16), and copies of them,
 * owned by the rollout, to be written to a file and replayed. */
CAROM_API int carom_rollout_failure_count(const carom_rollout *rollout);
CAROM_API carom_cone_program carom_rollout_failure(const carom_rollout *rollout, int index);

/* Simulates once without keeping a tape; x, v [batch][steps + 1][point_count][dimension] and
 * contacts [batch][steps + 1] are the caller's; contacts and report may be NULL. */
CAROM_API carom_status carom_system_simulate(const carom_system *system,
                                             const carom_rollout_options *options,
                                             const double *theta, int batch, const double *x0,
                                             const double *v0, double *x, double *v,
                                             uint8_t *contacts, carom_report *report,
                                             carom_error *error);

/* Kinetic and potential energy of one state; NaN where it fails. theta may be NULL, and so may either
 * energy. */
CAROM_API carom_status carom_system_energy(const carom_system *system, const double *theta,
                                           const double *x, const double *v, double *kinetic,
                                           double *potential, carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
