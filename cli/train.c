/* carom train: from trajectories to masses, a potential, friction and restitution. */
#include "base/error.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "cli/train_options.h"
#include "io/checkpoint_file.h"
#include "io/dataset_file.h"
#include "io/metrics_file.h"
#include "learn/trainer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TABLE_ROWS = 40 };

/* A run: its folder, and what is trained in it. */
typedef struct run {
  const train_arguments *given;
  bool made_folder;
  int lock;   /* descriptor of the folder, locked; -1 */
  bool usage; /* the failure is one of usage */
  run_config config;
  carom_system *system;
  carom_dataset *data;
  carom_model *model;
  carom_trainer *trainer;
  property_list properties;
  double *theta; /* of the model after the last epoch */
  metrics_file *metrics;
  progress bar;
  carom_report report; /* of all epochs of this process */
  carom_epoch last;
  carom_error failure; /* in the callback */
} run;

/* ---- the folder ------------------------------------------------------------------------------ */

static carom_status path_in(const run *r, const char *name, char path[PATH_MAX],
                            carom_error *error) {
  const bool absolute = name[0] == '/';
  const int length = snprintf(path, PATH_MAX, "%s%s%s", absolute ? "" : r->given->output,
                              absolute ? "" : "/", name);
  if (length >= 0 && length < PATH_MAX) return CAROM_OK;
  return error_set(error, CAROM_FILE_ERROR, "%.200s...: the name is too long", r->given->output);
}

// makes the folder and those above it
static carom_status make_folder(run *r, carom_error *error) {
  char path[PATH_MAX];
  const size_t length = strlen(r->given->output);
  if (length == 0 || length >= sizeof path)
    return error_set(error, CAROM_FILE_ERROR, "the name of the run folder is empty or too long");
  memcpy(path, r->given->output, length + 1);
  for (size_t k = 1; k <= length; k++) {
    if (path[k] != '/' && path[k] != '\0') continue;
    const char kept = path[k];
    path[k] = '\0';
    const bool made = mkdir(path, 0777) == 0;
    if (!made && errno != EEXIST) {
      return error_set(error, CAROM_FILE_ERROR, "%s: the folder cannot be made: %s", path,
                       strerror(errno));
    }
    path[k] = kept;
    if (k == length) r->made_folder = made;
  }
  return CAROM_OK;
}

