/* carom render: stills and animations of trajectories. */
#include "cli/animation.h"
#include "cli/arguments.h"
#include "cli/byte_buffer.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/picture.h"
#include "cli/progress.h"

#include <cairo-svg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  KEY_SIZE = 256,
  KEY_RATE,
  KEY_SPEED,
  KEY_RANGE,
  KEY_AT,
  KEY_TRAIL,
  KEY_STROBE,
  KEY_OVERLAY,
  KEY_SAMPLE,
  KEY_ROLE,
  KEY_THEME,
  KEY_TURN,
  KEY_CONTACTS,
  KEY_SCENE
};

static const char *const formats[] = {"gif", "mp4", "png", "svg", NULL};
static const char *const theme_names[] = {"light", "dark", NULL};
enum { FORMAT_GIF, FORMAT_MP4, FORMAT_PNG, FORMAT_SVG, FORMAT_NONE = -1 };
enum { MOST_OVERLAYS = 8, MOST_FRAMES = 100000 };

typedef struct arguments {
  const char *input, *output, *scene, *role;
  const char *overlays[MOST_OVERLAYS];
  int overlay_count;
  int width, height, sample, strobe, theme, format;
  double rate, speed, from, to, at, trail, yaw, pitch;
  bool no_contacts;
  general_options general;
} arguments;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "the picture: .gif, .mp4 (needs ffmpeg), .png or .svg", 0},
    {"sample", KEY_SAMPLE, "K", 0, "number of the trajectory (0)", 0},
    {"overlay", KEY_OVERLAY, "FILE", 0,
     "lay the trajectory of another file over it; may be repeated", 0},
    {"role", KEY_ROLE, "NAME", 0,
     "of an evaluation or a plan, one motion alone: true, predicted, before, after (all, laid over "
     "each other)",
     0},
    {"scene", KEY_SCENE, "SCENE", 0, "scene of files that do not say theirs", 0},
    {"range", KEY_RANGE, "FROM:TO", 0, "times to show (all); either may be left out", 1},
    {"at", KEY_AT, "TIME", 0, "moment of a still (the end of the range)", 1},
    {"strobe", KEY_STROBE, "N", 0, "in a still, N earlier states, paler the longer ago (0)", 1},
    {"rate", KEY_RATE, "N", 0, "frames for a second of an animation (25)", 1},
    {"speed", KEY_SPEED, "X", 0,
     "seconds of the motion in a second of an animation (so that it takes 2 to 6)", 1},
    {"size", KEY_SIZE, "WxH", 0, "pixels (640x480)", 2},
    {"theme", KEY_THEME, "NAME", 0, "light (default) or dark", 2},
    {"trail", KEY_TRAIL, "SECONDS", 0,
     "length of trails (a quarter of the range, 0.5 at most; 0: none)", 2},
    {"no-contacts", KEY_CONTACTS, NULL, 0, "do not mark contacts and their impulses", 2},
    {"turn", KEY_TURN, "YAW,PITCH", 0, "camera in space, degrees (52,20)", 2},
    {"quiet", 'q', NULL, 0, "show no progress", 3},
    {0}};

/* ---- the command line ------------------------------------------------------------------------ */

// two numbers with a character between them; what is left out keeps its value
static void parse_two(struct argp_state *state, const char *option, char *text, const char *between,
                      double *first, double *second) {
  char *middle = strpbrk(text, between);
  if (middle == NULL)
    argp_error(state, "%s %s: expected two numbers with '%c' between them", option, text,
               between[0]);
  const char separator = *middle;
  *middle = '\0';
  if (text[0] != '\0') *first = parse_number(state, option, text, -1e12, 1e12);
  if (middle[1] != '\0') *second = parse_number(state, option, middle + 1, -1e12, 1e12);
  *middle = separator;
}

static void parse_size(struct argp_state *state, char *text, arguments *a) {
  double width = 0, height = 0;
  parse_two(state, "--size", text, "xX", &width, &height);
  if (!(width >= 16 && width <= 8192 && height >= 16 && height <= 8192))
    argp_error(state, "--size %s: expected from 16x16 to 8192x8192", text);
  a->width = (int)width;
  a->height = (int)height;
}

static void add_overlay(struct argp_state *state, const char *text, arguments *a) {
  if (a->overlay_count == MOST_OVERLAYS)
    argp_error(state, "--overlay: more than %d files", MOST_OVERLAYS);
  a->overlays[a->overlay_count++] = text;
}

