#include "cli/paper_values.h"

#include <stddef.h>
#include <string.h>

#define CM_CLNN "cm-cd-clnn"
#define CM_CHNN "cm-cd-chnn"
#define CMR_CLNN "cmr-cd-clnn"
#define CMR_CHNN "cmr-cd-chnn"

const char *const paper_tasks[] = {"bp5-e", "bp5",    "cp3-e", "cp3", "bd5",
                                   "rope",  "gyro-e", "gyro",  NULL};

// table 2
static const paper_properties properties[] = {
    {"bp5-e", CM_CLNN, 0.000, 1.000},    {"bp5-e", CM_CHNN, 0.000, 1.000},
    {"bp5-e", CMR_CLNN, 0.000, 1.000},   {"bp5-e", CMR_CHNN, 0.000, 1.000},
    {"cp3-e", CM_CLNN, 0.000, 1.000},    {"cp3-e", CM_CHNN, 0.000, 1.000},
    {"cp3-e", CMR_CLNN, 0.002, 1.000},   {"cp3-e", CMR_CHNN, 0.002, 1.000},
    {"cp3", CM_CLNN, 0.500, 0.005},      {"cp3", CM_CHNN, 0.500, 0.004},
    {"cp3", CMR_CLNN, 0.500, 0.023},     {"cp3", CMR_CHNN, 0.500, 0.023},
    {"rope", CM_CLNN, 0.026, 0.000},     {"rope", CM_CHNN, 0.017, 0.000},
    {"rope", CMR_CLNN, 0.037, 0.011},    {"rope", CMR_CHNN, 0.046, 0.019},
    {"rope200", CM_CLNN, 0.026, 0.000},  {"rope200", CM_CHNN, 0.017, 0.000},
    {"rope200", CMR_CLNN, 0.037, 0.011}, {"rope200", CMR_CHNN, 0.046, 0.019},
    {"gyro-e", CM_CLNN, 0.000, 1.000},   {"gyro-e", CM_CHNN, 0.000, 1.000},
    {"gyro-e", CMR_CLNN, 0.002, 1.000},  {"gyro-e", CMR_CHNN, 0.002, 1.000},
    {"gyro", CM_CLNN, 0.100, 0.800},     {"gyro", CM_CHNN, 0.100, 0.800},
    {"gyro", CMR_CLNN, 0.099, 0.892},    {"gyro", CMR_CHNN, 0.099, 0.893},
};

// appendix I; CP3 and CP3-e exchanged
static const paper_masses masses[] = {
    {"bp5-e", CM_CLNN, {1.0000, 1.0000, 1.0002, 1.0003}},
    {"bp5-e", CM_CHNN, {0.9998, 1.0000, 1.0000, 1.0000}},
    {"bp5-e", CMR_CLNN, {1.0000, 0.9993, 0.9991, 0.9989}},
    {"bp5-e", CMR_CHNN, {1.0004, 0.9994, 0.9999, 0.9997}},
    {"bp5", CM_CLNN, {2.0000, 6.0036, 8.0014, 10.0024}},
    {"bp5", CM_CHNN, {2.0005, 6.0020, 8.0015, 10.0029}},
    {"bp5", CMR_CLNN, {1.9998, 6.0004, 8.0033, 9.9997}},
    {"bp5", CMR_CHNN, {2.0002, 6.0001, 7.9985, 10.0010}},
    {"cp3-e", CM_CLNN, {0.6500, 0.7502}},
    {"cp3-e", CM_CHNN, {0.6499, 0.7500}},
    {"cp3-e", CMR_CLNN, {0.6500, 0.7521}},
    {"cp3-e", CMR_CHNN, {0.6503, 0.7526}},
    {"cp3", CM_CLNN, {2.0006, 1.4990}},
    {"cp3", CM_CHNN, {1.9996, 1.4994}},
    {"cp3", CMR_CLNN, {2.0002, 1.5001}},
    {"cp3", CMR_CHNN, {2.0009, 1.5009}},
};

static const char appendix_k[] = "appendix K", appendix_l[] = "appendix L";

static const paper_error errors[] = {
    {"cp3", CM_CLNN, 2.34e-5, 1.29e-5, appendix_k},
    {"cp3", CM_CHNN, 2.34e-5, 1.29e-5, appendix_k},
    {"cp3-e", CM_CLNN, 3.85e-3, 9.51e-4, appendix_k},
    {"cp3-e", CM_CHNN, 3.85e-3, 9.51e-4, appendix_k},
    {"bp5-e", CM_CLNN, 2.83e-3, 3.64e-4, appendix_k},
    {"bp5-e", CM_CHNN, 2.83e-3, 3.64e-4, appendix_k},
    {"gyro", CM_CLNN, 2.39e-3, 1.36e-3, appendix_k},
    {"gyro", CM_CHNN, 2.39e-3, 1.36e-3, appendix_k},
    {"rope50", CM_CLNN, 1.97e-3, 4.72e-4, appendix_l},
    {"rope100", CM_CLNN, 9.39e-4, 3.26e-4, appendix_l},
    {"rope200", CM_CLNN, 3.20e-3, 5.69e-4, appendix_l},
};

// the entry of a table with this task and model
#define FIND(table, wanted_task, wanted_model)                                                  \
  do {                                                                                          \
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {                               \
      if (strcmp(table[k].task, wanted_task) == 0 && strcmp(table[k].model, wanted_model) == 0) \
        return &table[k];                                                                       \
    }                                                                                           \
    return NULL;                                                                                \
  } while (0)

const paper_properties *paper_properties_of(const char *task, const char *model) {
  FIND(properties, task, model);
}

const paper_masses *paper_masses_of(const char *task, const char *model) {
  FIND(masses, task, model);
}

const paper_error *paper_error_of(const char *task, const char *model) {
  FIND(errors, task, model);
}
