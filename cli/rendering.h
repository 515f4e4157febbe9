/* Motions of files, open for pictures: what `carom render` and the report draw. */
#ifndef CAROM_CLI_RENDERING_H
#define CAROM_CLI_RENDERING_H

#include "cli/byte_buffer.h"
#include "cli/picture.h"

enum { MOST_OVERLAYS = 8 };

/* What is drawn of which files, and how. */
typedef struct render_options {
  const char *input, *scene, *role; /* scene, role: NULL for that of the file, for all */
  const char *overlays[MOST_OVERLAYS];
  int overlay_count;
  int width, height, sample, strobe;
  picture_theme theme;
  double from, to;   /* times, as far as the motion has them */
  double at;         /* moment of a still; below 0: the last */
  double trail;      /* seconds; below 0: as fits */
  double yaw, pitch; /* camera in space, degrees */
  bool no_contacts;
} render_options;

render_options render_default_options(void);

/* Everything open while a picture is made. */
typedef struct rendering {
  const render_options *given;
  motion_set sets[1 + MOST_OVERLAYS];
  int set_count;
  picture picture;
  double from, to; /* times that there are */
} rendering;

carom_status rendering_open(rendering *r, const render_options *given, carom_error *error);
void rendering_close(rendering *r);

/* Draws one moment. */
void rendering_draw(const rendering *r, cairo_surface_t *surface, double time);

/* A still as SVG or PNG; the caller frees the bytes. `name` is for messages. */
carom_status rendering_still(rendering *r, bool vector, const char *name, byte_buffer *out,
                             carom_error *error);

#endif
