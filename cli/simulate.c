/* carom simulate: from initial states to trajectories. */
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct arguments {
  run_options run;
  const char *output;
} arguments;

/* Energy of the samples' first or last states. */
typedef struct energy_range {
  double sum, low, high;
} energy_range;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write the trajectories to FILE (HDF5)", 0},
    {"sample", RUN_SAMPLE, "N", 0, "draw N states with the scene's sampler (1)",
     UNDER_INITIAL_STATES},
    {"seed", RUN_SEED, "S", 0, "seed of the sampler (0)", UNDER_INITIAL_STATES},
    {"controls", RUN_CONTROLS, "FILE", 0,
     "forces and torques of each time step (HDF5, /u [samples][steps][controls]); of one sample: "
     "for "
     "all",
     UNDER_SIMULATION},
    {"dump-failures", RUN_DUMP_FAILURES, "DIR", 0,
     "write cone programs that were not solved into DIR, for `carom solve`", UNDER_CONTACTS},
    {0}};

/* A simulation has no derivative. */
static const option_words words[] = {{"stop_target_gradient", NULL}, {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->run; return 0;
    case 'o': a->output = text; return 0;
    default: return parse_run_option(&a->run, key, text, state) ? 0 : ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Simulates SCENE, a built-in scene (`carom list`) or a scene file (docs/scene-format.md), from "
    "one sampled state or from those that --init or --sample give. Prints steps, contact events "
    "and energy."
    "\vExample:\n  carom simulate bd5 --sample 100 --seed 7 --contact cmr -o bd5.h5";
static struct argp argp = {.options = options, .parser = parse, .args_doc = "SCENE", .doc = help};

// the system promises memory that it does not have: what the machine has is the limit
static carom_status check_memory(const setup *s, const carom_trajectories *out,
                                 carom_error *error) {
  const double GB = 1e9;
  const double needed =
      (double)out->batch * out->state_count * (2.0 * sizeof(double) * (double)state_size(s) + 1.0);
  const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (needed <= there) return CAROM_OK;
  return carom_error_set(
      error, CAROM_OUT_OF_MEMORY,
      "%d trajectories of %d states take %.3g GB, the machine has %.3g; take fewer --sample "
      "or --steps",
      out->batch, out->state_count, needed / GB, there / GB);
}

// allocates the arrays of a trajectory for this run
static carom_status allocate(const setup *s, carom_trajectories *out, carom_error *error) {
  *out = (carom_trajectories){.batch = s->batch,
                              .state_count = s->options.steps + 1,
                              .point_count = s->info.point_count,
                              .dimension = s->info.dimension,
                              .dt = s->options.dt};
  size_t entries = (size_t)out->batch * (size_t)out->state_count;
  carom_status status = check_memory(s, out, error);
  if (status != CAROM_OK) return status;
  out->x = calloc(entries, sizeof(double) * state_size(s));
  out->v = calloc(entries, sizeof(double) * state_size(s));
  out->contact = calloc(entries, 1);
  if (out->x != NULL && out->v != NULL && out->contact != NULL) return CAROM_OK;
  return carom_error_set(
      error, CAROM_OUT_OF_MEMORY,
      "no memory for %d trajectories of %d states; take fewer --sample or --steps", out->batch,
      out->state_count);
}

// a rollout takes controls and keeps the programs that failed, a plain simulation does not
static carom_status run_rollout(const setup *s, const char *folder, carom_trajectories *out,
                                carom_report *report, carom_error *error) {
  carom_rollout *rollout;
  carom_status status = carom_rollout_create(s->system, &s->options, s->batch, &rollout, error);
  if (status != CAROM_OK) return status;
  if (s->u != NULL) status = carom_rollout_set_controls(rollout, s->u, error);
  if (status == CAROM_OK) status = carom_rollout_run(rollout, s->theta, s->x0, s->v0, error);
  if (status == CAROM_OK) {
    size_t entries = (size_t)out->batch * (size_t)out->state_count;
    size_t bytes = entries * state_size(s) * sizeof(double);
    memcpy(out->x, carom_rollout_positions(rollout), bytes);
    memcpy(out->v, carom_rollout_velocities(rollout), bytes);
    memcpy(out->contact, carom_rollout_contacts(rollout), entries);
    *report = carom_rollout_report(rollout);
    int written;
    if (folder != NULL) status = dump_failures(rollout, folder, &written, error);
  }
  carom_rollout_destroy(rollout);
  return status;
}

static energy_range energies(const setup *s, const carom_trajectories *data, int state) {
  energy_range range = {0.0, INFINITY, -INFINITY};
  for (int k = 0; k < data->batch; k++) {
    size_t at = ((size_t)k * (size_t)data->state_count + (size_t)state) * state_size(s);
    double kinetic, potential;
    carom_system_energy(s->system, s->theta, data->x + at, data->v + at, &kinetic, &potential,
                        NULL);
    range.sum += kinetic + potential;
    range.low = fmin(range.low, kinetic + potential);
    range.high = fmax(range.high, kinetic + potential);
  }
  return range;
}

static void print_energy(const char *label, const energy_range *e, int batch) {
  printf("%s %.9g", label, e->sum / batch);
  if (batch > 1) printf(" (mean; %.6g to %.6g)", e->low, e->high);
  putchar('\n');
}

static void print_text(const arguments *a, const setup *s, const carom_trajectories *data,
                       const carom_report *report, double seconds) {
  const energy_range before = energies(s, data, 0);
  const energy_range after = energies(s, data, data->state_count - 1);
  printf("scene          %s (%s)\n", s->info.name, s->info.description);
  printf("steps          %d of %g for %d sample%s\n", s->options.steps, s->options.dt, s->batch,
         s->batch == 1 ? "" : "s");
  printf("contacts       %lld events with %lld contacts\n", (long long)report->events,
         (long long)report->contacts);
  if (s->options.contact_time == CAROM_CONTACT_TIME_EVENT)
    printf("impacts        %lld (%lld grazing), %lld pushes of resting contacts\n",
           (long long)report->impacts, (long long)report->grazing_impacts,
           (long long)report->resting_contacts);
  print_energy("energy before ", &before, s->batch);
  print_energy("energy after  ", &after, s->batch);
  printf("time           %.3g s, %.3g steps/s\n", seconds,
         (double)s->batch * s->options.steps / fmax(seconds, 1e-9));
  if (report->projected_programs > 0) {
    printf("projected      %lld of %lld cone programs (drift off the constraints left out)\n",
           (long long)report->projected_programs, (long long)report->programs);
  }
  if (report->degenerate_programs > 0) {
    printf("degenerate     %lld of %lld cone programs (solved; one-sided derivatives)\n",
           (long long)report->degenerate_programs, (long long)report->programs);
  }
  if (a->output != NULL) printf("written        %s\n", a->output);
}

static json_t *energy_json(const energy_range *e) {
  return json_pack("{so so so}", "sum", json_number(e->sum), "low", json_number(e->low), "high",
                   json_number(e->high));
}

static void print_as_json(const arguments *a, const setup *s, const carom_trajectories *data,
                          const carom_report *report, double seconds) {
  const energy_range before = energies(s, data, 0);
  const energy_range after = energies(s, data, data->state_count - 1);
  print_json(json_pack("{ss si si so so so so so ss?}", "scene", s->info.name, "samples", s->batch,
                       "steps", s->options.steps, "dt", json_number(s->options.dt), "energy_before",
                       energy_json(&before), "energy_after", energy_json(&after), "report",
                       json_report(report), "seconds", json_number(seconds), "output", a->output));
}

// initial states, and memory for what comes of them: before any are drawn, after they are read
static carom_status prepare_states(const arguments *a, setup *s, carom_trajectories *data,
                                   carom_error *error) {
  carom_status status = CAROM_OK;
  if (a->run.init == NULL) {
    s->batch = drawn_states(&a->run);
    status = allocate(s, data, error);
  }
  if (status == CAROM_OK) status = setup_states(&a->run, s, error);
  if (status == CAROM_OK && a->run.init != NULL) status = allocate(s, data, error);
  return status;
}

static carom_status prepare(const arguments *a, setup *s, carom_trajectories *data,
                            carom_error *error) {
  carom_controls read = {0};
  carom_status status = setup_controls_begin(&a->run, s, &read, error);
  if (status == CAROM_OK) status = prepare_states(a, s, data, error);
  if (status == CAROM_OK) status = setup_controls(&a->run, s, &read, error);
  carom_controls_free(&read);
  return status;
}

static carom_status simulate(const arguments *a, setup *s, carom_trajectories *data,
                             carom_report *report, double *seconds, carom_error *error) {
  carom_status status = setup_load(&a->run, s, error);
  if (status == CAROM_OK) status = check_run_output(a->output, &a->run, NULL, error);
  if (status == CAROM_OK) status = prepare(a, s, data, error);
  if (status != CAROM_OK) return status;
  progress bar = progress_begin("simulating", "steps", a->run.general.quiet);
  s->options.progress = progress_update;
  s->options.progress_user = &bar;
  if (a->run.dump_failures != NULL || s->u != NULL) {
    status = run_rollout(s, a->run.dump_failures, data, report, error);
  } else {
    status = carom_system_simulate(s->system, &s->options, s->theta, s->batch, s->x0, s->v0,
                                   data->x, data->v, data->contact, report, error);
  }
  progress_end(&bar);
  *seconds = seconds_now() - bar.start;
  if (status != CAROM_OK || a->output == NULL) return status;
  data->u = s->u; // data is the owner now
  s->u = NULL;
  return carom_trajectories_write(data, s->system, a->output, error);
}

int command_simulate(int argc, char **argv) {
  arguments a = {.run = run_options_default()};
  argp.children = run_children(words);
  parse_command_line(&argp, argc, argv, &a);
  interrupt_install();
  setup s = {0};
  carom_trajectories data = {0};
  carom_report report = {0};
  carom_error error = {0};
  double seconds = 0.0;
  int code = EXIT_SUCCESS;
  if (simulate(&a, &s, &data, &report, &seconds, &error) != CAROM_OK) {
    code = report_failure("simulate", &error);
  } else {
    report_trouble("simulate", &report, a.run.dump_failures);
    (a.run.json ? print_as_json : print_text)(&a, &s, &data, &report, seconds);
  }
  carom_trajectories_free(&data);
  setup_close(&s);
  return code;
}
