/* Text from a template and a JSON document. A template is the text itself with
 *
 *   {path}           what stands there: "task", "friction.mean", "error_of_state.10"
 *   {path:format}    .3f, .2e   a number with so many digits; a dash where there is none
 *                    size       of an array
 *                    verdict    yes, **no**, or a dash where there is neither
 *                    spread     {mean, min, max} over seeds: "0.50000 (0.49990 .. 0.50010)"
 *                    range      {min, max} over seeds: "1.2e-05 .. 2.3e-05"; a dash for one seed
 *                    estimate   {mean, half_width_95}: "1.23e-05 (1.2e-06)"
 *                    percent    {off, true}: off by true in percent
 *   {#path} {/}      a part that is repeated for each row of an array; paths are those of the row,
 *                    or of what is around it. Alone on a line they leave no line behind
 *   {?path} {/}      a part that is left out where there is nothing, an empty array or a 0
 *
 * In what a path leads to, a bar is escaped: it would end a cell of a table. */
#ifndef CAROM_CLI_TEMPLATE_H
#define CAROM_CLI_TEMPLATE_H

#include <jansson.h>

/* What stands at a path, NULL if nothing does; as a number, NaN if it is none. */
const json_t *json_find(const json_t *value, const char *path);
double json_at(const json_t *value, const char *path);

/* The caller frees it; NULL if there is no memory. */
char *template_fill(const char *text, const json_t *document);

#endif
