/* Animations: frames of 32-bit pixels (cairo's RGB24) into a GIF, or through ffmpeg into an MP4. */
#ifndef CAROM_CLI_ANIMATION_H
#define CAROM_CLI_ANIMATION_H

#include "carom.h"

/* Draws frame `index` into pixels [height][width]; false after Ctrl-C. */
typedef bool (*frame_function)(void *user, int index, uint32_t *pixels);

typedef struct animation {
  int width, height;
  int frames;
  double rate; /* frames for a second */
  frame_function draw;
  void *user;
} animation;

/* A GIF that repeats. One palette for all frames, by median cut over colours of frames all along; of each
 * frame only what changed is kept. The format has hundredths of a second: other rates are rounded. */
carom_status animation_write_gif(const animation *a, const char *path, carom_error *error);

/* An MP4 (H.264), by the program ffmpeg, which must be there. */
carom_status animation_write_mp4(const animation *a, const char *path, carom_error *error);

#endif
