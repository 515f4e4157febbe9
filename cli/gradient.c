/* carom gradient: the loss mean |prediction - target| and its gradient. */
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct arguments {
  run_options run;
  const char *target;
  const char *output;
} arguments;

/* Memory of one gradient. */
typedef struct work {
  carom_trajectories target;
  carom_rollout *rollout;
  double *x_bar, *v_bar;   /* [batch][states][points][dimension] */
  double *x0_bar, *v0_bar; /* [batch][points][dimension] */
  double *theta_bar;
  double *loss_each; /* [batch] */
  double loss;
  carom_report report;
} work;

enum { KEY_TARGET = 512 };

static const struct argp_option options[] = {
    {"target", KEY_TARGET, "FILE", 0, "trajectory file to compare with", 0},
    {"output", 'o', "FILE", 0, "write loss and gradient to FILE (HDF5)", 0},
    {"controls", RUN_CONTROLS, "FILE", 0,
     "forces and torques of each time step (HDF5, /u [samples][steps][controls]); of one sample: "
     "for "
     "all",
     UNDER_SIMULATION},
    {"dump-failures", RUN_DUMP_FAILURES, "DIR", 0,
     "write cone programs that were not solved into DIR, for `carom solve`", UNDER_CONTACTS},
    {0}};

static const option_words words[] = {
    {"steps", "time steps: as many as the target has, which is the default"}, {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->run; return 0;
    case KEY_TARGET: a->target = text; return 0;
    case 'o': a->output = text; return 0;
    case ARGP_KEY_SUCCESS:
      if (a->target == NULL) argp_error(state, "--target FILE is missing");
      if (a->run.init == NULL) argp_error(state, "--init FILE is missing");
      return 0;
    default: return parse_run_option(&a->run, key, text, state) ? 0 : ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Simulates SCENE from the states of --init and compares with the trajectories of --target: "
    "loss = mean |prediction - target| over all entries of (x, v) of all states. Prints the loss "
    "and the norms of its gradient by the initial states, by controls and by each kind of "
    "parameter "
    "(masses, friction, ...)."
    "\vExample: how cp3 would have to change to move as cp3-e does\n"
    "  carom simulate cp3-e --sample 8 -o truth.h5\n"
    "  carom gradient cp3 --init truth.h5 --target truth.h5 -o gradient.h5";
static struct argp argp = {.options = options,
                           .parser = parse,
                           .args_doc = "SCENE --init FILE --target FILE",
                           .doc = help};

// steps, samples and time step of the target decide those of the run
static carom_status match_target(const arguments *a, setup *s, const carom_trajectories *target,
                                 carom_error *error) {
  int steps = target->state_count - 1;
  if (given_text(&a->run.rollout, "steps") != NULL && s->options.steps != steps) {
    return carom_error_set(error, CAROM_INVALID_DATA,
                           "%s: has %d states, so --steps must be %d, not %d", a->target,
                           target->state_count, steps, s->options.steps);
  }
  s->options.steps = steps;
  if (target->batch != s->batch) {
    return carom_error_set(error, CAROM_INVALID_DATA, "%s has %d samples, but %s has %d", a->target,
                           target->batch, a->run.init, s->batch);
  }
  if (target->dt > 0.0 && fabs(target->dt - s->options.dt) > 1e-9 * s->options.dt) {
    return carom_error_set(error, CAROM_INVALID_DATA,
                           "%s: has the time step %g, but the run has %g; give --dt %.17g",
                           a->target, target->dt, s->options.dt, target->dt);
  }
  report_time_step("gradient", target->dt_from, s->options.dt, a->target);
  return CAROM_OK;
}

static carom_status allocate(const setup *s, work *w, carom_error *error) {
  size_t batch = (size_t)s->batch, all = batch * (size_t)w->target.state_count * state_size(s);
  w->x_bar = calloc(all, sizeof(double));
  w->v_bar = calloc(all, sizeof(double));
  w->x0_bar = calloc(batch * state_size(s), sizeof(double));
  w->v0_bar = calloc(batch * state_size(s), sizeof(double));
  w->theta_bar = calloc((size_t)carom_parameters_count(s->system), sizeof(double));
  w->loss_each = calloc(batch, sizeof(double));
  if (w->x_bar != NULL && w->v_bar != NULL && w->x0_bar != NULL && w->v0_bar != NULL &&
      w->theta_bar != NULL && w->loss_each != NULL) {
    return CAROM_OK;
  }
  return carom_error_set(error, CAROM_OUT_OF_MEMORY,
                         "no memory for the gradient of %d trajectories", s->batch);
}

static void work_free(work *w) {
  carom_trajectories_free(&w->target);
  carom_rollout_destroy(w->rollout);
  free(w->x_bar);
  free(w->v_bar);
  free(w->x0_bar);
  free(w->v0_bar);
  free(w->theta_bar);
  free(w->loss_each);
}

// sum of |prediction - target| and its derivative, times `weight`
static double absolute_error(const double *prediction, const double *target, size_t count,
                             double weight, double *bar) {
  double sum = 0.0;
  for (size_t k = 0; k < count; k++) {
    double difference = prediction[k] - target[k];
    sum += fabs(difference);
    bar[k] = weight * (double)((difference > 0.0) - (difference < 0.0));
  }
  return weight * sum;
}

static void loss_of_run(const setup *s, work *w) {
  size_t each = (size_t)w->target.state_count * state_size(s);
  double weight = 1.0 / (2.0 * (double)each * s->batch);
  const double *x = carom_rollout_positions(w->rollout);
  const double *v = carom_rollout_velocities(w->rollout);
  for (int k = 0; k < s->batch; k++) {
    size_t at = (size_t)k * each;
    double part = absolute_error(x + at, w->target.x + at, each, weight, w->x_bar + at) +
                  absolute_error(v + at, w->target.v + at, each, weight, w->v_bar + at);
    w->loss_each[k] = part * s->batch;
    w->loss += part;
  }
}

static carom_status run(const arguments *a, setup *s, work *w, carom_error *error) {
  progress bar = progress_begin("simulating", "steps", a->run.general.quiet);
  s->options.progress = progress_update;
  s->options.progress_user = &bar;
  carom_status status = carom_rollout_create(s->system, &s->options, s->batch, &w->rollout, error);
  if (status == CAROM_OK && s->u != NULL)
    status = carom_rollout_set_controls(w->rollout, s->u, error);
  if (status == CAROM_OK) status = carom_rollout_run(w->rollout, s->theta, s->x0, s->v0, error);
  if (status == CAROM_OK) {
    loss_of_run(s, w);
    w->report = carom_rollout_report(w->rollout);
    bar = progress_begin("differentiating", "steps", a->run.general.quiet);
    status = carom_rollout_vjp(w->rollout, w->x_bar, w->v_bar, w->x0_bar, w->v0_bar, w->theta_bar,
                               error);
  }
  progress_end(&bar);
  return status;
}

// states, target and controls, which agree with each other
static carom_status prepare(const arguments *a, setup *s, work *w, carom_error *error) {
  carom_controls controls = {0};
  carom_status status = setup_controls_begin(&a->run, s, &controls, error);
  if (status == CAROM_OK) status = setup_states(&a->run, s, error);
  if (status == CAROM_OK) status = carom_trajectories_read(s->system, a->target, &w->target, error);
  if (status == CAROM_OK) status = match_target(a, s, &w->target, error);
  if (status == CAROM_OK) status = setup_controls(&a->run, s, &controls, error);
  if (status == CAROM_OK && w->target.u != NULL && s->u == NULL)
    fprintf(stderr, "carom gradient: %s was made with controls, this run has none (--controls)\n",
            a->target);
  carom_controls_free(&controls);
  return status;
}

static carom_status compute(const arguments *a, setup *s, work *w, carom_error *error) {
  carom_status status = setup_load(&a->run, s, error);
  if (status == CAROM_OK) status = check_run_output(a->output, &a->run, a->target, error);
  if (status == CAROM_OK) status = prepare(a, s, w, error);
  if (status == CAROM_OK) status = allocate(s, w, error);
  if (status == CAROM_OK) status = run(a, s, w, error);
  if (status != CAROM_OK) return status;
  int written;
  if (a->run.dump_failures != NULL) {
    status = dump_failures(w->rollout, a->run.dump_failures, &written, error);
  }
  if (status != CAROM_OK || a->output == NULL) return status;
  const carom_gradient result = {.batch = s->batch,
                                 .dt = s->options.dt,
                                 .loss = w->loss,
                                 .loss_each = w->loss_each,
                                 .x0_bar = w->x0_bar,
                                 .v0_bar = w->v0_bar,
                                 .theta_bar = w->theta_bar,
                                 .steps = s->options.steps,
                                 .u_bar = carom_rollout_controls_bar(w->rollout)};
  return carom_gradient_write(&result, s->system, a->output, error);
}

static double norm(const double *values, size_t count) {
  double sum = 0.0;
  for (size_t k = 0; k < count; k++) sum += values[k] * values[k];
  return sqrt(sum);
}

// of the derivative by all controls
static double control_norm(const setup *s, const work *w) {
  size_t each = (size_t)s->options.steps * (size_t)s->info.control_size;
  return norm(carom_rollout_controls_bar(w->rollout), (size_t)s->batch * each);
}

static void print_text(const arguments *a, const setup *s, const work *w) {
  size_t count = (size_t)s->batch * state_size(s);
  printf("loss           %.17g\n", w->loss);
  printf("|gradient| by initial x    %.9g\n", norm(w->x0_bar, count));
  printf("|gradient| by initial v    %.9g\n", norm(w->v0_bar, count));
  if (s->u != NULL) printf("|gradient| by controls     %.9g\n", control_norm(s, w));
  for (int k = 0; k < CAROM_SEGMENT_COUNT; k++) {
    const carom_segment_info segment = carom_parameters_segment(s->system, (carom_segment)k);
    if (segment.size == 0) continue;
    printf("|gradient| by %-12s %.9g\n", segment.name,
           norm(w->theta_bar + segment.offset, (size_t)segment.size));
  }
  if (a->output != NULL) printf("written        %s\n", a->output);
}

static json_t *array_json(const double *values, size_t count) {
  json_t *array = json_array();
  for (size_t k = 0; k < count; k++) json_array_append_new(array, json_number(values[k]));
  return array;
}

static void print_as_json(const arguments *a, const setup *s, const work *w) {
  size_t count = (size_t)s->batch * state_size(s);
  json_t *norms = json_pack("{so so}", "x0", json_number(norm(w->x0_bar, count)), "v0",
                            json_number(norm(w->v0_bar, count)));
  if (s->u != NULL) json_object_set_new(norms, "u", json_number(control_norm(s, w)));
  json_t *parameters = json_object();
  for (int k = 0; k < CAROM_SEGMENT_COUNT; k++) {
    const carom_segment_info segment = carom_parameters_segment(s->system, (carom_segment)k);
    const double *values = w->theta_bar + segment.offset;
    json_object_set_new(parameters, segment.name, array_json(values, (size_t)segment.size));
    json_object_set_new(norms, segment.name, json_number(norm(values, (size_t)segment.size)));
  }
  print_json(json_pack("{ss si si so so so so so ss?}", "scene", s->info.name, "samples", s->batch,
                       "steps", s->options.steps, "loss", json_number(w->loss), "loss_each",
                       array_json(w->loss_each, (size_t)s->batch), "gradient_norms", norms,
                       "parameter_gradient", parameters, "report", json_report(&w->report),
                       "output", a->output));
}

int command_gradient(int argc, char **argv) {
  arguments a = {.run = run_options_default()};
  argp.children = run_children(words);
  parse_command_line(&argp, argc, argv, &a);
  interrupt_install();
  setup s = {0};
  work w = {0};
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (compute(&a, &s, &w, &error) != CAROM_OK) {
    code = report_failure("gradient", &error);
  } else {
    report_trouble("gradient", &w.report, a.run.dump_failures);
    (a.run.json ? print_as_json : print_text)(&a, &s, &w);
  }
  work_free(&w);
  setup_close(&s);
  return code;
}
