#include "cli/report.h"

#include "cli/csv_table.h"
#include "cli/markdown_html.h"
#include "cli/memory.h"
#include "cli/page.h"
#include "cli/rendering.h"
#include "cli/reproduce_target.h"
#include "cli/svg_plot.h"
#include "cli/template.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SERIES = 16, MOST_TASKS = 32 };

/* A page that is being written. */
typedef struct report {
  const char *folder;
  FILE *out;
} report;

/* ---- series from JSON ------------------------------------------------------------------------ */

// numbers of an array; the caller frees
static double *numbers_of(const json_t *array, int *count) {
  *count = (int)json_array_size(array);
  double *values = allocate((size_t)*count, sizeof(double));
  for (int k = 0; values != NULL && k < *count; k++) {
    const json_t *value = json_array_get(array, (size_t)k);
    values[k] = json_is_number(value) ? json_number_value(value) : NAN;
  }
  return values;
}

/* Series that own their numbers. */
typedef struct series_set {
  int count;
  plot_series items[MOST_SERIES];
} series_set;

static void series_free(series_set *set) {
  for (int k = 0; k < set->count; k++) {
    free((double *)set->items[k].x);
    free((double *)set->items[k].y);
    free((double *)set->items[k].half_width);
  }
  set->count = 0;
}

// takes the numbers over; x NULL: 0, step, 2 step, ...
static void series_add(series_set *set, const char *name, double *x, double *y, int count,
                       double step, int colour) {
  if (x == NULL && y != NULL) {
    x = allocate((size_t)count, sizeof(double));
    for (int k = 0; x != NULL && k < count; k++) x[k] = k * step;
  }
  if (x == NULL || y == NULL || set->count == MOST_SERIES) {
    free(x);
    free(y);
    return;
  }
  // a line of one point cannot be seen
  set->items[set->count++] = (plot_series){
      .name = name, .count = count, .x = x, .y = y, .colour = colour, .points = count == 1};
}

/* ---- figures of errors ----------------------------------------------------------------------- */

// the tasks of the rows, each once, in their order
static int tasks_of(const json_t *rows, const char **tasks) {
  int count = 0;
  for (size_t k = 0; k < json_array_size(rows); k++) {
    const char *task = json_string_value(json_object_get(json_array_get(rows, k), "task"));
    int at = 0;
    while (task != NULL && at < count && strcmp(tasks[at], task) != 0) at++;
    if (task != NULL && at == count && count < MOST_TASKS) tasks[count++] = task;
  }
  return count;
}

static int place_of(const char *const *names, int count, const char *name) {
  int at = 0;
  while (at < count && strcmp(names[at], name) != 0) at++;
  return at;
}

static int model_number(const char *model) {
  int k = 0;
  while (k < carom_model_name_count() && strcmp(carom_model_name(k), model) != 0) k++;
  return k;
}

static const char *text_of(const json_t *row, const char *name) {
  const char *text = json_string_value(json_object_get(row, name));
  return text != NULL ? text : "";
}

// the models of the rows, each once
static int models_of(const json_t *rows, const char **models) {
  int count = 0;
  for (size_t k = 0; k < json_array_size(rows); k++) {
    const char *model = text_of(json_array_get(rows, k), "model");
    const int at = place_of(models, count, model);
    if (at == count && count < MOST_SERIES - 1) models[count++] = model;
  }
  return count;
}

// points of one model over the tasks, or of the paper where `model` is NULL
static void add_error_points(series_set *set, const json_t *rows, const char *const *tasks,
                             int task_count, const char *model, const char *name, double offset,
                             int colour) {
  const int most = (int)json_array_size(rows);
  double *x = allocate((size_t)most, sizeof(double)), *y = allocate((size_t)most, sizeof(double));
  double *half = allocate((size_t)most, sizeof(double));
  int count = 0;
  for (int k = 0; x != NULL && y != NULL && half != NULL && k < most; k++) {
    const json_t *row = json_array_get(rows, (size_t)k);
    const json_t *value = json_object_get(row, model != NULL ? "chunk" : "paper");
    if (!json_is_object(value) || (model != NULL && strcmp(text_of(row, "model"), model) != 0))
      continue;
    x[count] = place_of(tasks, task_count, text_of(row, "task")) + offset;
    y[count] = json_at(value, "mean");
    half[count++] = json_at(value, "half_width_95");
  }
  if (half == NULL) count = 0;
  const int before = set->count;
  series_add(set, name, x, y, count, 0, colour);
  if (set->count == before) {
    free(half);
    return;
  }
  set->items[before].half_width = half;
  set->items[before].points = true;
  set->items[before].hollow = model == NULL;
}

