/* `carom reproduce baselines, long, energy, samples, scalability, noise, regularizer, lcp, rope`: the paper's
 * figures 3 to 6, table 3, and appendices K and L.
 *
 * NAME.json: {"carom_version", "command", "quick": [{"text"}], "properties", "errors", "runs"}, rows as reproduce_rows.h
 * has them; the name of a task is that of its folder, with the variant behind a +. */
#include "cli/output.h"
#include "cli/paper_values.h"
#include "cli/reproduce_rows.h"
#include "cli/reproduce_target.h"
#include "cli/template.h"

#include <string.h>

static void add_rows(const result_list *list, json_t *document) {
  json_object_set_new(document, "properties", rows_of_groups(list, add_property_row));
  json_object_set_new(document, "errors", rows_of_groups(list, add_error_row));
  json_object_set_new(document, "runs", run_rows(list));
}

static const char *const seven[] = {"cm-cd-clnn",  "cm-cd-chnn", "cmr-cd-clnn", "cmr-cd-chnn",
                                    "mlp-cd-clnn", "in-cp-clnn", "in-cp-sp",    NULL};
static const char *const four[] = {"cm-cd-clnn", "mlp-cd-clnn", "in-cp-clnn", "in-cp-sp", NULL};
static const char *const ours[] = {"cm-cd-clnn", NULL};
static const char *const regularised[] = {"cmr-cd-clnn", NULL};
static const char *const both[] = {"cm-cd-clnn", "cmr-cd-clnn", NULL};

/* ---- figures 3 to 5: the same runs ----------------------------------------------------------- */

static const json_t *row_of(const json_t *rows, const char *task, const char *model) {
  for (size_t k = 0; k < json_array_size(rows); k++) {
    const json_t *row = json_array_get(rows, k);
    if (strcmp(json_string_value(json_object_get(row, "task")), task) == 0 &&
        strcmp(json_string_value(json_object_get(row, "model")), model) == 0)
      return row;
  }
  return NULL;
}

/* Each row gets "times_cm" and "times_cm_long", its error of chunks and its median error along more steps by those of
 * cm-cd-clnn on the same task. */
static void compare_with_cm(json_t *rows) {
  for (size_t k = 0; k < json_array_size(rows); k++) {
    json_t *row = json_array_get(rows, k);
    const json_t *cm = row_of(rows, json_string_value(json_object_get(row, "task")), "cm-cd-clnn");
    const double chunk = json_at(row, "chunk.mean") / json_at(cm, "chunk.mean");
    const double extended = json_at(row, "extended_median") / json_at(cm, "extended_median");
    json_object_set_new(row, "times_cm", json_number(chunk));
    json_object_set_new(row, "times_cm_long", json_number(extended));
  }
}

static void add_compared_rows(const result_list *list, json_t *document) {
  add_rows(list, document);
  compare_with_cm(json_object_get(document, "errors"));
}

const reproduce_target baselines_target = {.name = "baselines",
                                           .summary = "figure 3: errors of all seven models",
                                           .models = seven,
                                           .tasks = paper_tasks,
                                           .add_rows = add_compared_rows};

static const char *const long_figures[] = {"error", "error_half_width", NULL};
const reproduce_target long_target = {.name = "long",
                                      .summary = "figure 4: errors along 50 steps",
                                      .models = seven,
                                      .tasks = paper_tasks,
                                      .add_rows = add_compared_rows,
                                      .figures = long_figures};

static const char *const conservative[] = {"bp5-e", "cp3-e", "gyro-e", NULL};
static const char *const energy_figures[] = {"energy_predicted", "energy_true", NULL};
const reproduce_target energy_target = {.name = "energy",
                                        .summary = "figure 5: energy where it is kept",
                                        .models = seven,
                                        .tasks = conservative,
                                        .add_rows = add_compared_rows,
                                        .figures = energy_figures};

/* ---- figure 6 -------------------------------------------------------------------------------- */

