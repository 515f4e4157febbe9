/* Metrics: lines of metrics.csv, what a resumed run keeps of them, and TensorBoard's records, read
 * back by a parser of the test's own. */
#include "cli/metrics_file.h"
#include "cli/tensorboard.h"
#include "learn/properties.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/file_fixture.h"
#include "support/messages.h"
#include "support/systems.h"

enum { TEXT = 1 << 16 };

/* Beside cp3 there is bd5, five disks. */
static int set_up(void **state) { return file_fixture_make("metrics", "bd5", state); }

static size_t read_file(const char *path, char *bytes) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, TEXT - 1, file);
  fclose(file);
  bytes[size] = '\0';
  return size;
}

static carom_properties make_properties(const carom_system *system) {
  const carom_model_options options = carom_model_default_options(system);
  carom_properties list;
  assert_int_equal(properties_make(system, &options, &list, NULL), CAROM_OK);
  return list;
}

/* ---- properties ------------------------------------------------------------------------------ */

static const carom_property *find(const carom_properties *list, const char *name) {
  for (int k = 0; k < list->count; k++)
    if (strcmp(list->items[k].name, name) == 0) return &list->items[k];
  fail_msg("no property %s", name);
  return NULL;
}

static void properties_of_scenes(void **state) {
  file_fixture *f = *state;
  double theta[256];
  carom_properties shared = make_properties(f->cp3), each = make_properties(f->other);
  carom_parameters_default(f->cp3, theta);
  assert_int_equal(shared.count, 4);
  assert_true(carom_property_value(find(&shared, "friction"), theta) == 0.5);
  assert_true(carom_property_value(find(&shared, "restitution"), theta) == 0.0);
  assert_true(fabs(carom_property_value(find(&shared, "mass_ratio/b"), theta) - 2.0) < 1e-14);
  assert_true(fabs(carom_property_value(find(&shared, "mass_ratio/c"), theta) - 1.5) < 1e-14);
  // 10 pairs and 20 walls, 4 ratios, two moments of five disks
  carom_parameters_default(f->other, theta);
  assert_int_equal(each.count, 2 * 30 + 4 + 10);
  char label[64], name[96];
  carom_system_contact_label(f->other, 4, label, sizeof label);
  snprintf(name, sizeof name, "friction/%s", label);
  assert_true(carom_property_value(find(&each, name), theta) == 1.4);
  snprintf(name, sizeof name, "moment/%s/x", carom_system_body_id(f->other, 1));
  assert_true(fabs(carom_property_value(find(&each, name), theta) - 0.1 * 0.1 / 4) < 1e-15);
  carom_properties_free(&shared);
  carom_properties_free(&each);
}

/* ---- metrics.csv ----------------------------------------------------------------------------- */

static carom_epoch make_epoch(int number) {
  return (carom_epoch){.epoch = number,
                       .loss = 0.1 / number,
                       .validation_loss = number == 2 ? NAN : 1.0 / (3 * number),
                       .best = number == 1,
                       .learning_rate = 1e-3,
                       .gradient_norm = 1e-7 * number,
                       .moves = number,
                       .search_loss_before = number == 2 ? NAN : 0.3,
                       .search_loss_after = number == 2 ? NAN : 0.125,
                       .seconds = 0.25,
                       .report = {.time_steps = 40,
                                  .events = 7,
                                  .contacts = 8,
                                  .programs = 16,
                                  .degenerate_programs = 2,
                                  .failed_programs = number,
                                  .worst_residual = 1e-16}};
}

static void add_epochs(const carom_system *system, const carom_properties *list, int done,
                       int last) {
  double theta[256];
  carom_parameters_default(system, theta);
  metrics_file *metrics;
  carom_error error = {0};
  if (metrics_open(".", list, done, &metrics, &error) != CAROM_OK) fail_msg("%s", error.message);
  for (int k = done + 1; k <= last; k++) {
    const carom_epoch epoch = make_epoch(k);
    assert_int_equal(metrics_add(metrics, &epoch, theta, &error), CAROM_OK);
    // it is there at once
    char text[TEXT], start[16];
    read_file("metrics.csv", text);
    snprintf(start, sizeof start, "\n%d,", k);
    assert_non_null(strstr(text, start));
  }
  metrics_close(metrics);
}

