/* What a plan's result says beside its motions: the objective, the unknowns by their names, how it ended. */
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/page_input.h"
#include "cli/plan_notes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- facts ----------------------------------------------------------------------------------- */

// yes or no of a note that is 1 or 0
static const char *yes_or_no(const char *note) { return atof(note) != 0 ? "yes" : "no"; }

static void add_plan_facts(page_document *d, const carom_arrays *arrays) {
  static const struct {
    const char *note, *label;
    bool flag;
  } lines[] = {{"best_loss", "Loss", false},
               {"true_loss", "Loss in truth", false},
               {"success", "Success", true},
               {"true_success", "Success in truth", true}};
  json_t *plan = plan_note(arrays);
  const char *description = json_string_value(json_object_get(plan, "description"));
  const char *stop = carom_arrays_note(arrays, "stop");
  const carom_array *loss = carom_arrays_find(arrays, "loss");
  if (description != NULL) page_fact(d, "Plan", "%s", description);
  if (stop != NULL && loss != NULL && loss->rank == 1)
    page_fact(d, "Ended", "%s, after %d iterations", stop, loss->shape[0] - 1);
  for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
    const char *note = carom_arrays_note(arrays, lines[k].note);
    if (note == NULL) continue;
    if (lines[k].flag)
      page_fact(d, lines[k].label, "%s", yes_or_no(note));
    else
      page_fact(d, lines[k].label, "%.4g", atof(note));
  }
  json_decref(plan);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* One column of a table: numbers of an array, one for each row. */
typedef struct table_column {
  const char *array, *heading;
} table_column;

// a row for each number of the first array, with its name; columns that the file has not are left out
static void add_named_table(page_document *d, const carom_arrays *arrays, const char *title,
                            const char *what, const char *names, const table_column *columns) {
  enum { MOST_COLUMNS = 4, MOST_ROWS = 200 };
  const carom_array *found[MOST_COLUMNS] = {NULL};
  const char *headings[MOST_COLUMNS + 2] = {what};
  int count = 0;
  for (; columns->array != NULL && count < MOST_COLUMNS; columns++) {
    const carom_array *a = carom_arrays_find(arrays, columns->array);
    if (a == NULL || a->rank != 1 || (count > 0 && a->shape[0] != found[0]->shape[0])) continue;
    found[count] = a;
    headings[++count] = columns->heading;
  }
  if (count == 0) return;
  const int rows = found[0]->shape[0], shown = rows < MOST_ROWS ? rows : MOST_ROWS;
  char note[96] = "";
  if (shown < rows) snprintf(note, sizeof note, "The first %d of %d", shown, rows);
  json_t *table = page_table(d, title, note, headings);
  for (int k = 0; k < shown; k++) {
    char name[256];
    note_line(carom_arrays_note(arrays, names), k, name, sizeof name);
    json_t *row = json_pack("[o]", page_text(name));
    for (int c = 0; c < count; c++) json_array_append_new(row, json_number(found[c]->values[k]));
    json_array_append_new(table, row);
  }
}

/* ---- the course of the unknowns -------------------------------------------------------------- */

// each a line over iterations; of very many (controls) the plots of the motion tell more
static void add_unknowns_chart(page_document *d, const carom_arrays *arrays) {
  enum { MOST_LINES = 40 };
  const carom_array *a = carom_arrays_find(arrays, "unknowns");
  if (a == NULL || a->rank != 2 || a->shape[0] < 2 || a->shape[1] > MOST_LINES) return;
  const int rows = a->shape[0], columns = a->shape[1];
  double *values = allocate((size_t)rows, sizeof(double));
  if (values == NULL) {
    d->failed = true;
    return;
  }
  for (int k = 0; k < rows; k++) values[k] = k;
  json_t *series = page_chart(
      d, &(page_chart_info){.title = "Unknowns", .x_label = "iteration", .y_label = "value"},
      page_numbers(d, values, rows, 1, true));
  for (int c = 0; c < columns; c++) {
    char name[128];
    for (int k = 0; k < rows; k++) values[k] = a->values[(size_t)k * (size_t)columns + (size_t)c];
    note_line(carom_arrays_note(arrays, "unknown_names"), c, name, sizeof name);
    page_series(series, name, page_numbers(d, values, rows, 1, true), NAN);
  }
  free(values);
}

/* ---- where bodies are to be ------------------------------------------------------------------ */

static void add_targets(page_document *d, const motion_set *set) {
  plan_target targets[MOST_TARGETS];
  const int count = plan_targets(&set->arrays, set->system, targets);
  json_t *list = json_array();
  for (int k = 0; k < count; k++) {
    json_t *place = json_array();
    for (int i = 0; i < set->info.dimension; i++)
      json_array_append_new(place, json_number(targets[k].position[i]));
    json_array_append_new(
        list, json_pack("{so so so}", "position", place, "radius", json_number(targets[k].radius),
                        "label", page_text(targets[k].label)));
  }
  json_object_set_new(d->root, "targets", list);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void page_add_plan(page_document *d, const motion_set *set) {
  static const table_column unknowns[] = {
      {"start_unknowns", "start"}, {"best_unknowns", "found"}, {"gradient", "gradient there"}, {0}};
  static const table_column terms[] = {{"terms", "value"}, {"true_terms", "in truth"}, {0}};
  const carom_arrays *arrays = &set->arrays;
  add_plan_facts(d, arrays);
  add_targets(d, set);
  add_unknowns_chart(d, arrays);
  add_named_table(d, arrays, "Unknowns", "unknown", "unknown_names", unknowns);
  add_named_table(d, arrays, "Objective", "term", "term_names", terms);
}
