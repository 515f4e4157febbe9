#include "cli/svg_plot.h"

#include "cli/markdown_html.h"

#include <math.h>
#include <string.h>

enum {
  WIDTH = 460,
  HEIGHT = 280,
  LEFT = 58,
  RIGHT = 12,
  TOP = 28,
  BOTTOM = 42,
  PER_ROW = 2,
  LINE = 16
};

static const char *const palette[] = {"#3b76b0", "#e8833a", "#4a9d5b", "#c8504b",
                                      "#8a6fb8", "#2a9d9a", "#d4a72c", "#44505c"};
enum { PALETTE = sizeof palette / sizeof palette[0] };

/* What is shown: from low to high, in powers of ten on a log axis. */
typedef struct frame {
  double x_low, x_high, y_low, y_high;
  bool log;
} frame;

static bool shown(const plot *p, double y) { return isfinite(y) && (!p->log || y > 0); }

static double upwards(const frame *f, double y) { return f->log ? log10(y) : y; }

static frame frame_of(const plot *p) {
  frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY, p->log};
  for (int s = 0; s < p->series_count; s++)
    for (int k = 0; k < p->series[s].count; k++) {
      const double y = p->series[s].y[k];
      if (!shown(p, y)) continue;
      f.x_low = fmin(f.x_low, p->series[s].x[k]);
      f.x_high = fmax(f.x_high, p->series[s].x[k]);
      const double half = p->series[s].half_width != NULL ? p->series[s].half_width[k] : 0;
      f.y_low = fmin(f.y_low, upwards(&f, shown(p, y - half) ? y - half : y));
      f.y_high = fmax(f.y_high, upwards(&f, shown(p, y + half) ? y + half : y));
    }
  if (p->names != NULL) {
    f.x_low = -0.5;
    f.x_high = p->name_count - 0.5;
  }
  if (!(f.x_low < f.x_high)) f.x_low = isfinite(f.x_low) ? f.x_low - 1 : 0, f.x_high = f.x_low + 2;
  if (!(f.y_low <= f.y_high)) f.y_low = 0, f.y_high = 1;
  const double pad = f.y_high > f.y_low ? 0.06 * (f.y_high - f.y_low) : 0.5;
  f.y_low = p->log ? floor(f.y_low) : f.y_low - pad;
  f.y_high = p->log ? ceil(f.y_high + 1e-9) : f.y_high + pad;
  return f;
}

static double px(const frame *f, double x) {
  return LEFT + (x - f->x_low) / (f->x_high - f->x_low) * (WIDTH - LEFT - RIGHT);
}
static double py(const frame *f, double y) {
  return HEIGHT - BOTTOM -
         (upwards(f, y) - f->y_low) / (f->y_high - f->y_low) * (HEIGHT - TOP - BOTTOM);
}

// 1, 2 or 5 times a power of ten
static double nice_step(double span, int count) {
  const double raw = span / count, power = pow(10, floor(log10(raw)));
  return power * (raw <= power ? 1 : raw <= 2 * power ? 2 : raw <= 5 * power ? 5 : 10);
}

static void put_text(FILE *out, double x, double y, const char *anchor, const char *text) {
  fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  html_write_text(out, text, strlen(text));
  fputs("</text>", out);
}

static void put_y_axis(FILE *out, const frame *f) {
  const double step =
      f->log ? ceil((f->y_high - f->y_low) / 7) : nice_step(f->y_high - f->y_low, 5);
  for (double k = ceil(f->y_low / step - 1e-9); k * step <= f->y_high + 1e-9 * step; k++) {
    char text[32];
    const double y = f->log ? pow(10, k * step) : k * step + 0.0;
    if (f->log)
      snprintf(text, sizeof text, "1e%d", (int)lround(k * step));
    else
      snprintf(text, sizeof text, "%.4g", y);
    fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>", LEFT,
            WIDTH - RIGHT, py(f, y), py(f, y));
    put_text(out, LEFT - 5, py(f, y) + 4, "end", text);
  }
}

