#include "io/h5_file.h"

#include "base/error.h"
#include "base/size.h"
#include "io/h5_image.h"
#include "io/h5_session.h"
#include "io/seal.h"
#include "io/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Data that compress better than this are no measurements (deflate ends at 1032). */
enum { MOST_COMPRESSION = 1000 };

/* Time and memory of a trial: so much for any file, and more for larger ones. */
enum { TRIAL_SECONDS = 10, TRIAL_BYTES_PER_SECOND = 1 << 20, TRIAL_MEMORY = 1 << 29 };

struct h5_reader {
  hid_t file; /* -1: not open yet */
  char *path;
  size_t size; /* of the file */
  char *image; /* its bytes where it has a seal, else NULL */
};

/* ---- the file -------------------------------------------------------------------------------- */

// reads `size` bytes from an offset; an errno, or EIO for a file that is shorter
static int read_fully(int descriptor, char *bytes, size_t size, size_t offset) {
  while (size > 0) {
    const ssize_t got = pread(descriptor, bytes, size, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return EIO;
    bytes += got;
    offset += (size_t)got;
    size -= (size_t)got;
  }
  return 0;
}

// HDF5's signature stands at 0, or where a block in front of it ends: 512, 1024, 2048, ...
static bool has_signature(int descriptor, size_t size) {
  static const char signature[] = "\211HDF\r\n\032\n";
  char found[8];
  for (size_t at = 0; size >= sizeof found && at <= size - sizeof found;
       at = at == 0 ? SEAL_SIZE : 2 * at) {
    if (read_fully(descriptor, found, sizeof found, at) == 0 &&
        memcmp(found, signature, sizeof found) == 0)
      return true;
  }
  return false;
}

// the whole file, which has a seal, into memory
static carom_status load_sealed(h5_reader *r, int descriptor, carom_error *error) {
  r->image = malloc(r->size);
  if (r->image == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: its %zu bytes do not fit into memory",
                     r->path, r->size);
  const int code = read_fully(descriptor, r->image, r->size, 0);
  if (code != 0)
    return error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", r->path, strerror(code));
  if (seal_is_good(r->image, r->size)) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: damaged (the checksum in front does not match the %zu bytes of the file); "
                   "take a copy of it, or make it again. If another program changed it on purpose: "
                   "with zeros in place of its first %d bytes it has no checksum and is read",
                   r->path, r->size, SEAL_SIZE);
}

static carom_status load_open(h5_reader *r, int descriptor, carom_error *error) {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", r->path, strerror(errno));
  if (!S_ISREG(status.st_mode))
    return error_set(error, CAROM_FILE_ERROR, "%s: is not a regular file", r->path);
  r->size = (size_t)status.st_size;
  char begin[SEAL_SIZE];
  const size_t length = r->size < sizeof begin ? r->size : sizeof begin;
  const int code = read_fully(descriptor, begin, length, 0);
  if (code != 0)
    return error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", r->path, strerror(code));
  if (seal_is_there(begin, length)) return load_sealed(r, descriptor, error);
  if (has_signature(descriptor, r->size)) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA, "%s: is not an HDF5 file", r->path);
}

// all that can be known of a file without HDF5
static carom_status load(const char *path, h5_reader **reader, carom_error *error) {
  *reader = NULL;
  if (path == NULL || path[0] == '\0')
    return error_set(error, CAROM_INVALID_ARGUMENT, "the name of the input file is empty");
  // a pipe that nobody writes to must not hold us up
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", path, strerror(errno));
  h5_reader *made = calloc(1, sizeof *made);
  char *copy = strdup(path);
  carom_status status = CAROM_OUT_OF_MEMORY;
  if (made != NULL && copy != NULL) {
    *made = (h5_reader){.file = -1, .path = copy};
    status = load_open(made, descriptor, error);
    *reader = made;
  } else {
    error_set(error, status, "%s: out of memory", path);
    free(made);
    free(copy);
  }
  close(descriptor);
  if (status == CAROM_OK) return CAROM_OK;
  h5_reader_close(*reader);
  *reader = NULL;
  return status;
}

