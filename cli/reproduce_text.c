/* The tables of `carom reproduce learning` as Markdown. */
#include "cli/reproduce_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *text_of(const json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text != NULL ? text : "";
}

static void put_names(FILE *out, const json_t *row) {
  fprintf(out, "| %s | %s |", text_of(row, "task"), text_of(row, "model"));
}

static void put_seed_count(FILE *out, const json_t *row) {
  fprintf(out, " %zu |", json_array_size(json_object_get(row, "seeds")));
}

static void put_head(FILE *out, const char *const *columns) {
  fputs("\n|", out);
  for (int k = 0; columns[k] != NULL; k++) fprintf(out, " %s |", columns[k]);
  // the first two are names, the others numbers
  fputs("\n|", out);
  for (int k = 0; columns[k] != NULL; k++) fputs(k < 2 ? "---|" : "---:|", out);
  fputc('\n', out);
}

/* ---- learned values -------------------------------------------------------------------------- */

// a number with so many decimals, or a dash
static void put_fixed(FILE *out, double value, int decimals) {
  if (isnan(value))
    fputs(" - |", out);
  else
    fprintf(out, " %.*f |", decimals, value);
}

// truth, learned with its range over several seeds, the paper's
static void put_value(FILE *out, const json_t *value, size_t seeds, int paper_decimals) {
  put_fixed(out, json_at(value, "true"), 3);
  if (seeds > 1) {
    fprintf(out, " %.5f (%.5f .. %.5f) |", json_at(value, "mean"), json_at(value, "min"),
            json_at(value, "max"));
  } else {
    put_fixed(out, json_at(value, "mean"), 5);
  }
  put_fixed(out, json_at(value, "paper"), paper_decimals);
}

static const char *verdict(const json_t *value, const char *key) {
  const json_t *found = json_object_get(value, key);
  return json_is_true(found) ? "yes" : json_is_false(found) ? "**no**" : "-";
}

static void put_properties(FILE *out, const json_t *rows) {
  static const char *const columns[] = {"task",       "model", "seeds",    "mu true",
                                        "mu learned", "paper", "as close", "e true",
                                        "e learned",  "paper", "as close", NULL};
  fputs(
      "\n## Friction and restitution\n\n"
      "Tasks where all contacts share one friction mu and one restitution e (the paper's table 2). "
      "Several seeds: the mean, and from the least to the largest. \"As close\": every seed's "
      "value, "
      "rounded to the paper's three decimals, is at least as close to the truth as the paper's. "
      "The "
      "paper's Rope has 200 points; its values stand beside `rope` (10 points) and `rope200`.\n",
      out);
  put_head(out, columns);
  const json_t *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    const size_t seeds = json_array_size(json_object_get(row, "seeds"));
    put_names(out, row);
    put_seed_count(out, row);
    static const char *const names[] = {"friction", "restitution"};
    for (int part = 0; part < 2; part++) {
      const json_t *value = json_object_get(row, names[part]);
      put_value(out, value, seeds, 3);
      fprintf(out, " %s |", verdict(value, "at_least_as_close"));
    }
    fputc('\n', out);
  }
}

static void put_masses(FILE *out, const json_t *rows) {
  static const char *const columns[] = {"task",    "model", "seeds",  "ratio",    "true",
                                        "learned", "paper", "off by", "as close", NULL};
  fputs(
      "\n## Mass ratios\n\n"
      "Masses by that of the first body (the paper's appendix I, whose columns CP3 and CP3-e "
      "belong "
      "to each other's task: here each stands beside the task that it belongs to). \"Off by\": the "
      "worst seed. \"As close\": as above, with the paper's four decimals.\n",
      out);
  put_head(out, columns);
  const json_t *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    const json_t *value = json_object_get(row, "ratio");
    put_names(out, row);
    put_seed_count(out, row);
    fprintf(out, " m%d/m1 |", (int)json_at(row, "index"));
    put_value(out, value, json_array_size(json_object_get(row, "seeds")), 4);
    fprintf(out, " %.4f %% | %s |\n", 100.0 * json_at(value, "off") / json_at(value, "true"),
            verdict(value, "at_least_as_close"));
  }
}

