#include "support/golden_task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/golden.h"

static const struct {
  const char *task;
  const char *scene;
  int shared_states;
} tasks[GOLDEN_TASK_COUNT] = {
    {"BP5-e", "bp5-e", 31}, {"BP5", "bp5", 31},        {"BD5", "bd5", 31},  {"CP3-e", "cp3-e", 100},
    {"CP3", "cp3", 100},    {"Gyro-e", "gyro-e", 100}, {"Gyro", "gyro", 0}, {"Rope", "rope", 100},
};

const char *golden_task_name(int index) { return tasks[index].task; }
int golden_task_shared_states(int index) { return tasks[index].shared_states; }

/* Rim points that the events of a file used: they stand in the Jacobian's normal row, whose e_n is
 * (0, -1, 0), as the weights of the second and third point. */
static void copy_rim_points(const char *file, body *rim) {
  json_t *root = golden_load(file);
  json_t *events = golden_get(root, "events");
  for (size_t i = 0; i < json_array_size(events); i++) {
    int count;
    double *row =
        golden_numbers(json_array_get(golden_get(json_array_get(events, i), "Jac"), 0), &count);
    double c1 = row[4], c2 = row[7];
    double angle = atan2(c2, c1) < -1e-3 ? atan2(c2, c1) + 2 * acos(-1) : atan2(c2, c1);
    int k = (int)lround(angle / 0.314);
    rim->shape_points[k * 3] = c1;
    rim->shape_points[k * 3 + 1] = c2;
    free(row);
  }
  json_decref(root);
}

/* The reference has its rim in single precision. */
static void use_reference_rim(carom_system *s) {
  for (int b = 0; b < s->body_count; b++) {
    body *rim = &s->bodies[b];
    if (rim->shape != SHAPE_RIM) continue;
    for (int k = 0; k < rim->shape_point_count; k++) {
      float angle = (float)k * 0.314f;
      rim->shape_points[k * 3] = (double)(0.3f * cosf(angle));
      rim->shape_points[k * 3 + 1] = (double)(0.3f * sinf(angle));
    }
    copy_rim_points("events_Gyro.json", rim);
    copy_rim_points("events_Gyro-e.json", rim);
  }
}

void golden_task_open(golden_task *task, int index, const char *kind) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s.json", kind, tasks[index].task);
  task->root = golden_load(name);
  carom_error error;
  if (carom_system_load(tasks[index].scene, &task->system, &error) != CAROM_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  use_reference_rim(task->system);
  const carom_system *s = task->system;
  double *theta = malloc(sizeof(double) * (size_t)s->parameter_count);
  carom_parameters_default(s, theta);
  int count;
  double *mus = golden_numbers(golden_get(task->root, "mus"), &count);
  double *cors = golden_numbers(golden_get(task->root, "cors"), &count);
  if (count != s->contact_count) {
    fprintf(stderr, "%s: %d contacts, scene has %d\n", name, count, s->contact_count);
    exit(1);
  }
  memcpy(theta + s->segments[CAROM_FRICTION].offset, mus, sizeof(double) * (size_t)count);
  memcpy(theta + s->segments[CAROM_RESTITUTION].offset, cors, sizeof(double) * (size_t)count);
  mechanics_init(&task->mechanics, s);
  mechanics_set_parameters(&task->mechanics, theta);
  free(mus);
  free(cors);
  free(theta);
}

void golden_task_close(golden_task *task) {
  mechanics_free(&task->mechanics);
  carom_system_destroy(task->system);
  json_decref(task->root);
}
