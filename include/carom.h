/* carom: a differentiable simulator of rigid bodies with contacts.
 *
 * The whole public interface. Conventions:
 *  - A system has `point_count` points in `dimension` (2 or 3) coordinates. A state is a position
 *    and a velocity array, each [point_count][dimension], row-major, contiguous.
 *  - Batches come first: [batch][point_count][dimension]; trajectories are
 *    [batch][steps + 1][point_count][dimension], the initial state included.
 *  - Everything is double precision and in the units of the scene (SI in the built-in scenes).
 *  - Threads. A carom_system is constant after it is made: any number of threads may use it at once,
 *    and so may they a carom_dataset that nobody changes. A rollout, cone solver, model or trainer
 *    belongs to one thread at a time; different ones may be used at once, but a trainer uses its
 *    model. Calls start threads of their own where options.threads is not 1;
 *    while a model computes, BLAS is held to one thread and then gets back what it had.
 *  - Files: several threads may save and load at once, each its own objects; one lock of the process
 *    stands around the library's use of HDF5. Calls that the program makes to HDF5 itself are not
 *    under that lock: a program that does both makes them from one thread, or holds a lock of its
 *    own around these and the library's functions with a path. A file without carom's checksum is
 *    tried in a child process (fork) before it is read.
 *  - The library never prints, exits or aborts on input. Functions that can fail return a
 *    carom_status; the message (what, where, what to do) is in the caller's carom_error, which may
 *    be NULL. An *error* is a bad call or bad input. How well a contact problem was solved is not
 *    an error but a number in a carom_report. After CAROM_OUT_OF_MEMORY the objects of the call can
 *    be used again.
 *  - A pointer that may be NULL is said to be so; any other NULL is CAROM_INVALID_ARGUMENT, and
 *    what the function would have made is NULL. Functions without a status answer NULL with something
 *    harmless: 0, NULL, "", zeros; destroying NULL does nothing.
 *  - Derivatives are vector-Jacobian products: `foo_vjp` takes the cotangents (`*_bar`) of what
 *    `foo` computes and gives those of its inputs.
 *  - Names are carom_<object>_<verb>. The object comes first, the carom_error last. What _create,
 *    _load, _generate or _evaluate give as a pointer is given back by _destroy; the arrays of a
 *    struct that _read fills, by _free.
 *  - Files of arrays are HDF5 and carry the scene, the time step and the version. They are replaced
 *    as a whole or not at all: a reader never sees half of one.
 */
#ifndef CAROM_H
#define CAROM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAROM_VERSION_MAJOR 0
#define CAROM_VERSION_MINOR 1
#define CAROM_VERSION_PATCH 0
#define CAROM_VERSION "0.1.0"

/* As one number, to compare: a program runs with a library that keeps the interface of its header if
 * carom_version_number() / 100 == CAROM_VERSION_NUMBER / 100. */
#define CAROM_VERSION_NUMBER \
  (CAROM_VERSION_MAJOR * 10000 + CAROM_VERSION_MINOR * 100 + CAROM_VERSION_PATCH)

#if defined(__GNUC__)
#define CAROM_API __attribute__((visibility("default")))
#else
#define CAROM_API
#endif

/* ---- Errors ---------------------------------------------------------------------------------- */

typedef enum carom_status {
  CAROM_OK = 0,
  CAROM_INVALID_ARGUMENT, /* a call with a wrong size, NULL, or a value out of range */
  CAROM_INVALID_SCENE,    /* a scene that is not well-formed or not a possible system */
  CAROM_INVALID_DATA,     /* a data file of the wrong shape, with NaN, with a part missing */
  CAROM_FILE_ERROR,       /* a file that cannot be opened, read or written */
  CAROM_OUT_OF_MEMORY,
  CAROM_NUMERICAL_FAILURE, /* a state that became non-finite, a constraint matrix that is singular */
  CAROM_INTERRUPTED        /* the progress callback asked to stop */
} carom_status;

typedef struct carom_error {
  carom_status status;
  char message[1024];
} carom_error;

