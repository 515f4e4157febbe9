/* carom fit: numbers of a scene with their uncertainty, from measured trajectories. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/fit_compare.h"
#include "cli/given_options.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/trajectory_range.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  KEY_DATA = 512,
  KEY_UNKNOWN,
  KEY_USE,
  KEY_HOLD_OUT,
  KEY_TEST,
  KEY_COMPARE,
  KEY_JSON,
  WORST = 5,
  MOST_HYPOTHESES = 8
};

typedef struct arguments {
  const char *scene, *data, *unknown, *test, *output;
  const char *others[MOST_HYPOTHESES];
  int other_count;
  range use, hold_out;
  given_options fit, rollout;
  bool json;
  general_options general;
} arguments;

static const struct argp_option options[] = {
    {"data", KEY_DATA, "FILE", 0, "measured trajectories: a trajectory file or a data set (HDF5)",
     0},
    {"unknown", KEY_UNKNOWN, "LIST", 0,
     "what is sought, in commas: friction, restitution, mass, moment, gravity, stiffness, radius, "
     "offset, corner[b], centre[b], drag, angular_drag, scale, "
     "shift[z]; of one contact or body as in friction[a|ground], mass[b]. Behind each may stand "
     ":start=X :low=X :high=X :prior=MEAN/DEVIATION :shared :each",
     0},
    {"output", 'o', "DIR", 0, "write fit.json, fit.h5, parameters.h5 into DIR", 0},
    {"use", KEY_USE, "A-B", 0, "fit trajectories A to B of the data alone", 0},
    {"hold-out", KEY_HOLD_OUT, "A-B", 0,
     "predict trajectories A to B of the data, which are not fitted", 0},
    {"test", KEY_TEST, "FILE", 0, "predict the trajectories of FILE", 0},
    {"compare", KEY_COMPARE, "LIST", 0,
     "fit these unknowns too, and show both side by side: BIC, and errors of what was held out. "
     "May "
     "be given several times",
     0},
    {"json", KEY_JSON, NULL, 0, "results as JSON", UNDER_GENERAL},
    {0}};

static void check_complete(const arguments *a, struct argp_state *state) {
  require_scene(state, a->scene);
  if (a->data == NULL) argp_error(state, "--data FILE is missing: what was measured");
  if (a->unknown == NULL) argp_error(state, "--unknown LIST is missing: what is sought");
}

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &a->fit;
      state->child_inputs[1] = &a->rollout;
      state->child_inputs[2] = &a->general;
      return 0;
    case KEY_DATA: a->data = text; return 0;
    case KEY_UNKNOWN: a->unknown = text; return 0;
    case KEY_USE: a->use = parse_range(state, "--use", text); return 0;
    case KEY_HOLD_OUT: a->hold_out = parse_range(state, "--hold-out", text); return 0;
    case KEY_TEST: a->test = text; return 0;
    case KEY_COMPARE:
      if (a->other_count == MOST_HYPOTHESES)
        argp_error(state, "--compare: at most %d times", MOST_HYPOTHESES);
      a->others[a->other_count++] = text;
      return 0;
    case KEY_JSON: a->json = true; return 0;
    case 'o': a->output = text; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "scene", text, &a->scene); return 0;
    case ARGP_KEY_END: check_complete(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Finds unknown numbers of SCENE, whose form is known, from measured trajectories: friction, "
    "restitution, masses, moments, gravity, stiffness, with 95 % intervals, correlations, and what "
    "the data does not determine. docs/fitting.md explains it by example."
    "\vExample: friction and masses from ten noisy trajectories\n"
    "  carom simulate cp3 --sample 10 --contact-time event -o cp3.h5\n"
    "  carom fit cp3 --data cp3.h5 --contact-time event \\\n"
    "    --unknown friction:start=1.5,restitution:start=0.3,'mass[b]:start=0.6'";
static struct argp argp = {.options = options,
                           .parser = parse,
                           .args_doc = "SCENE --data FILE --unknown LIST",
                           .doc = help};

/* What a fit works on. */
typedef struct work {
  carom_system *system;
  carom_trajectories data, test;
  carom_dataset *chunks; /* where the data is a data set */
  int count;
  hypothesis all[1 + MOST_HYPOTHESES]; /* what was asked for, then those it is compared with */
} work;

