/* What a contact event is made of, and the linear operators on it: the contact Jacobian J and the
 * inverse mass M^ of bodies that keep to their equality constraints (appendix C.2),
 *
 *   M^ = M^-1 - M^-1 J_E' (J_E M^-1 J_E')^-1 J_E M^-1
 *
 * Vectors over points are [D]. Operators read and write the entries of touched assemblies only,
 * since no impulse reaches the others; vectors over rows of J are [C], `dimension` for each contact. */
#ifndef CAROM_CONTACT_EVENT_OPERATORS_H
#define CAROM_CONTACT_EVENT_OPERATORS_H

#include "contact/contact_group.h"
#include "contact/program_log.h"
#include "physics/rigid_body.h"

/* Everything of an event that depends on x and the parameters only. */
typedef struct contact_event {
  const mechanics *mechanics;
  const carom_rollout_options *options;
  const double *x;
  contact_group group;
  int size;          /* C = contacts * dimension */
  rigid_body *rigid; /* [touched_count] assemblies whose M^ is in closed form; size 0: it is not */
  double *arm;       /* of the constraints of the other touched assemblies */
  double *factor;    /* of J_E M^-1 J_E' there */
  double *geometric; /* factor of J_E J_E' there, where v_C* needs it; else NULL */
  double *mobility;  /* [count] J_n M^-1 J_n', as if there were no constraints, where bodies are
                            moved apart; else NULL */
  double *mu;        /* [count] */
  double *restitution;   /* [count] */
  envelope *shape;       /* [island_count] of A */
  double **A;            /* [island_count], epsilon included */
  double hold;           /* time over which friction acts on positions; options->dt */
  bool *held;            /* [C] axes along which the constraints let no impulse move anything */
  program_log *failures; /* where programs that are not solved are kept; may be NULL */
} contact_event;

/* Cotangents that the reverse of an event collects, all of them added to. */
typedef struct event_cotangents {
  double *blocks; /* [block_count][dimension^2] of J, those of a contact from its first_block */
  double *gap;    /* [count] */
  double *x;      /* [D] through J_E */
  double *theta;
  double *hold; /* [1] of e->hold; NULL: not wanted */
} event_cotangents;

/* Does a target velocity undo penetration (target_velocity.h), or a shift of positions
 * (position_shift.h)? */
static inline bool event_is_papers(const contact_event *e) {
  return e->options->compensation == CAROM_COMPENSATION_PAPER;
}
static inline bool event_has_target(const contact_event *e) {
  return e->options->penetration_compensation && event_is_papers(e);
}
static inline bool event_shifts(const contact_event *e) {
  return e->options->penetration_compensation && !event_is_papers(e);
}

/* Is it a complementarity problem, of one phase (newton_target.h)? */
static inline bool event_is_complementary(const contact_event *e) {
  return e->options->contact == CAROM_LCP;
}

/* Time in which the paper's compensation is to undo a penetration. */
static inline double event_compensation_time(const contact_event *e) {
  return e->options->compensation_steps * e->options->dt;
}

/* Contacts [begin, end) of an island. */
static inline int island_begin(const contact_event *e, int island) {
  return e->group.island_first[island];
}
static inline int island_end(const contact_event *e, int island) {
  return e->group.island_first[island + 1];
}

/* A touched assembly, and its constraints [begin, end). */
static inline const assembly *touched_at(const contact_event *e, int t) {
  return &e->mechanics->system->assemblies[e->group.touched[t].assembly];
}
static inline int touched_begin(const contact_event *e, int t) {
  return e->mechanics->assembly_constraint[e->group.touched[t].assembly];
}
static inline int touched_end(const contact_event *e, int t) {
  return e->mechanics->assembly_constraint[e->group.touched[t].assembly + 1];
}

/* The rigid body that is all of a touched assembly, with its M^ in closed form; NULL: it is not one, or the
 * event is the paper's, which keeps the bits that it had. */
static inline const rigid_body *rigid_at(const contact_event *e, int t) {
  return e->rigid != NULL && e->rigid[t].size > 0 ? &e->rigid[t] : NULL;
}