static void put_figure_3(const report *r, const json_t *rows) {
  const char *tasks[MOST_TASKS], *models[MOST_SERIES];
  const int task_count = tasks_of(rows, tasks), model_count = models_of(rows, models);
  series_set set = {0};
  for (int k = 0; k < model_count; k++)
    add_error_points(&set, rows, tasks, task_count, models[k], models[k],
                     0.6 * (k + 0.5) / model_count - 0.3, model_number(models[k]));
  add_error_points(&set, rows, tasks, task_count, NULL, "paper (appendices K, L)", 0.36, 7);
  fputs(
      "<h3>Figure 3: relative error of short predictions, with 95 % intervals</h3>\n<div "
      "class=\"plots\">",
      r->out);
  plot_write(r->out, &(plot){.title = "Relative error on test trajectories",
                             .x_label = "task",
                             .y_label = "relative error",
                             .log = true,
                             .names = tasks,
                             .name_count = task_count,
                             .series_count = set.count,
                             .series = set.items,
                             .mark = NAN});
  fputs("</div>\n", r->out);
  series_free(&set);
}

static void put_figure_4(const report *r, const json_t *rows) {
  const char *tasks[MOST_TASKS];
  const int task_count = tasks_of(rows, tasks);
  fputs(
      "<h3>Figure 4: relative error along long predictions (dashed: length of the training "
      "data)</h3>\n<div class=\"plots\">",
      r->out);
  for (int t = 0; t < task_count; t++) {
    series_set set = {0};
    double mark = NAN;
    for (size_t k = 0; k < json_array_size(rows); k++) {
      const json_t *row = json_array_get(rows, k);
      int count;
      if (strcmp(text_of(row, "task"), tasks[t]) != 0) continue;
      double *values = numbers_of(json_object_get(row, "error_of_state"), &count);
      mark = json_at(row, "chunk_states") - 1;
      series_add(&set, text_of(row, "model"), NULL, values, count, 1,
                 model_number(text_of(row, "model")));
    }
    plot_write(r->out, &(plot){.title = tasks[t],
                               .x_label = "time step",
                               .y_label = "relative error",
                               .log = true,
                               .series_count = set.count,
                               .series = set.items,
                               .mark = mark});
    series_free(&set);
  }
  fputs("</div>\n", r->out);
}

/* ---- figures from the folders of runs -------------------------------------------------------- */

static bool path_of_run(const report *r, const json_t *run, const char *file, char *path) {
  const int length =
      snprintf(path, PATH_MAX, "%s/%s/%s/seed%d/%s", r->folder, text_of(run, "task"),
               text_of(run, "model"), (int)json_integer_value(json_object_get(run, "seed")), file);
  return length < PATH_MAX && access(path, R_OK) == 0;
}

// the energy of the first test trajectory; the truth once
static void add_energy(const report *r, const json_t *run, series_set *set) {
  char path[PATH_MAX];
  carom_arrays arrays;
  if (!path_of_run(r, run, "evaluation.h5", path) ||
      carom_arrays_read(path, &arrays, NULL) != CAROM_OK)
    return;
  static const char *const names[] = {"energy_true", "energy_predicted"};
  for (int k = set->count > 0 ? 1 : 0; k < 2; k++) {
    const carom_array *a = carom_arrays_find(&arrays, names[k]);
    if (a == NULL || a->rank != 2 || a->shape[0] < 1) continue;
    double *y = allocate((size_t)a->shape[1], sizeof(double));
    if (y != NULL) memcpy(y, a->values, sizeof(double) * (size_t)a->shape[1]);
    series_add(set, k == 0 ? "truth" : text_of(run, "model"), NULL, y, a->shape[1], 1,
               k == 0 ? 7 : model_number(text_of(run, "model")));
    if (k == 0) set->items[set->count - 1].dashed = true;
  }
  carom_arrays_free(&arrays);
}

