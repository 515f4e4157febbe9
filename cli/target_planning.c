/* `carom reproduce planning`: section 5 of the paper, and carom's own plans. Plans with the scene's own
 * properties, the throws also with what each run of bd1 has learned, judged with the scene's.
 *
 * DIR/plans/NAME.h5 and NAME.json are what `carom plan` writes and prints; a plan whose files are there, and not
 * older than the run they are made with, is not solved again. DIR/planning.html shows them all.
 *
 * planning.json: {"carom_version", "command", "quick", "plans": [{"plan", "properties", "optimizer", "contacts",
 * "first_loss", "loss", "true_loss", "goal", "success", "true_success", "iterations", "seconds", "file", "command"}],
 * "failures": [{"plan", "properties", "text"}], "unknowns": [{"plan", "properties", "name", "start", "found", "paper"}],
 * "figures", "pictures", "page" (report.h), "properties", "runs" (reproduce_rows.h)} */
#include "cli/output.h"
#include "cli/page_input.h"
#include "cli/paper_values.h"
#include "cli/plan_run.h"
#include "cli/progress.h"
#include "cli/reproduce_rows.h"
#include "cli/reproduce_target.h"
#include "cli/template.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the plans ------------------------------------------------------------------------------- */

enum { PLAN_OPTIONS = 5, MOST_SHOWN = 8 };

/* A plan of the table, with options of its own. */
typedef struct planned {
  const char *plan, *name; /* a built-in plan; what its files are called */
  bool throws;             /* of bd1, solved also with what the runs have learned */
  struct {
    carom_options of;
    const char *name, *value;
  } options[PLAN_OPTIONS];
} planned;

static const planned all_plans[] = {
    {.plan = "billiards", .name = "billiards"},
    {.plan = "billiards",
     .name = "billiards-as-paper",
     .options = {{CAROM_PLAN_OPTIONS, "optimizer", "gradient-descent"},
                 {CAROM_PLAN_OPTIONS, "learning_rate", "0.01"},
                 {CAROM_PLAN_OPTIONS, "iterations", "200"},
                 {CAROM_PLAN_OPTIONS, "goal", "0"},
                 {CAROM_ROLLOUT_OPTIONS, "contact_time", "step"}}},
    {.plan = "hit", .name = "hit", .throws = true},
    {.plan = "vertical", .name = "vertical", .throws = true},
    {.plan = "two-balls", .name = "two-balls"},
    {.plan = "ground-wall", .name = "ground-wall"},
};

/* What is planned, with what, and where it is written. */
typedef struct plan_job {
  const planned *planned;
  const result *run; /* whose properties are used; NULL: the scene's own */
  const char *folder;
  const general_options *general;
  char name[128];                    /* of its files */
  char h5[PATH_MAX], json[PATH_MAX]; /* its files */
  char properties[PATH_MAX];         /* the run's folder; "": none */
} plan_job;

static bool make_job(plan_job *job) {
  snprintf(job->name, sizeof job->name, "%s", job->planned->name);
  job->properties[0] = '\0';
  if (job->run != NULL) {
    snprintf(job->name, sizeof job->name, "%s-learned-%.64s-seed%d", job->planned->name,
             job->run->model, job->run->seed);
    if (snprintf(job->properties, PATH_MAX, "%s/%s", job->folder, job->run->folder) >= PATH_MAX)
      return false;
  }
  return snprintf(job->h5, PATH_MAX, "%s/plans/%s.h5", job->folder, job->name) < PATH_MAX &&
         snprintf(job->json, PATH_MAX, "%s/plans/%s.json", job->folder, job->name) < PATH_MAX;
}

static const char *words_for_properties(const plan_job *job, char *text, size_t size) {
  if (job->run == NULL) return "the scene's";
  snprintf(text, size, "learned, %s, seed %d", job->run->model, job->run->seed);
  return text;
}

/* The command that does the same. */
static json_t *job_command(const plan_job *job) {
  char text[2 * PATH_MAX];
  size_t used = (size_t)snprintf(text, sizeof text, "carom plan %s", job->planned->plan);
  for (int k = 0; k < PLAN_OPTIONS && job->planned->options[k].name != NULL; k++)
    used += (size_t)snprintf(
        text + used, sizeof text - used, " --%s %s",
        option_info(job->planned->options[k].of, job->planned->options[k].name).flag,
        job->planned->options[k].value);
  if (job->run != NULL)
    used += (size_t)snprintf(text + used, sizeof text - used, " --properties %s", job->run->folder);
  snprintf(text + used, sizeof text - used, " -o plans/%s.h5", job->name);
  return page_text(text);
}

/* ---- solving --------------------------------------------------------------------------------- */

// whether a file is there and not older than another ("": any)
static bool is_newer(const char *path, const char *than) {
  struct stat one, other;
  if (stat(path, &one) != 0) return false;
  if (than[0] == '\0' || stat(than, &other) != 0) return true;
  return one.st_mtim.tv_sec > other.st_mtim.tv_sec ||
         (one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
          one.st_mtim.tv_nsec >= other.st_mtim.tv_nsec);
}

