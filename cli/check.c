/* carom check: every derivative against finite differences, a table. */
#include "cli/commands.h"
#include "cli/derivative_check.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_DIRECTIONS = 512, DEFAULT_SAMPLES = 16, DEFAULT_DIRECTIONS = 3 };
static const double THRESHOLD = 1e-6;
static const double MARGIN = 0.05; /* distance to the ends of a range that a difference needs */

typedef struct arguments {
  run_options run;
  int directions;
} arguments;

/* One line of the table. */
typedef struct row {
  int contact, dynamics;
  bool with_contact;
  int segment;
  check_result result;
} row;

/* Combinations of contact model, dynamics and kind of chunk. */
enum {
  CONTACT_MODELS = 3,
  MAX_CASES = 4 * CONTACT_MODELS,
  MAX_ROWS = MAX_CASES * CHECK_SEGMENT_COUNT
};

typedef struct table {
  int row_count;
  row rows[MAX_ROWS];
  int chunk_count[2]; /* without, with contact */
  int moved_friction, moved_restitution;
  bool moved_regularizer;
  carom_report report; /* of all cases, without differences */
} table;

static const struct argp_option options[] = {
    {"directions", KEY_DIRECTIONS, "N", 0, "random directions for each segment (3)", 0},
    {"sample", RUN_SAMPLE, "N", 0, "draw N states with the scene's sampler (16)",
     UNDER_INITIAL_STATES},
    {"seed", RUN_SEED, "S", 0, "seed of the sampler, the choice of chunks and directions (0)",
     UNDER_INITIAL_STATES},
    {0}};

static const option_words words[] = {
    {"steps", "time steps of the trajectories that chunks are cut from (the scene's)"},
    {"dynamics", "lagrangian or hamiltonian alone (both)"},
    {"contact", "cm, cmr (with A + epsilon I) or lcp alone (all)"},
    {"stop_target_gradient",
     "leave the target velocity out of the derivative, as the paper does: chunks with contacts are "
     "then expected to fail"},
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->run; return 0;
    case KEY_DIRECTIONS:
      a->directions = parse_integer(state, "--directions", text, 1, 1000);
      return 0;
    default: return parse_run_option(&a->run, key, text, state) ? 0 : ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Checks all derivatives of SCENE against central differences: by the initial state, by "
    "controls (random ones) and by every segment of parameters (masses, friction, ...), over "
    "chunks of 5 states with and without "
    "contacts, for all contact models and both forms of dynamics (--contact and --dynamics choose "
    "one). The error is relative; 1e-6 passes. 'used' counts chunks times directions at which the "
    "trajectory is smooth, as finite differences need it. Cone programs that were not solved are "
    "said. Exit status 1 if anything fails."
    "\vExample:\n  carom check cp3 --sample 50";
static struct argp argp = {.options = options, .parser = parse, .args_doc = "SCENE", .doc = help};

// parameters at the end of their range have a derivative to one side only: move them inside
static void move_inside(setup *s, table *t) {
  const carom_segment_info friction = carom_parameters_segment(s->system, CAROM_FRICTION);
  for (int k = 0; k < friction.size; k++) {
    double *value = &s->theta[friction.offset + k];
    if (*value >= MARGIN) continue;
    *value += 0.1;
    t->moved_friction++;
  }
  const carom_segment_info restitution = carom_parameters_segment(s->system, CAROM_RESTITUTION);
  for (int k = 0; k < restitution.size; k++) {
    double *value = &s->theta[restitution.offset + k];
    if (*value >= MARGIN && *value <= 1.0 - MARGIN) continue;
    *value = *value < MARGIN ? 0.1 : 0.9;
    t->moved_restitution++;
  }
  double *epsilon = &s->theta[carom_parameters_segment(s->system, CAROM_REGULARIZER).offset];
  if (*epsilon <= 0.0) {
    *epsilon = 0.01;
    t->moved_regularizer = true;
  }
}

// simulates from the initial states and cuts chunks out of the trajectories
static carom_status collect(const arguments *a, setup *s, chunk_set chunks[2], carom_error *error) {
  size_t states = (size_t)s->batch * (size_t)(s->options.steps + 1);
  double *x = calloc(states * state_size(s), sizeof(double));
  double *v = calloc(states * state_size(s), sizeof(double));
  uint8_t *contact = calloc(states, 1);
  carom_status status = CAROM_OK;
  if (x == NULL || v == NULL || contact == NULL) {
    status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d trajectories", s->batch);
  }
  if (status == CAROM_OK) {
    status = carom_system_simulate(s->system, &s->options, s->theta, s->batch, s->x0, s->v0, x, v,
                                   contact, NULL, error);
  }
  if (status == CAROM_OK) {
    status = chunks_collect(s, x, v, contact, s->options.steps + 1, a->run.seed, &chunks[0],
                            &chunks[1], error);
  }
  free(x);
  free(v);
  free(contact);
  return status;
}

static carom_status check_case(const arguments *a, const setup *s, const chunk_set *chunks,
                               bool with_contact, table *t, carom_error *error) {
  check_result results[CHECK_SEGMENT_COUNT];
  carom_report report;
  carom_status status =
      derivative_check(s, chunks, a->directions, a->run.seed, results, &report, error);
  carom_report_add(&t->report, &report);
  for (int k = 0; status == CAROM_OK && k < CHECK_SEGMENT_COUNT; k++) {
    if (results[k].segment_size == 0) continue;
    t->rows[t->row_count++] = (row){.contact = (int)s->options.contact,
                                    .dynamics = (int)s->options.dynamics,
                                    .with_contact = with_contact,
                                    .segment = k,
                                    .result = results[k]};
  }
  return status;
}

// lcp needs contacts, and has nothing to smooth
static bool has_model(const setup *s, carom_contact_model contact) {
  return contact != CAROM_LCP || (s->info.contact_count > 0 && s->options.cone.smoothing <= 0.0);
}

static carom_status check_all(const arguments *a, setup *s, const chunk_set chunks[2], table *t,
                              carom_error *error) {
  progress bar = progress_begin("checking", "cases", a->run.general.quiet);
  const bool one_contact = given_text(&a->run.rollout, "contact") != NULL;
  const bool one_dynamics = given_text(&a->run.rollout, "dynamics") != NULL;
  const carom_rollout_options wanted = s->options;
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < MAX_CASES; k++) {
    int contact = k / 4, dynamics = k / 2 % 2, with_contact = k % 2;
    if (one_contact && contact != (int)wanted.contact) continue;
    if (one_dynamics && dynamics != (int)wanted.dynamics) continue;
    if (!one_contact && !has_model(s, (carom_contact_model)contact)) continue;
    s->options.contact = (carom_contact_model)contact;
    s->options.dynamics = (carom_dynamics)dynamics;
    status = check_case(a, s, &chunks[with_contact], with_contact, t, error);
    if (status == CAROM_OK && !progress_update(&bar, k + 1, MAX_CASES)) {
      status = carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
    }
  }
  progress_end(&bar);
  return status;
}

