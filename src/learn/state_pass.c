/* A pass over estimated states: states_improve. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "learn/measurement.h"
#include "learn/model.h"
#include "learn/states.h"

/* Streams of the seed that draw states; apart from those of data, parameters and order. */
static const uint64_t STATES_STREAM = (uint64_t)1 << 44;

/* States that are tried from anew for a chunk that is badly explained: its loss is by number, where
 * noise alone leaves 1 or less. */
enum { TRIES = 24 };
static const double BADLY_EXPLAINED = 1.3;

static const double MOST_DAMPING = 1e6;

/* Differences of the properties; the longest step of a state, in deviations. */
static const double PROPERTY_DIFFERENCE = 1e-5, LONGEST_STEP = 3;

/* Parameters of the model that are solved for together with the states. */
enum { MOST_PROPERTIES = 2 };

typedef struct pass {
  state_estimation *estimation;
  carom_model *model;
  state_estimates *split;
  observations observed;
  uint64_t seed;
  int number;
  int numbers, width; /* n = 2 M, D */
  int residuals;      /* R: of one prediction */
  int samples;        /* predictions that run at once */
  int property_count; /* P */
  int properties[MOST_PROPERTIES];
  int *indices;    /* [samples] the chunk of each */
  int *bad;        /* [chunks] those that are badly explained */
  double *x, *v;   /* [samples][D] where predictions begin */
  double *x_first; /* [chunks][D] the estimates at the beginning, from where steps are */
  double *v_first;
  bool known;       /* whether these are: */
  double *here;     /* [chunks][R] residuals at the estimates */
  double *property; /* [P][chunks][R] their slopes by the properties */
  double *slopes;   /* [n + P][R] by the state and the properties, of one chunk */
  double *losses;   /* [chunks] of the estimates */
  double *matrix;   /* [n (n + 1) / 2] H and its factor */
  double *steps;    /* [chunks][P + 1][n] of the state: by itself, and by one of each property */
  double *step;     /* [n] */
  double reduced[MOST_PROPERTIES][MOST_PROPERTIES + 1]; /* equations of the properties, states
                                                           eliminated, and their right-hand side */
} pass;

static void pass_free(pass *p) {
  double *arrays[] = {p->x,      p->v,      p->x_first, p->v_first, p->here, p->property,
                      p->slopes, p->losses, p->matrix,  p->steps,   p->step};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) free(arrays[k]);
  free(p->indices);
  free(p->bad);
}

static double *numbers_of(size_t a, size_t b) {
  return size_allocate(size_multiply(a, b), sizeof(double));
}

static carom_status pass_allocate(pass *p, carom_error *error) {
  const int count = p->split->chunks.count;
  p->samples = STATES_MOST_SAMPLES;
  const size_t n = (size_t)p->numbers, width = (size_t)p->width, r = (size_t)p->residuals;
  const size_t all = (size_t)p->samples, chunks = (size_t)count;
  const size_t properties = (size_t)p->property_count;
  p->indices = size_allocate(all, sizeof(int));
  p->bad = size_allocate(chunks, sizeof(int));
  p->x = numbers_of(all, width);
  p->v = numbers_of(all, width);
  p->x_first = numbers_of(chunks, width);
  p->v_first = numbers_of(chunks, width);
  p->here = numbers_of(chunks, r);
  p->property = numbers_of(chunks * (properties + 1), r); // never of no length
  p->slopes = numbers_of(n + properties, r);
  p->losses = numbers_of(chunks, 1);
  p->matrix = numbers_of(n * (n + 1) / 2, 1);
  p->steps = numbers_of(chunks * (properties + 1), n);
  p->step = numbers_of(n, 1);
  const void *arrays[] = {p->indices, p->bad,   p->x,        p->v,      p->x_first,
                          p->v_first, p->here,  p->property, p->slopes, p->losses,
                          p->matrix,  p->steps, p->step};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++)
    if (arrays[k] == NULL)
      return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to estimate the states of %d chunks",
                       count);
  memcpy(p->x_first, p->split->x, sizeof(double) * chunks * width);
  memcpy(p->v_first, p->split->v, sizeof(double) * chunks * width);
  return CAROM_OK;
}

static double deviation_of(const pass *p, int number) {
  const noise_level *noise = p->observed.noise;
  return 2 * number < p->numbers ? noise->position : noise->velocity;
}

static double residual_loss(const pass *p, const double *z) {
  double sum = 0;
  for (int k = 0; k < p->residuals; k++) sum += student_loss(z[k]);
  return sum;
}

