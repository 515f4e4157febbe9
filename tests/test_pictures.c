/* Pictures: bodies stand where the numbers say and have their colour; animations are what they claim. Reports:
 * tables of metrics and Markdown are read as they were written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gif_lib.h>

#include "cli/animation.h"
#include "cli/csv_table.h"
#include "cli/markdown_html.h"
#include "cli/picture.h"
#include "support/files.h"
#include "support/systems.h"

enum { WIDTH = 320, HEIGHT = 240 };

/* A scene simulated, and a picture of it. */
typedef struct fixture {
  motion_set set;
  picture picture;
  cairo_surface_t *surface;
} fixture;

static void fixture_open(fixture *f, const char *scene, picture_theme theme) {
  enum { STEPS = 60 };
  carom_error error;
  carom_system *system = load_system(scene);
  const carom_system_info info = carom_system_describe(system);
  carom_rollout_options options = carom_rollout_default_options(system);
  options.steps = STEPS;
  const size_t size = (size_t)info.point_count * (size_t)info.dimension;
  double *x = calloc(2 * size * (STEPS + 2), sizeof(double)), *v = x + size * (STEPS + 1);
  double *x0 = calloc(2 * size, sizeof(double)), *v0 = x0 + size;
  assert_int_equal(carom_system_sample(system, 2, 1, x0, v0, &error), CAROM_OK);
  assert_int_equal(
      carom_system_simulate(system, &options, NULL, 1, x0, v0, x, v, NULL, NULL, &error), CAROM_OK);
  const carom_trajectories t = {.batch = 1,
                                .state_count = STEPS + 1,
                                .point_count = info.point_count,
                                .dimension = info.dimension,
                                .dt = options.dt,
                                .x = x,
                                .v = v};
  assert_int_equal(carom_trajectories_write(&t, system, "motion.h5", &error), CAROM_OK);
  free(x);
  free(x0);
  carom_system_destroy(system);
  *f = (fixture){0};
  assert_int_equal(motion_set_read("motion.h5", &(motion_choice){.most = 1}, &f->set, &error),
                   CAROM_OK);
  f->picture = (picture){.count = 1,
                         .motions = calloc(1, sizeof(picture_motion)),
                         .state = calloc(size, sizeof(double)),
                         .theme = theme};
  f->picture.ties = drawn_ties(f->set.system, &f->picture.tie_count);
  f->picture.motions[0] = (picture_motion){.set = &f->set, .motion = &f->set.items[0]};
  const motion *m = &f->set.items[0];
  const picture_box box = picture_box_of(&f->set, &m, 1, 0, 1e9);
  f->picture.view = projection_make(f->set.system, &box, WIDTH, HEIGHT, 0.9, 0.35);
  f->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
}

static void fixture_close(fixture *f) {
  cairo_surface_destroy(f->surface);
  free(f->picture.motions);
  free(f->picture.state);
  free((carom_tie_info *)f->picture.ties);
  motion_set_free(&f->set);
}

static void draw(fixture *f, double time) {
  cairo_t *pen = cairo_create(f->surface);
  picture_draw(&f->picture, pen, time);
  cairo_destroy(pen);
  cairo_surface_flush(f->surface);
}

static uint32_t pixel(const fixture *f, double x, double y) {
  const unsigned char *data = cairo_image_surface_get_data(f->surface);
  uint32_t value;
  memcpy(&value,
         data + (size_t)y * (size_t)cairo_image_surface_get_stride(f->surface) + 4 * (size_t)x,
         sizeof value);
  return value & 0xffffff;
}

// how far a colour is from grey: bodies have colours, paper and walls hardly
static int colourfulness(uint32_t p) {
  const int red = p >> 16 & 255, green = p >> 8 & 255, blue = p & 255;
  const int most = red > green ? (red > blue ? red : blue) : (green > blue ? green : blue);
  const int least = red < green ? (red < blue ? red : blue) : (green < blue ? green : blue);
  return most - least;
}

