/* The sections of a plan file, in the order in which they are read. The format is described in
 * docs/planning.md. Failures are sticky in the reader (system/scene_field.h). */
#ifndef CAROM_PLAN_PLAN_PARSE_H
#define CAROM_PLAN_PLAN_PARSE_H

#include "plan/plan.h"
#include "system/scene_field.h"

void plan_read_unknowns(carom_plan *plan, const scene_node *root);
void plan_read_objective(carom_plan *plan, const scene_node *root);

/* Copies into the plan's memory. */
char *plan_format(carom_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The members "body" (its index, -1 on failure), and "axes" of a quantity of `size` numbers: how many, all
 * if absent. */
int plan_read_body(const scene_node *object);
int plan_read_axes(const scene_node *object, int size, int *axes);

/* A member that is a vector of `size` numbers, or one number for all of them; absent: left as it is. */
void plan_read_numbers(const scene_node *object, const char *key, int size, double *numbers);

/* The contacts that a string names, as flags [contact_count]: a possible contact ("a|ground", "a-b"), all
 * of a plane or body by its id; NULL: "any", or a failure. */
bool *plan_read_contacts(carom_plan *plan, const scene_node *node);

#endif
