#include "io/evaluation_file.h"

#include "base/error.h"
#include "base/size.h"
#include "io/h5_file.h"
#include "learn/evaluation.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

// null where there is no number
static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *estimate_json(const carom_estimate *e) {
  return json_pack("{si so so so so}", "count", e->count, "mean", number(e->mean), "half_width_95",
                   number(e->half_width), "median", number(e->median), "largest",
                   number(e->largest));
}

static json_t *numbers(const double *values, int count) {
  json_t *array = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(array, number(values[k]));
  return array;
}

static json_t *horizon_json(const carom_horizon *h) {
  return json_pack("{si si si so so so so so}", "trajectories", h->count, "states", h->states,
                   "failed", h->failed_count, "relative_error", estimate_json(&h->relative),
                   "state_norm_error", estimate_json(&h->state_norm), "absolute_error",
                   estimate_json(&h->absolute), "error_of_state", numbers(h->curve, h->states),
                   "error_of_state_half_width_95", numbers(h->curve_half_width, h->states));
}

static json_t *drift_json(const carom_energy_drift *d) {
  return json_pack("{so so}", "greatest", estimate_json(&d->greatest), "average",
                   estimate_json(&d->average));
}

static json_t *energy_json(const carom_evaluation *e) {
  return json_pack("{so so so}", "drift_predicted", drift_json(&e->drift), "drift_true",
                   drift_json(&e->true_drift), "error", estimate_json(&e->energy_error));
}

// an end that is not there is null
static void add_range(json_t *object, const char *name, const carom_range *range) {
  char key[64];
  snprintf(key, sizeof key, "%s_determined", name);
  json_object_set_new(object, key, json_boolean(range->determined));
  snprintf(key, sizeof key, "%s_range", name);
  json_object_set_new(object, key, json_pack("[o o]", number(range->low), number(range->high)));
}

static json_t *contacts_json(const carom_system *system, const carom_evaluation *e) {
  const int friction = carom_parameters_segment(system, CAROM_FRICTION).offset;
  const int restitution = carom_parameters_segment(system, CAROM_RESTITUTION).offset;
  json_t *array = json_array();
  for (int k = 0; k < carom_system_describe(system).contact_count; k++) {
    char label[64];
    carom_system_contact_label(system, k, label, sizeof label);
    json_t *contact = json_pack(
        "{ss so so so so sI sI}", "contact", label, "friction", number(e->theta[friction + k]),
        "scene_friction", number(e->scene_theta[friction + k]), "restitution",
        number(e->theta[restitution + k]), "scene_restitution",
        number(e->scene_theta[restitution + k]), "states", (json_int_t)e->counts[k].states,
        "chunks", (json_int_t)e->counts[k].chunks);
    add_range(contact, "friction", &e->friction[k]);
    add_range(contact, "restitution", &e->restitution[k]);
    json_array_append_new(array, contact);
  }
  return array;
}

// second moments of a body, from their logarithms
static json_t *moments_json(const carom_system *system, const double *theta, int body_index) {
  const int d = carom_system_describe(system).dimension;
  const int offset = carom_parameters_segment(system, CAROM_LOG_MOMENT).offset + body_index * d;
  json_t *array = json_array();
  for (int k = 0; k < d; k++) json_array_append_new(array, number(exp(theta[offset + k])));
  return array;
}

// of a body's centre by the potential; the scene's where it is the truth
static void add_acceleration(json_t *body, int d, int index, const carom_evaluation *e) {
  const int at = index * d;
  json_object_set_new(body, "acceleration", numbers(e->acceleration + at, d));
  json_object_set_new(body, "acceleration_spread", numbers(e->acceleration_spread + at, d));
  if (!e->truth_known) return;
  json_object_set_new(body, "scene_acceleration", numbers(e->scene_acceleration + at, d));
  json_object_set_new(body, "scene_acceleration_spread",
                      numbers(e->scene_acceleration_spread + at, d));
}

static json_t *bodies_json(const carom_system *system, const carom_evaluation *e) {
  json_t *array = json_array();
  for (int k = 0; k < carom_system_describe(system).body_count; k++) {
    json_t *body =
        json_pack("{ss so so}", "body", carom_system_body_id(system, k), "mass_ratio",
                  number(carom_parameters_mass_ratio(system, e->theta, k)), "scene_mass_ratio",
                  number(carom_parameters_mass_ratio(system, e->scene_theta, k)));
    if (carom_system_body_is_rigid(system, k)) {
      json_object_set_new(body, "moments", moments_json(system, e->theta, k));
      json_object_set_new(body, "scene_moments", moments_json(system, e->scene_theta, k));
      json_object_set_new(body, "inertia", number(carom_parameters_inertia(system, e->theta, k)));
      json_object_set_new(body, "scene_inertia",
                          number(carom_parameters_inertia(system, e->scene_theta, k)));
    }
    add_acceleration(body, carom_system_describe(system).dimension, k, e);
    json_array_append_new(array, body);
  }
  return array;
}

static json_t *report_json(const carom_report *r) {
  json_t *json = json_pack("{so}", "worst_residual", number(r->worst_residual));
  for (int k = 0; carom_report_counter(r, k).name != NULL; k++)
    json_object_set_new(json, carom_report_counter(r, k).name,
                        json_integer(carom_report_counter(r, k).value));
  return json;
}

