#include "cli/motion_file.h"

#include "cli/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Words that tell motions of one sample apart. */
static const char *const roles[] = {"true",    "predicted", "before", "after", "start",
                                    "initial", "final",     "target", NULL};

static bool is_role(const char *word) {
  for (int k = 0; roles[k] != NULL; k++)
    if (strcmp(word, roles[k]) == 0) return true;
  return false;
}

/* A dataset of states: "GROUP/x_ROLE", either of which may be missing. */
typedef struct state_array {
  const carom_array *x;
  char group[64], role[64];
  int samples, states;
} state_array;

// whether an array holds states of the system, and what its name says
static bool read_name(const motion_set *set, const carom_array *a, state_array *out) {
  const char *slash = strrchr(a->name, '/');
  const char *last = slash != NULL ? slash + 1 : a->name;
  if (last[0] != 'x' || (last[1] != '\0' && last[1] != '_')) return false;
  if (a->rank < 3 || a->shape[a->rank - 2] != set->info.point_count ||
      a->shape[a->rank - 1] != set->info.dimension)
    return false;
  *out = (state_array){.x = a};
  if (slash != NULL)
    snprintf(out->group, sizeof out->group, "%.*s", (int)(slash - a->name), a->name);
  if (last[1] == '_') snprintf(out->role, sizeof out->role, "%.60s", last + 2);
  if (out->role[0] == '\0' && is_role(out->group)) {
    memcpy(out->role, out->group, sizeof out->role);
    out->group[0] = '\0';
  }
  // three axes: one trajectory, but for a file of initial states, where each sample has one
  const bool initial = a->rank == 3 && strcmp(a->name, "x") == 0;
  out->samples = a->rank == 4 || initial ? a->shape[0] : 1;
  out->states = initial ? 1 : a->shape[a->rank - 3];
  return true;
}

// the array of another name beside /GROUP/x_ROLE
static const carom_array *beside(const motion_set *set, const state_array *s, const char *letter,
                                 bool with_role) {
  char name[sizeof s->x->name + 32];
  const char *slash = strrchr(s->x->name, '/');
  const char *role = strchr(slash != NULL ? slash : s->x->name, '_');
  snprintf(name, sizeof name, "%.*s%s%s", slash != NULL ? (int)(slash + 1 - s->x->name) : 0,
           s->x->name, letter, with_role && role != NULL ? role : "");
  return carom_arrays_find(&set->arrays, name);
}

// states of a sample until one is missing or was not reached
static int usable_states(const motion_set *set, const state_array *s, int sample, const double *x) {
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  const carom_array *length = beside(set, s, "length", false);
  int states = s->states;
  if (length != NULL && length->rank == 1 && sample < length->shape[0] &&
      length->values[sample] >= 0 && length->values[sample] < states)
    states = (int)length->values[sample];
  for (int k = 0; k < states; k++)
    for (size_t i = 0; i < size; i++)
      if (!isfinite(x[(size_t)k * size + i])) return k;
  return states;
}

static const double *row_of(const carom_array *a, int rank, int samples, int sample) {
  if (a == NULL || a->rank < 1) return NULL;
  size_t row = 1;
  for (int k = 1; k < a->rank; k++) row *= (size_t)a->shape[k];
  if (a->rank == rank - 1) return samples == 1 ? a->values : NULL;
  return a->rank == rank && a->shape[0] == samples ? a->values + (size_t)sample * row : NULL;
}

// velocities as long as positions, finite as far as they are
static const double *velocities(const motion_set *set, const state_array *s, int sample,
                                int *states) {
  const carom_array *v = beside(set, s, "v", true);
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  if (v == NULL || v->rank != s->x->rank) return NULL;
  for (int k = 0; k < v->rank; k++)
    if (v->shape[k] != s->x->shape[k]) return NULL;
  const double *values = v->values + (size_t)sample * (size_t)s->states * size;
  for (size_t i = 0; i < (size_t)*states * size; i++)
    if (!isfinite(values[i])) return NULL;
  return values;
}

// the samples of a plan's result are one motion before, after, and after with the scene's own properties
static bool is_plan(const motion_set *set) {
  return carom_arrays_find(&set->arrays, "best_unknowns") != NULL;
}

static void name_motion(const motion_set *set, const state_array *s, int sample, motion *m) {
  static const char *const parts[] = {"before", "after", "after, true properties"};
  memcpy(m->role, s->role, sizeof m->role);
  snprintf(m->name, sizeof m->name, "%s%s%d", s->group, s->group[0] != '\0' ? " " : "", sample);
  if (!is_plan(set) || strcmp(s->x->name, "x") != 0 || sample > 2) return;
  snprintf(m->role, sizeof m->role, "%s", parts[sample]);
  snprintf(m->name, sizeof m->name, "0");
}