/* A status in a word or two: "invalid argument", "out of memory". */
CAROM_API const char *carom_status_text(carom_status status);

/* The one of `names` (ended by NULL) that `text` may be a misspelling of, or NULL: for "did you mean". */
CAROM_API const char *carom_name_nearest(const char *text, const char *const *names);

/* The version of the library that is linked, "major.minor.patch", and as CAROM_VERSION_NUMBER. */
CAROM_API const char *carom_version(void);
CAROM_API int carom_version_number(void);

/* ---- Systems --------------------------------------------------------------------------------- */

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
  double dt;              /* default time step */
  int steps;              /* default number of time steps */
  bool shared_properties; /* the scene gives one friction and one restitution for all contacts */
  bool conservative;      /* every friction is 0 and every restitution 1 */
} carom_system_info;

CAROM_API carom_system_info carom_system_describe(const carom_system *system);
CAROM_API const char *carom_system_body_id(const carom_system *system, int body);
/* Whether a body can turn: a rigid body, not a point mass. */
CAROM_API bool carom_system_body_is_rigid(const carom_system *system, int body);

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

/* ---- Parameters ------------------------------------------------------------------------------ */

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

/* Finite, friction >= 0, restitution in [0, 1], regularizer >= 0. */
CAROM_API carom_status carom_parameters_check(const carom_system *system, const double *theta,
                                              carom_error *error);

/* Files with any of /mass [body_count], /moment [body_count][dimension], /friction, /restitution
 * [contact_count], /regularizer [1], /gravity [dimension], /stiffness [spring_count]; masses and
 * moments as they are, not as logarithms. Reading overwrites in theta what the file has, nothing on
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

/* ---- The cone program ------------------------------------------------------------------------ */

/* minimise 1/2 f'Af + b'f  subject to  |f_t,i| <= mu_i f_n,i  and  f_n,i >= lower_i
 * for every contact i. f_i has `dimension` entries, the normal first. A is symmetric positive
 * semidefinite. Where A is singular and f is not unique, f is the minimiser of least norm (the
 * limit of A + epsilon I for epsilon -> 0). */
typedef struct carom_cone_program {
  int contact_count;   /* >= 0 */
  int dimension;       /* 1, 2 or 3 */
  const double *A;     /* [C][C], C = contact_count * dimension; only the lower triangle is read */
  const double *b;     /* [C] */
  const double *mu;    /* [contact_count] >= 0 */
  const double *lower; /* [contact_count] >= 0, or NULL for zeros */
} carom_cone_program;

typedef struct carom_cone_options {
  double tolerance;   /* largest scaled residual that counts as solved; 1e-10 */
  int max_iterations; /* of the interior-point method; 60 */
  double smoothing;   /* 0: the solution itself. kappa > 0: the point of the central path with
                          complementarity kappa (in scaled units), whose derivative is smooth */
} carom_cone_options;

CAROM_API carom_cone_options carom_cone_default_options(void);

typedef enum carom_cone_status {
  CAROM_CONE_SOLVED = 0, /* residual <= tolerance; the derivative is exact */
  CAROM_CONE_DEGENERATE, /* residual <= tolerance, but strict complementarity fails: the
                               derivative is one of several one-sided ones */
  CAROM_CONE_INACCURATE, /* the iteration ended with tolerance < residual */
  CAROM_CONE_UNBOUNDED,  /* b has a component outside the range of A that no cone holds */
  CAROM_CONE_INVALID     /* non-finite numbers, or A is not positive semidefinite */
} carom_cone_status;

typedef struct carom_cone_info {
  carom_cone_status status;
  int newton_steps;   /* of the active-set method */
  int interior_steps; /* of the interior-point method; 0 where it was not needed */
  double residual;    /* natural-map residual, scaled: 0 for an exact solution */
  bool singular;      /* the least-norm selection was needed */
} carom_cone_info;

CAROM_API const char *carom_cone_status_text(carom_cone_status status);

/* Files with one program (JSON), to keep one that failed and to replay it: bit for bit, numbers that
 * are not finite included. */