static const char header[] =
    "epoch,loss,validation_loss,best,learning_rate,gradient_norm,moves,search_loss_before,"
    "search_loss_after,seconds,friction,"
    "restitution,"
    "mass_ratio/b,mass_ratio/c,time_steps,events,contacts,programs,degenerate_programs,"
    "failed_programs,worst_residual\n";

static void lines(void **state) {
  file_fixture *f = *state;
  folder_empty();
  carom_properties list = make_properties(f->cp3);
  add_epochs(f->cp3, &list, 0, 2);
  char text[TEXT];
  read_file("metrics.csv", text);
  assert_memory_equal(text, header, strlen(header));
  char *first = text + strlen(header), *second = strchr(first, '\n') + 1;
  // numbers read back to the bit
  char *at = first;
  assert_int_equal(strtol(at, &at, 10), 1);
  assert_true(strtod(at + 1, &at) == 0.1);
  assert_true(strtod(at + 1, &at) == 1.0 / 3.0);
  assert_int_equal(strtol(at + 1, &at, 10), 1);
  assert_non_null(strstr(first, ",0.001,1e-07,1,0.3,0.125,0.25,0.5,0,"));
  assert_non_null(strstr(first, ",40,7,8,16,2,1,1e-16\n"));
  // no validation loss: an empty field
  assert_memory_equal(second, "2,0.05,,0,0.001,2e-07,2,,,0.25,", 31);
  int commas = 0;
  for (const char *c = second; *c != '\0'; c++) commas += *c == ',';
  assert_int_equal(commas, 20);
  carom_properties_free(&list);
}

// lines after the checkpoint, one that was cut short, and anything that is no line go away
static void resumed(void **state) {
  file_fixture *f = *state;
  folder_empty();
  carom_properties list = make_properties(f->cp3);
  add_epochs(f->cp3, &list, 0, 5);
  char whole[TEXT], text[TEXT];
  read_file("metrics.csv", whole);
  FILE *file = fopen("metrics.csv", "a");
  fputs("rubbish\n3,0.0", file);
  fclose(file);
  add_epochs(f->cp3, &list, 3, 5);
  read_file("metrics.csv", text);
  assert_string_equal(text, whole);
  // a new run begins anew
  add_epochs(f->cp3, &list, 0, 1);
  read_file("metrics.csv", text);
  assert_memory_equal(text, whole, strlen(text));
  assert_true(strlen(text) < strlen(whole));
  // and a file that went away is made again
  unlink("metrics.csv");
  add_epochs(f->cp3, &list, 4, 5);
  read_file("metrics.csv", text);
  assert_memory_equal(text, header, strlen(header));
  assert_int_equal(atoi(text + strlen(header)), 5);
  carom_properties_free(&list);
}

// a file of another version: columns by their names, and the file as it was stays
static void other_columns(void **state) {
  file_fixture *f = *state;
  folder_empty();
  carom_properties list = make_properties(f->cp3);
  static const char before[] =
      "epoch,validation_loss,loss,\"old, \"\"odd\"\"\",mass_ratio/b,seconds\n"
      "1,0.25,0.5,\"a,b\",2,0.125\n2,0.75,1,c,3,4\n3,5,6,7,8,9\n";
  for (int k = 1; k <= 2; k++) {
    char text[TEXT], expected[TEXT], aside[64];
    FILE *file = fopen("metrics.csv", "w");
    fputs(before, file);
    fclose(file);
    metrics_file *metrics;
    carom_error error = {0};
    assert_int_equal(metrics_open(".", &list, 2, &metrics, &error), CAROM_OK);
    snprintf(aside, sizeof aside, "./metrics-before-%d.csv", k);
    assert_string_equal(metrics_aside(metrics), aside);
    metrics_close(metrics);
    read_file(aside, text);
    assert_string_equal(text, before);
    read_file("metrics.csv", text);
    snprintf(expected, sizeof expected, "%s%s%s", header, "1,0.5,0.25,,,,,,,0.125,,,2,,,,,,,,\n",
             "2,1,0.75,,,,,,,4,,,3,,,,,,,,\n");
    assert_string_equal(text, expected);
  }
  // what it wrote has its own columns
  metrics_file *metrics;
  assert_int_equal(metrics_open(".", &list, 2, &metrics, NULL), CAROM_OK);
  assert_string_equal(metrics_aside(metrics), "");
  metrics_close(metrics);
  carom_properties_free(&list);
}

