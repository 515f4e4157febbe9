#include "cli/train_command.h"

#include "cli/run_options.h"

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

static void put_integer(FILE *out, const char *option, int value, int usual) {
  if (value != usual) fprintf(out, " --%s %d", option, value);
}

static void put_number(FILE *out, const char *option, double value, double usual) {
  if (value != usual) fprintf(out, " --%s %.15g", option, value);
}

static void put_training(FILE *out, const carom_trainer_options *o,
                         const carom_trainer_options *usual) {
  put_integer(out, "epochs", o->epochs, usual->epochs);
  put_integer(out, "batch", o->batch, usual->batch);
  put_number(out, "lr", o->learning_rate, usual->learning_rate);
  if (o->schedule != usual->schedule)
    fprintf(out, " --schedule %s", o->schedule == CAROM_COSINE ? "cosine" : "constant");
  if (o->schedule == CAROM_COSINE) put_number(out, "final-rate", o->final_rate, usual->final_rate);
  put_number(out, "property-rate", o->property_rate, usual->property_rate);
  put_integer(out, "search-every", o->search_every, usual->search_every);
  put_number(out, "weight-decay", o->weight_decay, usual->weight_decay);
}

static void put_model(FILE *out, const carom_model_options *o, const carom_model_options *usual) {
  put_integer(out, "hidden", o->hidden_size, usual->hidden_size);
  put_integer(out, "layers", o->hidden_layers, usual->hidden_layers);
  if (!o->elastic_term && usual->elastic_term) fputs(" --no-elastic-term", out);
  if (!o->single_precision) fputs(" --double", out);
  if (o->learn_regularizer) fputs(" --learn-regularizer", out);
  put_number(out, "initial-friction", o->initial_friction, usual->initial_friction);
}

static void put_data(FILE *out, const carom_run_config *c, const carom_dataset_options *usual) {
  const carom_dataset_options *o = &c->dataset;
  if (c->data[0] == '/') {
    fputs(" --data ", out);
    put_word(out, c->data);
  }
  put_integer(out, "train", o->train, usual->train);
  put_integer(out, "val", o->validation, usual->validation);
  put_integer(out, "test", o->test, usual->test);
  put_integer(out, "chunk", o->chunk, usual->chunk);
  put_integer(out, "steps", o->steps, usual->steps);
  put_number(out, "noise", o->noise, usual->noise);
  put_number(out, "share", o->contact_share, usual->contact_share);
  if (c->data_contact != CAROM_CM) fprintf(out, " --contact %s", contact_names[c->data_contact]);
}

// what differs from the defaults, or from --paper
static char *training_text(const carom_run_config *c, const carom_system *system, bool paper) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  carom_model_options model = carom_model_default_options(system);
  const carom_trainer_options train =
      paper ? carom_trainer_paper_options() : carom_trainer_default_options();
  if (paper) {
    fputs(" --paper", out);
    model.initial_friction = 1.0;
    model.elastic_term = false;
  }
  put_training(out, &c->train, &train);
  put_model(out, &c->model, &model);
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
    // whichever says it in fewer words; --paper cannot have an elasticity
    const bool as_paper = !config->model.elastic_term && strlen(paper) < strlen(usual);
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
