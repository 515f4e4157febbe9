#include "cli/train_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
  KEY_DATA = 2048, /* apart from the keys of other parsers */
  KEY_MODEL,
  KEY_PAPER,
  KEY_SEED,
  KEY_RESUME,
  KEY_JSON
};

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "the run folder: checkpoints, metrics, configuration", 0},
    {"data", KEY_DATA, "FILE", 0,
     "a data set (`carom dataset`), taken as it is, or trajectories of your own, cut as the "
     "options under Data say; without it the data is simulated. If FILE was simulated with cmr or "
     "lcp, give --contact too, for `carom evaluate`",
     0},
    {"resume", KEY_RESUME, NULL, 0, "go on from the last checkpoint in DIR", 0},
    {"model", KEY_MODEL, "NAME", 0,
     "cm-cd-clnn (default), cm-cd-chnn, cmr-cd-..., lcp-cd-..., or a baseline: see below",
     UNDER_MODEL},
    {"seed", KEY_SEED, "S", 0,
     "seed of the data, the initial parameters and the order of the chunks (0)", UNDER_TRAINING},
    {"json", KEY_JSON, NULL, 0, "results as JSON", UNDER_GENERAL},
    {0}};

static const struct argp_option training_options[] = {
    {"paper", KEY_PAPER, NULL, 0,
     "the paper's protocol: 1000 epochs at a constant 1e-3 for all parameters, frictions that "
     "start between 0 and 1, no search of them, no elastic term, and a loss of the numbers as they "
     "are instead of one that is free of units",
     UNDER_TRAINING},
    {0}};

/* ---- options of every training --------------------------------------------------------------- */

