/* Systems: scenes, built in or from a file, what they are made of, their initial states. */
#ifndef CAROM_PUBLIC_SYSTEM_H
#define CAROM_PUBLIC_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct carom_system carom_system;

/* Loads a built-in scene by its name ("cp3") or any scene file by its path. */
CAROM_API carom_status carom_system_load(const char *name_or_path, carom_system **system,
                                         carom_error *error);

/* Makes a system from scene text; `origin` names the text in messages and may be NULL. */
CAROM_API carom_status carom_system_parse(const char *json, size_t length, const char *origin,
                                          carom_system **system, carom_error *error);

CAROM_API void carom_system_destroy(carom_system *system);

/* The built-in scenes: names for index 0 .. carom_scene_count() - 1, and their JSON text. */
CAROM_API int carom_scene_count(void);
CAROM_API const char *carom_scene_name(int index);
CAROM_API const char *carom_scene_text(int index);

typedef struct carom_system_info {
  const char *name;        /* owned by the system */
  const char *description; /* owned by the system; "" if the scene has none */
  const char *json;        /* the scene text it was made from, owned by the system */
  int dimension;           /* 2 or 3 */
  int body_count;
  int point_count; /* points of all bodies: 1 for a point mass, dimension + 1 for a rigid body */
  int constraint_count; /* scalar equality constraints E, those inside rigid bodies included */
  int contact_count;    /* possible contacts: the length of friction and restitution */
  int spring_count;
  int control_count;      /* forces and torques that a rollout may be given */
  int control_size;       /* numbers of all of them at one time step */
  double dt;              /* default time step */
  int steps;              /* default number of time steps */
  bool shared_properties; /* the scene gives one friction and one restitution for all contacts */
  bool conservative;      /* every friction is 0 and every restitution 1 */
} carom_system_info;

CAROM_API carom_system_info carom_system_describe(const carom_system *system);
CAROM_API const char *carom_system_body_id(const carom_system *system, int body);
/* Whether a body can turn: a rigid body, not a point mass. */
CAROM_API bool carom_system_body_is_rigid(const carom_system *system, int body);

typedef enum carom_control_kind {
  CAROM_CONTROL_FORCE, /* at a point of a body, in coordinates of the world */
  CAROM_CONTROL_TORQUE /* on a rigid body, about axes of the world; one number in the plane */
} carom_control_kind;

/* One of a scene's controls: its numbers stand at [first, first + size) of the control_size numbers
 * of a time step (carom_rollout_set_controls). */
typedef struct carom_control_info {
  const char *id; /* owned by the system; "controls[2]" where the scene gives none */
  carom_control_kind kind;
  int body;
  int first, size;
} carom_control_info;

/* Control 0 .. control_count - 1; of another index: body -1, no numbers. */
CAROM_API carom_control_info carom_system_control(const carom_system *system, int control);

/* Writes a readable name of a possible contact ("a-b", "a|ground", "rope bend 3") into `buffer`. */
CAROM_API void carom_system_contact_label(const carom_system *system, int contact, char *buffer,
                                          size_t size);

/* Draws `count` initial states with the scene's sampler, rejecting states with an active contact.
 * Sample k depends on (seed, k) only. x0 and v0 are [count][point_count][dimension]. */
CAROM_API carom_status carom_system_sample(const carom_system *system, uint64_t seed, int count,
                                           double *x0, double *v0, carom_error *error);

/* Checks `count` states: finite, and equality constraints held to `tolerance` (positions relative
 * to the constraint's length, velocities relative to the speed). The message names the first one
 * that is not. */
CAROM_API carom_status carom_system_check_states(const carom_system *system, int count,
                                                 const double *x, const double *v, double tolerance,
                                                 carom_error *error);

/* States to begin with, one for each sample. */
typedef struct carom_states {
  int batch;
  int point_count;
  int dimension;
  double *x, *v; /* [batch][point_count][dimension] */
} carom_states;

/* Files with /x and /v [batch][point_count][dimension]. Of a trajectory file the first states are
 * taken. Reading checks shapes and finite numbers; carom_system_check_states says whether the
 * constraints hold. */
CAROM_API carom_status carom_states_read(const carom_system *system, const char *path,
                                         carom_states *states, carom_error *error);
CAROM_API carom_status carom_states_write(const carom_states *states, const carom_system *system,
                                          const char *path, carom_error *error);
CAROM_API void carom_states_free(carom_states *states);

#ifdef __cplusplus
}
#endif
#endif
