#include "cli/rendering.h"

#include "cli/memory.h"

#include <cairo-svg.h>
#include <math.h>
#include <string.h>

render_options render_default_options(void) {
  return (render_options){.width = 640,
                          .height = 480,
                          .from = -INFINITY,
                          .to = INFINITY,
                          .at = -1,
                          .trail = -1,
                          .yaw = 52,
                          .pitch = 20};
}

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
  const render_options *a = r->given;
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

// the times that there are
static carom_status choose_times(rendering *r, carom_error *error) {
  const render_options *a = r->given;
  double end = 0;
  for (int k = 0; k < r->picture.count; k++)
    end = fmax(end, (r->picture.motions[k].motion->states - 1) * r->picture.motions[k].set->dt);
  r->from = fmax(a->from, 0);
  r->to = fmin(a->to, end);
  if (r->from <= end) return CAROM_OK;
  return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                         "--range: begins at %g, the motion ends at %g", r->from, end);
}

carom_status rendering_open(rendering *r, const render_options *a, carom_error *error) {
  *r = (rendering){.given = a};
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
  picture_box box = picture_box_of(set, motions, p->count, r->from, r->to);
  free(motions);
  p->target_count = plan_targets(&set->arrays, set->system, p->targets);
  for (int k = 0; k < p->target_count; k++)
    picture_box_grow(&box, p->targets[k].position, set->info.dimension, p->targets[k].radius);
  p->view = projection_make(set->system, &box, a->width, a->height, a->yaw * M_PI / 180,
                            a->pitch * M_PI / 180);
  p->theme = a->theme;
  p->trail = a->trail >= 0 ? a->trail : fmin(0.5, (r->to - r->from) / 4);
  p->contacts = !a->no_contacts;
  return CAROM_OK;
}

void rendering_close(rendering *r) {
  for (int k = 0; k < r->picture.count; k++) motion_contacts_free(&r->picture.motions[k].contacts);
  free(r->picture.motions);
  free(r->picture.state);
  free((carom_tie_info *)r->picture.ties);
  for (int k = 0; k < r->set_count; k++) motion_set_free(&r->sets[k]);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static cairo_status_t put_bytes(void *user, const unsigned char *bytes, unsigned int size) {
  return byte_buffer_add(user, bytes, size) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

void rendering_draw(const rendering *r, cairo_surface_t *surface, double time) {
  cairo_t *pen = cairo_create(surface);
  picture_draw(&r->picture, pen, time);
  cairo_destroy(pen);
}

carom_status rendering_still(rendering *r, bool vector, const char *name, byte_buffer *out,
                             carom_error *error) {
  const render_options *a = r->given;
  const double time = a->at >= 0 ? a->at : r->to;
  *out = (byte_buffer){0};
  r->picture.strobe = a->strobe;
  r->picture.strobe_from = r->from < time ? r->from : 0;
  cairo_surface_t *surface =
      vector ? cairo_svg_surface_create_for_stream(put_bytes, out, a->width, a->height)
             : cairo_image_surface_create(CAIRO_FORMAT_RGB24, a->width, a->height);
  rendering_draw(r, surface, time);
  cairo_status_t code =
      vector ? CAIRO_STATUS_SUCCESS : cairo_surface_write_to_png_stream(surface, put_bytes, out);
  cairo_surface_finish(surface);
  if (code == CAIRO_STATUS_SUCCESS) code = cairo_surface_status(surface);
  cairo_surface_destroy(surface);
  if (code == CAIRO_STATUS_SUCCESS) return CAROM_OK;
  free(out->bytes);
  *out = (byte_buffer){0};
  return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: %s", name, cairo_status_to_string(code));
}
