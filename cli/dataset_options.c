#include "cli/dataset_options.h"

#include "cli/failure.h"
#include "cli/progress.h"
#include "cli/run_options.h"

#include <limits.h>

enum option_key {
  KEY_TRAIN = 1024, /* apart from the keys of other parsers */
  KEY_VALIDATION,
  KEY_TEST,
  KEY_CHUNK,
  KEY_STEPS,
  KEY_NOISE,
  KEY_SHARE,
  KEY_CONTACT
};

static const struct argp_option argp_options[] = {
    {NULL, 0, NULL, 0, "Data", 1},
    {"train", KEY_TRAIN, "N", 0, "chunks to train on (800)", 1},
    {"val", KEY_VALIDATION, "N", 0, "chunks to validate with (100)", 1},
    {"test", KEY_TEST, "N", 0, "chunks to test with (100)", 1},
    {"chunk", KEY_CHUNK, "N", 0, "states of a chunk (5)", 1},
    {"steps", KEY_STEPS, "N", 0, "time steps of the simulated trajectories (the scene's)", 1},
    {"noise", KEY_NOISE, "X", 0, "standard deviation of Gaussian noise on the states (0)", 1},
    {"share", KEY_SHARE, "X", 0,
     "share of the chunks that contain a contact, as far as there are enough of them (0.5)", 1},
    {"contact", KEY_CONTACT, "NAME", 0,
     "contact model of the simulation: cm (default), or cmr: with A + epsilon I", 1},
    {0}};

dataset_arguments dataset_arguments_default(void) {
  return (dataset_arguments){
      .train = -1, .validation = -1, .test = -1, .noise = -1.0, .share = -1.0, .contact = -1};
}

static error_t parse(int key, char *text, struct argp_state *state) {
  dataset_arguments *a = state->input;
  switch (key) {
    case KEY_TRAIN: a->train = parse_integer(state, "--train", text, 1, INT_MAX); return 0;
    case KEY_VALIDATION: a->validation = parse_integer(state, "--val", text, 0, INT_MAX); return 0;
    case KEY_TEST: a->test = parse_integer(state, "--test", text, 0, INT_MAX); return 0;
    case KEY_CHUNK: a->chunk = parse_integer(state, "--chunk", text, 2, 1000000); return 0;
    case KEY_STEPS: a->steps = parse_integer(state, "--steps", text, 1, INT_MAX - 1); return 0;
    case KEY_NOISE: a->noise = parse_number(state, "--noise", text, 0.0, 1e300); return 0;
    case KEY_SHARE: a->share = parse_number(state, "--share", text, 0.0, 1.0); return 0;
    case KEY_CONTACT: a->contact = parse_name(state, "--contact", text, contact_names); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp dataset_argp = {.options = argp_options, .parser = parse};

void dataset_arguments_apply(const dataset_arguments *given, carom_dataset_options *options,
                             carom_contact_model *contact) {
  if (given->train >= 0) options->train = given->train;
  if (given->validation >= 0) options->validation = given->validation;
  if (given->test >= 0) options->test = given->test;
  if (given->chunk > 0) options->chunk = given->chunk;
  if (given->steps > 0) options->steps = given->steps;
  if (given->noise >= 0.0) options->noise = given->noise;
  if (given->share >= 0.0) options->contact_share = given->share;
  if (given->contact >= 0) *contact = (carom_contact_model)given->contact;
}

/* How an option of making chunks is called that was given; NULL if none was. */
static const char *given_option(const dataset_arguments *a) {
  if (a->train >= 0) return "--train";
  if (a->validation >= 0) return "--val";
  if (a->test >= 0) return "--test";
  if (a->chunk > 0) return "--chunk";
  if (a->noise >= 0.0) return "--noise";
  return a->share >= 0.0 ? "--share" : NULL;
}

carom_status dataset_arguments_check(const dataset_arguments *given, const char *path,
                                     carom_error *error) {
  const char *option = given_option(given);
  if (option == NULL) return CAROM_OK;
  bool is_cut;
  carom_status status = carom_dataset_is_cut(path, &is_cut, error);
  if (status != CAROM_OK || !is_cut) return status;
  return fail(error, CAROM_INVALID_ARGUMENT,
              "%s: is a data set already and is taken as it is, but %s says how one is made; "
              "leave the option out, or make another data set with `carom dataset`",
              path, option);
}

carom_status dataset_simulate(const carom_system *system, carom_contact_model contact,
                              carom_dataset_options options, bool quiet, carom_dataset **data,
                              carom_error *error) {
  carom_rollout_options simulation = carom_rollout_default_options(system);
  simulation.contact = contact;
  progress bar = progress_begin("simulating", "steps", quiet);
  options.progress = progress_update;
  options.progress_user = &bar;
  carom_status status = carom_dataset_generate(system, &simulation, &options, data, error);
  progress_end(&bar);
  return status;
}
