#include "fit/overlap.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/size.h"
#include "learn/motion.h"
#include "physics/collision.h"
#include "system/system.h"

/* Deviations of a coordinate beyond which an overlap is none of noise, and the share of such states
 * that is. */
static const double DEVIATIONS = 6, SHARE = 0.01;

typedef struct worst {
  int count;
  double depth;
  int contact;
} worst;

// the deepest overlap of bodies among contacts at x
static double deepest(const carom_system *s, const contact_list *list, const double *x, int *at) {
  double depth = 0;
  for (int k = 0; k < list->count; k++) {
    contact_id id = list->ids[k];
    if (id.kind == CONTACT_LIMIT) continue;
    double gap = contact_gap(s, &id, x);
    if (gap >= -depth) continue;
    depth = -gap;
    *at = id.property;
  }
  return depth;
}

/* Noise of a coordinate by the second differences of measured positions, which no model that does
 * not fit makes larger; NaN if memory is short. */
static double scatter_of(const shooting *sh, int states) {
  size_t row = 2 * (size_t)sh->D, used = 0;
  double *values = size_allocate((size_t)states * (size_t)sh->D, sizeof(double));
  if (values == NULL) return NAN;
  for (int k = 1; k + 1 < states; k++)
    for (int i = 0; i < sh->D; i++) {
      const double *x = sh->clean + (size_t)k * row + i;
      values[used++] = fabs(x[row] - 2 * x[0] + *(x - row));
    }
  double noise = used > 0 ? DEVIATION_OF_MEDIAN / sqrt(6) * median(values, (int)used) : 0;
  free(values);
  return noise;
}

carom_status overlap_note(shooting *sh, int states, verdict *v, carom_error *error) {
  const carom_system *s = sh->system;
  const double noise =
      fmin(sh->noise[CAROM_CHANNEL_POSITION], scatter_of(sh, states)) * sh->measure.scale;
  // where contacts act at the end of time steps, overlaps are part of the motion
  if (sh->step.contact_time != CAROM_CONTACT_TIME_EVENT) return CAROM_OK;
  contact_list list;
  contact_list_init(&list);
  worst w = {0, 0, 0};
  bool ready = true;
  for (int k = 0; k < states && ready; k++) {
    double *x = sh->work;
    int at = 0;
    measure_invert(&sh->measure, sh->clean + (size_t)k * 2 * (size_t)sh->D, x);
    ready = collision_detect(s, x, &list);
    double depth = deepest(s, &list, x, &at);
    w.count += depth > DEVIATIONS * noise + 1e-6;
    if (depth <= w.depth) continue;
    w.depth = depth;
    w.contact = at;
  }
  contact_list_free(&list);
  if (!ready) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for contacts");
  if (w.count <= SHARE * states) return CAROM_OK;
  char label[80];
  carom_system_contact_label(s, w.contact, label, sizeof label);
  return verdict_note(
      v, true, error,
      "in %d of %d states bodies are inside of something by more than noise "
      "explains, at most by %.3g at %s: is it where the scene says, are radii and units right? "
      "shift[...] and scale among the unknowns find out",
      w.count, states, w.depth, label);
}
