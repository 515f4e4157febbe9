#include "contact/cone_equations.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* Stiffer curvature than this (times 1 / rho) is as good as fixed: the direction of sliding turns by
 * less than rounding. Larger ones overflow where the radius mu f_n vanishes. */
static const double LARGEST_CURVATURE = 1e14;

/* A contact with a mean diagonal entry below this, of the stiffness, moves nothing: the stiffness
 * stands for its own. */
static const double SOFTEST = 1e-12;

static double power_of_two_near(double x) {
  int exponent;
  frexp(x, &exponent);
  return ldexp(1.0, exponent);
}

// rho from the mean diagonal entries that stand in its place, speeds from |b_i| likewise
static void set_speeds(const cone_program *program, cone_scale *scale) {
  double energy = 0; // its root
  for (int i = 0; i < program->contact_count; i++) {
    bool moves = scale->rho[i] > SOFTEST * scale->stiffness;
    double stiffness = moves ? scale->rho[i] : scale->stiffness, root = sqrt(stiffness);
    energy = fmax(energy, fmax(scale->speeds[i] / root, program->lower[i] * root));
    scale->rho[i] = 1 / stiffness;
  }
  if (!(energy > 0)) energy = 1 / sqrt(scale->stiffness);
  for (int i = 0; i < program->contact_count; i++)
    scale->speeds[i] = fmax(energy / sqrt(scale->rho[i]), fabs(program->scale));
}

double cone_largest_diagonal(const cone_program *program, int i) {
  int d = program->dimension;
  double largest = 0;
  for (int a = i * d; a < i * d + d; a++)
    largest = fmax(largest, program->A[program->shape.start[a + 1] - 1]);
  return largest;
}

cone_scale cone_scale_make(const cone_program *program, arena *scratch) {
  int d = program->dimension, count = program->contact_count;
  cone_scale scale = {.rho = arena_doubles(scratch, count),
                      .speeds = arena_doubles(scratch, count)};
  double trace = 0, speed = fabs(program->scale), bound = 0;
  for (int i = 0; i < count; i++) {
    double sum = 0, size = 0;
    for (int a = i * d; a < i * d + d; a++) {
      sum += program->A[program->shape.start[a + 1] - 1];
      size = fmax(size, fabs(program->b[a]));
    }
    scale.rho[i] = sum / d;
    scale.speeds[i] = size;
    trace += sum;
    speed = fmax(speed, size);
    bound = fmax(bound, program->lower[i]);
  }
  double stiffness = trace / (count * d);
  scale.stiffness = stiffness > 0 ? power_of_two_near(stiffness) : 1;
  speed = fmax(speed, bound * stiffness);
  scale.speed = speed > 0 ? power_of_two_near(speed) : 1;
  set_speeds(program, &scale);
  return scale;
}

int cone_columns(int d, double mu, double lower, contact_state state) {
  bool rubs = mu > 0 && d > 1;
  switch (state) {
    case FREE_STICK: return rubs ? d : 1;
    case FREE_SLIDE: return rubs && d == 3 ? 2 : 1;
    case BOUND_STICK: return rubs ? d - 1 : 0;
    default: return rubs && d == 3 && lower > 0 ? 1 : 0;
  }
}

// length of a tangent and its direction
INLINE double tangent_direction(int d, const double *t, double *n) {
  n[0] = 1;
  n[1] = 0;
  if (d < 2) return 0;
  if (d == 2) {
    n[0] = t[0] < 0 ? -1 : 1;
    return fabs(t[0]);
  }
  double length = sqrt(t[0] * t[0] + t[1] * t[1]);
  if (length > 0) {
    n[0] = t[0] / length;
    n[1] = t[1] / length;
  }
  return length;
}

INLINE void set_point(int d, double normal, double tangential, const double *n, double *point) {
  point[0] = normal;
  for (int a = 1; a < d; a++) point[a] = tangential * n[a - 1];
}

contact_face cone_project(int d, double mu, double lower, double rho, const double *w,
                          double *projection) {
  contact_face face = {.weight = 1};
  double length = tangent_direction(d, w + 1, face.n);
  if (d == 1) mu = 0;
  double normal = w[0];

  // inside the cone
  if (mu > 0 && length <= mu * normal && normal > lower) {
    face.state = FREE_STICK;
    memcpy(projection, w, sizeof(double) * (size_t)d);
    return face;
  }

  // on its mantle
  double along = (normal + mu * length) / (1 + mu * mu);
  if (along > lower && length >= mu * normal) {
    face.state = FREE_SLIDE;
    set_point(d, along, mu * along, face.n, projection);
    double radius = mu * along;
    if (mu > 0) face.curvature = fmin((length - radius) / radius, LARGEST_CURVATURE) / rho;
    return face;
  }

  // on the disc f_n = lower
  double radius = mu * lower;
  if (length < radius) {
    face.state = BOUND_STICK;
    set_point(d, lower, length, face.n, projection);
    return face;
  }
  face.state = BOUND_SLIDE;
  set_point(d, lower, radius, face.n, projection);
  if (radius > 0) face.curvature = fmin((length - radius) / radius, LARGEST_CURVATURE) / rho;
  return face;
}

