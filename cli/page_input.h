/* Inputs of `carom view` as documents of a page: any file of carom, the folder of a run, a folder of runs. */
#ifndef CAROM_CLI_PAGE_INPUT_H
#define CAROM_CLI_PAGE_INPUT_H

#include "cli/motion_file.h"
#include "cli/page.h"

/* A file: trajectories, a data set, an evaluation, a plan, a gradient, parameters, a checkpoint. Where the
 * last document is of the same scene and is made of files with motions too, the motions join it. */
carom_status page_add_file(page *p, const char *path, const motion_choice *choice,
                           carom_error *error);

/* The folder of a run: its metrics, evaluation, configuration, motions. */
carom_status page_add_run(page *p, const char *folder, const motion_choice *choice,
                          carom_error *error);

/* Whichever of these it is. A folder without config.json is searched for runs. */
carom_status page_add_input(page *p, const char *path, const motion_choice *choice,
                            carom_error *error);

/* What a plan's result has beside its motions and the course of its loss. */
void page_add_plan(page_document *d, const motion_set *set);

/* What the last part of a path is, without slashes at its end: "cp3.h5". */
const char *path_name(const char *path, char *buffer, size_t size);

#endif