CAROM_API carom_status carom_cone_program_read(const char *path, carom_cone_program *program,
                                               carom_error *error);
CAROM_API carom_status carom_cone_program_write(const carom_cone_program *program, const char *path,
                                                carom_error *error);
/* Of a program that was read. */
CAROM_API void carom_cone_program_free(carom_cone_program *program);

/* A solver owns the memory for problems of any size (it grows to the largest seen), a copy of the last
 * problem with its solution, and the factorisation at that solution. The first derivative after a
 * solve makes it, all later ones use it: a whole Jacobian costs little more than its products. */
typedef struct carom_cone_solver carom_cone_solver;
CAROM_API carom_status carom_cone_solver_create(carom_cone_solver **solver, carom_error *error);
CAROM_API void carom_cone_solver_destroy(carom_cone_solver *solver);

/* Solves; f is [C]. A bad call is an error; how it was solved is in `info` (may be NULL); options may
 * be NULL for the defaults. The program is copied: its arrays may change or go afterwards. */
CAROM_API carom_status carom_cone_solver_solve(carom_cone_solver *solver,
                                               const carom_cone_program *program,
                                               const carom_cone_options *options, double *f,
                                               carom_cone_info *info, carom_error *error);

/* Programs solved so far. A solver keeps the last one alone: who differentiates later notes the count
 * and compares. */
CAROM_API int64_t carom_cone_solver_solve_count(const carom_cone_solver *solver);

/* The derivative of the last solve (an error if that failed): from f_bar [C] to the cotangents of the
 * inputs, each overwritten, each may be NULL. A_bar [C][C] is symmetric. */
CAROM_API carom_status carom_cone_solver_vjp(carom_cone_solver *solver, const double *f_bar,
                                             double *A_bar, double *b_bar, double *mu_bar,
                                             double *lower_bar, carom_error *error);

/* ---- Rollouts -------------------------------------------------------------------------------- */

typedef enum carom_integrator { CAROM_RK4, CAROM_EULER, CAROM_SYMPLECTIC_EULER } carom_integrator;

typedef enum carom_dynamics {
  CAROM_LAGRANGIAN, /* appendix B.2 of the paper */
  CAROM_HAMILTONIAN /* appendix B.3: the same motion, with the constraints held on momenta too */
} carom_dynamics;

typedef enum carom_contact_model {
  CAROM_CM, /* the cone programs with A */
  CAROM_CMR /* the cone programs with A + epsilon I */
} carom_contact_model;

/* Called between time steps from one thread at a time; return false to stop. */
typedef bool (*carom_progress)(void *user, int64_t done, int64_t total);

typedef struct carom_rollout_options {
  int steps;    /* time steps; the scene's */
  double dt;    /* length of a time step; the scene's */
  int substeps; /* integrator steps in a time step; 1. Contacts act at the end of a time step */
  carom_integrator integrator;   /* CAROM_RK4 unless the scene says otherwise */
  carom_dynamics dynamics;       /* CAROM_LAGRANGIAN */
  carom_contact_model contact;   /* CAROM_CM */
  bool penetration_compensation; /* true */
  double compensation_steps;     /* time steps in which a penetration is undone; 8 */
  bool stop_target_gradient;     /* false; true leaves the target velocity v_C* out of the
                                          derivative, as the paper does */
  carom_cone_options cone;
  int threads;             /* 0: as many as the machine has. The result is the same */
  int shard_size;          /* samples a thread takes at once; 8 */
  carom_progress progress; /* NULL */
  void *progress_user;
} carom_rollout_options;

CAROM_API carom_rollout_options carom_rollout_default_options(const carom_system *system);

/* What happened in a rollout; counters of numerical trouble stay until the next run. */
typedef struct carom_report {
  int64_t time_steps;
  int64_t events;            /* time steps with at least one active contact, over the batch */
  int64_t contacts;          /* active contacts in all events */
  int64_t programs;          /* cone programs solved: two for each group of touching bodies */
  int64_t interior_programs; /* those that needed the interior-point method */
  int64_t singular_programs; /* those where the least-norm selection was needed */
  int64_t degenerate_programs;
  int64_t failed_programs; /* inaccurate, unbounded or invalid; the best impulse found is used */
  double worst_residual;
} carom_report;

