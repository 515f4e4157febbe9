#include "contact/cone_interior.h"

#include "base/vector.h"

#include <math.h>
#include <string.h>
/* A step goes this part of the way to the boundary: nearer spoils the next scaling, less far costs
 * steps. */
static const double STEP_FRACTION = 0.99;

/* A shorter step means that rounding has eaten the direction. */
static const double LEAST_STEP = 1e-8;

/* Least x_0^2 - |x_1|^2, relative and absolute: its root, by which scalings divide, stays above
 * rounding of x_0. */
static const double LEAST_DETERMINANT = 1e-30, TINY = 1e-300;

/* Near the end D spans 1e16: pivots below this share of the diagonal are rounding, and a raised one
 * only shortens the step along a direction that no longer matters. */
static const double PIVOT_FLOOR = 1e-15;

static int cone_size(const cone_interior *in, int i) {
  return in->equations.offset[i + 1] - in->equations.offset[i];
}

static bool is_bounded(const cone_interior *in, int i) {
  return in->smoothing > 0 || in->program->lower[i] > 0;
}

// ---- Lorentz cones of `size` 1 to 3

// x_0^2 - |x_1|^2 without cancellation, kept positive
static double determinant(int size, const double *x) {
  double tail = cone_tangent_length(size, x);
  double value = (x[0] - tail) * (x[0] + tail);
  return fmax(value, LEAST_DETERMINANT * x[0] * x[0] + TINY);
}

cone_scaling cone_scaling_make(int size, const double *g, const double *z) {
  cone_scaling scaling = {0};
  double root_g = sqrt(determinant(size, g)), root_z = sqrt(determinant(size, z));
  double half = sqrt(fmax(0.5 * (1 + vector_dot_small(g, z, size) / (root_g * root_z)), 1));
  scaling.eta = sqrt(root_g / root_z);
  for (int k = 0; k < size; k++) {
    double sign = k == 0 ? 1 : -1;
    scaling.point[k] = (g[k] / root_g + sign * z[k] / root_z) / (2 * half);
  }
  // the point has determinant one: its first entry follows from the others
  double tail = cone_tangent_length(size, scaling.point);
  scaling.point[0] = sqrt(1 + tail * tail);
  double length = sqrt(2 * (scaling.point[0] + 1));
  for (int k = 0; k < size; k++) scaling.root[k] = (scaling.point[k] + (k == 0 ? 1 : 0)) / length;
  return scaling;
}

void cone_scaling_hessian(int size, const cone_scaling *scaling, double *D) {
  // W^-2 = (2 Jw (Jw)' - J) / eta^2
  double factor = 1 / (scaling->eta * scaling->eta);
  const double *w = scaling->point;
  for (int a = 0; a < size; a++)
    for (int b = 0; b < size; b++) {
      double sign = (a == 0) == (b == 0) ? 1 : -1;
      D[a * size + b] = factor * 2 * sign * w[a] * w[b];
    }
  double tail = cone_tangent_length(size, w);
  D[0] = factor * (1 + 2 * tail * tail);
  for (int a = 1; a < size; a++) D[a * size + a] += factor;
}

// out = W x or, with `inverse`, W^-1 x
static void apply_scaling(int size, const cone_scaling *scaling, bool inverse, const double *x,
                          double *out) {
  double sign = inverse ? -1 : 1;
  double product = scaling->root[0] * x[0];
  for (int k = 1; k < size; k++) product += sign * scaling->root[k] * x[k];
  double factor = inverse ? 1 / scaling->eta : scaling->eta;
  out[0] = factor * (2 * scaling->root[0] * product - x[0]);
  for (int k = 1; k < size; k++) out[k] = factor * (2 * sign * scaling->root[k] * product + x[k]);
}

static void jordan_product(int size, const double *x, const double *y, double *out) {
  out[0] = vector_dot_small(x, y, size);
  for (int k = 1; k < size; k++) out[k] = x[0] * y[k] + y[0] * x[k];
}

