/* carom reproduce: the paper's experiments, run after run, and their tables. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/evaluate_run.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/report.h"
#include "cli/reproduce_target.h"
#include "cli/train_command.h"
#include "cli/train_run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_TASKS = 4096, KEY_MODELS, KEY_SEEDS, KEY_TABLES, KEY_JSON, KEY_QUICK };
enum { MOST_NAMES = 64 };

/* Names given as one word, "a,b,c"; they point into it. */
typedef struct name_list {
  const char *names[MOST_NAMES];
  int count;
} name_list;

typedef struct arguments {
  const reproduce_target *target; /* NULL until it is given */
  const char *output;
  name_list tasks, models;
  int seeds;
  bool quick;
  bool tables_only;
  bool json;
  train_arguments training; /* of every run */
} arguments;

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "folder of the runs and the tables", 0},
    {"tasks", KEY_TASKS, "A,B,...", 0,
     "built-in scenes to learn (the paper's; experiments with options of their own: those of these "
     "scenes alone)",
     0},
    {"models", KEY_MODELS, "A,B,...", 0,
     "models to train, explained in `carom help train` (those of the experiment)", 0},
    {"quick", KEY_QUICK, NULL, 0,
     "minutes in the place of hours: 100 training chunks and 10 epochs unless others are given, no "
     "ropes of more than 50 points, no data sets of more than 100 chunks",
     0},
    {"seeds", KEY_SEEDS, "N", 0,
     "runs of each model on each task, with the seeds 0 to N-1 (1: seed 0 alone)", 0},
    {"tables", KEY_TABLES, NULL, 0, "train nothing, write the tables of the runs that are there",
     0},
    {"json", KEY_JSON, NULL, 0, "the tables as JSON", UNDER_GENERAL},
    {0}};

/* ---- the command line ------------------------------------------------------------------------ */

static void add_name(struct argp_state *state, const char *option, name_list *list,
                     const char *name) {
  for (int k = 0; k < list->count; k++) {
    if (strcmp(list->names[k], name) == 0) argp_error(state, "%s: %s is there twice", option, name);
  }
  if (list->count == MOST_NAMES) argp_error(state, "%s: more than %d names", option, MOST_NAMES);
  list->names[list->count++] = name;
}

static void parse_tasks(struct argp_state *state, char *text, name_list *list) {
  list->count = 0;
  for (char *name; (name = strsep(&text, ",")) != NULL;) {
    int k = 0;
    while (k < carom_scene_count() && strcmp(carom_scene_name(k), name) != 0) k++;
    if (k == carom_scene_count())
      argp_error(state, "--tasks: '%s' is not a built-in scene (`carom list`)", name);
    add_name(state, "--tasks", list, name);
  }
}

static void parse_models(struct argp_state *state, char *text, name_list *list) {
  list->count = 0;
  for (char *name; (name = strsep(&text, ",")) != NULL;) {
    carom_model_options unused = {0};
    carom_error error;
    if (carom_model_options_by_name(&unused, name, &error) != CAROM_OK)
      argp_error(state, "--models: %s", error.message);
    add_name(state, "--models", list, name);
  }
}

static void parse_target(struct argp_state *state, const char *text,
                         const reproduce_target **target) {
  enum { MOST_TARGETS = 32 };
  const char *names[MOST_TARGETS + 1] = {NULL};
  for (int k = 0; k < MOST_TARGETS && reproduce_targets[k] != NULL; k++)
    names[k] = reproduce_targets[k]->name;
  if (*target != NULL) argp_error(state, "one experiment is expected, '%s' is more", text);
  if (strcmp(text, "learning") == 0) text = table2_target.name; // as it was called once
  *target = reproduce_targets[parse_name(state, "WHAT", text, names)];
}

