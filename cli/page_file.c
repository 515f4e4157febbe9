/* Files as documents of a page. */
#include "cli/output.h"
#include "cli/page_input.h"
#include "cli/page_motion.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *path_name(const char *path, char *buffer, size_t size) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  snprintf(buffer, size, "%.*s", (int)(end - begin), path + begin);
  return buffer;
}

/* ---- what kind of file ----------------------------------------------------------------------- */

/* Kinds by a dataset that they have; the first that fits. */
static const struct {
  const char *name, *kind, *words;
} kinds[] = {
    {"x_predicted", "evaluation", "evaluation: predicted and true motion"},
    {"train/x", "dataset", "data set"},
    {"best_unknowns", "plan", "plan: before and after"},
    {"d_x0", "gradient", "gradient of a loss"},
    {"weight0", "checkpoint", "model"},
    {"x", "trajectories", "trajectories"},
    {NULL, "numbers", "numbers"},
};

static int kind_of(const carom_arrays *arrays) {
  int k = 0;
  while (kinds[k].name != NULL && carom_arrays_find(arrays, kinds[k].name) == NULL) k++;
  return k;
}

/* ---- charts and tables of arrays ------------------------------------------------------------- */

static bool is_motion_name(const char *name) {
  const char *slash = strrchr(name, '/');
  const char *last = slash != NULL ? slash + 1 : name;
  return (strchr("xvu", last[0]) != NULL && (last[1] == '\0' || last[1] == '_')) ||
         strcmp(last, "contact") == 0 || strcmp(last, "length") == 0 || strcmp(last, "t") == 0;
}

// whether all that are finite are above 0, and they differ by more than tenfold
static bool wants_log(const carom_array *a) {
  double low = INFINITY, high = 0;
  for (int k = 0; k < a->shape[0]; k++) {
    if (a->values[k] <= 0) return false;
    if (!isfinite(a->values[k])) continue;
    low = fmin(low, a->values[k]);
    high = fmax(high, a->values[k]);
  }
  return high > 10 * low;
}

// words for names in files: "gradient_norm" -> "Gradient norm"
static void readable(const char *name, char *text, size_t size) {
  snprintf(text, size, "%c%s", toupper((unsigned char)name[0]), name[0] != '\0' ? name + 1 : "");
  for (char *at = text; *at != '\0'; at++)
    if (*at == '_') *at = ' ';
}

static void add_course(page_document *d, const motion_set *set, const carom_array *a,
                       const carom_array *width) {
  const bool over_time = strncmp(a->name, "error", 5) == 0;
  char name[sizeof a->name];
  readable(a->name, name, sizeof name);
  double *x = malloc(sizeof(double) * (size_t)a->shape[0]);
  if (x == NULL) {
    d->failed = true;
    return;
  }
  for (int k = 0; k < a->shape[0]; k++) x[k] = over_time ? k * set->dt : k;
  json_t *series = page_chart(
      d,
      &(page_chart_info){
          .title = over_time ? "Relative error of each state, mean over the trajectories" : name,
          .x_label = over_time ? "time" : "iteration",
          .y_label = name,
          .log = over_time || wants_log(a)},
      page_numbers(d, x, a->shape[0], 1, true));
  page_series(series, name, page_numbers(d, a->values, a->shape[0], 1, true), NAN);
  if (width != NULL && width->rank == 1 && width->shape[0] == a->shape[0]) {
    for (int k = 0; k < a->shape[0]; k++) x[k] = a->values[k] + width->values[k];
    page_series(series, "upper end of the 95 % interval", page_numbers(d, x, a->shape[0], 1, true),
                NAN);
  }
  free(x);
}

// courses of a loss, an error, a norm over iterations or time
static void add_courses(page_document *d, const motion_set *set) {
  static const char *const names[] = {"error", "loss", "gradient_norm", "rate", NULL};
  for (int k = 0; names[k] != NULL; k++) {
    const carom_array *a = carom_arrays_find(&set->arrays, names[k]);
    if (a == NULL || a->rank != 1 || a->shape[0] < 2) continue;
    char width[sizeof a->name + 16];
    snprintf(width, sizeof width, "%s_half_width", a->name);
    add_course(d, set, a, carom_arrays_find(&set->arrays, width));
  }
}

static void shape_text(const carom_array *a, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int k = 0; k < a->rank && used < size; k++)
    used += (size_t)snprintf(text + used, size - used, "[%d]", a->shape[k]);
  if (a->rank == 0) snprintf(text, size, "one number");
}

static void values_text(const carom_array *a, char *text, size_t size) {
  enum { SHOWN = 12 };
  size_t count = 1, used = 0;
  for (int k = 0; k < a->rank; k++) count *= (size_t)a->shape[k];
  text[0] = '\0';
  for (size_t k = 0; k < count && k < SHOWN && used < size; k++)
    used += (size_t)snprintf(text + used, size - used, "%s%.6g", k > 0 ? ", " : "", a->values[k]);
  if (count > SHOWN && used < size) snprintf(text + used, size - used, ", ...");
}

