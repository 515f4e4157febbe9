/* Event files that TensorBoard reads: one scalar of a name for each step.
 *
 * A file is a row of records (TFRecord):
 *   uint64  length of the data             little-endian, as all numbers here
 *   uint32  masked CRC32C of those 8 bytes
 *   bytes   data
 *   uint32  masked CRC32C of the data
 * with masked(c) = ((c >> 15) | (c << 17)) + 0xA282EAD8. The data is a protocol buffer:
 *   Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
 *   Summary { repeated Value value = 1; }     Value { string tag = 1; float simple_value = 2; }
 * The first record of a file has file_version = "brain.Event:2" and nothing else. */
#ifndef CAROM_CLI_TENSORBOARD_H
#define CAROM_CLI_TENSORBOARD_H

#include "carom.h"

typedef struct tensorboard tensorboard;

typedef struct tensorboard_scalar {
  const char *tag;
  double value; /* stored in single precision; one that is not finite is left out */
} tensorboard_scalar;

/* Begins a new file folder/events.out.tfevents.TIME.HOST.PROCESS; a resumed run has several, which
 * TensorBoard shows as one. */
carom_status tensorboard_open(const char *folder, tensorboard **board, carom_error *error);

/* Adds the scalars of one step; they are with the operating system when it returns. */
carom_status tensorboard_add(tensorboard *board, int64_t step, int count,
                             const tensorboard_scalar *scalars, carom_error *error);
void tensorboard_close(tensorboard *board);

/* CRC-32C (Castagnoli), of "123456789" 0xE3069283. */
uint32_t crc32c(const void *bytes, size_t size);

#endif
