#include "support/true_model.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int true_model_offset(const carom_model *m, const char *name) {
  for (int k = 0; k < m->array_count; k++)
    if (strcmp(m->arrays[k].name, name) == 0) return m->arrays[k].offset;
  return -1;
}

// units of the coordinates, then features at random; the outputs of all are 0
static void make_units(const carom_model *m, int width) {
  double *p = m->parameters;
  const int units = m->options.hidden_size, output = true_model_offset(m, "weight1");
  const int weight = true_model_offset(m, "weight0"), bias = true_model_offset(m, "bias0");
  rng random;
  rng_seed(&random, 1, 0);
  for (int k = 0; k < units; k++) {
    p[bias + k] = k < width ? 50 : rng_normal(&random);
    for (int i = 0; i < width; i++)
      p[weight + k * width + i] = k < width ? (i == k) : 3 * rng_normal(&random);
    p[output + k] = 0;
  }
}

static void take_truth(carom_model *m, const double *theta) {
  const carom_system *s = m->system;
  const carom_segment_info masses = carom_parameters_segment(s, CAROM_LOG_MASS);
  const carom_segment_info moments = carom_parameters_segment(s, CAROM_LOG_MOMENT);
  const double *gravity = theta + carom_parameters_segment(s, CAROM_GRAVITY).offset;
  double *p = m->parameters;
  p[m->friction] = theta[carom_parameters_segment(s, CAROM_FRICTION).offset];
  p[m->restitution] =
      restitution_parameter(theta[carom_parameters_segment(s, CAROM_RESTITUTION).offset]);
  for (int b = 0; b < s->body_count; b++) {
    const int centre = s->bodies[b].first_point * s->dimension;
    p[m->mass + b] = theta[masses.offset + b];
    for (int c = 0; c < s->dimension; c++)
      p[true_model_offset(m, "weight1") + centre + c] = -exp(theta[masses.offset + b]) * gravity[c];
  }
  if (m->moment < 0) return;
  // by the squares of lengths that the model knows: what they make of 0 is subtracted
  double *made = calloc((size_t)s->parameter_count, sizeof(double));
  for (int k = 0; k < moments.size; k++) p[m->moment + k] = 0;
  model_expand(m, made);
  for (int k = 0; k < moments.size; k++)
    p[m->moment + k] = theta[moments.offset + k] - made[moments.offset + k];
  free(made);
}

carom_model *true_model_make(const carom_system *s, carom_contact_model kind, double regularizer,
                             int features) {
  carom_model_options o = carom_model_default_options(s);
  o.contact = kind;
  o.regularizer = regularizer;
  o.hidden_layers = 1;
  o.hidden_size = s->coordinate_count + features;
  o.single_precision = false;
  o.elastic_term = false;
  o.threads = 1;
  carom_model *m;
  if (carom_model_create(s, &o, &m, NULL) != CAROM_OK) return NULL;
  double *theta = calloc((size_t)s->parameter_count, sizeof(double));
  carom_parameters_default(s, theta);
  make_units(m, s->coordinate_count);
  take_truth(m, theta);
  free(theta);
  return m;
}