/* Adds the counters of one report to another; worst_residual becomes the larger. */
CAROM_API void carom_report_add(carom_report *into, const carom_report *from);

/* A rollout simulates batches of one size and keeps what its derivative needs (the tape). */
typedef struct carom_rollout carom_rollout;

CAROM_API carom_status carom_rollout_create(const carom_system *system,
                                            const carom_rollout_options *options, int batch,
                                            carom_rollout **rollout, carom_error *error);
CAROM_API void carom_rollout_destroy(carom_rollout *rollout);

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

/* The derivative of the last run (an error if that did not finish). x_bar, v_bar (either may be NULL)
 * are cotangents of the whole trajectory [batch][steps + 1][point_count][dimension]. Overwrites
 * x0_bar, v0_bar [batch][point_count][dimension] and theta_bar [carom_parameters_count], each may be
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

/* ---- Files of rollouts ----------------------------------------------------------------------- */

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
  double *x;        /* [batch][state_count][point_count][dimension] */
  double *v;        /* the same; NULL: not known */
  int *lengths;     /* [batch] states of each, the others are not looked at; NULL: state_count */
  double *t;        /* [state_count] times; NULL: k dt when written, absent when read */
  uint8_t *contact; /* [batch][state_count] as carom_rollout_contacts; NULL: absent */
} carom_trajectories;

/* Files with /x, /v, and where they are known /t, /contact and the attribute dt. Reading checks
 * shapes and finite numbers; carom_trajectories_free gives the arrays back. */
CAROM_API carom_status carom_trajectories_read(const carom_system *system, const char *path,
                                               carom_trajectories *trajectories,
                                               carom_error *error);
CAROM_API carom_status carom_trajectories_write(const carom_trajectories *trajectories,
                                                const carom_system *system, const char *path,
                                                carom_error *error);
CAROM_API void carom_trajectories_free(carom_trajectories *trajectories);

/* A loss over a batch of trajectories and its derivative, to be written. */
typedef struct carom_gradient {
  int batch;
  double dt;
  double loss;             /* mean of loss_each */
  const double *loss_each; /* [batch] */
  const double *x0_bar;    /* [batch][point_count][dimension] */
  const double *v0_bar;
  const double *theta_bar; /* [carom_parameters_count] */
} carom_gradient;

/* A file with /loss, /loss_each, /d_x0, /d_v0 and /d_mass, /d_moment, /d_friction, ... for the
 * segments of theta (masses and moments: by their logarithms). */
CAROM_API carom_status carom_gradient_write(const carom_gradient *gradient,
                                            const carom_system *system, const char *path,
                                            carom_error *error);

/* Writes any bytes the way all files here are written: whole, or not at all. */
CAROM_API carom_status carom_file_write(const char *path, const void *bytes, size_t size,
                                        carom_error *error);
/* Whether a file of this name could be written: to be asked before long work. */
CAROM_API carom_status carom_file_check(const char *path, carom_error *error);

/* ---- Data for learning ----------------------------------------------------------------------- */

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

/* ---- Models ---------------------------------------------------------------------------------- */

/* A model of a system whose masses, moments, potential, friction and restitution are unknown: the
 * equations of motion and the contact model with a network for the potential. */
typedef struct carom_model carom_model;

typedef struct carom_model_options {
  carom_contact_model contact; /* CAROM_CM */
  carom_dynamics dynamics;     /* CAROM_LAGRANGIAN (CLNN) or CAROM_HAMILTONIAN (CHNN) */
  int hidden_layers;           /* of the potential network: 3 */
  int hidden_size;             /* 256 */
  bool shared_properties;      /* one friction and restitution for all contacts: as the scene */
  bool learn_regularizer;      /* false: epsilon of CMr stays as it is */
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
  uint64_t seed; /* of the initial parameters */
} carom_model_options;

CAROM_API carom_model_options carom_model_default_options(const carom_system *system);