static void work_free(work *w) {
  for (int k = 0; k <= MOST_HYPOTHESES; k++) hypothesis_free(&w->all[k]);
  if (w->chunks == NULL) carom_trajectories_free(&w->data);
  carom_trajectories_free(&w->test);
  carom_dataset_destroy(w->chunks);
  carom_system_destroy(w->system);
}

static carom_trajectories of_chunks(const carom_system *system, const carom_dataset *d,
                                    carom_split split) {
  const carom_chunks *c = carom_dataset_split(d, split);
  const carom_system_info info = carom_system_describe(system);
  return (carom_trajectories){.batch = c->count,
                              .state_count = c->states,
                              .point_count = info.point_count,
                              .dimension = info.dimension,
                              .dt = d->dt,
                              .x = c->x,
                              .v = c->v};
}

static carom_status read_data(const arguments *a, work *w, carom_error *error) {
  bool is_cut;
  carom_status status = carom_dataset_is_cut(a->data, &is_cut, error);
  if (status != CAROM_OK) return status;
  if (!is_cut) return carom_trajectories_read_measured(w->system, a->data, &w->data, error);
  status = carom_dataset_read(w->system, a->data, NULL, &w->chunks, error);
  if (status == CAROM_OK) w->data = of_chunks(w->system, w->chunks, CAROM_TRAIN);
  return status;
}

// those that are fitted: all, a range, or all before those held out
static carom_status choose(const arguments *a, const carom_trajectories *all,
                           carom_trajectories *used, carom_error *error) {
  range use = a->use.last >= 0 ? a->use : (range){0, all->batch - 1};
  if (a->hold_out.last >= 0) {
    if (a->use.last < 0) use.last = a->hold_out.first - 1;
    bool apart = use.last < a->hold_out.first || use.first > a->hold_out.last;
    if (use.last < use.first || !apart)
      return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                             "--hold-out %d-%d: nothing else is left to fit, or --use has some of "
                             "them; say which with --use A-B",
                             a->hold_out.first, a->hold_out.last);
  }
  return range_part(all, "--use", use, used, error);
}

// trajectories that were held out; none: nothing to predict
static carom_status held_out(const arguments *a, work *w, carom_trajectories *part, bool *any,
                             carom_error *error) {
  *any = a->test != NULL || a->hold_out.last >= 0;
  if (a->test == NULL)
    return *any ? range_part(&w->data, "--hold-out", a->hold_out, part, error) : CAROM_OK;
  carom_status status = carom_trajectories_read_measured(w->system, a->test, &w->test, error);
  *part = w->test;
  return status;
}

/* What all hypotheses share. */
typedef struct setting {
  const carom_trajectories *used;
  const carom_rollout_options *simulation;
  const carom_fit_options *how;
  progress *bar;
  bool quiet;
} setting;

static carom_status run_one(const setting *s, const carom_system *system, hypothesis *h,
                            carom_error *error) {
  carom_status status =
      carom_fit_create(system, s->used, h->unknown, s->simulation, s->how, &h->fit, error);
  for (int k = 0; status == CAROM_OK && k < carom_fit_finding_count(h->fit); k++) {
    const carom_finding *f = carom_fit_finding(h->fit, k);
    if (f->warning && !s->quiet) progress_line(s->bar, "carom fit: warning: %s", f->text);
  }
  return status == CAROM_OK ? carom_fit_run(h->fit, error) : status;
}

