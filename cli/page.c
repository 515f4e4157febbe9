#include "cli/page.h"

#include "cli/embedded.h"
#include "cli/markdown_html.h"
#include "cli/memory.h"
#include "cli/output.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* ---- documents ------------------------------------------------------------------------------- */

// how many bytes of UTF-8 begin here: 0 if none do
static size_t sequence_length(const char *at) {
  for (size_t n = 1; n <= 4 && at[n - 1] != '\0'; n++) {
    json_t *piece = json_stringn(at, n);
    json_decref(piece);
    if (piece != NULL) return n;
  }
  return 0;
}

json_t *page_text(const char *text) {
  static const char unknown[] = "\xef\xbf\xbd";
  char *clean = malloc(3 * strlen(text) + 1), *to = clean;
  if (clean == NULL) return NULL;
  for (const char *at = text; *at != '\0';) {
    const size_t n = sequence_length(at);
    to = mempcpy(to, n > 0 ? at : unknown, n > 0 ? n : 3);
    at += n > 0 ? n : 1;
  }
  json_t *result = json_stringn(clean, (size_t)(to - clean));
  free(clean);
  return result;
}

page_document *page_add(page *p, const char *kind, const char *title) {
  page_document *documents = realloc(p->documents, sizeof *documents * (size_t)(p->count + 1));
  if (documents == NULL) return NULL;
  p->documents = documents;
  page_document *d = &documents[p->count];
  *d = (page_document){.root = json_pack("{ss so ss s[] s[] s[] s[]}", "kind", kind, "title",
                                         page_text(title), "carom_version", carom_version(),
                                         "facts", "tables", "charts", "tracks")};
  if (d->root == NULL) return NULL;
  p->count++;
  return d;
}

void page_free(page *p) {
  for (int k = 0; k < p->count; k++) {
    json_decref(p->documents[k].root);
    free(p->documents[k].bytes);
  }
  free(p->documents);
  *p = (page){0};
}

// room for so many bytes more; NULL if memory is short
static unsigned char *reserve(page_document *d, size_t size) {
  if (d->size + size > d->capacity) {
    const size_t capacity = 2 * d->capacity > d->size + size ? 2 * d->capacity : d->size + size;
    unsigned char *bytes = realloc(d->bytes, capacity + 8);
    if (bytes == NULL) {
      d->failed = true;
      return NULL;
    }
    d->bytes = bytes;
    d->capacity = capacity;
  }
  unsigned char *at = d->bytes + d->size;
  d->size += size;
  return at;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

// byte plane by byte plane, the lowest first, whatever the order of this machine
static void put_planes(unsigned char *at, size_t count, size_t index, int width, uint64_t bits) {
  for (int k = 0; k < width; k++) at[(size_t)k * count + index] = (unsigned char)(bits >> (8 * k));
}

json_t *page_numbers(page_document *d, const double *values, int rows, int columns, bool precise) {
  const size_t count = (size_t)rows * (size_t)columns;
  const int width = precise ? 8 : 4;
  const size_t begin = d->size;
  unsigned char *at = reserve(d, count * (size_t)width);
  for (size_t i = 0; at != NULL && i < count; i++) {
    uint64_t bits;
    const float narrow = (float)values[i];
    uint32_t narrow_bits;
    memcpy(&bits, &values[i], sizeof bits);
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    put_planes(at, count, i, width, precise ? bits : narrow_bits);
  }
  return json_pack("{ss sI si si}", "encoding", precise ? "f8" : "f4", "at", (json_int_t)begin,
                   "rows", rows, "columns", columns);
}

// whether 24 bits of the whole extent are too coarse for how a motion begins: it flew apart later
static bool flies_apart(const double *values, int rows, int columns, double step) {
  double size = 0;
  for (int i = 0; i < (rows < 10 ? rows : 10) * columns; i++) size = fmax(size, fabs(values[i]));
  return step > 1e-5 * size;
}

json_t *page_motion(page_document *d, const double *values, int rows, int columns) {
  const double STEPS = 16777215.0; // 2^24 - 1
  const size_t count = (size_t)rows * (size_t)columns;
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < count; i++) {
    low = fmin(low, values[i]);
    high = fmax(high, values[i]);
  }
  if (!(low <= high)) low = high = 0;
  const double step = high > low ? (high - low) / STEPS : 1;
  if (high > low && flies_apart(values, rows, columns, step))
    return page_numbers(d, values, rows, columns, false);
  const size_t begin = d->size;
  unsigned char *at = reserve(d, 4 * count);
  for (int c = 0; at != NULL && c < columns; c++) {
    int32_t before = 0, slope = 0; // q_{k-1}, q_{k-1} - q_{k-2}
    for (int r = 0; r < rows; r++) {
      const int32_t q =
          (int32_t)lround((values[(size_t)r * (size_t)columns + (size_t)c] - low) / step);
      const int32_t second = q - before - slope;
      slope = r > 0 ? q - before : 0;
      before = q;
      const uint32_t zigzag = ((uint32_t)second << 1) ^ (second < 0 ? UINT32_MAX : 0);
      put_planes(at, count, (size_t)c * (size_t)rows + (size_t)r, 4, zigzag);
    }
  }
  return json_pack("{ss sI si si sf sf}", "encoding", "motion", "at", (json_int_t)begin, "rows",
                   rows, "columns", columns, "low", low, "step", step);
}

