#include "cli/trajectory_range.h"

#include <stdio.h>

range parse_range(struct argp_state *state, const char *option, const char *text) {
  range r;
  char rest;
  if (sscanf(text, "%d-%d%c", &r.first, &r.last, &rest) != 2 || r.first < 0 || r.last < r.first)
    argp_error(state, "%s %s: expected A-B, as in 0-399", option, text);
  return r;
}

carom_status range_part(const carom_trajectories *all, const char *option, range r,
                        carom_trajectories *part, carom_error *error) {
  if (r.last >= all->batch)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "%s %d-%d: the data has trajectories 0 to %d", option, r.first, r.last,
                           all->batch - 1);
  size_t size = (size_t)all->point_count * (size_t)all->dimension * (size_t)all->state_count;
  size_t first = (size_t)r.first;
  *part = *all;
  part->batch = r.last - r.first + 1;
  part->x = all->x + first * size;
  if (all->v != NULL) part->v = all->v + first * size;
  if (all->lengths != NULL) part->lengths = all->lengths + first;
  if (all->contact != NULL) part->contact = all->contact + first * (size_t)all->state_count;
  if (all->times != NULL) part->times = all->times + first * (size_t)all->state_count;
  part->u = NULL;
  return CAROM_OK;
}
