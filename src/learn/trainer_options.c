/* The table of carom_trainer_options. */
#include "learn/options.h"

#include <limits.h>

static const char *const schedule_choices[] = {"constant", "cosine", NULL};
static const char *const balance_choices[] = {"measured", "always", "never", NULL};

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
    {OPTION(carom_trainer_options, estimate_states), .role = OPTION_LATER,
     .flag = "estimate-states", .heading = "Training",
     .help = "the first state of every chunk is unknown too, held to its measurement by the "
             "deviation of the noise: for noisy data, which otherwise biases what is learned"},
    {OPTION(carom_trainer_options, noise_deviation), OPTION_AT_LEAST(0), .role = OPTION_LATER,
     .flag = "noise-deviation", .argument = "X", .heading = "Training",
     .help = "of --estimate-states: standard deviation of the noise, as --noise has it; 0: "
             "estimated from the data"},
    {OPTION(carom_trainer_options, states_every), OPTION_RANGE(1, INT_MAX), .value = 5,
     .role = OPTION_LATER, .before = 5, .flag = "states-every", .argument = "N",
     .heading = "Training",
     .help = "of --estimate-states: epochs between two passes over "
             "states"},
    {OPTION(carom_trainer_options, warm_start), .value = true, .role = OPTION_PAPER | OPTION_LATER,
     .paper = false, .before = false, .flag = "no-warm-start", .heading = "Training",
     .help =
         "begin with descent: do not first solve for forces from steps without a contact, then for "
         "masses, frictions and restitutions (as the paper)"},
    {OPTION(carom_trainer_options, tolerance), OPTION_AT_LEAST(0), .value = 1e-6,
     .role = OPTION_PAPER | OPTION_LATER, .paper = 0, .before = 0, .flag = "tolerance",
     .argument = "X", .heading = "Training",
     .help =
         "end when the validation loss is no more than X, which predictions then agree with the "
         "data to; 0: never"},
    {OPTION(carom_trainer_options, patience), OPTION_RANGE(0, INT_MAX), .role = OPTION_LATER,
     .flag = "patience", .argument = "N", .heading = "Training",
     .help = "end when N epochs have brought no lower validation loss; 0: never"},
    {OPTION(carom_trainer_options, balance), .names = balance_choices,
     .value = CAROM_BALANCE_MEASURED, .role = OPTION_PAPER | OPTION_LATER,
     .paper = CAROM_BALANCE_NEVER, .before = CAROM_BALANCE_NEVER, .flag = "balance",
     .argument = "WHEN", .heading = "Training",
     .help =
         "let chunks with a contact weigh less in what they say of motion between contacts, by how "
         "much worse they are predicted than those without: of measured data, which no model of "
         "contacts explains fully (measured), always or never"},
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
