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
      cmocka_unit_test(test_state_between), cmocka_unit_test(test_gif),
      cmocka_unit_test(test_markdown),      cmocka_unit_test(test_directions),
  };
  return cmocka_run_group_tests(tests, prepare, put_away);
}