static int format_of(const char *path) {
  const char *dot = strrchr(path, '.');
  for (int k = 0; dot != NULL && formats[k] != NULL; k++)
    if (strcasecmp(dot + 1, formats[k]) == 0) return k;
  return FORMAT_NONE;
}

static void check_complete(arguments *a, struct argp_state *state) {
  if (a->input == NULL) argp_error(state, "what to draw is missing: a file with trajectories");
  if (a->output == NULL) argp_error(state, "-o FILE is missing: the picture to write");
  a->format = format_of(a->output);
  if (a->format == FORMAT_NONE)
    argp_error(state, "-o %s: expected a name that ends with .gif, .mp4, .png or .svg", a->output);
  if (a->from >= a->to) argp_error(state, "--range: ends before it begins");
  if (a->format == FORMAT_MP4) {
    // the encoder takes even sizes
    a->width += a->width % 2;
    a->height += a->height % 2;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case 'o': a->output = text; return 0;
    case 'q': a->general.quiet = true; return 0;
    case KEY_SIZE: parse_size(state, text, a); return 0;
    case KEY_RATE: a->rate = parse_number(state, "--rate", text, 1, 100); return 0;
    case KEY_SPEED: a->speed = parse_number(state, "--speed", text, 1e-6, 1e6); return 0;
    case KEY_RANGE: parse_two(state, "--range", text, ":", &a->from, &a->to); return 0;
    case KEY_AT: a->at = parse_number(state, "--at", text, 0, 1e12); return 0;
    case KEY_TRAIL: a->trail = parse_number(state, "--trail", text, 0, 1e12); return 0;
    case KEY_STROBE: a->strobe = parse_integer(state, "--strobe", text, 0, 1000); return 0;
    case KEY_OVERLAY: add_overlay(state, text, a); return 0;
    case KEY_SAMPLE: a->sample = parse_integer(state, "--sample", text, 0, 1000000000); return 0;
    case KEY_ROLE: a->role = text; return 0;
    case KEY_THEME: a->theme = parse_name(state, "--theme", text, theme_names); return 0;
    case KEY_TURN: parse_two(state, "--turn", text, ",", &a->yaw, &a->pitch); return 0;
    case KEY_CONTACTS: a->no_contacts = true; return 0;
    case KEY_SCENE: a->scene = text; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "file", text, &a->input); return 0;
    case ARGP_KEY_END: check_complete(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Draws a trajectory of FILE (what `carom simulate`, `dataset`, `evaluate` or `plan` wrote): a "
    "still or an "
    "animation, as the name of the output says. Bodies are drawn as they are, with trails, "
    "contacts and their "
    "impulses."
    "\vExamples:\n"
    "  carom render cp3.h5 -o cp3.gif\n"
    "  carom render runs/cp3/evaluation.h5 --sample 3 --size 1280x720 -o cp3.mp4\n"
    "  carom render bd5.h5 --strobe 6 --trail 0 -o bd5.svg";
static const struct argp argp = {
    .options = options, .parser = parse, .args_doc = "FILE", .doc = help};

/* ---- what is drawn --------------------------------------------------------------------------- */

/* Everything open while a picture is made. */
typedef struct rendering {
  const arguments *given;
  motion_set sets[1 + MOST_OVERLAYS];
  int set_count;
  picture picture;
  double from, to, speed;
  int frames;
  cairo_surface_t *surface;
  progress bar;
} rendering;

static carom_status add_motion(rendering *r, const motion_set *set, const motion *m,
                               carom_error *error) {
  picture *p = &r->picture;
  picture_motion *motions = realloc(p->motions, sizeof *motions * (size_t)(p->count + 1));
  if (motions == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  p->motions = motions;
  motions[p->count++] = (picture_motion){.set = set, .motion = m};
  if (r->given->no_contacts) return CAROM_OK;
  return motion_contacts_find(set, m, &motions[p->count - 1].contacts, error);
}

// the first sample that was read, in every role that is wanted
static carom_status add_set(rendering *r, const char *path, carom_error *error) {
  const arguments *a = r->given;
  motion_set *set = &r->sets[r->set_count];
  const motion_choice choice = {.scene = a->scene, .first = a->sample, .most = 1};
  carom_status status = motion_set_read(path, &choice, set, error);
  if (status != CAROM_OK) return status;
  r->set_count++;
  const int before = r->picture.count;
  for (int k = 0; status == CAROM_OK && k < set->count; k++)
    if (set->items[k].sample == set->items[0].sample &&
        (a->role == NULL || strcmp(a->role, set->items[k].role) == 0))
      status = add_motion(r, set, &set->items[k], error);
  if (status != CAROM_OK || r->picture.count > before) return status;
  if (set->count > 0)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT, "%s: has no motion '%s'", path, a->role);
  if (set->sample_total > 0)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "%s: --sample %d: has %d trajectories, from 0", path, a->sample,
                           set->sample_total);
  return carom_error_set(error, CAROM_INVALID_DATA, "%s: has no trajectories; nothing to draw",
                         path);
}

static carom_status check_overlay(const rendering *r, carom_error *error) {
  const carom_system_info *first = &r->sets[0].info;
  for (int k = 1; k < r->set_count; k++) {
    const carom_system_info *other = &r->sets[k].info;
    if (other->point_count != first->point_count || other->dimension != first->dimension)
      return carom_error_set(error, CAROM_INVALID_ARGUMENT, "--overlay %s: is of %s, not of %s",
                             r->given->overlays[k - 1], other->name, first->name);
  }
  return CAROM_OK;
}

// times, speed and number of frames
static carom_status choose_times(rendering *r, carom_error *error) {
  const arguments *a = r->given;
  double end = 0;
  for (int k = 0; k < r->picture.count; k++)
    end = fmax(end, (r->picture.motions[k].motion->states - 1) * r->picture.motions[k].set->dt);
  r->from = fmax(a->from, 0);
  r->to = fmin(a->to, end);
  if (r->from > end)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "--range: begins at %g, the motion ends at %g", r->from, end);
  const double span = r->to - r->from;
  r->speed = a->speed > 0 ? a->speed : span < 2 ? span / 2 : span > 6 ? span / 6 : 1;
  const double frames = span > 0 ? floor(span / r->speed * a->rate + 0.5) + 1 : 1;
  if (frames > MOST_FRAMES)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "%.3g frames: take a smaller --range or --rate, or a larger --speed",
                           frames);
  r->frames = (int)frames;
  return CAROM_OK;
}

