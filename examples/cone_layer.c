/* The contact solver on its own, as a layer: two contacts in the plane, the impulse f that the
 * cone program gives, and the derivative of a function of f by A, b and the friction coefficients.
 *
 * The first contact slides (its tangential velocity is larger than friction can stop), the second
 * sticks. One entry of each derivative is compared with a central difference.
 */
#include <carom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONTACTS = 2, DIMENSION = 2, SIZE = CONTACTS * DIMENSION };

/* The inputs of the layer; entries of f come in the order n1, t1, n2, t2. */
typedef struct layer {
  double A[SIZE][SIZE];
  double b[SIZE];
  double mu[CONTACTS];
} layer;

static const double f_bar[SIZE] = {1.0, -2.0, 0.5, 3.0}; // loss = f_bar . f

static int give_up(const char *message) {
  fprintf(stderr, "cone_layer: %s\n", message);
  return EXIT_FAILURE;
}

static bool forward(carom_cone_solver *solver, const layer *in, double *f, carom_cone_info *info,
                    carom_error *error) {
  const carom_cone_program program = {.contact_count = CONTACTS,
                                      .dimension = DIMENSION,
                                      .A = &in->A[0][0],
                                      .b = in->b,
                                      .mu = in->mu,
                                      .lower = NULL};
  const carom_cone_options options = carom_cone_default_options();
  return carom_cone_solver_solve(solver, &program, &options, f, info, error) == CAROM_OK;
}

/* The loss at `in`; NAN where it cannot be solved. */
static double loss(carom_cone_solver *solver, const layer *in) {
  double f[SIZE];
  carom_cone_info info;
  carom_error error;
  if (!forward(solver, in, f, &info, &error)) return NAN;
  double sum = 0;
  for (int i = 0; i < SIZE; i++) sum += f_bar[i] * f[i];
  return sum;
}

/* Central difference of the loss by one number of `in`, which is restored. A_ij and A_ji are one
 * number: only the lower triangle is read. */
static double difference(carom_cone_solver *solver, const layer *in, double *entry) {
  const double h = 1e-6;
  const double value = *entry;
  *entry = value + h;
  const double ahead = loss(solver, in);
  *entry = value - h;
  const double behind = loss(solver, in);
  *entry = value;
  return (ahead - behind) / (2 * h);
}

static bool agree(const char *name, double derivative, double by_difference) {
  printf("  by %-7s %12.8f   by central differences %12.8f\n", name, derivative, by_difference);
  return fabs(derivative - by_difference) <= 1e-6 * (1 + fabs(by_difference));
}

static int solve_and_compare(carom_cone_solver *solver) {
  layer in = {
      .A = {{2.0, 0.3, 0.4, 0.1}, {0.3, 3.0, 0.2, 0.3}, {0.4, 0.2, 1.5, 0.2}, {0.1, 0.3, 0.2, 2.5}},
      .b = {-1.0, 2.0, -2.0, 0.1},
      .mu = {0.3, 0.8}};

  // forward: f, and with it the velocities after the contact, A f + b
  double f[SIZE];
  carom_cone_info info;
  carom_error error;
  if (!forward(solver, &in, f, &info, &error)) return give_up(error.message);
  printf("%s, residual %.1e\n", carom_cone_status_text(info.status), info.residual);
  for (int i = 0; i < CONTACTS; i++)
    printf("  contact %d: normal %.6f, tangential %.6f, friction can hold %.6f\n", i, f[2 * i],
           f[2 * i + 1], in.mu[i] * f[2 * i]);
  if (info.status != CAROM_CONE_SOLVED) return give_up("the program was not solved");

  // reverse: the cotangents of everything at once
  double A_bar[SIZE][SIZE], b_bar[SIZE], mu_bar[CONTACTS];
  if (carom_cone_solver_vjp(solver, f_bar, &A_bar[0][0], b_bar, mu_bar, NULL, &error) != CAROM_OK)
    return give_up(error.message);

  // the same by differences; A_bar is symmetric, so the two entries of a pair add up
  bool same = agree("b[1]", b_bar[1], difference(solver, &in, &in.b[1]));
  same &= agree("mu[0]", mu_bar[0], difference(solver, &in, &in.mu[0]));
  same &= agree("A[2][2]", A_bar[2][2], difference(solver, &in, &in.A[2][2]));
  same &= agree("A[2][0]", A_bar[2][0] + A_bar[0][2], difference(solver, &in, &in.A[2][0]));
  return same ? EXIT_SUCCESS : give_up("the derivatives differ");
}

int main(void) {
  carom_error error;
  carom_cone_solver *solver;
  if (carom_cone_solver_create(&solver, &error) != CAROM_OK) return give_up(error.message);
  const int result = solve_and_compare(solver);
  carom_cone_solver_destroy(solver);
  return result;
}
