/* Data for learning: trajectories cut into chunks, split into training, validation and test. */
#ifndef CAROM_PUBLIC_DATASET_H
#define CAROM_PUBLIC_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "rollout.h"
#include "trajectories.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pieces of trajectories of one length: x, v [count][states][point_count][dimension]. */
typedef struct carom_chunks {
  int count;
  int states; /* states of a chunk, the first one included */
  double dt;  /* time between two states; 0: not known, contacts are told by penetration alone */
  double *x, *v;
  uint8_t *contact; /* [count][states]: 1 where a contact acted on the way to this state */
} carom_chunks;

/* Something that was found out about given data, or done to it. */
typedef enum carom_finding_kind {
  CAROM_FINDING_TRAJECTORIES, /* what was left out: gaps, pieces that are too short */
  CAROM_FINDING_PROJECTION,   /* states that were put on the constraints */
  CAROM_FINDING_VELOCITY,     /* to which time velocities belong; how they were made */
  CAROM_FINDING_CONTACTS,     /* how contacts were told, or that there is none */
  CAROM_FINDING_UNITS         /* free acceleration and distances beside those of the scene */
} carom_finding_kind;

typedef struct carom_finding {
  carom_finding_kind kind;
  bool warning; /* learning from the data as it is may go wrong */
  char text[256];
} carom_finding;

/* Training, validation and test chunks of one system and one time step. */
typedef struct carom_dataset {
  double dt;
  carom_dt_source dt_from;
  carom_chunks train, validation, test;
  carom_report report; /* of the simulations that made it; zeros for given trajectories */
  bool simulated; /* by carom, with this compensation of penetration, time of contacts and law */
  carom_compensation compensation;
  carom_contact_time contact_time;
  carom_friction_law friction;
  int finding_count;
  carom_finding *findings; /* about given trajectories */
} carom_dataset;

/* Velocities of given trajectories. The state (x_k, v_k) has both at one time. */
typedef enum carom_velocity {
  CAROM_VELOCITY_GIVEN, /* as they are; estimated where there are none */
  CAROM_VELOCITY_NEXT,  /* x_{k+1} = x_k + v_{k+1} dt: v_k is of the step that led to the state */
  CAROM_VELOCITY_PREVIOUS, /* x_{k+1} = x_k + v_k dt: v_k is of the step that follows */
  CAROM_VELOCITY_CENTRAL,  /* computed from positions: central differences */
  CAROM_VELOCITY_ESTIMATE, /* computed from positions: parabolas through five states */
  CAROM_VELOCITY_COUNT
} carom_velocity;

/* "given", "next", "previous", "central", "estimate"; "" beyond. */
CAROM_API const char *carom_velocity_name(carom_velocity velocity);

typedef struct carom_dataset_options {
  int train, validation, test; /* chunks: 800, 100, 100 */
  int chunk;                   /* states of a chunk: 5 */
  int steps;                   /* of the trajectories they are cut from: the scene's */
  double contact_share;        /* chunks that contain a contact, where there are enough: 0.5 */
  double noise;                /* deviation of Gaussian noise on the states: 0. Chains of pendulums
                                  take it on angles and rates */
  carom_velocity velocity; /* of given trajectories: CAROM_VELOCITY_GIVEN. All but given ones are
                                  put at the time of their state, on each side of an impact by itself,
                                  and on the constraints */
  bool project;            /* put given states on the constraints, however far off: false */
  uint64_t seed;           /* the three splits use streams of their own */
  int threads;
  carom_progress progress;
  void *progress_user;
} carom_dataset_options;

CAROM_API carom_dataset_options carom_dataset_default_options(const carom_system *system);

/* Simulates the scene with its own parameters and cuts one chunk from each trajectory; the first
 * state of a chunk has no active contact. `simulation` says how (NULL: the defaults); its steps,
 * threads and progress are those of `options`. A scene with one given state has one trajectory,
 * which is cut as by carom_dataset_from_trajectories. */
CAROM_API carom_status carom_dataset_generate(const carom_system *system,
                                              const carom_rollout_options *simulation,
                                              const carom_dataset_options *options,
                                              carom_dataset **dataset, carom_error *error);

/* Cuts chunks from given trajectories at their time step dt. Contacts that are not given are found: by
 * penetration, by jumps of velocity and by flights that would have gone through (docs/learning.md). A
 * state with a NaN is missing: the trajectory is cut there, so that NaN may also fill what is shorter
 * than state_count. Trajectories are split at random, in the proportions of the options; with fewer
 * trajectories than splits each is cut along time. Chunks do not overlap; where the data has no more
 * there are fewer than the options want. States must hold the constraints to a tenth (relative; long
 * simulations drift by hundredths) unless they are projected. What was found out is in the data set. */
CAROM_API carom_status carom_dataset_from_trajectories(const carom_system *system,
                                                       const carom_trajectories *trajectories,
                                                       const carom_dataset_options *options,
                                                       carom_dataset **dataset, carom_error *error);
CAROM_API void carom_dataset_destroy(carom_dataset *dataset);

typedef enum carom_split {
  CAROM_TRAIN,
  CAROM_VALIDATION,
  CAROM_TEST,
  CAROM_SPLIT_COUNT
} carom_split;

/* Chunks of a split, and its name in files: "train", "val", "test". */
CAROM_API const carom_chunks *carom_dataset_split(const carom_dataset *dataset, carom_split split);
CAROM_API const char *carom_split_name(carom_split split);

/* Files with the groups /train, /val and /test, each with x, v, t and contact. Reading checks
 * shapes, finite numbers and constraints. A trajectory file will do too: it is cut as `options` say
 * (NULL: the defaults), at the time step of its attribute dt, else of its times, else the scene's. */
CAROM_API carom_status carom_dataset_read(const carom_system *system, const char *path,
                                          const carom_dataset_options *options,
                                          carom_dataset **dataset, carom_error *error);
CAROM_API carom_status carom_dataset_write(const carom_dataset *dataset, const carom_system *system,
                                           const char *path, carom_error *error);
/* Whether a file holds a data set, whose chunks are cut already, and no trajectories. */
CAROM_API carom_status carom_dataset_is_cut(const char *path, bool *is_cut, carom_error *error);

/* How often a possible contact occurs in chunks, their first states left out. */
typedef struct carom_contact_count {
  int64_t states; /* in which it is active */
  int64_t chunks; /* that have such a state */
} carom_contact_count;

/* counts is [contact_count of the system]. */
CAROM_API carom_status carom_chunks_count_contacts(const carom_chunks *chunks,
                                                   const carom_system *system,
                                                   carom_contact_count *counts, carom_error *error);
/* Chunks whose flags tell of a contact behind their first state. */
CAROM_API int carom_chunks_with_contact(const carom_chunks *chunks);

#ifdef __cplusplus
}
#endif
#endif