/* ---- facts, tables, charts ------------------------------------------------------------------- */

void page_fact(page_document *d, const char *label, const char *format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  json_array_append_new(json_object_get(d->root, "facts"),
                        json_pack("[s o]", label, page_text(text)));
}

json_t *page_table(page_document *d, const char *title, const char *note,
                   const char *const *columns) {
  json_t *table = json_pack("{ss ss s[] s[]}", "title", title, "note", note != NULL ? note : "",
                            "columns", "rows");
  for (int k = 0; columns[k] != NULL; k++)
    json_array_append_new(json_object_get(table, "columns"), json_string(columns[k]));
  json_array_append_new(json_object_get(d->root, "tables"), table);
  return json_object_get(table, "rows");
}

json_t *page_chart(page_document *d, const page_chart_info *info, json_t *x) {
  json_t *chart =
      json_pack("{ss ss ss ss sb so s[]}", "title", info->title, "xLabel", info->x_label, "yLabel",
                info->y_label, "group", info->group != NULL ? info->group : "", "log",
                (int)info->log, "x", x, "series");
  json_array_append_new(json_object_get(d->root, "charts"), chart);
  return json_object_get(chart, "series");
}

void page_series(json_t *series, const char *name, json_t *values, double truth) {
  json_array_append_new(
      series, json_pack("{ss so so}", "name", name, "values", values, "truth", json_number(truth)));
}

/* ---- the page -------------------------------------------------------------------------------- */

// the JSON with its length in front, then the arrays; NULL if memory is short
static unsigned char *document_bytes(const page_document *d, size_t *size) {
  char *text = d->failed ? NULL : json_dumps(d->root, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (text == NULL) return NULL;
  const size_t length = strlen(text), padded = (4 + length + 7) / 8 * 8 - 4;
  *size = 4 + padded + d->size;
  unsigned char *bytes = allocate(*size, 1);
  if (bytes != NULL) {
    put_planes(bytes, 1, 0, 4, padded);
    memset(bytes + 4, ' ', padded);
    memcpy(bytes + 4, text, length);
    if (d->size > 0) memcpy(bytes + 4 + padded, d->bytes, d->size);
  }
  free(text);
  return bytes;
}

char *base64(const unsigned char *bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char *text = allocate((size + 2) / 3 * 4 + 1, 1), *at = text;
  for (size_t i = 0; text != NULL && i < size; i += 3) {
    const size_t left = size - i;
    const unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                           (left > 2 ? bytes[i + 2] : 0);
    for (size_t k = 0; k < 4; k++) *at++ = k <= left ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// a document as it stands in the page; the caller frees, NULL if memory is short
static char *document_text(const page_document *d) {
  size_t size;
  unsigned char *bytes = document_bytes(d, &size);
  uLongf packed = bytes != NULL ? compressBound((uLong)size) : 0;
  unsigned char *stream = bytes != NULL ? allocate(packed, 1) : NULL;
  char *text = NULL;
  if (stream != NULL && compress2(stream, &packed, bytes, (uLong)size, 6) == Z_OK)
    text = base64(stream, packed);
  free(stream);
  free(bytes);
  return text;
}

/* Text that grows. */
typedef struct text_buffer {
  char *text;
  size_t size;
  FILE *stream;
} text_buffer;

// the template up to a mark, which is left out; where it goes on, or NULL
static const char *copy_until(FILE *out, const char *from, const char *mark) {
  const char *at = strstr(from, mark);
  if (at == NULL) return NULL;
  fwrite(from, 1, (size_t)(at - from), out);
  return at + strlen(mark);
}

static bool put_documents(FILE *out, const page *p) {
  for (int k = 0; k < p->count; k++) {
    char *text = document_text(&p->documents[k]);
    if (text == NULL) return false;
    fprintf(out, "<script type=\"text/plain\" class=\"carom-document\">%s</script>\n", text);
    free(text);
  }
  return true;
}

char *page_html(const page *p, const char *title, size_t *size) {
  const char *template = embedded_text("page.html");
  text_buffer b = {0};
  b.stream = template != NULL ? open_memstream(&b.text, &b.size) : NULL;
  bool done = b.stream != NULL;
  if (done) {
    const char *rest = copy_until(b.stream, template, "{{title}}");
    if (rest != NULL) html_write_text(b.stream, title, strlen(title));
    if (rest != NULL) rest = copy_until(b.stream, rest, "<!--documents-->");
    done = rest != NULL && put_documents(b.stream, p);
    if (done) fputs(rest, b.stream);
    done = fclose(b.stream) == 0 && done;
  }
  if (done) {
    *size = b.size;
    return b.text;
  }
  free(b.text);
  return NULL;
}

carom_status page_write(const page *p, const char *title, const char *path, size_t *size,
                        carom_error *error) {
  char *text = page_html(p, title, size);
  if (text == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: no memory for the page", path);
  const carom_status status = carom_file_write(path, text, *size, error);
  free(text);
  return status;
}
