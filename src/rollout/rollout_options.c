#include "rollout/rollout_options.h"

#include "base/error.h"
#include "contact/cone_options.h"
#include "system/system.h"

#include <limits.h>

const char *const dynamics_choices[] = {"lagrangian", "hamiltonian", NULL};
const char *const contact_choices[] = {"cm", "cmr", "lcp", NULL};

static const option_field fields[] = {
    {OPTION(carom_rollout_options, steps), OPTION_RANGE(0, INT_MAX - 1), .role = OPTION_SCENE,
     .flag = "steps", .argument = "N", .heading = "Simulation", .help = "time steps"},
    {OPTION(carom_rollout_options, dt), OPTION_POSITIVE, .role = OPTION_SCENE, .flag = "dt",
     .argument = "H", .heading = "Simulation", .help = "length of a time step"},
    {OPTION(carom_rollout_options, substeps), OPTION_RANGE(1, 1000000), .value = 1,
     .flag = "substeps", .argument = "N", .heading = "Simulation",
     .help = "integrator steps in a time step"},
    {OPTION(carom_rollout_options, integrator), .names = integrator_names, .role = OPTION_SCENE,
     .flag = "integrator", .argument = "NAME", .heading = "Simulation",
     .help = "rk4, rk4-secant, euler or symplectic-euler"},
    {OPTION(carom_rollout_options, dynamics), .names = dynamics_choices, .flag = "dynamics",
     .argument = "NAME", .heading = "Simulation", .help = "lagrangian or hamiltonian"},
    {OPTION(carom_rollout_options, stabilize), .role = OPTION_SCENE, .flag = "stabilize",
     .heading = "Simulation",
     .help = "put states on the constraints after each time step: for long runs"},
    {OPTION(carom_rollout_options, contact_time), .names = contact_time_names, .role = OPTION_SCENE,
     .flag = "contact-time", .argument = "WHEN", .heading = "Contacts",
     .help = "contacts act at the end of a time step (step), or when their gap closes (event)"},
    {OPTION(carom_rollout_options, contact), .names = contact_choices, .flag = "contact",
     .argument = "NAME", .heading = "Contacts",
     .help = "cm, cmr: with A + epsilon I, or lcp: pyramids of friction, Newton's restitution"},
    {OPTION(carom_rollout_options, friction), .names = friction_names, .role = OPTION_SCENE,
     .flag = "friction", .argument = "LAW", .heading = "Contacts",
     .help = "convex, as the paper has it, or coulomb"},
    {OPTION(carom_rollout_options, hold_contacts), .role = OPTION_SCENE, .flag = "hold-contacts",
     .heading = "Contacts",
     .help = "let friction act on positions too: bodies that stick do not creep down slopes"},
    {OPTION(carom_rollout_options, compensation), .names = compensation_names, .role = OPTION_SCENE,
     .flag = "compensation", .argument = "NAME", .heading = "Contacts",
     .help = "how overlaps are undone: position, or paper: by a target velocity"},
    {OPTION(carom_rollout_options, penetration_compensation), .value = true,
     .flag = "no-compensation", .heading = "Contacts", .help = "leave penetrations as they are"},
    {OPTION(carom_rollout_options, compensation_steps), OPTION_RANGE(1e-3, 1e9), .value = 8,
     .flag = "compensation-steps", .argument = "X", .heading = "Contacts",
     .help = "time steps in which a penetration is undone"},
    {OPTION(carom_rollout_options, stop_target_gradient), .flag = "stop-target-gradient",
     .heading = "Contacts",
     .help = "leave the target velocity out of the derivative, as the paper does"},
    {OPTION(carom_rollout_options, cone.tolerance), CONE_TOLERANCE, .flag = "cone-tolerance",
     .heading = "Contacts"},
    {OPTION(carom_rollout_options, cone.max_iterations), CONE_MAX_ITERATIONS,
     .flag = "cone-iterations", .heading = "Contacts"},
    {OPTION(carom_rollout_options, cone.smoothing), CONE_SMOOTHING, .flag = "smoothing",
     .heading = "Contacts"},
    {OPTION(carom_rollout_options, threads), OPTION_RANGE(0, MAX_THREADS), .role = OPTION_SPEED},
    {OPTION(carom_rollout_options, shard_size), OPTION_RANGE(1, 1 << 16), .value = 8},
    {OPTION(carom_rollout_options, keep_impacts), .role = OPTION_SPEED},
};
const option_table rollout_option_table = OPTION_TABLE(fields);

carom_rollout_options carom_rollout_default_options(const carom_system *system) {
  carom_rollout_options options = {0};
  options_set_defaults(&rollout_option_table, &options);
  if (system == NULL) return options;
  options.steps = system->steps;
  options.dt = system->dt;
  options.integrator = system->integrator;
  options.compensation = system->compensation;
  options.friction = system->friction_law;
  options.hold_contacts = system->hold_contacts;
  options.contact_time = system->contact_time;
  options.stabilize = system->stabilize;
  return options;
}

carom_status contact_model_check(const carom_system *system, carom_contact_model contact,
                                 carom_error *error) {
  if (contact != CAROM_LCP || system->contact_count > 0) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "the contact model is lcp, but scene '%s' has no contacts: leave it at cm",
                   system->name);
}

carom_status rollout_options_check(const carom_system *system, const carom_rollout_options *options,
                                   carom_error *error) {
  carom_status status = options_check(&rollout_option_table, options, error);
  if (status == CAROM_OK) status = contact_model_check(system, options->contact, error);
  if (status == CAROM_OK && options->contact == CAROM_LCP && options->cone.smoothing > 0)
    status =
        error_set(error, CAROM_INVALID_ARGUMENT,
                  "smoothing is %g, but it belongs to cone programs: the contact model lcp has "
                  "none, take cm or cmr, or smoothing 0",
                  options->cone.smoothing);
  return status;
}
