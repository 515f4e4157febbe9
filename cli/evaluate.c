/* carom evaluate: how well a trained model predicts, and what it learned beside the truth. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/evaluate_run.h"
#include "cli/given_options.h"
#include "cli/messages.h"
#include "cli/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DATA = 512, KEY_WHOLE, KEY_CHECKPOINT, KEY_SPLIT, KEY_JSON, KEY_OUTPUT = 'o' };
enum { TABLE_ROWS = 30 };

typedef struct arguments {
  evaluate_request request;
  given_options given;
  general_options general;
  bool json;
} arguments;

static const struct argp_option options[] = {
    {"data", KEY_DATA, "FILE", 0,
     "another data set than the run's, or trajectories, which are cut as the run's would be", 0},
    {"whole", KEY_WHOLE, "FILE", 0,
     "predict the trajectories of FILE over their whole length from their first states too: mean "
     "distance of bodies, mean angle",
     0},
    {"split", KEY_SPLIT, "NAME", 0, "chunks to evaluate on: train, val or test (default)", 0},
    {"checkpoint", KEY_CHECKPOINT, "NAME", 0,
     "model to evaluate: that of DIR/best.h5 (best, the default) or DIR/last.h5 (last)", 0},
    {"output", KEY_OUTPUT, "NAME", 0,
     "write NAME.json and NAME.h5 instead of DIR/evaluation.json and .h5 (of other data: "
     "DIR/evaluation-DATA.json and .h5)",
     0},
    {"json", KEY_JSON, NULL, 0, "results as JSON", UNDER_GENERAL},
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *all = state->input;
  evaluate_request *a = &all->request;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &all->given;
      state->child_inputs[1] = &all->general;
      return 0;
    case KEY_DATA: a->data = text; return 0;
    case KEY_WHOLE: a->whole = text; return 0;
    case KEY_CHECKPOINT:
      a->checkpoint = parse_name(state, "--checkpoint", text, checkpoint_names);
      return 0;
    case KEY_SPLIT: a->split = parse_name(state, "--split", text, split_names); return 0;
    case KEY_OUTPUT: a->output = text; return 0;
    case KEY_JSON: all->json = true; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "run folder", text, &a->run); return 0;
    case ARGP_KEY_END:
      if (a->run == NULL) argp_error(state, "a run folder is missing (`carom train -o DIR`)");
      given_options_apply(&all->given, &a->options);
      if (!a->options.truth_known && given_text(&all->given, "steps") != NULL)
        argp_error(state,
                   "--steps says how far predictions are compared with the scene's own motion, "
                   "which --no-truth leaves away; for longer ones beside data cut longer chunks "
                   "(`carom dataset --chunk`) and give them with --data");
      a->options.threads = all->general.threads;
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Evaluates the run in DIR on its test chunks: errors of predictions along the chunks and along "
    "more steps with 95 % confidence intervals, energy, learned friction, restitution and masses "
    "beside the scene's. Writes the same to DIR/evaluation.json, and arrays for plotting to "
    "DIR/evaluation.h5."
    "\vExample:\n  carom train cp3 -o runs/cp3 && carom evaluate runs/cp3 --steps 100";
static struct argp argp = {.options = options, .parser = parse, .args_doc = "DIR", .doc = help};

/* ---- results ---- */

static void print_estimate(const char *label, const carom_estimate *e) {
  printf("  %-34s %10.3e  +- %8.2e  %10.3e  %10.3e\n", label, e->mean, e->half_width, e->median,
         e->largest);
}

static void print_horizon(const char *against, const carom_horizon *h) {
  char label[64];
  snprintf(label, sizeof label, "relative, %d states, to %s", h->states, against);
  print_estimate(label, &h->relative);
  print_estimate("  norm of each state", &h->state_norm);
  if (h->failed_count > 0)
    printf("  %d of %d predictions became non-finite and are left out\n", h->failed_count,
           h->count);
}

static void print_errors(const carom_evaluation *e) {
  printf("\n  %-34s %10s  %11s  %10s  %10s\n", "error", "mean", "95 %", "median", "largest");
  print_horizon("the data", &e->chunk);
  if (!e->truth_known) return;
  print_estimate("  of the scene's own values", &e->scene_relative);
  print_horizon("the truth", &e->extended);
  print_estimate("energy drift, largest", &e->drift.greatest);
  print_estimate("energy drift, mean", &e->drift.average);
  print_estimate("  of the true motion, largest", &e->true_drift.greatest);
  print_estimate("  of the true motion, mean", &e->true_drift.average);
  print_estimate("energy off the true one, largest", &e->energy_error);
}

