/* Calls of systems, parameters, cone programs, rollouts and their files. */
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

#include "support/systems.h"

/* ---- thunks: systems and parameters ---------------------------------------------------------- */

static outcome try_status_text(trial *t) {
  return (outcome){.harmless = carom_status_text(N(status, CAROM_OK)) != NULL};
}

static outcome try_error_set(trial *t) {
  const carom_status status = (carom_status)N(status, CAROM_OK);
  return (outcome){.status = carom_error_set(ERROR, status, P(format, "%s"), "well")};
}

static outcome try_name_nearest(trial *t) {
  static const char *const names[] = {"mass", NULL};
  return (outcome){.harmless = carom_name_nearest(P(text, "mas"), P(names, names)) == NULL};
}

static outcome try_version(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_version() != NULL};
}

static outcome try_version_number(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_version_number() >= 0};
}

static outcome try_system_load(trial *t) {
  carom_system *made = garbage;
  outcome o = {.status = carom_system_load(P(name_or_path, "cp3"), P(system, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_system_destroy(made);
  return o;
}

static outcome try_system_parse(trial *t) {
  const char *text = carom_scene_text(0);
  carom_system *made = garbage;
  outcome o = {.status = carom_system_parse(P(json, text), strlen(text), P(origin, "text"),
                                            P(system, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_system_destroy(made);
  return o;
}

static outcome try_system_destroy(trial *t) {
  carom_system_destroy(P(system, load_system("cp3")));
  return (outcome){.harmless = true};
}

static outcome try_scene_count(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_scene_count() > 0};
}

static outcome try_scene_name(trial *t) {
  return (outcome){.harmless = carom_scene_name(N(index, 0)) == NULL};
}

static outcome try_scene_text(trial *t) {
  return (outcome){.harmless = carom_scene_text(N(index, 0)) == NULL};
}

static outcome try_system_describe(trial *t) {
  const carom_system_info info = carom_system_describe(P(system, have.system));
  return (outcome){.harmless = info.body_count == 0 && strlen(info.name) == 0 &&
                               strlen(info.description) == 0 && strlen(info.json) == 0};
}

static outcome try_system_body_id(trial *t) {
  return (outcome){.harmless = carom_system_body_id(P(system, have.system), N(body, 0)) == NULL};
}

static outcome try_system_contact_label(trial *t) {
  char label[64] = "before";
  carom_system_contact_label(P(system, have.system), N(contact, 0), P(buffer, label), sizeof label);
  const bool untouched = t->name != NULL && strcmp(t->name, "buffer") == 0;
  return (outcome){.harmless = strcmp(label, untouched ? "before" : "") == 0};
}

static outcome try_system_sample(trial *t) {
  return (outcome){.status = carom_system_sample(P(system, have.system), 1, N(count, BATCH),
                                                 P(x0, have.x), P(v0, have.v), ERROR)};
}

static outcome try_system_check_states(trial *t) {
  return (outcome){.status = carom_system_check_states(P(system, have.system), N(count, BATCH),
                                                       P(x, have.x0), P(v, have.v0),
                                                       D(tolerance, 1e-6), ERROR)};
}

static outcome try_parameters_count(trial *t) {
  return (outcome){.harmless = carom_parameters_count(P(system, have.system)) == 0};
}

static outcome try_parameters_segment(trial *t) {
  const carom_segment_info info =
      carom_parameters_segment(P(system, have.system), N(segment, CAROM_FRICTION));
  return (outcome){.harmless = info.size == 0 && strlen(info.name) == 0};
}

static outcome try_parameters_default(trial *t) {
  double theta[MOST_NUMBERS] = {[0] = 99};
  carom_parameters_default(P(system, have.system), P(theta, theta));
  return (outcome){.harmless = theta[0] == 99};
}

static outcome try_parameters_check(trial *t) {
  return (outcome){.status =
                       carom_parameters_check(P(system, have.system), P(theta, have.theta), ERROR)};
}

static outcome try_system_body_is_rigid(trial *t) {
  return (outcome){.harmless = !carom_system_body_is_rigid(P(system, have.system), N(body, 0))};
}

static outcome try_system_control(trial *t) {
  const carom_control_info info = carom_system_control(P(system, have.system), N(control, 0));
  return (outcome){.harmless = info.body == -1 && info.size == 0 && info.id != NULL};
}

static outcome try_states_read(trial *t) {
  carom_states made = {.x = garbage, .v = garbage};
  outcome o = {.status = carom_states_read(P(system, have.system), P(path, "states.h5"),
                                           P(states, &made), ERROR)};
  o.made = P(states, made.x);
  if (made.x != garbage) carom_states_free(&made);
  return o;
}

carom_states some_states(void) {
  const carom_system_info info = carom_system_describe(have.system);
  return (carom_states){.batch = BATCH,
                        .point_count = info.point_count,
                        .dimension = info.dimension,
                        .x = have.x0,
                        .v = have.v0};
}

static outcome try_states_write(trial *t) {
  const carom_states states = some_states();
  return (outcome){.status = carom_states_write(P(states, &states), P(system, have.system),
                                                P(path, "other.h5"), ERROR)};
}

static outcome try_states_free(trial *t) {
  carom_states none = {0};
  carom_states_free(P(states, &none));
  return (outcome){.harmless = true};
}

static outcome try_parameters_read(trial *t) {
  return (outcome){.status = carom_parameters_read(P(system, have.system), P(path, "theta.h5"),
                                                   P(theta, have.theta), ERROR)};
}

static outcome try_parameters_write(trial *t) {
  return (outcome){.status = carom_parameters_write(P(system, have.system), P(theta, have.theta),
                                                    P(path, "other.h5"), ERROR)};
}

static outcome try_parameters_mass_ratio(trial *t) {
  return (outcome){.harmless = isnan(carom_parameters_mass_ratio(
                       P(system, have.system), P(theta, have.theta), N(body, 0)))};
}

static outcome try_parameters_inertia(trial *t) {
  return (outcome){.harmless = isnan(carom_parameters_inertia(P(system, have.system),
                                                              P(theta, have.theta), N(body, 0)))};
}

/* ---- thunks: the cone program ---------------------------------------------------------------- */

static const double matrix[4] = {1, 0, 0, 1}, slope[2] = {-1, 0.5}, friction[1] = {0.3};

carom_cone_program small_program(void) {
  return (carom_cone_program){
      .contact_count = 1, .dimension = 2, .A = matrix, .b = slope, .mu = friction};
}

static outcome try_cone_default_options(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_cone_default_options().max_iterations > 0};
}

static outcome try_cone_status_text(trial *t) {
  return (outcome){.harmless = carom_cone_status_text(N(status, CAROM_CONE_SOLVED)) != NULL};
}

static outcome try_cone_solver_create(trial *t) {
  carom_cone_solver *made = garbage;
  outcome o = {.status = carom_cone_solver_create(P(solver, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_cone_solver_destroy(made);
  return o;
}

static outcome try_cone_solver_destroy(trial *t) {
  carom_cone_solver *made;
  assert_int_equal(carom_cone_solver_create(&made, NULL), CAROM_OK);
  carom_cone_solver_destroy(P(solver, made));
  if (t->name != NULL) carom_cone_solver_destroy(made);
  return (outcome){.harmless = true};
}

static outcome try_cone_solver_solve(trial *t) {
  const carom_cone_program program = small_program();
  carom_cone_options options = carom_cone_default_options();
  double f[2];
  carom_cone_info info;
  return (outcome){.status = carom_cone_solver_solve(P(solver, have.solver), P(program, &program),
                                                     O(options, options), P(f, f), P(info, &info),
                                                     ERROR)};
}

static outcome try_cone_solver_vjp(trial *t) {
  const carom_cone_program program = small_program();
  double f[2], A_bar[4], b_bar[2], mu_bar[1], lower_bar[1];
  assert_int_equal(carom_cone_solver_solve(have.solver, &program, NULL, f, NULL, NULL), CAROM_OK);
  return (outcome){.status = carom_cone_solver_vjp(
                       P(solver, have.solver), P(f_bar, slope), P(A_bar, A_bar), P(b_bar, b_bar),
                       P(mu_bar, mu_bar), P(lower_bar, lower_bar), ERROR)};
}

static outcome try_cone_program_read(trial *t) {
  carom_cone_program made = {.A = garbage};
  outcome o = {.status =
                   carom_cone_program_read(P(path, "program.json"), P(program, &made), ERROR)};
  o.made = P(program, made.A);
  if (made.A != garbage) carom_cone_program_free(&made);
  return o;
}

static outcome try_cone_program_write(trial *t) {
  const carom_cone_program program = small_program();
  return (outcome){
      .status = carom_cone_program_write(P(program, &program), P(path, "other.json"), ERROR)};
}

static outcome try_cone_program_free(trial *t) {
  carom_cone_program none = {0};
  carom_cone_program_free(P(program, &none));
  return (outcome){.harmless = true};
}

/* ---- thunks: rollouts ------------------------------------------------------------------------ */

carom_rollout_options small_rollout_options(void) {
  carom_rollout_options options = carom_rollout_default_options(have.system);
  options.steps = STEPS;
  options.threads = 1;
  return options;
}

static outcome try_rollout_default_options(trial *t) {
  carom_rollout_options options = carom_rollout_default_options(P(system, have.system));
  return (outcome){.harmless = options.steps == 0 && options.dt == 0 && options.substeps == 1};
}

static outcome try_rollout_create(trial *t) {
  carom_rollout_options options = small_rollout_options();
  carom_rollout *made = garbage;
  outcome o = {.status = carom_rollout_create(P(system, have.system), O(options, options),
                                              N(batch, BATCH), P(rollout, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_rollout_destroy(made);
  return o;
}

static carom_status flat_gradient(void *user, int count, const double *x, double *gradient,
                                  carom_error *error) {
  (void)user;
  (void)count;
  (void)x;
  (void)gradient;
  return carom_error_set(error, CAROM_INTERRUPTED, "not to be called");
}

static carom_status flat_gradient_vjp(void *user, int count, const double *x, const double *bar,
                                      double *x_bar, double *parameters_bar, carom_error *error) {
  (void)bar;
  (void)parameters_bar;
  return flat_gradient(user, count, x, x_bar, error);
}

static outcome try_rollout_create_with_potential(trial *t) {
  const carom_potential flat = {.gradient = flat_gradient, .gradient_vjp = flat_gradient_vjp};
  carom_rollout_options options = small_rollout_options();
  carom_rollout *made = garbage;
  outcome o = {.status = carom_rollout_create_with_potential(
                   P(system, have.system), O(options, options), P(energy, &flat), N(batch, BATCH),
                   P(rollout, &made), ERROR)};
  o.made = made;
  if (made != garbage) carom_rollout_destroy(made);
  return o;
}

static outcome try_rollout_potential_bar(trial *t) {
  return (outcome){.harmless = carom_rollout_potential_bar(P(rollout, have.rollout)) == NULL};
}

static outcome try_rollout_destroy(trial *t) {
  carom_rollout_options options = small_rollout_options();
  carom_rollout *made;
  assert_int_equal(carom_rollout_create(have.system, &options, BATCH, &made, NULL), CAROM_OK);
  carom_rollout_destroy(P(rollout, made));
  if (t->name != NULL) carom_rollout_destroy(made);
  return (outcome){.harmless = true};
}

static outcome try_rollout_run(trial *t) {
  return (outcome){.status = carom_rollout_run(P(rollout, have.rollout), P(theta, have.theta),
                                               P(x0, have.x0), P(v0, have.v0), ERROR)};
}

static outcome try_rollout_positions(trial *t) {
  return (outcome){.harmless = carom_rollout_positions(P(rollout, have.rollout)) == NULL};
}

static outcome try_rollout_velocities(trial *t) {
  return (outcome){.harmless = carom_rollout_velocities(P(rollout, have.rollout)) == NULL};
}

static outcome try_rollout_contacts(trial *t) {
  return (outcome){.harmless = carom_rollout_contacts(P(rollout, have.rollout)) == NULL};
}

static outcome try_rollout_report(trial *t) {
  return (outcome){.harmless = carom_rollout_report(P(rollout, have.rollout)).time_steps == 0};
}

/* The scene has no controls, so that none can be set. */
static outcome try_rollout_set_controls(trial *t) {
  return (outcome){.status =
                       carom_rollout_set_controls(P(rollout, have.rollout), P(u, NULL), ERROR)};
}

static outcome try_rollout_controls(trial *t) {
  return (outcome){.harmless = carom_rollout_controls(P(rollout, have.rollout)) == NULL};
}

static outcome try_rollout_controls_bar(trial *t) {
  return (outcome){.harmless = carom_rollout_controls_bar(P(rollout, have.rollout)) == NULL};
}

static outcome try_rollout_vjp(trial *t) {
  double theta_bar[MOST_NUMBERS];
  assert_int_equal(carom_rollout_run(have.rollout, NULL, have.x0, have.v0, NULL), CAROM_OK);
  return (outcome){.status = carom_rollout_vjp(P(rollout, have.rollout), P(x_bar, have.x0),
                                               P(v_bar, have.x0), P(x0_bar, have.x),
                                               P(v0_bar, have.v), P(theta_bar, theta_bar), ERROR)};
}

static outcome try_rollout_impact_count(trial *t) {
  return (outcome){.harmless =
                       carom_rollout_impact_count(P(rollout, have.rollout), N(sample, 0)) == 0};
}

static outcome try_rollout_impact(trial *t) {
  const carom_impact none =
      carom_rollout_impact(P(rollout, have.rollout), N(sample, 0), N(index, 0));
  return (outcome){.harmless = none.step == -1 && none.contacts == NULL && none.x == NULL};
}

static outcome try_rollout_impact_bars(trial *t) {
  const carom_impact_bars none =
      carom_rollout_impact_bars(P(rollout, have.rollout), N(sample, 0), N(index, 0));
  return (outcome){.harmless = none.time == NULL && none.x == NULL && none.v_after == NULL};
}

static outcome try_rollout_failure_count(trial *t) {
  return (outcome){.harmless = carom_rollout_failure_count(P(rollout, have.rollout)) == 0};
}

static outcome try_rollout_failure(trial *t) {
  const carom_cone_program none = carom_rollout_failure(P(rollout, have.rollout), N(index, 0));
  return (outcome){.harmless = none.contact_count == 0 && none.A == NULL};
}

static outcome try_system_simulate(trial *t) {
  carom_rollout_options options = small_rollout_options();
  uint8_t contacts[BATCH * (STEPS + 1)];
  carom_report report;
  return (outcome){.status = carom_system_simulate(
                       P(system, have.system), O(options, options), P(theta, have.theta),
                       N(batch, BATCH), P(x0, have.x0), P(v0, have.v0), P(x, have.x), P(v, have.v),
                       P(contacts, contacts), P(report, &report), ERROR)};
}

static outcome try_system_energy(trial *t) {
  double kinetic, potential;
  return (outcome){.status = carom_system_energy(P(system, have.system), P(theta, have.theta),
                                                 P(x, have.x0), P(v, have.v0), P(kinetic, &kinetic),
                                                 P(potential, &potential), ERROR)};
}

static outcome try_system_body(trial *t) {
  return (outcome){.harmless =
                       carom_system_body(P(system, have.system), N(body, 0)).point_count == 0};
}

static outcome try_system_plane_count(trial *t) {
  return (outcome){.harmless = carom_system_plane_count(P(system, have.system)) == 0};
}

static outcome try_system_plane(trial *t) {
  return (outcome){.harmless = carom_system_plane(P(system, have.system), N(plane, 0)).offset == 0};
}

static outcome try_system_tie_count(trial *t) {
  return (outcome){.harmless = carom_system_tie_count(P(system, have.system)) == 0};
}

static outcome try_system_tie(trial *t) {
  return (outcome){.harmless = carom_system_tie(P(system, have.system), N(tie, 0)).length == 0};
}

static outcome try_place_position(trial *t) {
  const carom_place place = {.constant = {1, 2, 3}};
  double position[3] = {7, 7, 7};
  carom_place_position(P(place, &place), P(system, have.system), P(x, have.x0),
                       P(position, position));
  return (outcome){.harmless = position[0] == 7};
}

static outcome try_system_contacts(trial *t) {
  carom_contact_list made = {.items = garbage};
  outcome o = {.status = carom_system_contacts(P(system, have.system), P(x, have.x0),
                                               D(margin, 1.0), P(list, &made), ERROR)};
  o.made = P(list, made.items);
  if (made.items != garbage) carom_contact_list_free(&made);
  return o;
}

static outcome try_system_step_contacts(trial *t) {
  carom_rollout_options options = small_rollout_options();
  carom_contact_list made = {.items = garbage};
  outcome o = {.status = carom_system_step_contacts(
                   P(system, have.system), O(options, options), P(theta, have.theta), P(x, have.x0),
                   P(v, have.v0), P(u, have.x0), P(list, &made), ERROR)};
  o.made = P(list, made.items);
  if (made.items != garbage) carom_contact_list_free(&made);
  return o;
}

static outcome try_contact_list_free(trial *t) {
  carom_contact_list none = {0};
  carom_contact_list_free(P(list, &none));
  return (outcome){.harmless = true};
}

static outcome try_arrays_read(trial *t) {
  carom_arrays made = {.items = garbage};
  outcome o = {.status = carom_arrays_read(P(path, "states.h5"), P(arrays, &made), ERROR)};
  o.made = P(arrays, made.items);
  if (made.items != garbage) carom_arrays_free(&made);
  return o;
}

static outcome try_arrays_write(trial *t) {
  const carom_arrays none = {0};
  return (outcome){.status = carom_arrays_write(P(arrays, &none), P(path, "arrays.h5"), ERROR)};
}

static outcome try_arrays_find(trial *t) {
  const carom_arrays none = {0};
  return (outcome){.harmless = carom_arrays_find(P(arrays, &none), P(name, "x")) == NULL};
}

static outcome try_arrays_note(trial *t) {
  const carom_arrays none = {0};
  return (outcome){.harmless = carom_arrays_note(P(arrays, &none), P(name, "plan")) == NULL};
}

static outcome try_arrays_free(trial *t) {
  carom_arrays none = {0};
  carom_arrays_free(P(arrays, &none));
  return (outcome){.harmless = true};
}

static outcome try_rollout_run_count(trial *t) {
  return (outcome){.harmless = carom_rollout_run_count(P(rollout, have.rollout)) == 0};
}

static outcome try_cone_solver_solve_count(trial *t) {
  return (outcome){.harmless = carom_cone_solver_solve_count(P(solver, have.solver)) == 0};
}

static outcome try_ranks_begin(trial *t) { return (outcome){.status = carom_ranks_begin(ERROR)}; }

static outcome try_ranks_count(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_ranks_count() == 1};
}

static outcome try_ranks_index(trial *t) {
  (void)t;
  return (outcome){.harmless = carom_ranks_index() == 0};
}

static outcome try_ranks_agree(trial *t) {
  return (outcome){.status = carom_ranks_agree((carom_status)N(status, CAROM_OK), ERROR)};
}

static outcome try_ranks_sum(trial *t) {
  int64_t values[] = {1, 2};
  return (outcome){.status = carom_ranks_sum(N(count, 2), P(values, values), ERROR)};
}

// the first task ends them all
static bool one_task(void *user, int index) {
  (void)user;
  (void)index;
  return false;
}

static outcome try_ranks_share_out(trial *t) {
  int done = -1;
  return (outcome){.status = carom_ranks_share_out(N(count, 2), P(task, one_task), P(user, &done),
                                                   P(done, &done), ERROR)};
}

static outcome try_ranks_end(trial *t) {
  return (outcome){.harmless = carom_ranks_end(D(seconds, 1))};
}

// it would end the test
static outcome try_ranks_abort(trial *t) { return (outcome){.harmless = N(code, 0) != 1}; }

static outcome try_report_add(trial *t) {
  carom_report into = {.events = 1};
  const carom_report from = {.events = 2};
  carom_report_add(P(into, &into), P(from, &from));
  return (outcome){.harmless = into.events == 1};
}

static outcome try_report_counter(trial *t) {
  const carom_report report = {.events = 2};
  const carom_counter found = carom_report_counter(P(report, &report), N(index, 1));
  return (outcome){.harmless = found.name == NULL && found.value == 0};
}

static outcome try_trajectories_read(trial *t) {
  carom_trajectories made = {.x = garbage};
  outcome o = {.status = carom_trajectories_read(P(system, have.system), P(path, "trajectories.h5"),
                                                 P(trajectories, &made), ERROR)};
  o.made = P(trajectories, made.x);
  if (made.x != garbage) carom_trajectories_free(&made);
  return o;
}

static outcome try_trajectories_read_measured(trial *t) {
  carom_trajectories made = {.x = garbage};
  outcome o = {.status = carom_trajectories_read_measured(P(system, have.system),
                                                          P(path, "trajectories.h5"),
                                                          P(trajectories, &made), ERROR)};
  o.made = P(trajectories, made.x);
  if (made.x != garbage) carom_trajectories_free(&made);
  return o;
}

carom_trajectories some_trajectories(void) {
  const carom_system_info info = carom_system_describe(have.system);
  return (carom_trajectories){.batch = 1,
                              .state_count = BATCH,
                              .point_count = info.point_count,
                              .dimension = info.dimension,
                              .dt = info.dt,
                              .x = have.x0,
                              .v = have.v0};
}

static outcome try_trajectories_write(trial *t) {
  const carom_trajectories trajectories = some_trajectories();
  return (outcome){.status = carom_trajectories_write(P(trajectories, &trajectories),
                                                      P(system, have.system), P(path, "other.h5"),
                                                      ERROR)};
}

static outcome try_trajectories_free(trial *t) {
  carom_trajectories none = {0};
  carom_trajectories_free(P(trajectories, &none));
  return (outcome){.harmless = true};
}

carom_controls some_controls(void) {
  return (carom_controls){.batch = BATCH, .steps = STEPS, .dt = 0.01, .u = have.x0};
}

static outcome try_controls_read(trial *t) {
  carom_controls made = {.u = garbage};
  outcome o = {.status = carom_controls_read(P(system, have.pushed), P(path, "controls.h5"),
                                             P(controls, &made), ERROR)};
  o.made = P(controls, made.u);
  if (made.u != garbage) carom_controls_free(&made);
  return o;
}

static outcome try_controls_write(trial *t) {
  const carom_controls controls = some_controls();
  return (outcome){.status = carom_controls_write(P(controls, &controls), P(system, have.pushed),
                                                  P(path, "other.h5"), ERROR)};
}

static outcome try_controls_free(trial *t) {
  carom_controls none = {0};
  carom_controls_free(P(controls, &none));
  return (outcome){.harmless = true};
}

static outcome try_gradient_write(trial *t) {
  const carom_gradient gradient = {.batch = BATCH,
                                   .loss_each = have.x0,
                                   .x0_bar = have.x0,
                                   .v0_bar = have.v0,
                                   .theta_bar = have.theta};
  return (outcome){.status = carom_gradient_write(P(gradient, &gradient), P(system, have.system),
                                                  P(path, "other.h5"), ERROR)};
}

static outcome try_file_write(trial *t) {
  return (outcome){
      .status = carom_file_write(P(path, "bytes.txt"), P(bytes, (const void *)"text"), 4, ERROR)};
}

static outcome try_file_check(trial *t) {
  return (outcome){.status = carom_file_check(P(path, "fresh.h5"), ERROR)};
}

/* ---- the table ------------------------------------------------------------------------------- */

const public_call engine_calls[] = {
    ROW(status_text, ""),
    ROW(error_set, ""),
    ROW(name_nearest, ""),
    ROW(version, ""),
    ROW(version_number, ""),
    ROW(system_load, ""),
    ROW(system_parse, "origin"),
    ROW(system_destroy, ""),
    ROW(scene_count, ""),
    ROW(scene_name, ""),
    ROW(scene_text, ""),
    ROW(system_describe, ""),
    ROW(system_body_id, ""),
    ROW(system_contact_label, ""),
    TRUSTING_ROW(system_sample, "", "count"),
    TRUSTING_ROW(system_check_states, "", "count"),
    ROW(parameters_count, ""),
    ROW(parameters_segment, ""),
    ROW(parameters_default, ""),
    ROW(parameters_check, ""),
    ROW(cone_default_options, ""),
    ROW(cone_status_text, ""),
    ROW(cone_solver_create, ""),
    ROW(cone_solver_destroy, ""),
    ROW(cone_solver_solve, "options info"),
    ROW(cone_solver_solve_count, ""),
    ROW(cone_solver_vjp, "A_bar b_bar mu_bar lower_bar"),
    ROW(rollout_default_options, ""),
    ROW(ranks_begin, ""),
    ROW(ranks_count, ""),
    ROW(ranks_index, ""),
    ROW(ranks_agree, ""),
    ROW(ranks_sum, ""),
    ROW(ranks_share_out, "user done"),
    ROW(ranks_end, ""),
    ROW(ranks_abort, ""),
    ROW(report_add, ""),
    ROW(report_counter, ""),
    TRUSTING_ROW(rollout_create, "", "options.substeps"),
    TRUSTING_ROW(rollout_create_with_potential, "", "options.substeps"),
    ROW(rollout_potential_bar, ""),
    ROW(rollout_destroy, ""),
    ROW(rollout_run, "theta"),
    ROW(rollout_run_count, ""),
    ROW(rollout_positions, ""),
    ROW(rollout_velocities, ""),
    ROW(rollout_contacts, ""),
    ROW(rollout_report, ""),
    ROW(rollout_vjp, "x_bar v_bar x0_bar v0_bar theta_bar"),
    ROW(rollout_set_controls, "u"),
    ROW(rollout_controls, ""),
    ROW(rollout_controls_bar, ""),
    ROW(rollout_impact_count, ""),
    ROW(rollout_impact, ""),
    ROW(rollout_impact_bars, ""),
    ROW(rollout_failure_count, ""),
    ROW(rollout_failure, ""),
    TRUSTING_ROW(system_simulate, "theta contacts report", "batch options.steps options.substeps"),
    ROW(system_energy, "theta kinetic potential"),
    ROW(system_body_is_rigid, ""),
    ROW(system_control, ""),
    ROW(system_body, ""),
    ROW(system_plane_count, ""),
    ROW(system_plane, ""),
    ROW(system_tie_count, ""),
    ROW(system_tie, ""),
    ROW(place_position, ""),
    ROW(system_contacts, ""),
    ROW(system_step_contacts, "theta u"),
    ROW(contact_list_free, ""),
    ROW(arrays_read, ""),
    ROW(arrays_write, ""),
    ROW(arrays_find, ""),
    ROW(arrays_note, ""),
    ROW(arrays_free, ""),
    ROW(states_read, ""),
    ROW(states_write, ""),
    ROW(states_free, ""),
    ROW(parameters_read, ""),
    ROW(parameters_write, ""),
    ROW(parameters_mass_ratio, ""),
    ROW(parameters_inertia, ""),
    ROW(cone_program_read, ""),
    ROW(cone_program_write, ""),
    ROW(cone_program_free, ""),
    ROW(trajectories_read, ""),
    ROW(trajectories_read_measured, ""),
    ROW(trajectories_write, ""),
    ROW(trajectories_free, ""),
    ROW(controls_read, ""),
    ROW(controls_write, ""),
    ROW(controls_free, ""),
    ROW(gradient_write, ""),
    ROW(file_write, ""),
    ROW(file_check, ""),
    {0},
};