/* Sets dt and the scales by the training chunks: the root mean square of the coordinates of all
 * centres of bodies about their common mean, and of their velocities. */
CAROM_API carom_status carom_model_options_by_data(carom_model_options *options,
                                                   const carom_system *system,
                                                   const carom_dataset *dataset,
                                                   carom_error *error);

/* "cm-cd-clnn", "cm-cd-chnn", "cmr-cd-clnn", "cmr-cd-chnn", for index 0 to 3. */
CAROM_API int carom_model_name_count(void);
CAROM_API const char *carom_model_name(int index);
/* Sets contact and dynamics of `options` by name, and tells the name of those that are set. */
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
 * regularizer (before softplus, if learned), then weight and bias of each layer. */
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
 * `indices` picks chunks (NULL: the first `count`). loss and report may be NULL. */
CAROM_API carom_status carom_model_loss(carom_model *model, const carom_chunks *chunks, int count,
                                        const int *indices, double *loss, double *gradient,
                                        carom_report *report, carom_error *error);

/* Predicted trajectories [batch][steps + 1][point_count][dimension]. contacts, report may be NULL. */
CAROM_API carom_status carom_model_predict(carom_model *model, int batch, int steps,
                                           const double *x0, const double *v0, double *x, double *v,
                                           uint8_t *contacts, carom_report *report,
                                           carom_error *error);

/* The force of the learned potential, minus its gradient, at x: both [count][point_count][dimension].
 * Up to the common scale of potential and masses; across constraints it is arbitrary. */
CAROM_API carom_status carom_model_force(carom_model *model, int count, const double *x,
                                         double *force, carom_error *error);

/* The learned potential at x [count][point_count][dimension]. */
CAROM_API carom_status carom_model_potential(carom_model *model, int count, const double *x,
                                             double *value, carom_error *error);

/* ---- Training -------------------------------------------------------------------------------- */

typedef enum carom_schedule { CAROM_CONSTANT, CAROM_COSINE } carom_schedule;

typedef struct carom_trainer_options {
  int epochs;           /* 300 */
  int batch;            /* 200 */
  double learning_rate; /* 4e-3 */
  double
      property_rate;   /* masses, moments, friction and restitution learn at this times the learning
                            rate: 10 */
  double beta1, beta2; /* 0.9, 0.999 */
  double epsilon;      /* 1e-8 */
  double weight_decay; /* 1e-4, decoupled (AdamW) */
  carom_schedule schedule; /* CAROM_COSINE: falls to final_rate * learning_rate at the last epoch */
  double final_rate;       /* 2e-4 */
  int search_every; /* 25: so many epochs apart, frictions and restitutions are tried at values all
                       over their range and moved where that lowers the loss; 0: never */
  uint64_t seed;    /* of the order of the chunks */
  carom_progress progress; /* NULL; called after each batch with the batches done and those of the
                              whole training. Return false to stop: CAROM_INTERRUPTED; the next
                              carom_trainer_epoch goes on with the batch that follows */
  void *progress_user;
} carom_trainer_options;

CAROM_API carom_trainer_options carom_trainer_default_options(void);

/* The paper's protocol: 1000 epochs at a constant 1e-3 for all parameters, no search. */
CAROM_API carom_trainer_options carom_trainer_paper_options(void);

/* A friction or restitution that a search moved. */
typedef struct carom_move {
  char name[96];                  /* "friction", "restitution/a|ground"; "mass_scale" (CMr) */
  double from, to;                /* mass_scale: a factor on all masses and the potential */
  int chunks;                     /* training chunks whose prediction meets the contact */
  double loss_before, loss_after; /* of these */
} carom_move;

/* What an epoch gave. */
typedef struct carom_epoch {
  int epoch;              /* 1 for the first */
  double loss;            /* mean over the epoch's batches, each before its update */
  double validation_loss; /* after the epoch; NaN without validation chunks */
  bool best;              /* the lowest validation loss so far (loss, without validation chunks) */
  double learning_rate;
  double gradient_norm; /* of the last batch */
  int moves;            /* of frictions and restitutions, by a search before the epoch */
  double search_loss_before, search_loss_after; /* training loss around the moves; NaN without */
  double seconds;
  carom_report report; /* of all rollouts of the epoch */
} carom_epoch;

