#include "support/cone_problems.h"

#include <math.h>
#include <string.h>

cone_program dense_program(int contact_count, int dimension, const double *A, const double *b,
                           const double *mu, const double *lower, arena *memory) {
  int size = contact_count * dimension;
  int *first = ARENA_ARRAY(memory, int, size + 1);
  memset(first, 0, sizeof(int) * (size_t)(size + 1));
  return (cone_program){.contact_count = contact_count,
                        .dimension = dimension,
                        .shape = envelope_make(size, first, memory),
                        .A = A,
                        .b = b,
                        .mu = mu,
                        .lower = lower};
}

cone_solution cone_solution_make(const cone_program *program, arena *memory) {
  int count = program->contact_count, unknowns = count * program->dimension;
  return (cone_solution){
      .f = arena_zeros(memory, unknowns),
      .state = ARENA_ARRAY(memory, unsigned char, count),
      .dual = arena_zeros(memory, unknowns + count),
  };
}

void cone_problem_assemble(cone_problem *problem) {
  int unknowns = problem->program.shape.size;
  for (int i = 0; i < unknowns; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k < problem->freedom_count; k++)
        sum += problem->G[k * unknowns + i] * problem->G[k * unknowns + j];
      problem->A[envelope_at(&problem->program.shape, i, j)] = sum;
    }
}

static void random_unit(rng *r, int d, double *x) {
  double length = 0;
  for (int k = 0; k < d; k++) {
    x[k] = rng_normal(r);
    length += x[k] * x[k];
  }
  for (int k = 0; k < d; k++) x[k] /= sqrt(length);
}

static void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

// normal and tangents
static void random_frame(rng *r, int d, double frame[3][3]) {
  random_unit(r, d, frame[0]);
  if (d == 2) {
    frame[1][0] = -frame[0][1];
    frame[1][1] = frame[0][0];
    return;
  }
  double other[3];
  random_unit(r, 3, other);
  cross(frame[0], other, frame[1]);
  double length =
      sqrt(frame[1][0] * frame[1][0] + frame[1][1] * frame[1][1] + frame[1][2] * frame[1][2]);
  for (int k = 0; k < 3; k++) frame[1][k] /= length;
  cross(frame[0], frame[1], frame[2]);
}

// adds sign * (velocity of a point of a body along `direction`) to a row [D] of J
static void add_body(int d, int body, const double *arm, const double *direction, double sign,
                     double *row) {
  int freedoms = d == 2 ? 3 : 6;
  double *entry = row + body * freedoms;
  for (int k = 0; k < d; k++) entry[k] += sign * direction[k];
  if (d == 2) {
    entry[2] += sign * (arm[0] * direction[1] - arm[1] * direction[0]);
  } else {
    double moment[3];
    cross(arm, direction, moment);
    for (int k = 0; k < 3; k++) entry[3 + k] += sign * moment[k];
  }
}

static void random_contact(rng *r, int d, int bodies, double lever, int contact, int freedoms,
                           double *J) {
  double frame[3][3] = {{0}}, arm[2][3];
  random_frame(r, d, frame);
  for (int side = 0; side < 2; side++) {
    random_unit(r, d, arm[side]);
    double length = lever > 0 ? pow(lever, rng_uniform(r, 0, 1)) : 0.5;
    for (int k = 0; k < d; k++) arm[side][k] *= length;
  }
  int first = rng_below(r, bodies), second = rng_below(r, bodies + 1);
  for (int a = 0; a < d; a++) {
    double *row = J + (contact * d + a) * freedoms;
    add_body(d, first, arm[0], frame[a], -1, row);
    if (second < bodies && second != first) add_body(d, second, arm[1], frame[a], 1, row);
  }
}

static double random_friction(rng *r, bool any) {
  if (!any) return rng_uniform(r, 0.1, 1);
  double choice = rng_uniform(r, 0, 1);
  if (choice < 0.2) return 0;
  return choice < 0.7 ? rng_uniform(r, 0, 1) : pow(10, rng_uniform(r, -3, 1));
}

