/* Identification: numbers of a scene whose form is known, with their uncertainty, from measured
 * trajectories (docs/fitting.md). */
#ifndef CAROM_PUBLIC_FIT_H
#define CAROM_PUBLIC_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "dataset.h"
#include "rollout.h"
#include "trajectories.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is measured of bodies. Points and centres have positions and velocities, rigid bodies angles (of
 * the rotation from the measured to the predicted orientation) and rates too. */
typedef enum carom_channel {
  CAROM_CHANNEL_POSITION,
  CAROM_CHANNEL_VELOCITY,
  CAROM_CHANNEL_ANGLE,
  CAROM_CHANNEL_RATE,
  CAROM_CHANNEL_COUNT
} carom_channel;

/* "position", "velocity", "angle", "rate"; "" beyond. */
CAROM_API const char *carom_channel_name(carom_channel channel);

/* Where predictions over whole trajectories begin. */
typedef enum carom_first_state {
  CAROM_FIRST_STATE_MEASURED,
  CAROM_FIRST_STATE_FLIGHT /* the one that explains the states before the first contact best */
} carom_first_state;

typedef struct carom_fit_options {
  int piece;   /* states of a piece, whose first state is an unknown; 60 */
  double join; /* deviation of the end of a piece from the start of the next one, in deviations of
                      the noise; 0.01. 0: pieces are not joined */
  int horizon; /* 0; else unknowns are those that predict so many states from the first one of each
                      trajectory best, for data that no values explain up to the noise */
  carom_first_state first_state; /* of `horizon` and of predictions: CAROM_FIRST_STATE_MEASURED */
  double huber; /* residuals beyond so many deviations count by their size, not its square; 4. 0:
                      squares for all */
  bool free_states;        /* true; false: pieces begin at the measured states, which are exact */
  bool use_velocities;     /* true; false: measured velocities are where pieces begin, no more. Not
                            where the data has none: those that are estimated never count */
  bool project;            /* measured states are put on the constraints, however far off: false */
  carom_velocity velocity; /* as in carom_dataset_options: CAROM_VELOCITY_GIVEN */
  double position_noise;   /* standard deviation of a coordinate; 0: estimated */
  double velocity_noise;
  double angle_noise; /* in radians */
  double rate_noise;
  bool search;             /* true: friction and restitution are tried far from where they stand */
  int iterations;          /* of each minimisation at most: 60 */
  double tolerance;        /* relative change of the cost at which one ends: 1e-10 */
  int threads;             /* 0: all */
  carom_progress progress; /* NULL; called between iterations; return false to stop */
  void *progress_user;
} carom_fit_options;

CAROM_API carom_fit_options carom_fit_default_options(void);

/* An identification: unknowns of a system, trajectories, and what came out. */
typedef struct carom_fit carom_fit;

/* `unknowns` is a list in commas:
 *
 *   friction, restitution      one for all contacts where the scene has one, else one for each
 *   friction[a|ground]         of one contact (carom_system_contact_label)
 *   mass, mass[b]              of all bodies, of one; mass[b]/mass[a]: that of b, a's being known
 *   moment, moment[b]          second moments per unit mass; moment[b][2] of one axis. In the plane a
 *                              body has one, the sum of both
 *   gravity, gravity[y]        its strength along the scene's direction; one component
 *   stiffness, stiffness[0]    of springs
 *   regularizer                epsilon of CMr
 *   radius, radius[b]          of balls; of what corners are rounded by
 *   offset, offset[ground]     of planes
 *   corner[b], corner[b][3], corner[b][3][x]
 *                              body coordinates of the points of a shape, of one of them, one of its
 *                              coordinates; corner[b]:shared is one factor of all
 *   centre[b], centre[b][z]    where the centre of mass is in a body, from the point that was measured and
 *                              that the scene's corners are seen from; one coordinate
 *   drag, angular_drag         of all bodies, drag[b] of one
 *   scale                      metres of the scene in one unit of length of the data
 *   shift[z]                   where the origin of the data stands in the scene: of a body on one
 *                              plane the place of this plane
 *
 * each followed by any of  :start=X  :low=X  :high=X  :prior=MEAN/DEVIATION  :shared (one number for all
 * that the name stands for)  :each (one for each). Where a start is not given, it is the scene's value.
 *
 * `simulation` says how motion is computed (NULL: as the scene does); its dt is that of the data. The
 * data is copied; the system must outlive the fit. */
