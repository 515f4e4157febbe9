/* What a system is, after the scene file has been read: constant data that threads share.
 *
 * Every geometric thing that hangs on bodies (an end of a link, a joint, a spring) is a
 * `combination`: a point whose position is linear in the state, sum_k weight_k x_{point_k} +
 * constant. With it a rigid link, a tether to the world, the distances that hold a rigid body
 * together and a ball joint are two kinds of constraint, not six. */
#ifndef CAROM_SYSTEM_SYSTEM_H
#define CAROM_SYSTEM_SYSTEM_H

#include "base/arena.h"
#include "base/envelope.h"
#include "carom.h"

enum {
  MAX_DIMENSION = 3,
  MAX_BODY_POINTS = 4,        /* dimension + 1 */
  MAX_COMBINATION_POINTS = 8, /* two rigid bodies */
  MAX_CONTACT_POINTS = 12,    /* a bend of three rigid bodies */

  /* what a scene may ask for at most */
  MAX_POINTS = 100000,
  MAX_TIES = 300000,      /* joints; springs; limits; controls: each, those of chains not counted */
  MAX_CONTACTS = 4000000, /* possible contacts: pairs of 2800 bodies */
  MAX_SHAPE_POINTS = 1000000 /* of rims and point sets, all together */
};

/* Difference or position that is linear in the state; its value is a vector of `dimension`. */
typedef struct combination {
  int count;
  int point[MAX_COMBINATION_POINTS];
  double weight[MAX_COMBINATION_POINTS];
  double constant[MAX_DIMENSION];
} combination;

typedef enum shape_kind {
  SHAPE_NONE,  /* touches nothing */
  SHAPE_BALL,  /* circle or sphere about the centre of mass */
  SHAPE_RIM,   /* a circle of points in the plane of the first two body axes; 3D rigid only. Its
                   lowest point is the contact point */
  SHAPE_POINTS /* body-fixed points, each a contact of its own; rigid only */
} shape_kind;

typedef struct body {
  char *id;
  bool rigid; /* an extended body of dimension + 1 points; else a point mass */
  int first_point;
  int point_count; /* 1 or dimension + 1 */
  double mass;
  double moment[MAX_DIMENSION]; /* second moments per unit mass */
  shape_kind shape;
  double radius;   /* SHAPE_BALL, SHAPE_RIM */
  double rounding; /* SHAPE_POINTS: of the balls that its points are the centres of; 0: points */
  double drag, angular_drag; /* force by velocity of the centre, torque by angular velocity */
  int first_corner;          /* SHAPE_POINTS: of its points among those of all bodies */
  int shape_point_count;     /* SHAPE_RIM, SHAPE_POINTS */
  double *shape_points;      /* [shape_point_count][dimension] body coordinates */
} body;

/* normal . x + offset >= 0, |normal| = 1 */
typedef struct plane {
  char *id;
  double normal[MAX_DIMENSION];
  double offset;
} plane;

typedef enum constraint_kind {
  CONSTRAINT_DISTANCE, /* |c(x)|^2 - length^2 = 0, one row */
  CONSTRAINT_COINCIDE  /* c(x) = 0, `dimension` rows */
} constraint_kind;

typedef struct constraint {
  constraint_kind kind;
  combination arm;
  double length; /* CONSTRAINT_DISTANCE; > 0 */
  int first_row;
  int row_count;
  int assembly;
  int internal_of; /* the rigid body that this holds together, or -1 */
  int joint;       /* place among the scene's joints; -1 inside bodies and chains */
  char *label;     /* for messages: "links[2]", "body 'disk'" */
} constraint;

/* V += stiffness * (|c(x)| - length)^2 */
typedef struct spring {
  combination arm;
  double stiffness;
  double length;
} spring;

typedef enum limit_kind {
  LIMIT_BEND,   /* |angle between two consecutive segments| <= high */
  LIMIT_STRETCH /* low <= |segment| <= high; either may be absent (low = 0, high = INFINITY) */
} limit_kind;

/* A one-sided contact without friction in truth (its friction is a parameter all the same). */
typedef struct limit {
  limit_kind kind;
  combination segment;      /* the segment; LIMIT_BEND: the one before the joint */
  combination next_segment; /* LIMIT_BEND: the segment after the joint */
  double low, high;
  int property; /* index of its friction and restitution; both sides share it */
  char *label;
} limit;

/* A force or torque that is given from outside, in coordinates of the world. */
typedef struct control {
  char *id;
  int body;
  carom_control_kind kind;
  combination point; /* CAROM_CONTROL_FORCE: where it acts */
  int first;         /* of its numbers among the control_size */
  int size;          /* numbers: dimension; a torque in the plane has 1 */
} control;

/* Bodies tied together by constraints, joints included: what an impulse on one of them moves. Rows
 * of the equality constraints of one assembly are contiguous, those of different assemblies are
 * not coupled. */
typedef struct assembly {
  int point_count;
  int *points; /* [point_count] ascending */
  int first_row;
  int row_count; /* 0 for a free point mass */
} assembly;

typedef enum sampler_kind {
  SAMPLER_STATE,  /* one given state */
  SAMPLER_BOX,    /* uniform positions, normal velocities; angle and rate of rigid bodies */
  SAMPLER_ANGLES, /* pendulum chains: absolute angle of each link from straight down */
  SAMPLER_EULER,  /* one rigid body on a ball joint: ZXZ Euler angles and their rates */
  SAMPLER_CHAIN   /* a rope: first angle, bends, rates */
} sampler_kind;

