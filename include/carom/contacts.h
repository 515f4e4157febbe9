/* What touches at a state, and which impulses act there: for pictures, plots and tests. */
#ifndef CAROM_PUBLIC_CONTACTS_H
#define CAROM_PUBLIC_CONTACTS_H

#include "rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A contact, near or acting. */
typedef struct carom_contact {
  int contact;      /* possible contact (carom_system_contact_label) */
  int bodies[2];    /* that touch; the second is -1 for a plane, both are for a limit of a rope */
  double gap;       /* between the surfaces, negative where they overlap; of a bend an angle */
  double point[3];  /* where it is */
  double normal[3]; /* unit vector towards bodies[0]; zeros for a limit */
  double
      normal_impulse; /* of compression and restitution together; 0 where impulses were not asked for */
  double impulse[3]; /* on bodies[0], friction included; zeros for a limit */
} carom_contact;

typedef struct carom_contact_list {
  int count;
  carom_contact *items;
} carom_contact_list;

/* The possible contacts whose gap at x [point_count][dimension] is below `margin` (INFINITY: all), in their
 * order: pairs, planes, limits. */
CAROM_API carom_status carom_system_contacts(const carom_system *system, const double *x,
                                             double margin, carom_contact_list *list,
                                             carom_error *error);

/* The contacts that act at the end of one time step from (x, v), with their impulses: options say how it
 * is simulated (their steps do not matter), theta may be NULL for the scene's values. u [control_size]
 * are the controls of the step, NULL: none. */
CAROM_API carom_status carom_system_step_contacts(const carom_system *system,
                                                  const carom_rollout_options *options,
                                                  const double *theta, const double *x,
                                                  const double *v, const double *u,
                                                  carom_contact_list *list, carom_error *error);

CAROM_API void carom_contact_list_free(carom_contact_list *list);

#ifdef __cplusplus
}
#endif
#endif