static void quotes(void **state) {
  file_fixture *f = *state;
  folder_empty();
  carom_property item = {.name = "mass_ratio/a \"big\", red one", .entry = 0, .reference = -1};
  const carom_properties list = {.count = 1, .items = &item};
  add_epochs(f->cp3, &list, 0, 1);
  char text[TEXT];
  read_file("metrics.csv", text);
  assert_non_null(strstr(text, ",\"mass_ratio/a \"\"big\"\", red one\","));
}

static void full_disk(void **state) {
  file_fixture *f = *state;
  folder_empty();
  carom_properties list = make_properties(f->cp3);
  double theta[256];
  carom_parameters_default(f->cp3, theta);
  metrics_file *metrics;
  assert_int_equal(metrics_open(".", &list, 0, &metrics, NULL), CAROM_OK);
  const struct rlimit before = files_limit(1000);
  carom_error error = {0};
  carom_status status = CAROM_OK;
  for (int k = 1; status == CAROM_OK && k < 100; k++) {
    const carom_epoch epoch = make_epoch(k);
    status = metrics_add(metrics, &epoch, theta, &error);
  }
  files_unlimit(&before);
  assert_int_equal(status, CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, "cannot be written: File too large");
  metrics_close(metrics);
  assert_int_equal(metrics_open("no-folder", &list, 0, &metrics, &error), CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, "no-folder");
  carom_properties_free(&list);
}

/* ---- TensorBoard ----------------------------------------------------------------------------- */

static void checksums(void **state) {
  (void)state;
  // the vectors of RFC 3720, B.4, and the usual one
  unsigned char bytes[32];
  assert_int_equal(crc32c("123456789", 9), 0xE3069283);
  assert_int_equal(crc32c("", 0), 0);
  memset(bytes, 0, sizeof bytes);
  assert_int_equal(crc32c(bytes, sizeof bytes), 0x8A9136AA);
  memset(bytes, 0xFF, sizeof bytes);
  assert_int_equal(crc32c(bytes, sizeof bytes), 0x62A8AB43);
  for (int k = 0; k < 32; k++) bytes[k] = (unsigned char)k;
  assert_int_equal(crc32c(bytes, sizeof bytes), 0x46DD794E);
}

/* A piece of a protocol buffer that is being read. */
typedef struct cursor {
  const unsigned char *at, *end;
} cursor;

static uint64_t take_little(cursor *c, int size) {
  uint64_t value = 0;
  assert_true(c->end - c->at >= size);
  for (int k = 0; k < size; k++) value |= (uint64_t)*c->at++ << (8 * k);
  return value;
}

static uint64_t take_varint(cursor *c) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    assert_true(c->at < c->end && shift < 64);
    value |= (uint64_t)(*c->at & 0x7F) << shift;
    if ((*c->at++ & 0x80) == 0) return value;
  }
}

static cursor take_bytes(cursor *c) {
  const uint64_t size = take_varint(c);
  assert_true((uint64_t)(c->end - c->at) >= size);
  const cursor inner = {c->at, c->at + size};
  c->at += size;
  return inner;
}

static uint32_t unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xA282EAD8u;
  return rotated << 15 | rotated >> 17;
}

// one record with both checksums right
static cursor take_record(cursor *file) {
  const unsigned char *length = file->at;
  const uint64_t size = take_little(file, 8);
  assert_int_equal(unmask((uint32_t)take_little(file, 4)), crc32c(length, 8));
  assert_true((uint64_t)(file->end - file->at) >= size);
  const cursor data = {file->at, file->at + size};
  file->at += size;
  assert_int_equal(unmask((uint32_t)take_little(file, 4)), crc32c(data.at, size));
  return data;
}

/* What an event says. */
typedef struct event {
  double time;
  int64_t step;
  char version[32];
  int count;
  char tags[16][96];
  float values[16];
} event;

static void take_value(cursor value, event *e) {
  assert_in_range(e->count, 0, 15);
  while (value.at < value.end) {
    const uint64_t key = take_varint(&value);
    if (key == (1 << 3 | 2)) {
      const cursor tag = take_bytes(&value);
      memcpy(e->tags[e->count], tag.at, (size_t)(tag.end - tag.at));
    } else {
      assert_int_equal(key, 2 << 3 | 5);
      const uint32_t bits = (uint32_t)take_little(&value, 4);
      memcpy(&e->values[e->count], &bits, 4);
    }
  }
  e->count++;
}

