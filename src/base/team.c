#include "base/team.h"

#include <math.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static team_pace *pace_of(team *t) {
  int place = 0;
  for (int size = t->size; size > 1 && place + 1 < TEAM_SIZES; size /= 2) place++;
  return &t->paces[place];
}

bool team_begin(team *t, int size) {
  enum { FIRST_REST = 16, LONGEST_REST = 4096 };
  t->size = size;
  team_pace *p = pace_of(t);
  if (p->alone == 0 || p->together == 0) {
    t->awake = p->alone != 0;
    p->until = p->rest = FIRST_REST;
  } else {
    t->awake = p->together < p->alone;
    if (p->until-- == 0) {
      t->awake = !t->awake;
      p->rest = p->rest < LONGEST_REST ? 2 * p->rest : LONGEST_REST;
      p->until = p->rest;
    }
  }
  t->begin = now();
  return t->awake;
}

/* The way that is taken has a mean over its last pieces, in which one that was interrupted counts for little; the other
 * one what its trial took. */
void team_took(team *t, double seconds) {
  const double WEIGHT = 0.1, MOST = 8;
  team_pace *p = pace_of(t);
  double *of = t->awake ? &p->together : &p->alone;
  const double other = t->awake ? p->alone : p->together;
  const double pace = fmax(seconds, 1e-9) / t->size;
  const bool trial = *of == 0 || (other != 0 && *of >= other);
  *of = trial ? pace : *of + WEIGHT * (fmin(pace, MOST * *of) - *of);
}

void team_end(team *t) { team_took(t, now() - t->begin); }
