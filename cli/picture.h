/* Pictures of motions: one moment, drawn with cairo on anything that cairo draws on. */
#ifndef CAROM_CLI_PICTURE_H
#define CAROM_CLI_PICTURE_H

#include "cli/page_motion.h"
#include "cli/plan_notes.h"
#include "cli/projection.h"

#include <cairo.h>

typedef enum picture_theme { PICTURE_LIGHT, PICTURE_DARK } picture_theme;

/* A motion with its set and what acts in it. */
typedef struct picture_motion {
  const motion_set *set;
  const motion *motion;
  motion_contacts contacts;
} picture_motion;

typedef struct picture {
  int count;
  picture_motion *motions; /* laid over each other, the first paler where there are several */
  int tie_count;
  const carom_tie_info *ties; /* drawn_ties of the scene */
  projection view;
  picture_theme theme;
  double trail;       /* seconds; 0: none */
  bool contacts;      /* flashes and arrows of impulses */
  int strobe;         /* earlier states, paler the longer ago; 0: none */
  double strobe_from; /* time of the first of them */
  int target_count;
  plan_target targets[MOST_TARGETS]; /* of a plan, where bodies are to be */
  double *state;                     /* scratch [point_count * dimension] */
} picture;

/* Draws the moment `time`, over the whole of the paper. */
void picture_draw(const picture *p, cairo_t *pen, double time);

#endif
