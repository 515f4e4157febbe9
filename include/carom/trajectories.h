/* Trajectories, simulated or measured, and gradients of a loss over them: as structs and files. */
#ifndef CAROM_PUBLIC_TRAJECTORIES_H
#define CAROM_PUBLIC_TRAJECTORIES_H

#include <stdint.h>

#include "system.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a time step comes from. */
typedef enum carom_dt_source {
  CAROM_DT_OF_SCENE,     /* the data do not say: the scene's is meant */
  CAROM_DT_OF_ATTRIBUTE, /* the attribute dt of a file */
  CAROM_DT_OF_TIMES      /* the times /t of a file */
} carom_dt_source;

/* Trajectories of one system: what a rollout gives, or what was measured elsewhere. */
typedef struct carom_trajectories {
  int batch;       /* trajectories */
  int state_count; /* of each: time steps + 1 */
  int point_count;
  int dimension;
  double dt; /* 0 if the file does not say */
  carom_dt_source dt_from;
  double *x;    /* [batch][state_count][point_count][dimension] */
  double *v;    /* the same; NULL: not known */
  int *lengths; /* [batch] states of each, the others are not looked at; NULL: state_count */
  double *t;    /* [state_count] times; NULL: k dt when written, absent when read */
  /* [batch][state_count] rising times of each trajectory, where steps are not all of the length dt,
   * which then is their median; for fits alone. NULL: they are */
  double *times;
  uint8_t *contact; /* [batch][state_count] as carom_rollout_contacts; NULL: absent */
  double *u;        /* [batch][state_count - 1][control_size] controls that led to it; NULL: none */
} carom_trajectories;

/* Files with /x, /v, and where they are known /t, /contact, /u and the attribute dt. Reading checks
 * shapes and finite numbers; carom_trajectories_free gives the arrays back. Without v, or with
 * lengths (/length), they are written too: for carom_dataset_read, which takes such files. */
CAROM_API carom_status carom_trajectories_read(const carom_system *system, const char *path,
                                               carom_trajectories *trajectories,
                                               carom_error *error);
/* The same of measured ones: without v, with lengths, with NaN for what is missing. */
CAROM_API carom_status carom_trajectories_read_measured(const carom_system *system,
                                                        const char *path,
                                                        carom_trajectories *trajectories,
                                                        carom_error *error);
CAROM_API carom_status carom_trajectories_write(const carom_trajectories *trajectories,
                                                const carom_system *system, const char *path,
                                                carom_error *error);
CAROM_API void carom_trajectories_free(carom_trajectories *trajectories);

/* Controls of a system that has some (carom_rollout_set_controls). */
typedef struct carom_controls {
  int batch; /* samples */
  int steps; /* time steps */
  double dt; /* length of a time step; 0: not known */
  double *u; /* [batch][steps][control_size] */
} carom_controls;

/* Files with /u, and where it is known the attribute dt: a trajectory file is one. Reading checks the
 * shape and finite numbers; a system without controls is an error. */
CAROM_API carom_status carom_controls_read(const carom_system *system, const char *path,
                                           carom_controls *controls, carom_error *error);
CAROM_API carom_status carom_controls_write(const carom_controls *controls,
                                            const carom_system *system, const char *path,
                                            carom_error *error);
CAROM_API void carom_controls_free(carom_controls *controls);

/* A loss over a batch of trajectories and its derivative, to be written. */
typedef struct carom_gradient {
  int batch;
  double dt;
  double loss;             /* mean of loss_each */
  const double *loss_each; /* [batch] */
  const double *x0_bar;    /* [batch][point_count][dimension] */
  const double *v0_bar;
  const double *theta_bar; /* [carom_parameters_count] */
  int steps;               /* of u_bar */
  const double *u_bar;     /* [batch][steps][control_size]; NULL: no controls */
} carom_gradient;

/* A file with /loss, /loss_each, /d_x0, /d_v0, /d_u where there are controls, and /d_mass, /d_moment, /d_friction, ... for the
 * segments of theta (masses and moments: by their logarithms). */
CAROM_API carom_status carom_gradient_write(const carom_gradient *gradient,
                                            const carom_system *system, const char *path,
                                            carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