static motion make_motion(const motion_set *set, const state_array *s, int sample) {
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  motion m = {.x = s->x->values + (size_t)sample * (size_t)s->states * size};
  m.states = usable_states(set, s, sample, m.x);
  m.v = velocities(set, s, sample, &m.states);
  const carom_array *flags = beside(set, s, "contact", false);
  if (flags != NULL && flags->rank > 0 && flags->shape[flags->rank - 1] == s->states)
    m.contact = row_of(flags, 2, s->samples, sample);
  const carom_array *u = beside(set, s, "u", true);
  if (u != NULL && u->rank > 1 && u->shape[u->rank - 1] == set->info.control_size &&
      u->shape[u->rank - 2] == s->states - 1)
    m.u = row_of(u, 3, s->samples, sample);
  name_motion(set, s, sample, &m);
  // so are the first two of a plan that was made with learned properties
  const bool learned = is_plan(set) && carom_arrays_find(&set->arrays, "true_terms") != NULL;
  m.predicted = strcmp(m.role, "predicted") == 0 || (learned && sample < 2);
  return m;
}

// the number of a sample of this name; a new one for a name that is new
static int sample_number(motion_set *set, const char *name) {
  for (int k = 0; k < set->count; k++)
    if (strcmp(set->items[k].name, name) == 0) return set->items[k].sample;
  return set->sample_count++;
}

static carom_status add_motions(motion_set *set, const state_array *s, const motion_choice *choice,
                                carom_error *error) {
  const int first = is_plan(set) ? 0 : choice->first < s->samples ? choice->first : s->samples;
  const int rest = s->samples - first;
  const int most = is_plan(set) || rest < choice->most ? rest : choice->most;
  motion *items = realloc(set->items, sizeof(motion) * (size_t)(set->count + most + 1));
  if (items == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  set->items = items;
  for (int k = first; k < first + most; k++) {
    motion m = make_motion(set, s, k);
    if (m.states == 0) continue;
    m.sample = sample_number(set, m.name);
    set->items[set->count++] = m;
  }
  return CAROM_OK;
}

// data as it is learned from: training before validation and test; what is true before what is predicted
static int place_of(const state_array *s) {
  static const char *const order[] = {"train", "val",       "test",  "before", "true",
                                      "",      "predicted", "after", NULL};
  const char *word = s->group[0] != '\0' ? s->group : s->role;
  int k = 0;
  while (order[k] != NULL && strcmp(order[k], word) != 0) k++;
  return k;
}

static carom_status collect(motion_set *set, const motion_choice *choice, carom_error *error) {
  enum { PLACES = 9 };
  carom_status status = CAROM_OK;
  for (int place = 0; place < PLACES; place++) {
    for (int k = 0; status == CAROM_OK && k < set->arrays.count; k++) {
      state_array s;
      if (!read_name(set, &set->arrays.items[k], &s) || place_of(&s) != place) continue;
      if (!is_role(s.role) || s.role[0] == 't' || set->sample_total == 0)
        set->sample_total += is_plan(set) ? 1 : s.samples;
      status = add_motions(set, &s, choice, error);
    }
  }
  return status;
}

static carom_status find_system(motion_set *set, const char *path, const char *scene,
                                carom_error *error) {
  if (scene != NULL) return carom_system_load(scene, &set->system, error);
  if (set->arrays.scene == NULL)
    return carom_error_set(error, CAROM_INVALID_DATA,
                           "%s: does not say of which scene it is; name it with --scene", path);
  return carom_system_parse(set->arrays.scene, strlen(set->arrays.scene), path, &set->system,
                            error);
}

// the attribute dt, else the distance of the times, else the scene's
static double time_step(const motion_set *set) {
  const carom_array *t = carom_arrays_find(&set->arrays, "t");
  if (set->arrays.dt > 0 && isfinite(set->arrays.dt)) return set->arrays.dt;
  if (t != NULL && t->rank == 1 && t->shape[0] > 1) {
    const double mean = (t->values[t->shape[0] - 1] - t->values[0]) / (t->shape[0] - 1);
    if (mean > 0 && isfinite(mean)) return mean;
  }
  return set->info.dt;
}

// motion is shown at equal steps
static void warn_of_times(const motion_set *set, const char *path) {
  const carom_array *t = carom_arrays_find(&set->arrays, "t");
  if (t != NULL && t->rank == 2)
    fprintf(stderr,
            "carom: warning: %s: time steps are unequal; states are shown %g apart, their median\n",
            path, set->dt);
}

carom_status motion_set_read(const char *path, const motion_choice *choice, motion_set *set,
                             carom_error *error) {
  *set = (motion_set){0};
  carom_status status = carom_arrays_read(path, &set->arrays, error);
  if (status == CAROM_OK && set->arrays.count == 0)
    status = carom_error_set(error, CAROM_INVALID_DATA,
                             "%s: is an HDF5 file without any numbers; nothing to show", path);
  if (status == CAROM_OK) status = find_system(set, path, choice->scene, error);
  if (status == CAROM_OK) {
    set->info = carom_system_describe(set->system);
    set->dt = time_step(set);
    status = collect(set, choice, error);
  }
  if (status == CAROM_OK) warn_of_times(set, path);
  if (status != CAROM_OK) motion_set_free(set);
  return status;
}

void motion_set_free(motion_set *set) {
  free(set->items);
  carom_arrays_free(&set->arrays);
  carom_system_destroy(set->system);
  *set = (motion_set){0};
}
