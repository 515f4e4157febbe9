/* The configuration of a run: config.json of a run folder.
 *
 *   {
 *     "carom_version": "0.1.0",
 *     "scene": "{...}",             the JSON text of the scene
 *     "model": "cm-cd-clnn",
 *     "data": "data.h5",            relative to the run folder, or absolute
 *     "seed": 0,
 *     "train": {...},               the options of the trainer,
 *     "model_options": {...},       of the model
 *     "dataset": {...}              and of the data, by the names in their tables (io/option_file.h),
 *                                   beside them "contact": "cm", "cmr" or "lcp", of the simulation
 *   }
 *
 * `dataset` says how the data was made, or how trajectories given as data are cut; a data set that
 * was given is taken as it is, whatever stands there. The file is written when everything that a run
 * begins with is there: a folder that has it holds a run. */
#ifndef CAROM_IO_RUN_CONFIG_H
#define CAROM_IO_RUN_CONFIG_H

#include "carom.h"

#include <jansson.h>

/* As JSON, for the caller to release; NULL if there is no memory. */
json_t *run_config_json(const carom_run_config *config);

#endif