// opens what was loaded with HDF5
static carom_status attach(h5_reader *r, carom_error *error) {
  const h5_session session = h5_session_begin();
  r->file = r->image != NULL ? h5_image_open(r->image, r->size)
                             : H5Fopen(r->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  h5_session_end(session);
  if (r->file >= 0) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: HDF5 cannot open it; it is damaged, cut short, or being written", r->path);
}

carom_status h5_reader_open(const char *path, h5_reader **reader, carom_error *error) {
  carom_status status = load(path, reader, error);
  if (status == CAROM_OK) status = attach(*reader, error);
  if (status == CAROM_OK) return CAROM_OK;
  h5_reader_close(*reader);
  *reader = NULL;
  return status;
}

void h5_reader_close(h5_reader *reader) {
  if (reader == NULL) return;
  const h5_session session = h5_session_begin();
  if (reader->file >= 0) H5Fclose(reader->file);
  h5_session_end(session);
  free(reader->image);
  free(reader->path);
  free(reader);
}

const char *h5_reader_path(const h5_reader *reader) { return reader->path; }

/* ---- reading on trial ------------------------------------------------------------------------ */

/* A reading that can be done in a child process as well. */
typedef struct reading {
  h5_reader *reader;
  h5_read_function *read;
  void *user;
} reading;

static carom_status do_reading(void *user, carom_error *error) {
  const reading *r = user;
  carom_status status = attach(r->reader, error);
  return status == CAROM_OK ? r->read(r->reader, r->user, error) : status;
}

static carom_status cannot_try(const h5_reader *r, const char *what, carom_error *error) {
  return error_set(
      error, CAROM_INVALID_DATA,
      "%s: HDF5 cannot read this file, it %s (read in a process apart): damaged? Write "
      "it again, or copy it with `h5repack`",
      r->path, what);
}

static carom_status try_reading(reading *r, carom_error *error) {
  const size_t size = r->reader->size;
  size_t memory, seconds = TRIAL_SECONDS + size / TRIAL_BYTES_PER_SECOND;
  if (__builtin_mul_overflow(size, (size_t)MOST_COMPRESSION, &memory) ||
      __builtin_add_overflow(memory, (size_t)TRIAL_MEMORY, &memory))
    memory = SIZE_MAX;
  if (seconds > INT_MAX / 8) seconds = INT_MAX / 8;
  carom_error found = {0};
  switch (trial_run(do_reading, r, (trial_limits){(int)seconds, memory}, &found)) {
    case TRIAL_ENDED: break;
    case TRIAL_CRASHED: return cannot_try(r->reader, "crashes", error);
    case TRIAL_TOO_LONG: return cannot_try(r->reader, "does not come to an end", error);
    case TRIAL_INTERRUPT: return error_set(error, CAROM_INTERRUPTED, "interrupted");
    case TRIAL_IMPOSSIBLE:
      return error_set(error, CAROM_OUT_OF_MEMORY,
                       "%s: no process could be started to try the file, which has no checksum: %s",
                       r->reader->path, strerror(errno));
  }
  if (found.status != CAROM_OK && error != NULL) *error = found;
  return found.status;
}

carom_status h5_read_file(const char *path, h5_read_function *read, void *user,
                          carom_error *error) {
  h5_reader *reader;
  carom_status status = load(path, &reader, error);
  if (status != CAROM_OK) return status;
  reading r = {.reader = reader, .read = read, .user = user};
  if (reader->image == NULL) status = try_reading(&r, error);
  if (status == CAROM_OK) status = do_reading(&r, error);
  h5_reader_close(reader);
  return status;
}

/* ---- what there is --------------------------------------------------------------------------- */

// a dataset by its name, or -1; a group of that name is no dataset
static hid_t open_dataset(const h5_reader *reader, const char *name) {
  if (H5Lexists(reader->file, name, H5P_DEFAULT) <= 0) return -1;
  return H5Dopen2(reader->file, name, H5P_DEFAULT);
}

int h5_dataset_rank(const h5_reader *reader, const char *name) {
  const h5_session session = h5_session_begin();
  int rank = -1;
  hid_t dataset = open_dataset(reader, name);
  if (dataset >= 0) {
    hid_t space = H5Dget_space(dataset);
    rank = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    H5Dclose(dataset);
  }
  h5_session_end(session);
  return rank;
}

bool h5_has_dataset(const h5_reader *reader, const char *name) {
  return h5_dataset_rank(reader, name) >= 0;
}

bool h5_has_group(const h5_reader *reader, const char *name) {
  const h5_session session = h5_session_begin();
  bool linked = H5Lexists(reader->file, name, H5P_DEFAULT) > 0;
  hid_t group = linked ? H5Gopen2(reader->file, name, H5P_DEFAULT) : -1;
  if (group >= 0) H5Gclose(group);
  h5_session_end(session);
  return group >= 0;
}

bool h5_dataset_is_numeric(const h5_reader *reader, const char *name) {
  const h5_session session = h5_session_begin();
  hid_t dataset = open_dataset(reader, name);
  H5T_class_t kind = H5T_NO_CLASS;
  if (dataset >= 0) {
    hid_t type = H5Dget_type(dataset);
    kind = H5Tget_class(type);
    H5Tclose(type);
    H5Dclose(dataset);
  }
  h5_session_end(session);
  return kind == H5T_FLOAT || kind == H5T_INTEGER;
}

// HDF5's name of a group, the root included
static const char *group_path(const char *group) { return group[0] != '\0' ? group : "."; }

int h5_group_size(const h5_reader *reader, const char *group) {
  const h5_session session = h5_session_begin();
  H5G_info_t info;
  const bool known = H5Gget_info_by_name(reader->file, group_path(group), &info, H5P_DEFAULT) >= 0;
  h5_session_end(session);
  return known && info.nlinks <= INT_MAX ? (int)info.nlinks : 0;
}

bool h5_group_name(const h5_reader *reader, const char *group, int index, char *name, size_t size) {
  const h5_session session = h5_session_begin();
  ssize_t length = H5Lget_name_by_idx(reader->file, group_path(group), H5_INDEX_NAME, H5_ITER_INC,
                                      (hsize_t)index, name, size, H5P_DEFAULT);
  h5_session_end(session);
  return length >= 0 && (size_t)length < size;
}

int h5_link_count(const h5_reader *reader) { return h5_group_size(reader, ""); }

bool h5_link_name(const h5_reader *reader, int index, char *name, size_t size) {
  return h5_group_name(reader, "", index, name, size);
}

void h5_describe_content(const h5_reader *reader, char *text, size_t size) {
  enum { SHOWN = 8 };
  const int count = h5_link_count(reader);
  size_t used = (size_t)snprintf(text, size, "%s", count == 0 ? "nothing" : "");
  for (int k = 0; k < count && k < SHOWN && used < size; k++) {
    char name[64];
    if (!h5_link_name(reader, k, name, sizeof name)) snprintf(name, sizeof name, "...");
    used += (size_t)snprintf(text + used, size - used, "%s/%s", k > 0 ? ", " : "", name);
  }
  if (count > SHOWN && used < size)
    snprintf(text + used, size - used, " and %d more", count - SHOWN);
}

/* ---- datasets -------------------------------------------------------------------------------- */

// "[samples][points = 5][dimension = 2]"
static void describe_expected(int rank, const h5_axis *axes, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int k = 0; k < rank && used < size; k++) {
    int length = axes[k].size < 0
                     ? snprintf(text + used, size - used, "[%s]", axes[k].name)
                     : snprintf(text + used, size - used, "[%s = %d]", axes[k].name, axes[k].size);
    used += (size_t)length;
  }
  if (rank == 0) snprintf(text, size, "a single number");
}

