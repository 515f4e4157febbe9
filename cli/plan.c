/* carom plan: starts, controls and parameters that reach something, found by gradient. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/given_options.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/plan_run.h"
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_PROPERTIES = 512, KEY_JSON, KEY_LIST, TABLE_ROWS = 24, START_ROWS = 40 };

typedef struct arguments {
  const char *plan;
  const char *output;
  const char *properties;
  given_options rollout, optimizer;
  bool json, list;
  general_options general;
} arguments;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write motion, unknowns and their course to FILE (HDF5)", 0},
    {"properties", KEY_PROPERTIES, "DIR", 0,
     "plan with what the run in DIR (`carom train`) has learned: masses, potential, friction, "
     "restitution; "
     "success is judged with the scene's own",
     0},
    {"list", KEY_LIST, NULL, 0, "the built-in plans", 0},
    {"json", KEY_JSON, NULL, 0, "results as JSON", UNDER_GENERAL},
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &a->optimizer;
      state->child_inputs[1] = &a->rollout;
      state->child_inputs[2] = &a->general;
      return 0;
    case 'o': a->output = text; return 0;
    case KEY_PROPERTIES: a->properties = text; return 0;
    case KEY_JSON: a->json = true; return 0;
    case KEY_LIST: a->list = true; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "plan", text, &a->plan); return 0;
    case ARGP_KEY_END:
      if (a->plan == NULL && !a->list)
        argp_error(state, "a plan is missing: a built-in one (`carom plan --list`) or a file");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Finds what a plan asks for: initial positions, velocities, angles and rates of bodies, "
    "controls or "
    "parameters for which an objective over the motion is smallest, by its gradient through the "
    "contacts. "
    "PLAN is a built-in plan (--list) or a plan file (docs/planning.md). Contacts act when their "
    "gap closes "
    "unless the plan or --contact-time says otherwise: that is where gradients through them are "
    "right. "
    "Options of optimiser and simulation are the plan's unless they are given."
    "\vExample:\n"
    "  carom plan two-balls -o two-balls.h5\n"
    "  carom view two-balls.h5 -o two-balls.html\n"
    "  carom plan hit --properties runs/bd1 -o hit.h5";
static struct argp argp = {.options = options, .parser = parse, .args_doc = "PLAN", .doc = help};

/* ---- work ---- */

static carom_status prepare(const arguments *a, plan_run *w, carom_error *error) {
  carom_status status = carom_plan_load(a->plan, &w->plan, error);
  if (status != CAROM_OK) return status;
  const carom_plan_info info = carom_plan_describe(w->plan);
  carom_rollout_options rollout = info.rollout;
  given_options_apply(&a->rollout, &rollout);
  w->options = info.options;
  given_options_apply(&a->optimizer, &w->options);
  w->options.threads = a->general.threads;
  const char *const inputs[] = {a->plan};
  status = check_output(a->output, 1, inputs, error);
  if (status == CAROM_OK) status = carom_plan_set_rollout(w->plan, &rollout, error);
  if (status == CAROM_OK && a->properties != NULL)
    status = plan_run_properties(w, a->properties, error);
  return status;
}

static bool show(void *user, const carom_plan_progress *p) {
  progress *bar = user;
  progress_note(bar, "loss %.6g  best %.6g", p->loss, p->best);
  return progress_update(bar, p->done, p->total);
}

static carom_status solve(const arguments *a, plan_run *w, carom_error *error) {
  progress bar = progress_begin("planning", "iterations", a->general.quiet);
  carom_status status = carom_plan_solve(w->plan, &w->options, show, &bar, &w->result, error);
  progress_end(&bar);
  if (status != CAROM_OK || a->output == NULL) return status;
  return carom_plan_result_write(w->result, w->plan, a->output, error);
}

/* ---- results ---- */

static void print_unknowns(const plan_run *w) {
  const carom_plan_result *r = w->result;
  const double *start = r->start_unknowns + (size_t)r->best * (size_t)r->unknown_count;
  printf("\n  %-32s %14s %14s\n", "unknown", "start", "found");
  for (int k = 0; k < r->unknown_count && k < TABLE_ROWS; k++)
    printf("  %-32s %14.8g %14.8g\n", carom_plan_unknown(w->plan, k).name, start[k],
           r->unknowns[k]);
  if (r->unknown_count > TABLE_ROWS)
    printf("  ... and %d more; the file of -o has all\n", r->unknown_count - TABLE_ROWS);
}

static void print_terms(const plan_run *w) {
  const carom_plan_result *r = w->result;
  printf("\n  %-64s %12s%s\n", "objective", "found", r->judged ? "    in truth" : "");
  for (int k = 0; k < r->term_count; k++) {
    char label[256];
    carom_plan_term_label(w->plan, k, label, sizeof label);
    printf("  %-64s %12.6g", label, r->terms[k]);
    if (r->judged) printf(" %12.6g", r->true_terms[k]);
    putchar('\n');
  }
}