// at the centre of each ball, off its mark, is its colour; where no body is, paper
static void check_bodies(const char *scene, picture_theme theme, uint32_t paper) {
  fixture f;
  fixture_open(&f, scene, theme);
  const int d = f.set.info.dimension;
  for (int k = 0; k <= 60; k += 20) {
    const double *x = f.set.items[0].x + (size_t)k * (size_t)(f.set.info.point_count * d);
    draw(&f, k * f.set.dt);
    for (int b = 0; b < f.set.info.body_count; b++) {
      const carom_body_info body = carom_system_body(f.set.system, b);
      const projected p = project(&f.picture.view, x + body.first_point * d);
      assert_true(p.x > 0 && p.x < WIDTH && p.y > 0 && p.y < HEIGHT);
      const double r = body.radius * projection_scale(&f.picture.view, x + body.first_point * d);
      // one of four places about the centre is off marks and links
      int most = 0;
      for (int i = 0; i < 4; i++)
        most = (int)fmax(most, colourfulness(pixel(&f, p.x + 0.5 * r * cos(1 + i * M_PI / 2),
                                                   p.y + 0.5 * r * sin(1 + i * M_PI / 2))));
      assert_true(most > 20);
    }
    if (d == 2) assert_int_equal(pixel(&f, 1, 1), paper);
  }
  fixture_close(&f);
}

static void test_plane(void **state) {
  (void)state;
  check_bodies("bd5", PICTURE_LIGHT, 0xffffff);
  check_bodies("bd5", PICTURE_DARK, 0x14181d);
  check_bodies("cp3", PICTURE_LIGHT, 0xffffff);
}

static void test_space(void **state) {
  (void)state;
  check_bodies(CAROM_SOURCE_DIR "/examples/scenes/spheres.json", PICTURE_LIGHT, 0xffffff);
}

// the ground is where its plane is: one unit below the hook of the pendulums
static void test_wall(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "cp3", PICTURE_LIGHT);
  draw(&f, 0);
  const projected ground = project(&f.picture.view, (double[2]){f.picture.view.centre[0], -1});
  bool line = false;
  for (int dy = -1; dy <= 1; dy++) line |= pixel(&f, 5, ground.y + dy) == 0x9aa5b1;
  assert_true(line);
  assert_int_equal(pixel(&f, 5, ground.y - 4), 0xffffff);
  fixture_close(&f);
}

// up is up, right is right, and a length of one is `unit` long; in space gravity points down
static void test_directions(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "bd5", PICTURE_LIGHT);
  const double *c = f.picture.view.centre;
  const projected middle = project(&f.picture.view, c);
  const projected corner = project(&f.picture.view, (double[2]){c[0] + 0.1, c[1] + 0.2});
  assert_near(middle.x, WIDTH / 2.0, 1e-9);
  assert_near(corner.x - middle.x, 0.1 * f.picture.view.unit, 1e-9);
  assert_near(corner.y - middle.y, -0.2 * f.picture.view.unit, 1e-9);
  fixture_close(&f);
  fixture_open(&f, "gyro", PICTURE_LIGHT);
  c = f.picture.view.centre;
  const projected above = project(&f.picture.view, (double[3]){c[0], c[1], c[2] + 0.2});
  assert_near(above.x, WIDTH / 2.0, 1e-9);
  assert_true(above.y < HEIGHT / 2.0 - 5);
  fixture_close(&f);
}

// a state between two recorded ones is between them; one that is there is as it is
static void test_state_between(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "bd5", PICTURE_LIGHT);
  const int size = f.set.info.point_count * f.set.info.dimension;
  const double *from = f.set.items[0].x + 3 * size, *to = from + size;
  motion_state(&f.set, &f.set.items[0], 3 * f.set.dt, f.picture.state);
  assert_memory_equal(f.picture.state, from, sizeof(double) * (size_t)size);
  motion_state(&f.set, &f.set.items[0], 3.25 * f.set.dt, f.picture.state);
  for (int i = 0; i < size; i++)
    assert_near(f.picture.state[i], 0.75 * from[i] + 0.25 * to[i], 1e-12);
  fixture_close(&f);
}

