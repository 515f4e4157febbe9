/* Plans: what is to be found (initial states, controls, parameters), what for (an objective over the
 * motion), and how; solved by gradient through the contacts. docs/planning.md has the format. */
#ifndef CAROM_PUBLIC_PLAN_H
#define CAROM_PUBLIC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"
#include "trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plan: its scene, unknowns, objective, and what its file says of simulation and optimiser. It belongs
 * to one thread at a time. */
typedef struct carom_plan carom_plan;

/* Loads a built-in plan by its name ("billiards") or any plan file by its path. The path of a scene in a
 * file is relative to the file. */
CAROM_API carom_status carom_plan_load(const char *name_or_path, carom_plan **plan,
                                       carom_error *error);

/* Makes a plan from text; `origin` names the text in messages, and its folder is where scene files are
 * looked for; may be NULL. */
CAROM_API carom_status carom_plan_parse(const char *json, size_t length, const char *origin,
                                        carom_plan **plan, carom_error *error);
CAROM_API void carom_plan_destroy(carom_plan *plan);

/* The built-in plans: names for index 0 .. carom_plan_count() - 1, and their JSON text. */
CAROM_API int carom_plan_count(void);
CAROM_API const char *carom_plan_name(int index);
CAROM_API const char *carom_plan_text(int index);

typedef enum carom_optimizer {
  CAROM_GRADIENT_DESCENT, /* z - rate * gradient; of controls the gradient is by function, not by
                             number: it does not depend on how many time steps there are */
  CAROM_ADAMW,
  CAROM_LBFGS /* with a line search: every iteration lowers the loss */
} carom_optimizer;

typedef struct carom_plan_options {
  carom_optimizer optimizer; /* CAROM_LBFGS */
  int iterations;            /* at most; 200 */
  double learning_rate;      /* 0.1; of L-BFGS the length of the first step */
  carom_schedule schedule;   /* CAROM_CONSTANT; of gradient descent and AdamW */
  double final_rate;         /* 0: last rate of a cosine, times the learning rate */
  double beta1, beta2;       /* 0.9, 0.999 */
  double epsilon;            /* 1e-8 */
  double weight_decay;       /* 0 */
  int memory;                /* 10: pairs that L-BFGS keeps */
  double goal;               /* 0: none. It ends at a loss below this, which is success */
  double gradient_tolerance; /* 0: never. It ends where the norm of the gradient is below this */
  int starts;                /* 1: the plan's own; the others are drawn as the plan says */
  uint64_t seed;             /* 0: of these */
  int threads;               /* 0: all; starts are tried at once. The result is the same */
} carom_plan_options;

CAROM_API carom_plan_options carom_plan_default_options(void);

typedef struct carom_plan_info {
  const char *name;        /* owned by the plan */
  const char *description; /* owned by the plan; "" if it has none */
  const char *json;        /* the text it was made from, owned by the plan */
  const carom_system *system;
  int unknown_count; /* numbers that are to be found */
  int term_count;    /* of the objective */
  carom_rollout_options rollout;
  carom_plan_options options; /* the file's, else the defaults */
} carom_plan_info;

CAROM_API carom_plan_info carom_plan_describe(const carom_plan *plan);

/* One of the numbers that are to be found. */
typedef struct carom_unknown {
  char name[128]; /* "cue velocity x", "push x, step 3", "friction a|ground"; "" of another index */
  int entry;      /* of the plan's "unknowns" that it belongs to */
  double start;   /* where it begins */
  double low, high; /* bounds; -INFINITY, INFINITY: none */
} carom_unknown;

CAROM_API carom_unknown carom_plan_unknown(const carom_plan *plan, int index);

/* Writes what a term of the objective is ("squared position of ball-10 at the end") into `buffer`. */
CAROM_API void carom_plan_term_label(const carom_plan *plan, int term, char *buffer, size_t size);

/* Other options of the simulation than the plan's; moments of the objective beyond the end are an error,
 * and leave the plan as it was. */
CAROM_API carom_status carom_plan_set_rollout(carom_plan *plan,
                                              const carom_rollout_options *options,
                                              carom_error *error);

/* Plans with what a model of the same system has learned (masses, potential, friction, restitution) in
 * place of the scene's own; NULL: the scene's. The model must outlive its use. Masses are learned up to a
 * common factor, so plans with controls are refused. */
