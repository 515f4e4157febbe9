/* Calls of every public function with one argument spoilt: a pointer that is NULL, an int, enum or
 * double out of range, one field of a struct of options. A new function takes a thunk, which passes
 * pointers by P, options by O, ints and enums by N, doubles by D, and a line in the table of engine_calls.c,
 * learning_calls.c or plan_calls.c. */
#ifndef CAROM_TESTS_PUBLIC_CALLS_H
#define CAROM_TESTS_PUBLIC_CALLS_H

#include "base/option_table.h"

enum { BATCH = 2, STEPS = 4, CHUNK = 3, MOST_NUMBERS = 4096 };

/* Objects that calls use and leave usable. */
typedef struct call_objects {
  carom_system *system;
  carom_system *pushed; /* has controls */
  carom_rollout *rollout;
  carom_dataset *dataset;
  carom_model *model;
  carom_trainer *trainer;
  carom_evaluation *evaluation;
  carom_plan *plan;
  carom_fit *fit; /* that has been run */
  carom_cone_solver *solver;
  double theta[MOST_NUMBERS], x0[MOST_NUMBERS], v0[MOST_NUMBERS];
  double x[MOST_NUMBERS], v[MOST_NUMBERS];
} call_objects;

extern call_objects have;

/* Files are written to the working folder. */
void public_calls_prepare(void);
void public_calls_finish(void);

/* What `have` is made with. */
carom_rollout_options small_rollout_options(void);
carom_dataset_options small_dataset_options(void);
carom_model_options small_model_options(void);
carom_trainer_options small_trainer_options(void);
carom_cone_program small_program(void);

carom_states some_states(void);
carom_trajectories some_trajectories(void);
carom_controls some_controls(void);
carom_dataset *make_dataset(void);
carom_model *make_model(void);
carom_trainer *make_trainer(void);
carom_plan *make_plan_object(void);
carom_fit *make_fit(void);

/* What out-pointers hold before a call. */
extern void *const garbage;

/* The argument that is spoilt, if any, and whether the thunk has passed it on. */
typedef struct trial {
  const char *name;
  double number; /* what it is, or what the field is; a pointer without a field is NULL */
  const option_field *field; /* of the options it points to; or NULL */
  bool passed;
  carom_error error;
} trial;

typedef struct outcome {
  carom_status status;
  bool harmless;    /* of a function without a status: what it gave for NULL hurts nobody */
  const void *made; /* what the out-pointer holds afterwards */
} outcome;

/* Whether it is this argument. Thunks call their trial `t`. */
bool is_spoilt(trial *t, const char *name);
/* The options with the field spoilt; NULL if there is none. */
void *spoilt_options(const trial *t, void *options);
#define P(name, value) (is_spoilt(t, #name) ? NULL : (value))
#define O(name, options) (is_spoilt(t, #name) ? spoilt_options(t, &(options)) : &(options))
#define N(name, value) (is_spoilt(t, #name) ? (int)t->number : (value))
#define D(name, value) (is_spoilt(t, #name) ? t->number : (value))
#define ERROR P(error, &t->error)

/* Names are separated by spaces; every `error` may be NULL. What is trusted says how large arrays of
 * the caller are ("count", "options.steps"), which nothing can check, takes its time if it is large,
 * or is not looked at ("options"). */
typedef struct public_call {
  const char *function;
  outcome (*try)(trial *t);
  const char *optional; /* pointers that may be NULL */
  const char *trusted;
} public_call;

#define TRUSTING_ROW(name, optional, trusted) \
  { "carom_" #name, try_##name, optional, trusted }
#define ROW(name, optional) TRUSTING_ROW(name, optional, "")

/* The tables of systems, cone programs and rollouts, of data, models and training, and of plans; a row
 * without a name ends them. */
extern const public_call engine_calls[], learning_calls[], plan_calls[], fit_calls[];

/* By index, and by name; NULL if there is none. */
const public_call *public_call_at(int index);
const public_call *public_call_of(const char *function);

#endif
