/* The table of carom_model_options, and the names of models. */
#include "base/error.h"
#include "learn/options.h"
#include "rollout/rollout_options.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

static const char *const law_choices[] = {[CAROM_LAW_OF_SCENE] = "scene",
                                          [CAROM_LAW_CONVEX] = "convex",
                                          [CAROM_LAW_COULOMB] = "coulomb",
                                          NULL};
static const char *const baseline_choices[] = {"none", "mlp-clnn", "in-clnn", "in", NULL};

static const option_field fields[] = {
    {OPTION(carom_model_options, baseline), .names = baseline_choices, .role = OPTION_ELSEWHERE},
    {OPTION(carom_model_options, contact), .names = contact_choices, .role = OPTION_ELSEWHERE},
    {OPTION(carom_model_options, dynamics), .names = dynamics_choices, .role = OPTION_ELSEWHERE},
    {OPTION(carom_model_options, compensation), .names = compensation_names,
     .role = OPTION_SCENE | OPTION_LATER, .before = CAROM_COMPENSATION_PAPER,
     .flag = "compensation", .argument = "NAME", .heading = "Model",
     .help =
         "how overlaps are undone, in the model and in data that is simulated for it: position, "
         "or paper: by a target velocity"},
    {OPTION(carom_model_options, contact_time), .names = contact_time_names,
     .role = OPTION_SCENE | OPTION_LATER, .before = CAROM_CONTACT_TIME_STEP, .flag = "contact-time",
     .argument = "WHEN", .heading = "Model",
     .help = "contacts of the model, and of data that is simulated for it, act at the end of a "
             "time step "
             "(step), or when their gap closes (event)"},
    {OPTION(carom_model_options, integrator), .names = integrator_names, .value = CAROM_RK4_SECANT,
     .role = OPTION_PAPER | OPTION_LATER, .paper = CAROM_RK4, .before = CAROM_RK4,
     .flag = "integrator", .argument = "NAME", .heading = "Model",
     .help = "rk4-secant, rk4 (as the paper: twice the time), euler or symplectic-euler"},
    {OPTION(carom_model_options, law), .names = law_choices, .role = OPTION_LATER,
     .before = CAROM_LAW_OF_SCENE, .flag = "friction", .argument = "LAW", .heading = "Model",
     .help = "friction law of the model, and of data that is simulated for it: scene, convex: a "
             "sliding contact parts at mu times its speed, as the paper has it, or coulomb"},
    {OPTION(carom_model_options, hidden_layers), OPTION_RANGE(1, 8), .value = 3, .flag = "layers",
     .argument = "N", .heading = "Model", .help = "hidden layers of the potential network"},
    {OPTION(carom_model_options, hidden_size), OPTION_RANGE(1, 65536), .value = 256,
     .flag = "hidden", .argument = "N", .heading = "Model",
     .help = "width of the potential network"},
    {OPTION(carom_model_options, baseline_size), OPTION_RANGE(0, 65536), .role = OPTION_LATER,
     .flag = "baseline-hidden", .argument = "N", .heading = "Model",
     .help = "width of a baseline's own network; 0: the paper's"},
    {OPTION(carom_model_options, shared_properties), .role = OPTION_SCENE},
    {OPTION(carom_model_options, regularizer), OPTION_AT_LEAST(0), .role = OPTION_LATER,
     .flag = "regularizer", .argument = "X", .heading = "Model",
     .help = "epsilon of cmr; 0: the scene's"},
    {OPTION(carom_model_options, learn_regularizer), .flag = "learn-regularizer",
     .heading = "Model",
     .help = "learn epsilon of cmr too, which otherwise keeps the scene's value"},
    {OPTION(carom_model_options, elastic_term), .value = true, .role = OPTION_PAPER, .paper = false,
     .flag = "no-elastic-term", .heading = "Model",
     .help = "no quadratic of the strain of bounded segments beside the network (as the paper)"},
    {OPTION(carom_model_options, single_precision), .value = true, .flag = "double",
     .heading = "Model",
     .help = "compute the network in double precision (single is as accurate and twice as fast)"},
    {OPTION(carom_model_options, dt), OPTION_POSITIVE, .role = OPTION_SCENE},
    {OPTION(carom_model_options, threads), OPTION_RANGE(0, MAX_THREADS), .role = OPTION_SPEED},
    {OPTION(carom_model_options, initial_friction), OPTION_POSITIVE, .value = 0.2,
     .role = OPTION_PAPER, .paper = 1, .flag = "initial-friction", .argument = "X",
     .heading = "Model", .help = "frictions start between 0 and X; the paper has 1"},
    {OPTION(carom_model_options, length_scale), OPTION_AT_LEAST(0),
     .role = OPTION_PAPER | OPTION_LATER},
    {OPTION(carom_model_options, speed_scale), OPTION_AT_LEAST(0),
     .role = OPTION_PAPER | OPTION_LATER},
    {OPTION(carom_model_options, seed), .role = OPTION_ELSEWHERE},
};
const option_table model_option_table = OPTION_TABLE(fields);

