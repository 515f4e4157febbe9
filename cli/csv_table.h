/* A table of numbers from a CSV file (RFC 4180): metrics.csv of a run. */
#ifndef CAROM_CLI_CSV_TABLE_H
#define CAROM_CLI_CSV_TABLE_H

#include "carom.h"

typedef struct csv_table {
  int column_count, row_count;
  char **names;   /* [column_count] */
  double *values; /* [row_count][column_count]; NaN for an empty field and what is no number */
} csv_table;

/* A line that is cut short ends it. */
carom_status csv_read(const char *path, csv_table *table, carom_error *error);
void csv_free(csv_table *table);

/* Place of a column by its name, or -1. */
int csv_column(const csv_table *table, const char *name);

/* The whole of a file as text that ends with 0; the caller frees. */
carom_status read_text_file(const char *path, char **text, carom_error *error);

#endif