static carom_status run(const arguments *a, work *w, carom_error *error) {
  carom_status status = carom_system_load(a->scene, &w->system, error);
  if (status == CAROM_OK) status = read_data(a, w, error);
  if (status != CAROM_OK) return status;
  carom_rollout_options simulation = carom_rollout_default_options(w->system);
  carom_fit_options how = carom_fit_default_options();
  given_options_apply(&a->rollout, &simulation);
  given_options_apply(&a->fit, &how);
  how.threads = a->general.threads;
  progress bar = progress_begin("fitting", "iterations", a->general.quiet);
  how.progress = progress_update;
  how.progress_user = &bar;
  interrupt_install();
  carom_trajectories used, part;
  setting s = {&used, &simulation, &how, &bar, a->general.quiet};
  bool any = false;
  status = choose(a, &w->data, &used, error);
  if (status == CAROM_OK) status = held_out(a, w, &part, &any, error);
  for (int k = 0; k <= a->other_count && status == CAROM_OK; k++) {
    hypothesis *h = &w->all[k];
    h->unknown = k == 0 ? a->unknown : a->others[k - 1];
    s.quiet = a->general.quiet || k > 0; // findings are about the data, the same for all
    status = run_one(&s, w->system, h, error);
    if (status == CAROM_OK && any) status = carom_fit_predict(h->fit, &part, &h->prediction, error);
    h->predicted = any && status == CAROM_OK;
    w->count = k + 1;
  }
  progress_end(&bar);
  return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static json_t *estimates_json(const carom_fit_result *r) {
  json_t *array = json_array();
  for (int k = 0; k < r->estimate_count; k++) {
    const carom_fit_estimate *e = &r->estimates[k];
    json_array_append_new(
        array,
        json_pack("{ss so so so so so so sb sb sb sb}", "name", e->name, "value",
                  json_number(e->value), "deviation", json_number(e->deviation), "low",
                  json_number(e->low), "high", json_number(e->high), "start", json_number(e->start),
                  "scene", json_number(e->scene), "determined", e->determined, "at_border",
                  e->at_border, "derived", e->derived, "profiled", e->profiled));
  }
  return array;
}

static json_t *correlation_json(const carom_fit_result *r) {
  json_t *rows = json_array();
  for (int i = 0; i < r->unknown_count; i++) {
    json_t *row = json_array();
    for (int j = 0; j < r->unknown_count; j++)
      json_array_append_new(row, json_number(r->correlation[i * r->unknown_count + j]));
    json_array_append_new(rows, row);
  }
  return rows;
}

static json_t *channels_json(const carom_fit_result *r) {
  json_t *object = json_object();
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) {
    const carom_fit_channel *channel = &r->channels[c];
    if (channel->count == 0) continue;
    json_object_set_new(object, carom_channel_name((carom_channel)c),
                        json_pack("{sI so sb so}", "numbers", (json_int_t)channel->count, "noise",
                                  json_number(channel->noise), "estimated", channel->estimated,
                                  "residual", json_number(channel->residual)));
  }
  return object;
}

static json_t *trajectories_json(const carom_fit_result *r) {
  json_t *array = json_array();
  for (int k = 0; k < r->trajectory_count; k++) {
    const carom_fit_trajectory *t = &r->trajectories[k];
    json_array_append_new(array, json_pack("{si sI so si}", "trajectory", t->trajectory, "numbers",
                                           (json_int_t)t->count, "deviation",
                                           json_number(t->deviation), "outliers", t->outliers));
  }
  return array;
}

