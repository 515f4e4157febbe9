/* Stopping and going on from C: data and a training in files, taken up again with the same bits as if
 * it had never stopped, then evaluated.
 *
 *   resume [FOLDER]      where data.h5, last.h5 and evaluation.h5 go (the current one)
 */
#include <carom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 6, PATH = 512 };

/* A model in training on given data. */
typedef struct training {
  carom_model *model;
  carom_trainer *trainer;
} training;

static void training_end(training *t) {
  carom_trainer_destroy(t->trainer);
  carom_model_destroy(t->model);
}

/* The same scene, data and options every time: that is what a training can be taken up with. */
static carom_status training_begin(training *t, const carom_system *system,
                                   const carom_dataset *data, carom_error *error) {
  carom_model_options model = carom_model_default_options(system);
  model.hidden_layers = 2;
  model.hidden_size = 16;
  model.dt = data->dt;
  carom_trainer_options options = carom_trainer_default_options();
  options.epochs = EPOCHS;
  options.batch = 20;
  const carom_status status = carom_model_create(system, &model, &t->model, error);
  return status == CAROM_OK ? carom_trainer_create(t->model, data, &options, &t->trainer, error)
                            : status;
}

/* Ends the training after half of the epochs. */
static bool stop_halfway(void *user, const carom_epoch *epoch) {
  (void)user;
  return epoch->epoch < EPOCHS / 2;
}

static carom_status train_half(const carom_system *system, const carom_dataset *data,
                               const char *path, carom_error *error) {
  training t = {0};
  carom_status status = training_begin(&t, system, data, error);
  if (status == CAROM_OK) status = carom_trainer_run(t.trainer, stop_halfway, NULL, error);
  // stopping was asked for
  if (status == CAROM_INTERRUPTED) status = carom_trainer_save(t.trainer, path, error);
  training_end(&t);
  return status;
}

/* Goes on from the file; the data comes from a file too. */
static carom_status go_on(training *t, const carom_system *system, const carom_dataset *data,
                          const char *path, carom_error *error) {
  carom_status status = training_begin(t, system, data, error);
  if (status == CAROM_OK) status = carom_trainer_restore(t->trainer, path, error);
  if (status != CAROM_OK) return status;
  printf("taken up after epoch %d\n", carom_trainer_describe(t->trainer).epochs_done);
  return carom_trainer_run(t->trainer, NULL, NULL, error);
}

static carom_status evaluate(const training *t, const carom_dataset *data, const char *path,
                             carom_error *error) {
  carom_evaluation_options options = carom_evaluation_default_options();
  options.steps = 20;
  carom_evaluation *result;
  carom_status status = carom_model_evaluate(t->model, data, CAROM_TEST, &options, &result, error);
  if (status != CAROM_OK) return status;
  printf("relative error %.3g +- %.2g over %d test chunks\n", result->chunk.relative.mean,
         result->chunk.relative.half_width, result->chunk.count);
  status = carom_evaluation_write(result, carom_model_describe(t->model).system, path, error);
  carom_evaluation_destroy(result);
  return status;
}

/* What was learned, by name; the same as by a training that did not stop? */
static carom_status compare(const training *resumed, const training *whole, bool *same,
                            carom_error *error) {
  const carom_model_info info = carom_model_describe(resumed->model);
  const size_t bytes = sizeof(double) * (size_t)info.parameter_count;
  *same = memcmp(carom_model_parameters(resumed->model), carom_model_parameters(whole->model),
                 bytes) == 0;
  carom_properties learned;
  carom_status status = carom_model_properties(resumed->model, &learned, error);
  if (status != CAROM_OK) return status;
  double *theta = malloc(sizeof(double) * (size_t)carom_parameters_count(info.system));
  if (theta != NULL) carom_model_theta(resumed->model, theta);
  for (int k = 0; theta != NULL && k < learned.count; k++)
    printf("%s %.4f\n", learned.items[k].name, carom_property_value(&learned.items[k], theta));
  free(theta);
  carom_properties_free(&learned);
  return CAROM_OK;
}

static carom_status run(const carom_system *system, const char *folder, bool *same,
                        carom_error *error) {
  char data_path[PATH], last_path[PATH], result_path[PATH];
  snprintf(data_path, PATH, "%s/data.h5", folder);
  snprintf(last_path, PATH, "%s/last.h5", folder);
  snprintf(result_path, PATH, "%s/evaluation.h5", folder);
  carom_dataset_options options = carom_dataset_default_options(system);
  options.train = 60;
  options.validation = options.test = 20;
  carom_dataset *made = NULL, *read = NULL;
  training resumed = {0}, whole = {0};
  carom_status status = carom_dataset_generate(system, NULL, &options, &made, error);
  if (status == CAROM_OK) status = carom_dataset_write(made, system, data_path, error);
  if (status == CAROM_OK) status = train_half(system, made, last_path, error);
  if (status == CAROM_OK) status = carom_dataset_read(system, data_path, NULL, &read, error);
  if (status == CAROM_OK) status = go_on(&resumed, system, read, last_path, error);
  if (status == CAROM_OK) status = training_begin(&whole, system, made, error);
  if (status == CAROM_OK) status = carom_trainer_run(whole.trainer, NULL, NULL, error);
  if (status == CAROM_OK) status = compare(&resumed, &whole, same, error);
  if (status == CAROM_OK) status = evaluate(&resumed, read, result_path, error);
  training_end(&resumed);
  training_end(&whole);
  carom_dataset_destroy(read);
  carom_dataset_destroy(made);
  return status;
}

int main(int argc, char **argv) {
  carom_error error;
  carom_system *system;
  bool same = false;
  carom_status status = carom_system_load("cp3", &system, &error);
  if (status == CAROM_OK) {
    status = run(system, argc > 1 ? argv[1] : ".", &same, &error);
    carom_system_destroy(system);
  }
  if (status != CAROM_OK)
    fprintf(stderr, "resume: %s\n", error.message);
  else if (!same)
    fprintf(stderr, "resume: the training that was taken up learned something else\n");
  return status == CAROM_OK && same ? EXIT_SUCCESS : EXIT_FAILURE;
}
