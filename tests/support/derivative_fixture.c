#include "support/derivative_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void fixture_open(fixture *f, const char *scene) {
  carom_error error;
  memset(f, 0, sizeof *f);
  if (carom_system_load(scene, &f->system, &error) != CAROM_OK) fail_msg("%s", error.message);
  const carom_system *s = f->system;
  arena_init(&f->memory);
  contact_list_init(&f->active);
  mechanics_init(&f->mechanics, s);
  int n = s->coordinate_count;
  f->theta = arena_zeros(&f->memory, s->parameter_count);
  f->theta_bar = arena_zeros(&f->memory, s->parameter_count);
  double **vectors[] = {&f->x, &f->v, &f->g, &f->x_bar, &f->v_bar, &f->g_bar};
  for (int i = 0; i < 6; i++) *vectors[i] = arena_zeros(&f->memory, n);
  f->weight = arena_zeros(&f->memory, 2 * n + s->row_count);
  carom_parameters_default(s, f->theta);
  f->options = carom_rollout_default_options(s);
  rng_seed(&f->shapes, 6, 0);
}

void fixture_close(fixture *f) {
  contact_list_free(&f->active);
  mechanics_free(&f->mechanics);
  carom_system_destroy(f->system);
  arena_free(&f->memory);
}

void fixture_draw(fixture *f, rng *random, double noise) {
  const carom_system *s = f->system;
  int d = s->dimension;
  sampler_draw(s, random, f->x, f->v);
  double drop = s->initial.kind == SAMPLER_STATE ? rng_uniform(random, -1, 0) : 0;
  for (int i = 0; i < s->coordinate_count; i++) {
    f->x[i] += noise * rng_normal(random) + (i % d == d - 1 ? drop : 0);
    f->v[i] += 10 * noise * rng_normal(random);
    f->g[i] = rng_normal(random);
  }
  carom_parameters_default(s, f->theta);
  for (int segment = 0; segment < CAROM_SEGMENT_COUNT; segment++) {
    double *values = f->theta + s->segments[segment].offset;
    for (int i = 0; i < s->segments[segment].size; i++) {
      if (segment == CAROM_FRICTION)
        values[i] = rng_uniform(random, 0.05, 0.8);
      else if (segment == CAROM_RESTITUTION)
        values[i] = rng_uniform(random, 0.1, 0.9);
      else if (segment == CAROM_REGULARIZER)
        values[i] = 0.02;
      else if (segment == CAROM_DRAG || segment == CAROM_ANGULAR_DRAG)
        values[i] = 0.02 * (i + 1);
      else if (segment < CAROM_RADIUS) // shapes stay as states were sampled for
        values[i] += 0.05 * rng_normal(random);
    }
  }
  for (int i = 0; i < 2 * s->coordinate_count + s->row_count; i++)
    f->weight[i] = rng_normal(random);
}

void clear_bars(fixture *f) {
  size_t n = sizeof(double) * (size_t)f->system->coordinate_count;
  memset(f->x_bar, 0, n);
  memset(f->v_bar, 0, n);
  memset(f->g_bar, 0, n);
  memset(f->theta_bar, 0, sizeof(double) * (size_t)f->system->parameter_count);
}