// "[3][5][2]"
static void describe_found(int rank, const hsize_t *shape, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int k = 0; k < rank && used < size; k++) {
    used += (size_t)snprintf(text + used, size - used, "[%llu]", (unsigned long long)shape[k]);
  }
  if (rank == 0) snprintf(text, size, "of a single number");
}

static carom_status wrong_shape(const h5_reader *reader, const char *name, int rank,
                                const h5_axis *axes, int found_rank, const hsize_t *found,
                                carom_error *error) {
  char expected[256], got[256];
  describe_expected(rank, axes, expected, sizeof expected);
  describe_found(found_rank, found, got, sizeof got);
  return error_set(error, CAROM_INVALID_DATA, "%s: dataset /%s has the shape %s, expected %s",
                   reader->path, name, got, expected);
}

// compares the dataset's shape with `axes` and fills in the sizes that were left open
static carom_status check_shape(const h5_reader *reader, const char *name, hid_t dataset, int rank,
                                h5_axis *axes, carom_error *error) {
  hsize_t found[H5S_MAX_RANK];
  hid_t space = H5Dget_space(dataset);
  int found_rank = H5Sget_simple_extent_dims(space, found, NULL);
  bool null_space = H5Sget_simple_extent_type(space) == H5S_NULL;
  H5Sclose(space);
  if (found_rank < 0 || null_space) {
    return error_set(error, CAROM_INVALID_DATA, "%s: dataset /%s has no data", reader->path, name);
  }
  bool fits = found_rank == rank;
  for (int k = 0; fits && k < rank; k++) {
    fits = found[k] <= INT_MAX && (axes[k].size < 0 || found[k] == (hsize_t)axes[k].size);
  }
  if (!fits) return wrong_shape(reader, name, rank, axes, found_rank, found, error);
  for (int k = 0; k < rank; k++) axes[k].size = (int)found[k];
  return CAROM_OK;
}