CAROM_API carom_status carom_plan_set_model(carom_plan *plan, carom_model *model,
                                            carom_error *error);

/* The objective at `unknowns` [unknown_count], its gradient [unknown_count], its weighted terms
 * [term_count], and how many of these ask for a contact or an apex that did not happen, and took the last
 * state in its place. Each of the four may be NULL. Bodies that overlap at the start are
 * CAROM_INVALID_DATA. */
CAROM_API carom_status carom_plan_loss(carom_plan *plan, const double *unknowns, double *loss,
                                       double *gradient, double *terms, int *missing,
                                       carom_error *error);

/* The motion of `unknowns`: x, v [steps + 1][point_count][dimension], contacts [steps + 1], u
 * [steps][control_size]; each may be NULL. */
CAROM_API carom_status carom_plan_motion(carom_plan *plan, const double *unknowns, double *x,
                                         double *v, uint8_t *contacts, double *u,
                                         carom_error *error);

/* An iteration that is over, of one of the starts. */
typedef struct carom_plan_progress {
  int start, iteration;
  int64_t done, total; /* iterations of all starts */
  double loss;         /* of this start, */
  double best;         /* and the lowest of all so far */
} carom_plan_progress;

/* Called from one thread at a time; return false to end with what has been found so far. */
typedef bool (*carom_plan_callback)(void *user, const carom_plan_progress *progress);

typedef enum carom_plan_stop {
  CAROM_PLAN_ITERATIONS, /* all were used */
  CAROM_PLAN_GOAL,       /* the loss is below the goal */
  CAROM_PLAN_GRADIENT,   /* the gradient is below its tolerance */
  CAROM_PLAN_NO_DESCENT, /* no step along the gradient lowers the loss, or leads to a possible start */
  CAROM_PLAN_INTERRUPTED /* by the callback */
} carom_plan_stop;

/* In words: "goal reached", "all iterations used". */
CAROM_API const char *carom_plan_stop_text(carom_plan_stop stop);

/* What became of one start. */
typedef struct carom_plan_start {
  double first_loss, loss; /* at the start, and the lowest */
  int iterations;
  int evaluations; /* of objective and gradient */
  int missing;     /* contacts and apexes of the objective that did not happen in the best motion */
  carom_plan_stop stop;
} carom_plan_start;

typedef struct carom_plan_result {
  int unknown_count, term_count, start_count;
  carom_plan_start *starts; /* [start_count] */
  double *start_unknowns;   /* [start_count][unknown_count] where each began, */
  double *end_unknowns;     /* and its best */
  int best;                 /* the best of them; what follows is of that one */

  int iterations;
  double *losses;         /* [iterations + 1] */
  double *gradient_norms; /* [iterations + 1] */
  double *rates;    /* [iterations + 1] learning rate or step length that led there; 0 first */
  double *history;  /* [iterations + 1][unknown_count] */
  double *unknowns; /* [unknown_count] the best */
  double *gradient; /* [unknown_count] there */
  double *terms;    /* [term_count] there */
  double loss;
  bool success; /* the loss is below the goal, and nothing is missing */

  bool judged; /* planned with learned properties: the same with the scene's own */
  double true_loss;
  double *true_terms; /* [term_count] */
  int true_missing;
  bool true_success;

  int motions; /* 2: before, after; 3 where judged: after, with the scene's own properties */
  int steps;
  double dt;
  double *x, *v;     /* [motions][steps + 1][point_count][dimension] */
  uint8_t *contacts; /* [motions][steps + 1] */
  double *u;         /* [motions][steps][control_size]; NULL: the system has no controls */

  double seconds;                          /* of it all */
  double forward_seconds, reverse_seconds; /* of the processor for one evaluation, in the
                                              mean */
  carom_report report;                     /* of the best motion */
} carom_plan_result;

/* Solves. options may be NULL for the plan's, callback may be NULL. Unknowns of which the objective does
 * not depend at any start are an error that names them. */
CAROM_API carom_status carom_plan_solve(carom_plan *plan, const carom_plan_options *options,
                                        carom_plan_callback callback, void *user,
                                        carom_plan_result **result, carom_error *error);
CAROM_API void carom_plan_result_destroy(carom_plan_result *result);

/* A file with all of it, which is a trajectory file too: before, after (, after with true properties). */
CAROM_API carom_status carom_plan_result_write(const carom_plan_result *result,
                                               const carom_plan *plan, const char *path,
                                               carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
