/* carom dataset: chunks of trajectories to learn from, simulated or cut from given trajectories. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/dataset_options.h"
#include "cli/findings.h"
#include "cli/memory.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/ranks.h"

#include <stdio.h>
#include <stdlib.h>

enum {
  KEY_FROM = 512,
  KEY_COMPENSATION,
  KEY_CONTACT_TIME,
  KEY_FRICTION,
  KEY_SEED,
  KEY_JSON,
  TABLE_ROWS = 30
};

typedef struct arguments {
  dataset_arguments data;
  const char *scene;
  const char *from;
  const char *output;
  int compensation, contact_time, friction; /* -1: the scene's */
  uint64_t seed;
  bool json;
  general_options general;
} arguments;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write the data set to FILE (HDF5)", 0},
    {"from", KEY_FROM, "FILE", 0,
     "cut the trajectories in FILE (a trajectory file) into chunks; simulate nothing", 0},
    {"compensation", KEY_COMPENSATION, "NAME", 0,
     "how overlaps are undone in the simulation: position, or paper: by a target velocity (the "
     "scene's)",
     UNDER_DATA},
    {"contact-time", KEY_CONTACT_TIME, "WHEN", 0,
     "contacts of the simulation act at the end of a time step (step), or when their gap closes "
     "(event); the scene's",
     UNDER_DATA},
    {"friction", KEY_FRICTION, "LAW", 0,
     "friction law of the simulation: convex, as the paper has it, or coulomb (the scene's)",
     UNDER_DATA},
    {"seed", KEY_SEED, "S", 0, "seed of initial states, choice of chunks and noise (0)", 0},
    {"json", KEY_JSON, NULL, 0, "results as JSON", UNDER_GENERAL},
    {0}};