/* ---- what is drawn beside bodies ---- */

// the centre of the first body at a state, on the paper
static projected centre_at(const fixture *f, const motion *m, int k) {
  const int d = f->set.info.dimension;
  const carom_body_info body = carom_system_body(f->set.system, 0);
  return project(&f->picture.view,
                 m->x + (size_t)k * (size_t)(f->set.info.point_count * d) + body.first_point * d);
}

// the most colourful of the pixels about a place
static int colour_about(const fixture *f, projected at, int reach) {
  int most = 0;
  for (int dy = -reach; dy <= reach; dy++)
    for (int dx = -reach; dx <= reach; dx++)
      most = (int)fmax(most, colourfulness(pixel(f, at.x + dx, at.y + dy)));
  return most;
}

// a state whose centre is well outside of the ball of the last one, or -1
static int state_apart(const fixture *f, const motion *m) {
  const carom_body_info body = carom_system_body(f->set.system, 0);
  const projected last = centre_at(f, m, m->states - 1);
  for (int k = m->states / 3; k < m->states; k++) {
    const projected p = centre_at(f, m, k);
    const double r = body.radius * f->picture.view.unit;
    if (hypot(p.x - last.x, p.y - last.y) > r + 8) return k;
  }
  return -1;
}

static void test_trails(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "bd1", PICTURE_LIGHT);
  const motion *m = &f.set.items[0];
  const int k = state_apart(&f, m);
  assert_true(k > 0);
  const double end = (m->states - 1) * f.set.dt;
  draw(&f, end);
  assert_int_equal(colour_about(&f, centre_at(&f, m, k), 1), 0);
  f.picture.trail = end;
  draw(&f, end);
  assert_true(colour_about(&f, centre_at(&f, m, k), 1) > 20);
  // one that is too short to reach that far
  f.picture.trail = end - (k + 3) * f.set.dt;
  draw(&f, end);
  assert_int_equal(colour_about(&f, centre_at(&f, m, k), 1), 0);
  fixture_close(&f);
}

// earlier states are there, paler than the last
static void test_strobe(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "bd1", PICTURE_LIGHT);
  const motion *m = &f.set.items[0];
  const int k = state_apart(&f, m);
  const double end = (m->states - 1) * f.set.dt;
  f.picture.strobe = 1;
  f.picture.strobe_from = k * f.set.dt;
  draw(&f, end);
  projected early = centre_at(&f, m, k), last = centre_at(&f, m, m->states - 1);
  // off the mark, which is a line through the centre
  const int pale = (int)fmin(colourfulness(pixel(&f, early.x + 5, early.y + 3)),
                             colourfulness(pixel(&f, early.x - 5, early.y - 3)));
  const int full = (int)fmin(colourfulness(pixel(&f, last.x + 5, last.y + 3)),
                             colourfulness(pixel(&f, last.x - 5, last.y - 3)));
  assert_true(pale > 5);
  assert_true(full > pale + 10);
  fixture_close(&f);
}

