/* Models: what is learned of a system, its loss with gradient, its predictions. */
#ifndef CAROM_PUBLIC_MODEL_H
#define CAROM_PUBLIC_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model of a system whose masses, moments, potential, friction and restitution are unknown: the
 * equations of motion and the contact model with a network for the potential. */
typedef struct carom_model carom_model;

/* Networks in the place of the contact model, the paper's baselines. They are trained on pairs of
 * consecutive states: each state of a chunk is predicted from the one before it. */
typedef enum carom_baseline {
  CAROM_BASELINE_NONE,
  CAROM_BASELINE_MLP_CLNN, /* mlp-cd-clnn: a perceptron changes velocities where contacts are active */
  CAROM_BASELINE_IN_CLNN, /* in-cp-clnn: an interaction network changes them after every step, from
                              the learned masses and the scene's friction and restitution */
  CAROM_BASELINE_IN,      /* in-cp-sp: an interaction network is the whole motion, from the scene's
                              masses, forces, friction and restitution */
  CAROM_BASELINE_COUNT
} carom_baseline;

/* The friction law of a model's contacts. */
typedef enum carom_model_law {
  CAROM_LAW_OF_SCENE,
  CAROM_LAW_CONVEX, /* CAROM_CONVEX_FRICTION */
  CAROM_LAW_COULOMB /* CAROM_COULOMB_FRICTION */
} carom_model_law;

typedef struct carom_model_options {
  carom_baseline baseline;         /* CAROM_BASELINE_NONE: a contact model */
  carom_contact_model contact;     /* CAROM_CM */
  carom_dynamics dynamics;         /* CAROM_LAGRANGIAN (CLNN) or CAROM_HAMILTONIAN (CHNN) */
  carom_compensation compensation; /* the scene's: that of the data */
  carom_contact_time contact_time; /* likewise */
  carom_integrator integrator;     /* CAROM_RK4_SECANT, half the evaluations of CAROM_RK4 */
  carom_model_law law;             /* CAROM_LAW_OF_SCENE */
  int hidden_layers;               /* of the potential network: 3 */
  int hidden_size;                 /* 256 */
  int baseline_size;      /* width of a baseline's network: 0, the paper's (256, 150, 300) */
  bool shared_properties; /* one friction and restitution for all contacts: as the scene */
  double regularizer;     /* epsilon of CMr: 0, the scene's */
  bool learn_regularizer; /* false: epsilon of CMr stays as it is */
  bool
      elastic_term; /* true: beside the network, the potential has a quadratic of the strain of each
                        segment whose length the scene bounds; the paper has none */
  bool single_precision;   /* true: arithmetic of the network. Physics is always double */
  double dt;               /* of the data: the scene's */
  int threads;             /* 0: all */
  double initial_friction; /* frictions start uniform between 0 and this: 0.2. The paper has 1,
                                   from where contacts that stick give no way back */
  double length_scale;     /* 0, 0: loss and potential take coordinates and velocities as they are,
                              as the paper does. A length and a speed of the data: they take
                              x / length_scale and v / speed_scale, tips of body axes at a length of
                              the body; the same data in other units then gives the same numbers */
  double speed_scale;
  uint64_t seed;           /* of the initial parameters */
  carom_progress progress; /* NULL; called while carom_model_create makes a large network. Return
                              false to stop: CAROM_INTERRUPTED */
  void *progress_user;
} carom_model_options;

CAROM_API carom_model_options carom_model_default_options(const carom_system *system);

/* The friction law of a model of the system with these options. */
CAROM_API carom_friction_law carom_model_friction_law(const carom_model_options *options,
                                                      const carom_system *system);

/* Sets dt and the scales by the training chunks: the root mean square of the coordinates of all
 * centres of bodies about their common mean, and of their velocities. */
CAROM_API carom_status carom_model_options_by_data(carom_model_options *options,
                                                   const carom_system *system,
                                                   const carom_dataset *dataset,
                                                   carom_error *error);

/* "cm-cd-clnn", "cm-cd-chnn", "cmr-cd-clnn", "cmr-cd-chnn", "mlp-cd-clnn", "in-cp-clnn", "in-cp-sp",
 * "lcp-cd-clnn", "lcp-cd-chnn". */
CAROM_API int carom_model_name_count(void);
CAROM_API const char *carom_model_name(int index);
/* Sets baseline, contact and dynamics of `options` by name, and tells the name of those that are set. */
CAROM_API carom_status carom_model_options_by_name(carom_model_options *options, const char *name,
                                                   carom_error *error);
CAROM_API const char *carom_model_options_name(const carom_model_options *options);

