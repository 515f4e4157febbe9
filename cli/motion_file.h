/* Motions: what a file of carom has that moves, whatever kind of file it is, for pages and pictures.
 *
 * A motion is an array of states: /x of a trajectory file, /train/x of a data set, /x_predicted and
 * /x_true of an evaluation, /x of a plan's result, whose samples are before and after. Any dataset whose last part of the name begins
 * with x and whose last two axes are points and coordinates of the scene is taken, with the velocities of
 * the same name, and the contact flags, lengths and controls beside it. */
#ifndef CAROM_CLI_MOTION_FILE_H
#define CAROM_CLI_MOTION_FILE_H

#include "carom.h"

typedef struct motion {
  char name[128];  /* of the sample: "3", "train 3" */
  char role[64];   /* "", "true", "predicted", "before", ...: motions of one sample differ in it */
  int sample;      /* motions of one sample have the same number */
  int states;      /* until the first that is missing */
  const double *x; /* [states][point_count][dimension] */
  const double *v; /* NULL: not known */
  const double *u; /* [states - 1][control_size]; NULL: none */
  const double *contact; /* [states] flags; NULL: not known */
  bool predicted;        /* computed with other parameters than the scene's */
} motion;

typedef struct motion_set {
  carom_system *system;
  carom_system_info info;
  carom_arrays arrays; /* owns the numbers */
  double dt;
  int count;
  motion *items;
  int sample_count; /* of those taken */
  int sample_total; /* in the file */
} motion_set;

/* Which of them: `most` samples of each group from `first` on. */
typedef struct motion_choice {
  const char *scene; /* NULL: that of the file */
  int first, most;
} motion_choice;

/* Reads a file. `count` may be 0: the file has numbers, but nothing that moves. */
carom_status motion_set_read(const char *path, const motion_choice *choice, motion_set *set,
                             carom_error *error);
void motion_set_free(motion_set *set);

#endif