// G = M^-1/2 J' and b = J v
static void fill(rng *r, const problem_kind *kind, int bodies, const double *J,
                 cone_problem *problem, double *velocity) {
  int d = problem->program.dimension, unknowns = problem->program.shape.size;
  int per_body = d == 2 ? 3 : 6;
  for (int body = 0; body < bodies; body++) {
    double mass = pow(kind->mass_ratio, rng_uniform(r, 0, 1));
    bool rests = kind->grazing && rng_below(r, 2) == 0;
    for (int k = 0; k < per_body; k++) {
      int freedom = body * per_body + k;
      double inertia = k < d ? mass : 0.1 * mass;
      velocity[freedom] = rests ? 0 : rng_normal(r);
      for (int i = 0; i < unknowns; i++)
        problem->G[freedom * unknowns + i] =
            J[i * problem->freedom_count + freedom] / sqrt(inertia);
    }
  }
  for (int i = 0; i < unknowns; i++) {
    problem->b[i] = 0;
    for (int k = 0; k < problem->freedom_count; k++)
      problem->b[i] += J[i * problem->freedom_count + k] * velocity[k];
  }
}

// turns a compression into the restitution that follows it
static void make_restitution(rng *r, cone_problem *problem, const double *J, arena *memory) {
  cone_program *program = &problem->program;
  int d = program->dimension, unknowns = program->shape.size;
  cone_solution compression = cone_solution_make(program, memory);
  carom_cone_options options = carom_cone_default_options();
  cone_solve(program, &options, false, &compression, memory);
  double largest = 0;
  for (int k = 0; k < unknowns; k++) largest = fmax(largest, fabs(problem->b[k]));
  program->scale = largest;
  double *target = arena_doubles(memory, problem->freedom_count);
  bool compensates = rng_below(r, 2) == 0;
  for (int k = 0; k < problem->freedom_count; k++) target[k] = compensates ? rng_normal(r) : 0;
  double *change = arena_doubles(memory, unknowns);
  envelope_multiply(&program->shape, program->A, compression.f, change);
  for (int i = 0; i < unknowns; i++) {
    problem->b[i] += change[i];
    for (int k = 0; k < problem->freedom_count; k++)
      problem->b[i] -= 0.3 * J[i * problem->freedom_count + k] * target[k];
  }
  for (int i = 0; i < program->contact_count; i++)
    problem->lower[i] =
        (rng_below(r, 4) == 0 ? 0 : rng_uniform(r, 0, 1)) * fmax(compression.f[i * d], 0);
}

cone_problem cone_problem_random(rng *r, const problem_kind *kind, arena *memory) {
  int d = kind->dimension > 0 ? kind->dimension : 2 + rng_below(r, 2);
  int count = kind->contact_count > 0 ? kind->contact_count : 1 + rng_below(r, 12);
  int bodies = kind->body_count > 0 ? kind->body_count : 1 + rng_below(r, count + 2);
  int unknowns = count * d, freedoms = bodies * (d == 2 ? 3 : 6);
  cone_problem problem = {.freedom_count = freedoms};
  problem.A = arena_doubles(memory, unknowns * (unknowns + 1) / 2);
  problem.G = arena_doubles(memory, freedoms * unknowns);
  problem.b = arena_doubles(memory, unknowns);
  problem.mu = arena_doubles(memory, count);
  problem.lower = arena_zeros(memory, count);
  problem.program =
      dense_program(count, d, problem.A, problem.b, problem.mu, problem.lower, memory);

  double *J = arena_zeros(memory, unknowns * freedoms);
  for (int i = 0; i < count; i++) {
    problem.mu[i] = random_friction(r, kind->any_friction);
    if (kind->duplicates && i > 0 && rng_below(r, 3) == 0) {
      int source = rng_below(r, i);
      memcpy(J + i * d * freedoms, J + source * d * freedoms,
             sizeof(double) * (size_t)(d * freedoms));
      double apart = kind->apart > 0 ? pow(10, rng_uniform(r, -12, log10(kind->apart))) : 0;
      for (int k = i * d * freedoms; apart > 0 && k < (i + 1) * d * freedoms; k++)
        J[k] += apart * rng_normal(r);
    } else {
      random_contact(r, d, bodies, kind->lever, i, freedoms, J);
    }
  }
  double *velocity = arena_doubles(memory, freedoms);
  fill(r, kind, bodies, J, &problem, velocity);
  cone_problem_assemble(&problem);
  if (kind->restitution) make_restitution(r, &problem, J, memory);
  return problem;
}