/* Whether there can be a model with these options: values in range, memory for its parameters. */
CAROM_API carom_status carom_model_options_check(const carom_model_options *options,
                                                 const carom_system *system, carom_error *error);

/* The system must outlive the model. */
CAROM_API carom_status carom_model_create(const carom_system *system,
                                          const carom_model_options *options, carom_model **model,
                                          carom_error *error);
CAROM_API void carom_model_destroy(carom_model *model);

typedef struct carom_model_info {
  const carom_system *system;
  carom_model_options options;
  int parameter_count; /* learnable numbers */
  int array_count;     /* arrays that they stand in */
} carom_model_info;

CAROM_API carom_model_info carom_model_describe(const carom_model *model);

/* Threads of predictions from here on; 0: all. The result is the same. */
CAROM_API void carom_model_set_threads(carom_model *model, int threads);

/* The learnable parameters as one vector, owned by the model and open to change. Segments in order:
 * mass, moment (logarithms), friction (before relu), restitution (before the hard sigmoid),
 * regularizer (before softplus, if learned), then weight and bias of each layer. Of the baselines
 * mlp-cd-clnn and in-cp-clnn learn masses and potential, no friction and restitution, in-cp-sp none of
 * these; arrays of their own networks follow: contact_weight0, or relation_weight0, object_weight0, ... */
CAROM_API double *carom_model_parameters(carom_model *model);

typedef struct carom_array_info {
  char name[24];             /* "mass", "friction", "weight0", "bias0", ... */
  int offset, rows, columns; /* size = rows * columns, row-major; a weight is [out][in] */
} carom_array_info;

CAROM_API carom_array_info carom_model_array(const carom_model *model, int index);

/* What the parameters stand for, as engine parameters theta (masses, moments, friction,
 * restitution, regularizer; gravity and stiffness as in the scene, unused). */
CAROM_API void carom_model_theta(const carom_model *model, double *theta);

/* What a model learns about bodies and contacts, as named numbers:
 *   friction, restitution               one for all contacts, or
 *   friction/LABEL, restitution/LABEL   one for each possible contact ("friction/a|ground")
 *   mass_ratio/BODY                     mass by that of the first body, for the others
 *   moment/BODY/AXIS                    second moments per unit mass of rigid bodies
 *   regularizer                         epsilon of CMr, if it is learned */
typedef struct carom_property {
  char name[96];
  int entry;      /* of theta */
  int reference;  /* entry that it is divided by, or -1 */
  bool logarithm; /* theta has the logarithm */
} carom_property;

typedef struct carom_properties {
  int count;
  carom_property *items;
} carom_properties;

CAROM_API carom_status carom_model_properties(const carom_model *model,
                                              carom_properties *properties, carom_error *error);
CAROM_API void carom_properties_free(carom_properties *properties);
/* Its value at engine parameters theta: those of carom_model_theta, or the scene's. */
CAROM_API double carom_property_value(const carom_property *property, const double *theta);

/* Loss mean |predicted - true| over all entries of (x, v), in the model's scales, of `count` chunks,
 * each predicted from its first state, and its gradient [parameter_count] (NULL: the loss alone).
 * `indices` picks chunks (NULL: the first `count`). loss and report may be NULL. Of a baseline `count`
 * and `indices` are of pairs of consecutive states: pair k of chunk c is c (states - 1) + k. */
CAROM_API carom_status carom_model_loss(carom_model *model, const carom_chunks *chunks, int count,
                                        const int *indices, double *loss, double *gradient,
                                        carom_report *report, carom_error *error);

/* Predicted trajectories [batch][steps + 1][point_count][dimension]. contacts, report may be NULL. */
CAROM_API carom_status carom_model_predict(carom_model *model, int batch, int steps,
                                           const double *x0, const double *v0, double *x, double *v,
                                           uint8_t *contacts, carom_report *report,
                                           carom_error *error);

/* The force of the learned potential, minus its gradient, at x: both [count][point_count][dimension].
 * Up to the common scale of potential and masses; across constraints it is arbitrary. in-cp-sp learns no
 * potential: CAROM_INVALID_ARGUMENT. */
CAROM_API carom_status carom_model_force(carom_model *model, int count, const double *x,
                                         double *force, carom_error *error);

/* The learned potential at x [count][point_count][dimension]. */
CAROM_API carom_status carom_model_potential(carom_model *model, int count, const double *x,
                                             double *value, carom_error *error);

/* Saves and loads a model with its options. */
CAROM_API carom_status carom_model_save(const carom_model *model, const char *path,
                                        carom_error *error);
CAROM_API carom_status carom_model_load(const carom_system *system, const char *path,
                                        carom_model **model, carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
