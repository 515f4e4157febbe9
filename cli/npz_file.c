#include "cli/npz_file.h"

#include "cli/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* The whole of a file, and what goes wrong with it. */
typedef struct archive {
  const char *path;
  unsigned char *bytes;
  size_t size;
  carom_error *error;
} archive;

static carom_status bad(const archive *a, const char *entry, const char *why) {
  return carom_error_set(a->error, CAROM_INVALID_DATA, "%s%s%s: %s", a->path,
                         entry != NULL ? ": " : "", entry != NULL ? entry : "", why);
}

static carom_status no_memory(const archive *a) {
  return carom_error_set(a->error, CAROM_OUT_OF_MEMORY, "%s: out of memory", a->path);
}

static uint64_t little(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* What the header of an array says. */
typedef struct header {
  char kind; /* f, i, u, b; 0: no numbers */
  int bytes;
  bool big_endian, fortran;
  int rank, shape[4];
  size_t count;
} header;

// what stands behind a key of the dictionary
static const char *value_of(const char *text, const char *key) {
  const char *at = strstr(text, key);
  if (at == NULL) return NULL;
  at += strlen(key);
  while (*at == '\'' || *at == '"' || *at == ':' || *at == ' ') at++;
  return at;
}

static bool read_shape(const char *text, header *h) {
  h->count = 1;
  if (*text++ != '(') return false;
  while (true) {
    char *end;
    while (*text == ' ' || *text == ',') text++;
    if (*text == ')') return true;
    errno = 0;
    const long length = strtol(text, &end, 10);
    if (end == text || length < 0 || length > INT_MAX || errno != 0) return false;
    if (length > 0 && h->count > SIZE_MAX / 16 / (size_t)length) return false;
    if (h->rank < 4) h->shape[h->rank] = (int)length;
    h->rank++;
    h->count *= (size_t)length;
    text = end;
  }
}

// 'descr': '<f8', after the quote
static void read_type(const char *text, header *h) {
  h->big_endian = text[0] == '>';
  h->kind = text[1];
  h->bytes = atoi(text + 2);
  const bool number = (h->kind == 'f' && (h->bytes == 4 || h->bytes == 8)) ||
                      ((h->kind == 'i' || h->kind == 'u') &&
                       (h->bytes == 1 || h->bytes == 2 || h->bytes == 4 || h->bytes == 8)) ||
                      (h->kind == 'b' && h->bytes == 1);
  if (!number) h->kind = 0;
}

static double number_at(const header *h, const unsigned char *at) {
  unsigned char bytes[8] = {0};
  for (int i = 0; i < h->bytes; i++) bytes[i] = at[h->big_endian ? h->bytes - 1 - i : i];
  const uint64_t bits = little(bytes, h->bytes);
  if (h->kind == 'f' && h->bytes == 4) {
    const uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return (double)value;
  }
  if (h->kind == 'f') {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  const int shift = 64 - 8 * h->bytes;
  return h->kind == 'i' ? (double)((int64_t)(bits << shift) >> shift) : (double)bits;
}

// place in C order of the number that stands at `index` in the file
static size_t place_of(const header *h, size_t index) {
  if (!h->fortran || h->rank < 2) return index;
  size_t at[4], place = 0;
  for (int i = 0; i < h->rank; i++) {
    at[i] = index % (size_t)h->shape[i];
    index /= (size_t)h->shape[i];
  }
  for (int i = 0; i < h->rank; i++) place = place * (size_t)h->shape[i] + at[i];
  return place;
}

/* One .npy as an array; *taken tells whether it holds numbers. */
static carom_status read_npy(const archive *a, const char *entry, const unsigned char *bytes,
                             size_t size, carom_array *array, bool *taken) {
  *taken = false;
  if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
    return bad(a, entry, "is no array of NumPy: it does not begin as one");
  const int wide = bytes[6] == 1 ? 2 : 4;
  if (bytes[6] < 1 || bytes[6] > 3) return bad(a, entry, "has an unknown version of the format");
  const size_t start = 8 + (size_t)wide;
  if (size < start || little(bytes + 8, wide) > size - start)
    return bad(a, entry, "is cut short in its header");
  const size_t length = (size_t)little(bytes + 8, wide);
  char *text = allocate(length + 1, 1);
  if (text == NULL) return no_memory(a);
  memcpy(text, bytes + start, length);
  header h = {0};
  const char *type = value_of(text, "descr"), *order = value_of(text, "fortran_order"),
             *shape = value_of(text, "shape");
  bool readable = type != NULL && order != NULL && shape != NULL && read_shape(shape, &h);
  if (readable) {
    read_type(type, &h);
    h.fortran = strncmp(order, "True", 4) == 0;
  }
  free(text);
  if (!readable) return bad(a, entry, "has a header that cannot be read");
  if (h.kind == 0 || h.rank > 4) return CAROM_OK;
  if ((size - start - length) / (size_t)h.bytes < h.count)
    return bad(a, entry, "is cut short: it has fewer numbers than its shape says");
  array->values = allocate(h.count, sizeof(double));
  if (array->values == NULL) return no_memory(a);
  for (size_t i = 0; i < h.count; i++)
    array->values[place_of(&h, i)] = number_at(&h, bytes + start + length + i * (size_t)h.bytes);
  array->rank = h.rank;
  memcpy(array->shape, h.shape, sizeof h.shape);
  *taken = true;
  return CAROM_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

static carom_status add_array(const archive *a, const char *entry, const unsigned char *bytes,
                              size_t size, carom_arrays *arrays) {
  carom_array array = {0}, *grown;
  bool taken;
  carom_status status = read_npy(a, entry, bytes, size, &array, &taken);
  if (status != CAROM_OK || !taken) return status;
  const size_t tail = strlen(entry);
  const size_t named = tail > 4 && strcmp(entry + tail - 4, ".npy") == 0 ? tail - 4 : tail;
  snprintf(array.name, sizeof array.name, "%.*s", (int)named, entry);
  if (strcmp(array.name, "dt") == 0 && array.rank == 0) arrays->dt = array.values[0];
  grown = realloc(arrays->items, sizeof *grown * ((size_t)arrays->count + 1));
  if (grown == NULL) {
    free(array.values);
    return no_memory(a);
  }
  arrays->items = grown;
  arrays->items[arrays->count++] = array;
  return CAROM_OK;
}

static bool inflate_all(const unsigned char *from, size_t packed, unsigned char *to, size_t size) {
  z_stream z = {.next_in = (Bytef *)(uintptr_t)from,
                .avail_in = (uInt)packed,
                .next_out = to,
                .avail_out = (uInt)size};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
  const int end = inflate(&z, Z_FINISH);
  inflateEnd(&z);
  return end == Z_STREAM_END && z.total_out == size;
}

/* The bytes of an entry, unpacked, and added. */
static carom_status read_entry(const archive *a, const unsigned char *record, const char *name,
                               carom_arrays *arrays) {
  const unsigned flags = (unsigned)little(record + 8, 2), method = (unsigned)little(record + 10, 2);
  const uint32_t sum = (uint32_t)little(record + 16, 4);
  const size_t packed = (size_t)little(record + 20, 4), size = (size_t)little(record + 24, 4);
  const size_t local = (size_t)little(record + 42, 4);
  if (flags & 1) return bad(a, name, "is encrypted");
  if (packed == UINT32_MAX || size == UINT32_MAX || local == UINT32_MAX)
    return bad(a, name, "is larger than 4 GB, which is not read; save it in parts");
  if (local + 30 > a->size || memcmp(a->bytes + local, "PK\x03\x04", 4) != 0)
    return bad(a, name, "is not where the archive says: the file is damaged");
  const size_t start = local + 30 + (size_t)little(a->bytes + local + 26, 2) +
                       (size_t)little(a->bytes + local + 28, 2);
  if (start > a->size || packed > a->size - start) return bad(a, name, "is cut short");
  if (method != 0 && method != 8)
    return bad(a, name, "is packed in a way that is not known; save it with numpy.savez");
  if (method == 0 && packed != size) return bad(a, name, "has two sizes: the file is damaged");
  unsigned char *bytes = allocate(size + 1, 1);
  if (bytes == NULL) return no_memory(a);
  carom_status status = CAROM_OK;
  if (method == 0)
    memcpy(bytes, a->bytes + start, size);
  else if (!inflate_all(a->bytes + start, packed, bytes, size))
    status = bad(a, name, "cannot be unpacked: the file is damaged");
  if (status == CAROM_OK && crc32(crc32(0, NULL, 0), bytes, (uInt)size) != sum)
    status = bad(a, name, "does not have the checksum it was written with: the file is damaged");
  if (status == CAROM_OK) status = add_array(a, name, bytes, size, arrays);
  free(bytes);
  return status;
}

// the record at the end of an archive; NULL: there is none
static const unsigned char *find_end(const archive *a) {
  for (size_t back = 22; back <= a->size && back <= 22 + 65535; back++) {
    const unsigned char *at = a->bytes + a->size - back;
    if (memcmp(at, "PK\x05\x06", 4) == 0) return at;
  }
  return NULL;
}

static carom_status read_archive(const archive *a, carom_arrays *arrays) {
  const unsigned char *end = find_end(a);
  if (end == NULL) return bad(a, NULL, "is no npz file, or was cut short: it has no end");
  const int count = (int)little(end + 10, 2);
  size_t at = (size_t)little(end + 16, 4);
  carom_status status = CAROM_OK;
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    if (at > a->size || a->size - at < 46 || memcmp(a->bytes + at, "PK\x01\x02", 4) != 0)
      return bad(a, NULL, "has a damaged list of its arrays");
    const unsigned char *record = a->bytes + at;
    const size_t named = (size_t)little(record + 28, 2);
    if (named > a->size - at - 46) return bad(a, NULL, "has a damaged list of its arrays");
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)named, (const char *)record + 46);
    status = read_entry(a, record, name, arrays);
    at += 46 + named + (size_t)little(record + 30, 2) + (size_t)little(record + 32, 2);
  }
  return status;
}

static carom_status load(archive *a) {
  FILE *file = fopen(a->path, "rb");
  struct stat status;
  if (file == NULL || fstat(fileno(file), &status) != 0) {
    const int code = errno;
    if (file != NULL) fclose(file);
    return carom_error_set(a->error, CAROM_FILE_ERROR, "%s: cannot be read: %s", a->path,
                           strerror(code));
  }
  a->size = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
  a->bytes = allocate(a->size + 1, 1);
  if (a->bytes != NULL) a->size = fread(a->bytes, 1, a->size, file);
  fclose(file);
  return a->bytes != NULL ? CAROM_OK : no_memory(a);
}

carom_status npz_read(const char *path, carom_arrays *arrays, carom_error *error) {
  *arrays = (carom_arrays){0};
  archive a = {.path = path, .error = error};
  carom_status status = load(&a);
  if (status == CAROM_OK) {
    const bool single = a.size >= 6 && memcmp(a.bytes, "\x93NUMPY", 6) == 0;
    status = single ? add_array(&a, "position", a.bytes, a.size, arrays) : read_archive(&a, arrays);
  }
  free(a.bytes);
  if (status != CAROM_OK) carom_arrays_free(arrays);
  return status;
}
