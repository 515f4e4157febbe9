/* What the paper prints: "Extending Lagrangian and Hamiltonian Neural Networks with Differentiable
 * Contact Models", NeurIPS 2021. Tasks and models are named as carom names them.
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

enum { PAPER_RATIOS = 4 };

/* The eight tasks of section 4, in the order of table 1; ends with NULL. */
extern const char *const paper_tasks[];

/* Table 2: learned friction and restitution, three decimals. */
typedef struct paper_properties {
  const char *task, *model;
  double friction, restitution;
} paper_properties;

/* Appendix I: learned m_2/m_1, m_3/m_1, ..., four decimals; 0 behind the last. */
typedef struct paper_masses {
  const char *task, *model;
  double ratios[PAPER_RATIOS];
} paper_masses;

/* Appendices K and L: relative error of trajectories of 5 states, half of its 95 % interval. */
typedef struct paper_error {
  const char *task, *model;
  double mean, half_width;
  const char *source;
} paper_error;

/* NULL where the paper prints nothing. */
const paper_properties *paper_properties_of(const char *task, const char *model);
const paper_masses *paper_masses_of(const char *task, const char *model);
const paper_error *paper_error_of(const char *task, const char *model);

#endif
