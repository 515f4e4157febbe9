/* The parameters of a system: masses, moments, friction, restitution, ... as one vector theta. */
#ifndef CAROM_PUBLIC_PARAMETERS_H
#define CAROM_PUBLIC_PARAMETERS_H

#include "system.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One flat vector of parameters, theta, in named segments. */
typedef enum carom_segment {
  CAROM_LOG_MASS,    /* [body_count] natural logarithm of the mass */
  CAROM_LOG_MOMENT,  /* [body_count][dimension] logarithm of the second moments per unit mass;
                          unused (0) for point masses */
  CAROM_FRICTION,    /* [contact_count] */
  CAROM_RESTITUTION, /* [contact_count] */
  CAROM_REGULARIZER, /* [1] epsilon of CMr */
  CAROM_GRAVITY,     /* [dimension] */
  CAROM_STIFFNESS,   /* [spring_count] */
  CAROM_RADIUS, /* [body_count] of balls, and of what the points of a shape are rounded by; unused
                          (0) for all others */
  CAROM_OFFSET, /* [plane_count] of planes */
  CAROM_CORNER, /* [corner_count][dimension] body coordinates of the points of shapes `points` and
                          `box`, body after body */
  CAROM_DRAG,   /* [body_count] force on the centre by its velocity */
  CAROM_ANGULAR_DRAG, /* [body_count] torque by the angular velocity; unused (0) for point masses */
  CAROM_SEGMENT_COUNT
} carom_segment;

typedef struct carom_segment_info {
  const char *name; /* "log_mass", "log_moment", "friction", ... */
  int offset;       /* of the first entry in theta */
  int size;
} carom_segment_info;

CAROM_API int carom_parameters_count(const carom_system *system);
CAROM_API carom_segment_info carom_parameters_segment(const carom_system *system,
                                                      carom_segment segment);

/* Fills theta with the scene's values. */
CAROM_API void carom_parameters_default(const carom_system *system, double *theta);

/* Finite, friction >= 0, restitution in [0, 1], regularizer >= 0. Negative drags and radii are taken: a difference
 * about 0 needs them. */
CAROM_API carom_status carom_parameters_check(const carom_system *system, const double *theta,
                                              carom_error *error);

/* Files with any of /mass [body_count], /moment [body_count][dimension], /friction, /restitution
 * [contact_count], /regularizer [1], /gravity [dimension], /stiffness [spring_count], /radius
 * [body_count], /offset [plane_count], /corner [corner_count][dimension], /drag, /angular_drag
 * [body_count]; masses and moments as they are, not as logarithms. Reading overwrites in theta what the file has, nothing on
 * failure; writing writes all of them. */
CAROM_API carom_status carom_parameters_read(const carom_system *system, const char *path,
                                             double *theta, carom_error *error);
CAROM_API carom_status carom_parameters_write(const carom_system *system, const double *theta,
                                              const char *path, carom_error *error);

/* The mass of a body by that of the first one: motion alone tells no more of masses. */
CAROM_API double carom_parameters_mass_ratio(const carom_system *system, const double *theta,
                                             int body);
/* The sum of the second moments per unit mass of a rigid body: in the plane motion depends on this
 * alone. */
CAROM_API double carom_parameters_inertia(const carom_system *system, const double *theta,
                                          int body);

#ifdef __cplusplus
}
#endif
#endif
