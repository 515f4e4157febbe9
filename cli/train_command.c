#include "cli/train_command.h"

#include "cli/given_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// a word that a shell reads as it stands, or in quotes
static void put_word(FILE *out, const char *word) {
  bool plain = word[0] != '\0';
  for (const char *c = word; *c != '\0'; c++) {
    if (!isalnum((unsigned char)*c) && strchr("_./,=+:@%-", *c) == NULL) plain = false;
  }
  if (plain) {
    fputs(word, out);
    return;
  }
  fputc('\'', out);
  for (const char *c = word; *c != '\0'; c++) {
    if (*c == '\'')
      fputs("'\\''", out);
    else
      fputc(*c, out);
  }
  fputc('\'', out);
}

char *command_line(int argc, char **argv) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  // the first one is the program and its subcommand
  fputs(argv[0], out);
  for (int k = 1; k < argc; k++) {
    fputc(' ', out);
    put_word(out, argv[k]);
  }
  return fclose(out) == 0 ? text : NULL;
}

// the flags of options that are not the usual ones
static void put_options(FILE *out, carom_options of, const void *options, const void *usual) {
  for (int k = 0; k < carom_option_count(of); k++) {
    const carom_option_info info = carom_option_describe(of, k);
    char here[64], there[64];
    if (info.flag == NULL ||
        carom_option_get(of, options, info.name, here, sizeof here, NULL) != CAROM_OK ||
        carom_option_get(of, usual, info.name, there, sizeof there, NULL) != CAROM_OK ||
        strcmp(here, there) == 0)
      continue;
    // a switch has a flag for what it is not by default
    if (info.kind != CAROM_OPTION_SWITCH)
      fprintf(out, " --%s %s", info.flag, here);
    else if (strcmp(here, info.value) != 0)
      fprintf(out, " --%s", info.flag);
  }
}

static void put_data(FILE *out, const carom_run_config *c, const carom_dataset_options *usual) {
  if (c->data[0] == '/') {
    fputs(" --data ", out);
    put_word(out, c->data);
  }
  put_options(out, CAROM_DATASET_OPTIONS, &c->dataset, usual);
  if (c->data_contact != CAROM_CM)
    fprintf(out, " --contact %s",
            choice_name(CAROM_ROLLOUT_OPTIONS, "contact", (int)c->data_contact));
}

// what differs from the defaults, or from --paper
static char *training_text(const carom_run_config *c, const carom_system *system, bool paper) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  carom_model_options model = carom_model_default_options(system);
  carom_trainer_options train = carom_trainer_default_options();
  if (paper) {
    fputs(" --paper", out);
    carom_options_set_paper(CAROM_MODEL_OPTIONS, &model);
    carom_options_set_paper(CAROM_TRAINER_OPTIONS, &train);
  }
  put_options(out, CAROM_TRAINER_OPTIONS, &c->train, &train);
  put_options(out, CAROM_MODEL_OPTIONS, &c->model, &model);
  return fclose(out) == 0 ? text : NULL;
}

// a built-in scene by its name, any other as the file that it came from may be called
static void put_scene(FILE *out, const carom_run_config *c, const carom_system *system) {
  const char *name = carom_system_describe(system).name;
  bool built_in = false;
  for (int k = 0; k < carom_scene_count(); k++) {
    if (strcmp(carom_scene_name(k), name) == 0)
      built_in = strcmp(carom_scene_text(k), c->scene) == 0;
  }
  put_word(out, name);
  if (!built_in) fputs(".json", out);
}

char *dataset_command(const carom_run_config *config, const carom_system *system,
                      const char *path) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  const carom_dataset_options usual = carom_dataset_default_options(system);
  fputs("carom dataset ", out);
  put_scene(out, config, system);
  fprintf(out, " --seed %llu", (unsigned long long)config->dataset.seed);
  put_data(out, config, &usual);
  fputs(" -o ", out);
  put_word(out, path);
  return fclose(out) == 0 ? text : NULL;
}

char *train_command(const carom_run_config *config, const carom_system *system,
                    const char *folder) {
  char *text = NULL, *usual = training_text(config, system, false),
       *paper = training_text(config, system, true);
  size_t size;
  FILE *out = usual != NULL && paper != NULL ? open_memstream(&text, &size) : NULL;
  if (out != NULL) {
    fputs("carom train ", out);
    put_scene(out, config, system);
    fprintf(out, " --model %s --seed %llu", carom_model_options_name(&config->model),
            (unsigned long long)config->train.seed);
    // whichever says it in fewer words; --paper can have neither an elasticity nor scales
    const bool possible = !config->model.elastic_term && config->model.length_scale == 0;
    const bool as_paper = possible && strlen(paper) < strlen(usual);
    fputs(as_paper ? paper : usual, out);
    const carom_dataset_options data = carom_dataset_default_options(system);
    put_data(out, config, &data);
    fputs(" -o ", out);
    put_word(out, folder);
    if (fclose(out) != 0) text = NULL;
  }
  free(usual);
  free(paper);
  return text;
}
