#include "learn/warm_work.h"

#include "base/error.h"
#include "base/ranks.h"

carom_status warm_work_go_on(const warm_work *w, carom_error *error) {
  const bool go_on = w->progress == NULL || w->progress(w->user, 0, w->batches);
  if (ranks_all(go_on)) return CAROM_OK;
  return error_set(error, CAROM_INTERRUPTED, "stopped by the progress callback in the warm start");
}

void state_seen(const carom_model *m, const double *difference, double unit, double *seen) {
  const carom_system *s = m->system;
  const int d = s->dimension;
  for (int b = 0; b < s->body_count; b++) {
    const int size = s->bodies[b].point_count * d;
    const double length = m->body_lengths[b];
    for (int i = 0; i < size; i++)
      seen[i] =
          (i < d ? difference[i] : (1 - length) * difference[i % d] + length * difference[i]) /
          unit;
    difference += size;
    seen += size;
  }
}

/* in the forward pass a tip's was ((1 - l) centre + l tip) / unit */
void state_seen_vjp(const carom_model *m, const double *seen_bar, double unit,
                    double *difference_bar) {
  const carom_system *s = m->system;
  const int d = s->dimension;
  for (int b = 0; b < s->body_count; b++) {
    const int size = s->bodies[b].point_count * d;
    const double length = m->body_lengths[b];
    for (int i = 0; i < size; i++) {
      if (i >= d) difference_bar[i % d] += (1 - length) * seen_bar[i] / unit;
      difference_bar[i] = (i < d ? 1 : length) * seen_bar[i] / unit;
    }
    seen_bar += size;
    difference_bar += size;
  }
}