CAROM_API carom_status carom_fit_create(const carom_system *system,
                                        const carom_trajectories *trajectories,
                                        const char *unknowns,
                                        const carom_rollout_options *simulation,
                                        const carom_fit_options *options, carom_fit **fit,
                                        carom_error *error);
CAROM_API void carom_fit_destroy(carom_fit *fit);

/* Finds the unknowns and how well they are known. */
CAROM_API carom_status carom_fit_run(carom_fit *fit, carom_error *error);

/* One number that was asked for, or follows from such (the ratio of two masses). */
typedef struct carom_fit_estimate {
  char name[96];
  double value;
  double
      deviation; /* standard error; infinite where the data does not determine it, 0 at a border */
  double low, high; /* the 95 % interval, within the bounds; infinite ends where there is none */
  double start;     /* where the search began */
  double scene;     /* the scene's value */
  bool determined;
  bool at_border; /* of its range: the interval is one-sided */
  bool derived;   /* follows from others */
  bool profiled;  /* the interval is that of the profile likelihood, all else following */
} carom_fit_estimate;

/* What should be known of the result, in words. */
typedef struct carom_fit_note {
  bool warning;
  char text[320];
} carom_fit_note;

typedef struct carom_fit_channel {
  int64_t count;   /* numbers that were compared; 0: not measured */
  double noise;    /* standard deviation used */
  bool estimated;  /* it was not given */
  double residual; /* root mean square of measured - predicted */
} carom_fit_channel;

typedef struct carom_fit_trajectory {
  int trajectory;   /* of the data */
  int64_t count;    /* numbers compared */
  double deviation; /* root mean square of its residuals in deviations of the noise: near 1 */
  int outliers;     /* states beyond `huber` deviations */
} carom_fit_trajectory;

typedef struct carom_fit_result {
  int estimate_count; /* those asked for, then those derived */
  const carom_fit_estimate *estimates;
  int unknown_count;
  const double *correlation; /* [unknown_count][unknown_count]; 0 for what is not determined */
  int note_count;
  const carom_fit_note *notes;
  carom_fit_channel channels[CAROM_CHANNEL_COUNT];
  int trajectory_count;
  const carom_fit_trajectory *trajectories; /* the worst first */
  const double *theta;                      /* [carom_parameters_count] with the estimates */
  double scale, shift[3];                   /* 1 and 0 where they are not unknown */
  int pieces;
  int iterations;
  double log_likelihood; /* of the data at the estimate */
  double bic;            /* unknown_count log(numbers) - 2 log_likelihood: the smaller the better */
  carom_report report;   /* of the last evaluation */
} carom_fit_result;

/* NULL before carom_fit_run; owned by the fit. */
CAROM_API const carom_fit_result *carom_fit_result_of(const carom_fit *fit);

/* What was found out about the data; owned by the fit. */
CAROM_API int carom_fit_finding_count(const carom_fit *fit);
CAROM_API const carom_finding *carom_fit_finding(const carom_fit *fit, int index);

/* How well whole trajectories are predicted from their first states. */
typedef struct carom_fit_prediction {
  int count;        /* trajectories */
  double *position; /* [count] mean distance of bodies from where they were measured */
  double
      *angle; /* [count] mean angle between measured and predicted orientation; 0: no rigid body */
  double position_mean, position_deviation; /* over trajectories */
  double angle_mean, angle_deviation;
} carom_fit_prediction;

/* Simulates each of `trajectories` from its first state over its whole length with the estimates; velocities are
 * taken as the fit's options say (moved to the state, or estimated). */
CAROM_API carom_status carom_fit_predict(const carom_fit *fit,
                                         const carom_trajectories *trajectories,
                                         carom_fit_prediction *prediction, carom_error *error);
CAROM_API void carom_fit_prediction_free(carom_fit_prediction *prediction);

/* Writes /value, /deviation, /low, /high, /start, /scene, /determined, /profiled [estimate_count], /correlation
 * [unknown_count][unknown_count], /noise [CAROM_CHANNEL_COUNT] and the attribute `names`, one a line. The
 * parameters go by carom_parameters_write. */
CAROM_API carom_status carom_fit_write(const carom_fit *fit, const char *path, carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
