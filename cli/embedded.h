/* The files of cli/data, compiled in: templates of tables and what the paper prints. */
#ifndef CAROM_CLI_EMBEDDED_H
#define CAROM_CLI_EMBEDDED_H

typedef struct embedded_file {
  const char *name; /* "learning.md"; NULL ends the table */
  const char *text;
} embedded_file;

extern const embedded_file embedded_files[];

/* NULL: there is no such file. */
const char *embedded_text(const char *name);

#endif