/* Sample `at` begins where the chunk's estimate was at the beginning of the pass. */
static void place_sample(pass *p, int at, int chunk) {
  const size_t width = (size_t)p->width, row = (size_t)at * width, from = (size_t)chunk * width;
  p->indices[at] = chunk;
  memcpy(p->x + row, p->x_first + from, sizeof(double) * width);
  memcpy(p->v + row, p->v_first + from, sizeof(double) * width);
}

// moves a sample by p->step; where that leads off the constraints for good, it stays
static void move_sample(pass *p, int at, int chunk) {
  const size_t row = (size_t)at * (size_t)p->width;
  if (!measurement_step(&p->estimation->onto, p->step, p->x + row, p->v + row))
    place_sample(p, at, chunk);
}

static carom_status run_samples(pass *p, int count, const double **z, carom_error *error) {
  return observations_residuals(p->model, &p->observed, count, p->indices, p->x, p->v, z, error);
}

/* How many chunks from `first` on run at once, with `each` samples. */
static int part_of(const pass *p, int first, int each) {
  const int left = p->split->chunks.count - first, most = p->samples / each;
  return left < most ? left : most;
}

/* ---- residuals and slopes -------------------------------------------------------------------- */

// residuals of all chunks [chunks][R] from the estimates at the beginning
static carom_status run_estimates(pass *p, double *residuals, carom_error *error) {
  const size_t r = (size_t)p->residuals;
  carom_status status = CAROM_OK;
  for (int first = 0, count; first < p->split->chunks.count && status == CAROM_OK; first += count) {
    count = part_of(p, first, 1);
    for (int k = 0; k < count; k++) place_sample(p, k, first + k);
    const double *z;
    status = run_samples(p, count, &z, error);
    if (status == CAROM_OK)
      memcpy(residuals + (size_t)first * r, z, sizeof(double) * (size_t)count * r);
  }
  return status;
}

static double *here_of(const pass *p, int chunk) {
  return p->here + (size_t)chunk * (size_t)p->residuals;
}

// away from the end of its range, where a friction or restitution is beyond it
static double property_difference(const pass *p, int entry) {
  const bool high = entry == p->model->restitution && p->model->parameters[entry] > 0;
  return high ? -PROPERTY_DIFFERENCE : PROPERTY_DIFFERENCE;
}

// residuals, losses, and slopes by the properties
static carom_status take_residuals(pass *p, carom_error *error) {
  const size_t all = (size_t)p->split->chunks.count * (size_t)p->residuals;
  carom_status status = run_estimates(p, p->here, error);
  if (status != CAROM_OK) return status;
  p->known = true;
  for (int k = 0; k < p->split->chunks.count; k++) p->losses[k] = residual_loss(p, here_of(p, k));
  for (int j = 0; j < p->property_count && status == CAROM_OK; j++) {
    double *parameter = &p->model->parameters[p->properties[j]];
    double *slopes = p->property + (size_t)j * all;
    const double kept = *parameter, h = property_difference(p, p->properties[j]);
    *parameter = kept + h;
    status = run_estimates(p, slopes, error);
    *parameter = kept;
    for (size_t i = 0; i < all && status == CAROM_OK; i++) slopes[i] = (slopes[i] - p->here[i]) / h;
  }
  return status;
}

/* ---- steps of Gauss and Newton --------------------------------------------------------------- */

static double *slope_of(const pass *p, int number) {
  return p->slopes + (size_t)number * (size_t)p->residuals;
}

// those of a chunk, by its state as the last pass found them
static void load_slopes(pass *p, int chunk) {
  const size_t r = (size_t)p->residuals, all = (size_t)p->split->chunks.count * r;
  for (int a = 0; a < p->numbers; a++) {
    const float *from = response_slope(&p->split->response, chunk, a);
    for (size_t i = 0; i < r; i++) slope_of(p, a)[i] = (double)from[i];
  }
  for (int c = 0; c < p->property_count; c++)
    memcpy(slope_of(p, p->numbers + c), p->property + (size_t)c * all + (size_t)chunk * r,
           sizeof(double) * r);
}

/* sum of w a b over the residuals z of a chunk */
static double weighted(const pass *p, const double *z, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < p->residuals; i++) sum += student_weight(z[i]) * a[i] * b[i];
  return sum;
}

static double *steps_of(const pass *p, int chunk) {
  return p->steps + (size_t)chunk * (size_t)((p->property_count + 1) * p->numbers);
}

/* With J by the state and K by the properties, H = J' W J + damping scale^-2 (in deviations the measured
 * first state alone gives J' J at least scale^-2):
 *
 *   step of the state       -H^-1 J' W z - H^-1 J' W K (step of the properties)
 *   of the properties       sum (K' W K - K' W J H^-1 J' W K) step = -sum (K' W z - K' W J H^-1 J' W z) */
