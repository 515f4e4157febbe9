/* What the paper prints: "Extending Lagrangian and Hamiltonian Neural Networks with Differentiable
 * Contact Models", NeurIPS 2021. The numbers stand in cli/data/paper.json, by table, task and model,
 * named as carom names them:
 *
 *   properties   table 2: {"friction", "restitution"}, three decimals
 *   mass_ratios  appendix I: [m_2/m_1, m_3/m_1, ...], four decimals
 *   errors       appendices K and L: {"mean", "half_width_95", "source"}, the relative error of
 *                trajectories of 5 states, half of its 95 % interval
 *   planning     by plan and unknown: where the reference implementation ends; the paper has no numbers
 *
 * Three things to know when comparing:
 *  - Its Rope has 200 points (table 1: D = 400), which is carom's `rope200`; `rope` has 10. Its
 *    contact properties stand beside both, its error beside `rope200` alone.
 *  - The mass ratios under CP3 and CP3-e in appendix I belong to each other's task, as the true
 *    ones above them show. They are stored under the task that they belong to.
 *  - Appendix K does not name the model. Its contact properties without LCP data are those of
 *    CM-CD-CHNN in table 2; the errors stand beside both models with CM. */
#ifndef CAROM_CLI_PAPER_VALUES_H
#define CAROM_CLI_PAPER_VALUES_H

#include <jansson.h>

/* The eight tasks of section 4, in the order of table 1; ends with NULL. */
extern const char *const paper_tasks[];

/* An entry of a table; NULL where the paper prints nothing. */
const json_t *paper_entry(const char *table, const char *task, const char *model);

#endif
