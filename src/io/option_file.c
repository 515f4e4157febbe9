#include "io/option_file.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool option_is_saved(const option_field *f) {
  return (f->role & (OPTION_SPEED | OPTION_ELSEWHERE)) == 0;
}

const option_field *option_in_file(const option_table *table, const char *name) {
  for (int k = 0; k < table->count; k++) {
    const option_field *f = &table->fields[k];
    if (option_is_saved(f) && strcmp(option_file_name(f), name) == 0) return f;
  }
  return NULL;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *value_json(const option_field *f, const void *options) {
  char text[OPTION_TEXT];
  const double value = option_number(f, options);
  switch (f->kind) {
    case CAROM_OPTION_INTEGER:
    case CAROM_OPTION_COUNT: return json_integer((json_int_t)value);
    case CAROM_OPTION_NUMBER: return json_real(value);
    case CAROM_OPTION_SWITCH: return json_boolean(value != 0);
    case CAROM_OPTION_SEED:
    case CAROM_OPTION_CHOICE: break;
  }
  option_text(f, options, text);
  return json_string(text);
}

json_t *options_json(const option_table *table, const void *options) {
  json_t *object = json_object();
  for (int k = 0; k < table->count; k++) {
    const option_field *f = &table->fields[k];
    if (!option_is_saved(f)) continue;
    if (json_object_set_new(object, option_file_name(f), value_json(f, options)) == 0) continue;
    json_decref(object);
    return NULL;
  }
  return object;
}

// whether the value is of the field's kind and in its range
static bool take_json(const option_field *f, const json_t *value, void *options) {
  double number;
  switch (f->kind) {
    case CAROM_OPTION_INTEGER:
    case CAROM_OPTION_COUNT:
      if (!json_is_integer(value)) return false;
      number = (double)json_integer_value(value);
      break;
    case CAROM_OPTION_NUMBER:
      if (!json_is_number(value)) return false;
      number = json_number_value(value);
      break;
    case CAROM_OPTION_SWITCH:
      if (!json_is_boolean(value)) return false;
      number = json_is_true(value);
      break;
    default:
      return json_is_string(value) &&
             option_set_text(f, options, "", json_string_value(value), NULL) == CAROM_OK;
  }
  if (!option_fits(f, number)) return false;
  option_set_number(f, options, number);
  return true;
}

static carom_status read_member(const option_field *f, const json_t *object, const char *heading,
                                void *options, carom_error *error) {
  const char *name = option_file_name(f);
  const json_t *value = json_object_get(object, name);
  if (value == NULL && (f->role & OPTION_LATER)) {
    option_set_number(f, options, f->before);
    return CAROM_OK;
  }
  if (value == NULL) return error_set(error, CAROM_INVALID_DATA, "%s.%s is missing", heading, name);
  if (take_json(f, value, options)) return CAROM_OK;
  char range[OPTION_RANGE_TEXT];
  option_range_text(f, range);
  char *found = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
  error_set(error, CAROM_INVALID_DATA, "%s.%s is %.100s, expected %s", heading, name,
            found != NULL ? found : "too large", range);
  free(found);
  return CAROM_INVALID_DATA;
}

carom_status options_read_json(const option_table *table, const json_t *object, const char *heading,
                               void *options, carom_error *error) {
  if (!json_is_object(object))
    return error_set(error, CAROM_INVALID_DATA, "%s is missing, or no object", heading);
  for (void *at = json_object_iter((json_t *)object); at != NULL;
       at = json_object_iter_next((json_t *)object, at)) {
    if (option_in_file(table, json_object_iter_key(at)) != NULL) continue;
    return error_set(error, CAROM_INVALID_DATA,
                     "%s.%s is no option that this version of carom (%s) knows", heading,
                     json_object_iter_key(at), CAROM_VERSION);
  }
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < table->count; k++) {
    if (option_is_saved(&table->fields[k]))
      status = read_member(&table->fields[k], object, heading, options, error);
  }
  return status;
}

/* ---- HDF5 ------------------------------------------------------------------------------------ */

static bool is_text(const option_field *f) {
  return f->kind == CAROM_OPTION_CHOICE || f->kind == CAROM_OPTION_SEED;
}

static carom_status write_attribute(h5_writer *writer, const option_field *f, const void *options,
                                    carom_error *error) {
  if (!is_text(f))
    return h5_write_number_attribute(writer, option_file_name(f), option_number(f, options), error);
  char text[OPTION_TEXT];
  option_text(f, options, text);
  return h5_write_text_attribute(writer, option_file_name(f), text, error);
}

carom_status options_write_attributes(h5_writer *writer, const option_table *table,
                                      const void *options, const char *except, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < table->count; k++) {
    const option_field *f = &table->fields[k];
    if (!option_is_saved(f) || (except != NULL && strcmp(f->name, except) == 0)) continue;
    status = write_attribute(writer, f, options, error);
  }
  return status;
}

// whether there is one; `text` is what was found, if it is not of the field's kind or range
static bool take_attribute(const h5_reader *reader, const option_field *f, void *options,
                           char found[OPTION_TEXT]) {
  found[0] = '\0';
  char *text;
  if (is_text(f) && h5_read_text_attribute(reader, option_file_name(f), &text)) {
    if (option_set_text(f, options, "", text, NULL) != CAROM_OK)
      snprintf(found, OPTION_TEXT, "%.40s", text);
    free(text);
    return true;
  }
  double number;
  if (is_text(f) || !h5_read_number_attribute(reader, option_file_name(f), &number)) return false;
  if (option_fits(f, number))
    option_set_number(f, options, number);
  else
    snprintf(found, OPTION_TEXT, "%.15g", number);
  return true;
}

static carom_status read_attribute(const h5_reader *reader, const char *path, const option_field *f,
                                   void *options, carom_error *error) {
  char found[OPTION_TEXT], range[OPTION_RANGE_TEXT];
  const char *name = option_file_name(f);
  if (!take_attribute(reader, f, options, found)) {
    if (!(f->role & OPTION_LATER))
      return error_set(error, CAROM_INVALID_DATA,
                       "%s: attribute %s is missing; the file is damaged", path, name);
    option_set_number(f, options, f->before);
  }
  if (found[0] == '\0') return CAROM_OK;
  option_range_text(f, range);
  return error_set(error, CAROM_INVALID_DATA, "%s: attribute %s is %s, expected %s", path, name,
                   found, range);
}

carom_status options_read_attributes(const h5_reader *reader, const char *path,
                                     const option_table *table, void *options, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < table->count; k++) {
    if (option_is_saved(&table->fields[k]))
      status = read_attribute(reader, path, &table->fields[k], options, error);
  }
  return status;
}
