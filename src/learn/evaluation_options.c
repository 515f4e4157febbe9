/* The table of carom_evaluation_options. */
#include "learn/options.h"
#include "rollout/rollout_options.h"

static const option_field fields[] = {
    {OPTION(carom_evaluation_options, steps), OPTION_RANGE(1, 1000000), .value = 50,
     .flag = "steps", .argument = "N", .help = "time steps of the longer predictions"},
    {OPTION(carom_evaluation_options, truth_known), .value = true, .flag = "no-truth",
     .help = "compare with the data alone, not with a simulation of the scene: for data of your "
             "own, whose masses and friction the scene file does not know"},
    {OPTION(carom_evaluation_options, contact), .names = contact_choices},
    {OPTION(carom_evaluation_options, threads), OPTION_RANGE(0, MAX_THREADS), .role = OPTION_SPEED},
};
const option_table evaluation_option_table = OPTION_TABLE(fields);

carom_evaluation_options carom_evaluation_default_options(void) {
  carom_evaluation_options options = {0};
  options_set_defaults(&evaluation_option_table, &options);
  return options;
}