static bool row_passes(const row *r) { return r->result.worst <= THRESHOLD; }

static bool row_is_empty(const row *r) { return r->result.used == 0; }

static const char *row_verdict(const row *r) {
  return !row_passes(r) ? "FAIL" : row_is_empty(r) ? "not checked" : "ok";
}

static void print_row(const carom_system *system, const row *r) {
  char error[32];
  snprintf(error, sizeof error, "%.2e", r->result.worst);
  bool zero = r->result.no_effect && r->result.used > 0;
  printf("%-4s %-12s %-8s %-12s %6d / %-6d %-15s %s\n",
         choice_name(CAROM_ROLLOUT_OPTIONS, "contact", r->contact),
         choice_name(CAROM_ROLLOUT_OPTIONS, "dynamics", r->dynamics),
         r->with_contact ? "contact" : "free", check_segment_name(system, r->segment),
         r->result.used, r->result.total,
         zero              ? "0 (no effect)"
         : row_is_empty(r) ? "-"
                           : error,
         row_verdict(r));
}

typedef struct verdict {
  int failed, empty;
  double worst;
} verdict;

static verdict judge(const table *t) {
  verdict all = {0};
  for (int k = 0; k < t->row_count; k++) {
    all.failed += !row_passes(&t->rows[k]);
    all.empty += row_is_empty(&t->rows[k]);
    all.worst = fmax(all.worst, t->rows[k].result.worst);
  }
  return all;
}

static void print_moved(const table *t, const setup *s) {
  if (t->moved_friction > 0) {
    printf("friction is 0 at %d of %d possible contacts: checked at 0.1 there\n", t->moved_friction,
           s->info.contact_count);
  }
  if (t->moved_restitution > 0) {
    printf("restitution is 0 or 1 at %d of %d possible contacts: checked at 0.1 or 0.9 there\n",
           t->moved_restitution, s->info.contact_count);
  }
  if (t->moved_regularizer) printf("epsilon of cmr is 0: checked at 0.01\n");
}

// programs that have no derivative, or of which a part was left out
static void print_programs(const carom_report *r) {
  if (r->failed_programs > 0) {
    printf(
        "\n%lld of %lld cone programs of the chunks were NOT solved (worst residual %.2g): "
        "differences "
        "and derivatives of these chunks are those of the impulses that were used instead.\n",
        (long long)r->failed_programs, (long long)r->programs, r->worst_residual);
  }
  if (r->projected_programs > 0) {
    printf(
        "\nIn %lld of %lld cone programs what no impulse can change, drift off the constraints, "
        "was left "
        "out: they are differentiated with that.\n",
        (long long)r->projected_programs, (long long)r->programs);
  }
}

