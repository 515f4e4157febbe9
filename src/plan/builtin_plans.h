/* The plan files of plans/, compiled in; the table ends with a NULL name. */
#ifndef CAROM_PLAN_BUILTIN_PLANS_H
#define CAROM_PLAN_BUILTIN_PLANS_H

typedef struct builtin_plan {
  const char *name;
  const char *text;
} builtin_plan;

extern const builtin_plan builtin_plans[];

#endif
