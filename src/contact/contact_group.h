/* The active contacts of one state, put in the order in which they are solved.
 *
 * Contacts that act on a common assembly are coupled. Connected groups of them (islands) are
 * separate cone programs. Inside a large island contacts are ordered by breadth-first search from
 * its rim (Cuthill-McKee), so that a rope's limits give a banded matrix. */
#ifndef CAROM_CONTACT_CONTACT_GROUP_H
#define CAROM_CONTACT_CONTACT_GROUP_H

#include "base/envelope.h"
#include "physics/collision.h"

/* An assembly that a contact touches, with the contacts on it in solving order. */
typedef struct touched_assembly {
  int assembly;
  int count;
  int *contacts;
} touched_assembly;

typedef struct contact_group {
  int count;
  contact *contacts; /* in solving order */
  int block_count;   /* points of all contacts together */
  int island_count;
  int *island_first; /* [island_count + 1] first contact of each island */
  int touched_count;
  touched_assembly *touched;
  int *first_coupled; /* [count] first contact in solving order that is coupled with this one */
} contact_group;

contact_group contact_group_make(const carom_system *s, const contact_list *active, const double *x,
                                 arena *memory);

#endif
