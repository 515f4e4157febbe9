/* carom bench: runs the measurements of bench/ and prints their tables. */
#include "bench/bench.h"

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  KEY_JSON = 256,
  KEY_SECONDS,
  KEY_KERNELS,
  KEY_SCENE,
  KEY_MODEL,
  KEY_TASKS,
  KEY_SEEDS,
  KEY_DESCENT,
  MAX_CHOSEN = 16
};

typedef struct arguments {
  int chosen_count;
  const bench *chosen[MAX_CHOSEN];
  double seconds;
  const char *kernels, *scene, *model, *tasks;
  int seeds;
  bool descent;
  bool json;
  bool quiet;
} arguments;

static const struct argp_option options[] = {
    {"seconds", KEY_SECONDS, "X", 0, "seconds to spend on each number (0.2)", 0},
    {"kernels", KEY_KERNELS, "NAME", 0,
     "the network's inner loops: avx512, avx2, neon or generic (the best that the processor can "
     "run)",
     0},
    {"scene", KEY_SCENE, "NAME", 0, "train: this task alone", 0},
    {"model", KEY_MODEL, "NAME", 0, "train: this model alone", 0},
    {"tasks", KEY_TASKS, "LIST", 0, "of learn: tasks with commas (all eight)", 0},
    {"seeds", KEY_SEEDS, "N", 0, "of learn: seeds of each task (3)", 0},
    {"no-warm-start", KEY_DESCENT, NULL, 0, "of learn: by descent alone", 0},
    {"json", KEY_JSON, NULL, 0, "results as JSON", 0},
    {"quiet", 'q', NULL, 0, "show no progress", 0},
    {0}};

static const bench *find_bench(const char *name) {
  for (const bench *b = benches; b->name != NULL; b++) {
    if (strcmp(b->name, name) == 0) return b;
  }
  return NULL;
}

static void choose(arguments *a, const char *name, struct argp_state *state) {
  const bench *b = find_bench(name);
  if (b == NULL) argp_error(state, "there is no measurement '%s'", name);
  if (a->chosen_count == MAX_CHOSEN) argp_error(state, "too many measurements");
  a->chosen[a->chosen_count++] = b;
}

// the others measure for so many seconds, and ranks would not stop together
static void check_ranks(const arguments *a, struct argp_state *state) {
  if (carom_ranks_count() == 1) return;
  for (int k = 0; k < a->chosen_count; k++)
    if (strcmp(a->chosen[k]->name, "ranks") != 0)
      argp_error(state, "%d processes were started: only `bench ranks` shares its work",
                 carom_ranks_count());
}

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case KEY_JSON: a->json = true; return 0;
    case KEY_SECONDS: a->seconds = parse_number(state, "--seconds", text, 0.0, 1e6); return 0;
    case KEY_KERNELS: a->kernels = text; return 0;
    case KEY_SCENE: a->scene = text; return 0;
    case KEY_MODEL: a->model = text; return 0;
    case KEY_TASKS: a->tasks = text; return 0;
    case KEY_SEEDS: a->seeds = (int)parse_integer(state, "--seeds", text, 1, 1000); return 0;
    case KEY_DESCENT: a->descent = true; return 0;
    case 'q': a->quiet = true; return 0;
    case ARGP_KEY_ARG: choose(a, text, state); return 0;
    case ARGP_KEY_NO_ARGS:
      for (const bench *b = benches; b->name != NULL; b++)
        if (!b->long_one) choose(a, b->name, state);
      return 0;
    case ARGP_KEY_END: check_ranks(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Measures the speed of the engine, the least time over repeats: contact events by themselves, "
    "rollouts of every scene, growth with the length of a rope and with the number of separate "
    "groups of touching disks, each in processor time of one thread; and training iterations of "
    "every task, in elapsed time on all threads; and what it costs to share them (`mpirun -n N "
    "carom "
    "bench ranks`); and the time a whole training takes to learn what the paper reports (learn).\n"
    "Without a name: all of them but learn, which takes minutes."
    "\vExample:\n  carom bench events rope --json\n  carom bench train --scene cp3 --model "
    "cm-cd-clnn\n  carom bench learn --tasks cp3 --seeds 1";
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[events] [scenes] [rope] [groups] [train] [ranks] [learn]",
    .doc = help};

static bool go_on(void) { return !interrupted(); }

// every value right under its key
static void print_cell(const json_t *value, int width) {
  char text[64];
  if (json_is_string(value)) {
    snprintf(text, sizeof text, "%s", json_string_value(value));
  } else if (json_is_integer(value)) {
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
  } else if (json_is_real(value)) {
    double number = json_real_value(value);
    snprintf(text, sizeof text, fabs(number) >= 1e4 ? "%.0f" : "%.3g", number);
  } else {
    snprintf(text, sizeof text, "-");
  }
  printf(" %*s", width, text);
}

static void print_table(const bench *b, json_t *rows) {
  printf("%s: %s\n%s\n\n", b->name, b->summary, b->reading);
  size_t index;
  json_t *row, *value;
  const char *key;
  json_object_foreach(json_array_get(rows, 0), key, value) {
    printf(" %*s", (int)strlen(key) < 9 ? 9 : (int)strlen(key), key);
  }
  putchar('\n');
  json_array_foreach(rows, index, row) {
    json_object_foreach(row, key, value) {
      print_cell(value, (int)strlen(key) < 9 ? 9 : (int)strlen(key));
    }
    putchar('\n');
  }
  putchar('\n');
  fflush(stdout);
}

static int run_chosen(const arguments *a, json_t *all) {
  const bench_options how = {.seconds = a->seconds,
                             .go_on = go_on,
                             .kernels = a->kernels,
                             .scene = a->scene,
                             .model = a->model,

                             .tasks = a->tasks,
                             .seeds = a->seeds,
                             .descent = a->descent};
  for (int k = 0; k < a->chosen_count; k++) {
    if (!a->quiet) fprintf(stderr, "measuring: %s\n", a->chosen[k]->name);
    carom_error error = {0};
    json_t *rows = json_array();
    json_object_set_new(all, a->chosen[k]->name, rows);
    if (a->chosen[k]->run(&how, rows, &error) != CAROM_OK) return report_failure("bench", &error);
    if (!a->json) print_table(a->chosen[k], rows);
  }
  return EXIT_SUCCESS;
}

int command_bench(int argc, char **argv) {
  arguments a = {.seconds = 0.2, .seeds = 3};
  parse_command_line(&argp, argc, argv, &a);
  interrupt_install();
  json_t *all = json_object();
  int code = run_chosen(&a, all);
  if (code == EXIT_SUCCESS && a.json) {
    print_json(all);
  } else {
    json_decref(all);
  }
  return code;
}
