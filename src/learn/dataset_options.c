/* The table of carom_dataset_options. */
#include "learn/options.h"
#include "rollout/rollout_options.h"
#include "system/system.h"

#include <limits.h>

static const char *const velocity_names[] = {"given",   "next",     "previous",
                                             "central", "estimate", NULL};

const char *carom_velocity_name(carom_velocity velocity) {
  return (int)velocity >= 0 && velocity < CAROM_VELOCITY_COUNT ? velocity_names[velocity] : "";
}

static const option_field fields[] = {
    {OPTION(carom_dataset_options, train), OPTION_RANGE(1, INT_MAX), .value = 800, .flag = "train",
     .argument = "N", .heading = "Data", .help = "chunks to train on"},
    {OPTION(carom_dataset_options, validation), .file = "val", OPTION_RANGE(0, INT_MAX),
     .value = 100, .flag = "val", .argument = "N", .heading = "Data",
     .help = "chunks to validate with"},
    {OPTION(carom_dataset_options, test), OPTION_RANGE(0, INT_MAX), .value = 100, .flag = "test",
     .argument = "N", .heading = "Data", .help = "chunks to test with"},
    {OPTION(carom_dataset_options, chunk), OPTION_RANGE(2, 1000000), .value = 5, .flag = "chunk",
     .argument = "N", .heading = "Data", .help = "states of a chunk"},
    {OPTION(carom_dataset_options, steps), OPTION_RANGE(0, INT_MAX - 1), .role = OPTION_SCENE,
     .flag = "steps", .argument = "N", .heading = "Data",
     .help = "time steps of the simulated trajectories"},
    {OPTION(carom_dataset_options, contact_share), .file = "share", OPTION_RANGE(0, 1),
     .value = 0.5, .flag = "share", .argument = "X", .heading = "Data",
     .help = "share of the chunks that contain a contact, as far as there are enough of them"},
    {OPTION(carom_dataset_options, noise), OPTION_AT_LEAST(0), .flag = "noise", .argument = "X",
     .heading = "Data", .help = "standard deviation of Gaussian noise on the states"},
    {OPTION(carom_dataset_options, velocity), .names = velocity_names, .role = OPTION_LATER,
     .flag = "velocity", .argument = "NAME", .heading = "Data",
     .help =
         "velocities of given trajectories: as they are (given), of the step that led to each "
         "state (next: x_k+1 = x_k + v_k+1 dt) or of the one that follows (previous), both moved "
         "to the state; or computed from positions, by central differences or parabolas through "
         "five states (estimate). Each side of an impact by itself"},
    {OPTION(carom_dataset_options, project), .role = OPTION_LATER, .flag = "project",
     .heading = "Data",
     .help = "put given states on the constraints, by the shortest way, however far off they are"},
    {OPTION(carom_dataset_options, seed), .role = OPTION_ELSEWHERE},
    {OPTION(carom_dataset_options, threads), OPTION_RANGE(0, MAX_THREADS), .role = OPTION_SPEED},
};
const option_table dataset_option_table = OPTION_TABLE(fields);

carom_dataset_options carom_dataset_default_options(const carom_system *system) {
  carom_dataset_options options = {0};
  options_set_defaults(&dataset_option_table, &options);
  if (system != NULL) options.steps = system->steps;
  return options;
}