// what was found before; NULL: it is to be solved
static json_t *result_before(const plan_job *job) {
  char model[PATH_MAX + 16] = "";
  if (job->run != NULL) snprintf(model, sizeof model, "%s/best.h5", job->properties);
  if (!is_newer(job->json, model) || !is_newer(job->h5, model)) return NULL;
  json_t *found = json_load_file(job->json, 0, NULL);
  if (json_is_object(found)) return found;
  json_decref(found);
  return NULL;
}

static carom_status prepare(const plan_job *job, plan_run *w, carom_error *error) {
  given_options plan = {.of = CAROM_PLAN_OPTIONS}, simulation = {.of = CAROM_ROLLOUT_OPTIONS};
  for (int k = 0; k < PLAN_OPTIONS && job->planned->options[k].name != NULL; k++)
    given_options_set(job->planned->options[k].of == CAROM_PLAN_OPTIONS ? &plan : &simulation,
                      job->planned->options[k].name, job->planned->options[k].value);
  carom_status status = carom_plan_load(job->planned->plan, &w->plan, error);
  if (status != CAROM_OK) return status;
  const carom_plan_info info = carom_plan_describe(w->plan);
  carom_rollout_options rollout = info.rollout;
  given_options_apply(&simulation, &rollout);
  w->options = info.options;
  given_options_apply(&plan, &w->options);
  w->options.threads = job->general->threads;
  status = carom_plan_set_rollout(w->plan, &rollout, error);
  if (status == CAROM_OK && job->run != NULL)
    status = plan_run_properties(w, job->properties, error);
  return status;
}

static bool show(void *user, const carom_plan_progress *p) {
  return progress_update(user, p->done, p->total);
}

static carom_status solve(const plan_job *job, plan_run *w, carom_error *error) {
  carom_status status = prepare(job, w, error);
  if (status != CAROM_OK) return status;
  progress bar = progress_begin(job->name, "iterations", job->general->quiet);
  status = carom_plan_solve(w->plan, &w->options, show, &bar, &w->result, error);
  progress_end(&bar);
  if (status == CAROM_OK && w->result->starts[w->result->best].stop == CAROM_PLAN_INTERRUPTED)
    status = carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
  return status;
}