carom_model_options carom_model_default_options(const carom_system *system) {
  carom_model_options options = {0};
  options_set_defaults(&model_option_table, &options);
  if (system == NULL) return options;
  options.shared_properties = system->shared_properties;
  options.compensation = system->compensation;
  options.contact_time = system->contact_time;
  options.dt = system->dt;
  return options;
}

carom_friction_law carom_model_friction_law(const carom_model_options *options,
                                            const carom_system *system) {
  if (options != NULL && options->law == CAROM_LAW_CONVEX) return CAROM_CONVEX_FRICTION;
  if (options != NULL && options->law == CAROM_LAW_COULOMB) return CAROM_COULOMB_FRICTION;
  return system != NULL ? system->friction_law : CAROM_CONVEX_FRICTION;
}

static const struct {
  const char *name;
  carom_contact_model contact;
  carom_dynamics dynamics;
  carom_baseline baseline;
} names[] = {
    {"cm-cd-clnn", CAROM_CM, CAROM_LAGRANGIAN, CAROM_BASELINE_NONE},
    {"cm-cd-chnn", CAROM_CM, CAROM_HAMILTONIAN, CAROM_BASELINE_NONE},
    {"cmr-cd-clnn", CAROM_CMR, CAROM_LAGRANGIAN, CAROM_BASELINE_NONE},
    {"cmr-cd-chnn", CAROM_CMR, CAROM_HAMILTONIAN, CAROM_BASELINE_NONE},
    {"mlp-cd-clnn", CAROM_CM, CAROM_LAGRANGIAN, CAROM_BASELINE_MLP_CLNN},
    {"in-cp-clnn", CAROM_CM, CAROM_LAGRANGIAN, CAROM_BASELINE_IN_CLNN},
    {"in-cp-sp", CAROM_CM, CAROM_LAGRANGIAN, CAROM_BASELINE_IN},
    {"lcp-cd-clnn", CAROM_LCP, CAROM_LAGRANGIAN, CAROM_BASELINE_NONE},
    {"lcp-cd-chnn", CAROM_LCP, CAROM_HAMILTONIAN, CAROM_BASELINE_NONE},
};
enum { NAME_COUNT = sizeof names / sizeof names[0] };

int carom_model_name_count(void) { return NAME_COUNT; }

const char *carom_model_name(int index) {
  return index >= 0 && index < NAME_COUNT ? names[index].name : NULL;
}

carom_status carom_model_options_by_name(carom_model_options *options, const char *name,
                                         carom_error *error) {
  REQUIRE(options, error);
  REQUIRE(name, error);
  for (int i = 0; i < NAME_COUNT; i++) {
    if (strcmp(name, names[i].name) != 0) continue;
    options->contact = names[i].contact;
    options->dynamics = names[i].dynamics;
    options->baseline = names[i].baseline;
    return error_clear(error);
  }
  char list[24 * NAME_COUNT] = "";
  for (int i = 0; i < NAME_COUNT; i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", names[i].name);
  }
  return error_set(error, CAROM_INVALID_ARGUMENT, "no model is called '%s'; there are %s", name,
                   list);
}

const char *carom_model_options_name(const carom_model_options *o) {
  for (int i = 0; o != NULL && i < NAME_COUNT; i++)
    if (names[i].contact == o->contact && names[i].dynamics == o->dynamics &&
        names[i].baseline == o->baseline)
      return names[i].name;
  return "";
}
