/* DIR/report.html of `carom reproduce`: one page, for the screen and for paper, with the tables of every target
 * whose DIR/NAME.json is there and figures of our runs, the paper's numbers beside them.
 *
 *   figure 3   errors of short predictions, with 95 % intervals, by task and model
 *   figure 4   error along long predictions, one plot for each task
 *   figure 5   energy along one predicted trajectory, of tasks that keep it
 *   figure 6   validation losses of the training, one plot for each task
 *
 * These are drawn from "errors" of a target's document and from the folders of its runs. A target may bring
 * figures of its own: "figures" [{"title", "x_label", "y_label", "log", "series": [{"name", "x": [...],
 * "y": [...], "dashed"}]}], motions of files below DIR as "pictures" [{"title", "file"}], and the name of a
 * page where they play, "page". */
#ifndef CAROM_CLI_REPORT_H
#define CAROM_CLI_REPORT_H

#include "carom.h"

carom_status report_write(const char *folder, carom_error *error);

#endif
