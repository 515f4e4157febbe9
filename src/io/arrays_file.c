/* Every number in a file by its name (carom/arrays.h). */
#include "base/error.h"
#include "base/size.h"
#include "io/h5_file.h"

#include <stdio.h>
#include <string.h>

// one more dataset; what is no array of numbers is passed over
static carom_status read_item(h5_reader *reader, const char *name, carom_arrays *arrays,
                              carom_error *error) {
  const int rank = h5_dataset_rank(reader, name);
  if (rank < 0 || rank > H5_MAX_RANK || !h5_dataset_is_numeric(reader, name)) return CAROM_OK;
  carom_array *items = realloc(arrays->items, sizeof(carom_array) * (size_t)(arrays->count + 1));
  if (items == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  arrays->items = items;
  h5_axis axes[H5_MAX_RANK];
  for (int k = 0; k < H5_MAX_RANK; k++) axes[k] = (h5_axis){"any", -1};
  carom_array item = {.rank = rank};
  memcpy(item.name, name, strlen(name) + 1);
  carom_status status = h5_read_any_doubles(reader, name, rank, axes, &item.values, error);
  if (status != CAROM_OK) return status;
  for (int k = 0; k < rank; k++) item.shape[k] = axes[k].size;
  items[arrays->count++] = item;
  return CAROM_OK;
}

// the datasets of a group ("": the root), then those of the groups in it
static carom_status read_group(h5_reader *reader, const char *group, carom_arrays *arrays,
                               carom_error *error) {
  char name[64], path[192];
  carom_status status = CAROM_OK;
  const int count = h5_group_size(reader, group);
  for (int k = 0; status == CAROM_OK && k < count; k++) {
    if (!h5_group_name(reader, group, k, name, sizeof name)) continue;
    const int length = snprintf(path, sizeof path, "%s%s%s", group, group[0] ? "/" : "", name);
    if (length < (int)sizeof arrays->items->name) status = read_item(reader, path, arrays, error);
  }
  for (int k = 0; status == CAROM_OK && group[0] == '\0' && k < count; k++)
    if (h5_group_name(reader, "", k, name, sizeof name) && h5_has_group(reader, name))
      status = read_group(reader, name, arrays, error);
  return status;
}

// the text of an attribute, numbers with all their digits; NULL if it is neither, or memory is short
static char *attribute_text(const h5_reader *reader, const char *name) {
  char *text = NULL, digits[32];
  double value;
  if (h5_read_text_attribute(reader, name, &text)) return text;
  if (!h5_read_number_attribute(reader, name, &value)) return NULL;
  snprintf(digits, sizeof digits, "%.17g", value);
  return strdup(digits);
}

// attributes but those that have a place of their own
static carom_status read_notes(const h5_reader *reader, carom_arrays *arrays, carom_error *error) {
  carom_note note = {0};
  for (int k = 0; h5_attribute_name(reader, k, note.name, sizeof note.name); k++) {
    if (strcmp(note.name, "scene") == 0 || strcmp(note.name, "dt") == 0) continue;
    note.text = attribute_text(reader, note.name);
    if (note.text == NULL) continue;
    carom_note *notes = realloc(arrays->notes, sizeof note * (size_t)(arrays->note_count + 1));
    if (notes == NULL) {
      free(note.text);
      return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
    }
    arrays->notes = notes;
    notes[arrays->note_count++] = note;
  }
  return CAROM_OK;
}

static carom_status read_all(h5_reader *reader, void *user, carom_error *error) {
  carom_arrays *arrays = user;
  h5_read_text_attribute(reader, "scene", &arrays->scene);
  if (!h5_read_number_attribute(reader, "dt", &arrays->dt)) arrays->dt = 0;
  const carom_status status = read_notes(reader, arrays, error);
  return status == CAROM_OK ? read_group(reader, "", arrays, error) : status;
}

carom_status carom_arrays_read(const char *path, carom_arrays *arrays, carom_error *error) {
  if (arrays != NULL) *arrays = (carom_arrays){0};
  REQUIRE(path, error);
  REQUIRE(arrays, error);
  const carom_status status = h5_read_file(path, read_all, arrays, error);
  if (status == CAROM_OK) return error_clear(error);
  carom_arrays_free(arrays);
  return status;
}

// the group of a name: its length up to the slash, 0 in the root
static size_t group_length(const char *name) {
  const char *slash = strchr(name, '/');
  return slash != NULL ? (size_t)(slash - name) : 0;
}

static carom_status write_item(h5_writer *writer, const carom_arrays *arrays, int index,
                               carom_error *error) {
  const carom_array *a = &arrays->items[index];
  const size_t group = group_length(a->name);
  h5_axis axes[H5_MAX_RANK];
  if (memchr(a->name, '\0', sizeof a->name) == NULL || a->name[0] == '\0' || a->rank < 1 ||
      a->rank > H5_MAX_RANK || a->values == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "array %d has no name, no values, or rank %d; it must be from 1 to %d", index,
                     a->rank, H5_MAX_RANK);
  for (int k = 0; k < a->rank; k++) {
    if (a->shape[k] < 0)
      return error_set(error, CAROM_INVALID_ARGUMENT, "array %s: its axis %d has the size %d",
                       a->name, k, a->shape[k]);
    axes[k] = (h5_axis){"size", a->shape[k]};
  }
  const char *before = index > 0 ? arrays->items[index - 1].name : "";
  const bool same = group_length(before) == group && strncmp(before, a->name, group) == 0;
  carom_status status = CAROM_OK;
  if (group > 0 && !same) {
    char name[sizeof a->name];
    snprintf(name, sizeof name, "%.*s", (int)group, a->name);
    status = h5_write_group(writer, name, error);
  }
  if (status != CAROM_OK) return status;
  return h5_write_doubles(writer, a->name, a->rank, axes, a->values, error);
}

carom_status carom_arrays_write(const carom_arrays *arrays, const char *path, carom_error *error) {
  REQUIRE(arrays, error);
  REQUIRE(path, error);
  if (arrays->count < 0 || (arrays->count > 0 && arrays->items == NULL))
    return error_set(error, CAROM_INVALID_ARGUMENT, "there are %d arrays", arrays->count);
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  if (arrays->scene != NULL) status = h5_write_origin(writer, arrays->scene, arrays->dt, error);
  for (int k = 0; k < arrays->count && status == CAROM_OK; k++)
    status = write_item(writer, arrays, k, error);
  return h5_writer_finish(writer, status, error);
}

const carom_array *carom_arrays_find(const carom_arrays *arrays, const char *name) {
  for (int k = 0; arrays != NULL && name != NULL && k < arrays->count; k++)
    if (strcmp(arrays->items[k].name, name) == 0) return &arrays->items[k];
  return NULL;
}

const char *carom_arrays_note(const carom_arrays *arrays, const char *name) {
  for (int k = 0; arrays != NULL && name != NULL && k < arrays->note_count; k++)
    if (strcmp(arrays->notes[k].name, name) == 0) return arrays->notes[k].text;
  return NULL;
}

void carom_arrays_free(carom_arrays *arrays) {
  if (arrays == NULL) return;
  for (int k = 0; k < arrays->note_count; k++) free(arrays->notes[k].text);
  free(arrays->notes);
  for (int k = 0; k < arrays->count; k++) free(arrays->items[k].values);
  free(arrays->items);
  free(arrays->scene);
  *arrays = (carom_arrays){0};
}
