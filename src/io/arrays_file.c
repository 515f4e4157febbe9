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

static carom_status read_all(h5_reader *reader, void *user, carom_error *error) {
  carom_arrays *arrays = user;
  h5_read_text_attribute(reader, "scene", &arrays->scene);
  if (!h5_read_number_attribute(reader, "dt", &arrays->dt)) arrays->dt = 0;
  return read_group(reader, "", arrays, error);
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

const carom_array *carom_arrays_find(const carom_arrays *arrays, const char *name) {
  for (int k = 0; arrays != NULL && name != NULL && k < arrays->count; k++)
    if (strcmp(arrays->items[k].name, name) == 0) return &arrays->items[k];
  return NULL;
}

void carom_arrays_free(carom_arrays *arrays) {
  if (arrays == NULL) return;
  for (int k = 0; k < arrays->count; k++) free(arrays->items[k].values);
  free(arrays->items);
  free(arrays->scene);
  *arrays = (carom_arrays){0};
}
