/* Results of plans (HDF5). Such a file is a trajectory file too, whose samples are the motion before, after,
 * and, planned with learned properties, after with the scene's own.
 *
 *   /x, /v             float64 [2 or 3][T][n][d]    as in a trajectory file
 *   /t                 float64 [T]
 *   /contact           uint8   [2 or 3][T]
 *   /u                 float64 [2 or 3][T - 1][c]   where the scene has controls
 *   /loss              float64 [iterations + 1]     of the best start, from where it began
 *   /gradient_norm     float64 [iterations + 1]     of the gradient as a function of time, as far as bounds
 *                                                   leave it
 *   /rate              float64 [iterations + 1]     learning rate or step length that led there
 *   /unknowns          float64 [iterations + 1][k]
 *   /start_unknowns    float64 [k]                  where it began
 *   /best_unknowns     float64 [k]                  the best
 *   /gradient          float64 [k]                  there
 *   /terms             float64 [terms]              of the objective there, weighted
 *   /true_terms        float64 [terms]              with the scene's own properties, where they were not used
 *   /starts_begin, /starts_end            float64 [starts][k]
 *   /starts_first_loss, /starts_loss      float64 [starts]
 *   /starts_iterations                    int32   [starts]
 *   root attributes: carom_version, scene, dt as in every file; plan (its JSON text), unknown_names and
 *   term_names (a line for each, as far as 60 KB go), stop (why it ended, in words), best_loss, success (0, 1),
 *   and true_loss, true_success, with the scene's own properties, where they were not used */
#ifndef CAROM_IO_PLAN_FILE_H
#define CAROM_IO_PLAN_FILE_H

#include "carom.h"

#endif
