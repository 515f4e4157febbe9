/* Work shared by several processes (ranks), on one machine or many.
 *
 * A carom that was built with MPI (CMake: -DCAROM_MPI=ON) and started by `mpirun -n N` may share its work:
 * after carom_ranks_begin every rank makes the same calls in the same order, with the same arguments, and
 *
 *     carom_system_simulate, carom_dataset_generate, carom_model_loss, carom_model_predict,
 *     carom_model_evaluate and the functions of a trainer
 *
 * compute a part of their samples on each rank and give every rank the whole result: the bits that one
 * process gives, whatever N is. All other functions are each rank's own. Files are written by the caller;
 * usually rank 0 does it alone.
 *
 * Who never calls carom_ranks_begin, and who has a carom without MPI, is alone: one rank, number 0. */
#ifndef CAROM_PUBLIC_RANKS_H
#define CAROM_PUBLIC_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the ranks that a launcher (mpirun, srun) started with this one; nothing happens where there is no
 * launcher. Initialises MPI unless the caller has. CAROM_INVALID_ARGUMENT where there are several and this
 * carom was built without MPI. */
CAROM_API carom_status carom_ranks_begin(carom_error *error);

/* How many there are, and which one this is, 0 the first; 1 and 0 before carom_ranks_begin and inside a
 * task of carom_ranks_share_out. */
CAROM_API int carom_ranks_count(void);
CAROM_API int carom_ranks_index(void);

/* All ranks go on, or none: gives the first status that is not CAROM_OK, with its message, to all. */
CAROM_API carom_status carom_ranks_agree(carom_status status, carom_error *error);

/* values [count] become their sums over the ranks. */
CAROM_API carom_status carom_ranks_sum(int count, int64_t *values, carom_error *error);

/* Calls `task` for each index from 0 to count - 1, each on one of the ranks, the next as soon as a rank is
 * free. Inside a task the rank is alone. A task that returns false ends it: no further ones begin. Returns
 * on all ranks when all are over; done (may be NULL): how many this rank has begun. */
typedef bool (*carom_ranks_task)(void *user, int index);
CAROM_API carom_status carom_ranks_share_out(int count, carom_ranks_task task, void *user,
                                             int *done, carom_error *error);

/* Leaves. Waits `seconds` (negative: for ever) for all others to leave too; false if they did not:
 * carom_ranks_abort then ends them, since they wait for this one. */
CAROM_API bool carom_ranks_end(double seconds);

/* Ends all ranks with an exit code, this one included. */
CAROM_API void carom_ranks_abort(int code);

#ifdef __cplusplus
}
#endif
#endif
