#include "cli/train_run.h"
#include "cli/findings.h"

#include "cli/messages.h"
#include "cli/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ------------------------------------------------------------------------------ */

static carom_status path_in(const train_run *r, const char *name, char path[PATH_MAX],
                            carom_error *error) {
  const bool absolute = name[0] == '/';
  const int length = snprintf(path, PATH_MAX, "%s%s%s", absolute ? "" : r->given->output,
                              absolute ? "" : "/", name);
  if (length >= 0 && length < PATH_MAX) return CAROM_OK;
  return carom_error_set(error, CAROM_FILE_ERROR, "%.200s...: the name is too long",
                         r->given->output);
}

// makes the folder and those above it
static carom_status make_folder(train_run *r, carom_error *error) {
  char path[PATH_MAX];
  const size_t length = strlen(r->given->output);
  if (length == 0 || length >= sizeof path)
    return carom_error_set(error, CAROM_FILE_ERROR,
                           "the name of the run folder is empty or too long");
  memcpy(path, r->given->output, length + 1);
  for (size_t k = 1; k <= length; k++) {
    if (path[k] != '/' && path[k] != '\0') continue;
    const char kept = path[k];
    path[k] = '\0';
    const bool made = mkdir(path, 0777) == 0;
    if (!made && errno != EEXIST) {
      return carom_error_set(error, CAROM_FILE_ERROR, "%s: the folder cannot be made: %s", path,
                             strerror(errno));
    }
    path[k] = kept;
    if (k == length) r->made_folder = made;
  }
  return CAROM_OK;
}