// two motions laid over each other have colours of their own
static void test_overlay(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "bd1", PICTURE_LIGHT);
  motion moved = f.set.items[0];
  const size_t count = (size_t)moved.states * (size_t)(f.set.info.point_count * 2);
  double *x = malloc(sizeof(double) * count);
  for (size_t i = 0; i < count; i++) x[i] = moved.x[i] + (i % 2 == 0 ? 0.3 : 0);
  moved.x = x;
  picture_motion two[2] = {{.set = &f.set, .motion = &f.set.items[0]},
                           {.set = &f.set, .motion = &moved}};
  picture_motion *before = f.picture.motions;
  f.picture.motions = two;
  f.picture.count = 2;
  draw(&f, 0);
  const projected a = centre_at(&f, &f.set.items[0], 0), b = centre_at(&f, &moved, 0);
  assert_near(b.x - a.x, 0.3 * f.picture.view.unit, 1e-9);
  const uint32_t first = pixel(&f, a.x - 6, a.y - 4), second = pixel(&f, b.x + 6, b.y + 4);
  assert_int_not_equal(first, 0xffffff);
  assert_int_not_equal(second, 0xffffff);
  // orange over the grey of the first
  assert_true((int)(second >> 16 & 255) - (int)(second & 255) > 30);
  assert_true(colourfulness(first) < 20);
  f.picture.motions = before;
  free(x);
  fixture_close(&f);
}

// a contact is marked where it is, while it flashes
static void test_contacts(void **state) {
  (void)state;
  fixture f;
  carom_error error;
  fixture_open(&f, "bd5", PICTURE_LIGHT);
  picture_motion *m = &f.picture.motions[0];
  assert_int_equal(motion_contacts_find(&f.set, m->motion, &m->contacts, &error), CAROM_OK);
  assert_true(m->contacts.count > 0);
  const projected at = project(&f.picture.view, m->contacts.items[0].point);
  const double time = m->contacts.state[0] * f.set.dt;
  for (int on = 0; on < 2; on++) {
    bool marked = false;
    f.picture.contacts = on == 1;
    draw(&f, time);
    for (int k = 0; k < 16; k++) {
      const uint32_t p = pixel(&f, at.x + 4 * cos(k * M_PI / 8), at.y + 4 * sin(k * M_PI / 8));
      marked |= abs((int)(p >> 16 & 255) - 0xd9) < 24 && abs((int)(p & 255) - 0x0f) < 40;
    }
    assert_int_equal(marked, on);
  }
  motion_contacts_free(&m->contacts);
  fixture_close(&f);
}

// where a plan wants a body to be: a cross, and its outline dashed
static void test_target(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "bd1", PICTURE_LIGHT);
  const plan_target target = {.position = {0.8, 0.8}, .radius = 0.1};
  const projected at = project(&f.picture.view, target.position);
  draw(&f, 0);
  assert_int_equal(pixel(&f, at.x, at.y), 0xffffff);
  f.picture.targets[0] = target;
  f.picture.target_count = 1;
  draw(&f, 0);
  assert_true((pixel(&f, at.x, at.y) & 255) < 0x80);
  int dark = 0, light = 0;
  for (int k = 0; k < 90; k++) {
    const double r = 0.1 * f.picture.view.unit, angle = k * M_PI / 45;
    const uint32_t p = pixel(&f, at.x + r * cos(angle), at.y + r * sin(angle)) & 255;
    dark += p < 0x90;
    light += p > 0xf0;
  }
  assert_true(dark > 25 && light > 15);
  fixture_close(&f);
}

// a red square that moves over white, and colours at its edge
static bool square_frame(void *user, int index, uint32_t *pixels) {
  (void)user;
  for (int y = 0; y < 40; y++)
    for (int x = 0; x < 60; x++) {
      const bool inside = x >= 5 + 4 * index && x < 15 + 4 * index && y >= 10 && y < 20;
      pixels[y * 60 + x] = inside ? 0xc02010 : 0xffffff;
    }
  return true;
}

