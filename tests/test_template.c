/* Templates: what stands at a path in each format, parts that repeat and parts that are left out, and
 * templates that are not well-formed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/embedded.h"
#include "cli/template.h"

static const char text[] =
    "{'name': 'a|b', 'count': 3, 'part': 0.125, 'yes': true, 'no': false, 'seeds': [0, 1],"
    " 'value': {'true': 2, 'mean': 0.5, 'min': 0.25, 'max': 1, 'off': 0.5, 'half_width_95': 0.001},"
    " 'rows': [{'x': 1, 'inner': [{'y': 2}, {'y': 3}]}, {'x': 4, 'inner': [], 'bad': 7}],"
    " 'none': [], 'seed': {'seeds': [0], 'mean': 0.5, 'min': 0.25, 'max': 1}}";

static json_t *document(void) {
  char json[sizeof text];
  for (size_t k = 0; k < sizeof text; k++) json[k] = text[k] == '\'' ? '"' : text[k];
  json_t *made = json_loads(json, 0, NULL);
  assert_non_null(made);
  return made;
}

typedef struct sample {
  const char *given, *filled;
} sample;

static void check(const sample *samples, size_t count) {
  json_t *values = document();
  for (size_t k = 0; k < count; k++) {
    char *filled = template_fill(samples[k].given, values);
    assert_string_equal(filled, samples[k].filled);
    free(filled);
  }
  json_decref(values);
}

static void formats(void **state) {
  (void)state;
  static const sample samples[] = {
      {"", ""},
      {"no tag", "no tag"},
      {"{name} {count} {rows.1.x} {absent}.", "a\\|b 3 4 ."},
      {"{part:.2f} {part:.1e} {absent:.3f} {rows:size}", "0.12 1.2e-01 - 2"},
      {"{yes:verdict} {no:verdict} {absent:verdict}", "yes **no** -"},
      {"{value:spread} {value:range}", "0.50000 (0.25000 .. 1.00000) 2.5e-01 .. 1.0e+00"},
      {"{value:estimate} {seed:estimate} {absent:estimate}", "5.00e-01 (1.0e-03) 5.00e-01 -"},
      {"{value:percent}", "25.0000 %"},
  };
  check(samples, sizeof samples / sizeof samples[0]);
}

static void parts(void **state) {
  (void)state;
  static const sample samples[] = {
      // of the row, else of what is around it
      {"{#rows}{x}{name};{/}.", "1a\\|b;4a\\|b;."},
      // alone on a line a tag leaves no line
      {"a\n{#rows}\n| {x} |\n{/}\nb\n", "a\n| 1 |\n| 4 |\nb\n"},
      {"{#rows}{#inner}{x}{y} {/}{/}", "12 13 "},
      {"{#rows}{#inner}{y}{/};{/}", "23;;"},
      {"{#none}never{/}{?none}never{/}{?rows}some{/}", "some"},
      {"{#rows}{?bad}{x} has {bad}{/}{/}", "4 has 7"},
      {"{#rows}{seed:range}{/}", "2.5e-01 .. 1.0e+002.5e-01 .. 1.0e+00"},
  };
  check(samples, sizeof samples / sizeof samples[0]);
}

static void malformed(void **state) {
  (void)state;
  static const sample samples[] = {
      {"{", ""},  {"{name", "a\\|b"},  {"a{#rows}{x}", "a14"}, {"{#rows", ""},
      {"{:", ""}, {"{name:", "a\\|b"}, {"{name:unknown}", ""},
  };
  check(samples, sizeof samples / sizeof samples[0]);
}

// every file of cli/data is there, and templates have as many ends as beginnings
static void embedded(void **state) {
  (void)state;
  assert_null(embedded_text("no such file"));
  json_t *paper = json_loads(embedded_text("paper.json"), JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(paper);
  json_decref(paper);
  int open = 0;
  for (const char *c = embedded_text("table2.md"); *c != '\0'; c++) {
    if (c[0] != '{') continue;
    open += c[1] == '#' || c[1] == '?';
    open -= c[1] == '/';
    assert_true(open >= 0);
  }
  assert_int_equal(open, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formats),
      cmocka_unit_test(parts),
      cmocka_unit_test(malformed),
      cmocka_unit_test(embedded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