static event take_event(cursor data) {
  event e = {0};
  while (data.at < data.end) {
    const uint64_t key = take_varint(&data);
    if (key == (1 << 3 | 1)) {
      const uint64_t bits = take_little(&data, 8);
      memcpy(&e.time, &bits, 8);
    } else if (key == (2 << 3 | 0)) {
      e.step = (int64_t)take_varint(&data);
    } else if (key == (3 << 3 | 2)) {
      const cursor text = take_bytes(&data);
      memcpy(e.version, text.at, (size_t)(text.end - text.at));
    } else {
      assert_int_equal(key, 5 << 3 | 2);
      cursor summary = take_bytes(&data);
      while (summary.at < summary.end) {
        assert_int_equal(take_varint(&summary), 1 << 3 | 2);
        take_value(take_bytes(&summary), &e);
      }
    }
  }
  return e;
}

// the only event file of the folder
static size_t read_events(char *bytes) {
  char path[300] = "";
  DIR *folder = opendir(".");
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (strncmp(entry->d_name, "events.out.tfevents.", 20) != 0) continue;
    assert_string_equal(path, "");
    snprintf(path, sizeof path, "%s", entry->d_name);
  }
  closedir(folder);
  return read_file(path, bytes);
}

static float scalar(const event *e, const char *tag) {
  for (int k = 0; k < e->count; k++)
    if (strcmp(e->tags[k], tag) == 0) return e->values[k];
  fail_msg("no scalar %s", tag);
  return 0.0f;
}

static void records(void **state) {
  file_fixture *f = *state;
  folder_empty();
  carom_properties list = make_properties(f->cp3);
  add_epochs(f->cp3, &list, 0, 3);
  char bytes[TEXT];
  const size_t size = read_events(bytes);
  cursor file = {(unsigned char *)bytes, (unsigned char *)bytes + size};
  const event first = take_event(take_record(&file));
  assert_string_equal(first.version, "brain.Event:2");
  assert_int_equal(first.count, 0);
  assert_true(first.time > 1e9);
  for (int k = 1; k <= 3; k++) {
    const event e = take_event(take_record(&file));
    const carom_epoch epoch = make_epoch(k);
    assert_int_equal(e.step, k);
    assert_true(e.time >= first.time);
    // a number that is not finite is left out
    assert_int_equal(e.count, isnan(epoch.validation_loss) ? 9 : 10);
    assert_true(scalar(&e, "loss/train") == (float)epoch.loss);
    if (k != 2) assert_true(scalar(&e, "loss/validation") == (float)epoch.validation_loss);
    assert_true(scalar(&e, "rate") == 1e-3f);
    assert_true(scalar(&e, "friction") == 0.5f);
    assert_true(scalar(&e, "restitution") == 0.0f);
    assert_true(fabsf(scalar(&e, "mass_ratio/b") - 2.0f) < 1e-6f);
    assert_true(scalar(&e, "failed_programs") == (float)k);
    assert_true(scalar(&e, "moves") == (float)k);
  }
  assert_ptr_equal(file.at, file.end);
  carom_properties_free(&list);
}

// lengths of more than one byte
static void long_names(void **state) {
  (void)state;
  folder_empty();
  char tag[96];
  memset(tag, 'x', sizeof tag - 1);
  tag[sizeof tag - 1] = '\0';
  tensorboard_scalar scalars[10];
  for (int k = 0; k < 10; k++) scalars[k] = (tensorboard_scalar){tag, k};
  tensorboard *board;
  assert_int_equal(tensorboard_open(".", &board, NULL), CAROM_OK);
  assert_int_equal(tensorboard_add(board, INT64_C(1) << 40, 10, scalars, NULL), CAROM_OK);
  tensorboard_close(board);
  char bytes[TEXT];
  const size_t size = read_events(bytes);
  cursor file = {(unsigned char *)bytes, (unsigned char *)bytes + size};
  take_record(&file);
  const event e = take_event(take_record(&file));
  assert_true(e.step == INT64_C(1) << 40);
  assert_int_equal(e.count, 10);
  for (int k = 0; k < 10; k++) assert_true(e.values[k] == (float)k);
  assert_string_equal(e.tags[9], tag);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(properties_of_scenes),
      cmocka_unit_test(lines),
      cmocka_unit_test(resumed),
      cmocka_unit_test(other_columns),
      cmocka_unit_test(quotes),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(checksums),
      cmocka_unit_test(records),
      cmocka_unit_test(long_names),
  };
  return cmocka_run_group_tests(tests, set_up, file_fixture_free);
}