typedef struct sampler {
  sampler_kind kind;
  double *x, *v;                                  /* SAMPLER_STATE: [point_count][dimension] */
  double low[MAX_DIMENSION], high[MAX_DIMENSION]; /* SAMPLER_BOX */
  double speed;                     /* SAMPLER_BOX: deviation of each velocity component */
  double rate;                      /* SAMPLER_BOX, _ANGLES, _CHAIN: deviation of angular rates */
  double angle_low, angle_high;     /* SAMPLER_ANGLES, _EULER; _CHAIN: of the first segment */
  double bend;                      /* SAMPLER_CHAIN: |bend| below this */
  double rate_low[3], rate_high[3]; /* SAMPLER_EULER: uniform rates of phi, theta */
  double spin_scale, spin_mean;     /* SAMPLER_EULER: psi rate = +-scale * (normal + mean) */
  double anchor[MAX_DIMENSION];     /* where the chain hangs; SAMPLER_EULER: the joint */
  double joint[MAX_DIMENSION];      /* SAMPLER_EULER: body coordinates of the joint */
  int chain_count;                  /* SAMPLER_ANGLES, _CHAIN: bodies of the chain, in order */
  int *chain_bodies;
  double *chain_lengths; /* [chain_count] */
} sampler;

struct carom_system {
  char *name;
  char *description;
  char *json;
  int dimension;
  double dt;
  int steps;
  carom_integrator integrator;
  carom_compensation compensation;
  bool stabilize; /* states are put on the constraints after each time step */
  double gravity[MAX_DIMENSION];

  int body_count;
  body *bodies;
  int point_count;
  int coordinate_count; /* D = point_count * dimension */
  int *point_body;      /* [point_count] */

  int corner_count; /* points of all bodies with SHAPE_POINTS */

  int plane_count;
  plane *planes;

  int constraint_count; /* objects, not rows; sorted by assembly, then along chains */
  constraint *constraints;
  int row_count; /* scalar equations E */
  int assembly_count;
  assembly *assemblies;
  int *point_assembly;       /* [point_count] */
  int *point_in_assembly;    /* [point_count] place of the point in its assembly's list */
  envelope constraint_shape; /* of J_E M^-1 J_E' */

  int spring_count;
  spring *springs;
  int limit_count;
  limit *limits;
  int control_count;
  control *controls;
  int control_size; /* numbers of all controls at one time step */

  /* possible contacts: pairs, then body x plane, then limits (bends, then stretches) */
  bool pair_contacts;      /* balls touch each other */
  int pair_property_count; /* body_count * (body_count - 1) / 2 or 0 */
  int plane_property_first;
  int limit_property_first;
  int contact_count; /* = properties */
  bool shared_properties;
  double *friction;    /* [contact_count] */
  double *restitution; /* [contact_count] */
  double regularizer;  /* epsilon of CMr; 0.01 */
  carom_friction_law friction_law;
  bool hold_contacts; /* friction acts on positions too */
  carom_contact_time contact_time;

  sampler initial;

  carom_segment_info segments[CAROM_SEGMENT_COUNT];
  int parameter_count;

  arena memory; /* owns everything above */
};

/* Index of the properties of a pair i < j, or of a body and a plane. */
static inline int system_pair_property(const carom_system *s, int i, int j) {
  return j + s->body_count * i - (i + 1) * (i + 2) / 2;
}
static inline int system_plane_property(const carom_system *s, int body_index, int plane_index) {
  return s->plane_property_first + body_index * s->plane_count + plane_index;
}

/* value = sum_k weight_k x_{point_k} + constant (with_constant) of a combination. */
void combination_value(const combination *c, int dimension, const double *x, bool with_constant,
                       double *value);

/* A fixed point of the world. */
combination combination_world(int dimension, const double *position);

/* A point of a body with body coordinates `at` (not read for a point mass, which is the point). The
 * body's first_point must be set. */
combination combination_on_body(const body *b, int dimension, const double *at);

/* Adds a - b to each other: the combination of the difference of two ends. */
combination combination_difference(const combination *a, const combination *b);

/* The two ends of an arm, which is the second minus the first. What belongs to the body that its positive
 * weights are of is the second end; what is left, negated, the first: of another body, or a place of the
 * world. Two ends on one body cannot be told apart; no scene has a reason to have some. */
void system_arm_ends(const carom_system *system, const combination *arm, carom_place ends[2]);

/* By value, as scenes and command lines have them; ends with NULL. */
extern const char *const integrator_names[], *const compensation_names[], *const friction_names[];
extern const char *const contact_time_names[];

/* A scene becomes a system in three steps; each needs what the scene says about the things named:
 *  - bodies: numbers their points, so that combinations can be made;
 *  - planes, limits, pair_contacts: numbers the possible contacts and sorts the limits, so that
 *    friction and restitution can be filled;
 *  - everything but the sampler: adds the internal constraints of rigid bodies, makes assemblies,
 *    row order and shape of the constraint matrix, segments of theta. */
carom_status system_place_points(carom_system *system, carom_error *error);
carom_status system_index_contacts(carom_system *system, carom_error *error);
carom_status system_finish(carom_system *system, carom_error *error);

#endif