static void add_losses(const report *r, const json_t *run, series_set *set) {
  char path[PATH_MAX];
  csv_table t;
  if (!path_of_run(r, run, "metrics.csv", path) || csv_read(path, &t, NULL) != CAROM_OK) return;
  const int epoch = csv_column(&t, "epoch"), loss = csv_column(&t, "validation_loss");
  double *x = allocate((size_t)t.row_count, sizeof(double)),
         *y = allocate((size_t)t.row_count, sizeof(double));
  for (int k = 0; x != NULL && y != NULL && epoch >= 0 && loss >= 0 && k < t.row_count; k++) {
    x[k] = t.values[(size_t)k * (size_t)t.column_count + (size_t)epoch];
    y[k] = t.values[(size_t)k * (size_t)t.column_count + (size_t)loss];
  }
  series_add(set, text_of(run, "model"), x, y, t.row_count, 0, model_number(text_of(run, "model")));
  csv_free(&t);
}

/* One plot for each task, a line for each model, of the runs with the first seed. */
typedef struct run_figure {
  const char *heading, *x_label, *y_label;
  bool log;
  const char *ending; /* of the tasks; "": all */
  void (*add)(const report *r, const json_t *run, series_set *set);
} run_figure;

static const run_figure run_figures[] = {
    {"Figure 5: energy along one predicted test trajectory, of tasks that keep it", "time step",
     "energy", false, "-e", add_energy},
    {"Figure 6: validation loss during training", "epoch", "validation loss", true, "", add_losses},
};

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), tail = strlen(ending);
  return length >= tail && strcmp(text + length - tail, ending) == 0;
}

static void put_run_figure(const report *r, const json_t *runs, const run_figure *figure) {
  const char *tasks[MOST_TASKS];
  const int task_count = tasks_of(runs, tasks);
  bool begun = false;
  for (int t = 0; t < task_count; t++) {
    series_set set = {0};
    for (size_t k = 0; ends_with(tasks[t], figure->ending) && k < json_array_size(runs); k++) {
      const json_t *run = json_array_get(runs, k);
      if (strcmp(text_of(run, "task"), tasks[t]) == 0 &&
          json_integer_value(json_object_get(run, "seed")) == 0)
        figure->add(r, run, &set);
    }
    if (set.count > 0 && !begun)
      fprintf(r->out, "<h3>%s</h3>\n<div class=\"plots\">", figure->heading);
    begun |= set.count > 0;
    if (set.count > 0)
      plot_write(r->out, &(plot){.title = tasks[t],
                                 .x_label = figure->x_label,
                                 .y_label = figure->y_label,
                                 .log = figure->log,
                                 .series_count = set.count,
                                 .series = set.items,
                                 .mark = NAN});
    series_free(&set);
  }
  if (begun) fputs("</div>\n", r->out);
}

// figures that a target brings
static void put_own_figures(const report *r, const json_t *figures) {
  if (json_array_size(figures) > 0) fputs("<h3>Figures</h3>\n<div class=\"plots\">", r->out);
  for (size_t k = 0; k < json_array_size(figures); k++) {
    const json_t *figure = json_array_get(figures, k), *list = json_object_get(figure, "series");
    series_set set = {0};
    for (size_t s = 0; s < json_array_size(list); s++) {
      const json_t *one = json_array_get(list, s);
      int count, x_count;
      double *y = numbers_of(json_object_get(one, "y"), &count);
      double *x = numbers_of(json_object_get(one, "x"), &x_count);
      if (x_count != count) {
        free(x);
        x = NULL;
      }
      series_add(&set, text_of(one, "name"), x, y, count, 1, (int)s);
      if (set.count > 0)
        set.items[set.count - 1].dashed = json_is_true(json_object_get(one, "dashed"));
    }
    plot_write(r->out, &(plot){.title = text_of(figure, "title"),
                               .x_label = text_of(figure, "x_label"),
                               .y_label = text_of(figure, "y_label"),
                               .log = json_is_true(json_object_get(figure, "log")),
                               .series_count = set.count,
                               .series = set.items,
                               .mark = NAN});
    series_free(&set);
  }
  if (json_array_size(figures) > 0) fputs("</div>\n", r->out);
}