#define CHUNKS(count)                          \
  {                                            \
    { CAROM_DATASET_OPTIONS, "train", #count } \
  }
#define SAMPLES(scene, count, slow) \
  { .task = scene, .variant = "n" #count, .options = CHUNKS(count), .not_quick = slow }

static const experiment sample_sizes[] = {SAMPLES("bp5", 25, false),
                                          SAMPLES("bp5", 50, false),
                                          SAMPLES("bp5", 100, false),
                                          SAMPLES("bp5", 200, true),
                                          SAMPLES("bp5", 400, true),
                                          SAMPLES("bp5", 800, true),
                                          {0}};
const reproduce_target samples_target = {.name = "samples",
                                         .summary = "figure 6: small data sets of BP5",
                                         .models = four,
                                         .experiments = sample_sizes,
                                         .add_rows = add_compared_rows};

/* ---- table 3 --------------------------------------------------------------------------------- */

static const experiment iterations[] = {{.task = "rope50",
                                         .variant = "time",
                                         .options = {{CAROM_TRAINER_OPTIONS, "epochs", "5"}},
                                         .not_quick = false},
                                        {.task = "rope100",
                                         .variant = "time",
                                         .options = {{CAROM_TRAINER_OPTIONS, "epochs", "5"}},
                                         .not_quick = true},
                                        {.task = "rope200",
                                         .variant = "time",
                                         .options = {{CAROM_TRAINER_OPTIONS, "epochs", "5"}},
                                         .not_quick = true},
                                        {0}};
// {"task", "model", "seconds", "paper", "ratio"}: seconds of an iteration beside the paper's
static void add_time(const run_group *g, json_t *rows) {
  const json_t *paper = paper_entry("seconds", g->runs[0].task, g->runs[0].model);
  double seconds = 0;
  for (int k = 0; k < g->count; k++) seconds += g->runs[k].iteration_seconds / g->count;
  json_t *row = group_row(g);
  json_object_set_new(row, "seconds", json_number(seconds));
  json_object_set_new(row, "paper", json_number(json_at(paper, "")));
  json_object_set_new(row, "ratio", json_number(json_at(paper, "") / seconds));
  json_array_append_new(rows, row);
}

static void add_times(const result_list *list, json_t *document) {
  json_object_set_new(document, "times", rows_of_groups(list, add_time));
  add_rows(list, document);
}

const reproduce_target scalability_target = {.name = "scalability",
                                             .summary = "table 3: seconds of an iteration",
                                             .models = ours,
                                             .experiments = iterations,
                                             .add_rows = add_times};

/* ---- appendix K ------------------------------------------------------------------------------ */

#define NOISE(scene, deviation)                                \
  {                                                            \
    .task = scene, .variant = "noise" #deviation, .options = { \
      {CAROM_DATASET_OPTIONS, "noise", #deviation}             \
    }                                                          \
  }
static const experiment noises[] = {{.task = "cp3"},
                                    NOISE("cp3", 0.01),
                                    NOISE("cp3", 0.05),
                                    {.task = "cp3-e"},
                                    NOISE("cp3-e", 0.01),
                                    NOISE("cp3-e", 0.05),
                                    {0}};
const reproduce_target noise_target = {.name = "noise",
                                       .summary = "appendix K: noise on the data",
                                       .models = both,
                                       .experiments = noises,
                                       .add_rows = add_rows};

#define EPSILON(scene, value)                                \
  {                                                          \
    .task = scene, .variant = "epsilon" #value, .options = { \
      {CAROM_MODEL_OPTIONS, "regularizer", #value}           \
    }                                                        \
  }
#define LEARNED(scene)                                        \
  {                                                           \
    .task = scene, .variant = "epsilon-learned", .options = { \
      {CAROM_MODEL_OPTIONS, "learn_regularizer", "true"}      \
    }                                                         \
  }
static const experiment regularizers[] = {
    EPSILON("cp3", 0.001), EPSILON("cp3", 0.01),   EPSILON("cp3", 0.1),
    LEARNED("cp3"),        EPSILON("gyro", 0.001), EPSILON("gyro", 0.01),
    EPSILON("gyro", 0.1),  LEARNED("gyro"),        {0}};
const reproduce_target regularizer_target = {.name = "regularizer",
                                             .summary = "appendix K: epsilon of CMr",
                                             .models = regularised,
                                             .experiments = regularizers,
                                             .add_rows = add_rows};

static const char *const through[] = {"cm-cd-clnn", "lcp-cd-clnn", NULL};
#define COULOMB(scene)                                                 \
  {                                                                    \
    .task = scene, .variant = "lcp-coulomb", .lcp = true, .options = { \
      {CAROM_MODEL_OPTIONS, "law", "coulomb"}                          \
    }                                                                  \
  }
static const experiment complementarity[] = {{.task = "cp3", .variant = "lcp", .lcp = true},
                                             {.task = "cp3-e", .variant = "lcp", .lcp = true},
                                             {.task = "bp5-e", .variant = "lcp", .lcp = true},
                                             {.task = "gyro", .variant = "lcp", .lcp = true},
                                             COULOMB("cp3"),
                                             COULOMB("gyro"),
                                             {0}};
const reproduce_target lcp_target = {.name = "lcp",
                                     .summary = "appendix K: data of another contact model",
                                     .models = through,
                                     .experiments = complementarity,
                                     .add_rows = add_rows};

/* ---- appendix L ------------------------------------------------------------------------------ */

static const experiment ropes[] = {{.task = "rope50"},
                                   {.task = "rope100", .not_quick = true},
                                   {.task = "rope200", .not_quick = true},
                                   {.task = "rope200",
                                    .variant = "large",
                                    .models = ours,
                                    .options = {{CAROM_MODEL_OPTIONS, "hidden_layers", "6"},
                                                {CAROM_MODEL_OPTIONS, "hidden_size", "512"}},
                                    .not_quick = true},
                                   SAMPLES("rope200", 25, true),
                                   SAMPLES("rope200", 50, true),
                                   SAMPLES("rope200", 100, true),
                                   SAMPLES("rope200", 200, true),
                                   SAMPLES("rope200", 400, true),
                                   SAMPLES("rope200", 1600, true),
                                   SAMPLES("rope200", 3200, true),
                                   SAMPLES("rope200", 6400, true),
                                   SAMPLES("rope200", 12800, true),
                                   {0}};
const reproduce_target rope_target = {.name = "rope",
                                      .summary = "appendix L: ropes, data and network sizes",
                                      .models = four,
                                      .experiments = ropes,
                                      .add_rows = add_compared_rows};
