/* The derivative of a simulation: how near to a target a thrown disk ends, by how it was thrown and
 * by the friction and restitution of the walls that it bounces off.
 *
 * The loss is half the squared distance of the disk's centre from the target at the last step. One
 * reverse pass gives its derivative by the whole initial state and by every parameter; the
 * directional derivative along all of them at once is then compared with a central difference.
 */
#include <carom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STATE = 16, MAX_PARAMETERS = 64 };

static const double target[2] = {0.75, 0.1};

/* What the loss depends on, and its cotangent. A disk in the plane has three points. */
typedef struct inputs {
  double x0[MAX_STATE];
  double v0[MAX_STATE];
  double theta[MAX_PARAMETERS];
} inputs;

static int give_up(const char *message) {
  fprintf(stderr, "gradient: %s\n", message);
  return EXIT_FAILURE;
}

/* Runs the rollout and measures its last state; `last` is where that begins in the trajectory. */
static bool run(carom_rollout *rollout, const inputs *in, size_t last, double *loss,
                carom_error *error) {
  if (carom_rollout_run(rollout, in->theta, in->x0, in->v0, error) != CAROM_OK) return false;
  const double *centre = carom_rollout_positions(rollout) + last;
  *loss = 0;
  for (int i = 0; i < 2; i++) *loss += (centre[i] - target[i]) * (centre[i] - target[i]) / 2;
  return true;
}

/* The derivative of the last run: at the last state the cotangent is centre - target. */
static bool differentiate(carom_rollout *rollout, size_t last, size_t trajectory_size, inputs *bar,
                          carom_error *error) {
  double *x_bar = calloc(trajectory_size, sizeof *x_bar);
  if (x_bar == NULL) {
    snprintf(error->message, sizeof error->message, "out of memory");
    return false;
  }
  const double *centre = carom_rollout_positions(rollout) + last;
  for (int i = 0; i < 2; i++) x_bar[last + (size_t)i] = centre[i] - target[i];
  const carom_status status =
      carom_rollout_vjp(rollout, x_bar, NULL, bar->x0, bar->v0, bar->theta, error);
  free(x_bar);
  return status == CAROM_OK;
}

/* in + step * direction */
static inputs moved(const inputs *in, double step, const inputs *direction) {
  inputs result = *in;
  for (int i = 0; i < MAX_STATE; i++) result.x0[i] += step * direction->x0[i];
  for (int i = 0; i < MAX_STATE; i++) result.v0[i] += step * direction->v0[i];
  for (int i = 0; i < MAX_PARAMETERS; i++) result.theta[i] += step * direction->theta[i];
  return result;
}

static double dot(const inputs *a, const inputs *b) {
  double sum = 0;
  for (int i = 0; i < MAX_STATE; i++) sum += a->x0[i] * b->x0[i] + a->v0[i] * b->v0[i];
  for (int i = 0; i < MAX_PARAMETERS; i++) sum += a->theta[i] * b->theta[i];
  return sum;
}

/* The throw: centre at (0.25, 0.65), axes along x and y, all points with the same velocity. */
static inputs thrown_disk(const carom_system *system) {
  const double x0[] = {0.25, 0.65, 1.25, 0.65, 0.25, 1.65};
  const double v0[] = {2.5, -2.0, 2.5, -2.0, 2.5, -2.0};
  inputs in = {0};
  memcpy(in.x0, x0, sizeof x0);
  memcpy(in.v0, v0, sizeof v0);
  carom_parameters_default(system, in.theta);
  return in;
}

/* Some direction in which every input moves. */
static inputs some_direction(int state, int parameters) {
  inputs direction = {0};
  for (int i = 0; i < state; i++) direction.x0[i] = 0.1 * cos(1 + i);
  for (int i = 0; i < state; i++) direction.v0[i] = cos(2 + 3 * i);
  for (int i = 0; i < parameters; i++) direction.theta[i] = 0.1 * cos(3 + 5 * i);
  return direction;
}

static void print_segments(const carom_system *system, const inputs *bar) {
  for (int segment = 0; segment < CAROM_SEGMENT_COUNT; segment++) {
    const carom_segment_info info = carom_parameters_segment(system, (carom_segment)segment);
    printf("  by %-12s", info.name);
    for (int i = 0; i < info.size; i++) printf(" %10.6f", bar->theta[info.offset + i]);
    printf("\n");
  }
}

static int compare(const carom_system *system, carom_rollout *rollout, int steps,
                   carom_error *error) {
  const carom_system_info info = carom_system_describe(system);
  const int state = info.point_count * info.dimension;
  const int parameters = carom_parameters_count(system);
  if (state > MAX_STATE || parameters > MAX_PARAMETERS) return give_up("the system is too large");
  const size_t last =
      (size_t)(steps * state); // of the state after the last step: the disk's centre
  const size_t trajectory_size = (size_t)((steps + 1) * state);

  // one run and one reverse pass
  const inputs in = thrown_disk(system);
  inputs bar = {0};
  double loss;
  if (!run(rollout, &in, last, &loss, error)) return give_up(error->message);
  if (!differentiate(rollout, last, trajectory_size, &bar, error)) return give_up(error->message);
  printf("loss after %d steps: %.6f, with %lld contact events\n", steps, loss,
         (long long)carom_rollout_report(rollout).events);
  printf("  by the initial velocity of the three points");
  for (int i = 0; i < state; i++) printf(" %.4f", bar.v0[i]);
  printf("\n");
  print_segments(system, &bar);

  // the same by central differences
  const double h = 1e-6;
  const inputs direction = some_direction(state, parameters);
  const inputs ahead = moved(&in, h, &direction);
  const inputs behind = moved(&in, -h, &direction);
  double loss_ahead, loss_behind;
  if (!run(rollout, &ahead, last, &loss_ahead, error) ||
      !run(rollout, &behind, last, &loss_behind, error))
    return give_up(error->message);
  const double difference = (loss_ahead - loss_behind) / (2 * h);
  const double product = dot(&bar, &direction);
  printf("along one direction: %.9f, by central differences %.9f\n", product, difference);
  if (!(fabs(product - difference) <= 1e-6 * (1 + fabs(difference))))
    return give_up("the two derivatives differ");
  return EXIT_SUCCESS;
}

int main(void) {
  carom_error error;
  carom_system *system;
  if (carom_system_load("bd1", &system, &error) != CAROM_OK) return give_up(error.message);
  carom_rollout_options options = carom_rollout_default_options(system);
  options.steps = 50;
  carom_rollout *rollout;
  int result = EXIT_FAILURE;
  if (carom_rollout_create(system, &options, 1, &rollout, &error) != CAROM_OK) {
    give_up(error.message);
  } else {
    result = compare(system, rollout, options.steps, &error);
    carom_rollout_destroy(rollout);
  }
  carom_system_destroy(system);
  return result;
}
