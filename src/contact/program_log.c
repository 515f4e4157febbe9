#include "contact/program_log.h"

#include <stdlib.h>
#include <string.h>

void program_log_clear(program_log *log) {
  // the four arrays of a program stand in one piece that begins with A
  for (int i = 0; i < log->count; i++) free((void *)(uintptr_t)log->programs[i].A);
  log->count = 0;
}

void program_log_add(program_log *log, const cone_program *program) {
  if (log->count == PROGRAM_LOG_MOST) return;
  int count = program->contact_count;
  size_t size = (size_t)count * (size_t)program->dimension;
  double *A = calloc(size * size + size + 2 * (size_t)count, sizeof(double));
  if (A == NULL) return;

  // A from the envelope to a full matrix
  for (int i = 0; i < (int)size; i++)
    for (int j = program->shape.first[i]; j <= i; j++) {
      double value = program->A[envelope_at(&program->shape, i, j)];
      A[(size_t)i * size + (size_t)j] = value;
      A[(size_t)j * size + (size_t)i] = value;
    }
  double *b = A + size * size;
  double *mu = b + size;
  double *lower = mu + count;
  memcpy(b, program->b, sizeof(double) * size);
  memcpy(mu, program->mu, sizeof(double) * (size_t)count);
  memcpy(lower, program->lower, sizeof(double) * (size_t)count);
  log->programs[log->count++] = (carom_cone_program){.contact_count = count,
                                                     .dimension = program->dimension,
                                                     .A = A,
                                                     .b = b,
                                                     .mu = mu,
                                                     .lower = lower};
}
