#include "cli/output.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *scene_file(const char *scene) {
  for (int k = 0; k < carom_scene_count(); k++) {
    if (strcmp(scene, carom_scene_name(k)) == 0) return NULL;
  }
  return scene;
}

// one file under two names: links of either kind included
static bool same_file(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

carom_status check_output(const char *path, int input_count, const char *const *inputs,
                          carom_error *error) {
  if (path == NULL) return CAROM_OK;
  for (int k = 0; k < input_count; k++) {
    if (inputs[k] == NULL || !same_file(path, inputs[k])) continue;
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "-o %s: is the input %s, which would be lost; take another name", path,
                           inputs[k]);
  }
  return carom_file_check(path, error);
}

carom_status check_run_output(const char *path, const run_options *given, const char *other,
                              carom_error *error) {
  const char *const inputs[] = {scene_file(given->scene), given->init, given->parameters,
                                given->controls, other};
  return check_output(path, sizeof inputs / sizeof inputs[0], inputs, error);
}

carom_status dump_failures(const carom_rollout *rollout, const char *folder, int *written,
                           carom_error *error) {
  *written = carom_rollout_failure_count(rollout);
  if (*written == 0) return CAROM_OK;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be made: %s", folder,
                           strerror(errno));
  }
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < *written; k++) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/cone-%03d.json", folder, k);
    const carom_cone_program program = carom_rollout_failure(rollout, k);
    status = carom_cone_program_write(&program, path, error);
  }
  return status;
}

json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *json_report(const carom_report *r) {
  json_t *json = json_pack("{so}", "worst_residual", json_number(r->worst_residual));
  for (int k = 0; carom_report_counter(r, k).name != NULL; k++)
    json_object_set_new(json, carom_report_counter(r, k).name,
                        json_integer(carom_report_counter(r, k).value));
  return json;
}

carom_status write_json(const char *path, const json_t *value, carom_error *error) {
  char *text = value != NULL ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  char *line = NULL;
  const int size = text != NULL ? asprintf(&line, "%s\n", text) : -1;
  free(text);
  if (size < 0) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  const carom_status status = carom_file_write(path, line, (size_t)size, error);
  free(line);
  return status;
}

void print_json(json_t *value) {
  json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  fputc('\n', stdout);
  json_decref(value);
}