static void print_text(const arguments *a, const table *t, const setup *s) {
  const verdict all = judge(t);
  printf("%s: chunks of %d states, %d without and %d with contacts, %d directions each\n",
         s->info.name, CHUNK_STATES, t->chunk_count[0], t->chunk_count[1], a->directions);
  print_moved(t, s);
  printf("\n%-4s %-12s %-8s %-12s %-15s %-15s\n", "", "dynamics", "chunks", "segment", "used / of",
         "worst error");
  for (int k = 0; k < t->row_count; k++) print_row(s->system, &t->rows[k]);
  for (int kind = 0; kind < 2; kind++) {
    if (t->chunk_count[kind] > 0) continue;
    printf("\nNo chunk %s a contact was found: more --sample or --steps may find some.\n",
           kind == 1 ? "with" : "without");
  }
  if (s->options.stop_target_gradient) {
    printf(
        "\n--stop-target-gradient leaves a part out of the derivative on purpose: chunks with "
        "contacts are expected to fail.\n");
  }
  print_programs(&t->report);
  if (all.empty > 0) {
    printf("\n%d rows had no chunk where the trajectory is smooth: not checked.\n", all.empty);
  }
  printf("\n%s: %d rows, %d failed, worst error %.2e (allowed %.0e)\n",
         all.failed > 0 ? "FAIL" : "pass", t->row_count, all.failed, all.worst, THRESHOLD);
}

static void print_as_json(const table *t, const setup *s) {
  const verdict all = judge(t);
  json_t *rows = json_array();
  for (int k = 0; k < t->row_count; k++) {
    const row *r = &t->rows[k];
    json_array_append_new(
        rows, json_pack("{ss ss sb ss si si so sb ss}", "contact",
                        choice_name(CAROM_ROLLOUT_OPTIONS, "contact", r->contact), "dynamics",
                        choice_name(CAROM_ROLLOUT_OPTIONS, "dynamics", r->dynamics), "with_contact",
                        (int)r->with_contact, "segment", check_segment_name(s->system, r->segment),
                        "used", r->result.used, "total", r->result.total, "worst",
                        json_number(r->result.worst), "no_effect", (int)r->result.no_effect,
                        "verdict", row_verdict(r)));
  }
  print_json(json_pack("{ss si si si si si so so sb so so}", "scene", s->info.name, "chunks_free",
                       t->chunk_count[0], "chunks_contact", t->chunk_count[1], "moved_friction",
                       t->moved_friction, "moved_restitution", t->moved_restitution, "failed",
                       all.failed, "worst", json_number(all.worst), "threshold",
                       json_number(THRESHOLD), "pass", (int)(all.failed == 0), "report",
                       json_report(&t->report), "rows", rows));
}

static carom_status check(const arguments *a, setup *s, table *t, carom_error *error) {
  chunk_set chunks[2] = {{0}, {0}};
  carom_status status = setup_load(&a->run, s, error);
  if (status == CAROM_OK) move_inside(s, t);
  if (status == CAROM_OK) status = setup_states(&a->run, s, error);
  if (status == CAROM_OK) status = collect(a, s, chunks, error);
  if (status == CAROM_OK && chunks[0].count + chunks[1].count == 0) {
    status = carom_error_set(
        error, CAROM_INVALID_DATA,
        "no chunk of %d states begins without a contact; give more --steps or other "
        "initial states",
        CHUNK_STATES);
  }
  for (int kind = 0; kind < 2; kind++) t->chunk_count[kind] = chunks[kind].count;
  if (status == CAROM_OK) status = check_all(a, s, chunks, t, error);
  chunks_free(&chunks[0]);
  chunks_free(&chunks[1]);
  return status;
}

int command_check(int argc, char **argv) {
  arguments a = {.run = run_options_default(), .directions = DEFAULT_DIRECTIONS};
  a.run.every_model = true;
  argp.children = run_children(words);
  parse_command_line(&argp, argc, argv, &a);
  if (a.run.init == NULL && a.run.sample == 0) a.run.sample = DEFAULT_SAMPLES;
  interrupt_install();
  setup s = {0};
  table t = {0};
  carom_error error = {0};
  int code;
  if (check(&a, &s, &t, &error) != CAROM_OK) {
    code = report_failure("check", &error);
  } else {
    if (a.run.json) {
      print_as_json(&t, &s);
    } else {
      print_text(&a, &t, &s);
    }
    code = judge(&t).failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
  }
  setup_close(&s);
  return code;
}