static void print_starts(const plan_run *w) {
  const carom_plan_result *r = w->result;
  if (r->start_count == 1) return;
  int reached = 0;
  for (int k = 0; k < r->start_count; k++) reached += r->starts[k].stop == CAROM_PLAN_GOAL;
  printf("\n  %5s %12s %12s %10s  %s\n", "start", "first loss", "loss", "iterations", "ended");
  for (int k = 0; k < r->start_count && k < START_ROWS; k++)
    printf("  %5d %12.5g %12.5g %10d  %s%s\n", k, r->starts[k].first_loss, r->starts[k].loss,
           r->starts[k].iterations, carom_plan_stop_text(r->starts[k].stop),
           k == r->best ? "  (best)" : "");
  if (w->options.goal > 0)
    printf("  %d of %d starts reach the goal, a loss below %g\n", reached, r->start_count,
           w->options.goal);
}

static void print_text(const arguments *a, const plan_run *w) {
  const carom_plan_result *r = w->result;
  const carom_plan_start *best = &r->starts[r->best];
  const carom_plan_info info = carom_plan_describe(w->plan);
  printf("plan            %s: %s\n", info.name, info.description);
  printf("optimiser       %s, contacts at %s\n",
         choice_name(CAROM_PLAN_OPTIONS, "optimizer", (int)w->options.optimizer),
         info.rollout.contact_time == CAROM_CONTACT_TIME_EVENT ? "their own time (event)"
                                                               : "the end of time steps (step)");
  printf("loss            %.10g, from %.10g\n", r->loss, best->first_loss);
  if (r->judged) printf("loss in truth   %.10g, with the scene's own properties\n", r->true_loss);
  printf("ended           %s, after %d iterations, %d evaluations\n",
         carom_plan_stop_text(best->stop), best->iterations, best->evaluations);
  printf("time            %.3g s; %d steps take %.3g ms of a processor forward, %.3g reverse\n",
         r->seconds, r->steps, 1e3 * r->forward_seconds, 1e3 * r->reverse_seconds);
  if (w->options.goal > 0)
    printf("success         %s: a loss below %g\n", r->success ? "yes" : "no", w->options.goal);
  if (w->options.goal > 0 && r->judged)
    printf("success, truth  %s\n", r->true_success ? "yes" : "no");
  print_unknowns(w);
  print_terms(w);
  print_starts(w);
  if (a->output != NULL) printf("\nwritten         %s\n", a->output);
}

static void print_as_json(const arguments *a, const plan_run *w) {
  json_t *out = plan_run_json(w);
  if (a->output != NULL) json_object_set_new(out, "output", json_string(a->output));
  print_json(out);
}

// contacts that the objective asks for and the motion does not have
static void report_missing(const plan_run *w) {
  const carom_plan_result *r = w->result;
  if (r->starts[r->best].missing > 0)
    fprintf(stderr,
            "carom plan: WARNING: %d contacts or apexes that the objective asks for do NOT happen "
            "in the best "
            "motion; the last state stands for them.\n",
            r->starts[r->best].missing);
  if (r->judged && r->true_missing > 0)
    fprintf(stderr,
            "carom plan: WARNING: %d contacts or apexes that the objective asks for do NOT happen "
            "with the "
            "scene's own properties.\n",
            r->true_missing);
  if (r->report.grazing_impacts > 0)
    fprintf(stderr,
            "carom plan: %lld impacts of the best motion graze: gradients through them are too "
            "large to be of "
            "use (docs/gradients.md).\n",
            (long long)r->report.grazing_impacts);
}

static int list_plans(void) {
  for (int k = 0; k < carom_plan_count(); k++) {
    carom_plan *plan;
    carom_error error;
    if (carom_plan_load(carom_plan_name(k), &plan, &error) != CAROM_OK)
      return report_failure("plan", &error);
    printf("%-12s %s\n", carom_plan_name(k), carom_plan_describe(plan).description);
    carom_plan_destroy(plan);
  }
  return EXIT_SUCCESS;
}

static int finish(const arguments *a, const plan_run *w) {
  const bool stopped = w->result->starts[w->result->best].stop == CAROM_PLAN_INTERRUPTED;
  report_unsolved("plan", &w->result->report);
  report_missing(w);
  (a->json ? print_as_json : print_text)(a, w);
  if (!stopped && !interrupted()) return EXIT_SUCCESS;
  fputs("carom plan: interrupted; this is the best so far\n", stderr);
  return EXIT_INTERRUPTED;
}

int command_plan(int argc, char **argv) {
  /* their own meanings here: the plan gives the defaults */
  static const option_words words[] = {{"stop_target_gradient", NULL}, {0}};
  static struct argp_child children[4];
  children[0].argp = given_options_argp(CAROM_PLAN_OPTIONS, NULL);
  children[1].argp = given_options_argp(CAROM_ROLLOUT_OPTIONS, words);
  children[2].argp = &general_argp;
  argp.children = children;
  arguments a = {.rollout = {.of = CAROM_ROLLOUT_OPTIONS}, .optimizer = {.of = CAROM_PLAN_OPTIONS}};
  parse_command_line(&argp, argc, argv, &a);
  if (a.list) return list_plans();
  interrupt_install();
  plan_run w = {0};
  carom_error error = {0};
  carom_status status = prepare(&a, &w, &error);
  if (status == CAROM_OK) status = solve(&a, &w, &error);
  const int code = status == CAROM_OK ? finish(&a, &w) : report_failure("plan", &error);
  plan_run_free(&w);
  return code;
}