/* ---- pictures -------------------------------------------------------------------------------- */

// a motion of a file of the folder, before and after, as a still with earlier states
static void put_picture(const report *r, const json_t *info) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", r->folder, text_of(info, "file")) >= PATH_MAX) return;
  render_options options = render_default_options();
  options.input = path;
  options.width = 460;
  options.height = 345;
  options.strobe = 6;
  options.no_contacts = true;
  rendering motions = {0};
  byte_buffer svg = {0};
  char *encoded = NULL;
  if (rendering_open(&motions, &options, NULL) == CAROM_OK &&
      rendering_still(&motions, true, path, &svg, NULL) == CAROM_OK)
    encoded = base64(svg.bytes, svg.size);
  if (encoded != NULL) {
    fprintf(r->out,
            "<figure><img width=\"460\" height=\"345\" src=\"data:image/svg+xml;base64,%s\" "
            "alt=\"",
            encoded);
    html_write_text(r->out, text_of(info, "title"), strlen(text_of(info, "title")));
    fputs("\"><figcaption>", r->out);
    html_write_text(r->out, text_of(info, "title"), strlen(text_of(info, "title")));
    fputs("</figcaption></figure>", r->out);
  }
  free(encoded);
  free(svg.bytes);
  rendering_close(&motions);
}

// those that a target brings, and its page, where they play
static void put_pictures(const report *r, const json_t *document) {
  const json_t *pictures = json_object_get(document, "pictures");
  if (json_array_size(pictures) == 0) return;
  fputs(
      "<h3>Motions</h3>\n<p>Grey: before planning; orange: after; green: after, with the scene's "
      "own "
      "properties where learned ones were used for planning. Dashed: where a body is to be.",
      r->out);
  if (text_of(document, "page")[0] != '\0') {
    fputs(" They play in <a href=\"", r->out);
    html_write_text(r->out, text_of(document, "page"), strlen(text_of(document, "page")));
    fputs("\">", r->out);
    html_write_text(r->out, text_of(document, "page"), strlen(text_of(document, "page")));
    fputs("</a>.", r->out);
  }
  fputs("</p>\n<div class=\"plots\">", r->out);
  for (size_t k = 0; k < json_array_size(pictures); k++)
    put_picture(r, json_array_get(pictures, k));
  fputs("</div>\n", r->out);
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:\">"
    "<title>carom: the paper's experiments</title><style>\n"
    "body{font:14px/1.5 system-ui,'Helvetica Neue',Arial,'DejaVu "
    "Sans',sans-serif;color:#1d2530;max-width:1180px;margin:24px auto;padding:0 20px}"
    "h1{font-size:24px}h2{font-size:20px;margin-top:36px;border-top:2px solid "
    "#dfe3e8;padding-top:16px}h3{font-size:16px;margin-top:26px}"
    "table{border-collapse:collapse;font-size:12.5px}th,td{padding:3px 9px;border-bottom:1px solid "
    "#e3e7eb;text-align:left;white-space:nowrap}"
    "th{border-bottom:1.5px solid "
    "#9aa5b1}.number{text-align:right;font-variant-numeric:tabular-nums}"
    ".scroll{overflow-x:auto;margin:10px "
    "0}pre,code{font-size:12px;background:#f4f6f8;border-radius:4px}pre{padding:8px "
    "12px;overflow-x:auto}code{padding:1px 4px}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:2px "
    "16px}dt{color:#5d6975}dd{margin:0}"
    ".plots{display:flex;flex-wrap:wrap;gap:10px}.plot{font:11px system-ui,'DejaVu "
    "Sans',sans-serif;max-width:100%;height:auto}.plot .grid{stroke:#e6e9ed}"
    "figure{margin:0}figure "
    "img{max-width:100%;height:auto;border-radius:6px}figcaption{font-size:12.5px;color:#5d6975}"
    "strong{color:#b02a1a}nav a{margin-right:14px}"
    "@media "
    "print{body{margin:0;max-width:none;font-size:11px}nav{display:none}.plot,tr{break-inside:"
    "avoid}h2,h3{break-after:avoid}td,th{white-space:normal}.scroll{overflow:visible}}"
    "@media (prefers-color-scheme:dark){@media "
    "screen{body{background:#14181d;color:#e6eaef}th,td{border-color:#2a323c}pre,code{background:#"
    "20262d}.plot{background:#fff;border-radius:6px}a{color:#6ba6e0}dt,figcaption{color:#9aa6b2}"
    "strong{color:#"
    "ff9d8f}}}"
    "</style></head><body>\n";

// the processor, by /proc
static void put_machine(FILE *out) {
  char line[512], model[256] = "unknown processor";
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
    snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    break;
  }
  if (file != NULL) fclose(file);
  fputs("<dt>Machine</dt><dd>", out);
  html_write_text(out, model, strlen(model));
  fprintf(out, ", %ld threads</dd>", sysconf(_SC_NPROCESSORS_ONLN));
}

