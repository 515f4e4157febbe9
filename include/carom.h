/* carom: a differentiable simulator of rigid bodies with contacts.
 *
 * The one header to include: the whole public interface, whose parts by subject are listed at the end
 * (each can be included alone). Conventions:
 *  - A system has `point_count` points in `dimension` (2 or 3) coordinates. A state is a position
 *    and a velocity array, each [point_count][dimension], row-major, contiguous.
 *  - Batches come first: [batch][point_count][dimension]; trajectories are
 *    [batch][steps + 1][point_count][dimension], the initial state included.
 *  - Everything is double precision and in the units of the scene (SI in the built-in scenes).
 *  - Threads. A carom_system is constant after it is made: any number of threads may use it at once,
 *    and so may they a carom_dataset that nobody changes. A rollout, cone solver, model or trainer
 *    belongs to one thread at a time; different ones may be used at once, but a trainer uses its
 *    model. Calls start threads of their own where options.threads is not 1;
 *    while a model computes, BLAS is held to one thread and then gets back what it had.
 *  - Files: several threads may save and load at once, each its own objects; one lock of the process
 *    stands around the library's use of HDF5. Calls that the program makes to HDF5 itself are not
 *    under that lock: a program that does both makes them from one thread, or holds a lock of its
 *    own around these and the library's functions with a path. A file without carom's checksum is
 *    tried in a child process (fork) before it is read.
 *  - The library never prints, exits or aborts on input. Functions that can fail return a
 *    carom_status; the message (what, where, what to do) is in the caller's carom_error, which may
 *    be NULL. An *error* is a bad call or bad input. How well a contact problem was solved is not
 *    an error but a number in a carom_report. After CAROM_OUT_OF_MEMORY the objects of the call can
 *    be used again.
 *  - A pointer that may be NULL is said to be so; any other NULL is CAROM_INVALID_ARGUMENT, and
 *    what the function would have made is NULL. Functions without a status answer NULL with something
 *    harmless: 0, NULL, "", zeros; destroying NULL does nothing.
 *  - Derivatives are vector-Jacobian products: `foo_vjp` takes the cotangents (`*_bar`) of what
 *    `foo` computes and gives those of its inputs.
 *  - Names are carom_<object>_<verb>. The object comes first, the carom_error last. What _create,
 *    _load, _generate or _evaluate give as a pointer is given back by _destroy; the arrays of a
 *    struct that _read fills, by _free.
 *  - Files of arrays are HDF5 and carry the scene, the time step and the version. They are replaced
 *    as a whole or not at all: a reader never sees half of one.
 */
#ifndef CAROM_H
#define CAROM_H

/* calls, errors, files */
#include "carom/arrays.h"  /* every number in a file by its name */
#include "carom/file.h"    /* files that are written whole or not at all */
#include "carom/options.h" /* every option by its name */
#include "carom/ranks.h"   /* work shared by several processes */
#include "carom/status.h"  /* errors and their messages */
#include "carom/version.h" /* which carom this is */

/* simulation */
#include "carom/cone.h"         /* the cone program of contact impulses and its derivative */
#include "carom/contacts.h"     /* what touches at a state, and its impulses */
#include "carom/drawing.h"      /* what a system looks like */
#include "carom/parameters.h"   /* masses, friction, ... of a system as one vector */
#include "carom/potential.h"    /* a potential energy of the caller's own */
#include "carom/rollout.h"      /* motion of batches and its derivative */
#include "carom/system.h"       /* scenes, what they are made of, initial states */
#include "carom/trajectories.h" /* trajectories and gradients, their files */

/* learning */
#include "carom/dataset.h"    /* chunks of trajectories */
#include "carom/evaluation.h" /* how good a model is */
#include "carom/fit.h"        /* numbers of a scene with their uncertainty, from trajectories */
#include "carom/model.h"      /* what is learned; loss and prediction */
#include "carom/run.h"        /* the configuration of a run folder */
#include "carom/trainer.h"    /* training, stopped and taken up again */

/* planning */
#include "carom/plan.h" /* starts, controls and parameters that reach something */

#endif