/* to = from, to = 0, to += scale * from */
void event_copy(const contact_event *e, double *to, const double *from);
void event_zero(const contact_event *e, double *to);
void event_add(const contact_event *e, double scale, const double *from, double *to);

/* rows = J v;  out += J' rows */
void event_jacobian(const contact_event *e, const double *v, double *rows);
void event_jacobian_transpose(const contact_event *e, const double *rows, double *out);

/* blocks_bar += scale * rows (x) points: the cotangent of J that a term rows' J points gives. */
void event_jacobian_outer(const contact_event *e, double scale, const double *rows,
                          const double *points, double *blocks_bar);

/* M^ on one assembly: from out = M^-1 push, push -= J_E' lambda and out = M^-1 push,
 * lambda = (J_E M^-1 J_E')^-1 J_E out, so that out = M^ (the push that was given). */
void assembly_constrain(const contact_event *e, int assembly_index, double *out, double *push,
                        double *lambda);

/* M^ force on all touched assemblies, with what its derivative needs. */
typedef struct mass_image {
  double *u;        /* [D] M^ force */
  double *push;     /* [D] force - J_E' lambda, so that u = M^-1 push */
  double *lambda;   /* [rows]; of assemblies in closed form omega stands there */
  double *reaction; /* [D] of assemblies in closed form: J_E' lambda */
} mass_image;

mass_image mass_image_of(const contact_event *e, const double *force, arena *memory);

/* From the term left' M^ right of a scalar: the cotangents of x and theta. */
void mass_image_vjp(const contact_event *e, const mass_image *left, const mass_image *right,
                    const event_cotangents *bars);

/* M^ force on all touched assemblies, in place, by closed form where there is one. */
void event_respond(const contact_event *e, double *force, arena *scratch);

/* v += M^ J' f */
void event_apply_impulse(const contact_event *e, const double *f, double *v, arena *scratch);

/* v + M^ J' f in memory of its own */
double *event_velocity_after(const contact_event *e, const double *v, const double *f,
                             arena *memory);

/* Are there equality constraints on a touched assembly? */
bool event_has_constraints(const contact_event *e);

/* Does the velocity before an event have to be put on the constraints? Not in the paper's. */
bool event_projects(const contact_event *e);

/* theta_bar += the cotangents [count] of the contacts' frictions or restitutions */
void event_add_properties(const contact_event *e, carom_segment segment, const double *bar,
                          double *theta_bar);

/* Puts the bodies at x: those in closed form, arms and factors of the constraints of the others. */
void event_factor_constraints(contact_event *e, const double *x, arena *memory);

/* The parts of images that belong to one touched assembly: of a force that stands in push, and of the
 * derivative. */
mass_image mass_image_make(const contact_event *e, arena *memory);
void assembly_image(const contact_event *e, int t, mass_image *image);
void assembly_image_vjp(const contact_event *e, int t, const mass_image *left,
                        const mass_image *right, const event_cotangents *bars);

/* The change that removes violations of the constraints to first order and is least in the metric of
 * inertia, of an assembly without a closed form: u = -M^-1 J_E' lambda, lambda = (J_E M^-1 J_E')^-1 rows, from
 * the rows in lambda; push = -J_E' lambda. */
void assembly_remove_rows(const contact_event *e, int t, mass_image *image);

/* v <- M^ M v = v - M^-1 J_E' (J_E M^-1 J_E')^-1 J_E v, which is what (C.2) makes of a velocity that
 * breaks the constraints; kinetic energy falls by that of the part that goes. The image is for the
 * reverse, which turns v_bar of the velocity after into that of the velocity before. */
mass_image event_project(const contact_event *e, double *v, arena *memory);
void event_project_vjp(const contact_event *e, const mass_image *projected, double *v_bar,
                       const event_cotangents *bars, arena *scratch);

/* Sets rows of held axes to zero. Impulses change nothing there: a velocity along one is drift off
 * the constraints, and so is not to decide where a contact slides. */
void event_drop_held(const contact_event *e, double *rows);

#endif
