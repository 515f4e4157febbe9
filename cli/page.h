/* A page: the viewer (viewer/dist/page.html, compiled in) with documents in it, one file that needs nothing
 * else. A document is what one input becomes: JSON that tells what there is, and arrays of numbers.
 *
 * In the page each document is a <script type="text/plain" class="carom-document"> with the base64 of a
 * zlib stream of
 *
 *   uint32                length of the JSON, little-endian
 *   JSON, UTF-8           padded with spaces so that the arrays begin at a multiple of 8
 *   bytes of all arrays
 *
 * An array in the JSON is {"encoding", "at", "rows", "columns", ...}, `at` counted from the end of the JSON:
 *
 *   "f4", "f8"   floats of 4 or 8 bytes, [rows][columns], little-endian, byte planes apart: first the
 *                lowest bytes of all numbers, then the next ones
 *   "motion"     {"low", "step"}: numbers low + step q, q whole, as second differences along the rows of each
 *                column, column after column, zigzag (0, -1, 1, -2, ...), uint32 in byte planes. Smooth motion
 *                compresses to a byte or two for a number; q has 24 bits
 *
 * Text in documents is data: the viewer never makes markup of it. */
#ifndef CAROM_CLI_PAGE_H
#define CAROM_CLI_PAGE_H

#include "carom.h"

#include <jansson.h>

typedef struct page_document {
  json_t *root; /* an object, made by page_document_begin */
  unsigned char *bytes;
  size_t size, capacity;
  bool failed; /* memory was short */
} page_document;

typedef struct page {
  int count;
  page_document *documents;
} page;

/* A new document of a page; NULL if memory is short. Valid until the next one is added. */
page_document *page_add(page *p, const char *kind, const char *title);
void page_free(page *p);

/* Text of the outside as JSON; bytes that are no UTF-8 (a name of a file may have them) become U+FFFD. */
json_t *page_text(const char *text);

/* Arrays; the result describes it in the JSON. Values [rows][columns] are `stride` apart in a row. */
json_t *page_numbers(page_document *d, const double *values, int rows, int columns, bool precise);
json_t *page_motion(page_document *d, const double *values, int rows, int columns);

/* "Fact: value" lines, tables and charts of a document. */
void page_fact(page_document *d, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A table: cells are texts or numbers; returns its array of rows, owned by the document. */
json_t *page_table(page_document *d, const char *title, const char *note,
                   const char *const *columns);

/* A chart over `x`; returns its array of series, owned by the document, to which page_series adds. */
typedef struct page_chart_info {
  const char *title, *x_label, *y_label, *group;
  bool log;
} page_chart_info;
json_t *page_chart(page_document *d, const page_chart_info *info, json_t *x);
void page_series(json_t *series, const char *name, json_t *values, double truth);

/* The whole page as text; NULL if memory is short or the viewer is not compiled in. The caller frees. */
char *page_html(const page *p, const char *title, size_t *size);

/* Bytes as text; the caller frees, NULL if memory is short. */
char *base64(const unsigned char *bytes, size_t size);

/* Writes it. */
carom_status page_write(const page *p, const char *title, const char *path, size_t *size,
                        carom_error *error);

#endif
