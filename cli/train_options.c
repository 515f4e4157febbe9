#include "cli/train_options.h"

#include "cli/failure.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
  KEY_DATA = 2048, /* apart from the keys of the data set's options */
  KEY_MODEL,
  KEY_EPOCHS,
  KEY_BATCH,
  KEY_RATE,
  KEY_SCHEDULE,
  KEY_FINAL_RATE,
  KEY_PROPERTY_RATE,
  KEY_SEARCH_EVERY,
  KEY_PAPER,
  KEY_WEIGHT_DECAY,
  KEY_HIDDEN,
  KEY_LAYERS,
  KEY_SEED,
  KEY_DOUBLE,
  KEY_NO_ELASTIC_TERM,
  KEY_LEARN_REGULARIZER,
  KEY_INITIAL_FRICTION,
  KEY_RESUME,
  KEY_JSON
};

static const char *const schedule_names[] = {"constant", "cosine", NULL};

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "the run folder: checkpoints, metrics, configuration", 0},
    {"data", KEY_DATA, "FILE", 0,
     "a data set (`carom dataset`), taken as it is, or trajectories of your own, cut as the "
     "options under Data say; without it the data is simulated. If FILE was simulated with cmr, "
     "give --contact cmr too, for `carom evaluate`",
     0},
    {"resume", KEY_RESUME, NULL, 0, "go on with the run in DIR from its last checkpoint", 0},
    {"model", KEY_MODEL, "NAME", 0,
     "cm-cd-clnn (default), cm-cd-chnn, cmr-cd-clnn or cmr-cd-chnn: see below", 2},
    {"seed", KEY_SEED, "S", 0,
     "seed of the data, the initial parameters and the order of the chunks (0)", 3},
    {"json", KEY_JSON, NULL, 0, "results as JSON", 4},
    {0}};

static const struct argp_option training_options[] = {
    {NULL, 0, NULL, 0, "Model", 2},
    {"hidden", KEY_HIDDEN, "N", 0, "width of the potential network (256)", 2},
    {"layers", KEY_LAYERS, "N", 0, "hidden layers of the potential network (3)", 2},
    {"no-elastic-term", KEY_NO_ELASTIC_TERM, NULL, 0,
     "no quadratic of the strain of bounded segments beside the network (as the paper)", 2},
    {"double", KEY_DOUBLE, NULL, 0,
     "compute the network in double precision (single is as accurate and twice as fast)", 2},
    {"learn-regularizer", KEY_LEARN_REGULARIZER, NULL, 0,
     "learn epsilon of cmr too, which otherwise keeps the scene's value", 2},
    {"initial-friction", KEY_INITIAL_FRICTION, "X", 0,
     "frictions start between 0 and X (0.2; the paper has 1)", 2},
    {NULL, 0, NULL, 0, "Training", 3},
    {"epochs", KEY_EPOCHS, "N", 0, "passes over the training chunks (300)", 3},
    {"batch", KEY_BATCH, "N", 0, "chunks of a batch (200)", 3},
    {"lr", KEY_RATE, "X", 0, "learning rate (4e-3)", 3},
    {"schedule", KEY_SCHEDULE, "NAME", 0,
     "cosine (default), which falls to the final rate at the last epoch, or constant", 3},
    {"final-rate", KEY_FINAL_RATE, "X", 0, "last rate of cosine, times the learning rate (2e-4)",
     3},
    {"property-rate", KEY_PROPERTY_RATE, "X", 0,
     "rate of masses, friction and restitution, times the learning rate (10)", 3},
    {"search-every", KEY_SEARCH_EVERY, "N", 0,
     "try frictions and restitutions far from where they stand every N epochs (25; 0: never)", 3},
    {"paper", KEY_PAPER, NULL, 0,
     "the paper's protocol: 1000 epochs at a constant 1e-3 for all parameters, frictions that "
     "start between 0 and 1, no search of them, no elastic term, and a loss of the numbers as they "
     "are instead of one that is free of units",
     3},
    {"weight-decay", KEY_WEIGHT_DECAY, "X", 0, "weight decay of the optimiser, AdamW (1e-4)", 3},
    {0}};

/* ---- options of every training --------------------------------------------------------------- */

static bool parse_schedule(train_arguments *a, int key, char *text, struct argp_state *state) {
  switch (key) {
    case KEY_EPOCHS: a->epochs = parse_integer(state, "--epochs", text, 0, INT_MAX - 1); break;
    case KEY_BATCH: a->batch = parse_integer(state, "--batch", text, 1, INT_MAX); break;
    case KEY_RATE: a->rate = parse_number(state, "--lr", text, 1e-300, 1e300); break;
    case KEY_SCHEDULE: a->schedule = parse_name(state, "--schedule", text, schedule_names); break;
    case KEY_FINAL_RATE: a->final_rate = parse_number(state, "--final-rate", text, 0, 1); break;
    case KEY_PROPERTY_RATE:
      a->property_rate = parse_number(state, "--property-rate", text, 1e-300, 1e300);
      break;
    case KEY_SEARCH_EVERY:
      a->search_every = parse_integer(state, "--search-every", text, 0, INT_MAX);
      break;
    case KEY_PAPER: a->paper = true; break;
    case KEY_WEIGHT_DECAY:
      a->weight_decay = parse_number(state, "--weight-decay", text, 0, 1e300);
      break;
    default: return false;
  }
  return true;
}

