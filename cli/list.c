/* carom list: the built-in scenes. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {{"json", KEY_JSON, NULL, 0, "the table as JSON", 0},
                                             {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  (void)text;
  bool *json = state->input;
  if (key == KEY_JSON) {
    *json = true;
    return 0;
  }
  if (key == ARGP_KEY_ARG) argp_error(state, "no argument is expected");
  return ARGP_ERR_UNKNOWN;
}

static const char help[] =
    "Lists the built-in scenes: dimension d, bodies, coordinates D (points times d), scalar "
    "equality constraints E, possible contacts, time step and number of steps."
    "\vExample:\n  carom list --json";
static const struct argp argp = {.options = options, .parser = parse, .doc = help};

static json_t *scene_json(const carom_system_info *info) {
  return json_pack("{ss si si si si si so si sb sb ss}", "name", info->name, "dimension",
                   info->dimension, "bodies", info->body_count, "coordinates",
                   info->point_count * info->dimension, "constraints", info->constraint_count,
                   "contacts", info->contact_count, "dt", json_number(info->dt), "steps",
                   info->steps, "shared_properties", (int)info->shared_properties, "conservative",
                   (int)info->conservative, "description", info->description);
}

static void print_row(const carom_system_info *info) {
  printf("%-10s %1d %7d %5d %5d %9d %7g %6d  %s\n", info->name, info->dimension, info->body_count,
         info->point_count * info->dimension, info->constraint_count, info->contact_count, info->dt,
         info->steps, info->description);
}

int command_list(int argc, char **argv) {
  bool as_json = false;
  parse_command_line(&argp, argc, argv, &as_json);
  json_t *rows = json_array();
  if (!as_json) printf("scene      d  bodies     D     E  contacts      dt  steps  description\n");
  for (int k = 0; k < carom_scene_count(); k++) {
    carom_error error;
    carom_system *system;
    if (carom_system_load(carom_scene_name(k), &system, &error) != CAROM_OK) {
      json_decref(rows);
      return report_failure("list", &error);
    }
    const carom_system_info info = carom_system_describe(system);
    if (as_json) {
      json_array_append_new(rows, scene_json(&info));
    } else {
      print_row(&info);
    }
    carom_system_destroy(system);
  }
  if (as_json) {
    print_json(rows);
  } else {
    json_decref(rows);
  }
  return EXIT_SUCCESS;
}