// numbers, and truth values where they are wanted: of numpy these are an enumeration
static carom_status check_type(const h5_reader *reader, const char *name, hid_t dataset, bool flags,
                               carom_error *error) {
  hid_t type = H5Dget_type(dataset);
  H5T_class_t kind = H5Tget_class(type);
  H5Tclose(type);
  if (kind == H5T_FLOAT || kind == H5T_INTEGER || (flags && kind == H5T_ENUM)) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: dataset /%s does not hold numbers (expected %s, found %s)", reader->path,
                   name, flags ? "uint8" : "float64", kind == H5T_STRING ? "text" : "another type");
}

static const char *filter_name(H5Z_filter_t id) {
  switch (id) {
    case H5Z_FILTER_SZIP: return "SZIP";
    case 305: return "LZO";
    case 307: return "BZIP2";
    case 32000: return "LZF";
    case 32001: return "Blosc";
    case 32004: return "LZ4";
    case 32008: return "bitshuffle";
    case 32013: return "ZFP";
    case 32015: return "Zstandard";
    case 32026: return "Blosc2";
    default: return "unknown";
  }
}

// why a dataset could not be read: a filter that the data went through is missing, or damage
static carom_status read_failed(const h5_reader *reader, const char *name, hid_t dataset,
                                carom_error *error) {
  hid_t creation = H5Dget_create_plist(dataset);
  const int count = H5Pget_nfilters(creation);
  H5Z_filter_t missing = 0;
  for (int k = 0; k < count; k++) {
    unsigned flags, configuration;
    size_t values = 0;
    H5Z_filter_t id =
        H5Pget_filter2(creation, (unsigned)k, &flags, &values, NULL, 0, NULL, &configuration);
    if (id > 0 && H5Zfilter_avail(id) <= 0) missing = id;
  }
  H5Pclose(creation);
  if (missing == 0)
    return error_set(error, CAROM_INVALID_DATA, "%s: dataset /%s cannot be read; it is damaged",
                     reader->path, name);
  return error_set(
      error, CAROM_INVALID_DATA,
      "%s: dataset /%s is compressed with the filter %s (id %d), which the HDF5 library "
      "here does not have; write it with gzip (h5py: compression='gzip') or without "
      "compression, or convert the file where the filter is known: "
      "h5repack -f GZIP=4 OLD NEW",
      reader->path, name, filter_name(missing), (int)missing);
}

static carom_status check_layout(const h5_reader *reader, const char *name, hid_t dataset,
                                 carom_error *error) {
  hid_t creation = H5Dget_create_plist(dataset);
  const bool elsewhere =
      H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) > 0;
  H5Pclose(creation);
  if (!elsewhere) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: the data of dataset /%s stand in other files; copy them into one "
                   "(h5py: new['%s'] = old['%s'][...])",
                   reader->path, name, name, name);
}

// what the dataset claims to hold must be in the file: `count` elements
static carom_status check_storage(const h5_reader *reader, const char *name, hid_t dataset,
                                  size_t count, carom_error *error) {
  if (count == 0) return CAROM_OK;
  hid_t type = H5Dget_type(dataset);
  const double claimed = (double)count * (double)H5Tget_size(type);
  H5Tclose(type);
  const double stored = (double)H5Dget_storage_size(dataset);
  if (stored == 0.0) {
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: dataset /%s was created but nothing was written to it", reader->path,
                     name);
  }
  if (stored <= (double)reader->size && claimed <= MOST_COMPRESSION * stored) return CAROM_OK;
  return error_set(
      error, CAROM_INVALID_DATA,
      "%s: dataset /%s claims %.4g bytes, but %.4g are stored in a file of %zu (at most "
      "%d to 1 is taken for compression); it is damaged or was not written completely",
      reader->path, name, claimed, stored, reader->size, MOST_COMPRESSION);
}

