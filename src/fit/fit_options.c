/* The table of carom_fit_options. */
#include "fit/fit_options.h"

#include "base/threads.h"

static const char *const velocity_choices[] = {"given",   "next",     "previous",
                                               "central", "estimate", NULL};

static const char *const first_state_choices[] = {"measured", "flight", NULL};

static const option_field fields[] = {
    {OPTION(carom_fit_options, piece), OPTION_RANGE(2, 1000000), .value = 60, .flag = "piece",
     .argument = "N", .heading = "Fit",
     .help = "states of a piece of a trajectory, whose first state is an unknown"},
    {OPTION(carom_fit_options, join), OPTION_RANGE(0, 1e6), .value = 0.01, .flag = "join",
     .argument = "X", .heading = "Fit",
     .help =
         "how far the end of a piece may be from the start of the next one, in deviations of the "
         "noise; 0: pieces are not joined. The larger, the less errors of the model add up"},
    {OPTION(carom_fit_options, horizon), OPTION_RANGE(0, 1000000), .value = 0, .flag = "horizon",
     .argument = "N", .heading = "Fit",
     .help = "find what predicts N states from the first one of each trajectory best, instead of "
             "what explains pieces up to the noise: for real data, which no model explains; 0: no"},
    {OPTION(carom_fit_options, first_state), .names = first_state_choices, .flag = "first-state",
     .argument = "NAME", .heading = "Fit",
     .help = "where predictions over whole trajectories begin: at the first state as it was "
             "measured, or at the one that explains the flight up to the first contact best "
             "(flight): its measurement is often the worst"},
    {OPTION(carom_fit_options, huber), OPTION_RANGE(0, 1e9), .value = 4, .flag = "huber",
     .argument = "X", .heading = "Fit",
     .help = "residuals beyond so many deviations count by their size, not its square; 0: squares"},
    {OPTION(carom_fit_options, free_states), .value = true, .flag = "exact-states",
     .heading = "Fit", .help = "begin each piece where it was measured, as if there were no noise"},
    {OPTION(carom_fit_options, use_velocities), .value = true, .flag = "positions-only",
     .heading = "Fit", .help = "do not compare velocities and rates"},
    {OPTION(carom_fit_options, search), .value = true, .flag = "no-search", .heading = "Fit",
     .help = "do not try friction and restitution far from where they stand"},
    {OPTION(carom_fit_options, iterations), OPTION_RANGE(1, 1000000), .value = 60,
     .flag = "iterations", .argument = "N", .heading = "Fit",
     .help = "of each minimisation at most"},
    {OPTION(carom_fit_options, tolerance), OPTION_RANGE(0, 1), .value = 1e-10, .flag = "tolerance",
     .argument = "X", .heading = "Fit",
     .help = "relative change of the cost at which a minimisation ends"},
    {OPTION(carom_fit_options, project), .flag = "project", .heading = "Data",
     .help = "put measured states on the constraints, however far off they are"},
    {OPTION(carom_fit_options, velocity), .names = velocity_choices, .flag = "velocity",
     .argument = "NAME", .heading = "Data",
     .help = "velocities of the data: as they are (given), of the step that led to each state "
             "(next) or "
             "of the one that follows (previous), or computed from positions: central, estimate"},
    {OPTION(carom_fit_options, position_noise), OPTION_AT_LEAST(0), .flag = "position-noise",
     .argument = "X", .heading = "Noise",
     .help = "standard deviation of a measured coordinate; 0: estimated"},
    {OPTION(carom_fit_options, velocity_noise), OPTION_AT_LEAST(0), .flag = "velocity-noise",
     .argument = "X", .heading = "Noise", .help = "of a component of a velocity; 0: estimated"},
    {OPTION(carom_fit_options, angle_noise), OPTION_AT_LEAST(0), .flag = "angle-noise",
     .argument = "X", .heading = "Noise", .help = "of an angle, in radians; 0: estimated"},
    {OPTION(carom_fit_options, rate_noise), OPTION_AT_LEAST(0), .flag = "rate-noise",
     .argument = "X", .heading = "Noise", .help = "of an angular velocity; 0: estimated"},
    {OPTION(carom_fit_options, threads), OPTION_RANGE(0, MAX_THREADS), .role = OPTION_SPEED},
};
const option_table fit_option_table = OPTION_TABLE(fields);

carom_fit_options carom_fit_default_options(void) {
  carom_fit_options options = {0};
  options_set_defaults(&fit_option_table, &options);
  return options;
}
