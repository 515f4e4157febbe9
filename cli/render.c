/* carom render: stills and animations of trajectories. */
#include "cli/animation.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/rendering.h"

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
enum { MOST_FRAMES = 100000 };

typedef struct arguments {
  render_options drawn;
  const char *output;
  int format;
  double rate, speed;
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
  a->drawn.width = (int)width;
  a->drawn.height = (int)height;
}

static void add_overlay(struct argp_state *state, const char *text, arguments *a) {
  if (a->drawn.overlay_count == MOST_OVERLAYS)
    argp_error(state, "--overlay: more than %d files", MOST_OVERLAYS);
  a->drawn.overlays[a->drawn.overlay_count++] = text;
}

static int format_of(const char *path) {
  const char *dot = strrchr(path, '.');
  for (int k = 0; dot != NULL && formats[k] != NULL; k++)
    if (strcasecmp(dot + 1, formats[k]) == 0) return k;
  return FORMAT_NONE;
}

static void check_complete(arguments *a, struct argp_state *state) {
  if (a->drawn.input == NULL)
    argp_error(state, "what to draw is missing: a file with trajectories");
  if (a->output == NULL) argp_error(state, "-o FILE is missing: the picture to write");
  a->format = format_of(a->output);
  if (a->format == FORMAT_NONE)
    argp_error(state, "-o %s: expected a name that ends with .gif, .mp4, .png or .svg", a->output);
  if (a->drawn.from >= a->drawn.to) argp_error(state, "--range: ends before it begins");
  if (a->format == FORMAT_MP4) {
    // the encoder takes even sizes
    a->drawn.width += a->drawn.width % 2;
    a->drawn.height += a->drawn.height % 2;
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
    case KEY_RANGE: parse_two(state, "--range", text, ":", &a->drawn.from, &a->drawn.to); return 0;
    case KEY_AT: a->drawn.at = parse_number(state, "--at", text, 0, 1e12); return 0;
    case KEY_TRAIL: a->drawn.trail = parse_number(state, "--trail", text, 0, 1e12); return 0;
    case KEY_STROBE: a->drawn.strobe = parse_integer(state, "--strobe", text, 0, 1000); return 0;
    case KEY_OVERLAY: add_overlay(state, text, a); return 0;
    case KEY_SAMPLE:
      a->drawn.sample = parse_integer(state, "--sample", text, 0, 1000000000);
      return 0;
    case KEY_ROLE: a->drawn.role = text; return 0;
    case KEY_THEME:
      a->drawn.theme = (picture_theme)parse_name(state, "--theme", text, theme_names);
      return 0;
    case KEY_TURN: parse_two(state, "--turn", text, ",", &a->drawn.yaw, &a->drawn.pitch); return 0;
    case KEY_CONTACTS: a->drawn.no_contacts = true; return 0;
    case KEY_SCENE: a->drawn.scene = text; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "file", text, &a->drawn.input); return 0;
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

/* ---- frames ---------------------------------------------------------------------------------- */

/* An animation that is drawn. */
typedef struct film {
  const arguments *given;
  rendering *motions;
  double speed;
  int frames;
  cairo_surface_t *surface;
  progress bar;
} film;

static carom_status choose_frames(film *f, carom_error *error) {
  const arguments *a = f->given;
  const double span = f->motions->to - f->motions->from;
  f->speed = a->speed > 0 ? a->speed : span < 2 ? span / 2 : span > 6 ? span / 6 : 1;
  const double frames = span > 0 ? floor(span / f->speed * a->rate + 0.5) + 1 : 1;
  if (frames > MOST_FRAMES)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "%.3g frames: take a smaller --range or --rate, or a larger --speed",
                           frames);
  f->frames = (int)frames;
  return CAROM_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static carom_status write_still(const arguments *a, rendering *r, carom_error *error) {
  byte_buffer out;
  carom_status status = rendering_still(r, a->format == FORMAT_SVG, a->output, &out, error);
  if (status == CAROM_OK) status = carom_file_write(a->output, out.bytes, out.size, error);
  free(out.bytes);
  return status;
}

// a frame_function
static bool draw_frame(void *user, int index, uint32_t *pixels) {
  film *f = user;
  const rendering *r = f->motions;
  const int width = r->given->width, height = r->given->height;
  rendering_draw(r, f->surface, fmin(r->from + index * f->speed / f->given->rate, r->to));
  cairo_surface_flush(f->surface);
  const unsigned char *data = cairo_image_surface_get_data(f->surface);
  const size_t stride = (size_t)cairo_image_surface_get_stride(f->surface),
               row = sizeof(uint32_t) * (size_t)width;
  for (int y = 0; data != NULL && y < height; y++)
    memcpy(pixels + (size_t)y * (size_t)width, data + (size_t)y * stride, row);
  return progress_update(&f->bar, index + 1, f->frames) && data != NULL;
}

static carom_status write_animation(film *f, carom_error *error) {
  const arguments *a = f->given;
  const animation frames = {.width = a->drawn.width,
                            .height = a->drawn.height,
                            .frames = f->frames,
                            .rate = a->rate,
                            .draw = draw_frame,
                            .user = f};
  f->bar = progress_begin("drawing", "frames", a->general.quiet);
  f->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, a->drawn.width, a->drawn.height);
  carom_status status = a->format == FORMAT_GIF ? animation_write_gif(&frames, a->output, error)
                                                : animation_write_mp4(&frames, a->output, error);
  if (status != CAROM_OK && interrupted())
    status = carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
  cairo_surface_destroy(f->surface);
  progress_end(&f->bar);
  return status;
}

static carom_status render(film *f, carom_error *error) {
  const arguments *a = f->given;
  const render_options *o = &a->drawn;
  carom_status status = check_output(a->output, 1, &o->input, error);
  if (status == CAROM_OK) status = check_output(a->output, o->overlay_count, o->overlays, error);
  if (status == CAROM_OK) status = rendering_open(f->motions, o, error);
  if (status == CAROM_OK) status = choose_frames(f, error);
  if (status != CAROM_OK) return status;
  const bool still = a->format == FORMAT_PNG || a->format == FORMAT_SVG;
  return still ? write_still(a, f->motions, error) : write_animation(f, error);
}

int command_render(int argc, char **argv) {
  arguments a = {.drawn = render_default_options(), .rate = 25};
  parse_command_line(&argp, argc, argv, &a);
  interrupt_install();
  rendering motions = {0};
  film f = {.given = &a, .motions = &motions};
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (render(&f, &error) != CAROM_OK) {
    code = report_failure("render", &error);
  } else if (a.format == FORMAT_GIF || a.format == FORMAT_MP4) {
    printf("written        %s, %d frames of %d x %d\n", a.output, f.frames, a.drawn.width,
           a.drawn.height);
  } else {
    printf("written        %s, %d x %d\n", a.output, a.drawn.width, a.drawn.height);
  }
  rendering_close(&motions);
  return code;
}