// two trainings in one folder would spoil each other's files
static carom_status lock_folder(train_run *r, carom_error *error) {
  r->lock = open(r->given->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (r->lock < 0) {
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be opened: %s", r->given->output,
                           strerror(errno));
  }
  if (flock(r->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return CAROM_OK;
  r->busy = true;
  return carom_error_set(error, CAROM_FILE_ERROR, "%s: another process is training in this folder",
                         r->given->output);
}

// whether a name is NAME.tmp-PROCESS-NUMBER of a file that a run writes (carom_file_write), and the
// process is gone
static bool is_leftover(const char *name) {
  static const char *const written[] = {"config.json", "data.h5",         "last.h5",      "best.h5",
                                        "metrics.csv", "evaluation.json", "evaluation.h5"};
  for (size_t k = 0; k < sizeof written / sizeof written[0]; k++) {
    const size_t length = strlen(written[k]);
    long process;
    int number, end = 0;
    if (strncmp(name, written[k], length) == 0 &&
        sscanf(name + length, ".tmp-%ld-%d%n", &process, &number, &end) == 2 &&
        name[length + (size_t)end] == '\0' && process > 0)
      return kill((pid_t)process, 0) != 0 && errno == ESRCH;
  }
  return false;
}

// a process that was killed while it wrote has left a temporary file
static void remove_leftovers(const train_run *r) {
  DIR *folder = fdopendir(dup(r->lock));
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (is_leftover(entry->d_name)) unlinkat(r->lock, entry->d_name, 0);
  }
  closedir(folder);
}

static carom_status refuse_run(train_run *r, carom_error *error) {
  char path[PATH_MAX];
  carom_status status = path_in(r, "config.json", path, error);
  if (status != CAROM_OK || access(path, F_OK) != 0) return status;
  r->usage = true;
  return carom_error_set(
      error, CAROM_INVALID_ARGUMENT,
      "%s: holds a run already; --resume goes on with it, or take another folder",
      r->given->output);
}

/* ---- beginning and going on ------------------------------------------------------------------ */

static carom_status make_data(train_run *r, const char *path, carom_error *error) {
  carom_dataset_options options = r->config.dataset;
  options.threads = r->given->general.threads;
  carom_rollout_options simulation = carom_rollout_default_options(r->system);
  simulation.contact = r->config.data_contact;
  simulation.compensation = r->config.model.compensation;
  simulation.contact_time = r->config.model.contact_time;
  simulation.friction = carom_model_friction_law(&r->config.model, r->system);
  carom_status status =
      dataset_simulate(r->system, &simulation, options, r->given->general.quiet, &r->data, error);
  if (status == CAROM_OK && ranks_writes()) {
    status = carom_dataset_write(r->data, r->system, path, error);
    r->made_data = status == CAROM_OK;
  }
  return carom_ranks_agree(status, error);
}

// data that a new run makes, or that is there
static carom_status load_data(train_run *r, carom_error *error) {
  char path[PATH_MAX];
  carom_status status = path_in(r, r->config.data, path, error);
  if (status != CAROM_OK) return status;
  if (!r->given->resume && r->given->data == NULL) return make_data(r, path, error);
  // data that the run did not make
  if (r->config.data[0] == '/') {
    status = dataset_arguments_check(&r->given->dataset, path, error);
    r->usage = status == CAROM_INVALID_ARGUMENT;
    if (status != CAROM_OK) return status;
  }
  carom_dataset_options options = r->config.dataset;
  options.threads = r->given->general.threads;
  status = carom_dataset_read(r->system, path, &options, &r->data, error);
  if (status == CAROM_OK) report_time_step("train", r->data->dt_from, r->data->dt, path);
  return status;
}

static carom_status make_trainer(train_run *r, carom_error *error) {
  carom_model_options model = r->config.model;
  model.threads = r->given->general.threads;
  progress bar = progress_begin("network", "vectors", r->given->general.quiet);
  model.progress = progress_update;
  model.progress_user = &bar;
  carom_trainer_options train = r->config.train;
  train.progress = progress_update;
  train.progress_user = &r->bar;
  carom_status status = carom_model_create(r->system, &model, &r->model, error);
  progress_end(&bar);
  if (status == CAROM_OK)
    status = carom_trainer_create(r->model, r->data, &train, &r->trainer, error);
  if (status != CAROM_OK) return status;
  r->theta = calloc((size_t)carom_parameters_count(r->system), sizeof(double));
  if (r->theta == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  return carom_model_properties(r->model, &r->properties, error);
}

// config.json comes last: a folder that has it can be resumed
static carom_status begin(train_run *r, carom_error *error) {
  char last[PATH_MAX], config[PATH_MAX];
  carom_status status = carom_system_load(r->given->scene, &r->system, error);
  if (status == CAROM_OK) status = train_config_make(r->given, r->system, &r->config, error);
  if (status == CAROM_OK)
    status = carom_trainer_options_check(&r->config.train, &r->config.model, r->system,
                                         r->config.dataset.train, error);
  if (status == CAROM_OK && ranks_writes()) status = make_folder(r, error);
  if (status == CAROM_OK && ranks_writes()) status = lock_folder(r, error);
  if (status == CAROM_OK) status = refuse_run(r, error);
  status = carom_ranks_agree(status, error);
  if (status == CAROM_OK) status = load_data(r, error);
  if (status != CAROM_OK) return status;
  findings_warn("train", r->data);
  dataset_warn_simulation("train", r->system, r->data, &r->config.model);
  r->config.model.dt = r->data->dt;
  if (!r->given->paper)
    status = carom_model_options_by_data(&r->config.model, r->system, r->data, error);
  if (status == CAROM_OK) status = make_trainer(r, error);
  if (status == CAROM_OK) status = path_in(r, "last.h5", last, error);
  if (status == CAROM_OK) status = path_in(r, "config.json", config, error);
  if (status == CAROM_OK && ranks_writes()) {
    status = carom_trainer_save(r->trainer, last, error);
    if (status == CAROM_OK) status = carom_run_config_write(&r->config, config, error);
  }
  status = carom_ranks_agree(status, error);
  r->made_data = r->made_data && status != CAROM_OK;
  return status;
}

static carom_status resume(train_run *r, carom_error *error) {
  char last[PATH_MAX], config[PATH_MAX];
  carom_status status = path_in(r, "config.json", config, error);
  if (status == CAROM_OK) status = path_in(r, "last.h5", last, error);
  if (status == CAROM_OK) status = carom_run_config_read(config, &r->config, &r->system, error);
  if (status == CAROM_OK && ranks_writes()) status = lock_folder(r, error);
  status = carom_ranks_agree(status, error);
  if (status != CAROM_OK) return status;
  if (ranks_writes()) remove_leftovers(r);
  const carom_trainer_options before = r->config.train;
  status = train_config_resume(r->given, r->system, &r->config, error);
  r->usage = status == CAROM_INVALID_ARGUMENT;
  if (status == CAROM_OK) {
    status = load_data(r, error);
    r->no_data = status != CAROM_OK && !r->usage;
  }
  if (status == CAROM_OK) status = make_trainer(r, error);
  if (status == CAROM_OK) {
    status = carom_trainer_restore(r->trainer, last, error);
    r->not_restored = status != CAROM_OK;
  }
  status = carom_ranks_agree(status, error);
  const bool changed = before.epochs != r->config.train.epochs ||
                       before.patience != r->config.train.patience ||
                       before.tolerance != r->config.train.tolerance;
  if (status == CAROM_OK && changed && ranks_writes())
    status = carom_run_config_write(&r->config, config, error);
  return carom_ranks_agree(status, error);
}

/* ---- training -------------------------------------------------------------------------------- */

// what the search before an epoch moved
static void show_moves(train_run *r, const carom_epoch *e) {
  enum { SHOWN = 6 };
  int count;
  const carom_move *moves = carom_trainer_moves(r->trainer, &count);
  // those of an epoch that was taken up in its middle have been shown
  if (e->moves == 0 || e->moves != count) return;
  progress_line(&r->bar, "training: search before epoch %d: %d moves, training loss %.3e -> %.3e",
                e->epoch, count, e->search_loss_before, e->search_loss_after);
  for (int k = 0; k < count && k < SHOWN; k++)
    progress_line(&r->bar, "  %s %.5g -> %.5g: loss of the %d chunks that feel it %.3e -> %.3e",
                  moves[k].name, moves[k].from, moves[k].to, moves[k].chunks, moves[k].loss_before,
                  moves[k].loss_after);
  if (count > SHOWN) progress_line(&r->bar, "  ... and %d more", count - SHOWN);
}

static void show_epoch(train_run *r, const carom_epoch *e) {
  char validation[32] = "", properties[64] = "";
  if (isfinite(e->validation_loss))
    snprintf(validation, sizeof validation, "  val %.3e", e->validation_loss);
  const carom_segment_info mu = carom_parameters_segment(r->system, CAROM_FRICTION);
  const carom_segment_info bounce = carom_parameters_segment(r->system, CAROM_RESTITUTION);
  if (r->config.model.shared_properties && mu.size > 0) {
    snprintf(properties, sizeof properties, "  mu %.4f  e %.4f", r->theta[mu.offset],
             r->theta[bounce.offset]);
  }
  progress_note(&r->bar, "epoch %d/%d  loss %.3e%s%s", e->epoch, r->config.train.epochs, e->loss,
                validation, properties);
}

// first the metrics, then the best, then the last: what is cut off in between is done again
static carom_status save_epoch(train_run *r, const carom_epoch *e, carom_error *error) {
  char best[PATH_MAX], last[PATH_MAX];
  carom_status status = path_in(r, "best.h5", best, error);
  if (status == CAROM_OK) status = path_in(r, "last.h5", last, error);
  if (status == CAROM_OK) status = metrics_add(r->metrics, e, r->theta, error);
  if (status == CAROM_OK && e->best) status = carom_model_save(r->model, best, error);
  if (status == CAROM_OK) status = carom_trainer_save(r->trainer, last, error);
  return status;
}

static bool on_epoch(void *user, const carom_epoch *e) {
  train_run *r = user;
  r->last = *e;
  carom_model_theta(r->model, r->theta);
  carom_report_add(&r->report, &e->report);
  show_moves(r, e);
  show_epoch(r, e);
  if (ranks_writes() && save_epoch(r, e, &r->failure) != CAROM_OK) return false;
  return !interrupted();
}

static void show_warm_start(train_run *r, const carom_warm_start *w) {
  progress_line(&r->bar,
                "training: warm start %s, training loss %.3e -> %.3e in %.2g s: %d numbers from %d "
                "pairs of states without contact, %d from %d chunks with one",
                w->kept ? "kept" : "not kept", w->loss_before, w->loss_after, w->seconds,
                w->unknowns, w->pairs, w->properties, w->chunks);
}

// what can be solved for before descent, once, and saved
static carom_status warm_start(train_run *r, carom_error *error) {
  if (!r->config.train.warm_start || carom_trainer_describe(r->trainer).warm_start.done)
    return CAROM_OK;
  carom_warm_start w;
  progress_note(&r->bar, "warm start");
  carom_status status = carom_trainer_warm_start(r->trainer, &w, error);
  if (status != CAROM_OK || !w.done) return status;
  show_warm_start(r, &w);
  progress_note(&r->bar, "%s", w.kept ? "after the warm start" : "");
  char best[PATH_MAX], last[PATH_MAX];
  if (ranks_writes()) {
    status = path_in(r, "best.h5", best, error);
    if (status == CAROM_OK) status = path_in(r, "last.h5", last, error);
    if (status == CAROM_OK && w.kept) status = carom_model_save(r->model, best, error);
    if (status == CAROM_OK) status = carom_trainer_save(r->trainer, last, error);
  }
  return carom_ranks_agree(status, error);
}

static carom_status train(train_run *r, carom_error *error) {
  const carom_trainer_info s = carom_trainer_describe(r->trainer);
  carom_status status = CAROM_OK;
  if (ranks_writes())
    status = metrics_open(r->given->output, &r->properties, s.epochs_done, &r->metrics, error);
  status = carom_ranks_agree(status, error);
  if (status != CAROM_OK) return status;
  if (r->metrics != NULL && metrics_aside(r->metrics)[0] != '\0')
    fprintf(stderr,
            "carom train: metrics.csv had the columns of another version; they were taken by their "
            "names, the file as it was is %s\n",
            metrics_aside(r->metrics));
  r->bar = progress_begin("training", "batches", r->given->general.quiet);
  r->bar.whole = r->given->whole;
  r->bar.first = (int64_t)s.batches * s.epochs_done + s.batches_done;
  status = warm_start(r, error);
  if (status == CAROM_OK) status = carom_trainer_run(r->trainer, on_epoch, r, error);
  progress_end(&r->bar);
  if (r->failure.status != CAROM_OK) {
    if (error != NULL) *error = r->failure;
    return r->failure.status;
  }
  if (status != CAROM_INTERRUPTED || !ranks_writes()) return status;
  // stopped between two batches: that is a state to go on from too
  char last[PATH_MAX];
  carom_error trouble;
  if (path_in(r, "last.h5", last, &trouble) == CAROM_OK &&
      carom_trainer_save(r->trainer, last, &trouble) == CAROM_OK) {
    return status;
  }
  *error = trouble;
  return trouble.status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

carom_status train_run_do(train_run *r, const train_arguments *given, carom_error *error) {
  *r = (train_run){.given = given, .lock = -1};
  carom_status status = given->resume ? resume(r, error) : begin(r, error);
  return status == CAROM_OK ? train(r, error) : status;
}

void train_run_close(train_run *r) {
  // data and a folder made for nothing go away; a folder with other files in it stays
  char data[PATH_MAX];
  if (r->made_data && path_in(r, r->config.data, data, NULL) == CAROM_OK) unlink(data);
  if (r->made_folder && r->metrics == NULL) rmdir(r->given->output);
  metrics_close(r->metrics);
  carom_properties_free(&r->properties);
  free(r->theta);
  carom_trainer_destroy(r->trainer);
  carom_model_destroy(r->model);
  carom_dataset_destroy(r->data);
  carom_system_destroy(r->system);
  carom_run_config_free(&r->config);
  if (r->lock >= 0) close(r->lock);
}