static void put_x_axis(FILE *out, const plot *p, const frame *f) {
  for (int k = 0; p->names != NULL && k < p->name_count; k++)
    put_text(out, px(f, k), HEIGHT - BOTTOM + 15, "middle", p->names[k]);
  if (p->names != NULL) return;
  const double step = nice_step(f->x_high - f->x_low, 6);
  for (double k = ceil(f->x_low / step - 1e-9); k * step <= f->x_high + 1e-9 * step; k++) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", k * step + 0.0);
    fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" class=\"grid\"/>",
            px(f, k * step), px(f, k * step), TOP, HEIGHT - BOTTOM);
    put_text(out, px(f, k * step), HEIGHT - BOTTOM + 15, "middle", text);
  }
}

static void put_line(FILE *out, const plot *p, const frame *f, const plot_series *s) {
  bool down = false;
  fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s d=\"",
          palette[s->colour % PALETTE], s->dashed ? " stroke-dasharray=\"5 4\"" : "");
  for (int k = 0; k < s->count; k++) {
    if (shown(p, s->y[k]))
      fprintf(out, "%c%.1f %.1f", down ? 'L' : 'M', px(f, s->x[k]), py(f, s->y[k]));
    down = shown(p, s->y[k]);
  }
  fputs("\"/>", out);
}

static void put_points(FILE *out, const plot *p, const frame *f, const plot_series *s) {
  const char *colour = palette[s->colour % PALETTE];
  for (int k = 0; k < s->count; k++) {
    const double x = px(f, s->x[k]), y = s->y[k];
    if (!shown(p, y)) continue;
    const double half = s->half_width != NULL ? s->half_width[k] : NAN;
    if (isfinite(half) && (!f->log || half < y))
      fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>", x, x,
              py(f, y + half), py(f, y - half), colour);
    fprintf(out,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" stroke=\"%s\" stroke-width=\"1.5\" "
            "fill=\"%s\"/>",
            x, py(f, y), colour, s->hollow ? "#fff" : colour);
  }
}

static void put_legend(FILE *out, const plot *p) {
  int shown_names = 0;
  for (int s = 0; s < p->series_count; s++) {
    const plot_series *one = &p->series[s];
    if (one->name == NULL) continue;
    const double x = LEFT + shown_names % PER_ROW * 200.0,
                 y = HEIGHT + 6 + shown_names / PER_ROW * LINE;
    fprintf(out,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"2\"%s/>",
            x, x + 20, y, y, palette[one->colour % PALETTE],
            one->dashed || one->hollow ? " stroke-dasharray=\"4 3\"" : "");
    put_text(out, x + 26, y + 4, "start", one->name);
    shown_names++;
  }
}

void plot_write(FILE *out, const plot *p) {
  int names = 0;
  for (int s = 0; s < p->series_count; s++) names += p->series[s].name != NULL;
  const int height = HEIGHT + (names + PER_ROW - 1) / PER_ROW * LINE + 6;
  const frame f = frame_of(p);
  fprintf(
      out,
      "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
      "height=\"%d\" role=\"img\" aria-label=\"",
      WIDTH, height, WIDTH, height);
  html_write_text(out, p->title, strlen(p->title));
  fputs("\">", out);
  fprintf(out, "<g font-weight=\"bold\">");
  put_text(out, LEFT, 16, "start", p->title);
  fputs("</g>", out);
  put_y_axis(out, &f);
  put_x_axis(out, p, &f);
  if (isfinite(p->mark))
    fprintf(out,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#7b8794\" "
            "stroke-dasharray=\"3 3\"/>",
            px(&f, p->mark), px(&f, p->mark), TOP, HEIGHT - BOTTOM);
  for (int s = 0; s < p->series_count; s++)
    (p->series[s].points ? put_points : put_line)(out, p, &f, &p->series[s]);
  put_text(out, (WIDTH + LEFT) / 2.0, HEIGHT - 8, "middle", p->x_label);
  fprintf(out, "<g transform=\"translate(12 %d) rotate(-90)\">", HEIGHT / 2);
  put_text(out, 0, 0, "middle", p->y_label);
  fputs("</g>", out);
  put_legend(out, p);
  fputs("</svg>\n", out);
}