// solves x o out = r
static void jordan_divide(int size, const double *x, const double *r, double *out) {
  double product = x[0] * r[0];
  for (int k = 1; k < size; k++) product -= x[k] * r[k];
  out[0] = product / determinant(size, x);
  for (int k = 1; k < size; k++) out[k] = (r[k] - out[0] * x[k]) / x[0];
}

// largest step from x along d that stays in the cone
static double cone_step(int size, const double *x, const double *d) {
  double root = sqrt(determinant(size, x));
  double first = x[0] * d[0];
  for (int k = 1; k < size; k++) first -= x[k] * d[k];
  first /= root;
  double factor = (first + d[0]) / (x[0] / root + 1), tail = 0;
  for (int k = 1; k < size; k++) {
    double value = d[k] - factor * x[k] / root;
    tail += value * value;
  }
  double inverse = (sqrt(tail) - first) / root;
  return inverse > 0 ? 1 / inverse : INFINITY;
}

// ---- the program in scaled units

void cone_interior_equations(cone_equations *e, contact_face *faces) {
  const cone_program *program = e->program;
  for (int i = 0; i < program->contact_count; i++)
    faces[i] = (contact_face){.state = FREE_STICK, .weight = 1};
  cone_equations_set(e, faces);
  for (int i = 0; i < program->contact_count; i++)
    for (int k = 1; k < e->offset[i + 1] - e->offset[i]; k++) e->T[9 * i + 4 * k] = program->mu[i];
  cone_equations_assemble(e);
}

static void set_start(cone_interior *in) {
  int size = in->equations.size;
  memset(in->g, 0, sizeof(double) * (size_t)size);
  memset(in->z, 0, sizeof(double) * (size_t)size);
  in->degree = 0;
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = in->equations.offset[i];
    in->g[at] = in->bound[i] + 1;
    in->z[at] = 1;
    in->w[i] = is_bounded(in, i) ? 1 : 0;
    in->degree += is_bounded(in, i) ? 2 : 1;
  }
}

cone_interior cone_interior_make(const cone_program *program, const cone_scale *scale,
                                 double smoothing, arena *scratch) {
  int count = program->contact_count;
  cone_interior in = {.program = program, .scale = scale, .smoothing = smoothing};
  in.equations = cone_equations_make(program, scratch);
  contact_face *faces = ARENA_ARRAY(scratch, contact_face, count);
  cone_interior_equations(&in.equations, faces);
  cone_equations *e = &in.equations;
  int size = e->size;
  in.point_size = 2 * size + count;
  in.g = arena_doubles(scratch, 2 * in.point_size);
  in.z = in.g + size;
  in.w = in.z + size;
  in.saved = in.g + in.point_size;
  in.dg = arena_doubles(scratch, in.point_size);
  in.dz = in.dg + size;
  in.dw = in.dz + size;
  in.q = arena_doubles(scratch, 3 * size + count);
  in.lambda = in.q + size;
  in.right = in.lambda + size;
  in.bound = in.right + size;
  in.scaling = ARENA_ARRAY(scratch, cone_scaling, count);

  // Q = SAS / stiffness + delta SS, q = Sb / speed
  in.Q = arena_doubles(scratch, e->start[size]);
  for (int k = 0; k < e->start[size]; k++) in.Q[k] = e->H[k] / scale->stiffness;
  cone_reduce(e, program->b, in.q);
  for (int k = 0; k < size; k++) in.q[k] /= scale->speed;
  for (int i = 0; i < count; i++) in.bound[i] = program->lower[i] * scale->stiffness / scale->speed;
  set_start(&in);
  cone_interior_set_delta(&in, smoothing > 0 ? cone_interior_delta(smoothing) : CONE_FIRST_DELTA);
  return in;
}

void cone_interior_set_delta(cone_interior *in, double delta) {
  const cone_equations *e = &in->equations;
  for (int i = 0; i < in->program->contact_count; i++)
    for (int k = e->offset[i]; k < e->offset[i + 1]; k++) {
      double entry = k == e->offset[i] ? 1 : in->program->mu[i];
      in->Q[e->start[k + 1] - 1] += (delta - in->delta) * entry * entry;
    }
  in->delta = delta;
  cone_interior_measure(in);
}