static carom_status check_dataset(const h5_reader *reader, const char *name, hid_t dataset,
                                  int rank, h5_axis *axes, bool flags, carom_error *error) {
  carom_status status = check_type(reader, name, dataset, flags, error);
  if (status == CAROM_OK) status = check_shape(reader, name, dataset, rank, axes, error);
  if (status == CAROM_OK) status = check_layout(reader, name, dataset, error);
  if (status != CAROM_OK) return status;
  size_t count = 1;
  for (int k = 0; k < rank; k++) {
    // beyond SIZE_MAX it is too much for any file
    if (__builtin_mul_overflow(count, (size_t)axes[k].size, &count)) count = SIZE_MAX;
  }
  return check_storage(reader, name, dataset, count, error);
}

// reads an open dataset into new memory
static carom_status read_open(const h5_reader *reader, const char *name, hid_t dataset, int rank,
                              h5_axis *axes, bool flags, double **values, carom_error *error) {
  carom_status status = check_dataset(reader, name, dataset, rank, axes, flags, error);
  if (status != CAROM_OK) return status;
  const size_t count = h5_element_count(rank, axes);
  *values = size_allocate(count, sizeof(double));
  if (*values == NULL) {
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: dataset /%s does not fit into memory",
                     reader->path, name);
  }
  if (count == 0 ||
      H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) >= 0) {
    return CAROM_OK;
  }
  free(*values);
  *values = NULL;
  return read_failed(reader, name, dataset, error);
}

static carom_status read_array(const h5_reader *reader, const char *name, int rank, h5_axis *axes,
                               bool flags, double **values, carom_error *error) {
  *values = NULL;
  const h5_session session = h5_session_begin();
  hid_t dataset = open_dataset(reader, name);
  carom_status status = CAROM_OK;
  if (dataset >= 0) {
    status = read_open(reader, name, dataset, rank, axes, flags, values, error);
    H5Dclose(dataset);
  }
  h5_session_end(session);
  if (dataset >= 0) return status;
  char expected[256], content[512];
  describe_expected(rank, axes, expected, sizeof expected);
  h5_describe_content(reader, content, sizeof content);
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: dataset /%s is missing, expected %s; there is %s", reader->path, name,
                   expected, content);
}

// the flat place as an index, "[3][5][2]"
static void describe_place(int rank, const h5_axis *axes, size_t at, char *text, size_t size) {
  hsize_t index[H5_MAX_RANK] = {0};
  for (int k = rank - 1; k >= 0; k--) {
    index[k] = at % (size_t)axes[k].size;
    at /= (size_t)axes[k].size;
  }
  text[0] = '\0';
  if (rank > 0) describe_found(rank, index, text, size);
}

static carom_status check_finite(const h5_reader *reader, const char *name, int rank,
                                 const h5_axis *axes, const double *values, carom_error *error) {
  size_t count = h5_element_count(rank, axes), at = 0;
  while (at < count && isfinite(values[at])) at++;
  if (at == count) return CAROM_OK;
  char place[256];
  describe_place(rank, axes, at, place, sizeof place);
  return error_set(error, CAROM_INVALID_DATA, "%s: /%s%s is %s, expected a finite number",
                   reader->path, name, place, isnan(values[at]) ? "NaN" : "infinite");
}

carom_status h5_read_any_doubles(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                                 double **values, carom_error *error) {
  return read_array(reader, name, rank, axes, false, values, error);
}

carom_status h5_read_doubles(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                             double **values, carom_error *error) {
  carom_status status = h5_read_any_doubles(reader, name, rank, axes, values, error);
  if (status == CAROM_OK) status = check_finite(reader, name, rank, axes, *values, error);
  if (status == CAROM_OK) return CAROM_OK;
  free(*values);
  *values = NULL;
  return status;
}