static void eliminate_state(pass *p, int chunk) {
  const envelope *shape = &p->estimation->shape;
  const int n = p->numbers, properties = p->property_count;
  const double unit = 1 / (p->observed.noise->scale * p->observed.noise->scale);
  const double *z = here_of(p, chunk);
  load_slopes(p, chunk);
  for (int a = 0; a < n; a++)
    for (int b = 0; b <= a; b++)
      p->matrix[envelope_at(shape, a, b)] = weighted(p, z, slope_of(p, a), slope_of(p, b)) +
                                            (a == b ? p->split->damping[chunk] * unit : 0);
  envelope_factor(shape, p->matrix, 1e-12);
  // column 0 by the residuals, others by properties
  for (int c = 0; c <= properties; c++) {
    double *step = steps_of(p, chunk) + c * n;
    const double *right = c == 0 ? z : slope_of(p, n + c - 1);
    for (int a = 0; a < n; a++) step[a] = -weighted(p, z, slope_of(p, a), right);
    envelope_solve(shape, p->matrix, step);
  }
  for (int c = 0; c < properties; c++)
    for (int d = 0; d <= properties; d++) {
      const double *by = slope_of(p, n + c);
      const double *right = d < properties ? slope_of(p, n + d) : z;
      const double *step = steps_of(p, chunk) + (d < properties ? d + 1 : 0) * n;
      double sum = weighted(p, z, by, right);
      for (int a = 0; a < n; a++) sum += weighted(p, z, by, slope_of(p, a)) * step[a];
      p->reduced[c][d] += sum;
    }
}

// p->step for changes `moved` [P] of the properties, no longer than LONGEST_STEP
static void combine_steps(pass *p, int chunk, const double *moved) {
  const double *steps = steps_of(p, chunk);
  double longest = 0;
  for (int a = 0; a < p->numbers; a++) {
    p->step[a] = steps[a];
    for (int c = 0; c < p->property_count; c++)
      p->step[a] += moved[c] * steps[(c + 1) * p->numbers + a];
    longest = fmax(longest, fabs(p->step[a]));
  }
  const double most = LONGEST_STEP * p->observed.noise->scale;
  const double factor = longest > most ? most / longest : 1;
  for (int a = 0; a < p->numbers; a++) p->step[a] *= factor * deviation_of(p, a);
}

/* ---- states from anew ----------------------------------------------------------------------- */

// one of three kinds in turn: near the estimate, near the measurement, ahead or behind in time by up to
// a step and a half
static void place_try(pass *p, int at, int chunk, int kind, rng *random) {
  const size_t row = (size_t)at * (size_t)p->width, bytes = sizeof(double) * (size_t)p->width;
  const observations measured = observations_of(&p->split->chunks);
  place_sample(p, at, chunk);
  const double size = kind == 1 ? 1 : 0.5;
  for (int a = 0; a < p->numbers; a++) p->step[a] = size * deviation_of(p, a) * rng_normal(random);
  if (kind == 1) {
    memcpy(p->x + row, observed_x0(&measured, p->width, chunk), bytes);
    memcpy(p->v + row, observed_v0(&measured, p->width, chunk), bytes);
  } else if (kind == 2) {
    const double time = p->model->options.dt * rng_uniform(random, -1.5, 1.5);
    for (int i = 0; i < p->width; i++) p->x[row + (size_t)i] += time * p->v[row + (size_t)i];
  }
  move_sample(p, at, chunk);
}

// takes the best of `tries` samples from `first` on if it is better than the estimate; -1: none is
static int choose(pass *p, int chunk, int tries, int first, const double *z) {
  int best = -1;
  for (int t = 0; t < tries; t++) {
    const double loss = residual_loss(p, z + (size_t)(first + t) * (size_t)p->residuals);
    // not where it is NaN
    if (!(loss < p->losses[chunk])) continue;
    p->losses[chunk] = loss;
    best = t;
  }
  if (best < 0) return best;
  const size_t width = (size_t)p->width, row = (size_t)(first + best) * width;
  memcpy(p->split->x + (size_t)chunk * width, p->x + row, sizeof(double) * width);
  memcpy(p->split->v + (size_t)chunk * width, p->v + row, sizeof(double) * width);
  return best;
}

