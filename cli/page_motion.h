/* What moves, on a page: the scene's geometry, and motions as tracks with energies, gaps and contacts.
 *
 *   "scene"   {"name", "description", "dimension", "gravity", "bodies", "planes", "ties"}
 *   "tracks"  [{"sample", "role", "file", "states", "dt", "x", "series", "events", "limits"}]
 *               x       motion, [states][point_count * dimension]
 *               series  [{"group", "name", "values"}] one number for each state
 *               events  {"label": [...], "state", "contact", "point", "impulse", "normal", "gap"}: contacts
 *                       that act at the end of the step that leads to a state; `contact` is a place in "label"
 *               limits  {"label": [...], "tie": [...], "contact", "first", "last"}: limits of a rope, each from
 *                       a first to a last state; "tie" is a place in the scene's ties */
#ifndef CAROM_CLI_PAGE_MOTION_H
#define CAROM_CLI_PAGE_MOTION_H

#include "cli/motion_file.h"
#include "cli/page.h"

/* Contacts of one motion, in order of states: those that act, with the impulses that the scene's
 * parameters give them; of a predicted motion, whose parameters are others, what touches. */
typedef struct motion_contacts {
  int count;
  int *state;           /* [count] */
  carom_contact *items; /* [count] */
} motion_contacts;

carom_status motion_contacts_find(const motion_set *set, const motion *m, motion_contacts *found,
                                  carom_error *error);
void motion_contacts_free(motion_contacts *found);

/* The ties that are drawn: of a rope, whose segments have springs and bounds, the segments alone. The caller
 * frees; NULL if memory is short. */
carom_tie_info *drawn_ties(const carom_system *system, int *count);

/* The scene of a document. */
json_t *page_scene(const carom_system *system);

/* Adds the motions of a file to a document that has the scene. */
carom_status page_add_tracks(page_document *d, const motion_set *set, const char *file,
                             carom_error *error);

#endif
