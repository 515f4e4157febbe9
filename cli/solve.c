/* carom solve: one cone program from a file. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/given_options.h"
#include "cli/memory.h"
#include "cli/messages.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct arguments {
  const char *file;
  given_options cone;
  bool json;
} arguments;

typedef struct result {
  carom_cone_program program;
  double *f; /* [C] */
  double *s; /* [C] A f + b */
  carom_cone_info info;
} result;

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {{"json", KEY_JSON, NULL, 0, "results as JSON", 0},
                                             {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->cone; return 0;
    case KEY_JSON: a->json = true; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "file", text, &a->file); return 0;
    case ARGP_KEY_END:
      if (a->file == NULL) argp_error(state, "the file with the cone program is missing");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Solves the cone program in FILE (JSON): minimise 1/2 f'Af + b'f with |f_t| <= mu f_n and f_n "
    ">= lower for every contact. Prints f, s = Af + b, how it was solved and the residual. Exit "
    "status 1 if it was not solved. `carom simulate --dump-failures DIR` writes such files where a "
    "simulation has programs that were not solved."
    "\vExample:\n"
    "  echo '{\"carom_cone_program\": 1, \"contact_count\": 1, \"dimension\": 2,\n"
    "         \"A\": [[2, 0], [0, 4]], \"b\": [-1, 1], \"mu\": [0.1], \"lower\": [0]}' \\\n"
    "    >cone.json\n"
    "  carom solve cone.json";
static struct argp argp = {.options = options, .parser = parse, .args_doc = "FILE", .doc = help};

// s = A f + b from the lower triangle of A
static void multiply(const carom_cone_program *p, const double *f, double *s) {
  size_t size = (size_t)(p->contact_count * p->dimension);
  for (size_t i = 0; i < size; i++) s[i] = p->b[i];
  for (size_t i = 0; i < size; i++) {
    for (size_t j = 0; j <= i; j++) {
      s[i] += p->A[i * size + j] * f[j];
      if (j < i) s[j] += p->A[i * size + j] * f[i];
    }
  }
}

static carom_status solve(const arguments *a, result *r, carom_error *error) {
  carom_status status = carom_cone_program_read(a->file, &r->program, error);
  if (status != CAROM_OK) return status;
  size_t size = (size_t)(r->program.contact_count * r->program.dimension);
  r->f = allocate(size, sizeof(double));
  r->s = allocate(size, sizeof(double));
  carom_cone_solver *solver = NULL;
  carom_cone_options cone = carom_cone_default_options();
  given_options_apply(&a->cone, &cone);
  if (r->f == NULL || r->s == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  status = carom_cone_solver_create(&solver, error);
  if (status == CAROM_OK) {
    status = carom_cone_solver_solve(solver, &r->program, &cone, r->f, &r->info, error);
  }
  if (status == CAROM_OK) multiply(&r->program, r->f, r->s);
  carom_cone_solver_destroy(solver);
  return status;
}

static void print_text(const result *r) {
  const carom_cone_program *p = &r->program;
  printf("status         %s\n", carom_cone_status_text(r->info.status));
  printf("residual       %.3g\n", r->info.residual);
  printf("steps          %d Newton, %d interior-point%s%s\n", r->info.newton_steps,
         r->info.interior_steps, r->info.singular ? "; singular: least-norm selection" : "",
         r->info.projected ? "; b projected on the range of A" : "");
  printf("contact  component  f                        s = Af + b\n");
  for (int i = 0; i < p->contact_count; i++) {
    for (int k = 0; k < p->dimension; k++) {
      int at = i * p->dimension + k;
      printf("%7d  %-9s  %-23.16g  %.16g\n", i, k == 0 ? "normal" : "tangent", r->f[at], r->s[at]);
    }
  }
}

static json_t *vector_json(const double *values, int count) {
  json_t *array = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(array, json_number(values[k]));
  return array;
}

static void print_as_json(const result *r) {
  int size = r->program.contact_count * r->program.dimension;
  print_json(json_pack(
      "{ss so si si sb sb so so}", "status", carom_cone_status_text(r->info.status), "residual",
      json_number(r->info.residual), "newton_steps", r->info.newton_steps, "interior_steps",
      r->info.interior_steps, "singular", (int)r->info.singular, "projected",
      (int)r->info.projected, "f", vector_json(r->f, size), "s", vector_json(r->s, size)));
}

int command_solve(int argc, char **argv) {
  arguments a = {.cone = {.of = CAROM_CONE_OPTIONS}};
  const struct argp_child children[] = {{given_options_argp(CAROM_CONE_OPTIONS, NULL), 0, NULL, 0},
                                        {0}};
  argp.children = children;
  parse_command_line(&argp, argc, argv, &a);
  result r = {0};
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (solve(&a, &r, &error) != CAROM_OK) {
    code = report_failure("solve", &error);
  } else {
    (a.json ? print_as_json : print_text)(&r);
    bool solved = r.info.status == CAROM_CONE_SOLVED || r.info.status == CAROM_CONE_DEGENERATE;
    if (!solved) code = EXIT_FAILURE;
  }
  carom_cone_program_free(&r.program);
  free(r.f);
  free(r.s);
  return code;
}