static void check_complete(const arguments *a, struct argp_state *state) {
  require_scene(state, a->scene);
  if (a->output == NULL) argp_error(state, "-o FILE is missing: where the data set goes");
  if (a->from != NULL && (given_text(&a->data.options, "steps") != NULL || a->data.contact >= 0 ||
                          a->compensation >= 0 || a->contact_time >= 0 || a->friction >= 0))
    argp_error(
        state,
        "--steps, --contact, --compensation, --contact-time and --friction are of a simulation, "
        "--from has none");
}

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &a->data;
      state->child_inputs[1] = &a->general;
      return 0;
    case 'o': a->output = text; return 0;
    case KEY_FROM: a->from = text; return 0;
    case KEY_COMPENSATION:
      a->compensation = parse_name(state, "--compensation", text,
                                   option_info(CAROM_ROLLOUT_OPTIONS, "compensation").names);
      return 0;
    case KEY_CONTACT_TIME:
      a->contact_time = parse_name(state, "--contact-time", text,
                                   option_info(CAROM_ROLLOUT_OPTIONS, "contact_time").names);
      return 0;
    case KEY_FRICTION:
      a->friction = parse_name(state, "--friction", text,
                               option_info(CAROM_ROLLOUT_OPTIONS, "friction").names);
      return 0;
    case KEY_SEED: a->seed = parse_seed(state, text); return 0;
    case KEY_JSON: a->json = true; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "scene", text, &a->scene); return 0;
    case ARGP_KEY_END: check_complete(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Makes a data set to learn SCENE from: simulates it with its own parameters and cuts one chunk "
    "of consecutive states from each trajectory, beginning free of contacts; a share of the chunks "
    "contains a contact. With --from, chunks are cut from trajectories of your own (contact flags "
    "are detected where the file has none). Prints how many chunks there are and how often each "
    "possible contact occurs in the training chunks."
    "\vExample:\n  carom dataset cp3 --seed 7 -o cp3.h5";
static struct argp argp = {
    .options = options, .parser = parse, .args_doc = "SCENE -o FILE", .doc = help};

/* What was made, and what it is. */
typedef struct outcome {
  carom_system *system;
  carom_dataset *data;
  carom_contact_count *counts; /* [contact_count] of the training chunks */
  int *order;                  /* possible contacts, the most frequent first */
  bool usage;                  /* the failure is one of usage */
} outcome;

static void outcome_free(outcome *o) {
  carom_dataset_destroy(o->data);
  free(o->counts);
  free(o->order);
  carom_system_destroy(o->system);
}

// the most frequent first, then by index
static int compare_counts(const void *a, const void *b, void *user) {
  const carom_contact_count *counts = user;
  int i = *(const int *)a, j = *(const int *)b;
  if (counts[i].states != counts[j].states) return counts[i].states > counts[j].states ? -1 : 1;
  return i < j ? -1 : 1;
}

static carom_status count_contacts(outcome *o, carom_error *error) {
  int possible = carom_system_describe(o->system).contact_count;
  o->counts = allocate((size_t)possible, sizeof *o->counts);
  o->order = allocate((size_t)possible, sizeof *o->order);
  if (o->counts == NULL || o->order == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d contacts", possible);
  carom_status status = carom_chunks_count_contacts(&o->data->train, o->system, o->counts, error);
  for (int k = 0; k < possible; k++) o->order[k] = k;
  qsort_r(o->order, (size_t)possible, sizeof *o->order, compare_counts, o->counts);
  return status;
}

static carom_status make_data(const arguments *a, outcome *o, carom_error *error) {
  carom_dataset_options wanted = carom_dataset_default_options(o->system);
  carom_rollout_options simulation = carom_rollout_default_options(o->system);
  if (a->compensation >= 0) simulation.compensation = (carom_compensation)a->compensation;
  if (a->contact_time >= 0) simulation.contact_time = (carom_contact_time)a->contact_time;
  if (a->friction >= 0) simulation.friction = (carom_friction_law)a->friction;
  dataset_arguments_apply(&a->data, &wanted, &simulation.contact);
  wanted.seed = a->seed;
  wanted.threads = a->general.threads;
  if (a->from == NULL)
    return dataset_simulate(o->system, &simulation, wanted, a->general.quiet, &o->data, error);
  carom_status status = dataset_arguments_check(&a->data, a->from, error);
  o->usage = status == CAROM_INVALID_ARGUMENT;
  return status == CAROM_OK ? carom_dataset_read(o->system, a->from, &wanted, &o->data, error)
                            : status;
}

static carom_status make(const arguments *a, outcome *o, carom_error *error) {
  const char *const inputs[] = {scene_file(a->scene), a->from};
  carom_status status = carom_system_load(a->scene, &o->system, error);
  if (status == CAROM_OK) status = check_output(a->output, 2, inputs, error);
  if (status == CAROM_OK) status = make_data(a, o, error);
  if (status == CAROM_OK) status = count_contacts(o, error);
  if (status == CAROM_OK && ranks_writes())
    status = carom_dataset_write(o->data, o->system, a->output, error);
  return carom_ranks_agree(status, error);
}

/* ---- results ---- */

static void print_text(const arguments *a, const outcome *o) {
  const carom_system_info info = carom_system_describe(o->system);
  printf("scene          %s (%s)\n", info.name, info.description);
  for (int split = 0; split < CAROM_SPLIT_COUNT; split++) {
    const carom_chunks *chunks = carom_dataset_split(o->data, (carom_split)split);
    printf("%-14s %d chunks of %d states, %d with a contact\n",
           carom_split_name((carom_split)split), chunks->count, chunks->states,
           carom_chunks_with_contact(chunks));
  }
  char source[256];
  describe_time_step(o->data->dt_from, a->from, source, sizeof source);
  printf("time step      %g (%s)\n", o->data->dt, source);
  findings_print(o->data);
  int met = 0;
  while (met < info.contact_count && o->counts[o->order[met]].states > 0) met++;
  printf("contacts       %d of %d possible ones occur in the training chunks\n", met,
         info.contact_count);
  if (met > 0) printf("\n  %-24s %8s %8s\n", "contact", "states", "chunks");
  for (int k = 0; k < met && k < TABLE_ROWS; k++) {
    char label[64];
    carom_system_contact_label(o->system, o->order[k], label, sizeof label);
    printf("  %-24s %8lld %8lld\n", label, (long long)o->counts[o->order[k]].states,
           (long long)o->counts[o->order[k]].chunks);
  }
  if (met > TABLE_ROWS) printf("  ... %d more: --json lists all\n", met - TABLE_ROWS);
  printf("%swritten        %s\n", met > 0 ? "\n" : "", a->output);
}

static json_t *chunks_json(const carom_chunks *chunks) {
  return json_pack("{si si si}", "chunks", chunks->count, "states", chunks->states, "with_contact",
                   carom_chunks_with_contact(chunks));
}

static void print_as_json(const arguments *a, const outcome *o) {
  const carom_system_info info = carom_system_describe(o->system);
  json_t *contacts = json_array();
  for (int k = 0; k < info.contact_count; k++) {
    char label[64];
    carom_system_contact_label(o->system, k, label, sizeof label);
    json_array_append_new(contacts, json_pack("{ss sI sI}", "contact", label, "states",
                                              (json_int_t)o->counts[k].states, "chunks",
                                              (json_int_t)o->counts[k].chunks));
  }
  print_json(json_pack("{ss so so so so so so so ss}", "scene", info.name, "dt",
                       json_number(o->data->dt), "train", chunks_json(&o->data->train), "val",
                       chunks_json(&o->data->validation), "test", chunks_json(&o->data->test),
                       "contacts", contacts, "findings", findings_json(o->data), "report",
                       json_report(&o->data->report), "output", a->output));
}

int command_dataset(int argc, char **argv) {
  arguments a = {
      .data = dataset_arguments_default(), .compensation = -1, .contact_time = -1, .friction = -1};
  const struct argp_child children[] = {
      {dataset_argp(), 0, NULL, 0}, {&general_argp, 0, NULL, 0}, {0}};
  argp.children = children;
  parse_command_line(&argp, argc, argv, &a);
  interrupt_install();
  outcome o = {0};
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (make(&a, &o, &error) != CAROM_OK) {
    code = report_failure("dataset", &error);
    if (o.usage) code = EXIT_USAGE;
  } else {
    report_unsolved("dataset", &o.data->report);
    findings_warn("dataset", o.data);
    (a.json ? print_as_json : print_text)(&a, &o);
  }
  outcome_free(&o);
  return code;
}