static error_t parse_training(int key, char *text, struct argp_state *state) {
  train_arguments *a = state->input;
  if (parse_schedule(a, key, text, state)) return 0;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &a->dataset;
      state->child_inputs[1] = &a->general;
      return 0;
    case KEY_HIDDEN: a->hidden = parse_integer(state, "--hidden", text, 1, 1 << 16); return 0;
    case KEY_LAYERS: a->layers = parse_integer(state, "--layers", text, 1, 64); return 0;
    case KEY_DOUBLE: a->double_precision = true; return 0;
    case KEY_NO_ELASTIC_TERM: a->no_elastic_term = true; return 0;
    case KEY_LEARN_REGULARIZER: a->learn_regularizer = true; return 0;
    case KEY_INITIAL_FRICTION:
      a->initial_friction = parse_number(state, "--initial-friction", text, 1e-300, 1e300);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child training_children[] = {
    {&dataset_argp, 0, NULL, 0}, {&general_argp, 0, NULL, 0}, {0}};
const struct argp training_argp = {
    .options = training_options, .parser = parse_training, .children = training_children};

train_arguments train_arguments_default(void) {
  return (train_arguments){.epochs = -1,
                           .schedule = -1,
                           .final_rate = -1.0,
                           .search_every = -1,
                           .weight_decay = -1.0,
                           .dataset = dataset_arguments_default()};
}

/* ---- options of `carom train` ---------------------------------------------------------------- */

static void check_complete(const train_arguments *a, struct argp_state *state) {
  if (!a->resume) require_scene(state, a->scene);
  if (a->output == NULL) argp_error(state, "-o DIR is missing: the folder of the run");
  if (a->data != NULL && a->dataset.steps > 0)
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

static const struct argp_child children[] = {{&training_argp, 0, NULL, 0}, {0}};
static const char help[] =
    "Learns masses, potential, friction and restitution of SCENE from trajectories. Writes into "
    "DIR config.json, metrics.csv, event files for TensorBoard, best.h5 (the lowest validation "
    "loss, or training loss where there are no validation chunks) and last.h5 (the state after the "
    "last epoch); data that it makes itself goes to DIR/data.h5. Ctrl-C ends after the current "
    "batch; --resume goes on from there and arrives at the same bits as a run that was not stopped."
    "\vThe names of models are the paper's and have three parts:\n"
    "  cm    contact model: the cone programs as they are, with the matrix A\n"
    "  cmr   contact model: regularised, with A + epsilon I in the place of A\n"
    "  cd    collision detection is given: the scene knows the shapes\n"
    "  clnn  constrained Lagrangian network: motion in positions and velocities\n"
    "  chnn  constrained Hamiltonian network: motion in positions and momenta\n\n"
    "Example:\n  carom train cp3 -o runs/cp3 && carom evaluate runs/cp3";
static const struct argp argp = {.options = options,
                                 .parser = parse,
                                 .args_doc = "SCENE -o DIR\n--resume -o DIR",
                                 .doc = help,
                                 .children = children};

train_arguments train_arguments_parse(int argc, char **argv) {
  train_arguments a = train_arguments_default();
  parse_command_line(&argp, argc, argv, &a);
  return a;
}

/* ---- configurations -------------------------------------------------------------------------- */

static void apply_train(const train_arguments *a, carom_trainer_options *o) {
  if (a->paper) *o = carom_trainer_paper_options();
  if (a->property_rate > 0.0) o->property_rate = a->property_rate;
  if (a->epochs >= 0) o->epochs = a->epochs;
  if (a->batch > 0) o->batch = a->batch;
  if (a->rate > 0.0) o->learning_rate = a->rate;
  if (a->schedule >= 0) o->schedule = (carom_schedule)a->schedule;
  if (a->final_rate >= 0.0) o->final_rate = a->final_rate;
  if (a->search_every >= 0) o->search_every = a->search_every;
  if (a->weight_decay >= 0.0) o->weight_decay = a->weight_decay;
  if (a->has_seed) o->seed = a->seed;
}

static carom_status apply_model(const train_arguments *a, carom_model_options *o,
                                carom_error *error) {
  if (a->hidden > 0) o->hidden_size = a->hidden;
  if (a->layers > 0) o->hidden_layers = a->layers;
  if (a->double_precision) o->single_precision = false;
  if (a->learn_regularizer) o->learn_regularizer = true;
  if (a->paper || a->no_elastic_term) o->elastic_term = false;
  if (a->paper) o->initial_friction = 1.0;
  if (a->paper) o->length_scale = o->speed_scale = 0.0;
  if (a->initial_friction > 0.0) o->initial_friction = a->initial_friction;
  return a->model != NULL ? carom_model_options_by_name(o, a->model, error) : CAROM_OK;
}

// data of the user's own is named by its absolute path: a run folder may be used from anywhere
static carom_status apply_data(const train_arguments *a, carom_run_config *c, carom_error *error) {
  if (a->data == NULL) return CAROM_OK;
  char *path = realpath(a->data, NULL);
  if (path == NULL) {
    return fail(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", a->data, strerror(errno));
  }
  free(c->data);
  c->data = path;
  return CAROM_OK;
}

static carom_status apply(const train_arguments *a, carom_run_config *c, carom_error *error) {
  apply_train(a, &c->train);
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
    return fail(error, CAROM_OUT_OF_MEMORY, "out of memory");
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
    status = fail(error, CAROM_INVALID_ARGUMENT,
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
  return fail(error, CAROM_INVALID_ARGUMENT,
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
  if (wanted.data == NULL) return fail(error, CAROM_OUT_OF_MEMORY, "out of memory");
  status = apply(given, &wanted, error);
  if (status == CAROM_OK && config->train.schedule == CAROM_CONSTANT)
    config->train.epochs = wanted.train.epochs;
  if (status == CAROM_OK) status = compare_config(given, config, &wanted, error);
  free(wanted.data);
  return status;
}
