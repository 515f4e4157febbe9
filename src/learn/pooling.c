#include "learn/pooling.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/model.h"
#include "learn/motion.h"

#include <stdlib.h>

/* The contacts from `first` to before `end`, of one kind: those that are not felt get the median of the values of
 * those that are. The median is that of properties, not of parameters, which may be anything beyond their range. */
static void pool(carom_model *m, const touch_lists *t, int first, int end, double *values) {
  double *frictions = m->parameters + m->friction, *restitutions = m->parameters + m->restitution;
  int felt = 0;
  for (int k = first; k < end; k++)
    if (t->lists[k].count > 0) values[felt++] = friction_of(frictions[k]);
  if (felt == 0 || felt == end - first) return;
  const double friction = median(values, felt);
  felt = 0;
  for (int k = first; k < end; k++)
    if (t->lists[k].count > 0) values[felt++] = restitution_of(restitutions[k]);
  const double restitution = restitution_parameter(median(values, felt));
  for (int k = first; k < end; k++) {
    if (t->lists[k].count > 0) continue;
    frictions[k] = friction;
    restitutions[k] = restitution;
  }
}

// one number for all contacts, or none, leaves nothing to fill in
static bool has_table(const carom_model *m) { return m->friction >= 0 && m->property_count > 1; }

carom_status pool_unfelt(carom_model *m, const touch_lists *t, carom_error *error) {
  const carom_system *s = m->system;
  if (!has_table(m)) return CAROM_OK;
  double *values = size_allocate((size_t)m->property_count, sizeof(double));
  if (values == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d properties", m->property_count);
  pool(m, t, 0, s->plane_property_first, values);
  pool(m, t, s->plane_property_first, s->limit_property_first, values);
  pool(m, t, s->limit_property_first, s->contact_count, values);
  free(values);
  return CAROM_OK;
}

carom_status pool_unfelt_chunks(carom_model *m, const observations *observed, carom_error *error) {
  if (!has_table(m) || observed->chunks.count == 0) return CAROM_OK;
  touch_lists touches;
  carom_status status =
      touch_lists_make(&touches, m, observed, observed->chunks.count, NULL, error);
  if (status != CAROM_OK) return status;
  status = pool_unfelt(m, &touches, error);
  touch_lists_free(&touches);
  return status;
}