static error_t parse_training(int key, char *text, struct argp_state *state) {
  (void)text;
  train_arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &a->dataset;
      state->child_inputs[1] = &a->network;
      state->child_inputs[2] = &a->training;
      state->child_inputs[3] = &a->general;
      return 0;
    case KEY_PAPER: a->paper = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp *training_argp(void) {
  static struct argp_child children[5];
  static struct argp made;
  children[0].argp = dataset_argp();
  children[1].argp = given_options_argp(CAROM_MODEL_OPTIONS, NULL);
  children[2].argp = given_options_argp(CAROM_TRAINER_OPTIONS, NULL);
  children[3].argp = &general_argp;
  made = (struct argp){.options = training_options, .parser = parse_training, .children = children};
  return &made;
}

train_arguments train_arguments_default(void) {
  return (train_arguments){.network = {.of = CAROM_MODEL_OPTIONS},
                           .training = {.of = CAROM_TRAINER_OPTIONS},
                           .dataset = dataset_arguments_default()};
}

/* ---- options of `carom train` ---------------------------------------------------------------- */

static void check_complete(const train_arguments *a, struct argp_state *state) {
  if (!a->resume) require_scene(state, a->scene);
  if (a->output == NULL) argp_error(state, "-o DIR is missing: the folder of the run");
  if (a->data != NULL && given_text(&a->dataset.options, "steps") != NULL)
    argp_error(state, "--steps is of a simulation, --data has none");
}

static void parse_model(train_arguments *a, char *text, struct argp_state *state) {
  carom_model_options unused = {0};
  carom_error error;
  if (carom_model_options_by_name(&unused, text, &error) != CAROM_OK)
    argp_error(state, "--model %s: %s", text, error.message);
  a->model = text;
}

static void parse_run_seed(train_arguments *a, char *text, struct argp_state *state) {
  a->seed = parse_seed(state, text);
  // it has to fit into an integer of JSON
  if (a->seed > INT64_MAX) argp_error(state, "--seed %s: expected less than 2^63", text);
  a->has_seed = true;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  train_arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = a; return 0;
    case 'o': a->output = text; return 0;
    case KEY_DATA: a->data = text; return 0;
    case KEY_MODEL: parse_model(a, text, state); return 0;
    case KEY_SEED: parse_run_seed(a, text, state); return 0;
    case KEY_RESUME: a->resume = true; return 0;
    case KEY_JSON: a->json = true; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "scene", text, &a->scene); return 0;
    case ARGP_KEY_END: check_complete(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Learns masses, potential, friction and restitution of SCENE from trajectories. Writes into "
    "DIR config.json, metrics.csv, event files for TensorBoard, best.h5 (the lowest validation "
    "loss, or training loss where there are no validation chunks) and last.h5 (the state after the "
    "last epoch); data that it makes itself goes to DIR/data.h5. Ctrl-C ends after the current "
    "batch; --resume goes on from there and arrives at the same bits as a run that was not stopped."
    "\vThe names of models are the paper's and have three parts:\n"
    "  cm    contact model: the cone programs as they are, with the matrix A\n"
    "  cmr   contact model: regularised, with A + epsilon I in the place of A\n"
    "  lcp   contact model: complementarity, pyramids of friction, Newton's restitution\n"
    "  cd    collision detection is given: the scene knows the shapes\n"
    "  clnn  constrained Lagrangian network: motion in positions and velocities\n"
    "  chnn  constrained Hamiltonian network: motion in positions and momenta\n"
    "Its baselines have a network in the place of the contact model and learn from pairs of "
    "consecutive states, --batch counting pairs:\n"
    "  mlp   a perceptron changes velocities where contacts are active\n"
    "  in    an interaction network changes them after every step\n"
    "  cp    the scene's friction and restitution are given to it\n"
    "  sp    so are its masses and forces: it is the whole motion\n"
    "  mlp-cd-clnn, in-cp-clnn, in-cp-sp\n\n"
    "Example:\n  carom train cp3 -o runs/cp3 && carom evaluate runs/cp3";
static struct argp argp = {
    .options = options, .parser = parse, .args_doc = "SCENE -o DIR\n--resume -o DIR", .doc = help};

train_arguments train_arguments_parse(int argc, char **argv) {
  train_arguments a = train_arguments_default();
  const struct argp_child children[] = {{training_argp(), 0, NULL, 0}, {0}};
  argp.children = children;
  parse_command_line(&argp, argc, argv, &a);
  return a;
}

/* ---- configurations -------------------------------------------------------------------------- */

static carom_status apply_model(const train_arguments *a, carom_model_options *o,
                                carom_error *error) {
  if (a->paper) carom_options_set_paper(CAROM_MODEL_OPTIONS, o);
  given_options_apply(&a->network, o);
  return a->model != NULL ? carom_model_options_by_name(o, a->model, error) : CAROM_OK;
}

// data of the user's own is named by its absolute path: a run folder may be used from anywhere
static carom_status apply_data(const train_arguments *a, carom_run_config *c, carom_error *error) {
  if (a->data == NULL) return CAROM_OK;
  char *path = realpath(a->data, NULL);
  if (path == NULL) {
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", a->data,
                           strerror(errno));
  }
  free(c->data);
  c->data = path;
  return CAROM_OK;
}

static carom_status apply(const train_arguments *a, carom_run_config *c, carom_error *error) {
  if (a->paper) carom_options_set_paper(CAROM_TRAINER_OPTIONS, &c->train);
  given_options_apply(&a->training, &c->train);
  if (a->has_seed) c->train.seed = a->seed;
  if (a->paper) carom_options_set_paper(CAROM_DATASET_OPTIONS, &c->dataset);
  dataset_arguments_apply(&a->dataset, &c->dataset, &c->data_contact);
  // one seed for everything
  c->model.seed = c->train.seed;
  c->dataset.seed = c->train.seed;
  carom_status status = apply_model(a, &c->model, error);
  return status == CAROM_OK ? apply_data(a, c, error) : status;
}

carom_status train_config_make(const train_arguments *given, const carom_system *system,
                               carom_run_config *config, carom_error *error) {
  *config = (carom_run_config){.scene = strdup(carom_system_describe(system).json),
                               .data = strdup("data.h5"),
                               .model = carom_model_default_options(system),
                               .train = carom_trainer_default_options(),
                               .dataset = carom_dataset_default_options(system),
                               .data_contact = CAROM_CM};
  if (config->scene == NULL || config->data == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  return apply(given, config, error);
}

static carom_status compare_scene(const train_arguments *given, const carom_system *system,
                                  carom_error *error) {
  if (given->scene == NULL) return CAROM_OK;
  carom_system *other;
  carom_status status = carom_system_load(given->scene, &other, error);
  if (status != CAROM_OK) return status;
  carom_difference found;
  if (carom_system_differs(system, other, &found)) {
    status =
        carom_error_set(error, CAROM_INVALID_ARGUMENT,
                        "%s: the run has another scene than %s: %s is %s in the run and %s there",
                        given->output, given->scene, found.path, found.first, found.second);
  }
  carom_system_destroy(other);
  return status;
}

static carom_status compare_config(const train_arguments *given, const carom_run_config *run,
                                   const carom_run_config *wanted, carom_error *error) {
  carom_difference found;
  if (!carom_run_config_differs(run, wanted, &found)) return CAROM_OK;
  const bool epochs = strcmp(found.path, "train.epochs") == 0;
  return carom_error_set(
      error, CAROM_INVALID_ARGUMENT,
      "%s: the run has %s = %s, not %s%s; leave the option away to go on with it, or "
      "begin a new run in another folder",
      given->output, found.path, found.first, found.second,
      epochs ? ", and a cosine schedule depends on it" : "");
}

carom_status train_config_resume(const train_arguments *given, const carom_system *system,
                                 carom_run_config *config, carom_error *error) {
  carom_status status = compare_scene(given, system, error);
  if (status != CAROM_OK) return status;
  carom_run_config wanted = *config;
  wanted.data = strdup(config->data);
  if (wanted.data == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  status = apply(given, &wanted, error);
  if (status == CAROM_OK && config->train.schedule == CAROM_CONSTANT)
    config->train.epochs = wanted.train.epochs;
  if (status == CAROM_OK) {
    config->train.patience = wanted.train.patience;
    config->train.tolerance = wanted.train.tolerance;
  }
  if (status == CAROM_OK) status = compare_config(given, config, &wanted, error);
  free(wanted.data);
  return status;
}
