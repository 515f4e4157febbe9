/* Which restitution is the best for an epsilon of CMr, everything else being the truth.
 *
 *   make_regularizer_grid SCENE DATA.h5 EPSILON ...     (scenes under gravity with shared properties)
 *
 * Data made by CM is not what CMr with the true values predicts: epsilon takes a part of every impulse. For each
 * epsilon: the loss of the training chunks at the true restitution, and the restitution between 0 and 1 at
 * which it is least (every 0.02, then the golden section), with the loss there. What a training with this epsilon and these
 * masses can learn at best. Masses and potential times a factor are the same as epsilon times it. */
#include <stdio.h>
#include <stdlib.h>

#include "learn/golden_section.h"
#include "support/give_up.h"
#include "support/true_model.h"

typedef struct chunks_of {
  carom_model *model;
  const carom_dataset *data;
} chunks_of;

static carom_status loss_of(void *user, double restitution, double *loss, carom_error *error) {
  const chunks_of *c = user;
  c->model->parameters[c->model->restitution] = restitution_parameter(restitution);
  return carom_model_loss(c->model, &c->data->train, c->data->train.count, NULL, loss, NULL, NULL,
                          error);
}

int main(int argc, char **argv) {
  if (argc < 4)
    give_up("make_regularizer_grid", "usage: make_regularizer_grid SCENE DATA.h5 EPSILON ...");
  carom_system *s = NULL;
  carom_dataset *data = NULL;
  carom_error error = {0};
  if (carom_system_load(argv[1], &s, &error) != CAROM_OK ||
      carom_dataset_read(s, argv[2], NULL, &data, &error) != CAROM_OK)
    give_up("make_regularizer_grid", error.message);
  enum { VALUES = 51 };
  double values[VALUES];
  for (int k = 0; k < VALUES; k++) values[k] = (double)k / (VALUES - 1);
  // "0" is CM itself
  for (int a = 3; a < argc; a++) {
    const double epsilon = strtod(argv[a], NULL);
    chunks_of c = {true_model_make(s, epsilon > 0 ? CAROM_CMR : CAROM_CM, epsilon, 0), data};
    if (c.model == NULL) give_up("make_regularizer_grid", "no memory");
    const double truth = restitution_of(c.model->parameters[c.model->restitution]);
    double at_truth, least, place;
    int best;
    if (loss_of(&c, truth, &at_truth, &error) != CAROM_OK ||
        best_of(loss_of, &c, VALUES, values, &best, &least, &error) != CAROM_OK ||
        golden_section(loss_of, &c, VALUES, values, best, &place, &least, &error) != CAROM_OK)
      give_up("make_regularizer_grid", error.message);
    printf("epsilon %-8g loss %.3e at %.4f (truth), %.3e at %.4f (best)\n", epsilon, at_truth,
           truth, least, place);
    carom_model_destroy(c.model);
  }
  carom_dataset_destroy(data);
  carom_system_destroy(s);
  return 0;
}
