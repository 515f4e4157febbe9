#include "cli/dataset_options.h"

#include "cli/progress.h"
#include "cli/run_options.h"

#include <stdio.h>
#include <string.h>

enum { KEY_CONTACT = 1024 /* apart from the keys of other parsers */ };

static const struct argp_option argp_options[] = {
    {"contact", KEY_CONTACT, "NAME", 0,
     "contact model of the simulation: cm (default), cmr: with A + epsilon I, or lcp", UNDER_DATA},
    {0}};

dataset_arguments dataset_arguments_default(void) {
  return (dataset_arguments){.options = {.of = CAROM_DATASET_OPTIONS}, .contact = -1};
}

static error_t parse(int key, char *text, struct argp_state *state) {
  dataset_arguments *a = state->input;
  const carom_option_info contact = option_info(CAROM_ROLLOUT_OPTIONS, "contact");
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->options; return 0;
    case KEY_CONTACT: a->contact = parse_name(state, "--contact", text, contact.names); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp *dataset_argp(void) {
  static struct argp_child children[2];
  static struct argp made;
  children[0].argp = given_options_argp(CAROM_DATASET_OPTIONS, NULL);
  made = (struct argp){.options = argp_options, .parser = parse, .children = children};
  return &made;
}

void dataset_arguments_apply(const dataset_arguments *given, carom_dataset_options *options,
                             carom_contact_model *contact) {
  given_options_apply(&given->options, options);
  if (given->contact >= 0) *contact = (carom_contact_model)given->contact;
}

/* How an option of making chunks is called that was given; NULL if none was. */
static const char *given_option(const dataset_arguments *a) {
  for (int k = 0; k < carom_option_count(CAROM_DATASET_OPTIONS); k++) {
    const carom_option_info info = carom_option_describe(CAROM_DATASET_OPTIONS, k);
    // a simulation's
    if (strcmp(info.name, "steps") == 0) continue;
    if (a->options.text[k] != NULL) return info.flag;
  }
  return NULL;
}

carom_status dataset_arguments_check(const dataset_arguments *given, const char *path,
                                     carom_error *error) {
  const char *option = given_option(given);
  if (option == NULL) return CAROM_OK;
  bool is_cut;
  carom_status status = carom_dataset_is_cut(path, &is_cut, error);
  if (status != CAROM_OK || !is_cut) return status;
  return carom_error_set(
      error, CAROM_INVALID_ARGUMENT,
      "%s: is a data set already and is taken as it is, but --%s says how one is made; "
      "leave the option out, or make another data set with `carom dataset`",
      path, option);
}

carom_status dataset_simulate(const carom_system *system, const carom_rollout_options *simulation,
                              carom_dataset_options options, bool quiet, carom_dataset **data,
                              carom_error *error) {
  progress bar = progress_begin("simulating", "steps", quiet);
  options.progress = progress_update;
  options.progress_user = &bar;
  carom_status status = carom_dataset_generate(system, simulation, &options, data, error);
  progress_end(&bar);
  return status;
}

static void warn_choice(const char *command, const char *flag, const char *option, int of_data,
                        int of_model) {
  if (of_data == of_model) return;
  fprintf(stderr,
          "carom %s: WARNING: the data was simulated with %s %s, the model has %s: what it learns "
          "makes "
          "up for the difference\n",
          command, flag, choice_name(CAROM_ROLLOUT_OPTIONS, option, of_data),
          choice_name(CAROM_ROLLOUT_OPTIONS, option, of_model));
}

void dataset_warn_simulation(const char *command, const carom_system *system,
                             const carom_dataset *data, const carom_model_options *model) {
  if (!data->simulated) return;
  // where gaps close in time there is nothing to compensate
  if (data->contact_time == CAROM_CONTACT_TIME_STEP ||
      model->contact_time == CAROM_CONTACT_TIME_STEP)
    warn_choice(command, "--compensation", "compensation", (int)data->compensation,
                (int)model->compensation);
  warn_choice(command, "--contact-time", "contact_time", (int)data->contact_time,
              (int)model->contact_time);
  warn_choice(command, "--friction", "friction", (int)data->friction,
              (int)carom_model_friction_law(model, system));
}
