/* The configuration of a run folder, and where two configurations or scenes differ. */
#ifndef CAROM_PUBLIC_RUN_H
#define CAROM_PUBLIC_RUN_H

#include <stdbool.h>

#include "trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a training was made of: config.json of the folder that `carom train` writes. With it
 * carom_model_load and carom_dataset_read read the run's best.h5, last.h5 and data. */
typedef struct carom_run_config {
  char *scene; /* JSON text */
  char *data;  /* the data set: relative to the folder of the run, or absolute */
  carom_model_options model;
  carom_trainer_options train;
  carom_dataset_options dataset;    /* how the data was made or cut */
  carom_contact_model data_contact; /* of the simulation that made it */
} carom_run_config;

/* Reads, and makes the system of its scene. Values out of range and unknown names are refused. */
CAROM_API carom_status carom_run_config_read(const char *path, carom_run_config *config,
                                             carom_system **system, carom_error *error);
CAROM_API carom_status carom_run_config_write(const carom_run_config *config, const char *path,
                                              carom_error *error);
CAROM_API void carom_run_config_free(carom_run_config *config);

/* The first difference of two configurations or scenes. */
typedef struct carom_difference {
  char path[128];             /* "train.epochs", "bodies[0].mass" */
  char first[64], second[64]; /* both values; "nothing" where one side has no such member */
} carom_difference;

/* Whether they differ, and where (found may be NULL). Names and descriptions of scenes do not count. */
CAROM_API bool carom_run_config_differs(const carom_run_config *first,
                                        const carom_run_config *second, carom_difference *found);
CAROM_API bool carom_system_differs(const carom_system *first, const carom_system *second,
                                    carom_difference *found);

#ifdef __cplusplus
}
#endif
#endif
