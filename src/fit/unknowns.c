#include "fit/unknowns.h"

#include <math.h>
#include <stdlib.h>

#include "system/system.h"

bool unknown_is_logarithmic(const unknown *u) {
  return u->kind == UNKNOWN_LOG || u->kind == UNKNOWN_POSITIVE || u->kind == UNKNOWN_SCALE;
}

double unknown_value(const unknown *u, double q) { return unknown_is_logarithmic(u) ? exp(q) : q; }

double unknown_coordinate(const unknown *u, double value) {
  return unknown_is_logarithmic(u) ? log(value) : value;
}

double unknown_slope(const unknown *u, double q) { return unknown_is_logarithmic(u) ? exp(q) : 1; }

double unknown_prior(const unknown *u, double q, double *slope, double *curvature) {
  double far = WEAK_PRIOR * u->natural, weak = (q - unknown_coordinate(u, u->start)) / far;
  *slope = weak / far;
  *curvature = 1 / (far * far);
  if (u->prior_deviation <= 0) return 0.5 * weak * weak;
  double by = unknown_slope(u, q) / u->prior_deviation;
  double off = (unknown_value(u, q) - u->prior) / u->prior_deviation;
  *slope += by * off;
  *curvature += by * by;
  return 0.5 * weak * weak + 0.5 * off * off;
}

double unknowns_prior(const unknown_list *list, const double *q) {
  double cost = 0, slope, curvature;
  for (int j = 0; j < list->count; j++)
    cost += unknown_prior(&list->items[j], q[j], &slope, &curvature);
  return cost;
}

void unknowns_put(const unknown_list *list, const double *q, double *theta, measure *measured) {
  for (int i = 0; i < list->count; i++) {
    const unknown *u = &list->items[i];
    double value = unknown_value(u, q[i]);
    if (u->kind == UNKNOWN_SCALE) measured->scale = value;
    if (u->kind == UNKNOWN_SHIFT) measured->shift[u->axis] = value;
    for (int k = 0; k < u->entry_count && u->kind != UNKNOWN_CENTRE; k++)
      theta[u->entries[k]] =
          u->kind == UNKNOWN_LOG ? u->coefficients[k] + q[i] : u->coefficients[k] * value;
  }
  // corners that are unknown too are seen from the point that is measured
  for (int i = 0; i < list->count; i++) {
    const unknown *u = &list->items[i];
    if (u->kind != UNKNOWN_CENTRE) continue;
    measured->centre[u->body * list->system->dimension + u->axis] = q[i];
    for (int k = 0; k < u->entry_count; k++) theta[u->entries[k]] += u->coefficients[k] * q[i];
  }
}

void unknowns_pull(const unknown_list *list, const double *q, const double *theta_bar,
                   double *q_bar) {
  for (int i = 0; i < list->count; i++) {
    const unknown *u = &list->items[i];
    double sum = 0;
    for (int k = 0; k < u->entry_count; k++)
      sum += (u->kind == UNKNOWN_LOG ? 1 : u->coefficients[k]) * theta_bar[u->entries[k]];
    q_bar[i] = u->kind == UNKNOWN_POSITIVE ? sum * exp(q[i]) : sum;
  }
}

void unknowns_free(unknown_list *list) {
  for (int i = 0; i < list->count; i++) {
    free(list->items[i].entries);
    free(list->items[i].coefficients);
  }
  free(list->items);
  list->items = NULL;
  list->count = 0;
}
