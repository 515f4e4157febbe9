/* The tables of `carom reproduce learning`: learned beside true values and the paper's. */
#ifndef CAROM_CLI_REPRODUCE_TABLE_H
#define CAROM_CLI_REPRODUCE_TABLE_H

#include "cli/reproduce_results.h"

/* All tables as one JSON object, for the caller to release; NULL if there is no memory.
 *
 *   {
 *     "carom_version", "command",       the program and the command that wrote it
 *     "properties": [{"task", "model", "seeds", "friction": VALUE, "restitution": VALUE}],
 *     "masses": [{"task", "model", "seeds", "body", "index", "ratio": VALUE}],
 *     "contact_runs": [{"task", "model", "seed", "friction_off", "restitution_off"}],
 *     "contacts": [{"task", "model", "seed", "training_chunks", "contacts": [
 *                   {"contact", "friction", "scene_friction", "restitution", "scene_restitution",
 *                    "states", "chunks"}]}],
 *     "errors": [{"task", "model", "seeds", "chunk_states", "steps", "chunk": ERROR,
 *                 "chunk_state_norm": ERROR, "extended": ERROR, "energy_drift": ERROR,
 *                 "energy_drift_true": ERROR, "error_of_state": [...], "failed", "paper",
 *                 "at_most_paper"}],
 *     "runs": [{"task", "model", "seed", "epochs", "best_epoch", "seconds", "programs",
 *               "unsolved_programs", "carom_version", "command"}]
 *   }
 *
 * VALUE: {"true", "mean", "min", "max", "off", "paper", "at_least_as_close"} over the seeds. "off"
 * is how far the worst seed is from the truth; the last says whether that, rounded as the paper
 * rounds, is no further than the paper's value; null where the paper has none. ERROR: {"count",
 * "mean", "half_width_95", "min", "max"}: mean and 95 % interval over the trajectories of all
 * seeds, least and largest of the seeds' means. "paper" is {"mean", "half_width_95", "source"} or
 * null. */
json_t *learning_json(const result_list *list, const char *command);

/* The same to read, in Markdown; the caller frees it. */
char *learning_text(const json_t *tables);

#endif