static json_t *describe(const arguments *a, const work *w) {
  const carom_fit_result *r = carom_fit_result_of(w->all[0].fit);
  json_t *notes = json_array(), *findings = json_array();
  for (int k = 0; k < r->note_count; k++)
    json_array_append_new(
        notes, json_pack("{sb ss}", "warning", r->notes[k].warning, "text", r->notes[k].text));
  for (int k = 0; k < carom_fit_finding_count(w->all[0].fit); k++)
    json_array_append_new(findings, json_string(carom_fit_finding(w->all[0].fit, k)->text));
  json_t *root = json_pack("{ss ss ss so so so so so so so so si si so so}", "scene", a->scene,
                           "data", a->data, "unknown", a->unknown, "estimates", estimates_json(r),
                           "correlation", correlation_json(r), "channels", channels_json(r),
                           "notes", notes, "findings", findings, "trajectories",
                           trajectories_json(r), "scale", json_number(r->scale), "shift",
                           json_pack("[o o o]", json_number(r->shift[0]), json_number(r->shift[1]),
                                     json_number(r->shift[2])),
                           "pieces", r->pieces, "iterations", r->iterations, "log_likelihood",
                           json_number(r->log_likelihood), "bic", json_number(r->bic));
  if (root != NULL && w->count > 1)
    json_object_set_new(root, "hypotheses", hypotheses_json(w->all, w->count));
  if (root == NULL || !w->all[0].predicted) return root;
  const carom_fit_prediction *p = &w->all[0].prediction;
  json_object_set_new(
      root, "prediction",
      json_pack("{si so so so so}", "trajectories", p->count, "position",
                json_number(p->position_mean), "position_deviation",
                json_number(p->position_deviation), "angle", json_number(p->angle_mean),
                "angle_deviation", json_number(p->angle_deviation)));
  return root;
}

static carom_status write_all(const arguments *a, const work *w, carom_error *error) {
  char path[4096];
  if (a->output == NULL) return CAROM_OK;
  if (mkdir(a->output, 0777) != 0 && errno != EEXIST)
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be made: %s", a->output,
                           strerror(errno));
  const carom_fit_result *r = carom_fit_result_of(w->all[0].fit);
  snprintf(path, sizeof path, "%s/parameters.h5", a->output);
  carom_status status = carom_parameters_write(w->system, r->theta, path, error);
  snprintf(path, sizeof path, "%s/fit.h5", a->output);
  if (status == CAROM_OK) status = carom_fit_write(w->all[0].fit, path, error);
  if (status != CAROM_OK) return status;
  snprintf(path, sizeof path, "%s/fit.json", a->output);
  json_t *root = describe(a, w);
  status = write_json(path, root, error);
  json_decref(root);
  return status;
}

static void print_estimate(const carom_fit_estimate *e) {
  printf("  %-28s %13.7g ", e->name, e->value);
  if (!e->determined && isinf(e->high) && e->low <= 0)
    printf("%10s  %-27s", "", "not determined");
  else if (!e->determined)
    printf("%10s  [%11.6g, %11.6g]", "", e->low, e->high);
  else
    printf("%10.2g  [%11.6g, %11.6g]", e->deviation, e->low, e->high);
  printf(" %11.6g%s\n", e->scene,
         e->at_border && e->profiled ? "  at its border, profile"
         : e->at_border              ? "  at its border"
         : e->derived                ? "  derived"
                                     : "");
}

/* The whole matrix where it is small, else the pairs that are hard to tell apart. */
static void print_matrix(const carom_fit_result *r) {
  int p = r->unknown_count;
  printf("\n  %-28s", "correlation");
  for (int j = 0; j < p; j++) printf(" %7d", j + 1);
  putchar('\n');
  for (int i = 0; i < p; i++) {
    printf("  %2d %-25s", i + 1, r->estimates[i].name);
    for (int j = 0; j <= i; j++)
      if (r->estimates[i].determined && r->estimates[j].determined)
        printf(" %+7.3f", r->correlation[i * p + j]);
      else
        printf(" %7s", "-");
    putchar('\n');
  }
}

static void print_correlations(const carom_fit_result *r) {
  enum { SMALL = 8 };
  int p = r->unknown_count, shown = 0;
  if (p > 1 && p <= SMALL) {
    print_matrix(r);
    return;
  }
  for (int i = 0; i < p; i++)
    for (int j = 0; j < i; j++) {
      double c = r->correlation[i * p + j];
      if (fabs(c) < 0.8 || !r->estimates[i].determined || !r->estimates[j].determined) continue;
      if (shown++ < WORST)
        printf("%s %s, %s: %+.3f\n", shown == 1 ? "\ncorrelated    " : "              ",
               r->estimates[j].name, r->estimates[i].name, c);
    }
  if (shown > WORST) printf("               ... %d more: fit.json has all\n", shown - WORST);
}

