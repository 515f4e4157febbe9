#include "fit/sides.h"

#include <string.h>

#include "fit/residuals.h"
#include "rollout/rollout.h"
#include "system/system.h"

void sides_note(evaluation *e, int sample) {
  const shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D, C = (size_t)(sh->f + sh->p), k = (size_t)sample;
  e->struck[sample] = e->sided && carom_rollout_impact_count(sh->rollout, sample) > 0;
  if (!e->struck[sample]) return;
  evaluation_state(e, sample, e->before + k * row);
  if (e->derivatives)
    memcpy(e->before_Y + k * C * row, e->Y + k * C * row, sizeof(double) * C * row);
}

// derivatives of e->side, from those before the step, which is computed again
static carom_status differentiate_side(evaluation *e, int sample, branch_side side, int impact,
                                       carom_error *error) {
  shooting *sh = e->sh;
  size_t D = (size_t)sh->D, row = 2 * D, f = (size_t)sh->f, p = (size_t)sh->p;
  const double *start = e->before + (size_t)sample * row;
  double *L = e->L + (size_t)sample * f * row;
  rollout_use_lengths(sh->one, sh->times != NULL ? &e->lengths[sample] : NULL);
  carom_status status = carom_rollout_run(sh->one, sh->theta, start, start + D, error);
  if (status != CAROM_OK) return status;
  branch_state(&sh->flight, sh->one, 0, side, impact, e->side);
  tangent_at(&sh->tangent, e->side, e->B, L);
  int passes = parts_split(&sh->parts, sh->rollout, sample);
  for (int pass = 0; pass < passes && status == CAROM_OK; pass++) {
    parts_seed(&sh->parts, sample, pass, L, e->dside);
    branch_state_vjp(&sh->flight, sh->one, 0, side, impact, e->dside, e->state_bar, e->theta_bar);
    status =
        carom_rollout_vjp(sh->one, NULL, e->state_bar, e->start_bar, e->start_bar + D, NULL, error);
    const double *through = rollout_theta_bar(sh->one, 0);
    for (int k = 0; k < sh->system->parameter_count; k++) e->theta_bar[k] += through[k];
    for (size_t i = 0; i < f; i++)
      if (sh->parts.slot[(size_t)sample * f + i] == pass)
        parts_row(&sh->parts, sh->unknowns, e->q, sample, (int)i, e->start_bar, e->theta_bar,
                  e->side_rows + i * (row + p));
  }
  evaluation_carry(e, e->side_rows, e->before_Y + (size_t)sample * (f + p) * row, e->side_Y);
  return status;
}

/* Rows of the residuals of those units that have taken one side of an impact. */
static carom_status take_rows(evaluation *e, int sample, branch_side side, int impact,
                              carom_error *error) {
  shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D, m = (size_t)sh->measure.count, C = (size_t)(sh->f + sh->p);
  const double *y =
      sh->data + (size_t)(sh->pieces[e->pieces[sample]].first + e->pending[sample]) * row;
  carom_status status = differentiate_side(e, sample, side, impact, error);
  if (status != CAROM_OK) return status;
  residuals_rows(e, e->side, y, e->side_Y, e->other_J);
  for (size_t i = 0; i < m; i++) {
    if (sh->taken[sh->unit[i]] != impact) continue;
    for (size_t c = 0; c < (size_t)e->columns; c++)
      e->J[((size_t)sample * C + c) * m + i] = e->other_J[c * m + i];
  }
  return CAROM_OK;
}

/* Units of the state to be compared take that side of an impact in the last step which fits them
 * best, if it is better than what they have. */
carom_status sides_consider(evaluation *e, int sample, branch_side side, carom_error *error) {
  shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D, m = (size_t)sh->measure.count;
  const int units = sh->system->assembly_count,
            impacts = carom_rollout_impact_count(sh->rollout, sample);
  const double *y =
      sh->data + (size_t)(sh->pieces[e->pieces[sample]].first + e->pending[sample]) * row;
  double *r = e->r + (size_t)sample * m;
  for (int unit = 0; unit < units; unit++) sh->taken[unit] = -1;
  sh->flight.dt = e->lengths[sample];
  for (int k = 0; k < impacts; k++) {
    branch_state(&sh->flight, sh->rollout, sample, side, k, e->side);
    measure_residual(&sh->measure, e->side, y, e->other_r);
    for (int unit = 0; unit < units; unit++) {
      const double gain =
          residuals_unit_cost(sh, r, unit) - residuals_unit_cost(sh, e->other_r, unit);
      if (!(gain > 0)) continue;
      e->gain[sample] += gain;
      sh->taken[unit] = k;
      for (size_t i = 0; i < m; i++)
        if (sh->unit[i] == unit) r[i] = e->other_r[i];
    }
  }
  carom_status status = CAROM_OK;
  for (int unit = 0; unit < units && e->derivatives && status == CAROM_OK; unit++) {
    bool done = sh->taken[unit] < 0;
    for (int other = 0; other < unit; other++) done = done || sh->taken[other] == sh->taken[unit];
    if (!done) status = take_rows(e, sample, side, sh->taken[unit], error);
  }
  return status;
}
