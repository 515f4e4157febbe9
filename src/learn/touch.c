#include "learn/touch.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/chunks.h"
#include "learn/model.h"
#include "physics/collision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chunks that are run at once. */
enum { BLOCK = 200 };

/* ---- lists ----------------------------------------------------------------------------------- */

// adds a chunk, once: chunks come in their order
static bool note(chunk_list *list, int chunk) {
  if (list->count > 0 && list->items[list->count - 1] == chunk) return true;
  if (list->count == list->capacity) {
    const int capacity = 2 * list->capacity + 16;
    int *items = realloc(list->items, sizeof(int) * (size_t)capacity);
    if (items == NULL) return false;
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = chunk;
  return true;
}

/* A block of predictions, on their way into the lists. */
typedef struct block {
  touch_lists *touches;
  int first;          /* place of the block's first chunk among all that are predicted */
  const int *indices; /* of those; NULL: the places themselves */
  bool enough_memory;
} block;

static void note_active(void *user, int chunk, int64_t state, const contact_list *active) {
  (void)state;
  block *b = user;
  touch_lists *t = b->touches;
  const int place = b->first + chunk, index = b->indices != NULL ? b->indices[place] : place;
  for (int k = 0; k < active->count; k++) {
    const int property = t->property_count == 1 ? 0 : active->ids[k].property;
    b->enough_memory = b->enough_memory && note(&t->lists[property], index);
  }
  if (active->count > 0)
    b->enough_memory = b->enough_memory && note(&t->lists[t->property_count], index);
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Memory for the predictions of a block. */
typedef struct predictions {
  double *x0, *v0, *x, *v;
} predictions;

static void predictions_free(predictions *p) {
  free(p->x0);
  free(p->v0);
  free(p->x);
  free(p->v);
}

static bool predictions_make(predictions *p, int count, int states, int size) {
  const size_t rows = (size_t)(count < BLOCK ? count : BLOCK), row = (size_t)size;
  p->x0 = malloc(sizeof(double) * rows * row);
  p->v0 = malloc(sizeof(double) * rows * row);
  p->x = malloc(sizeof(double) * rows * row * (size_t)states);
  p->v = malloc(sizeof(double) * rows * row * (size_t)states);
  return p->x0 != NULL && p->v0 != NULL && p->x != NULL && p->v != NULL;
}

static carom_status predict_block(carom_model *m, const observations *o, int count, block *b,
                                  predictions *p, carom_error *error) {
  const int width = m->system->coordinate_count, states = o->chunks.states;
  for (int k = 0; k < count; k++) {
    const int place = b->first + k, chunk = b->indices != NULL ? b->indices[place] : place;
    const size_t at = (size_t)k * (size_t)width, bytes = sizeof(double) * (size_t)width;
    memcpy(p->x0 + at, observed_x0(o, width, chunk), bytes);
    memcpy(p->v0 + at, observed_v0(o, width, chunk), bytes);
  }
  carom_status status =
      carom_model_predict(m, count, states - 1, p->x0, p->v0, p->x, p->v, NULL, NULL, error);
  if (status != CAROM_OK) return status;
  const carom_chunks predicted = {.count = count, .states = states, .x = p->x, .v = p->v};
  status = contacts_visit(m->system, &predicted, note_active, b, error);
  if (status != CAROM_OK || b->enough_memory) return status;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for lists of chunks");
}

carom_status touch_lists_make(touch_lists *touches, carom_model *m, const observations *observed,
                              int count, const int *indices, carom_error *error) {
  predictions p = {0};
  *touches = (touch_lists){.property_count = m->property_count};
  touches->lists = size_allocate_zero((size_t)m->property_count, sizeof(chunk_list));
  carom_status status = CAROM_OK;
  if (touches->lists == NULL ||
      !predictions_make(&p, count, observed->chunks.states, m->system->coordinate_count))
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions of %d chunks", count);
  for (int first = 0; first < count && status == CAROM_OK; first += BLOCK) {
    block b = {touches, first, indices, true};
    status =
        predict_block(m, observed, count - first < BLOCK ? count - first : BLOCK, &b, &p, error);
  }
  predictions_free(&p);
  if (status != CAROM_OK) touch_lists_free(touches);
  return status;
}

void touch_lists_free(touch_lists *touches) {
  for (int k = 0; touches->lists != NULL && k <= touches->property_count; k++)
    free(touches->lists[k].items);
  free(touches->lists);
  *touches = (touch_lists){0};
}

/* ---- loss ------------------------------------------------------------------------------------ */

carom_status loss_of_chunks(carom_model *m, const observations *observed, int count,
                            const int *indices, double *loss, carom_error *error) {
  double sum = 0;
  for (int first = 0, rows; first < count; first += rows) {
    rows = count - first < BLOCK ? count - first : BLOCK;
    const observations part = indices != NULL
                                  ? *observed
                                  : observations_from(observed, m->system->coordinate_count, first);
    double mean = 0;
    const carom_status status = observations_loss(
        m, &part, rows, indices != NULL ? indices + first : NULL, &mean, NULL, NULL, error);
    if (status == CAROM_NUMERICAL_FAILURE || (status == CAROM_OK && !isfinite(mean))) {
      *loss = INFINITY;
      return CAROM_OK;
    }
    if (status != CAROM_OK) return status;
    sum += mean * rows;
  }
  *loss = sum / count;
  return CAROM_OK;
}