static void test_gif(void **state) {
  (void)state;
  carom_error error;
  const animation a = {.width = 60, .height = 40, .frames = 7, .rate = 30, .draw = square_frame};
  assert_int_equal(animation_write_gif(&a, "square.gif", &error), CAROM_OK);
  int code;
  GifFileType *gif = DGifOpenFileName("square.gif", &code);
  assert_non_null(gif);
  assert_int_equal(DGifSlurp(gif), GIF_OK);
  assert_int_equal(gif->SWidth, 60);
  assert_int_equal(gif->ImageCount, 7);
  int delay = 0;
  unsigned char screen[40][60];
  memset(screen, 0, sizeof screen);
  for (int k = 0; k < 7; k++) {
    const SavedImage *image = &gif->SavedImages[k];
    GraphicsControlBlock control;
    assert_int_equal(DGifSavedExtensionToGCB(gif, k, &control), GIF_OK);
    delay += control.DelayTime;
    // what did not change is left as it was
    const GifImageDesc *part = &image->ImageDesc;
    for (int i = 0; i < part->Width * part->Height; i++)
      if (image->RasterBits[i] != control.TransparentColor)
        screen[part->Top + i / part->Width][part->Left + i % part->Width] = image->RasterBits[i];
    for (int y = 0; y < 40; y++)
      for (int x = 0; x < 60; x++) {
        const GifColorType c = gif->SColorMap->Colors[screen[y][x]];
        const bool inside = x >= 5 + 4 * k && x < 15 + 4 * k && y >= 10 && y < 20;
        assert_true(abs(c.Red - (inside ? 0xc0 : 0xff)) < 4);
        assert_true(abs(c.Blue - (inside ? 0x10 : 0xff)) < 4);
      }
  }
  // seven frames at 30 a second, in hundredths
  assert_int_equal(delay, 23);
  DGifCloseFile(gif, &code);
}

static void test_csv(void **state) {
  (void)state;
  FILE *file = fopen("t.csv", "w");
  assert_non_null(file);
  fputs("epoch,\"a \"\"b\"\", c\",loss\r\n1,2,\n3,x,1e-3\n4,5", file);
  fclose(file);
  csv_table t;
  carom_error error;
  assert_int_equal(csv_read("t.csv", &t, &error), CAROM_OK);
  assert_int_equal(t.column_count, 3);
  assert_string_equal(t.names[1], "a \"b\", c");
  assert_int_equal(t.row_count, 2); // the last line is cut short
  assert_near(t.values[0], 1, 0);
  assert_true(isnan(t.values[2]));
  assert_true(isnan(t.values[4]));
  assert_near(t.values[5], 1e-3, 0);
  assert_int_equal(csv_column(&t, "loss"), 2);
  csv_free(&t);
}

// Markdown of the templates as HTML, text escaped
static void test_markdown(void **state) {
  (void)state;
  static const char text[] =
      "# A <b>\n\nSome `co<de` and **bold**\nlines.\n\n    code & more\n\n"
      "| a | b |\n|---|---:|\n| x \\| y | 1 |\n";
  char *html = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&html, &size);
  assert_non_null(out);
  markdown_write(out, text, 1);
  fclose(out);
  assert_string_equal(html,
                      "<h2>A &lt;b&gt;</h2>\n<p>Some <code>co&lt;de</code> and "
                      "<strong>bold</strong>\nlines.\n</p>\n<pre>code &amp; more\n</pre>\n"
                      "<div class=\"scroll\"><table>\n<thead><tr><th>a</th><th "
                      "class=\"number\">b</th></tr>\n</thead>\n<tbody>\n<tr><td>x | y</td><td "
                      "class=\"number\">1</td></tr>\n</tbody></table></div>\n");
  free(html);
}

static test_folder folder;
static int prepare(void **state) {
  (void)state;
  return folder_enter(&folder, "pictures");
}
static int put_away(void **state) {
  (void)state;
  return folder_leave(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plane),         cmocka_unit_test(test_space),
      cmocka_unit_test(test_wall),          cmocka_unit_test(test_csv),
      cmocka_unit_test(test_state_between), cmocka_unit_test(test_trails),
      cmocka_unit_test(test_strobe),        cmocka_unit_test(test_overlay),
      cmocka_unit_test(test_contacts),      cmocka_unit_test(test_target),
      cmocka_unit_test(test_gif),           cmocka_unit_test(test_markdown),
      cmocka_unit_test(test_directions),
  };
  return cmocka_run_group_tests(tests, prepare, put_away);
}