// right = -(Q g + q - z - w e_n)
static void dual_residual(cone_interior *in) {
  const cone_equations *e = &in->equations;
  envelope_multiply(&e->shape, in->Q, in->g, in->right);
  for (int k = 0; k < e->size; k++) in->right[k] = in->z[k] - in->q[k] - in->right[k];
  for (int i = 0; i < in->program->contact_count; i++) in->right[e->offset[i]] += in->w[i];
}

void cone_interior_measure(cone_interior *in) {
  const cone_equations *e = &in->equations;
  double sum = 0;
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = e->offset[i], size = cone_size(in, i);
    in->scaling[i] = cone_scaling_make(size, in->g + at, in->z + at);
    apply_scaling(size, &in->scaling[i], false, in->z + at, in->lambda + at);
    sum += vector_dot_small(in->g + at, in->z + at, size);
    if (is_bounded(in, i)) sum += (in->g[at] - in->bound[i]) * in->w[i];
  }
  in->complementarity = in->degree > 0 ? sum / in->degree : 0;
  dual_residual(in);
  in->dual_residual = in->largest = 0;
  for (int k = 0; k < e->size; k++) {
    in->dual_residual = fmax(in->dual_residual, fabs(in->right[k]));
    in->largest = fmax(in->largest, fabs(in->g[k]));
  }
}

// largest deviation of lambda o lambda and (g_n - lower) w from kappa, relative
static void measure_centrality(cone_interior *in, double kappa) {
  in->centrality = 0;
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = in->equations.offset[i], size = cone_size(in, i);
    double product[MAX_CONE_DIMENSION];
    jordan_product(size, in->lambda + at, in->lambda + at, product);
    product[0] -= kappa;
    for (int k = 0; k < size; k++) in->centrality = fmax(in->centrality, fabs(product[k]) / kappa);
    if (is_bounded(in, i)) {
      double error = (in->g[at] - in->bound[i]) * in->w[i] / kappa - 1;
      in->centrality = fmax(in->centrality, fabs(error));
    }
  }
}

// H = factor of Q + D
static double factor_system(cone_interior *in) {
  cone_equations *e = &in->equations;
  memcpy(e->H, in->Q, sizeof(double) * (size_t)e->start[e->size]);
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = e->offset[i], size = cone_size(in, i);
    double D[MAX_CONE_DIMENSION * MAX_CONE_DIMENSION];
    cone_scaling_hessian(size, &in->scaling[i], D);
    if (is_bounded(in, i)) D[0] += in->w[i] / (in->g[at] - in->bound[i]);
    for (int a = 0; a < size; a++)
      for (int b = 0; b <= a; b++) e->H[envelope_at(&e->shape, at + a, at + b)] += D[a * size + b];
  }
  return envelope_factor(&e->shape, e->H, PIVOT_FLOOR);
}

// complementarity right-hand side of one contact: target e - lambda o lambda - second-order term
static void complementarity_right(const cone_interior *in, int i, double target, bool corrected,
                                  double *cone, double *bound) {
  int at = in->equations.offset[i], size = cone_size(in, i);
  jordan_product(size, in->lambda + at, in->lambda + at, cone);
  *bound = target - (in->g[at] - in->bound[i]) * in->w[i];
  double second[MAX_CONE_DIMENSION] = {0};
  if (corrected) {
    double left[MAX_CONE_DIMENSION], right[MAX_CONE_DIMENSION];
    apply_scaling(size, &in->scaling[i], true, in->dg + at, left);
    apply_scaling(size, &in->scaling[i], false, in->dz + at, right);
    jordan_product(size, left, right, second);
    *bound -= in->dg[at] * in->dw[i];
  }
  for (int k = 0; k < size; k++) cone[k] = (k == 0 ? target : 0) - cone[k] - second[k];
}

