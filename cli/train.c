/* carom train: from trajectories to masses, a potential, friction and restitution. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/findings.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/train_command.h"
#include "cli/train_run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_ROWS = 40 };

// theta of the best checkpoint; of the model as it is where there is none yet
static carom_status best_theta(const train_run *r, double *theta, carom_error *error) {
  if (!isfinite(carom_trainer_describe(r->trainer).best_loss)) {
    carom_model_theta(r->model, theta);
    return CAROM_OK;
  }
  char path[PATH_MAX];
  carom_model *best;
  snprintf(path, sizeof path, "%s/best.h5", r->given->output);
  carom_status status = carom_model_load(r->system, path, &best, error);
  if (status != CAROM_OK) return status;
  carom_model_theta(best, theta);
  carom_model_destroy(best);
  return CAROM_OK;
}

static void print_text(const train_run *r, const double *learned, const double *truth,
                       double seconds) {
  const carom_system_info info = carom_system_describe(r->system);
  const carom_trainer_info s = carom_trainer_describe(r->trainer);
  printf("scene          %s (%s)\n", info.name, info.description);
  printf("model          %s, %d parameters\n", carom_model_options_name(&r->config.model),
         carom_model_describe(r->model).parameter_count);
  printf("epochs         %d of %d, %.3g s", s.epochs_done, r->config.train.epochs, seconds);
  if (carom_ranks_count() > 1) printf(" on %d ranks", carom_ranks_count());
  if (s.within_tolerance && s.epochs_done < r->config.train.epochs)
    printf("; ended: the loss is within --tolerance %g", r->config.train.tolerance);
  else if (s.stands_still && s.epochs_done < r->config.train.epochs)
    printf("; ended: no lower loss in %d epochs", r->config.train.patience);
  putchar('\n');
  if (s.warm_start.done)
    printf(
        "warm start     training loss %.3g -> %.3g in %.3g s: %d numbers from %d pairs of states, "
        "%d "
        "from %d chunks with a contact%s\n",
        s.warm_start.loss_before, s.warm_start.loss_after, s.warm_start.seconds,
        s.warm_start.unknowns, s.warm_start.pairs, s.warm_start.properties, s.warm_start.chunks,
        s.warm_start.kept ? "" : "; not kept, they explain too little");
  if (isfinite(s.best_loss)) {
    char epoch[32] = "warm start";
    if (s.best_epoch > 0) snprintf(epoch, sizeof epoch, "epoch %d", s.best_epoch);
    printf("best           %s, %s loss %.6g\n", epoch,
           r->data->validation.count > 0 ? "validation" : "training", s.best_loss);
  }
  if (r->config.train.estimate_states)
    printf(
        "noise          %.3g in positions, %.3g in velocities (%s); residuals are %.3g times it\n",
        s.position_noise, s.velocity_noise,
        r->config.train.noise_deviation > 0 ? "given" : "estimated", s.noise_scale);
  if (s.contact_weight > 0)
    printf(
        "contacts       chunks with one weigh %.3g: they are predicted so much worse than others "
        "(--balance)\n",
        s.contact_weight);
  if (r->properties.count > 0) printf("\n  %-24s %12s %12s\n", "", "learned", "scene");
  for (int k = 0; k < r->properties.count && k < TABLE_ROWS; k++) {
    const carom_property *p = &r->properties.items[k];
    printf("  %-24s %12.6g %12.6g\n", p->name, carom_property_value(p, learned),
           carom_property_value(p, truth));
  }
  if (r->properties.count > TABLE_ROWS)
    printf("  ... %d more: --json lists all\n", r->properties.count - TABLE_ROWS);
  printf("\nwritten        %s: best.h5, last.h5, metrics.csv, config.json%s\n", r->given->output,
         r->config.data[0] == '/' ? "" : ", data.h5");
}

static json_t *warm_start_json(const carom_warm_start *w) {
  if (!w->done) return json_null();
  return json_pack("{sb so so so so si si si si so}", "kept", (int)w->kept, "loss_before",
                   json_number(w->loss_before), "loss_after", json_number(w->loss_after),
                   "validation_before", json_number(w->validation_before), "validation_after",
                   json_number(w->validation_after), "pairs", w->pairs, "unknowns", w->unknowns,
                   "chunks", w->chunks, "properties", w->properties, "seconds",
                   json_number(w->seconds));
}

static void print_as_json(const train_run *r, const double *learned, const double *truth,
                          double seconds) {
  const carom_system_info info = carom_system_describe(r->system);
  const carom_trainer_info s = carom_trainer_describe(r->trainer);
  json_t *properties = json_array();
  for (int k = 0; k < r->properties.count; k++) {
    const carom_property *p = &r->properties.items[k];
    json_array_append_new(properties,
                          json_pack("{ss so so}", "name", p->name, "learned",
                                    json_number(carom_property_value(p, learned)), "scene",
                                    json_number(carom_property_value(p, truth))));
  }
  const bool any = r->last.epoch > 0;
  print_json(json_pack(
      "{ss ss si so si si so so so so so so so so so so so ss}", "scene", info.name, "model",
      carom_model_options_name(&r->config.model), "parameters",
      carom_model_describe(r->model).parameter_count, "warm_start", warm_start_json(&s.warm_start),
      "epochs", s.epochs_done, "best_epoch", s.best_epoch, "best_loss", json_number(s.best_loss),
      "loss", json_number(any ? r->last.loss : NAN), "validation_loss",
      json_number(any ? r->last.validation_loss : NAN), "position_noise",
      json_number(s.position_noise), "velocity_noise", json_number(s.velocity_noise), "noise_scale",
      json_number(s.noise_scale), "contact_weight", json_number(s.contact_weight), "properties",
      properties, "findings", findings_json(r->data), "report", json_report(&r->report), "seconds",
      json_number(seconds), "folder", r->given->output));
}

static carom_status print_results(const train_run *r, double seconds, carom_error *error) {
  const size_t size = (size_t)carom_parameters_count(r->system) + 1;
  double *learned = calloc(size, sizeof(double)), *truth = calloc(size, sizeof(double));
  carom_status status = learned != NULL && truth != NULL
                            ? best_theta(r, learned, error)
                            : carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  if (status == CAROM_OK) {
    carom_parameters_default(r->system, truth);
    (r->given->json ? print_as_json : print_text)(r, learned, truth, seconds);
  }
  free(learned);
  free(truth);
  return status;
}

// what can be done where the checkpoint to go on from is of no use
static void explain_restart(const train_run *r) {
  const char *folder = r->given->output;
  char best[PATH_MAX];
  snprintf(best, sizeof best, "%s/best.h5", folder);
  fprintf(stderr, "  nothing in %s was changed", folder);
  if (access(best, R_OK) == 0)
    fprintf(stderr, "; the best model so far is %s (`carom evaluate %s`)", best, folder);
  char *command = train_command(&r->config, r->system, "OTHER_FOLDER");
  if (command != NULL) fprintf(stderr, "\n  to train again: %s", command);
  fputc('\n', stderr);
  free(command);
}

// what can be done where the data of a run is gone or damaged
static void explain_data(const train_run *r) {
  const char *folder = r->given->output;
  fprintf(stderr, "  nothing in %s was changed\n", folder);
  if (r->config.data[0] == '/') {
    fprintf(stderr, "  put the data that the run began with there again, unchanged\n");
  } else {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, r->config.data);
    char *command = dataset_command(&r->config, r->system, path);
    if (command != NULL) fprintf(stderr, "  to make the data again: %s\n", command);
    free(command);
  }
  fprintf(stderr, "  then `carom train --resume -o %s` goes on\n", folder);
}

// what went wrong, and what is left to go on from
static int explain(const train_run *r, const carom_error *error) {
  const char *folder = r->given->output;
  const bool stopped = error->status == CAROM_INTERRUPTED || interrupted();
  if (r->metrics == NULL) {
    if (!r->usage) {
      const int code = report_failure("train", error);
      if (r->not_restored && !stopped) explain_restart(r);
      if (r->no_data && !stopped) explain_data(r);
      return code;
    }
    fprintf(stderr, "carom train: %s\n", error->message);
    return EXIT_USAGE;
  }
  const carom_trainer_info s = carom_trainer_describe(r->trainer);
  if (error->status == CAROM_INTERRUPTED) {
    fprintf(stderr, "carom train: interrupted in epoch %d", s.epochs_done + 1);
  } else {
    fprintf(stderr, "carom train: %s", error->message);
  }
  // what has diverged would diverge again
  if (error->status == CAROM_NUMERICAL_FAILURE) {
    fprintf(stderr, "\n  %s/last.h5 is the state after epoch %d, the last good one\n", folder,
            s.epochs_done);
  } else {
    fprintf(stderr, "\n  `carom train --resume -o %s` goes on from %s/last.h5\n", folder, folder);
  }
  return stopped ? EXIT_INTERRUPTED : EXIT_FAILURE;
}

int command_train(int argc, char **argv) {
  const train_arguments given = train_arguments_parse(argc, argv);
  interrupt_install();
  train_run r;
  carom_error error = {0};
  const double start = seconds_now();
  carom_status status = train_run_do(&r, &given, &error);
  report_unsolved_with("train", &r.report, " metrics.csv counts them by epoch.");
  if (status == CAROM_OK && ranks_writes())
    status = print_results(&r, seconds_now() - start, &error);
  const int code = status == CAROM_OK ? EXIT_SUCCESS : explain(&r, &error);
  train_run_close(&r);
  return code;
}
