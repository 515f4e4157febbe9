#include "learn/warm_start.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/pooling.h"
#include "learn/property_search.h"
#include "learn/touch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fits of contacts with a search before each but the first. */
enum { ROUNDS = 4 };

/* Chunks with a contact are predicted well enough if their mean residual is at most this, or at most so
 * many times that of one step without a contact. */
static const double EXACT = 1e-7, AS_GOOD = 3;

/* Forces are worth going on with if what is left of steps without a contact is this part of what it was, and if the loss
 * of FEW chunks has not become HOPELESS times as large. Noise leaves 0.9 of it or more, what the last layer cannot express
 * 0.01 to 0.04, fitted with weights of thousands from which descent diverges or does not come back; exact data 1e-4 or less.
 * A long rope, all of whose chunks are full of contacts, has few such steps, and fits these alone. */
static const double WORTH = 1e-3, HOPELESS = 10;
enum { FEW = 50 };

bool warm_start_possible(const carom_model *m) {
  return m->options.baseline == CAROM_BASELINE_NONE && m->mass >= 0;
}

size_t warm_start_bytes(const carom_model *m, const carom_dataset *data) {
  const size_t parameters = sizeof(double) * 2 * (size_t)m->parameter_count;
  return size_add(parameters,
                  size_add(force_fit_bytes(m, &data->train), contact_fit_bytes(m, &data->train)));
}

/* The loss of a split, on `most` chunks of it where there are more; 0 if it has none. */
static carom_status loss_of(carom_model *m, const carom_chunks *chunks, int most, double *loss,
                            carom_error *error) {
  *loss = 0;
  if (chunks->count == 0) return CAROM_OK;
  const int count = chunks->count < most ? chunks->count : most;
  int *indices = size_allocate((size_t)count, sizeof(int));
  if (indices == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a list of %d chunks", count);
  for (int k = 0; k < count; k++) indices[k] = spread_index(k, count, chunks->count);
  const observations all = observations_of(chunks);
  const carom_status status = loss_of_chunks(m, &all, count, indices, loss, error);
  free(indices);
  return status;
}

static carom_status losses(carom_model *m, const carom_dataset *data, double *train,
                           double *validation, carom_error *error) {
  carom_status status = loss_of(m, &data->train, MOST_JUDGED, train, error);
  return status == CAROM_OK ? loss_of(m, &data->validation, MOST_JUDGED, validation, error)
                            : status;
}

/* Contacts: fit, and while that is not enough, search and fit again. */
static carom_status fit_contacts(carom_model *m, const carom_dataset *data, adamw *optimizer,
                                 const force_fit *forces, const warm_work *work,
                                 carom_warm_start *result, carom_error *error) {
  const observations train = observations_of(&data->train);
  for (int round = 0; round < ROUNDS; round++) {
    contact_fit fit;
    carom_status status = contact_fit_run(&fit, m, &data->train, forces, work, error);
    result->chunks = fit.chunks;
    result->properties = fit.unknowns;
    if (status != CAROM_OK || fit.chunks == 0) return status;
    if (fit.after <= fmax(EXACT, AS_GOOD * forces->after) || round == ROUNDS - 1) return CAROM_OK;
    search_result search;
    status = warm_work_go_on(work, error);
    if (status == CAROM_OK) status = property_search_run(m, &train, optimizer, &search, error);
    if (status != CAROM_OK) return status;
    const int moves = search.count;
    free(search.moves);
    if (moves == 0) return CAROM_OK;
  }
  return CAROM_OK;
}

/* Forces, then contacts, then the losses. Where the forces are not worth going on with, that is all, and the loss is that
 * of FEW chunks. */
static carom_status solve(carom_model *m, const carom_dataset *data, adamw *optimizer,
                          const warm_work *work, carom_warm_start *result, bool *worth,
                          carom_error *error) {
  force_fit forces;
  carom_status status = force_fit_run(&forces, m, data, work, error);
  result->pairs = forces.pairs;
  result->unknowns = forces.features + forces.masses;
  double loss = 0;
  if (status == CAROM_OK) status = loss_of(m, &data->train, FEW, &loss, error);
  *worth =
      forces.after <= fmax(EXACT, WORTH * forces.before) && loss <= HOPELESS * result->loss_before;
  if (status == CAROM_OK && *worth)
    status = fit_contacts(m, data, optimizer, &forces, work, result, error);
  force_fit_free(&forces);
  result->loss_after = loss;
  result->validation_after = result->validation_before;
  if (status != CAROM_OK || !*worth) return status;
  const observations train = observations_of(&data->train);
  status = pool_unfelt_chunks(m, &train, error);
  return status == CAROM_OK ? losses(m, data, &result->loss_after, &result->validation_after, error)
                            : status;
}

carom_status warm_start_run(carom_model *m, const carom_dataset *data, adamw *optimizer,
                            const warm_work *work, carom_warm_start *result, carom_error *error) {
  *result = (carom_warm_start){0};
  const size_t bytes = sizeof(double) * (size_t)m->parameter_count;
  double *kept = malloc(bytes);
  if (kept == NULL || !size_available(warm_start_bytes(m, data))) {
    free(kept);
    return error_set(error, CAROM_OUT_OF_MEMORY,
                     "the warm start needs %.3g GB; train without it (warm_start, "
                     "--no-warm-start)",
                     size_gigabytes(warm_start_bytes(m, data)));
  }
  memcpy(kept, m->parameters, bytes);
  bool worth = false;
  carom_status status = losses(m, data, &result->loss_before, &result->validation_before, error);
  if (status == CAROM_OK) status = solve(m, data, optimizer, work, result, &worth, error);
  const bool lower = result->loss_after < result->loss_before &&
                     !(result->validation_after > result->validation_before);
  result->kept = status == CAROM_OK && worth && lower;
  if (!result->kept) memcpy(m->parameters, kept, bytes);
  free(kept);
  return status;
}