contact_face cone_face(int d, double mu, double lower, contact_state state, const double *f,
                       const double *s) {
  contact_face face = {.state = state, .weight = 1};
  if (d == 1) return face;

  // along the tangential impulse, or against the velocity where there is none
  double radius = mu * (state == FREE_SLIDE ? f[0] : lower);
  double length = tangent_direction(d, f + 1, face.n);
  if (!(radius > 0 && length > 0)) {
    double against[2] = {-s[1], d == 3 ? -s[2] : 0};
    double speed = tangent_direction(d, against, face.n);
    if (speed == 0) face.n[0] = face.n[1] = 0;
  }
  bool slides = state == FREE_SLIDE || state == BOUND_SLIDE;
  if (d == 3 && slides && radius > 0) {
    double against = -(face.n[0] * s[1] + face.n[1] * s[2]);
    face.curvature = fmax(against, 0) / radius;
  }
  return face;
}

void cone_velocity(const cone_program *program, const double *f, double *s) {
  envelope_multiply(&program->shape, program->A, f, s);
  for (int k = 0; k < program->contact_count * program->dimension; k++) s[k] += program->b[k];
}

cone_equations cone_equations_make(const cone_program *program, arena *scratch) {
  int count = program->contact_count, unknowns = count * program->dimension;
  double *largest = arena_doubles(scratch, count);
  for (int i = 0; i < count; i++) largest[i] = cone_largest_diagonal(program, i);
  return (cone_equations){
      .program = program,
      .largest = largest,
      .reach = arena_doubles(scratch, unknowns),
      .offset = ARENA_ARRAY(scratch, int, count + 1),
      .T = arena_doubles(scratch, 9 * count),
      .diagonal = arena_doubles(scratch, unknowns),
      .first = ARENA_ARRAY(scratch, int, unknowns),
      .start = ARENA_ARRAY(scratch, int, unknowns + 1),
      .H = arena_doubles(scratch, program->shape.start[unknowns]),
      .rows = arena_doubles(scratch, 3 * unknowns),
  };
}

