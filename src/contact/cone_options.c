#include "contact/cone_options.h"

static const option_field fields[] = {
    {OPTION(carom_cone_options, tolerance), CONE_TOLERANCE, .flag = "tolerance"},
    {OPTION(carom_cone_options, max_iterations), CONE_MAX_ITERATIONS, .flag = "max-iterations"},
    {OPTION(carom_cone_options, smoothing), CONE_SMOOTHING, .flag = "smoothing"},
};
const option_table cone_option_table = OPTION_TABLE(fields);

carom_cone_options carom_cone_default_options(void) {
  carom_cone_options options = {0};
  options_set_defaults(&cone_option_table, &options);
  return options;
}
