/* A thin layer over the HDF5 C library: whole arrays in, whole arrays out, every message with file,
 * dataset, expected and found shape. Each call is under the lock of h5_session.h: several threads may
 * read and write at once, each with a reader or a writer of its own.
 *
 * Writing makes the file in memory and puts it on the disk at h5_writer_finish (atomic_file.h) with a
 * checksum in front (seal.h): a full disk is an error there and leaves nothing behind. Objects carry
 * no time stamps, so that the same content gives the same bytes.
 *
 * Reading checks that checksum before HDF5 sees a byte, and reads the very bytes that were checked. A
 * file without one, of another program or of carom before it had them, is read on trial first
 * (trial.h). What a dataset claims to hold must be there: no memory is taken for more. */
#ifndef CAROM_IO_H5_FILE_H
#define CAROM_IO_H5_FILE_H

#include "carom.h"

enum { H5_MAX_RANK = 4 };

/* One axis of a dataset: its name for messages, and its size. A reader takes size < 0 as "any" and
 * puts the size found there. */
typedef struct h5_axis {
  const char *name;
  int size;
} h5_axis;

/* Elements of a dataset of this shape. */
size_t h5_element_count(int rank, const h5_axis *axes);

/* ---- writing ---- */

typedef struct h5_writer h5_writer;

carom_status h5_writer_create(const char *path, h5_writer **writer, carom_error *error);

/* A group; datasets go into it by names like "group/x". */
carom_status h5_write_group(h5_writer *writer, const char *name, carom_error *error);
carom_status h5_write_doubles(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                              const double *values, carom_error *error);
carom_status h5_write_bytes(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                            const uint8_t *values, carom_error *error);
carom_status h5_write_ints(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                           const int *values, carom_error *error);
carom_status h5_write_text_attribute(h5_writer *writer, const char *name, const char *text,
                                     carom_error *error);
carom_status h5_write_number_attribute(h5_writer *writer, const char *name, double value,
                                       carom_error *error);

/* The root attributes that every file of carom has: carom_version, scene, and dt where it is known (not 0). */
carom_status h5_write_origin(h5_writer *writer, const char *scene, double dt, carom_error *error);

/* Puts the file in its place if `status` is CAROM_OK, else throws it away. Destroys the writer in
 * either case; returns `status` or what went wrong now. */
carom_status h5_writer_finish(h5_writer *writer, carom_status status, carom_error *error);

/* ---- reading ---- */

typedef struct h5_reader h5_reader;

/* Reads from an open file what the caller wants into `user`. It may be called twice, the first time in
 * a child process: it uses no threads, and what it does shows in `user` alone. */
typedef carom_status h5_read_function(h5_reader *reader, void *user, carom_error *error);

/* Opens a file, calls `read`, closes it. A damaged file is an error, whatever HDF5 makes of it. */
carom_status h5_read_file(const char *path, h5_read_function *read, void *user, carom_error *error);

/* The same without a function, and without a trial: for files with a checksum. */
carom_status h5_reader_open(const char *path, h5_reader **reader, carom_error *error);
void h5_reader_close(h5_reader *reader);

const char *h5_reader_path(const h5_reader *reader);

bool h5_has_dataset(const h5_reader *reader, const char *name);
bool h5_has_group(const h5_reader *reader, const char *name);

/* Number of axes of a dataset, or -1 if there is none of this name. */
int h5_dataset_rank(const h5_reader *reader, const char *name);

/* Links in the root group: how many, and the name of one (false if it does not fit). */
int h5_link_count(const h5_reader *reader);
bool h5_link_name(const h5_reader *reader, int index, char *name, size_t size);

/* The same of a group by its name; "" is the root. */
int h5_group_size(const h5_reader *reader, const char *group);
bool h5_group_name(const h5_reader *reader, const char *group, int index, char *name, size_t size);

/* Whether a dataset holds numbers. */
bool h5_dataset_is_numeric(const h5_reader *reader, const char *name);

/* The names in the root group, for messages: "/a, /b and 3 more", "nothing". */
void h5_describe_content(const h5_reader *reader, char *text, size_t size);

/* Reads a dataset of numbers of any width; finite ones only. The caller frees *values. */
carom_status h5_read_doubles(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                             double **values, carom_error *error);

/* The same with NaN and infinities as they are. */
carom_status h5_read_any_doubles(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                                 double **values, carom_error *error);

/* Reads a dataset of yes and no: numbers that are 0 or 1, or the truth values of numpy. */
carom_status h5_read_flags(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                           uint8_t **values, carom_error *error);

/* What a root attribute is. An array with one element is a single value. */
typedef enum h5_attribute_kind {
  H5_ABSENT,
  H5_NUMBER,
  H5_TEXT,
  H5_LIST,
  H5_OTHER
} h5_attribute_kind;

h5_attribute_kind h5_attribute_kind_of(const h5_reader *reader, const char *name);

/* Root attributes; absent or of another type: false. The caller frees *text. */
bool h5_read_number_attribute(const h5_reader *reader, const char *name, double *value);
bool h5_read_text_attribute(const h5_reader *reader, const char *name, char **text);

/* The name of one of the root attributes, cut to `size`; false: there are no more. */
bool h5_attribute_name(const h5_reader *reader, int index, char *name, size_t size);

#endif