// what no picture shows: every array, its shape, its first values
static void add_array_table(page_document *d, const motion_set *set) {
  static const char *const columns[] = {"array", "shape", "values", NULL};
  json_t *rows = page_table(d, "Numbers of the file", NULL, columns);
  for (int k = 0; k < set->arrays.count; k++) {
    const carom_array *a = &set->arrays.items[k];
    char shape[64], values[256];
    if (is_motion_name(a->name)) continue;
    shape_text(a, shape, sizeof shape);
    values_text(a, values, sizeof values);
    json_array_append_new(rows, json_pack("[o s s]", page_text(a->name), shape, values));
  }
  if (json_array_size(rows) == 0) {
    json_t *tables = json_object_get(d->root, "tables");
    json_array_remove(tables, json_array_size(tables) - 1);
  }
}

/* ---- a file ---------------------------------------------------------------------------------- */

static void add_facts(page_document *d, const motion_set *set, const char *path,
                      const char *words) {
  page_fact(d, "File", "%s", path);
  page_fact(d, "Holds", "%s", words);
  page_fact(d, "Scene", "%s: %s", set->info.name, set->info.description);
  if (set->count == 0) return;
  if (set->sample_count < set->sample_total)
    page_fact(d, "Samples", "%d of %d are on this page (--samples)", set->sample_count,
              set->sample_total);
  else
    page_fact(d, "Samples", "%d", set->sample_count);
  page_fact(d, "States", "%d, %g apart", set->items[0].states, set->dt);
}

// the document that motions of the same scene can join, or NULL
static page_document *joinable(page *p, const motion_set *set) {
  if (p->count == 0 || set->count == 0) return NULL;
  page_document *last = &p->documents[p->count - 1];
  const json_t *join = json_object_get(last->root, "joins");
  json_t *scene = page_scene(set->system);
  const bool same = json_is_true(join) && json_equal(json_object_get(last->root, "scene"), scene);
  json_decref(scene);
  return same ? last : NULL;
}

static page_document *begin_document(page *p, const motion_set *set, const char *path) {
  char name[256];
  const int kind = kind_of(&set->arrays);
  page_document *d = page_add(p, kinds[kind].kind, path_name(path, name, sizeof name));
  if (d == NULL) return NULL;
  json_object_set_new(d->root, "scene", page_scene(set->system));
  if (set->count > 0 && strcmp(kinds[kind].kind, "trajectories") == 0)
    json_object_set_new(d->root, "joins", json_true());
  add_facts(d, set, path, kinds[kind].words);
  add_courses(d, set);
  if (strcmp(kinds[kind].kind, "plan") == 0) page_add_plan(d, set);
  add_array_table(d, set);
  return d;
}

// whether a motion of the document is already called after this file
static bool name_is_taken(const page_document *d, const char *name) {
  size_t k;
  const json_t *track;
  json_array_foreach(
      json_object_get(d->root, "tracks"), k,
      track) if (strcmp(json_string_value(json_object_get(track, "file")), name) == 0) return true;
  return false;
}

// what motions of a file are called: its name; where that is taken its path, then a number behind it
static void motion_file_name(const page_document *d, const char *path, char *name, size_t size) {
  path_name(path, name, size);
  if (name_is_taken(d, name)) snprintf(name, size, "%s", path);
  for (int k = 2; k < 100 && name_is_taken(d, name); k++) snprintf(name, size, "%s (%d)", path, k);
}

// a file that is laid over those that are there
static void join_document(page_document *d, const motion_set *set, const char *path,
                          const char *name) {
  char title[600];
  const char *before = json_string_value(json_object_get(d->root, "title"));
  snprintf(title, sizeof title, "%s, %s", before, name);
  json_object_set_new(d->root, "title", page_text(title));
  page_fact(d, "File", "%s: %d of %d samples, %d states, %g apart", path, set->sample_count,
            set->sample_total, set->items[0].states, set->dt);
}

carom_status page_add_file(page *p, const char *path, const motion_choice *choice,
                           carom_error *error) {
  motion_set set;
  char name[512];
  carom_status status = motion_set_read(path, choice, &set, error);
  if (status != CAROM_OK) return status;
  page_document *d = joinable(p, &set);
  const bool joins = d != NULL;
  if (!joins) d = begin_document(p, &set, path);
  if (d != NULL) motion_file_name(d, path, name, sizeof name);
  if (joins) join_document(d, &set, path, name);
  status = d != NULL ? page_add_tracks(d, &set, name, error)
                     : carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  motion_set_free(&set);
  return status;
}
