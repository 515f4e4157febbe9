#include "learn/determination.h"

#include "base/error.h"
#include "learn/model.h"
#include "learn/touch.h"

#include <math.h>
#include <stdlib.h>

/* The largest friction that is tried: beyond it every contact sticks. */
static const double MOST_FRICTION = 4;

/* A small move, and where a friction is so large that a tenth of it is meant. */
static const double SMALL_MOVE = 0.05, LARGE_FRICTION = 0.5;

/* What contact problems solved to 1e-10 leave of a loss, which is of the order of 1 where nothing has
 * been learned. */
static const double ROUNDING = 1e-9;

/* Chunks that are looked at, at most, evenly spread. */
enum { MOST_CHUNKS = 4000 };

/* One property with the chunks that feel it. */
typedef struct probe {
  carom_model *model;
  const observations *observed;
  const chunk_list *felt;
  double *parameter;
  bool restitution;
  double value;     /* where it stands */
  double low, high; /* what is tried */
  double step;      /* a small move */
  double threshold; /* losses up to this explain the data as well */
} probe;

static carom_status loss_at(const probe *p, double value, double *loss, carom_error *error) {
  const double kept = *p->parameter;
  *p->parameter = p->restitution ? restitution_parameter(value) : value;
  carom_status status =
      loss_of_chunks(p->model, p->observed, p->felt->count, p->felt->items, loss, error);
  *p->parameter = kept;
  return status;
}

// the farthest value on one side that explains the data as well, between one that does and one that
// does not
static carom_status bisect(const probe *p, double good, double bad, double *end,
                           carom_error *error) {
  enum { STEPS = 6 };
  carom_status status = CAROM_OK;
  for (int k = 0; k < STEPS && status == CAROM_OK; k++) {
    const double middle = 0.5 * (good + bad);
    double loss;
    status = loss_at(p, middle, &loss, error);
    if (status == CAROM_OK) *(loss <= p->threshold ? &good : &bad) = middle;
  }
  *end = good;
  return status;
}

/* The end of the range on one side, `way` 1 or -1: moves that double, then halves. */
static carom_status find_end(const probe *p, int way, double *end, bool *near, carom_error *error) {
  const double last = way > 0 ? p->high : p->low;
  double good = p->value;
  *end = last;
  *near = p->value == last;
  for (double move = p->step; good != last; move *= 2) {
    const double next = way > 0 ? fmin(p->value + move, last) : fmax(p->value - move, last);
    double loss;
    carom_status status = loss_at(p, next, &loss, error);
    if (status != CAROM_OK) return status;
    if (loss > p->threshold) {
      *near = move == p->step;
      return bisect(p, good, next, end, error);
    }
    good = next;
  }
  return CAROM_OK;
}

static carom_status probe_range(probe *p, carom_range *range, carom_error *error) {
  double loss;
  carom_status status = loss_at(p, p->value, &loss, error);
  if (status != CAROM_OK) return status;
  // explained as well: loss(value) <= loss (1 + 2 / n)
  p->threshold = loss * (1 + 2.0 / p->felt->count) + ROUNDING;
  bool near_low, near_high;
  status = find_end(p, -1, &range->low, &near_low, error);
  if (status == CAROM_OK) status = find_end(p, 1, &range->high, &near_high, error);
  if (status != CAROM_OK) return status;
  // no friction is too large if the largest one is not
  const bool open = !p->restitution && range->high == p->high;
  range->determined = near_low && near_high && !open;
  if (open) range->high = INFINITY;
  return CAROM_OK;
}

// nothing is known
static carom_range open_range(bool restitution) {
  return (carom_range){.determined = false, .low = 0, .high = restitution ? 1 : INFINITY};
}

static carom_status find_range(carom_model *m, const observations *observed, const chunk_list *felt,
                               int which, bool restitution, carom_range *range,
                               carom_error *error) {
  *range = open_range(restitution);
  if (felt->count == 0) return CAROM_OK;
  double *parameter = &m->parameters[(restitution ? m->restitution : m->friction) + which];
  const double value = restitution ? restitution_of(*parameter) : friction_of(*parameter);
  const bool large = !restitution && value > LARGE_FRICTION;
  probe p = {.model = m,
             .observed = observed,
             .felt = felt,
             .parameter = parameter,
             .restitution = restitution,
             .value = value,
             .high = restitution ? 1 : fmax(MOST_FRICTION, value),
             .step = large ? 0.1 * value : SMALL_MOVE};
  return probe_range(&p, range, error);
}

static carom_status find_ranges(carom_model *m, const observations *observed,
                                const touch_lists *touches, carom_range *friction,
                                carom_range *restitution, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; k < m->system->contact_count && status == CAROM_OK; k++) {
    if (k > 0 && touches->property_count == 1) {
      friction[k] = friction[0];
      restitution[k] = restitution[0];
      continue;
    }
    const chunk_list *felt = &touches->lists[k];
    status = find_range(m, observed, felt, k, false, &friction[k], error);
    if (status == CAROM_OK) status = find_range(m, observed, felt, k, true, &restitution[k], error);
  }
  return status;
}

carom_status determination_run(carom_model *m, const carom_chunks *chunks, carom_range *friction,
                               carom_range *restitution, carom_error *error) {
  const int count = chunks->count < MOST_CHUNKS ? chunks->count : MOST_CHUNKS;
  for (int k = 0; k < m->system->contact_count; k++) {
    friction[k] = open_range(false);
    restitution[k] = open_range(true);
  }
  // what is not learned is given
  for (int k = 0; m->friction < 0 && k < m->system->contact_count; k++) {
    friction[k] = (carom_range){true, m->system->friction[k], m->system->friction[k]};
    restitution[k] = (carom_range){true, m->system->restitution[k], m->system->restitution[k]};
  }
  if (count == 0 || m->system->contact_count == 0 || m->friction < 0) return CAROM_OK;
  int *indices = malloc(sizeof(int) * (size_t)count);
  if (indices == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d indices", count);
  for (int k = 0; k < count; k++) indices[k] = spread_index(k, count, chunks->count);
  const observations observed = observations_of(chunks);
  touch_lists touches = {0};
  carom_status status = touch_lists_make(&touches, m, &observed, count, indices, error);
  if (status == CAROM_OK)
    status = find_ranges(m, &observed, &touches, friction, restitution, error);
  touch_lists_free(&touches);
  free(indices);
  // a model whose predictions leave the finite numbers tells nothing
  return status == CAROM_NUMERICAL_FAILURE ? error_clear(error) : status;
}