/* A training: the model, the optimiser's state, the order of the chunks. model and dataset must
 * outlive it. */
typedef struct carom_trainer carom_trainer;

CAROM_API carom_status carom_trainer_create(carom_model *model, const carom_dataset *dataset,
                                            const carom_trainer_options *options,
                                            carom_trainer **trainer, carom_error *error);
CAROM_API void carom_trainer_destroy(carom_trainer *trainer);

/* One optimiser step on chosen training chunks (indices NULL: the first `count`); loss may be
 * NULL. */
CAROM_API carom_status carom_trainer_step(carom_trainer *trainer, int count, const int *indices,
                                          double *loss, carom_error *error);

/* One pass over the training chunks; result may be NULL. A loss or gradient that is not finite is
 * an error (CAROM_NUMERICAL_FAILURE) and leaves parameters and optimiser as they were before that
 * batch. */
CAROM_API carom_status carom_trainer_epoch(carom_trainer *trainer, carom_epoch *result,
                                           carom_error *error);

/* All epochs that are left; the callback (or NULL) sees each one and may end it by returning false
 * (CAROM_INTERRUPTED). */
typedef bool (*carom_epoch_callback)(void *user, const carom_epoch *result);
CAROM_API carom_status carom_trainer_run(carom_trainer *trainer, carom_epoch_callback callback,
                                         void *user, carom_error *error);

/* How far a training is. */
typedef struct carom_trainer_info {
  int epochs_done;
  int batches_done; /* of the epoch under way */
  int batches;      /* of every epoch */
  int best_epoch;   /* 0 before the first epoch has ended */
  double best_loss; /* of validation, else of training; INFINITY before that */
} carom_trainer_info;

CAROM_API carom_trainer_info carom_trainer_describe(const carom_trainer *trainer);

/* Saves a training with its model: carom_model_load reads the model of such a file too. */
CAROM_API carom_status carom_trainer_save(const carom_trainer *trainer, const char *path,
                                          carom_error *error);

/* Puts model, optimiser and state of a saved training into a trainer made with the same scene,
 * model options, training options and data; the message names what differs. Of the training
 * options `epochs` may differ if the schedule is constant. Going on gives the same bits as never
 * having stopped. Nothing is changed on failure. */
CAROM_API carom_status carom_trainer_restore(carom_trainer *trainer, const char *path,
                                             carom_error *error);

/* The moves of the last search since the trainer was made, owned by the trainer, until the next one:
 * carom_epoch.moves of them after an epoch that began with a search. No search raises the loss of
 * the training chunks; where there are more than 4000 it is judged on as many, evenly spread. */
CAROM_API const carom_move *carom_trainer_moves(const carom_trainer *trainer, int *count);

/* Saves and loads a model with its options. */
CAROM_API carom_status carom_model_save(const carom_model *model, const char *path,
                                        carom_error *error);
CAROM_API carom_status carom_model_load(const carom_system *system, const char *path,
                                        carom_model **model, carom_error *error);

/* ---- Evaluation ------------------------------------------------------------------------------ */

typedef struct carom_evaluation_options {
  int steps;                   /* of the longer predictions; 50 */
  bool truth_known;            /* true: the scene's parameters are those of the data */
  carom_contact_model contact; /* of the true motion; CAROM_CM */
  int threads;                 /* of the true motion; 0: all */
  const carom_chunks *train;   /* chunks that the model was trained on; NULL: those of the data set
                                  that is evaluated */
} carom_evaluation_options;

CAROM_API carom_evaluation_options carom_evaluation_default_options(void);

/* A number over trajectories. NaN where there are none; half_width is NaN for fewer than two. */
typedef struct carom_estimate {
  int count;
  double mean;
  double half_width; /* of the 95 % confidence interval: 1.96 s / sqrt(n) */
  double median;
  double largest;
} carom_estimate;

