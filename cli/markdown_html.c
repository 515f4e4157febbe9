#include "cli/markdown_html.h"

#include <stdbool.h>
#include <string.h>

void html_write_text(FILE *out, const char *text, size_t length) {
  static const char characters[] = "&<>\"'";
  static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (size_t k = 0; k < length; k++) {
    const char *found = memchr(characters, text[k], sizeof characters - 1);
    if (found != NULL)
      fputs(entities[found - characters], out);
    else
      fputc(text[k], out);
  }
}

/* ---- inside a line --------------------------------------------------------------------------- */

// text between two marks of one kind becomes an element; where it goes on behind them, or NULL
static const char *put_marked(FILE *out, const char *at, const char *end, const char *mark,
                              const char *element) {
  const size_t length = strlen(mark);
  if ((size_t)(end - at) < 2 * length || strncmp(at, mark, length) != 0) return NULL;
  const char *close = at + length;
  while (close + length <= end && strncmp(close, mark, length) != 0) close++;
  if (close + length > end) return NULL;
  fprintf(out, "<%s>", element);
  html_write_text(out, at + length, (size_t)(close - at) - length);
  fprintf(out, "</%s>", element);
  return close + length;
}

static void put_inline(FILE *out, const char *at, const char *end) {
  while (at < end) {
    const char *next = put_marked(out, at, end, "`", "code");
    if (next == NULL) next = put_marked(out, at, end, "**", "strong");
    if (next == NULL) {
      // a bar that is escaped is a bar
      if (at[0] == '\\' && at + 1 < end && at[1] == '|') at++;
      html_write_text(out, at, 1);
      next = at + 1;
    }
    at = next;
  }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *line_end(const char *line) {
  const char *end = strchr(line, '\n');
  return end != NULL ? end : line + strlen(line);
}

static const char *next_line(const char *line) {
  const char *end = line_end(line);
  return *end == '\n' ? end + 1 : end;
}

static bool is_blank(const char *line) { return line_end(line) == line; }
static bool is_code(const char *line) { return strncmp(line, "    ", 4) == 0; }
static bool is_row(const char *line) { return line[0] == '|'; }

// the end of a cell that begins behind a bar
static const char *cell_end(const char *at, const char *end) {
  while (at < end && *at != '|') at += at[0] == '\\' && at + 1 < end ? 2 : 1;
  return at < end ? at : end;
}

// the cells of a row; columns whose rule ends with a colon are numbers
static void put_row(FILE *out, const char *line, const char *rule, const char *element) {
  const char *end = line_end(line), *rule_end = line_end(rule);
  const char *at = line + 1, *under = rule + 1;
  fputs("<tr>", out);
  while (at < end) {
    const char *stop = cell_end(at, end), *from = at, *to = stop;
    const char *under_stop = cell_end(under, rule_end);
    while (from < to && *from == ' ') from++;
    while (to > from && to[-1] == ' ') to--;
    const bool number = under_stop > under && under_stop[-1] == ':';
    fprintf(out, "<%s%s>", element, number ? " class=\"number\"" : "");
    put_inline(out, from, to);
    fprintf(out, "</%s>", element);
    at = stop + 1;
    under = under_stop < rule_end ? under_stop + 1 : rule_end;
  }
  fputs("</tr>\n", out);
}

static const char *put_table(FILE *out, const char *line) {
  const char *rule = next_line(line);
  fputs("<div class=\"scroll\"><table>\n<thead>", out);
  put_row(out, line, rule, "th");
  fputs("</thead>\n<tbody>\n", out);
  for (line = next_line(rule); is_row(line); line = next_line(line)) put_row(out, line, rule, "td");
  fputs("</tbody></table></div>\n", out);
  return line;
}

static const char *put_code(FILE *out, const char *line) {
  fputs("<pre>", out);
  for (; is_code(line); line = next_line(line))
    html_write_text(out, line + 4, (size_t)(next_line(line) - line) - 4);
  fputs("</pre>\n", out);
  return line;
}

static const char *put_heading(FILE *out, const char *line, int depth) {
  int level = 0;
  while (line[level] == '#') level++;
  const char *text = line + level + (line[level] == ' ');
  fprintf(out, "<h%d>", level + depth);
  put_inline(out, text, line_end(line));
  fprintf(out, "</h%d>\n", level + depth);
  return next_line(line);
}

void markdown_write(FILE *out, const char *line, int depth) {
  while (*line != '\0') {
    if (is_blank(line)) {
      line = next_line(line);
    } else if (line[0] == '#') {
      line = put_heading(out, line, depth);
    } else if (is_row(line) && is_row(next_line(line))) {
      line = put_table(out, line);
    } else if (is_code(line)) {
      line = put_code(out, line);
    } else {
      fputs("<p>", out);
      for (; !is_blank(line) && line[0] != '#' && !is_row(line); line = next_line(line)) {
        put_inline(out, line, line_end(line));
        fputc('\n', out);
      }
      fputs("</p>\n", out);
    }
  }
}
