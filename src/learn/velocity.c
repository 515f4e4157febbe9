#include "learn/velocity.h"

#include "base/error.h"
#include "system/state_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 20000 /* that are compared */, FEWEST_STATES = 10 };

/* The best of the three is clearly better than the others. */
static const double CLEARLY_BETTER = 0.6;

/* Half the change of a step is rounding below this part of the speed. */
static const double ROUNDING = 1e-9;

/* ---- to which time velocities belong ---- */

/* Distances of one velocity from the three differences, over the centres of all bodies. */
typedef struct distances {
  double half_change, central, backward, forward;
} distances;

static double square(double a) { return a * a; }

// adds those of one coordinate, squared
static void add_squares(const motion *m, int k, int coordinate, distances *d) {
  const size_t size = (size_t)m->size, at = (size_t)k * size + (size_t)coordinate;
  // (x_k - x_{k-1}) / dt, (x_{k+1} - x_k) / dt and what they say of the state between them
  const double b = (m->x[at] - m->x[at - size]) / motion_time(m, k - 1, k),
               f = (m->x[at + size] - m->x[at]) / motion_time(m, k, k + 1),
               later = motion_time(m, k - 1, k) / motion_time(m, k - 1, k + 1);
  const double v = m->v[at], c = (1 - later) * b + later * f;
  d->half_change += square(0.5 * (f - b));
  d->central += square(v - c);
  d->backward += square(v - b);
  d->forward += square(v - f);
}

static distances distances_at(const carom_system *s, const motion *m, int k) {
  distances d = {0};
  for (int b = 0; b < s->body_count; b++)
    for (int i = 0; i < s->dimension; i++)
      add_squares(m, k, s->bodies[b].first_point * s->dimension + i, &d);
  return (distances){sqrt(d.half_change), sqrt(d.central), sqrt(d.backward), sqrt(d.forward)};
}

static bool is_free(const motion *m, const uint8_t *flags, int k) {
  return k > 0 && k + 1 < m->states && !flags[k - 1] && !flags[k] && !flags[k + 1];
}

static int compare_changes(const void *a, const void *b) {
  const distances *p = a, *q = b;
  return (p->half_change < q->half_change) - (p->half_change > q->half_change);
}

static double median_of(const distances *all, int count, size_t field, double *room) {
  for (int k = 0; k < count; k++) room[k] = *(const double *)((const char *)&all[k] + field);
  return median(room, count);
}

static velocity_convention decide(const velocity_fit *f) {
  const struct {
    double distance;
    velocity_convention convention;
  } all[] = {{f->central, VELOCITY_OF_STATE},
             {f->backward, VELOCITY_OF_STEP_BEFORE},
             {f->forward, VELOCITY_OF_STEP_AFTER}};
  for (int k = 0; k < 3; k++) {
    bool best = true;
    for (int other = 0; other < 3; other++)
      best = best && (k == other || all[k].distance < CLEARLY_BETTER * all[other].distance);
    if (best) return all[k].convention;
  }
  return VELOCITY_UNDECIDED;
}

// the half of the states in which velocities change most tells
static void judge(distances *all, int count, double speed, double *room, velocity_fit *fit) {
  qsort(all, (size_t)count, sizeof *all, compare_changes);
  const int telling = (count + 1) / 2;
  fit->states = telling;
  if (telling < FEWEST_STATES || all[telling - 1].half_change <= ROUNDING * speed) return;
  fit->central = median_of(all, telling, offsetof(distances, central), room);
  fit->backward = median_of(all, telling, offsetof(distances, backward), room);
  fit->forward = median_of(all, telling, offsetof(distances, forward), room);
  fit->convention = decide(fit);
}

carom_status velocity_fit_find(const carom_system *system, int count, const motion *motions,
                               const uint8_t *const *flags, velocity_fit *fit, carom_error *error) {
  *fit = (velocity_fit){.convention = VELOCITY_UNDECIDED};
  distances *all = malloc(sizeof *all * MOST_STATES);
  double *room = malloc(sizeof *room * MOST_STATES), speed = 0;
  if (all != NULL && room != NULL) {
    const size_t stride = motion_stride(count, motions, MOST_STATES);
    size_t place = 0;
    int found = 0;
    for (int i = 0; i < count; i++)
      for (int k = 1; k < motions[i].states; k++)
        if (place++ % stride == 0 && is_free(&motions[i], flags[i], k) && found < MOST_STATES) {
          all[found++] = distances_at(system, &motions[i], k);
          speed =
              fmax(speed, state_speed(system, motions[i].v + (size_t)k * (size_t)motions[i].size));
        }
    judge(all, found, speed, room, fit);
  }
  const bool done = all != NULL && room != NULL;
  free(all);
  free(room);
  return done ? CAROM_OK : error_set(error, CAROM_OUT_OF_MEMORY, "no memory to compare velocities");
}

