#include "learn/properties.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/baseline.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static carom_property *add(carom_properties *list, int entry) {
  carom_property *p = &list->items[list->count++];
  *p = (carom_property){.entry = entry, .reference = -1};
  return p;
}

void contact_property_name(const carom_system *system, carom_segment which, int contact,
                           bool shared, char *name, size_t size) {
  const char *segment = carom_parameters_segment(system, which).name;
  char label[64];
  carom_system_contact_label(system, contact, label, sizeof label);
  snprintf(name, size, shared ? "%s" : "%s/%s", segment, label);
}

// friction or restitution: the first contact's where all share it
static void add_contacts(carom_properties *list, const carom_system *system, carom_segment which,
                         bool shared) {
  const carom_segment_info segment = carom_parameters_segment(system, which);
  const int count = shared && segment.size > 1 ? 1 : segment.size;
  for (int k = 0; k < count; k++) {
    carom_property *p = add(list, segment.offset + k);
    contact_property_name(system, which, k, shared, p->name, sizeof p->name);
  }
}

static void add_masses(carom_properties *list, const carom_system *system) {
  const carom_segment_info segment = carom_parameters_segment(system, CAROM_LOG_MASS);
  for (int k = 1; k < segment.size; k++) {
    carom_property *p = add(list, segment.offset + k);
    p->reference = segment.offset;
    p->logarithm = true;
    snprintf(p->name, sizeof p->name, "mass_ratio/%.64s", carom_system_body_id(system, k));
  }
}

static void add_moments(carom_properties *list, const carom_system *system) {
  const carom_segment_info segment = carom_parameters_segment(system, CAROM_LOG_MOMENT);
  for (int k = 0; k < segment.size; k++) {
    const int owner = k / system->dimension;
    if (!system->bodies[owner].rigid) continue;
    carom_property *p = add(list, segment.offset + k);
    p->logarithm = true;
    snprintf(p->name, sizeof p->name, "moment/%.64s/%c", carom_system_body_id(system, owner),
             "xyz"[k % system->dimension]);
  }
}

carom_status properties_make(const carom_system *system, const carom_model_options *options,
                             carom_properties *list, carom_error *error) {
  *list = (carom_properties){0};
  list->items = size_allocate_zero((size_t)carom_parameters_count(system), sizeof(carom_property));
  if (list->items == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  if (baseline_learns_contacts(options->baseline)) {
    add_contacts(list, system, CAROM_FRICTION, options->shared_properties);
    add_contacts(list, system, CAROM_RESTITUTION, options->shared_properties);
  }
  if (baseline_learns_potential(options->baseline)) {
    add_masses(list, system);
    add_moments(list, system);
  }
  if (options->learn_regularizer && baseline_learns_contacts(options->baseline) &&
      options->contact == CAROM_CMR) {
    const carom_segment_info segment = carom_parameters_segment(system, CAROM_REGULARIZER);
    snprintf(add(list, segment.offset)->name, sizeof list->items->name, "%s", segment.name);
  }
  return CAROM_OK;
}

carom_status carom_model_properties(const carom_model *model, carom_properties *properties,
                                    carom_error *error) {
  if (properties != NULL) *properties = (carom_properties){0};
  REQUIRE(model, error);
  REQUIRE(properties, error);
  const carom_model_options options = carom_model_describe(model).options;
  return properties_make(carom_model_describe(model).system, &options, properties, error);
}

void carom_properties_free(carom_properties *list) {
  if (list == NULL) return;
  free(list->items);
  *list = (carom_properties){0};
}

double carom_property_value(const carom_property *p, const double *theta) {
  if (p == NULL || theta == NULL) return NAN;
  const double value = theta[p->entry];
  if (!p->logarithm) return value;
  return exp(p->reference >= 0 ? value - theta[p->reference] : value);
}
