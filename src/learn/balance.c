#include "learn/balance.h"

#include <math.h>

#include "learn/chunks.h"

void kind_losses_add(kind_losses *k, const carom_chunks *chunks, int count, const int *indices,
                     const double *losses, double scale) {
  for (int i = 0; i < count; i++) {
    const size_t chunk = (size_t)(indices != NULL ? indices[i] : i);
    const bool touches =
        chunk_touches(chunks->contact + chunk * (size_t)chunks->states, chunks->states);
    *(touches ? &k->contact : &k->free) += scale * losses[i];
    *(touches ? &k->contact_count : &k->free_count) += 1;
  }
}

double contact_weight(const kind_losses *k) {
  if (k->free_count == 0 || k->contact_count == 0) return 1;
  const double free = k->free / k->free_count, contact = k->contact / k->contact_count;
  return free > 0 && free < contact ? free / contact : 1;
}
