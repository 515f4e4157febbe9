/* Inside view of a plan.
 *
 *   z --unknowns--> x0, v0, theta, u --rollout--> motion --moments--> states --terms--> loss
 *
 * Each arrow has its derivative beside it: unknowns.c, moment.c, term.c; attempt.c joins them. A plan is
 * constant while it is solved, all that changes is in an `attempt`, of which each thread has one. */
#ifndef CAROM_PLAN_PLAN_H
#define CAROM_PLAN_PLAN_H

#include "system/system.h"

/* What can be asked of a body at a state. */
typedef enum plan_quantity {
  QUANTITY_POSITION,
  QUANTITY_VELOCITY,
  QUANTITY_ANGLE, /* from the first axis of the world; as an unknown in space: axis times angle */
  QUANTITY_RATE
} plan_quantity;
extern const char *const quantity_names[]; /* ends with NULL */
extern const char *const axis_names[];     /* "x", "y", "z", NULL */

/* Numbers of a quantity; of an angle or rate in the plane 1. */
int quantity_size(const carom_system *system, plan_quantity quantity);

typedef enum unknown_kind { UNKNOWN_STATE, UNKNOWN_CONTROL, UNKNOWN_PARAMETER } unknown_kind;

/* One entry of the plan's list: `count` numbers of z from `first` on. */
typedef struct unknown {
  unknown_kind kind;
  int first, count;
  int line; /* of the file, for messages */
  int size; /* numbers that the file says something of: those of one piece of a control */
  double start[MAX_DIMENSION], low[MAX_DIMENSION], high[MAX_DIMENSION];
  double draw_low[MAX_DIMENSION], draw_high[MAX_DIMENSION]; /* NaN: not said */

  /* UNKNOWN_STATE: of a body; axes[i] belongs to number first + i */
  int body;
  plan_quantity quantity;
  int axes[MAX_DIMENSION];

  /* UNKNOWN_CONTROL: [pieces][size], each piece constant over as many time steps as the others, to one */
  int control, pieces;
  int given_pieces; /* 0: one for each time step */

  /* UNKNOWN_PARAMETER: one number for all of these entries of theta; gravity: one number for each */
  carom_segment segment;
  bool each;      /* one number for each entry */
  bool logarithm; /* theta has the logarithm */
  int entry_count;
  int *entries;

  char *label; /* "cue velocity" */
} unknown;

/* When a term looks. */
typedef enum moment_kind { MOMENT_STEP, MOMENT_END, MOMENT_CONTACT, MOMENT_APEX } moment_kind;

typedef struct moment {
  moment_kind kind;
  bool by_time; /* MOMENT_STEP: `time` is given, and has to be a time step */
  double time;
  int step;
  int number;     /* the n-th contact; MOMENT_APEX: the next apex after it, 0: after the start */
  bool *contacts; /* [contact_count] which contacts count; NULL: all */
  bool after;     /* MOMENT_CONTACT: velocities just after it */
  int body;       /* MOMENT_APEX: whose */
  int line;
  char *label; /* "before contact 2 with bottom" */
} moment;

typedef enum term_kind { TERM_VALUE, TERM_EFFORT, TERM_CLEARANCE } term_kind;
typedef enum term_norm { NORM_SQUARED, NORM_ABSOLUTE, NORM_EUCLIDEAN } term_norm;
typedef enum obstacle_kind { OBSTACLE_BODY, OBSTACLE_PLANE, OBSTACLE_POINT } obstacle_kind;

typedef struct term {
  term_kind kind;
  double weight;
  char *label;

  /* TERM_VALUE: norm of the chosen axes of q(body, at) - target, or - q(other_body, other_at) */
  int body;
  plan_quantity quantity;
  int axis_count, axes[MAX_DIMENSION];
  term_norm norm;
  moment at;
  bool relative;
  int other_body;
  moment other_at;
  double target[MAX_DIMENSION]; /* in the order of axes */

  /* TERM_EFFORT: the integral of |u|^2 of controls [first, first + size) */
  int control_first, control_size;

  /* TERM_CLEARANCE: the integral of max(0, distance - gap(body, obstacle))^2 */
  obstacle_kind obstacle;
  int other; /* body or plane */
  double point[MAX_DIMENSION];
  double distance;
} term;

struct carom_plan {
  char *name, *description, *json, *origin;
  carom_system *system;
  carom_rollout_options rollout;
  carom_plan_options options;
  carom_model *model; /* NULL: the scene's own properties */

  double *x0, *v0; /* [D] the state that unknowns change */
  double *theta;   /* [parameters] the scene's */

  int entry_count;
  unknown *entries;
  int unknown_count;
  double *start, *low, *high;   /* [unknown_count] */
  double *draw_low, *draw_high; /* [unknown_count] where further starts are drawn; NaN: not said */
  double
      *measure; /* [unknown_count] weight of a number in the inner product: the time of a piece of
                      control, else 1 */

  int term_count;
  term *terms;

  struct attempt *own; /* of carom_plan_loss; made when it is needed */
  arena memory;        /* owns everything above but system, model and `own` */
};

/* Takes options of the simulation: places moments, and lays z out anew. Moments beyond the end are an
 * error and leave the plan as it was. May leave an arena's guard. */
carom_status plan_take_rollout(carom_plan *plan, const carom_rollout_options *options,
                               carom_error *error);

/* "cue velocity x" of a number of z. */
void plan_unknown_name(const carom_plan *plan, int index, char *buffer, size_t size);

#endif
