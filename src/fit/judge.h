/* How well an identification knows what it found: noise, intervals, correlations, what is not
 * determined. */
#ifndef CAROM_FIT_JUDGE_H
#define CAROM_FIT_JUDGE_H

#include "fit/posterior.h"

/* What a judgement fills; arrays are released by verdict_free. */
typedef struct verdict {
  int count, capacity;
  carom_fit_estimate *estimates;
  double *correlation;
  int note_count;
  carom_fit_note *notes;
} verdict;

/* Deviations of the channels that are to be estimated, from the residuals of the last evaluation:
 * the sum of squares by the numbers that are left when those which unknowns take up are subtracted;
 * where the loss is robust and there are pieces enough, from the median over them. `floor`
 * [channels] is what they are at least. Returns the largest relative change. */
double judge_noise(minimiser *m, const bool *estimate, const double *floor);

/* Estimates with intervals and notes at the end of a minimisation: those of a sample of the
 * likelihood if there is one, else those of the curvature at the minimum. */
carom_status judge(minimiser *m, const posterior *sample, verdict *v, carom_error *error);

carom_status verdict_note(verdict *v, bool warning, carom_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void verdict_free(verdict *v);

#endif