// chunks that are badly explained, so many at once as there is room for
static carom_status try_anew(pass *p, carom_error *error) {
  int bad = 0;
  for (int k = 0; k < p->split->chunks.count; k++)
    if (!(p->losses[k] < BADLY_EXPLAINED * p->residuals)) p->bad[bad++] = k;
  carom_status status = CAROM_OK;
  for (int done = 0, part; done < bad && status == CAROM_OK; done += part) {
    part = bad - done < p->samples / TRIES ? bad - done : p->samples / TRIES;
    for (int i = 0; i < part; i++) {
      rng random;
      rng_seed(&random, p->seed,
               STATES_STREAM + ((uint64_t)p->number << 24) + (uint64_t)p->bad[done + i]);
      for (int t = 0; t < TRIES; t++) place_try(p, i * TRIES + t, p->bad[done + i], t % 3, &random);
    }
    const double *z;
    status = run_samples(p, part * TRIES, &z, error);
    for (int i = 0; i < part && status == CAROM_OK; i++)
      if (choose(p, p->bad[done + i], TRIES, i * TRIES, z) >= 0)
        p->split->damping[p->bad[done + i]] = STATES_FIRST_DAMPING;
  }
  return status;
}

/* ---- states, the model as it stands --------------------------------------------------------- */

/* Damping falls where steps are taken and grows where they make a chunk worse, not where there is nothing
 * left to gain. */
static const double NOTHING = 1e-6;

static carom_status take_steps(pass *p, carom_error *error) {
  const double none[MOST_PROPERTIES] = {0}, *z;
  carom_status status = CAROM_OK;
  for (int first = 0, count; first < p->split->chunks.count && status == CAROM_OK; first += count) {
    count = part_of(p, first, 1);
    for (int k = 0; k < count; k++) {
      place_sample(p, k, first + k);
      combine_steps(p, first + k, none);
      move_sample(p, k, first + k);
    }
    status = run_samples(p, count, &z, error);
    for (int k = 0; k < count && status == CAROM_OK; k++) {
      double *damping = &p->split->damping[first + k];
      const double loss = residual_loss(p, z + (size_t)k * (size_t)p->residuals);
      const bool worse = !(loss < p->losses[first + k] + NOTHING * p->residuals);
      choose(p, first + k, 1, k, z);
      *damping =
          worse ? fmin(fmax(10 * *damping, STATES_FIRST_DAMPING), MOST_DAMPING) : 0.2 * *damping;
    }
  }
  return status;
}

static carom_status improve_states(pass *p, carom_error *error) {
  carom_status status = take_residuals(p, error);
  for (int k = 0; k < p->split->chunks.count && status == CAROM_OK; k++) eliminate_state(p, k);
  if (status == CAROM_OK) status = take_steps(p, error);
  return status == CAROM_OK ? try_anew(p, error) : status;
}

/* ---- properties and states together --------------------------------------------------------- */

static double total_loss(const pass *p) {
  double sum = 0;
  for (int k = 0; k < p->split->chunks.count; k++) sum += p->losses[k];
  return sum;
}

// solves the equations of the properties: moved [P], 0 where they do not matter
static void solve_properties(const pass *p, double *moved) {
  double m[MOST_PROPERTIES][MOST_PROPERTIES + 1];
  memcpy(m, p->reduced, sizeof m);
  const int count = p->property_count;
  for (int a = 0; a < count; a++) m[a][a] *= 1 + 1e-6;
  for (int a = 0; a < count; a++)
    for (int b = a + 1; b < count && m[a][a] > 0; b++) {
      const double factor = m[b][a] / m[a][a];
      for (int c = a; c < count; c++) m[b][c] -= factor * m[a][c];
      m[b][count] -= factor * m[a][count];
    }
  for (int a = count - 1; a >= 0; a--) {
    double sum = -m[a][count];
    for (int b = a + 1; b < count; b++) sum -= m[a][b] * moved[b];
    moved[a] = m[a][a] > 0 ? sum / m[a][a] : 0;
  }
}

// into the range, and no farther than half of it
static double moved_property(const pass *p, int entry, double step) {
  const double most = entry == p->model->restitution ? 1.5 : 0.2;
  const double next = p->model->parameters[entry] + fmin(fmax(step, -most), most);
  if (entry == p->model->restitution) return fmin(fmax(next, -3), 3);
  return fmax(next, 0);
}

/* Losses of all chunks, each from the better of its estimate and the step that goes with the properties as
 * they are now: into p->losses and the estimates. */