static void put_head(const report *r) {
  char date[64];
  const time_t now = time(NULL);
  struct tm parts;
  strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &parts));
  fputs(head, r->out);
  fputs(
      "<h1>The paper's experiments, by carom</h1>\n<p>Y. D. Zhong, B. Dey, A. Chakraborty: "
      "<em>Extending Lagrangian and "
      "Hamiltonian Neural Networks with Differentiable Contact Models</em>, NeurIPS 2021. Every "
      "number below that is not "
      "called the paper's comes from the runs in this folder.</p>\n<dl>",
      r->out);
  fprintf(r->out, "<dt>Written</dt><dd>%s, carom %s</dd>", date, carom_version());
  put_machine(r->out);
  fputs("<dt>Folder</dt><dd>", r->out);
  html_write_text(r->out, r->folder, strlen(r->folder));
  fputs("</dd></dl>\n", r->out);
}

static void put_target(const report *r, const reproduce_target *target, const json_t *document) {
  char *text = target_text(target, document);
  if (text != NULL) markdown_write(r->out, text, 1);
  free(text);
  const json_t *errors = json_object_get(document, "errors");
  const json_t *runs = json_object_get(document, "runs");
  put_own_figures(r, json_object_get(document, "figures"));
  put_pictures(r, document);
  if (json_array_size(errors) > 0) {
    put_figure_3(r, errors);
    put_figure_4(r, errors);
  }
  for (size_t k = 0; k < sizeof run_figures / sizeof run_figures[0]; k++)
    put_run_figure(r, runs, &run_figures[k]);
}

// the tables of a target, for the caller to release; NULL: there are none
static json_t *load_target(const report *r, const reproduce_target *target) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s.json", r->folder, target->name) >= PATH_MAX) return NULL;
  json_t *document = json_load_file(path, 0, NULL);
  if (json_is_object(document)) return document;
  json_decref(document);
  return NULL;
}

static void put_targets(const report *r) {
  fputs("<nav aria-label=\"Experiments\">", r->out);
  for (int k = 0; reproduce_targets[k] != NULL; k++) {
    json_t *document = load_target(r, reproduce_targets[k]);
    if (document != NULL)
      fprintf(r->out, "<a href=\"#%s\">%s</a> ", reproduce_targets[k]->name,
              reproduce_targets[k]->summary);
    json_decref(document);
  }
  fputs("</nav>\n", r->out);
  for (int k = 0; reproduce_targets[k] != NULL; k++) {
    json_t *document = load_target(r, reproduce_targets[k]);
    if (document == NULL) continue;
    fprintf(r->out, "<section id=\"%s\">\n", reproduce_targets[k]->name);
    put_target(r, reproduce_targets[k], document);
    fputs("</section>\n", r->out);
    json_decref(document);
  }
}

carom_status report_write(const char *folder, carom_error *error) {
  char path[PATH_MAX], *text = NULL;
  size_t size = 0;
  report r = {.folder = folder, .out = open_memstream(&text, &size)};
  if (r.out == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  put_head(&r);
  put_targets(&r);
  fputs("</body></html>\n", r.out);
  const bool done = fclose(r.out) == 0;
  snprintf(path, sizeof path, "%.*s/report.html", PATH_MAX - 32, folder);
  const carom_status status =
      done ? carom_file_write(path, text, size, error)
           : carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  free(text);
  return status;
}
