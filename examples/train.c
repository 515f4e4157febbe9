/* Learning from C: a data set, a model, a short training, the model in a file and back, a prediction.
 *
 *   train [SCENE [FILE]]      a built-in name or the path of a scene file (cp3), and where the model
 *                             goes (model.h5)
 *
 * The network is small and the training short, so that it takes seconds: what it learns is rough.
 * `carom train` does the same in full.
 */
#include <carom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 40, STEPS = 10 };

/* Everything that is made on the way. */
typedef struct session {
  carom_system *system;
  carom_dataset *data;
  carom_model *model, *loaded;
  carom_trainer *trainer;
  double first_loss, last_loss; /* of validation: before anything is learned, and at the end */
} session;

static void session_end(session *s) {
  // the trainer uses model and data, the models use the system
  carom_trainer_destroy(s->trainer);
  carom_model_destroy(s->loaded);
  carom_model_destroy(s->model);
  carom_dataset_destroy(s->data);
  carom_system_destroy(s->system);
}

/* Simulates trajectories and cuts chunks of 5 states from them. Trajectories of one's own go through
 * carom_dataset_from_trajectories instead. */
static carom_status make_data(session *s, carom_error *error) {
  carom_dataset_options options = carom_dataset_default_options(s->system);
  options.train = 200;
  options.validation = 50;
  options.test = 1;
  return carom_dataset_generate(s->system, NULL, &options, &s->data, error);
}

/* Masses, potential, friction and restitution are unknown to the model. */
static carom_status make_model(session *s, carom_error *error) {
  carom_model_options options = carom_model_default_options(s->system);
  options.hidden_layers = 2;
  options.hidden_size = 32;
  options.dt = s->data->dt;
  return carom_model_create(s->system, &options, &s->model, error);
}

/* Called after each epoch; returning false would end the training. */
static bool on_epoch(void *user, const carom_epoch *epoch) {
  session *s = user;
  s->last_loss = epoch->validation_loss;
  if (epoch->epoch == 1 || epoch->epoch % 10 == 0)
    printf("epoch %3d  loss %.3e  validation %.3e\n", epoch->epoch, epoch->loss,
           epoch->validation_loss);
  return true;
}

static carom_status train(session *s, carom_error *error) {
  carom_trainer_options options = carom_trainer_default_options();
  options.epochs = EPOCHS;
  options.batch = 50;
  options.learning_rate = 5e-3;
  carom_status status = carom_trainer_create(s->model, s->data, &options, &s->trainer, error);
  // what can be solved for, before descent; carom_trainer_run would do that, too
  carom_warm_start warm;
  if (status == CAROM_OK) status = carom_trainer_warm_start(s->trainer, &warm, error);
  if (status != CAROM_OK) return status;
  s->first_loss = warm.validation_before;
  s->last_loss = warm.validation_after;
  printf("warm start: validation %.3e, then %.3e\n", s->first_loss, s->last_loss);
  return carom_trainer_run(s->trainer, on_epoch, s, error);
}

/* Learned beside true values of one kind of property. */
static void print_segment(const session *s, carom_segment which, const double *learned,
                          const double *truth) {
  const carom_segment_info info = carom_parameters_segment(s->system, which);
  for (int k = 0; k < info.size; k++)
    printf("%s[%d]: learned %.4f, true %.4f\n", info.name, k, learned[info.offset + k],
           truth[info.offset + k]);
}

static void print_properties(const session *s) {
  const size_t size = (size_t)carom_parameters_count(s->system);
  double *learned = malloc(size * sizeof *learned), *truth = malloc(size * sizeof *truth);
  if (learned != NULL && truth != NULL) {
    carom_model_theta(s->model, learned);
    carom_parameters_default(s->system, truth);
    print_segment(s, CAROM_FRICTION, learned, truth);
    print_segment(s, CAROM_RESTITUTION, learned, truth);
  }
  free(learned);
  free(truth);
}

/* Predicts from the first test chunk, into x and v, [STEPS + 1] states each. */
static carom_status predict(const session *s, carom_model *model, double *x, double *v,
                            carom_error *error) {
  return carom_model_predict(model, 1, STEPS, s->data->test.x, s->data->test.v, x, v, NULL, NULL,
                             error);
}

/* The loaded model predicts what the saved one does; beside it, the scene's own motion. */
static carom_status compare(const session *s, bool *same, carom_error *error) {
  const carom_system_info info = carom_system_describe(s->system);
  const size_t state = (size_t)(info.point_count * info.dimension), size = (STEPS + 1) * state;
  double *const all = calloc(6 * size, sizeof *all);
  if (all == NULL) {
    snprintf(error->message, sizeof error->message, "out of memory");
    return CAROM_OUT_OF_MEMORY;
  }
  double *const saved = all, *const loaded = all + 2 * size, *const truth = all + 4 * size;
  carom_rollout_options simulation = carom_rollout_default_options(s->system);
  simulation.steps = STEPS;
  simulation.dt = s->data->dt;
  carom_status status = predict(s, s->model, saved, saved + size, error);
  if (status == CAROM_OK) status = predict(s, s->loaded, loaded, loaded + size, error);
  if (status == CAROM_OK)
    status = carom_system_simulate(s->system, &simulation, NULL, 1, s->data->test.x,
                                   s->data->test.v, truth, truth + size, NULL, NULL, error);
  if (status == CAROM_OK) {
    double off = 0;
    for (size_t i = 0; i < state; i++)
      off = fmax(off, fabs(loaded[STEPS * state + i] - truth[STEPS * state + i]));
    printf("after %d steps a coordinate is off by at most %.2e\n", STEPS, off);
    *same = memcmp(saved, loaded, 2 * size * sizeof *all) == 0;
  }
  free(all);
  return status;
}

static carom_status run(session *s, const char *scene, const char *path, bool *same,
                        carom_error *error) {
  carom_status status = carom_system_load(scene, &s->system, error);
  if (status == CAROM_OK) status = make_data(s, error);
  if (status == CAROM_OK) status = make_model(s, error);
  if (status == CAROM_OK) status = train(s, error);
  if (status != CAROM_OK) return status;
  print_properties(s);
  status = carom_model_save(s->model, path, error);
  if (status == CAROM_OK) status = carom_model_load(s->system, path, &s->loaded, error);
  return status == CAROM_OK ? compare(s, same, error) : status;
}

int main(int argc, char **argv) {
  session s = {0};
  carom_error error;
  bool same = false;
  int result = EXIT_FAILURE;
  const carom_status status =
      run(&s, argc > 1 ? argv[1] : "cp3", argc > 2 ? argv[2] : "model.h5", &same, &error);
  if (status != CAROM_OK)
    fprintf(stderr, "train: %s\n", error.message);
  else if (!(s.last_loss < 0.5 * s.first_loss))
    fprintf(stderr, "train: the loss did not fall: %g, then %g\n", s.first_loss, s.last_loss);
  else if (!same)
    fprintf(stderr, "train: the loaded model predicts something else than the saved one\n");
  else
    result = EXIT_SUCCESS;
  session_end(&s);
  return result;
}