static void check_complete(arguments *a, struct argp_state *state) {
  if (a->target == NULL) argp_error(state, "what to reproduce is missing: table2, for example");
  if (a->output == NULL) argp_error(state, "-o DIR is missing: the folder of the runs");
}

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->training; return 0;
    case 'o': a->output = text; return 0;
    case KEY_TASKS: parse_tasks(state, text, &a->tasks); return 0;
    case KEY_MODELS: parse_models(state, text, &a->models); return 0;
    case KEY_SEEDS: a->seeds = parse_integer(state, "--seeds", text, 1, 100000); return 0;
    case KEY_QUICK: a->quick = true; return 0;
    case KEY_TABLES: a->tables_only = true; return 0;
    case KEY_JSON: a->json = true; return 0;
    case ARGP_KEY_ARG: parse_target(state, text, &a->target); return 0;
    case ARGP_KEY_END: check_complete(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static struct argp argp = {
    options,
    parse,
    "WHAT -o DIR",
    "Reproduces an experiment of the paper:\n"
    "  table2       table 2 and appendix I: what is learned, four models\n"
    "  baselines    figure 3: errors of seven models on eight tasks\n"
    "  long         figure 4: errors along 50 steps (the same runs)\n"
    "  energy       figure 5: energy of tasks that keep it (the same runs)\n"
    "  samples      figure 6: BP5 with 25 to 800 training chunks\n"
    "  scalability  table 3: seconds of an iteration of ropes\n"
    "  noise        appendix K: noise on the data\n"
    "  regularizer  appendix K: epsilon of CMr\n"
    "  lcp          appendix K: data of an LCP, learned with CM and through the LCP\n"
    "  rope         appendix L: ropes, data and network sizes\n"
    "  planning     section 5: billiards and throws, with true and learned properties\n"
    "Trains and evaluates every model on every task, each run in "
    "DIR/<task>/<model>/seed<k> (<task>+<variant> where options belong to the experiment) as "
    "`carom "
    "train` and `carom evaluate` make it, and writes "
    "values and errors beside the true ones and the paper's to DIR/WHAT.md and "
    "DIR/WHAT.json, data of figures to DIR/WHAT.h5, from all its runs under DIR, and all tables "
    "with "
    "figures to DIR/report.html. "
    "The options under Data, Model and Training are "
    "those of every run that it trains. A run takes minutes, of interaction networks and long "
    "ropes "
    "hours.\n"
    "What is done is not done again: after Ctrl-C the same command goes on, and several processes "
    "may share the work in one folder, or be started by mpirun, which gives each run to the next "
    "one that is free. A run that was finished with other options is kept, with a "
    "warning."
    "\vExample:\n"
    "  carom reproduce table2 --tasks cp3,gyro --models cm-cd-clnn --seeds 2 \\\n"
    "    -o results\n"
    "  carom reproduce baselines --quick -o quick",
    NULL,
    NULL,
    NULL};

/* ---- tables ---------------------------------------------------------------------------------- */

static carom_status write_both(const arguments *a, const json_t *tables, carom_error *error) {
  char path[PATH_MAX];
  char *text = target_text(a->target, tables);
  if (text == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  snprintf(path, sizeof path, "%s/%s.json", a->output, a->target->name);
  carom_status status = write_json(path, tables, error);
  snprintf(path, sizeof path, "%s/%s.md", a->output, a->target->name);
  if (status == CAROM_OK) status = carom_file_write(path, text, strlen(text), error);
  free(text);
  return status == CAROM_OK ? report_write(a->output, error) : status;
}

/* Writes the tables of all evaluated runs there are; `tables` is released by the caller. NULL where
 * there are none. */
static carom_status write_tables(const arguments *a, const char *command, json_t **tables,
                                 carom_error *error) {
  *tables = NULL;
  result_list list;
  carom_status status = results_collect(a->output, &list, error);
  if (status == CAROM_OK) target_select(a->target, &list);
  if (status == CAROM_OK && list.count > 0) {
    *tables = target_document(a->target, &list, command, a->quick);
    if (*tables == NULL) status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
    if (status == CAROM_OK && a->target->follow != NULL)
      status = a->target->follow(a->output, &list, &a->training.general, *tables, error);
    if (status == CAROM_OK) status = write_both(a, *tables, error);
    if (status == CAROM_OK)
      status = target_write_figures(a->target, &list, *tables, a->output, error);
  }
  results_free(&list);
  return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* One run: of an experiment, with a model and a seed. */
typedef struct planned_run {
  experiment of;
  const char *model;
  int seed;
} planned_run;

/* How far the work has come. */
typedef struct work {
  const arguments *given;
  const char *command;
  planned_run *plan;  /* [total] */
  int left_out;       /* experiments, by --quick */
  int pending, begun; /* runs that were not there at the start; those of them so far */
  double start;       /* seconds */
  int total, number;  /* of runs; of the one at hand, from 1 */
  int done, before, elsewhere, bad; /* trained now, found, in another process, diverged */
  bool quiet;                       /* progress of other ranks than the first is not shown */
  int code;                         /* what ended it */
} work;

static bool exists_in(const char *folder, const char *name) {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  return length < PATH_MAX && access(path, F_OK) == 0;
}

// a run that is there was perhaps made with other options than those given now
static void warn_other_options(const train_arguments *given) {
  char path[PATH_MAX];
  carom_run_config config;
  carom_system *system;
  carom_error error = {0};
  snprintf(path, sizeof path, "%s/config.json", given->output);
  if (carom_run_config_read(path, &config, &system, &error) != CAROM_OK) return;
  const int epochs = config.train.epochs;
  if (train_config_resume(given, system, &config, &error) == CAROM_INVALID_ARGUMENT)
    fprintf(stderr, "carom reproduce: WARNING: kept as it is, though: %s\n", error.message);
  else if (epochs != config.train.epochs)
    fprintf(stderr, "carom reproduce: WARNING: kept as it is, though: %s: has %d epochs, not %d\n",
            given->output, epochs, config.train.epochs);
  carom_run_config_free(&config);
  carom_system_destroy(system);
}

static void print_run(const train_run *r, const carom_evaluation *e) {
  printf("%-8s %-12s seed %llu  %d epochs  error %.2e +- %.1e",
         carom_system_describe(r->system).name, r->given->model, (unsigned long long)r->given->seed,
         carom_trainer_describe(r->trainer).epochs_done, e->chunk.relative.mean,
         e->chunk.relative.half_width);
  const carom_segment_info mu = carom_parameters_segment(r->system, CAROM_FRICTION);
  const carom_segment_info bounce = carom_parameters_segment(r->system, CAROM_RESTITUTION);
  if (r->config.model.shared_properties && mu.size > 0 && !isnan(e->theta[mu.offset]))
    printf("  mu %.5f (%.3g)  e %.5f (%.3g)", e->theta[mu.offset], e->scene_theta[mu.offset],
           e->theta[bounce.offset], e->scene_theta[bounce.offset]);
  putchar('\n');
  fflush(stdout);
}

static carom_status evaluate_trained(const train_run *r, bool quiet, carom_error *error) {
  evaluate_request request = evaluate_request_default();
  request.run = r->given->output;
  request.options.threads = r->given->general.threads;
  evaluate_outcome o = {0};
  carom_status status = evaluate_run(&request, &o, error);
  if (status == CAROM_OK) {
    report_unsolved("reproduce", &o.result->report);
    if (!quiet) print_run(r, o.result);
  }
  evaluate_outcome_free(&o);
  return status;
}

// what stopped a run; whether the others can go on
static int explain(work *w, const train_run *r, const carom_error *error) {
  if (r->busy) {
    w->elsewhere++;
    return EXIT_SUCCESS;
  }
  if (error->status == CAROM_INTERRUPTED) {
    fprintf(stderr, "carom reproduce: interrupted in %s; the same command goes on\n",
            r->given->output);
    return EXIT_INTERRUPTED;
  }
  fprintf(stderr, "carom reproduce: %s: %s\n", r->given->output, error->message);
  if (error->status != CAROM_NUMERICAL_FAILURE) return r->usage ? EXIT_USAGE : EXIT_FAILURE;
  w->bad++;
  return EXIT_SUCCESS;
}

// trains and evaluates; the folder stays locked until both are done
static int do_run(work *w, const train_arguments *given) {
  train_run r;
  carom_error error = {0};
  json_t *tables = NULL;
  int code = EXIT_SUCCESS;
  carom_status status = train_run_do(&r, given, &error);
  report_unsolved("reproduce", &r.report);
  if (status == CAROM_OK) status = evaluate_trained(&r, w->given->json, &error);
  if (status == CAROM_OK) {
    w->done++;
    status = write_tables(w->given, w->command, &tables, &error);
    json_decref(tables);
  }
  if (status != CAROM_OK) code = explain(w, &r, &error);
  train_run_close(&r);
  return code;
}

// false if the name is too long
static bool run_folder(const arguments *a, const planned_run *run, char folder[PATH_MAX]) {
  char task[TASK_NAME];
  experiment_folder(&run->of, task);
  return snprintf(folder, PATH_MAX, "%s/%s/%s/seed%d", a->output, task, run->model, run->seed) <
         PATH_MAX;
}

static int one_run(work *w, const planned_run *run) {
  const arguments *a = w->given;
  char folder[PATH_MAX], task[TASK_NAME];
  experiment_folder(&run->of, task);
  if (!run_folder(a, run, folder)) {
    fprintf(stderr, "carom reproduce: %.200s...: the name is too long\n", a->output);
    return EXIT_FAILURE;
  }
  train_arguments given = a->training;
  experiment_apply(&run->of, a->quick, &given);
  given.scene = run->of.task;
  given.model = run->model;
  given.output = folder;
  given.has_seed = true;
  given.seed = (uint64_t)run->seed;
  given.resume = exists_in(folder, "config.json");
  given.general.quiet = w->quiet;
  if (exists_in(folder, "evaluation.json")) {
    warn_other_options(&given);
    w->before++;
    return EXIT_SUCCESS;
  }
  if (!given.general.quiet)
    fprintf(stderr, "run %d of %d: %s %s seed %d%s\n", w->number, w->total, task, run->model,
            run->seed, given.resume ? ", taken up" : "");
  given.whole = (progress_whole){w->begun++, w->pending, w->start};
  return do_run(w, &given);
}

static bool run_at(void *user, int index) {
  work *w = user;
  w->number = index + 1;
  w->code = one_run(w, &w->plan[index]);
  if (w->code == EXIT_SUCCESS && interrupted()) {
    fputs("carom reproduce: interrupted; the same command goes on\n", stderr);
    w->code = EXIT_INTERRUPTED;
  }
  return w->code == EXIT_SUCCESS;
}

// counts of all ranks; the largest of their exit codes
static void sum_up(work *w) {
  enum { CODES = 256 };
  int64_t counts[4 + CODES] = {w->done, w->before, w->elsewhere, w->bad};
  counts[4 + w->code] = 1;
  carom_ranks_sum(4 + CODES, counts, NULL);
  w->done = (int)counts[0];
  w->before = (int)counts[1];
  w->elsewhere = (int)counts[2];
  w->bad = (int)counts[3];
  for (int code = 0; code < CODES; code++)
    if (counts[4 + code] > 0) w->code = code;
}

// each run is one rank's, the next as soon as one is free
static int all_runs(work *w) {
  const arguments *a = w->given;
  carom_error error = {0};
  w->quiet = a->training.general.quiet || !ranks_writes();
  ranks_speak(true);
  carom_status status = carom_ranks_share_out(w->total, run_at, w, NULL, &error);
  ranks_speak(false);
  sum_up(w);
  return status == CAROM_OK ? w->code : report_failure("reproduce", &error);
}

/* ---- what there is to do --------------------------------------------------------------------- */

static carom_status plan_run(work *w, const experiment *e, const char *model, int seed,
                             carom_error *error) {
  planned_run *longer = realloc(w->plan, sizeof *longer * (size_t)(w->total + 1));
  if (longer == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  w->plan = longer;
  const planned_run made = {*e, model, seed};
  w->plan[w->total++] = made;
  char folder[PATH_MAX];
  if (run_folder(w->given, &made, folder) && !exists_in(folder, "evaluation.json")) w->pending++;
  return CAROM_OK;
}

// the models of an experiment, or those given
static carom_status plan_experiment(work *w, const experiment *e, int seed, carom_error *error) {
  const arguments *a = w->given;
  const char *const *models = e->models != NULL ? e->models : a->target->models;
  carom_status status = CAROM_OK;
  if (a->quick && e->not_quick) {
    w->left_out++;
    return CAROM_OK;
  }
  for (int k = 0; k < a->models.count && status == CAROM_OK; k++)
    status = plan_run(w, e, a->models.names[k], seed, error);
  for (int k = 0; a->models.count == 0 && models[k] != NULL && status == CAROM_OK; k++)
    status = plan_run(w, e, models[k], seed, error);
  return status;
}

static bool is_wanted(const arguments *a, const char *task) {
  for (int k = 0; k < a->tasks.count; k++)
    if (strcmp(a->tasks.names[k], task) == 0) return true;
  return a->tasks.count == 0;
}

// all of one seed before the next: tables are whole as early as can be
static carom_status make_plan(work *w, carom_error *error) {
  const arguments *a = w->given;
  const reproduce_target *t = a->target;
  carom_status status = CAROM_OK;
  for (int seed = 0; seed < a->seeds; seed++) {
    for (const experiment *e = t->experiments; e != NULL && e->task != NULL; e++)
      if (status == CAROM_OK && is_wanted(a, e->task)) status = plan_experiment(w, e, seed, error);
    const bool given = a->tasks.count > 0;
    for (int k = 0; t->experiments == NULL && status == CAROM_OK; k++) {
      if (given ? k == a->tasks.count : t->tasks[k] == NULL) break;
      const experiment e = {.task = given ? a->tasks.names[k] : t->tasks[k]};
      status = plan_experiment(w, &e, seed, error);
    }
  }
  if (status != CAROM_OK || w->total > 0) return status;
  return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                         "there is nothing to do: %s has no experiment on these tasks%s", t->name,
                         w->left_out > 0 ? " that --quick does not leave out" : "");
}

/* ---- the command ----------------------------------------------------------------------------- */

// a file that would spoil the tables is better found before the work than after it
static int begin(const work *w) {
  json_t *tables = NULL;
  carom_error error = {0};
  carom_status status = CAROM_OK;
  if (ranks_writes()) status = write_tables(w->given, w->command, &tables, &error);
  json_decref(tables);
  status = carom_ranks_agree(status, &error);
  return status == CAROM_OK ? EXIT_SUCCESS : report_failure("reproduce", &error);
}

static void print_summary(const work *w, bool written) {
  const arguments *a = w->given;
  if (!a->tables_only) {
    printf("runs           %d trained, %d were there", w->done, w->before);
    if (w->elsewhere > 0) printf(", %d are trained by another process", w->elsewhere);
    if (w->bad > 0) printf(", %d FAILED", w->bad);
    putchar('\n');
  }
  if (a->quick) printf("shortened      %s\n", quick_words());
  if (w->left_out > 0) printf("left out       %d experiments\n", w->left_out);
  if (written)
    printf("written        %s/%s.md, %s/%s.json, %s/%s.h5, %s/report.html\n", a->output,
           a->target->name, a->output, a->target->name, a->output, a->target->name, a->output);
}

static int finish(const work *w) {
  json_t *tables;
  carom_error error = {0};
  carom_status status = write_tables(w->given, w->command, &tables, &error);
  // all runs diverged, or are another process's: there is nothing to write, but to say
  const bool expected = w->bad + w->elsewhere == 0;
  if (status == CAROM_OK && tables == NULL && expected)
    status = carom_error_set(&error, CAROM_INVALID_DATA,
                             "%s: holds no evaluated run <task>/<model>/seed<k>", w->given->output);
  if (status != CAROM_OK) {
    json_decref(tables);
    return report_failure("reproduce", &error);
  }
  if (w->given->json && tables != NULL) {
    print_json(tables);
  } else {
    print_summary(w, tables != NULL);
    json_decref(tables);
  }
  return w->bad > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int command_reproduce(int argc, char **argv) {
  arguments a = {.seeds = 1, .training = train_arguments_default()};
  // parsing cuts lists of names into pieces
  char *command = command_line(argc, argv);
  if (command == NULL) {
    fputs("carom reproduce: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  const struct argp_child children[] = {{training_argp(), 0, NULL, 0}, {0}};
  argp.children = children;
  parse_command_line(&argp, argc, argv, &a);
  interrupt_install();
  work w = {.given = &a, .command = command, .start = seconds_now()};
  carom_error error = {0};
  if (make_plan(&w, &error) != CAROM_OK) {
    free(w.plan);
    free(command);
    report_failure("reproduce", &error);
    return EXIT_USAGE;
  }
  int code = a.tables_only ? EXIT_SUCCESS : begin(&w);
  if (code == EXIT_SUCCESS && !a.tables_only) code = all_runs(&w);
  if (code == EXIT_SUCCESS && ranks_writes()) code = finish(&w);
  free(w.plan);
  free(command);
  return code;
}
