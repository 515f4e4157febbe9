/* Rows of tables over evaluated runs: numbers of evaluation.json over the seeds of one task and
 * model. What the targets of `carom reproduce` are made of. Everything is for the caller to release. */
#ifndef CAROM_CLI_REPRODUCE_ROWS_H
#define CAROM_CLI_REPRODUCE_ROWS_H

#include "cli/reproduce_results.h"

/* Runs of the same task and model. */
typedef struct run_group {
  const result *runs;
  int count;
} run_group;

/* Calls `add` for each group of the list; gives the array that it adds rows to. */
json_t *rows_of_groups(const result_list *list, void (*add)(const run_group *g, json_t *rows));

/* {"task", "model", "seeds"}: a row to be filled. */
json_t *group_row(const run_group *g);

/* A learned number over the seeds: {"true", "mean", "min", "max", "off", "paper",
 * "at_least_as_close"}. "off" is how far the worst seed is from the truth; the last says whether
 * that, rounded to the paper's `decimals`, is no further than the paper's value. It is null where
 * `paper` is NaN. */
json_t *group_value(const run_group *g, const char *path, const char *true_path, double paper,
                    int decimals);

/* An estimate over the trajectories of all seeds, as if they had been one sample: {"count", "mean",
 * "half_width_95", "min", "max"}, the last two of the seeds' means. */
json_t *group_estimate(const run_group *g, const char *path);

/* Mean over the seeds of each number of an array. */
json_t *group_curve(const run_group *g, const char *path);

/* Sum over the seeds of what is at a path; what is not there counts as 0. */
double group_sum(const run_group *g, const char *path);

/* Mean over the seeds of what is at a path; NaN where one of them has nothing. */
double group_mean(const run_group *g, const char *path);

/* Rows for rows_of_groups: what is learned of the contacts of scenes where all share one friction and
 * restitution (none for models that learn neither),
 *   {"task", "model", "seeds", "friction": VALUE, "restitution": VALUE}
 * and errors on test data:
 *   {"task", "model", "seeds", "chunk_states", "steps", "chunk", "chunk_state_norm", "extended",
 *    "energy_drift", "energy_drift_true", "absolute", "scene": ESTIMATE, "chunk_median", "extended_median",
 *    "training_chunks", "validation_loss", "iteration_seconds", "error_of_state": [...], "failed",
 *    "paper", "at_most_paper"}
 * "absolute" is the paper's loss along the test chunks, "scene" the relative error of the scene's own values in the
 * model: what learning cannot go below where data and model have different contacts. */
void add_property_row(const run_group *g, json_t *rows);
void add_error_row(const run_group *g, json_t *rows);

/* A row for each run: {"task", "model", "seed", "epochs", "best_epoch", "seconds", "programs",
 * "unsolved_programs", "carom_version", "command"}. */
json_t *run_rows(const result_list *list);

#endif