static carom_status take_joint_steps(pass *p, const double *moved, carom_error *error) {
  const size_t width = (size_t)p->width, bytes = sizeof(double) * width;
  carom_status status = CAROM_OK;
  for (int first = 0, count; first < p->split->chunks.count && status == CAROM_OK; first += count) {
    count = part_of(p, first, 2);
    for (int k = 0; k < count; k++) {
      const size_t from = (size_t)(first + k) * width, row = (size_t)(2 * k) * width;
      p->indices[2 * k] = first + k;
      memcpy(p->x + row, p->split->x + from, bytes);
      memcpy(p->v + row, p->split->v + from, bytes);
      place_sample(p, 2 * k + 1, first + k);
      combine_steps(p, first + k, moved);
      move_sample(p, 2 * k + 1, first + k);
      p->losses[first + k] = INFINITY;
    }
    const double *z;
    status = run_samples(p, 2 * count, &z, error);
    for (int k = 0; k < count && status == CAROM_OK; k++) choose(p, first + k, 2, 2 * k, z);
  }
  return status;
}

/* The properties move with the states if that lowers the loss of all chunks; else all is put back. */
static carom_status move_properties(pass *p, carom_error *error) {
  if (p->property_count == 0) return CAROM_OK;
  const size_t count = (size_t)p->split->chunks.count, states = count * (size_t)p->width;
  double *kept = size_allocate(2 * states + count, sizeof(double));
  if (kept == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to estimate %zu states", count);
  memcpy(kept, p->split->x, sizeof(double) * states);
  memcpy(kept + states, p->split->v, sizeof(double) * states);
  memcpy(kept + 2 * states, p->losses, sizeof(double) * count);
  double before[MOST_PROPERTIES] = {0}, moved[MOST_PROPERTIES] = {0};
  const double loss = total_loss(p);
  solve_properties(p, moved);
  for (int c = 0; c < p->property_count; c++) {
    double *parameter = &p->model->parameters[p->properties[c]];
    before[c] = *parameter;
    *parameter = moved_property(p, p->properties[c], moved[c]);
    moved[c] = *parameter - before[c];
  }
  carom_status status = take_joint_steps(p, moved, error);
  if (status != CAROM_OK || !(total_loss(p) < loss)) {
    for (int c = 0; c < p->property_count; c++) p->model->parameters[p->properties[c]] = before[c];
    memcpy(p->split->x, kept, sizeof(double) * states);
    memcpy(p->split->v, kept + states, sizeof(double) * states);
    memcpy(p->losses, kept + 2 * states, sizeof(double) * count);
  }
  free(kept);
  return status;
}

/* ---- all of it ------------------------------------------------------------------------------ */

// predictions that leave the finite numbers are no failure: estimates stay as they are
static carom_status pass_run(pass *p, carom_error *error) {
  carom_status status = pass_allocate(p, error);
  if (status == CAROM_OK) status = improve_states(p, error);
  if (status == CAROM_OK) status = move_properties(p, error);
  return status == CAROM_NUMERICAL_FAILURE ? CAROM_OK : status;
}

/* `spread`: the deviation of the training chunks' residuals, by the noise's, where the pass began */
static carom_status improve_split(state_estimation *e, bool training, carom_model *model,
                                  uint64_t seed, int number, double *spread, carom_error *error) {
  state_estimates *split = training ? &e->train : &e->validation;
  // without slopes there are no steps
  if (split->chunks.count == 0 || !split->response.known) return CAROM_OK;
  const int numbers = e->shape.size;
  pass p = {.estimation = e,
            .model = model,
            .split = split,
            .observed = states_observe(e, split),
            .seed = seed,
            .number = 2 * number + (training ? 0 : 1),
            .numbers = numbers,
            .width = model->system->coordinate_count,
            .residuals = split->chunks.states * numbers,
            .property_count = training && model->property_count == 1 ? 2 : 0,
            .properties = {model->friction, model->restitution}};
  carom_status status = pass_run(&p, error);
  if (training && p.known) {
    const size_t count = (size_t)split->chunks.count * (size_t)p.residuals;
    for (size_t i = 0; i < count; i++) p.here[i] = fabs(p.here[i]);
    *spread = deviation_by_median(p.here, count) * e->noise.scale;
  }
  pass_free(&p);
  return status;
}

carom_status states_improve(state_estimation *e, carom_model *model, uint64_t seed, int number,
                            carom_error *error) {
  double spread = e->noise.scale;
  carom_status status = CAROM_OK;
  // before the first pass, or where predictions were not finite
  if (!e->train.response.known) status = states_respond(e, model, error);
  if (status == CAROM_OK) status = improve_split(e, true, model, seed, number, &spread, error);
  if (status == CAROM_OK) status = improve_split(e, false, model, seed, number, &spread, error);
  if (status != CAROM_OK) return status;
  e->noise.scale = fmax(1, spread);
  return states_respond(e, model, error);
}