// the error of single states, at steps that grow
static void print_curve(const carom_horizon *h) {
  static const int steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
  printf("\n  relative error at step");
  for (size_t k = 0; k < sizeof steps / sizeof steps[0] && steps[k] < h->states; k++)
    printf("  %d: %.2e", steps[k], h->curve[steps[k]]);
  putchar('\n');
}

static void print_contact_row(const char *label, const carom_evaluation *e, int friction,
                              int restitution, int64_t states, int64_t chunks) {
  printf("  %-20s %10.6f %10.6f %12.6f %10.6f %9lld %8lld\n", label, e->theta[friction],
         e->scene_theta[friction], e->theta[restitution], e->scene_theta[restitution],
         (long long)states, (long long)chunks);
}

// what the data leaves open of a property
static void print_range(const char *property, const char *label, const carom_range *r,
                        double most) {
  if (r->determined) return;
  printf("  %s of %s: not determined by the data", property, label);
  const bool low = r->low > 0, high = r->high < most;
  if (low && high)
    printf(", any from %.3g to %.3g explains it as well", r->low, r->high);
  else if (low)
    printf(", at least %.3g", r->low);
  else if (high)
    printf(", at most %.3g", r->high);
  putchar('\n');
}

static void print_ranges(const char *label, const carom_evaluation *e, int contact) {
  print_range("friction", label, &e->friction[contact], INFINITY);
  print_range("restitution", label, &e->restitution[contact], 1);
}

// training chunks with a contact
static int count_touching(const evaluate_outcome *o) {
  const carom_dataset *from = o->training != NULL ? o->training : o->data;
  return o->result->train_count > 0 ? carom_chunks_with_contact(&from->train) : 0;
}

static void print_contacts(const evaluate_outcome *o) {
  const carom_evaluation *e = o->result;
  const int count = carom_system_describe(o->system).contact_count;
  const int friction = carom_parameters_segment(o->system, CAROM_FRICTION).offset;
  const int restitution = carom_parameters_segment(o->system, CAROM_RESTITUTION).offset;
  if (count == 0) return;
  if (isnan(e->theta[friction])) {
    printf("\n  friction and restitution are not learned by this model\n");
    return;
  }
  printf("\n  %-20s %10s %10s %12s %10s %9s %8s\n", "contact", "friction", "scene", "restitution",
         "scene", "states", "chunks");
  const bool shared = carom_system_describe(o->system).shared_properties;
  if (shared && carom_model_describe(o->model).options.shared_properties) {
    int64_t states = 0, chunks = count_touching(o);
    for (int k = 0; k < count; k++) states += e->counts[k].states;
    print_contact_row("all", e, friction, restitution, states, chunks);
    print_ranges("all", e, 0);
    return;
  }
  for (int k = 0; k < count && k < TABLE_ROWS; k++) {
    char label[64];
    carom_system_contact_label(o->system, k, label, sizeof label);
    print_contact_row(label, e, friction + k, restitution + k, e->counts[k].states,
                      e->counts[k].chunks);
  }
  for (int k = 0; k < count && k < TABLE_ROWS; k++) {
    char label[64];
    carom_system_contact_label(o->system, k, label, sizeof label);
    print_ranges(label, e, k);
  }
  if (count > TABLE_ROWS) printf("  ... %d more: --json lists all\n", count - TABLE_ROWS);
}

static void print_body_row(const char *label, double learned, double scene) {
  printf("  %-20s %10.6f %10.6f %11.4f %%\n", label, learned, scene,
         100.0 * (learned / scene - 1.0));
}

// in the plane a body turns about one axis: its motion tells the sum of its moments, not each
static void print_inertia(const evaluate_outcome *o, int body_index) {
  char label[64];
  snprintf(label, sizeof label, "%.40s inertia", carom_system_body_id(o->system, body_index));
  print_body_row(label, carom_parameters_inertia(o->system, o->result->theta, body_index),
                 carom_parameters_inertia(o->system, o->result->scene_theta, body_index));
}

static void print_moments(const evaluate_outcome *o, int body_index) {
  const carom_evaluation *e = o->result;
  const int d = carom_system_describe(o->system).dimension;
  const int first = carom_parameters_segment(o->system, CAROM_LOG_MOMENT).offset + body_index * d;
  if (d == 2) print_inertia(o, body_index);
  for (int k = 0; k < d && d == 3; k++) {
    char label[64];
    snprintf(label, sizeof label, "%.40s moment %d", carom_system_body_id(o->system, body_index),
             k);
    print_body_row(label, exp(e->theta[first + k]), exp(e->scene_theta[first + k]));
  }
}