/* Predictions and what they are compared with. Errors of a trajectory, its first state included:
 *   relative    sum |predicted - true| / sum |true| over all entries of (x, v)
 *   state_norm  sqrt(sum (predicted - true)^2 / sum true^2) of each state, mean over the states */
typedef struct carom_horizon {
  int count;     /* trajectories */
  int states;    /* of each */
  double *x, *v; /* predicted [count][states][point_count][dimension]; NaN where it failed */
  double *true_x, *true_v;
  bool *failed; /* [count] the prediction became non-finite; left out of all numbers */
  int failed_count;
  carom_estimate relative, state_norm;
  double *curve, *curve_half_width; /* [states] relative error of each state, over trajectories */
} carom_horizon;

/* |E_k - E_0| of a trajectory over the start's kinetic energy plus |potential energy|. */
typedef struct carom_energy_drift {
  carom_estimate greatest; /* of a trajectory's largest */
  carom_estimate average;  /* of a trajectory's mean */
} carom_energy_drift;

/* Values of a property, all others as they are learned, that explain the training chunks as well as
 * the learned one: whose loss is not higher by more than 2 / n of it, for the n chunks whose
 * prediction meets the contact. */
typedef struct carom_range {
  bool
      determined; /* within a small move (0.05; a tenth of a friction above 0.5) of the learned one */
  double low, high; /* high of a friction is INFINITY where no larger one is too large: its contact
                       sticks, or never occurs */
} carom_range;

/* How good a trained model is. Two horizons: along the chunks its predictions are compared with the
 * data, along more steps with the true motion: the scene simulated with its own parameters from the
 * first states of the chunks. Energies are those of the scene's masses and potential. */
typedef struct carom_evaluation {
  double dt;
  bool truth_known;
  carom_horizon chunk;           /* against the data */
  carom_estimate scene_relative; /* the scene's own parameters in the model's equations, against
                                    the data: what the model could reach */
  carom_horizon extended;        /* against the true motion; count = 0 where it is not known */
  double *energy, *true_energy;  /* [extended.count][extended.states] */
  carom_energy_drift drift, true_drift;
  carom_estimate energy_error; /* of a trajectory's largest |E_k - true E_k|, relative as drift */
  int parameter_count;
  double *theta, *scene_theta;         /* engine parameters: learned, and the scene's */
  carom_contact_count *counts;         /* [contact_count] in the training chunks */
  int train_count;                     /* training chunks */
  carom_range *friction, *restitution; /* [contact_count] what the training chunks tell of them */
  double *acceleration, *acceleration_spread; /* [body_count][dimension] of the centres of bodies by
                                  the learned potential, from rest and constraints held, at the first
                                  states of the chunks: mean and standard deviation. Of a free body
                                  this is the force per unit mass */
  double *scene_acceleration, *scene_acceleration_spread; /* by the scene's masses and potential */
  carom_report report;                                    /* of all predictions */
} carom_evaluation;

/* Evaluates on the chunks of a split (usually CAROM_TEST); the time step of the data must be the
 * model's. options may be NULL. */
CAROM_API carom_status carom_model_evaluate(carom_model *model, const carom_dataset *dataset,
                                            carom_split split,
                                            const carom_evaluation_options *options,
                                            carom_evaluation **evaluation, carom_error *error);
CAROM_API void carom_evaluation_destroy(carom_evaluation *evaluation);

/* Every number as JSON text, for the caller to free; NULL if there is no memory. */
CAROM_API char *carom_evaluation_json(const carom_evaluation *evaluation,
                                      const carom_system *system);
/* A file with the arrays, for plotting: /x_predicted, /x_true, /error, /energy_predicted, ... */
CAROM_API carom_status carom_evaluation_write(const carom_evaluation *evaluation,
                                              const carom_system *system, const char *path,
                                              carom_error *error);

/* ---- Runs ------------------------------------------------------------------------------------ */

/* What a training was made of: config.json of the folder that `carom train` writes. With it
 * carom_model_load and carom_dataset_read read the run's best.h5, last.h5 and data. */