/* ---- velocities from positions ---- */

/* Weights [count] of the slope at 0 of the quadratic that fits values at times t [count] best. With moments s_p = sum t^p and the values' w_p = sum t^p y the normal equations
 * give, for a slope b: Cramer's rule on (s_0 s_1 s_2; s_1 s_2 s_3; s_2 s_3 s_4). */
static void slope_weights(const double *t, int count, double *weights) {
  double s[5] = {0};
  for (int k = 0; k < count; k++)
    for (int p = 0; p < 5; p++) s[p] += pow(t[k], p);
  if (count < 3) { // a line through two states, none through one
    for (int k = 0; k < count; k++) weights[k] = count == 2 ? (k == 0 ? -1 : 1) / (t[1] - t[0]) : 0;
    return;
  }
  const double determinant = s[0] * (s[2] * s[4] - s[3] * s[3]) -
                             s[1] * (s[1] * s[4] - s[2] * s[3]) +
                             s[2] * (s[1] * s[3] - s[2] * s[2]);
  // the middle row of the inverse
  const double row[3] = {s[2] * s[3] - s[1] * s[4], s[0] * s[4] - s[2] * s[2],
                         s[1] * s[2] - s[0] * s[3]};
  for (int k = 0; k < count; k++)
    weights[k] = (row[0] + row[1] * t[k] + row[2] * t[k] * t[k]) / determinant;
}

// the states that are fitted for state k: within reach, on its side, three if there are so many
static void window_of(int k, int begin, int end, int reach, int *first, int *last) {
  *first = k - reach > begin ? k - reach : begin;
  *last = k + reach < end - 1 ? k + reach : end - 1;
  while (*last - *first < 2 && *last < end - 1) ++*last;
  while (*last - *first < 2 && *first > begin) --*first;
}

void velocity_estimate(const motion *m, const uint8_t *impacts, int reach, double *v) {
  enum { MOST_REACH = 2 };
  const size_t size = (size_t)m->size;
  double weights[2 * MOST_REACH + 1], times[2 * MOST_REACH + 1]; // in steps
  for (int begin = 0, end; begin < m->states; begin = end) {
    for (end = begin + 1; end < m->states && !impacts[end];) end++;
    for (int k = begin; k < end; k++) {
      int first, last;
      window_of(k, begin, end, reach, &first, &last);
      // a state alone between two impacts: the best there is, across one of them
      if (last == first) window_of(k, 0, m->states, 1, &first, &last);
      for (int j = first; j <= last; j++)
        times[j - first] = m->t != NULL ? motion_time(m, k, j) / m->dt : j - k;
      slope_weights(times, last - first + 1, weights);
      for (size_t i = 0; i < size; i++) {
        double sum = 0;
        for (int j = first; j <= last; j++) sum += weights[j - first] * m->x[(size_t)j * size + i];
        v[(size_t)k * size + i] = sum / m->dt;
      }
    }
  }
}

// time of state k since the first; of one beyond an end, with a step as long as the one beside it
static double time_of(const motion *m, int k) {
  const int last = m->states - 1;
  if (m->t == NULL || last < 1) return k * m->dt;
  if (k < 0) return k * motion_time(m, 0, 1);
  if (k > last) return motion_time(m, 0, last) + (k - last) * motion_time(m, last - 1, last);
  return motion_time(m, 0, k);
}

/* Positions whose steps are the given velocities, one state more than there are velocities: then they
 * are estimated as any others. */
bool velocity_shift(const motion *m, const uint8_t *impacts, bool after, double *v) {
  const size_t size = (size_t)m->size, states = (size_t)m->states, skip = after ? 0 : 1;
  double *y = calloc((states + 1) * size, sizeof(double));
  double *all = calloc((states + 1) * size, sizeof(double));
  uint8_t *cuts = calloc(states + 1, 1);
  double *times = calloc(states + 1, sizeof(double));
  const bool done = y != NULL && all != NULL && cuts != NULL && times != NULL;
  if (done) {
    // y_{k+1} = y_k + v dt; a state k of the motion is number k + skip here
    for (int k = 0; k <= m->states; k++) times[k] = time_of(m, k - (int)skip);
    for (size_t i = 0; i < states * size; i++)
      y[size + i] = y[i] + m->v[i] * (m->t != NULL ? times[i / size + 1] - times[i / size] : m->dt);
    memcpy(cuts + skip + 1, impacts + 1, states - 1);
    const motion steps = {m->states + 1, m->size, m->dt, y, NULL, m->t != NULL ? times : NULL};
    velocity_estimate(&steps, cuts, 1, all);
    memcpy(v, all + skip * size, sizeof(double) * states * size);
  }
  free(y);
  free(all);
  free(cuts);
  free(times);
  return done;
}