static void print_text(const arguments *a, const work *w) {
  const carom_fit_result *r = carom_fit_result_of(w->all[0].fit);
  printf("scene          %s\n", a->scene);
  printf("data           %s: %d trajectories in %d pieces, %d iterations\n", a->data,
         r->trajectory_count, r->pieces, r->iterations);
  for (int k = 0; k < carom_fit_finding_count(w->all[0].fit); k++)
    if (!carom_fit_finding(w->all[0].fit, k)->warning)
      printf("               %s\n", carom_fit_finding(w->all[0].fit, k)->text);
  printf("\n  %-28s %13s %10s  %-27s %11s\n", "unknown", "value", "deviation", "95 % interval",
         "scene");
  for (int k = 0; k < r->estimate_count; k++) print_estimate(&r->estimates[k]);
  print_correlations(r);
  for (int k = 0; k < r->note_count; k++)
    printf("%s %s\n", k == 0 ? "\nnotes         " : "              ", r->notes[k].text);
  printf("\n  %-28s %13s %10s %12s\n", "channel", "numbers", "noise", "residual");
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) {
    const carom_fit_channel *channel = &r->channels[c];
    if (channel->count == 0) continue;
    printf("  %-28s %13lld %10.3g %12.3g%s\n", carom_channel_name((carom_channel)c),
           (long long)channel->count, channel->noise, channel->residual,
           channel->estimated ? "" : "  noise as given");
  }
  printf("\nworst          ");
  for (int k = 0; k < r->trajectory_count && k < WORST; k++)
    printf("%strajectory %d: %.2f deviations, %d states far off", k > 0 ? "\n               " : "",
           r->trajectories[k].trajectory, r->trajectories[k].deviation,
           r->trajectories[k].outliers);
  printf("\nlikelihood     log %.6g, BIC %.6g\n", r->log_likelihood, r->bic);
  if (w->all[0].predicted)
    printf(
        "predicted      %d trajectories over their whole length: position %.4g +- %.2g, angle "
        "%.4g +- %.2g degrees\n",
        w->all[0].prediction.count, w->all[0].prediction.position_mean,
        w->all[0].prediction.position_deviation,
        w->all[0].prediction.angle_mean * 180 / 3.14159265358979323846,
        w->all[0].prediction.angle_deviation * 180 / 3.14159265358979323846);
  if (w->count > 1) hypotheses_print(w->all, w->count);
  if (a->output != NULL) printf("written        %s/fit.json, fit.h5, parameters.h5\n", a->output);
}

int command_fit(int argc, char **argv) {
  arguments a = {.use = {0, -1},
                 .hold_out = {0, -1},
                 .fit = {.of = CAROM_FIT_OPTIONS},
                 .rollout = {.of = CAROM_ROLLOUT_OPTIONS}};
  static const option_words words[] = {{"steps", NULL}, {"dt", NULL}, {0}};
  const struct argp_child children[] = {
      {given_options_argp(CAROM_FIT_OPTIONS, NULL), 0, NULL, 0},
      {given_options_argp(CAROM_ROLLOUT_OPTIONS, words), 0, NULL, 0},
      {&general_argp, 0, NULL, 0},
      {0}};
  argp.children = children;
  parse_command_line(&argp, argc, argv, &a);
  work w = {0};
  carom_error error = {0};
  carom_status status = run(&a, &w, &error);
  if (status == CAROM_OK) status = write_all(&a, &w, &error);
  int code = EXIT_SUCCESS;
  if (status != CAROM_OK) {
    code = report_failure("fit", &error);
  } else {
    report_unsolved("fit", &carom_fit_result_of(w.all[0].fit)->report);
    if (a.json)
      print_json(describe(&a, &w));
    else
      print_text(&a, &w);
  }
  work_free(&w);
  return code;
}
