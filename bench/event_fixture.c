#include "bench/event_fixture.h"

#include "base/rng.h"
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

static carom_status parse_scene(event_fixture *f, json_t *scene, carom_error *error) {
  char *text = json_dumps(scene, JSON_REAL_PRECISION(17));
  json_decref(scene);
  if (text == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  carom_status status = carom_system_parse(text, strlen(text), "bench", &f->system, error);
  free(text);
  return status;
}

static carom_status allocate(event_fixture *f, carom_error *error) {
  size_t size = (size_t)f->system->coordinate_count;
  f->x = calloc(size, sizeof(double));
  f->v = calloc(size * (size_t)f->velocity_count, sizeof(double));
  f->after = calloc(size, sizeof(double));
  f->moved = calloc(size, sizeof(double));
  f->v_bar = calloc(size, sizeof(double));
  f->x_bar = calloc(size, sizeof(double));
  f->theta_bar = calloc((size_t)f->system->parameter_count, sizeof(double));
  bool have = f->x != NULL && f->v != NULL && f->after != NULL && f->moved != NULL &&
              f->v_bar != NULL && f->x_bar != NULL && f->theta_bar != NULL;
  return have ? CAROM_OK : carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
}

static void draw_velocities(event_fixture *f, double speed) {
  int size = f->system->coordinate_count;
  rng r;
  rng_seed(&r, 1, 0);
  for (int k = 0; k < f->velocity_count; k++) {
    memcpy(f->v + (size_t)k * (size_t)size, f->system->initial.v, sizeof(double) * (size_t)size);
    for (int i = 0; i < size; i++) f->v[k * size + i] += speed * rng_normal(&r);
  }
}

carom_status event_fixture_make(event_fixture *f, json_t *scene, int velocity_count, double speed,
                                carom_error *error) {
  *f = (event_fixture){.velocity_count = velocity_count};
  arena_init(&f->memory);
  carom_status status = parse_scene(f, scene, error);
  if (status == CAROM_OK) status = allocate(f, error);
  if (status != CAROM_OK) return status;
  const carom_system *s = f->system;
  f->options = carom_rollout_default_options(s);
  memcpy(f->x, s->initial.x, sizeof(double) * (size_t)s->coordinate_count);
  draw_velocities(f, speed);
  if (!mechanics_init(&f->m, s))
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  double *theta = malloc(sizeof(double) * (size_t)s->parameter_count);
  if (theta == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  carom_parameters_default(s, theta);
  mechanics_set_parameters(&f->m, theta);
  free(theta);
  contact_list_init(&f->active);
  bool detected = collision_detect(s, f->x, &f->active);
  const contact_event event = contact_event_make(&f->m, &f->options, &f->active, f->x, &f->memory);
  f->impulses = malloc(event_impulses_bytes(&event) * (size_t)velocity_count);
  if (detected && f->impulses != NULL) return CAROM_OK;
  return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
}

void event_fixture_free(event_fixture *f) {
  if (f->m.system != NULL) {
    mechanics_free(&f->m);
    contact_list_free(&f->active);
  }
  arena_free(&f->memory);
  free(f->x);
  free(f->v);
  free(f->after);
  free(f->moved);
  free(f->v_bar);
  free(f->x_bar);
  free(f->theta_bar);
  free(f->impulses);
  carom_system_destroy(f->system);
}

// impulses of the event with velocity k
static event_impulses impulses_of(const event_fixture *f, const contact_event *event, int k) {
  char *memory = f->impulses;
  return event_impulses_at(event, memory + event_impulses_bytes(event) * (size_t)k);
}

// makes and solves one event for every velocity
static void run_forward(void *user) {
  event_fixture *f = user;
  size_t size = (size_t)f->system->coordinate_count;
  for (int k = 0; k < f->velocity_count; k++) {
    arena_mark mark = arena_save(&f->memory);
    memcpy(f->after, f->v + (size_t)k * size, size * sizeof(double));
    const contact_event event =
        contact_event_make(&f->m, &f->options, &f->active, f->x, &f->memory);
    event_impulses impulses = impulses_of(f, &event, k);
    contact_event_solve(&event, f->moved, f->after, &impulses, &f->memory);
    arena_restore(&f->memory, mark);
  }
}

// makes again (a tape does not keep matrices) and reverses
static void run_reverse(void *user) {
  event_fixture *f = user;
  size_t size = (size_t)f->system->coordinate_count;
  for (int k = 0; k < f->velocity_count; k++) {
    arena_mark mark = arena_save(&f->memory);
    for (size_t i = 0; i < size; i++) f->v_bar[i] = f->x_bar[i] = i % 2 == 0 ? 1.0 : -0.5;
    const contact_event event =
        contact_event_make(&f->m, &f->options, &f->active, f->x, &f->memory);
    const event_impulses impulses = impulses_of(f, &event, k);
    contact_event_vjp(&event, f->v + (size_t)k * size, &impulses, f->v_bar, f->x_bar, f->theta_bar,
                      &f->memory);
    arena_restore(&f->memory, mark);
  }
}

event_times event_fixture_time(event_fixture *f, double seconds) {
  double forward = bench_least_time(run_forward, f, seconds);
  double reverse = bench_least_time(run_reverse, f, seconds);
  return (event_times){.forward = forward / f->velocity_count,
                       .reverse = reverse / f->velocity_count};
}