// two trainings in one folder would spoil each other's files
static carom_status lock_folder(run *r, carom_error *error) {
  r->lock = open(r->given->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (r->lock < 0) {
    return error_set(error, CAROM_FILE_ERROR, "%s: cannot be opened: %s", r->given->output,
                     strerror(errno));
  }
  if (flock(r->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return CAROM_OK;
  return error_set(error, CAROM_FILE_ERROR, "%s: another process is training in this folder",
                   r->given->output);
}

// a process that was killed while it wrote has left a temporary file (io/atomic_file.h)
static void remove_leftovers(const run *r) {
  DIR *folder = fdopendir(dup(r->lock));
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (strstr(entry->d_name, ".tmp-") != NULL) unlinkat(r->lock, entry->d_name, 0);
  }
  closedir(folder);
}

static carom_status refuse_run(run *r, carom_error *error) {
  char path[PATH_MAX];
  carom_status status = path_in(r, "config.json", path, error);
  if (status != CAROM_OK || access(path, F_OK) != 0) return status;
  r->usage = true;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "%s: holds a run already; --resume goes on with it, or take another folder",
                   r->given->output);
}

/* ---- beginning and going on ------------------------------------------------------------------ */

static carom_status make_data(run *r, const char *path, carom_error *error) {
  carom_options simulation = carom_default_options(r->system);
  simulation.contact = r->config.data_contact;
  carom_dataset_options options = r->config.dataset;
  progress bar = progress_begin("simulating", "steps", r->given->quiet);
  options.threads = r->given->threads;
  options.progress = progress_update;
  options.progress_user = &bar;
  carom_status status = carom_dataset_generate(r->system, &simulation, &options, &r->data, error);
  progress_end(&bar);
  if (status == CAROM_OK) status = dataset_file_write(r->system, path, r->data, error);
  return status;
}

// data that a new run makes, or that is there
static carom_status load_data(run *r, carom_error *error) {
  char path[PATH_MAX];
  carom_status status = path_in(r, r->config.data, path, error);
  if (status != CAROM_OK) return status;
  if (!r->given->resume && r->given->data == NULL) return make_data(r, path, error);
  carom_dataset_options options = r->config.dataset;
  options.threads = r->given->threads;
  return dataset_file_read(r->system, path, &options, &r->data, error);
}

static carom_status make_trainer(run *r, carom_error *error) {
  carom_model_options model = r->config.model;
  model.threads = r->given->threads;
  carom_train_options train = r->config.train;
  train.progress = progress_update;
  train.progress_user = &r->bar;
  carom_status status = carom_model_create(r->system, &model, &r->model, error);
  if (status == CAROM_OK)
    status = carom_trainer_create(r->model, r->data, &train, &r->trainer, error);
  if (status != CAROM_OK) return status;
  r->theta = calloc((size_t)carom_parameter_count(r->system) + 1, sizeof(double));
  if (r->theta == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  return properties_make(r->system, &model, &r->properties, error);
}

// config.json comes last: a folder that has it can be resumed
static carom_status begin(run *r, carom_error *error) {
  char last[PATH_MAX], config[PATH_MAX];
  carom_status status = carom_system_load(r->given->scene, &r->system, error);
  if (status == CAROM_OK) status = train_config_make(r->given, r->system, &r->config, error);
  if (status == CAROM_OK) status = make_folder(r, error);
  if (status == CAROM_OK) status = lock_folder(r, error);
  if (status == CAROM_OK) status = refuse_run(r, error);
  if (status == CAROM_OK) status = load_data(r, error);
  if (status != CAROM_OK) return status;
  r->config.model.dt = r->data->dt;
  status = make_trainer(r, error);
  if (status == CAROM_OK) status = path_in(r, "last.h5", last, error);
  if (status == CAROM_OK) status = path_in(r, "config.json", config, error);
  if (status == CAROM_OK) status = trainer_save(r->trainer, last, error);
  if (status == CAROM_OK) status = run_config_write(config, &r->config, error);
  return status;
}

static carom_status resume(run *r, carom_error *error) {
  char last[PATH_MAX], config[PATH_MAX];
  carom_status status = path_in(r, "config.json", config, error);
  if (status == CAROM_OK) status = path_in(r, "last.h5", last, error);
  if (status == CAROM_OK) status = run_config_read(config, &r->config, &r->system, error);
  if (status == CAROM_OK) status = lock_folder(r, error);
  if (status != CAROM_OK) return status;
  remove_leftovers(r);
  const int epochs = r->config.train.epochs;
  status = train_config_resume(r->given, r->system, &r->config, error);
  r->usage = status == CAROM_INVALID_ARGUMENT;
  if (status == CAROM_OK) status = load_data(r, error);
  if (status == CAROM_OK) status = make_trainer(r, error);
  if (status == CAROM_OK) status = trainer_restore(r->trainer, last, error);
  if (status == CAROM_OK && epochs != r->config.train.epochs)
    status = run_config_write(config, &r->config, error);
  return status;
}

/* ---- training -------------------------------------------------------------------------------- */

static void add_counts(carom_report *into, const carom_report *from) {
  into->programs += from->programs;
  into->failed_programs += from->failed_programs;
  into->degenerate_programs += from->degenerate_programs;
  into->events += from->events;
  into->worst_residual = fmax(into->worst_residual, from->worst_residual);
}

static void show_epoch(run *r, const carom_epoch *e) {
  char validation[32] = "", properties[64] = "";
  if (isfinite(e->validation_loss))
    snprintf(validation, sizeof validation, "  val %.3e", e->validation_loss);
  const carom_segment_info mu = carom_parameter_segment(r->system, CAROM_FRICTION);
  const carom_segment_info bounce = carom_parameter_segment(r->system, CAROM_RESTITUTION);
  if (r->config.model.shared_properties && mu.size > 0) {
    snprintf(properties, sizeof properties, "  mu %.4f  e %.4f", r->theta[mu.offset],
             r->theta[bounce.offset]);
  }
  progress_note(&r->bar, "epoch %d/%d  loss %.3e%s%s", e->epoch, r->config.train.epochs, e->loss,
                validation, properties);
}

// first the metrics, then the best, then the last: what is cut off in between is done again
static carom_status save_epoch(run *r, const carom_epoch *e, carom_error *error) {
  char best[PATH_MAX], last[PATH_MAX];
  carom_status status = path_in(r, "best.h5", best, error);
  if (status == CAROM_OK) status = path_in(r, "last.h5", last, error);
  if (status == CAROM_OK) status = metrics_add(r->metrics, e, r->theta, error);
  if (status == CAROM_OK && e->best) status = carom_model_save(r->model, best, error);
  if (status == CAROM_OK) status = trainer_save(r->trainer, last, error);
  return status;
}

static bool on_epoch(void *user, const carom_epoch *e) {
  run *r = user;
  r->last = *e;
  carom_model_theta(r->model, r->theta);
  add_counts(&r->report, &e->report);
  show_epoch(r, e);
  return save_epoch(r, e, &r->failure) == CAROM_OK && !interrupted();
}

static carom_status train(run *r, carom_error *error) {
  const training_state *s = &r->trainer->state;
  carom_status status =
      metrics_open(r->given->output, &r->properties, s->epochs_done, &r->metrics, error);
  if (status != CAROM_OK) return status;
  r->bar = progress_begin("training", "batches", r->given->quiet);
  r->bar.first = (int64_t)trainer_batch_count(r->trainer) * s->epochs_done + s->batches_done;
  status = carom_trainer_run(r->trainer, on_epoch, r, error);
  progress_end(&r->bar);
  if (r->failure.status != CAROM_OK) {
    if (error != NULL) *error = r->failure;
    return r->failure.status;
  }
  if (status != CAROM_INTERRUPTED) return status;
  // stopped between two batches: that is a state to go on from too
  char last[PATH_MAX];
  carom_error trouble;
  if (path_in(r, "last.h5", last, &trouble) == CAROM_OK &&
      trainer_save(r->trainer, last, &trouble) == CAROM_OK) {
    return status;
  }
  *error = trouble;
  return trouble.status;
}

/* ---- results --------------------------------------------------------------------------------- */

// theta of the best checkpoint; of the model as it is where there is none yet
static carom_status best_theta(const run *r, double *theta, carom_error *error) {
  if (r->trainer->state.best_epoch == 0) {
    carom_model_theta(r->model, theta);
    return CAROM_OK;
  }
  char path[PATH_MAX];
  carom_model *best;
  carom_status status = path_in(r, "best.h5", path, error);
  if (status == CAROM_OK) status = carom_model_load(r->system, path, &best, error);
  if (status != CAROM_OK) return status;
  carom_model_theta(best, theta);
  carom_model_destroy(best);
  return CAROM_OK;
}

static void print_text(const run *r, const double *learned, const double *truth, double seconds) {
  const carom_system_info info = carom_system_describe(r->system);
  const training_state *s = &r->trainer->state;
  printf("scene          %s (%s)\n", info.name, info.description);
  printf("model          %s, %d parameters\n", model_options_name(&r->config.model),
         carom_model_parameter_count(r->model));
  printf("epochs         %d of %d, %.3g s\n", s->epochs_done, r->config.train.epochs, seconds);
  if (s->best_epoch > 0) {
    printf("best           epoch %d, %s loss %.6g\n", s->best_epoch,
           r->data->validation.count > 0 ? "validation" : "training", s->best_loss);
  }
  if (r->properties.count > 0) printf("\n  %-24s %12s %12s\n", "", "learned", "scene");
  for (int k = 0; k < r->properties.count && k < TABLE_ROWS; k++) {
    const property *p = &r->properties.items[k];
    printf("  %-24s %12.6g %12.6g\n", p->name, property_value(p, learned),
           property_value(p, truth));
  }
  if (r->properties.count > TABLE_ROWS)
    printf("  ... %d more: --json lists all\n", r->properties.count - TABLE_ROWS);
  printf("\nwritten        %s: best.h5, last.h5, metrics.csv, config.json%s\n", r->given->output,
         r->config.data[0] == '/' ? "" : ", data.h5");
}

static void print_as_json(const run *r, const double *learned, const double *truth,
                          double seconds) {
  const carom_system_info info = carom_system_describe(r->system);
  const training_state *s = &r->trainer->state;
  json_t *properties = json_array();
  for (int k = 0; k < r->properties.count; k++) {
    const property *p = &r->properties.items[k];
    json_array_append_new(properties, json_pack("{ss so so}", "name", p->name, "learned",
                                                json_number(property_value(p, learned)), "scene",
                                                json_number(property_value(p, truth))));
  }
  const bool any = r->last.epoch > 0;
  print_json(json_pack(
      "{ss ss si si si so so so so so so ss}", "scene", info.name, "model",
      model_options_name(&r->config.model), "parameters", carom_model_parameter_count(r->model),
      "epochs", s->epochs_done, "best_epoch", s->best_epoch, "best_loss", json_number(s->best_loss),
      "loss", json_number(any ? r->last.loss : NAN), "validation_loss",
      json_number(any ? r->last.validation_loss : NAN), "properties", properties, "report",
      json_report(&r->report), "seconds", json_number(seconds), "folder", r->given->output));
}

static carom_status print_results(const run *r, double seconds, carom_error *error) {
  const size_t size = (size_t)carom_parameter_count(r->system) + 1;
  double *learned = calloc(size, sizeof(double)), *truth = calloc(size, sizeof(double));
  carom_status status = learned != NULL && truth != NULL
                            ? best_theta(r, learned, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  if (status == CAROM_OK) {
    carom_parameters_default(r->system, truth);
    (r->given->json ? print_as_json : print_text)(r, learned, truth, seconds);
  }
  free(learned);
  free(truth);
  return status;
}

static void warn_trouble(const carom_report *report) {
  if (report->failed_programs == 0) return;
  fprintf(stderr,
          "carom train: WARNING: %lld of %lld cone programs were NOT solved (worst residual %.2g); "
          "the best impulses found were used. metrics.csv counts them by epoch.\n",
          (long long)report->failed_programs, (long long)report->programs, report->worst_residual);
}

// what went wrong, and what is left to go on from
static int explain(const run *r, const carom_error *error) {
  const char *folder = r->given->output;
  const bool stopped = error->status == CAROM_INTERRUPTED || interrupted();
  if (r->metrics == NULL) {
    if (!r->usage) return report_failure("train", error);
    fprintf(stderr, "carom train: %s\n", error->message);
    return EXIT_USAGE;
  }
  const training_state *s = &r->trainer->state;
  if (error->status == CAROM_INTERRUPTED) {
    fprintf(stderr, "carom train: interrupted in epoch %d", s->epochs_done + 1);
  } else {
    fprintf(stderr, "carom train: %s", error->message);
  }
  // what has diverged would diverge again
  if (error->status == CAROM_NUMERICAL_FAILURE) {
    fprintf(stderr, "\n  %s/last.h5 is the state after epoch %d, the last good one\n", folder,
            s->epochs_done);
  } else {
    fprintf(stderr, "\n  `carom train --resume -o %s` goes on from %s/last.h5\n", folder, folder);
  }
  return stopped ? EXIT_INTERRUPTED : EXIT_FAILURE;
}

static void run_close(run *r) {
  // a folder made for nothing goes away; one with files in it stays
  if (r->made_folder && r->metrics == NULL) rmdir(r->given->output);
  metrics_close(r->metrics);
  properties_free(&r->properties);
  free(r->theta);
  carom_trainer_destroy(r->trainer);
  carom_model_destroy(r->model);
  carom_dataset_destroy(r->data);
  carom_system_destroy(r->system);
  run_config_free(&r->config);
  if (r->lock >= 0) close(r->lock);
}

int command_train(int argc, char **argv) {
  const train_arguments given = train_arguments_parse(argc, argv);
  interrupt_install();
  run r = {.given = &given, .lock = -1};
  carom_error error = {0};
  const double start = seconds_now();
  carom_status status = given.resume ? resume(&r, &error) : begin(&r, &error);
  if (status == CAROM_OK) status = train(&r, &error);
  warn_trouble(&r.report);
  if (status == CAROM_OK) status = print_results(&r, seconds_now() - start, &error);
  const int code = status == CAROM_OK ? EXIT_SUCCESS : explain(&r, &error);
  run_close(&r);
  return code;
}
