/* Plots as SVG, for pages that are printed: lines, points with bars, a linear or a log axis upwards. */
#ifndef CAROM_CLI_SVG_PLOT_H
#define CAROM_CLI_SVG_PLOT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct plot_series {
  const char *name;
  int count;
  const double *x, *y;
  const double *half_width; /* of bars; NULL: none */
  bool points;              /* marks instead of a line */
  bool hollow, dashed;
  int colour; /* place in the palette */
} plot_series;

typedef struct plot {
  const char *title, *x_label, *y_label;
  bool log;                 /* what is not above 0 is left out */
  const char *const *names; /* of x = 0, 1, ...: an axis of things; NULL: of numbers */
  int name_count;
  int series_count;
  const plot_series *series;
  double mark; /* a dashed line across at this x; NaN: none */
} plot;

void plot_write(FILE *out, const plot *p);

#endif