static carom_status prepare(rendering *r, carom_error *error) {
  const arguments *a = r->given;
  carom_status status = add_set(r, a->input, error);
  for (int k = 0; status == CAROM_OK && k < a->overlay_count; k++)
    status = add_set(r, a->overlays[k], error);
  if (status == CAROM_OK) status = check_overlay(r, error);
  if (status == CAROM_OK) status = choose_times(r, error);
  if (status != CAROM_OK) return status;
  picture *p = &r->picture;
  const motion_set *set = &r->sets[0];
  const motion **motions = allocate((size_t)p->count, sizeof *motions);
  carom_tie_info *ties = drawn_ties(set->system, &p->tie_count);
  p->ties = ties;
  p->state = allocate((size_t)set->info.point_count * (size_t)set->info.dimension, sizeof(double));
  if (motions == NULL || p->state == NULL || ties == NULL) {
    free(motions);
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  }
  for (int k = 0; k < p->count; k++) motions[k] = p->motions[k].motion;
  const picture_box box = picture_box_of(set, motions, p->count, r->from, r->to);
  free(motions);
  p->view = projection_make(set->system, &box, a->width, a->height, a->yaw * M_PI / 180,
                            a->pitch * M_PI / 180);
  p->theme = a->theme == 1 ? PICTURE_DARK : PICTURE_LIGHT;
  p->trail = a->trail >= 0 ? a->trail : fmin(0.5, (r->to - r->from) / 4);
  p->contacts = !a->no_contacts;
  return CAROM_OK;
}

static void rendering_close(rendering *r) {
  for (int k = 0; k < r->picture.count; k++) motion_contacts_free(&r->picture.motions[k].contacts);
  free(r->picture.motions);
  free(r->picture.state);
  free((carom_tie_info *)r->picture.ties);
  for (int k = 0; k < r->set_count; k++) motion_set_free(&r->sets[k]);
}

/* ---- files ----------------------------------------------------------------------------------- */

