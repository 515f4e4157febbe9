#include "cli/tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes that grow. Once memory has run out it stays empty and says so. */
typedef struct buffer {
  unsigned char *bytes;
  size_t size, capacity;
  bool failed;
} buffer;

struct tensorboard {
  int descriptor;
  char path[PATH_MAX];
  buffer value, summary, event, record; /* inner to outer; kept between steps */
};

/* ---- checksums ------------------------------------------------------------------------------- */

uint32_t crc32c(const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  uint32_t crc = 0xFFFFFFFFu;
  for (size_t k = 0; k < size; k++) {
    crc ^= at[k];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1u)));
  }
  return ~crc;
}

static uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }

/* ---- protocol buffers ------------------------------------------------------------------------ */

enum wire { WIRE_VARINT = 0, WIRE_DOUBLE = 1, WIRE_BYTES = 2, WIRE_FLOAT = 5 };

static void put(buffer *b, const void *bytes, size_t size) {
  if (b->failed || size == 0) return;
  if (b->size + size > b->capacity) {
    const size_t capacity = 2 * (b->size + size) + 64;
    unsigned char *grown = realloc(b->bytes, capacity);
    if (grown == NULL) {
      b->failed = true;
      return;
    }
    b->bytes = grown;
    b->capacity = capacity;
  }
  memcpy(b->bytes + b->size, bytes, size);
  b->size += size;
}

// an integer of `size` bytes, the lowest first
static void put_little(buffer *b, uint64_t value, size_t size) {
  unsigned char bytes[8];
  for (size_t k = 0; k < size; k++) bytes[k] = (unsigned char)(value >> (8 * k));
  put(b, bytes, size);
}

static void put_varint(buffer *b, uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_little(b, (value & 0x7F) | 0x80, 1);
  put_little(b, value, 1);
}

static void put_key(buffer *b, int field, enum wire wire) {
  put_varint(b, (uint64_t)field << 3 | (uint64_t)wire);
}

static void put_bytes(buffer *b, int field, const void *bytes, size_t size) {
  put_key(b, field, WIRE_BYTES);
  put_varint(b, size);
  put(b, bytes, size);
}

static void put_double(buffer *b, int field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_key(b, field, WIRE_DOUBLE);
  put_little(b, bits, sizeof bits);
}

static void put_float(buffer *b, int field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_key(b, field, WIRE_FLOAT);
  put_little(b, bits, sizeof bits);
}

/* ---- events ---------------------------------------------------------------------------------- */

static double wall_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void begin_event(tensorboard *t) {
  t->event.size = 0;
  put_double(&t->event, 1, wall_time());
}

static carom_status write_all(const tensorboard *t, carom_error *error) {
  const unsigned char *at = t->record.bytes;
  for (size_t left = t->record.size; left > 0;) {
    const ssize_t written = write(t->descriptor, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", t->path,
                             strerror(errno));
    }
    at += written;
    left -= (size_t)written;
  }
  return CAROM_OK;
}

// frames the event and hands it to the operating system
static carom_status write_event(tensorboard *t, carom_error *error) {
  buffer *r = &t->record;
  const buffer *e = &t->event;
  r->size = 0;
  put_little(r, e->size, 8);
  put_little(r, r->failed ? 0 : masked(crc32c(r->bytes, 8)), 4);
  put(r, e->bytes, e->size);
  put_little(r, masked(crc32c(e->bytes, e->size)), 4);
  if (t->value.failed || t->summary.failed || e->failed || r->failed)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", t->path);
  return write_all(t, error);
}

// a new file: its name has the second, and the process has one name in a second
static int open_new(const char *folder, char *path, size_t size) {
  char host[64] = "localhost";
  gethostname(host, sizeof host - 1);
  for (int k = 0; k < 100; k++) {
    const int length = snprintf(path, size, "%s/events.out.tfevents.%010lld.%s.%ld.%d", folder,
                                (long long)time(NULL), host, (long)getpid(), k);
    if (length < 0 || (size_t)length >= size) {
      errno = ENAMETOOLONG;
      return -1;
    }
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

carom_status tensorboard_open(const char *folder, tensorboard **board, carom_error *error) {
  *board = NULL;
  tensorboard *t = calloc(1, sizeof *t);
  if (t == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", folder);
  t->descriptor = open_new(folder, t->path, sizeof t->path);
  carom_status status = CAROM_OK;
  if (t->descriptor < 0) {
    status = carom_error_set(error, CAROM_FILE_ERROR, "%s: no event file can be made there: %s",
                             folder, strerror(errno));
  } else {
    static const char version[] = "brain.Event:2";
    begin_event(t);
    put_bytes(&t->event, 3, version, sizeof version - 1);
    status = write_event(t, error);
  }
  if (status == CAROM_OK) {
    *board = t;
  } else {
    tensorboard_close(t);
  }
  return status;
}

carom_status tensorboard_add(tensorboard *t, int64_t step, int count,
                             const tensorboard_scalar *scalars, carom_error *error) {
  t->summary.size = 0;
  for (int k = 0; k < count; k++) {
    if (!isfinite(scalars[k].value)) continue;
    t->value.size = 0;
    put_bytes(&t->value, 1, scalars[k].tag, strlen(scalars[k].tag));
    put_float(&t->value, 2, (float)scalars[k].value);
    put_bytes(&t->summary, 1, t->value.bytes, t->value.size);
  }
  begin_event(t);
  put_key(&t->event, 2, WIRE_VARINT);
  put_varint(&t->event, (uint64_t)step);
  put_bytes(&t->event, 5, t->summary.bytes, t->summary.size);
  return write_event(t, error);
}

void tensorboard_close(tensorboard *t) {
  if (t == NULL) return;
  if (t->descriptor >= 0) close(t->descriptor);
  free(t->value.bytes);
  free(t->summary.bytes);
  free(t->event.bytes);
  free(t->record.bytes);
  free(t);
}
