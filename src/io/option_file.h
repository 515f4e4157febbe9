/* Options in files, by walking their tables (base/option_table.h): members of a JSON object, or root
 * attributes of an HDF5 file. Options of speed are in no file, and those with a place of their own
 * (seeds, the name of a model) are left to the file's writer.
 *
 * An option that a file lacks is an error unless it came in a later version than the file's
 * (OPTION_LATER): then it takes the value that it had before it was an option. */
#ifndef CAROM_IO_OPTION_FILE_H
#define CAROM_IO_OPTION_FILE_H

#include "base/option_table.h"
#include "io/h5_file.h"

#include <jansson.h>

/* Whether walks over a file meet it, and the one that a file calls `name` (NULL: none). */
bool option_is_saved(const option_field *field);
const option_field *option_in_file(const option_table *table, const char *name);

/* For the caller to release; NULL if there is no memory. */
json_t *options_json(const option_table *table, const void *options);

/* Reads `object`, the member `heading` of a document; names that are no options are refused too. The
 * message has the place: "train.batch is 0, expected an integer from 1 to 2147483647". */
carom_status options_read_json(const option_table *table, const json_t *object, const char *heading,
                               void *options, carom_error *error);

/* Numbers and switches are numbers, choices and seeds text. `except`, which may be NULL, is the name of
 * one that stands in the file already. */
carom_status options_write_attributes(h5_writer *writer, const option_table *table,
                                      const void *options, const char *except, carom_error *error);

/* Reads all saved ones; the message begins with the path. */
carom_status options_read_attributes(const h5_reader *reader, const char *path,
                                     const option_table *table, void *options, carom_error *error);

#endif