static const double UNIT[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// columns of one contact into T[column][row] and what they add to the diagonal
static void set_columns(int d, double mu, double lower, const contact_face *face, double *T,
                        double *diagonal) {
  int columns = cone_columns(d, mu, lower, face->state);
  for (int k = 0; k < columns; k++) diagonal[k] = 0;
  if (face->state == FREE_STICK || face->state == BOUND_STICK) {
    int skip = face->state == BOUND_STICK;
    for (int k = 0; k < columns; k++) memcpy(T + 3 * k, UNIT + 3 * (k + skip), 3 * sizeof(double));
    return;
  }
  int k = 0;
  if (face->state == FREE_SLIDE) {
    double length = sqrt(1 + (d > 1 ? mu * mu : 0));
    T[0] = 1 / length;
    for (int a = 1; a < d; a++) T[a] = mu * face->n[a - 1] / length;
    k = 1;
  }
  if (k < columns) {
    double length = face->weight == 1 ? 1 : 1 / sqrt(face->weight);
    T[3 * k] = 0;
    T[3 * k + 1] = -face->n[1] * length;
    T[3 * k + 2] = face->n[0] * length;
    diagonal[k] = face->curvature * length * length;
  }
}

void cone_equations_set(cone_equations *e, const contact_face *faces) {
  const cone_program *program = e->program;
  int d = program->dimension;
  e->offset[0] = 0;
  e->start[0] = 0;
  for (int i = 0; i < program->contact_count; i++) {
    int offset = e->offset[i];
    int columns = cone_columns(d, program->mu[i], program->lower[i], faces[i].state);
    set_columns(d, program->mu[i], program->lower[i], &faces[i], e->T + 9 * i,
                e->diagonal + offset);
    e->offset[i + 1] = offset + columns;
    for (int k = 0; k < columns; k++) e->reach[offset + k] = e->largest[i];
    if (faces[i].weight != 1 && columns > 0)
      e->reach[offset + columns - 1] = e->largest[i] / faces[i].weight;
    int first = e->offset[program->shape.first[i * d] / d];
    for (int k = offset; k < offset + columns; k++) {
      e->first[k] = first;
      e->start[k + 1] = e->start[k] + k - first + 1;
    }
  }
  e->size = e->offset[program->contact_count];
  e->shape = (envelope){.size = e->size, .first = e->first, .start = e->start};
}

// row `out` = sum over the contact's rows of A, columns left of its diagonal block
INLINE void combine_rows(int d, const cone_program *program, int contact, const double *column,
                         int length, double *out) {
  const double *r0 = program->A + program->shape.start[contact * d];
  const double *r1 = d > 1 ? program->A + program->shape.start[contact * d + 1] : r0;
  const double *r2 = d > 2 ? program->A + program->shape.start[contact * d + 2] : r0;
  double t0 = column[0], t1 = d > 1 ? column[1] : 0, t2 = d > 2 ? column[2] : 0;
  if (d == 1)
    for (int c = 0; c < length; c++) out[c] = t0 * r0[c];
  else if (d == 2)
    for (int c = 0; c < length; c++) out[c] = t0 * r0[c] + t1 * r1[c];
  else
    for (int c = 0; c < length; c++) out[c] = t0 * r0[c] + t1 * r1[c] + t2 * r2[c];
}

// symmetric diagonal block of a contact times a column
INLINE void block_times(int d, const cone_program *program, int contact, const double *column,
                        double *out) {
  for (int a = 0; a < d; a++) out[a] = 0;
  for (int a = 0; a < d; a++) {
    const double *entry = program->A + program->shape.start[contact * d + a + 1] - 1 - a;
    for (int c = 0; c < a; c++) {
      out[a] += entry[c] * column[c];
      out[c] += entry[c] * column[a];
    }
    out[a] += entry[a] * column[a];
  }
}

INLINE double column_dot(int d, const double *a, const double *b) {
  double sum = a[0] * b[0];
  if (d > 1) sum += a[1] * b[1];
  if (d > 2) sum += a[2] * b[2];
  return sum;
}

INLINE void assemble_contact(int d, cone_equations *e, int i) {
  const cone_program *program = e->program;
  int first_contact = program->shape.first[i * d] / d;
  int length = (i - first_contact) * d;
  for (int k = e->offset[i]; k < e->offset[i + 1]; k++) {
    const double *column = e->T + 9 * i + 3 * (k - e->offset[i]);
    double *row = e->rows;
    combine_rows(d, program, i, column, length, row);

    // blocks left of the diagonal
    double *out = e->H + e->start[k];
    for (int j = first_contact; j < i; j++, row += d)
      for (int m = 0; m < e->offset[j + 1] - e->offset[j]; m++)
        *out++ = column_dot(d, row, e->T + 9 * j + 3 * m);

    // the diagonal block
    double product[MAX_CONE_DIMENSION];
    block_times(d, program, i, column, product);
    for (int m = e->offset[i]; m <= k; m++)
      *out++ = column_dot(d, product, e->T + 9 * i + 3 * (m - e->offset[i]));
    out[-1] += e->diagonal[k];
  }
}

void cone_equations_assemble(cone_equations *e) {
  int count = e->program->contact_count;
  if (e->program->dimension == 1)
    for (int i = 0; i < count; i++) assemble_contact(1, e, i);
  else if (e->program->dimension == 2)
    for (int i = 0; i < count; i++) assemble_contact(2, e, i);
  else
    for (int i = 0; i < count; i++) assemble_contact(3, e, i);
}

void cone_reduce(const cone_equations *e, const double *x, double *y) {
  int d = e->program->dimension;
  for (int i = 0; i < e->program->contact_count; i++)
    for (int k = e->offset[i]; k < e->offset[i + 1]; k++)
      y[k] = column_dot(d, e->T + 9 * i + 3 * (k - e->offset[i]), x + i * d);
}

void cone_expand(const cone_equations *e, const double *y, double *x) {
  int d = e->program->dimension;
  for (int i = 0; i < e->program->contact_count; i++) {
    double sum[MAX_CONE_DIMENSION] = {0};
    for (int k = e->offset[i]; k < e->offset[i + 1]; k++) {
      const double *column = e->T + 9 * i + 3 * (k - e->offset[i]);
      for (int a = 0; a < d; a++) sum[a] += column[a] * y[k];
    }
    for (int a = 0; a < d; a++) x[i * d + a] = sum[a];
  }
}

void cone_add_fixed(const cone_program *program, const contact_face *faces, double *f) {
  int d = program->dimension;
  for (int i = 0; i < program->contact_count; i++) {
    double lower = program->lower[i];
    bool slides = faces[i].state == BOUND_SLIDE;
    if (!(lower > 0) || (!slides && faces[i].state != BOUND_STICK)) continue;
    f[i * d] += lower;
    if (slides)
      for (int a = 1; a < d; a++) f[i * d + a] += program->mu[i] * lower * faces[i].n[a - 1];
  }
}

void cone_right_side(const cone_equations *e, const contact_face *faces, double *y, double *work) {
  const cone_program *program = e->program;
  int unknowns = program->contact_count * program->dimension;
  bool fixed = false;
  for (int i = 0; i < program->contact_count; i++) {
    bool bound = faces[i].state == BOUND_SLIDE || faces[i].state == BOUND_STICK;
    fixed = fixed || (bound && program->lower[i] > 0);
  }
  const double *velocity = program->b;
  if (fixed) {
    double *f0 = work, *s0 = work + unknowns;
    memset(f0, 0, sizeof(double) * (size_t)unknowns);
    cone_add_fixed(program, faces, f0);
    cone_velocity(program, f0, s0);
    velocity = s0;
  }
  cone_reduce(e, velocity, y);
  for (int k = 0; k < e->size; k++) y[k] = -y[k];
}
