/* carom view: one self-contained page of trajectories, data sets, runs, evaluations and plans. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/page_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SAMPLES = 256, KEY_FIRST, KEY_SCENE, KEY_TITLE };

typedef struct arguments {
  const char **inputs;
  int count;
  const char *output, *title;
  motion_choice choice;
} arguments;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "the page to write (HTML)", 0},
    {"samples", KEY_SAMPLES, "N", 0,
     "most trajectories taken of each file, and of each part of a data set (12)", 0},
    {"first", KEY_FIRST, "K", 0, "number of the first one taken (0)", 0},
    {"scene", KEY_SCENE, "SCENE", 0, "scene of files that do not say theirs", 0},
    {"title", KEY_TITLE, "TEXT", 0, "title of the page (the names of the inputs)", 0},
    {0}};

static void add_input(arguments *a, const char *text, struct argp_state *state) {
  const char **inputs = realloc(a->inputs, sizeof(char *) * (size_t)(a->count + 1));
  if (inputs == NULL) argp_failure(state, EXIT_FAILURE, 0, "out of memory");
  a->inputs = inputs;
  a->inputs[a->count++] = text;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case 'o': a->output = text; return 0;
    case KEY_SAMPLES:
      a->choice.most = parse_integer(state, "--samples", text, 1, 1000000);
      return 0;
    case KEY_FIRST:
      a->choice.first = parse_integer(state, "--first", text, 0, 1000000000);
      return 0;
    case KEY_SCENE: a->choice.scene = text; return 0;
    case KEY_TITLE: a->title = text; return 0;
    case ARGP_KEY_ARG: add_input(a, text, state); return 0;
    case ARGP_KEY_END:
      if (a->count == 0)
        argp_error(state, "what to view is missing: a file or the folder of a run");
      if (a->output == NULL) argp_error(state, "-o FILE is missing: the page to write");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Writes one page (HTML) that shows files of carom: trajectories, data sets, evaluations, "
    "plans, "
    "gradients, folders of runs, and folders with runs below them. It opens from the disk in any "
    "browser and needs nothing else: motion to play, turn and compare, with trails, contacts and "
    "their impulses, energies, errors and gaps; losses and learned properties over epochs, tables, "
    "configuration. Files with trajectories of one scene are shown together, to be laid over each "
    "other. docs/viewing.md explains the page."
    "\vExamples:\n"
    "  carom view cp3.h5 -o cp3.html\n"
    "  carom view true.h5 other.h5 -o both.html\n"
    "  carom view runs -o runs.html";
static const struct argp argp = {
    .options = options, .parser = parse, .args_doc = "FILE|RUN...", .doc = help};

// "cp3.h5, other.h5 and 2 more"
static void make_title(const arguments *a, char *title, size_t size) {
  char name[256];
  size_t used = (size_t)snprintf(title, size, "%s", path_name(a->inputs[0], name, sizeof name));
  if (a->count > 1 && used < size)
    used += (size_t)snprintf(title + used, size - used, a->count > 2 ? ", %s" : " and %s",
                             path_name(a->inputs[1], name, sizeof name));
  if (a->count > 2 && used < size)
    snprintf(title + used, size - used, " and %d more", a->count - 2);
}

static carom_status view(const arguments *a, page *p, size_t *size, carom_error *error) {
  char title[600];
  carom_status status = check_output(a->output, a->count, a->inputs, error);
  for (int k = 0; status == CAROM_OK && k < a->count; k++)
    status = page_add_input(p, a->inputs[k], &a->choice, error);
  if (status != CAROM_OK) return status;
  make_title(a, title, sizeof title);
  return page_write(p, a->title != NULL ? a->title : title, a->output, size, error);
}

int command_view(int argc, char **argv) {
  arguments a = {.choice = {.most = 12}};
  parse_command_line(&argp, argc, argv, &a);
  page p = {0};
  size_t size = 0;
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (view(&a, &p, &size, &error) == CAROM_OK) {
    printf("written        %s (%.3g MB), %d document%s\n", a.output, (double)size / 1e6, p.count,
           p.count == 1 ? "" : "s");
  } else {
    code = report_failure("view", &error);
  }
  page_free(&p);
  free(a.inputs);
  return code;
}