static void print_bodies(const evaluate_outcome *o) {
  const carom_evaluation *e = o->result;
  const int count = carom_system_describe(o->system).body_count;
  if (isnan(e->theta[carom_parameters_segment(o->system, CAROM_LOG_MASS).offset])) {
    printf("\n  masses and potential are given, not learned by this model\n");
    return;
  }
  printf("\n  %-20s %10s %10s %13s\n", "body", "mass ratio", "scene", "off by");
  for (int k = 0; k < count && k < TABLE_ROWS; k++) {
    if (k > 0 || count == 1)
      print_body_row(carom_system_body_id(o->system, k),
                     carom_parameters_mass_ratio(o->system, e->theta, k),
                     carom_parameters_mass_ratio(o->system, e->scene_theta, k));
    if (carom_system_body_is_rigid(o->system, k)) print_moments(o, k);
  }
  if (count > TABLE_ROWS) printf("  ... %d more: --json lists all\n", count - TABLE_ROWS);
}

// what the potential does to bodies, coordinate by coordinate
static void print_accelerations(const evaluate_outcome *o) {
  const carom_evaluation *e = o->result;
  const carom_system_info info = carom_system_describe(o->system);
  if (isnan(e->acceleration[0])) return; // no potential is learned
  printf("\n  %-20s %12s %12s %12s %12s\n", "acceleration", "mean", "deviation",
         e->truth_known ? "scene" : "", e->truth_known ? "deviation" : "");
  for (int k = 0; k < info.body_count && k < TABLE_ROWS; k++)
    for (int i = 0; i < info.dimension; i++) {
      const int at = k * info.dimension + i;
      printf("  %-18.18s %c %12.6g %12.3g", carom_system_body_id(o->system, k), "xyz"[i],
             e -> acceleration[at], e -> acceleration_spread[at]);
      if (e->truth_known)
        printf(" %12.6g %12.3g", e->scene_acceleration[at], e->scene_acceleration_spread[at]);
      putchar('\n');
    }
}

static void print_text(const evaluate_request *a, const evaluate_outcome *o) {
  const carom_model_options used = carom_model_describe(o->model).options;
  const carom_evaluation *e = o->result;
  printf("run            %s: %s of %s, checkpoint %s\n", a->run, carom_model_options_name(&used),
         carom_system_describe(o->system).name, checkpoint_names[a->checkpoint]);
  printf("data           %d %s chunks of %d states; ", e->chunk.count, split_names[a->split],
         e->chunk.states);
  if (e->train_count > 0)
    printf("trained on %d\n", e->train_count);
  else
    puts("the training data is not there: contacts are not counted");
  print_errors(e);
  print_curve(e->truth_known ? &e->extended : &e->chunk);
  print_contacts(o);
  print_bodies(o);
  print_accelerations(o);
  const carom_fit_prediction *p = &o->prediction;
  const double degrees = 180 / 3.14159265358979323846;
  if (a->whole != NULL)
    printf(
        "\npredicted      %d trajectories over their whole length: position %.4g +- %.2g, angle "
        "%.4g +- %.2g degrees\n",
        p->count, p->position_mean, p->position_deviation, p->angle_mean * degrees,
        p->angle_deviation * degrees);
  printf("\nwritten        %s.json, %s.h5\n", o->output, o->output);
}

int command_evaluate(int argc, char **argv) {
  arguments a = {.request = evaluate_request_default(), .given = {.of = CAROM_EVALUATION_OPTIONS}};
  const struct argp_child children[] = {
      {given_options_argp(CAROM_EVALUATION_OPTIONS, NULL), 0, NULL, 0},
      {&general_argp, 0, NULL, 0},
      {0}};
  argp.children = children;
  parse_command_line(&argp, argc, argv, &a);
  if (!a.general.quiet) fprintf(stderr, "evaluating: %s\n", a.request.run);
  evaluate_outcome o = {0};
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (evaluate_run(&a.request, &o, &error) != CAROM_OK) {
    code = report_failure("evaluate", &error);
  } else {
    report_unsolved("evaluate", &o.result->report);
    if (a.json)
      print_json(evaluate_describe(&a.request, &o));
    else
      print_text(&a.request, &o);
  }
  evaluate_outcome_free(&o);
  return code;
}
