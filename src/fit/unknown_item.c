#include "fit/unknown_item.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

carom_status unknown_item_bad(const unknown_item *it, carom_error *error, const char *why) {
  return error_set(error, CAROM_INVALID_ARGUMENT, "unknown '%s': %s", it->text, why);
}

// "=X" behind a word of the item
static carom_status read_number(const unknown_item *it, const char *text, double *value,
                                carom_error *error) {
  char *end;
  *value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(*value))
    return unknown_item_bad(it, error, "expected a number behind '='");
  return CAROM_OK;
}

static carom_status read_prior(unknown_item *it, const char *text, carom_error *error) {
  char mean[64];
  const char *slash = strchr(text, '/');
  if (slash == NULL || slash - text >= (long)sizeof mean)
    return unknown_item_bad(it, error, "a prior is MEAN/DEVIATION, as in :prior=0.3/0.05");
  snprintf(mean, sizeof mean, "%.*s", (int)(slash - text), text);
  carom_status status = read_number(it, mean, &it->prior, error);
  if (status == CAROM_OK) status = read_number(it, slash + 1, &it->prior_deviation, error);
  if (status == CAROM_OK && it->prior_deviation <= 0)
    return unknown_item_bad(it, error, "the deviation of a prior must be positive");
  return status;
}

static carom_status read_modifier(unknown_item *it, const char *word, carom_error *error) {
  static const struct {
    const char *name;
    size_t offset;
  } numbers[] = {{"start=", offsetof(unknown_item, start)},
                 {"low=", offsetof(unknown_item, low)},
                 {"high=", offsetof(unknown_item, high)}};
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
    if (strncmp(word, numbers[k].name, strlen(numbers[k].name)) == 0)
      return read_number(it, word + strlen(numbers[k].name),
                         (double *)(void *)((char *)it + numbers[k].offset), error);
  if (strncmp(word, "prior=", 6) == 0) return read_prior(it, word + 6, error);
  if (strcmp(word, "shared") == 0 || strcmp(word, "each") == 0) {
    it->sharing = word[0] == 's' ? SHARING_SHARED : SHARING_EACH;
    return CAROM_OK;
  }
  return unknown_item_bad(
      it, error, "behind ':' stands start=X, low=X, high=X, prior=MEAN/DEVIATION, shared or each");
}

// name[at][at]
static carom_status read_name(unknown_item *it, const char *text, carom_error *error) {
  size_t length = strcspn(text, "[");
  if (length == 0 || length >= sizeof it->name)
    return unknown_item_bad(it, error, "there is no name");
  snprintf(it->name, sizeof it->name, "%.*s", (int)length, text);
  text += length;
  while (*text == '[') {
    const char *close = strchr(text, ']');
    if (close == NULL || it->at_count == 3 || close - text - 1 >= (long)sizeof it->at[0] ||
        close == text + 1)
      return unknown_item_bad(it, error, "expected NAME, NAME[OF] or NAME[OF][AXIS]");
    snprintf(it->at[it->at_count++], sizeof it->at[0], "%.*s", (int)(close - text - 1), text + 1);
    text = close + 1;
  }
  return *text == '\0' ? CAROM_OK
                       : unknown_item_bad(it, error, "expected NAME, NAME[OF] or NAME[OF][AXIS]");
}

carom_status unknown_item_read(const char *begin, size_t length, unknown_item *it,
                               carom_error *error) {
  *it = (unknown_item){.start = NAN, .low = NAN, .high = NAN, .prior = NAN};
  while (length > 0 && isspace((unsigned char)*begin)) begin++, length--;
  while (length > 0 && isspace((unsigned char)begin[length - 1])) length--;
  snprintf(it->text, sizeof it->text, "%.*s", (int)length, begin);
  if (length >= sizeof it->text) return unknown_item_bad(it, error, "is too long");
  char copy[160], *save = NULL;
  snprintf(copy, sizeof copy, "%s", it->text);
  char *word = strtok_r(copy, ":", &save);
  if (word == NULL) return unknown_item_bad(it, error, "the list has an empty place");
  // mass[b]/mass[a]: a slash behind the first bracket that is closed
  char *slash = strstr(word, "]/");
  if (slash != NULL) {
    snprintf(it->divisor, sizeof it->divisor, "%s", slash + 2);
    slash[1] = '\0';
  }
  carom_status status = read_name(it, word, error);
  while (status == CAROM_OK && (word = strtok_r(NULL, ":", &save)) != NULL)
    status = read_modifier(it, word, error);
  return status;
}