// solves for a step; `corrected` uses the step that is in dg, dz, dw for the second-order term
static void solve_step(cone_interior *in, double target, bool corrected) {
  const cone_equations *e = &in->equations;
  dual_residual(in);

  // what complementarity asks of dz and dw at dg = 0
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = e->offset[i], size = cone_size(in, i);
    double cone[MAX_CONE_DIMENSION], divided[MAX_CONE_DIMENSION], bound;
    complementarity_right(in, i, target, corrected, cone, &bound);
    jordan_divide(size, in->lambda + at, cone, divided);
    apply_scaling(size, &in->scaling[i], true, divided, in->dz + at);
    in->dw[i] = is_bounded(in, i) ? bound / (in->g[at] - in->bound[i]) : 0;
    for (int k = 0; k < size; k++) in->right[at + k] += in->dz[at + k];
    in->right[at] += in->dw[i];
  }

  // (Q + D) dg = right, then dz -= W^-2 dg
  memcpy(in->dg, in->right, sizeof(double) * (size_t)e->size);
  envelope_solve(&e->shape, e->H, in->dg);
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = e->offset[i], size = cone_size(in, i);
    double once[MAX_CONE_DIMENSION], twice[MAX_CONE_DIMENSION];
    apply_scaling(size, &in->scaling[i], true, in->dg + at, once);
    apply_scaling(size, &in->scaling[i], true, once, twice);
    for (int k = 0; k < size; k++) in->dz[at + k] -= twice[k];
    if (is_bounded(in, i)) in->dw[i] -= in->w[i] / (in->g[at] - in->bound[i]) * in->dg[at];
  }
}

static double step_length(const cone_interior *in) {
  double step = INFINITY;
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = in->equations.offset[i], size = cone_size(in, i);
    step = fmin(step, cone_step(size, in->g + at, in->dg + at));
    step = fmin(step, cone_step(size, in->z + at, in->dz + at));
    if (!is_bounded(in, i)) continue;
    if (in->dg[at] < 0) step = fmin(step, (in->bound[i] - in->g[at]) / in->dg[at]);
    if (in->dw[i] < 0) step = fmin(step, -in->w[i] / in->dw[i]);
  }
  return step;
}

// g, z, w are contiguous
static void save_point(cone_interior *in) {
  memcpy(in->saved, in->g, sizeof(double) * (size_t)in->point_size);
}

static void restore_point(cone_interior *in) {
  memcpy(in->g, in->saved, sizeof(double) * (size_t)in->point_size);
  cone_interior_measure(in);
}

bool cone_interior_step(cone_interior *in, double kappa) {
  factor_system(in);
  double target = kappa;
  if (kappa > 0) {
    solve_step(in, kappa, false);
  } else {
    // predictor, then centre the more the less far it came
    solve_step(in, 0, false);
    double affine = fmin(step_length(in), 1);
    target = pow(1 - affine, 3) * in->complementarity;
    solve_step(in, target, true);
  }
  double step = fmin(STEP_FRACTION * step_length(in), 1);
  if (!(step > LEAST_STEP) || !isfinite(step)) return false;
  save_point(in);
  for (int k = 0; k < in->equations.size; k++) {
    in->g[k] += step * in->dg[k];
    in->z[k] += step * in->dz[k];
  }
  for (int i = 0; i < in->program->contact_count; i++) in->w[i] += step * in->dw[i];
  cone_interior_measure(in);
  if (kappa > 0) measure_centrality(in, kappa);
  if (isfinite(in->complementarity) && isfinite(in->dual_residual)) return true;
  restore_point(in);
  return false;
}

void cone_interior_impulse(const cone_interior *in, double *f) {
  cone_expand(&in->equations, in->g, f);
  double unit = in->scale->speed / in->scale->stiffness;
  for (int k = 0; k < in->program->contact_count * in->program->dimension; k++) f[k] *= unit;
}

void cone_interior_duals(const cone_interior *in, double *z, double *w) {
  int d = in->program->dimension;
  for (int i = 0; i < in->program->contact_count; i++) {
    int at = in->equations.offset[i];
    for (int k = 0; k < d; k++)
      z[i * d + k] = k < cone_size(in, i) ? in->z[at + k] * in->scale->speed : 0;
    w[i] = in->w[i] * in->scale->speed;
  }
}
