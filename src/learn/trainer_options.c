/* The table of carom_trainer_options. */
#include "learn/options.h"

#include <limits.h>

static const char *const schedule_choices[] = {"constant", "cosine", NULL};

static const option_field fields[] = {
    {OPTION(carom_trainer_options, epochs), OPTION_RANGE(0, INT_MAX - 1), .value = 300,
     .role = OPTION_PAPER, .paper = 1000, .flag = "epochs", .argument = "N", .heading = "Training",
     .help = "passes over the training chunks"},
    {OPTION(carom_trainer_options, batch), OPTION_RANGE(1, INT_MAX), .value = 200, .flag = "batch",
     .argument = "N", .heading = "Training", .help = "chunks of a batch"},
    {OPTION(carom_trainer_options, learning_rate), OPTION_POSITIVE, .value = 4e-3,
     .role = OPTION_PAPER, .paper = 1e-3, .flag = "lr", .argument = "X", .heading = "Training",
     .help = "learning rate"},
    {OPTION(carom_trainer_options, property_rate), OPTION_POSITIVE, .value = 10,
     .role = OPTION_PAPER, .paper = 1, .flag = "property-rate", .argument = "X",
     .heading = "Training",
     .help = "rate of masses, friction and restitution, times the learning rate"},
    {OPTION(carom_trainer_options, beta1), OPTION_RANGE(0, 1), .high_open = true, .value = 0.9},
    {OPTION(carom_trainer_options, beta2), OPTION_RANGE(0, 1), .high_open = true, .value = 0.999},
    {OPTION(carom_trainer_options, epsilon), OPTION_POSITIVE, .value = 1e-8},
    {OPTION(carom_trainer_options, weight_decay), OPTION_AT_LEAST(0), .value = 1e-4,
     .flag = "weight-decay", .argument = "X", .heading = "Training",
     .help = "weight decay of the optimiser, AdamW"},
    {OPTION(carom_trainer_options, schedule), .names = schedule_choices, .value = CAROM_COSINE,
     .role = OPTION_PAPER, .paper = CAROM_CONSTANT, .flag = "schedule", .argument = "NAME",
     .heading = "Training",
     .help = "cosine, which falls to the final rate at the last epoch, or constant"},
    {OPTION(carom_trainer_options, final_rate), OPTION_RANGE(0, 1), .value = 2e-4,
     .flag = "final-rate", .argument = "X", .heading = "Training",
     .help = "last rate of cosine, times the learning rate"},
    {OPTION(carom_trainer_options, search_every), OPTION_RANGE(0, INT_MAX), .value = 25,
     .role = OPTION_PAPER, .paper = 0, .flag = "search-every", .argument = "N",
     .heading = "Training",
     .help = "try frictions and restitutions far from where they stand every N epochs; 0: never"},
    {OPTION(carom_trainer_options, patience), OPTION_RANGE(0, INT_MAX), .role = OPTION_LATER,
     .flag = "patience", .argument = "N", .heading = "Training",
     .help = "end when N epochs have brought no lower validation loss; 0: never"},
    {OPTION(carom_trainer_options, seed), .role = OPTION_ELSEWHERE},
};
const option_table trainer_option_table = OPTION_TABLE(fields);

carom_trainer_options carom_trainer_default_options(void) {
  carom_trainer_options options = {0};
  options_set_defaults(&trainer_option_table, &options);
  return options;
}

carom_trainer_options carom_trainer_paper_options(void) {
  carom_trainer_options options = carom_trainer_default_options();
  options_set_paper(&trainer_option_table, &options);
  return options;
}