// numbers become bytes, in place; what is neither 0 nor 1 is refused
static carom_status make_flags(const h5_reader *reader, const char *name, int rank,
                               const h5_axis *axes, double *numbers, uint8_t *flags,
                               carom_error *error) {
  const size_t count = h5_element_count(rank, axes);
  for (size_t k = 0; k < count; k++) {
    if (numbers[k] == 0.0 || numbers[k] == 1.0) {
      flags[k] = numbers[k] == 1.0;
      continue;
    }
    char place[256];
    describe_place(rank, axes, k, place, sizeof place);
    return error_set(error, CAROM_INVALID_DATA, "%s: /%s%s is %g, expected 0 (no) or 1 (yes)",
                     reader->path, name, place, numbers[k]);
  }
  return CAROM_OK;
}

carom_status h5_read_flags(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                           uint8_t **values, carom_error *error) {
  *values = NULL;
  double *numbers;
  carom_status status = read_array(reader, name, rank, axes, true, &numbers, error);
  if (status != CAROM_OK) return status;
  uint8_t *flags = size_allocate(h5_element_count(rank, axes), 1);
  status = flags != NULL ? make_flags(reader, name, rank, axes, numbers, flags, error)
                         : error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", reader->path);
  free(numbers);
  if (status == CAROM_OK) {
    *values = flags;
  } else {
    free(flags);
  }
  return status;
}

/* ---- attributes ------------------------------------------------------------------------------ */

// a root attribute and what it is; -1 where there is none
static hid_t open_attribute(const h5_reader *reader, const char *name, h5_attribute_kind *kind) {
  *kind = H5_ABSENT;
  if (H5Aexists(reader->file, name) <= 0) return -1;
  *kind = H5_OTHER;
  hid_t attribute = H5Aopen(reader->file, name, H5P_DEFAULT);
  if (attribute < 0) return -1;
  hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
  const H5T_class_t class = H5Tget_class(type);
  if (H5Sget_simple_extent_npoints(space) != 1) {
    *kind = H5_LIST;
  } else if (class == H5T_FLOAT || class == H5T_INTEGER) {
    *kind = H5_NUMBER;
  } else if (class == H5T_STRING) {
    *kind = H5_TEXT;
  }
  H5Tclose(type);
  H5Sclose(space);
  return attribute;
}

h5_attribute_kind h5_attribute_kind_of(const h5_reader *reader, const char *name) {
  const h5_session session = h5_session_begin();
  h5_attribute_kind kind;
  hid_t attribute = open_attribute(reader, name, &kind);
  if (attribute >= 0) H5Aclose(attribute);
  h5_session_end(session);
  return kind;
}

bool h5_read_number_attribute(const h5_reader *reader, const char *name, double *value) {
  const h5_session session = h5_session_begin();
  h5_attribute_kind kind;
  hid_t attribute = open_attribute(reader, name, &kind);
  bool have = kind == H5_NUMBER && H5Aread(attribute, H5T_NATIVE_DOUBLE, value) >= 0;
  if (attribute >= 0) H5Aclose(attribute);
  h5_session_end(session);
  return have;
}

// text is stored with a length of its own or with a fixed one
static char *read_text(hid_t attribute) {
  hid_t stored = H5Aget_type(attribute);
  char *text = NULL;
  if (H5Tis_variable_str(stored) > 0) {
    char *found = NULL;
    if (H5Aread(attribute, stored, &found) >= 0 && found != NULL) text = strdup(found);
    if (found != NULL) H5free_memory(found);
  } else {
    text = calloc(H5Tget_size(stored) + 1, 1);
    if (text != NULL && H5Aread(attribute, stored, text) < 0) {
      free(text);
      text = NULL;
    }
  }
  H5Tclose(stored);
  return text;
}

bool h5_read_text_attribute(const h5_reader *reader, const char *name, char **text) {
  const h5_session session = h5_session_begin();
  h5_attribute_kind kind;
  hid_t attribute = open_attribute(reader, name, &kind);
  *text = kind == H5_TEXT ? read_text(attribute) : NULL;
  if (attribute >= 0) H5Aclose(attribute);
  h5_session_end(session);
  return *text != NULL;
}

bool h5_attribute_name(const h5_reader *reader, int index, char *name, size_t size) {
  const h5_session session = h5_session_begin();
  ssize_t length = H5Aget_name_by_idx(reader->file, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)index,
                                      name, size, H5P_DEFAULT);
  h5_session_end(session);
  return length >= 0;
}
