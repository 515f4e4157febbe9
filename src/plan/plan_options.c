/* The table of carom_plan_options. */
#include "plan/plan_options.h"

#include <limits.h>

#include "base/threads.h"

static const char *const optimizer_choices[] = {[CAROM_GRADIENT_DESCENT] = "gradient-descent",
                                                [CAROM_ADAMW] = "adamw",
                                                [CAROM_LBFGS] = "l-bfgs",
                                                NULL};
static const char *const schedule_choices[] = {"constant", "cosine", NULL};

static const option_field fields[] = {
    {OPTION(carom_plan_options, optimizer), .names = optimizer_choices, .value = CAROM_LBFGS,
     .flag = "optimizer", .argument = "NAME", .heading = "Optimiser",
     .help = "gradient-descent, adamw or l-bfgs"},
    {OPTION(carom_plan_options, iterations), OPTION_RANGE(0, 100000000), .value = 200,
     .flag = "iterations", .argument = "N", .heading = "Optimiser", .help = "iterations at most"},
    {OPTION(carom_plan_options, learning_rate), OPTION_POSITIVE, .value = 0.1, .flag = "lr",
     .argument = "X", .heading = "Optimiser",
     .help = "learning rate; of l-bfgs the length of the first step"},
    {OPTION(carom_plan_options, schedule), .names = schedule_choices, .flag = "schedule",
     .argument = "NAME", .heading = "Optimiser",
     .help = "constant, or cosine, which falls to the final rate at the last iteration"},
    {OPTION(carom_plan_options, final_rate), OPTION_RANGE(0, 1), .flag = "final-rate",
     .argument = "X", .heading = "Optimiser",
     .help = "last rate of cosine, times the learning rate"},
    {OPTION(carom_plan_options, beta1), OPTION_RANGE(0, 1), .high_open = true, .value = 0.9},
    {OPTION(carom_plan_options, beta2), OPTION_RANGE(0, 1), .high_open = true, .value = 0.999},
    {OPTION(carom_plan_options, epsilon), OPTION_POSITIVE, .value = 1e-8},
    {OPTION(carom_plan_options, weight_decay), OPTION_AT_LEAST(0)},
    {OPTION(carom_plan_options, memory), OPTION_RANGE(1, 1000), .value = 10},
    {OPTION(carom_plan_options, goal), OPTION_AT_LEAST(0), .flag = "goal", .argument = "X",
     .heading = "Optimiser", .help = "end, with success, at a loss below X; 0: no goal"},
    {OPTION(carom_plan_options, gradient_tolerance), OPTION_AT_LEAST(0),
     .flag = "gradient-tolerance", .argument = "X", .heading = "Optimiser",
     .help = "end where the norm of the gradient is below X; 0: never"},
    {OPTION(carom_plan_options, starts), OPTION_RANGE(1, 1000000), .value = 1, .flag = "starts",
     .argument = "N", .heading = "Optimiser",
     .help = "starts to try, at once on several threads; the best is kept"},
    {OPTION(carom_plan_options, seed), .flag = "seed", .argument = "S", .heading = "Optimiser",
     .help = "seed of starts that are drawn"},
    {OPTION(carom_plan_options, threads), OPTION_RANGE(0, MAX_THREADS), .role = OPTION_SPEED},
};
const option_table plan_option_table = OPTION_TABLE(fields);

carom_plan_options carom_plan_default_options(void) {
  carom_plan_options options = {0};
  options_set_defaults(&plan_option_table, &options);
  return options;
}