// "a|ground": a bar ends a cell
static void put_label(FILE *out, const char *label) {
  for (; *label != '\0'; label++) {
    if (*label == '|') fputc('\\', out);
    fputc(*label, out);
  }
  fputs(" |", out);
}

static void put_contact_runs(FILE *out, const json_t *rows) {
  static const char *const columns[] = {"task", "model", "seed", "mu off by", "e off by", NULL};
  fputs(
      "\n## Properties of single contacts\n\n"
      "Tasks where each contact has its own. Of each run the worst contact that occurs in its "
      "training data:\n",
      out);
  put_head(out, columns);
  const json_t *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    put_names(out, row);
    fprintf(out, " %d |", (int)json_at(row, "seed"));
    put_fixed(out, json_at(row, "friction_off"), 5);
    put_fixed(out, json_at(row, "restitution_off"), 5);
    fputc('\n', out);
  }
}

static void put_contacts(FILE *out, const json_t *tables) {
  static const char *const columns[] = {"task",      "contact", "mu true", "mu learned", "e true",
                                        "e learned", "states",  "chunks",  NULL};
  const json_t *table, *row;
  size_t t, k;
  if (json_array_size(tables) == 0) return;
  fputs(
      "\nEvery contact; \"states\" and \"chunks\": how many of the training data's have it active. "
      "What never occurs cannot be learned.\n",
      out);
  json_array_foreach(tables, t, table) {
    fprintf(out, "\n%s, %s, seed %d, %d training chunks:\n", text_of(table, "task"),
            text_of(table, "model"), (int)json_at(table, "seed"),
            (int)json_at(table, "training_chunks"));
    put_head(out, columns);
    json_array_foreach(json_object_get(table, "contacts"), k, row) {
      fprintf(out, "| %s | ", text_of(table, "task"));
      put_label(out, text_of(row, "contact"));
      put_fixed(out, json_at(row, "scene_friction"), 3);
      put_fixed(out, json_at(row, "friction"), 5);
      put_fixed(out, json_at(row, "scene_restitution"), 3);
      put_fixed(out, json_at(row, "restitution"), 5);
      fprintf(out, " %d | %d |\n", (int)json_at(row, "states"), (int)json_at(row, "chunks"));
    }
  }
}

/* ---- errors ---------------------------------------------------------------------------------- */

// mean with half of its 95 % interval
static void put_estimate(FILE *out, const json_t *value) {
  const double mean = json_at(value, "mean"), half_width = json_at(value, "half_width_95");
  if (isnan(mean))
    fputs(" - |", out);
  else if (isnan(half_width))
    fprintf(out, " %.2e |", mean);
  else
    fprintf(out, " %.2e (%.1e) |", mean, half_width);
}

// least and largest of the seeds
static void put_range(FILE *out, const json_t *row, const json_t *value) {
  if (json_array_size(json_object_get(row, "seeds")) > 1)
    fprintf(out, " %.1e .. %.1e |", json_at(value, "min"), json_at(value, "max"));
  else
    fputs(" - |", out);
}

static void put_failures(FILE *out, const json_t *rows) {
  const json_t *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    const int failed = (int)json_at(row, "failed");
    if (failed > 0) {
      fprintf(out, "\n**%s, %s: %d predictions became non-finite and are left out.**\n",
              text_of(row, "task"), text_of(row, "model"), failed);
    }
  }
}