static json_t *evaluation_to_json(const carom_system *system, const carom_evaluation *e) {
  json_t *root = json_pack("{ss ss so sb so}", "carom_version", carom_version(), "scene",
                           carom_system_describe(system).name, "dt", number(e->dt), "truth_known",
                           e->truth_known, "chunk", horizon_json(&e->chunk));
  if (root == NULL) return NULL;
  if (e->truth_known) {
    json_object_set_new(root, "scene_relative_error", estimate_json(&e->scene_relative));
    json_object_set_new(root, "extended", horizon_json(&e->extended));
    json_object_set_new(root, "energy", energy_json(e));
  }
  json_object_set_new(root, "contacts", contacts_json(system, e));
  json_object_set_new(root, "bodies", bodies_json(system, e));
  json_object_set_new(root, "training_chunks", json_integer(e->train_count));
  json_object_set_new(root, "report", report_json(&e->report));
  return root;
}

char *carom_evaluation_json(const carom_evaluation *e, const carom_system *system) {
  if (e == NULL || system == NULL) return NULL;
  json_t *value = evaluation_to_json(system, e);
  char *text = value != NULL ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(value);
  return text;
}

/* ---- HDF5 ---- */

/* A dataset that is written if nothing went wrong before. */
typedef struct sink {
  h5_writer *writer;
  carom_status status;
  carom_error *error;
} sink;

static void put(sink *s, const char *name, int rank, const h5_axis *axes, const double *values) {
  if (s->status == CAROM_OK)
    s->status = h5_write_doubles(s->writer, name, rank, axes, values, s->error);
}

static void put_trajectories(sink *s, const carom_system_info *info, const carom_evaluation *e) {
  const carom_horizon *h = e->truth_known ? &e->extended : &e->chunk;
  const h5_axis axes[] = {{"trajectories", h->count},
                          {"states", h->states},
                          {"points", info->point_count},
                          {"dimension", info->dimension}};
  put(s, "x_predicted", 4, axes, h->x);
  put(s, "v_predicted", 4, axes, h->v);
  put(s, "x_true", 4, axes, h->true_x);
  put(s, "v_true", 4, axes, h->true_v);
  put(s, "error", 1, axes + 1, h->curve);
  put(s, "error_half_width", 1, axes + 1, h->curve_half_width);
  if (!e->truth_known) return;
  put(s, "energy_predicted", 2, axes, e->energy);
  put(s, "energy_true", 2, axes, e->true_energy);
}

/* Arrays that are computed on the way out; `values` has room for each. */
static void put_properties(sink *s, const carom_system *system, const carom_evaluation *e,
                           double *values) {
  const carom_system_info info = carom_system_describe(system);
  const double *const thetas[] = {e->theta, e->scene_theta};
  static const char *const names[][4] = {
      {"friction", "restitution", "mass_ratio", "moment"},
      {"scene_friction", "scene_restitution", "scene_mass_ratio", "scene_moment"}};
  const h5_axis contacts = {"contacts", info.contact_count};
  const h5_axis bodies[] = {{"bodies", info.body_count}, {"dimension", info.dimension}};
  const int moment = carom_parameters_segment(system, CAROM_LOG_MOMENT).offset;
  for (int k = 0; k < 2; k++) {
    const double *theta = thetas[k];
    put(s, names[k][0], 1, &contacts,
        theta + carom_parameters_segment(system, CAROM_FRICTION).offset);
    put(s, names[k][1], 1, &contacts,
        theta + carom_parameters_segment(system, CAROM_RESTITUTION).offset);
    for (int i = 0; i < info.body_count; i++)
      values[i] = carom_parameters_mass_ratio(system, theta, i);
    put(s, names[k][2], 1, bodies, values);
    for (int i = 0; i < info.body_count * info.dimension; i++) values[i] = exp(theta[moment + i]);
    put(s, names[k][3], 2, bodies, values);
  }
  for (int i = 0; i < info.contact_count; i++) values[i] = (double)e->counts[i].states;
  put(s, "contact_states", 1, &contacts, values);
  for (int i = 0; i < info.contact_count; i++) values[i] = (double)e->counts[i].chunks;
  put(s, "contact_chunks", 1, &contacts, values);
}

static void put_times(sink *s, const carom_evaluation *e, double *values) {
  const carom_horizon *h = e->truth_known ? &e->extended : &e->chunk;
  const h5_axis axis = {"states", h->states};
  for (int k = 0; k < h->states; k++) values[k] = k * e->dt;
  put(s, "t", 1, &axis, values);
}

carom_status carom_evaluation_write(const carom_evaluation *e, const carom_system *system,
                                    const char *path, carom_error *error) {
  if (e == NULL) return error_null(error, __func__, "evaluation");
  REQUIRE(system, error);
  REQUIRE(path, error);
  const carom_system_info info = carom_system_describe(system);
  size_t room = (size_t)info.contact_count + (size_t)info.body_count * (size_t)info.dimension +
                (size_t)e->extended.states + (size_t)e->chunk.states;
  double *values = size_allocate_zero(room, sizeof(double));
  if (values == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  sink s = {.error = error};
  s.status = h5_writer_create(path, &s.writer, error);
  if (s.status == CAROM_OK) {
    s.status = h5_write_origin(s.writer, info.json, e->dt, error);
    put_trajectories(&s, &info, e);
    put_properties(&s, system, e, values);
    put_times(&s, e, values);
    s.status = h5_writer_finish(s.writer, s.status, error);
  }
  free(values);
  return s.status;
}