static cairo_status_t put_bytes(void *user, const unsigned char *bytes, unsigned int size) {
  return byte_buffer_add(user, bytes, size) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

static void draw_on(const rendering *r, cairo_surface_t *surface, double time) {
  cairo_t *pen = cairo_create(surface);
  picture_draw(&r->picture, pen, time);
  cairo_destroy(pen);
}

static carom_status write_still(rendering *r, carom_error *error) {
  const arguments *a = r->given;
  byte_buffer out = {0};
  const bool vector = a->format == FORMAT_SVG;
  const double time = a->at >= 0 ? a->at : r->to;
  r->picture.strobe = a->strobe;
  r->picture.strobe_from = r->from < time ? r->from : 0;
  cairo_surface_t *surface =
      vector ? cairo_svg_surface_create_for_stream(put_bytes, &out, a->width, a->height)
             : cairo_image_surface_create(CAIRO_FORMAT_RGB24, a->width, a->height);
  draw_on(r, surface, time);
  cairo_status_t code =
      vector ? CAIRO_STATUS_SUCCESS : cairo_surface_write_to_png_stream(surface, put_bytes, &out);
  cairo_surface_finish(surface);
  if (code == CAIRO_STATUS_SUCCESS) code = cairo_surface_status(surface);
  cairo_surface_destroy(surface);
  const carom_status status = code == CAIRO_STATUS_SUCCESS
                                  ? carom_file_write(a->output, out.bytes, out.size, error)
                                  : carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: %s", a->output,
                                                    cairo_status_to_string(code));
  free(out.bytes);
  return status;
}

// a frame_function
static bool draw_frame(void *user, int index, uint32_t *pixels) {
  rendering *r = user;
  const arguments *a = r->given;
  const double time = fmin(r->from + index * r->speed / a->rate, r->to);
  draw_on(r, r->surface, time);
  cairo_surface_flush(r->surface);
  const unsigned char *data = cairo_image_surface_get_data(r->surface);
  const size_t stride = (size_t)cairo_image_surface_get_stride(r->surface),
               row = sizeof(uint32_t) * (size_t)a->width;
  for (int y = 0; data != NULL && y < a->height; y++)
    memcpy(pixels + (size_t)y * (size_t)a->width, data + (size_t)y * stride, row);
  return progress_update(&r->bar, index + 1, r->frames) && data != NULL;
}

static carom_status write_animation(rendering *r, carom_error *error) {
  const arguments *a = r->given;
  const animation frames = {.width = a->width,
                            .height = a->height,
                            .frames = r->frames,
                            .rate = a->rate,
                            .draw = draw_frame,
                            .user = r};
  r->bar = progress_begin("drawing", "frames", a->general.quiet);
  r->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, a->width, a->height);
  carom_status status = a->format == FORMAT_GIF ? animation_write_gif(&frames, a->output, error)
                                                : animation_write_mp4(&frames, a->output, error);
  if (status != CAROM_OK && interrupted())
    status = carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
  cairo_surface_destroy(r->surface);
  progress_end(&r->bar);
  return status;
}

static carom_status render(rendering *r, carom_error *error) {
  const arguments *a = r->given;
  carom_status status = check_output(a->output, 1, &a->input, error);
  if (status == CAROM_OK) status = check_output(a->output, a->overlay_count, a->overlays, error);
  if (status == CAROM_OK) status = prepare(r, error);
  if (status != CAROM_OK) return status;
  const bool still = a->format == FORMAT_PNG || a->format == FORMAT_SVG;
  return still ? write_still(r, error) : write_animation(r, error);
}

int command_render(int argc, char **argv) {
  arguments a = {.width = 640,
                 .height = 480,
                 .rate = 25,
                 .from = -INFINITY,
                 .to = INFINITY,
                 .at = -1,
                 .trail = -1,
                 .yaw = 52,
                 .pitch = 20};
  parse_command_line(&argp, argc, argv, &a);
  interrupt_install();
  rendering r = {.given = &a};
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (render(&r, &error) != CAROM_OK) {
    code = report_failure("render", &error);
  } else if (a.format == FORMAT_GIF || a.format == FORMAT_MP4) {
    printf("written        %s, %d frames of %d x %d\n", a.output, r.frames, a.width, a.height);
  } else {
    printf("written        %s, %d x %d\n", a.output, a.width, a.height);
  }
  rendering_close(&r);
  return code;
}