typedef struct carom_run_config {
  char *scene; /* JSON text */
  char *data;  /* the data set: relative to the folder of the run, or absolute */
  carom_model_options model;
  carom_trainer_options train;
  carom_dataset_options dataset;    /* how the data was made or cut */
  carom_contact_model data_contact; /* of the simulation that made it */
} carom_run_config;

/* Reads, and makes the system of its scene. Values out of range and unknown names are refused. */
CAROM_API carom_status carom_run_config_read(const char *path, carom_run_config *config,
                                             carom_system **system, carom_error *error);
CAROM_API carom_status carom_run_config_write(const carom_run_config *config, const char *path,
                                              carom_error *error);
CAROM_API void carom_run_config_free(carom_run_config *config);

/* The first difference of two configurations or scenes. */
typedef struct carom_difference {
  char path[128];             /* "train.epochs", "bodies[0].mass" */
  char first[64], second[64]; /* both values; "nothing" where one side has no such member */
} carom_difference;

/* Whether they differ, and where (found may be NULL). Names and descriptions of scenes do not count. */
CAROM_API bool carom_run_config_differs(const carom_run_config *first,
                                        const carom_run_config *second, carom_difference *found);
CAROM_API bool carom_system_differs(const carom_system *first, const carom_system *second,
                                    carom_difference *found);

/* ---- Options by their names ------------------------------------------------------------------ */

/* The structs of options above as tables: for command lines, configuration files and other languages.
 * Where a function takes `options`, it is a pointer to the struct that `of` names. */
typedef enum carom_options {
  CAROM_CONE_OPTIONS,
  CAROM_ROLLOUT_OPTIONS,
  CAROM_DATASET_OPTIONS,
  CAROM_MODEL_OPTIONS,
  CAROM_TRAINER_OPTIONS
} carom_options;

/* What an option is; beside it the type of its field. */
typedef enum carom_option_kind {
  CAROM_OPTION_INTEGER, /* int */
  CAROM_OPTION_COUNT,   /* int64_t */
  CAROM_OPTION_SEED,    /* uint64_t */
  CAROM_OPTION_NUMBER,  /* double */
  CAROM_OPTION_SWITCH,  /* bool: "true", "false" */
  CAROM_OPTION_CHOICE   /* an enum, by the names of its values */
} carom_option_kind;

typedef struct carom_option_info {
  const char
      *name; /* of the field: "learning_rate", "cone.tolerance"; NULL: there is no such option */
  carom_option_kind kind;
  double low, high; /* of integers and numbers; an end that is open does not belong to the range */
  bool low_open, high_open;
  const char *const *names; /* of a choice, in the order of its values; ends with NULL */
  bool from_scene;          /* the default is the scene's, `value` is empty */
  char value[32];           /* the default as text */
  char range[160];          /* in words: "a positive number", "one of cm, cmr" */
  const char *flag;     /* on the command line, without dashes: "lr"; NULL: it has none. The flag of
                               a switch takes no argument and sets it to what it is not by default */
  const char *argument; /* the word for its value in a help: "X" */
  const char *heading;  /* of its group in a help: "Training" */
  const char *help;
} carom_option_info;

CAROM_API int carom_option_count(carom_options of);
CAROM_API carom_option_info carom_option_describe(carom_options of, int index);

/* Sets one option from text; `name` is that of the field or its flag with dashes ("--lr"). What cannot
 * be is refused and leaves the struct as it is: "--lr 0: expected a positive number". */
CAROM_API carom_status carom_option_set(carom_options of, void *options, const char *name,
                                        const char *text, carom_error *error);

/* Writes one option as text from which carom_option_set makes the same bits. */
CAROM_API carom_status carom_option_get(carom_options of, const void *options, const char *name,
                                        char *text, size_t size, carom_error *error);

/* Whether all options are in their ranges, as the functions that take them check it. */
CAROM_API carom_status carom_options_check(carom_options of, const void *options,
                                           carom_error *error);

/* Sets the options that the paper's protocol has otherwise than the defaults, and leaves the rest. */
CAROM_API void carom_options_set_paper(carom_options of, void *options);

#ifdef __cplusplus
}
#endif
#endif