static void put_errors(FILE *out, const json_t *rows) {
  static const char *const columns[] = {"task",        "model",        "seeds",        "chunk",
                                        "over seeds",  "paper",        "at most",      "long",
                                        "chunk, norm", "energy drift", "of the truth", NULL};
  static const char *const parts[] = {"extended", "chunk_state_norm", "energy_drift",
                                      "energy_drift_true"};
  const json_t *first = json_array_get(rows, 0), *row;
  fprintf(
      out,
      "\n## Errors on test data\n\n"
      "Relative error sum |predicted - true| / sum |true| of trajectories of %d states (chunk) "
      "and along %d time steps (long): mean over the test trajectories of all seeds, and in "
      "brackets half of its 95 %% interval. \"Over seeds\": the least and the largest of their "
      "means. The paper's: appendix K (which does not name the model: beside both with CM) and "
      "L. \"Norm\": sqrt(sum (predicted - true)^2 / sum true^2) of each state. Energy drift: "
      "the largest |E - E(0)| along the long prediction, by the kinetic plus |potential| energy "
      "at the start, with the true masses and potential; contacts that lose energy make it in "
      "the true motion too.\n",
      (int)json_at(first, "chunk_states"), (int)json_at(first, "steps"));
  put_head(out, columns);
  size_t k;
  json_array_foreach(rows, k, row) {
    put_names(out, row);
    put_seed_count(out, row);
    put_estimate(out, json_object_get(row, "chunk"));
    put_range(out, row, json_object_get(row, "chunk"));
    put_estimate(out, json_object_get(row, "paper"));
    fprintf(out, " %s |", verdict(row, "at_most_paper"));
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++)
      put_estimate(out, json_object_get(row, parts[part]));
    fputc('\n', out);
  }
  put_failures(out, rows);
}

static void put_curves(FILE *out, const json_t *rows) {
  static const char *const columns[] = {"task",    "model",   "step 1",  "step 2", "step 5",
                                        "step 10", "step 20", "step 50", NULL};
  static const int steps[] = {1, 2, 5, 10, 20, 50};
  fputs("\nRelative error of single states of the long predictions:\n", out);
  put_head(out, columns);
  const json_t *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    put_names(out, row);
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
      char path[64];
      snprintf(path, sizeof path, "error_of_state.%d", steps[s]);
      const double value = json_at(row, path);
      if (isnan(value))
        fputs(" - |", out);
      else
        fprintf(out, " %.2e |", value);
    }
    fputc('\n', out);
  }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void put_runs(FILE *out, const json_t *rows) {
  static const char *const columns[] = {"run",     "command",  "epochs",  "best",
                                        "seconds", "unsolved", "version", NULL};
  fputs(
      "\n## Runs\n\n"
      "Each is the folder that its command makes, followed by `carom evaluate` on it. Seconds: of "
      "all epochs, validation included. \"Unsolved\": contact problems, of training and "
      "evaluation, "
      "that the solver gave up on.\n",
      out);
  put_head(out, columns);
  const json_t *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    fprintf(out, "| %s %s %d | `%s` | %d | %d | %.1f | %lld of %lld | %s |\n", text_of(row, "task"),
            text_of(row, "model"), (int)json_at(row, "seed"), text_of(row, "command"),
            (int)json_at(row, "epochs"), (int)json_at(row, "best_epoch"), json_at(row, "seconds"),
            (long long)json_at(row, "unsolved_programs"), (long long)json_at(row, "programs"),
            text_of(row, "carom_version"));
  }
}

char *learning_text(const json_t *tables) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  const json_t *runs = json_object_get(tables, "runs");
  fprintf(out,
          "# Learning: results beside the paper's\n\n"
          "Section 4 of \"Extending Lagrangian and Hamiltonian Neural Networks with Differentiable "
          "Contact Models\" (NeurIPS 2021). Written by carom %s from %zu runs:\n\n    %s\n",
          text_of(tables, "carom_version"), json_array_size(runs), text_of(tables, "command"));
  put_properties(out, json_object_get(tables, "properties"));
  put_masses(out, json_object_get(tables, "masses"));
  put_contact_runs(out, json_object_get(tables, "contact_runs"));
  put_contacts(out, json_object_get(tables, "contacts"));
  put_errors(out, json_object_get(tables, "errors"));
  put_curves(out, json_object_get(tables, "errors"));
  put_runs(out, runs);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}