static carom_status solve_and_write(const plan_job *job, json_t **found, carom_error *error) {
  plan_run w = {0};
  carom_status status = solve(job, &w, error);
  if (status == CAROM_OK) status = carom_plan_result_write(w.result, w.plan, job->h5, error);
  if (status == CAROM_OK) {
    *found = plan_run_json(&w);
    const carom_plan_info info = carom_plan_describe(w.plan);
    json_object_set_new(*found, "goal", json_number(w.options.goal > 0 ? w.options.goal : NAN));
    json_object_set_new(
        *found, "contacts",
        json_string(info.rollout.contact_time == CAROM_CONTACT_TIME_EVENT ? "event" : "step"));
    status = write_json(job->json, *found, error);
  }
  plan_run_free(&w);
  return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static json_t *copy_of(const json_t *found, const char *name) {
  json_t *value = json_object_get(found, name);
  return value != NULL ? json_incref(value) : json_null();
}

static json_t *array_of(json_t *document, const char *name) {
  json_t *array = json_object_get(document, name);
  if (array == NULL) json_object_set_new(document, name, array = json_array());
  return array;
}

static void add_plan_row(const plan_job *job, const json_t *found, json_t *document) {
  static const char *const copied[] = {
      "optimizer",    "contacts",   "first_loss", "loss",  "true_loss", "goal", "success",
      "true_success", "iterations", "seconds",    "ended", "missing",   NULL};
  char words[96], file[192];
  snprintf(file, sizeof file, "plans/%s.h5", job->name);
  json_t *row = json_pack("{ss ss ss so}", "plan", job->planned->name, "properties",
                          words_for_properties(job, words, sizeof words), "file", file, "command",
                          job_command(job));
  for (int k = 0; copied[k] != NULL; k++)
    json_object_set_new(row, copied[k], copy_of(found, copied[k]));
  json_array_append_new(array_of(document, "plans"), row);
}

static void add_unknown_rows(const plan_job *job, const json_t *found, json_t *document) {
  const json_t *unknowns = json_object_get(found, "unknowns");
  char words[96];
  if (json_array_size(unknowns) > MOST_SHOWN) return; // controls: the picture tells more
  for (size_t k = 0; k < json_array_size(unknowns); k++) {
    const json_t *u = json_array_get(unknowns, k);
    const char *name = json_string_value(json_object_get(u, "name"));
    const json_t *paper = name != NULL ? paper_entry("planning", job->planned->name, name) : NULL;
    json_array_append_new(
        array_of(document, "unknowns"),
        json_pack("{ss ss so so so so}", "plan", job->planned->name, "properties",
                  words_for_properties(job, words, sizeof words), "name", copy_of(u, "name"),
                  "start", copy_of(u, "start"), "found", copy_of(u, "found"), "paper",
                  paper != NULL ? json_copy((json_t *)paper) : json_null()));
  }
}

// the loss over iterations, in the figure of its plan
static void add_curve(const plan_job *job, const json_t *found, json_t *document) {
  json_t *figures = array_of(document, "figures"), *figure = NULL;
  char words[96], title[96];
  snprintf(title, sizeof title, "Loss of %s", job->planned->plan);
  for (size_t k = 0; k < json_array_size(figures); k++) {
    json_t *other = json_array_get(figures, k);
    if (strcmp(json_string_value(json_object_get(other, "title")), title) == 0) figure = other;
  }
  if (figure == NULL) {
    figure = json_pack("{ss ss ss sb s[]}", "title", title, "x_label", "iteration", "y_label",
                       "loss", "log", 1, "series");
    json_array_append_new(figures, figure);
  }
  const bool as_paper = strcmp(job->planned->plan, job->planned->name) != 0;
  json_array_append_new(
      json_object_get(figure, "series"),
      json_pack("{ss so}", "name",
                as_paper ? "as the paper" : words_for_properties(job, words, sizeof words), "y",
                copy_of(found, "losses")));
}

static void add_picture(const plan_job *job, json_t *document) {
  char words[96], title[256], file[192];
  snprintf(title, sizeof title, "%s, properties: %s", job->planned->name,
           words_for_properties(job, words, sizeof words));
  snprintf(file, sizeof file, "plans/%s.h5", job->name);
  json_array_append_new(array_of(document, "pictures"),
                        json_pack("{ss ss}", "title", title, "file", file));
}

/* ---- all of it ------------------------------------------------------------------------------- */

// a plan that cannot be solved (properties that were badly learned) is a line of the table
static carom_status do_job(plan_job *job, json_t *document, carom_error *error) {
  char words[96];
  if (!make_job(job))
    return carom_error_set(error, CAROM_INVALID_ARGUMENT, "%.200s...: the name is too long",
                           job->folder);
  json_t *found = result_before(job);
  carom_status status = found != NULL ? CAROM_OK : solve_and_write(job, &found, error);
  if (status == CAROM_OK) {
    add_plan_row(job, found, document);
    add_unknown_rows(job, found, document);
    add_curve(job, found, document);
    add_picture(job, document);
  } else if (status == CAROM_INVALID_DATA || status == CAROM_NUMERICAL_FAILURE) {
    fprintf(stderr, "carom reproduce: WARNING: %s: %s\n", job->name, error->message);
    json_array_append_new(array_of(document, "failures"),
                          json_pack("{ss ss so}", "plan", job->planned->name, "properties",
                                    words_for_properties(job, words, sizeof words), "text",
                                    page_text(error->message)));
    status = CAROM_OK;
  }
  json_decref(found);
  return status;
}

// one page with the motions of all plans
static carom_status write_page(const char *folder, json_t *document, carom_error *error) {
  const json_t *pictures = json_object_get(document, "pictures");
  page p = {0};
  char path[PATH_MAX];
  size_t size;
  carom_status status = CAROM_OK;
  for (size_t k = 0; k < json_array_size(pictures) && status == CAROM_OK; k++) {
    const char *file = json_string_value(json_object_get(json_array_get(pictures, k), "file"));
    snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 256, folder, file);
    const motion_choice choice = {.most = 1};
    status = page_add_file(&p, path, &choice, error);
  }
  snprintf(path, sizeof path, "%.*s/planning.html", PATH_MAX - 256, folder);
  json_object_set_new(document, "page", json_string("planning.html"));
  if (status == CAROM_OK && p.count > 0)
    status = page_write(&p, "Plans through contacts", path, &size, error);
  page_free(&p);
  return status;
}

static carom_status follow(const char *folder, const result_list *list,
                           const general_options *general, json_t *document, carom_error *error) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.*s/plans", PATH_MAX - 256, folder);
  if (mkdir(path, 0777) != 0 && errno != EEXIST)
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be made: %s", path,
                           strerror(errno));
  carom_status status = CAROM_OK;
  for (size_t k = 0; k < sizeof all_plans / sizeof all_plans[0] && status == CAROM_OK; k++) {
    plan_job job = {.planned = &all_plans[k], .folder = folder, .general = general};
    status = do_job(&job, document, error);
    for (int r = 0; all_plans[k].throws && r < list->count && status == CAROM_OK; r++) {
      job.run = &list->items[r];
      status = do_job(&job, document, error);
    }
  }
  return status == CAROM_OK ? write_page(folder, document, error) : status;
}

static void add_rows(const result_list *list, json_t *document) {
  json_object_set_new(document, "properties", rows_of_groups(list, add_property_row));
  json_object_set_new(document, "runs", run_rows(list));
}

/* Throws meet the ground at any time: the model is learned as plans are made, with contacts at their own time. */
static const experiment throwing[] = {{.task = "bd1",
                                       .variant = "event",
                                       .options = {{CAROM_MODEL_OPTIONS, "contact_time", "event"}}},
                                      {0}};
static const char *const models[] = {"cm-cd-clnn", NULL};
const reproduce_target planning_target = {.name = "planning",
                                          .summary = "section 5: plans through contacts",
                                          .models = models,
                                          .experiments = throwing,
                                          .add_rows = add_rows,
                                          .follow = follow};
