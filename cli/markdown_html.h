/* Markdown as the templates of `carom reproduce` make it, as HTML: headings, paragraphs, tables, indented
 * code, `code` and **bold**. All text is escaped. */
#ifndef CAROM_CLI_MARKDOWN_HTML_H
#define CAROM_CLI_MARKDOWN_HTML_H

#include <stdio.h>

/* `depth` is added to the level of headings: 1 makes "# a" an <h2>. */
void markdown_write(FILE *out, const char *text, int depth);

/* Text with & < > " ' escaped. */
void html_write_text(FILE *out, const char *text, size_t length);

#endif
