/* Calls of plans. */
#include "support/public_calls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "{\"carom_plan\": 1, \"name\": \"swing\", \"scene\": \"cp3\", \"rollout\": {\"steps\": 4},"
    " \"unknowns\": [{\"body\": \"a\", \"quantity\": \"velocity\"}],"
    " \"objective\": [{\"term\": \"position\", \"body\": \"c\", \"target\": [0, 0]}],"
    " \"optimizer\": {\"iterations\": 1}}";

carom_plan *make_plan_object(void) {
  carom_plan *made;
  assert_int_equal(carom_plan_parse(text, strlen(text), NULL, &made, NULL), CAROM_OK);
  return made;
}

static carom_plan_options small_plan_options(void) {
  carom_plan_options options = carom_plan_default_options();
  options.iterations = 1;
  options.threads = 1;
  return options;
}

static outcome try_plan_load(trial *t) {
  carom_plan *made = garbage;
  outcome o = {.status = carom_plan_load(P(name_or_path, "hit"), P(plan, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_plan_destroy(made);
  return o;
}

static outcome try_plan_parse(trial *t) {
  carom_plan *made = garbage;
  outcome o = {.status = carom_plan_parse(P(json, text), sizeof text - 1, P(origin, "text"),
                                          P(plan, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_plan_destroy(made);
  return o;
}

static outcome try_plan_destroy(trial *t) {
  carom_plan *made = make_plan_object();
  carom_plan_destroy(P(plan, made));
  if (t->name != NULL) carom_plan_destroy(made);
  return (outcome){.harmless = true};
}

static outcome try_plan_count(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_plan_count() == 5};
}

static outcome try_plan_name(trial *t) {
  return (outcome){.harmless = carom_plan_name(N(index, 0)) == NULL};
}

static outcome try_plan_text(trial *t) {
  return (outcome){.harmless = carom_plan_text(N(index, 0)) == NULL};
}

static outcome try_plan_default_options(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_plan_default_options().iterations == 200};
}

static outcome try_plan_describe(trial *t) {
  return (outcome){.harmless = carom_plan_describe(P(plan, have.plan)).unknown_count == 0};
}

static outcome try_plan_unknown(trial *t) {
  return (outcome){.harmless = carom_plan_unknown(P(plan, have.plan), N(index, 0)).name[0] == '\0'};
}

static outcome try_plan_term_label(trial *t) {
  char buffer[64] = "";
  carom_plan_term_label(P(plan, have.plan), N(term, 0), P(buffer, buffer), sizeof buffer);
  return (outcome){.harmless = buffer[0] == '\0'};
}

static outcome try_plan_set_rollout(trial *t) {
  carom_rollout_options options = carom_plan_describe(have.plan).rollout;
  outcome o = {.status = carom_plan_set_rollout(P(plan, have.plan), O(options, options), ERROR)};
  const carom_rollout_options before = small_rollout_options();
  assert_int_equal(carom_plan_set_rollout(have.plan, &before, NULL), CAROM_OK);
  return o;
}

static outcome try_plan_set_model(trial *t) {
  outcome o = {.status = carom_plan_set_model(P(plan, have.plan), P(model, have.model), ERROR)};
  assert_int_equal(carom_plan_set_model(have.plan, NULL, NULL), CAROM_OK);
  return o;
}

static outcome try_plan_loss(trial *t) {
  const double z[] = {0.1, 0.2};
  double loss, gradient[2], terms[1];
  int missing;
  return (outcome){.status = carom_plan_loss(P(plan, have.plan), P(unknowns, z), P(loss, &loss),
                                             P(gradient, gradient), P(terms, terms),
                                             P(missing, &missing), ERROR)};
}

static outcome try_plan_motion(trial *t) {
  const double z[] = {0.1, 0.2};
  uint8_t contacts[STEPS + 1];
  double none[1];
  return (outcome){.status =
                       carom_plan_motion(P(plan, have.plan), P(unknowns, z), P(x, have.x),
                                         P(v, have.v), P(contacts, contacts), P(u, none), ERROR)};
}

static outcome try_plan_stop_text(trial *t) {
  return (outcome){.harmless = carom_plan_stop_text(N(stop, CAROM_PLAN_GOAL))[0] == '\0'};
}

static bool go_on(void *user, const carom_plan_progress *progress) {
  (void)user;
  return progress->total > 0;
}

static outcome try_plan_solve(trial *t) {
  carom_plan_options options = small_plan_options();
  carom_plan_result *made = garbage;
  outcome o = {.status =
                   carom_plan_solve(P(plan, have.plan), O(options, options), P(callback, go_on),
                                    P(user, &have), P(result, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_plan_result_destroy(made);
  return o;
}

static carom_plan_result *make_result(void) {
  const carom_plan_options options = small_plan_options();
  carom_plan_result *made;
  assert_int_equal(carom_plan_solve(have.plan, &options, NULL, NULL, &made, NULL), CAROM_OK);
  return made;
}

static outcome try_plan_result_destroy(trial *t) {
  carom_plan_result *made = make_result();
  carom_plan_result_destroy(P(result, made));
  if (t->name != NULL) carom_plan_result_destroy(made);
  return (outcome){.harmless = true};
}

static outcome try_plan_result_write(trial *t) {
  carom_plan_result *made = make_result();
  outcome o = {.status = carom_plan_result_write(P(result, made), P(plan, have.plan),
                                                 P(path, "plan.h5"), ERROR)};
  carom_plan_result_destroy(made);
  return o;
}

const public_call plan_calls[] = {
    ROW(plan_load, ""),
    ROW(plan_parse, "origin"),
    ROW(plan_destroy, ""),
    ROW(plan_count, ""),
    ROW(plan_name, ""),
    ROW(plan_text, ""),
    ROW(plan_default_options, ""),
    ROW(plan_describe, ""),
    ROW(plan_unknown, ""),
    ROW(plan_term_label, ""),
    ROW(plan_set_rollout, ""),
    ROW(plan_set_model, "model"),
    ROW(plan_loss, "loss gradient terms missing"),
    ROW(plan_motion, "x v contacts u"),
    ROW(plan_stop_text, ""),
    TRUSTING_ROW(plan_solve, "options callback user",
                 "options.iterations options.starts options.threads"),
    ROW(plan_result_destroy, ""),
    ROW(plan_result_write, ""),
    {0},
};
