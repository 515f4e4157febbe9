/* Is it worth to wake other threads for a short piece of work? By how long pieces of its size have
 * taken with them and without.
 *
 * Where another program is on the same processors, a thread may wait a thousand times as long for
 * the others as its work takes; where the machine is idle, two threads halve it. Neither can be
 * told beforehand, so both ways are tried, the slower one ever more rarely. What is computed must
 * not depend on it. */
#ifndef CAROM_BASE_TEAM_H
#define CAROM_BASE_TEAM_H

#include <stdbool.h>

enum { TEAM_SIZES = 12 /* sizes of work that are told apart, by factors of two */ };

typedef struct team_pace {
  double alone, together; /* seconds for a unit of size; 0: not known */
  int until, rest;        /* pieces to the next trial of the slower way, and between trials */
} team_pace;

typedef struct team {
  team_pace paces[TEAM_SIZES];
  int size; /* of the piece that is being done */
  bool awake;
  double begin;
} team;

/* A piece of so much work begins: whether other threads are to be woken for it. */
bool team_begin(team *t, int size);

/* It is done; or it took so many seconds. */
void team_end(team *t);
void team_took(team *t, double seconds);

#endif
