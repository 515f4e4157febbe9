/* The sections of a scene file, in the order in which they are read. The format is described in
 * docs/scene-format.md. Each reader takes the whole document and fills the system; failures are
 * sticky in the reader (see scene_field.h). */
#ifndef CAROM_SYSTEM_SCENE_H
#define CAROM_SYSTEM_SCENE_H

#include "system/scene_field.h"

/* Allocates bodies, constraints, springs, limits (those listed and those of chains) and controls. */
void scene_allocate(const scene_node *root);

void scene_read_bodies(const scene_node *root); /* bodies, then the points of chains */
void scene_read_planes(const scene_node *root);
void scene_read_joints(const scene_node *root);  /* appends constraints */
void scene_read_springs(const scene_node *root); /* appends springs */
void scene_read_limits(const scene_node *root);  /* appends limits */
void scene_read_chains(const scene_node *root);  /* appends all three */
void scene_read_controls(const scene_node *root);
void scene_read_contacts(const scene_node *root); /* numbers the contacts, fills properties */
void scene_read_initial(const scene_node *root);  /* after system_finish */

/* The point masses of chains, entered after the scene's bodies; scene_bodies.c calls it. */
void scene_read_chain_bodies(const scene_node *root);

/* The point of a body that the members "body" and "at" of an object name, at its centre if there is no
 * "at"; *body_index is -1 on failure. */
combination scene_read_body_point(const scene_node *object, int *body_index);

/* Passes a failure of the system's own checks on, with the place in the scene. */
void scene_pass_on(const scene_node *node, carom_status status, const carom_error *cause);

#endif
