/* Data sets that are simulated. From each trajectory at most two candidates are kept, a chunk with
 * and a chunk without a contact, chosen at random; when all trajectories are done it is decided
 * which of the two is taken. Trajectories are simulated in blocks of a fixed size and forgotten, so
 * that memory does not grow with their length and the result does not depend on threads. */
#include "learn/dataset.h"

#include "base/error.h"
#include "base/ranks.h"
#include "base/size.h"
#include "learn/chunks.h"
#include "learn/noise.h"
#include "learn/options.h"
#include "rollout/report.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 64 /* trajectories */ };

void carom_dataset_destroy(carom_dataset *dataset) {
  if (dataset == NULL) return;
  for (int split = 0; split < SPLIT_COUNT; split++) chunks_release(dataset_split(dataset, split));
  free(dataset->findings);
  free(dataset);
}

carom_chunks *dataset_split(carom_dataset *dataset, int split) {
  carom_chunks *const splits[SPLIT_COUNT] = {&dataset->train, &dataset->validation, &dataset->test};
  return splits[split];
}

int dataset_split_size(const carom_dataset_options *options, int split) {
  const int sizes[SPLIT_COUNT] = {options->train, options->validation, options->test};
  return sizes[split];
}

const carom_chunks *carom_dataset_split(const carom_dataset *dataset, carom_split split) {
  if (dataset == NULL || (int)split < 0 || split >= CAROM_SPLIT_COUNT) return NULL;
  return dataset_split((carom_dataset *)dataset, (int)split);
}

const char *carom_split_name(carom_split split) {
  static const char *const names[SPLIT_COUNT] = {"train", "val", "test"};
  return (int)split >= 0 && split < CAROM_SPLIT_COUNT ? names[split] : "";
}

uint64_t dataset_seed(uint64_t seed, int split, dataset_purpose purpose, uint64_t index) {
  rng mixer;
  rng_seed(&mixer, seed, (uint64_t)split * 16 + (uint64_t)purpose);
  rng_seed(&mixer, rng_next(&mixer), index);
  return rng_next(&mixer);
}

static int block_count(int trajectories) {
  return trajectories / BLOCK_SIZE + (trajectories % BLOCK_SIZE > 0);
}

/* ---- candidates ---- */

/* Of every trajectory a chunk without [0] and one with [1] a contact, where it has one. */
typedef struct candidates {
  int count; /* trajectories */
  carom_chunks chunks[2];
  bool *has[2];
} candidates;

static void candidates_free(candidates *c) {
  for (int kind = 0; kind < 2; kind++) {
    chunks_release(&c->chunks[kind]);
    free(c->has[kind]);
  }
}

static carom_status candidates_allocate(const carom_system *system, int capacity, int states,
                                        candidates *c, carom_error *error) {
  *c = (candidates){.count = capacity};
  carom_status status = CAROM_OK;
  for (int kind = 0; kind < 2 && status == CAROM_OK; kind++) {
    status = chunks_allocate(system, capacity, states, &c->chunks[kind], error);
    c->has[kind] = size_allocate_zero((size_t)capacity, sizeof(bool));
    if (status == CAROM_OK && c->has[kind] == NULL)
      status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d chunks", capacity);
  }
  return status;
}

// takes what trajectory `index` has to offer; sampled states are free of contacts, so that one kind of
// chunk is always there: the one that begins with the first state
static void candidates_offer(candidates *c, int index, const carom_system *system, int states,
                             const double *x, const double *v, const uint8_t *flags, rng *random) {
  size_t size = (size_t)system->coordinate_count;
  for (int kind = 0; kind < 2; kind++) {
    carom_chunks *chunks = &c->chunks[kind];
    int start = chunk_pick(flags, states, chunks->states, kind == 1, NULL, random);
    c->has[kind][index] = start >= 0;
    if (start < 0) continue;
    chunks_put(system, chunks, index, x + (size_t)start * size, v + (size_t)start * size,
               flags + start);
  }
}

// what every rank has found in its blocks goes to all
static void candidates_exchange(candidates *c, const carom_system *system) {
  const int blocks = block_count(c->count);
  for (int kind = 0; kind < 2; kind++) {
    carom_chunks *chunks = &c->chunks[kind];
    const size_t states = (size_t)chunks->states, size = (size_t)system->coordinate_count;
    ranks_collect(chunks->x, sizeof(double) * states * size, blocks, BLOCK_SIZE, c->count);
    ranks_collect(chunks->v, sizeof(double) * states * size, blocks, BLOCK_SIZE, c->count);
    ranks_collect(chunks->contact, states, blocks, BLOCK_SIZE, c->count);
    ranks_collect(c->has[kind], sizeof(bool), blocks, BLOCK_SIZE, c->count);
  }
}

/* Decides with[k]: whether trajectory k gives its chunk with a contact. Those that have only one
 * kind give that; of the others as many, at random, as the share asks for. */
static void choose_kinds(const candidates *c, double share, rng *random, bool *with, int *open) {
  int missing = (int)lround(share * c->count), open_count = 0;
  for (int k = 0; k < c->count; k++) {
    with[k] = c->has[1][k] && !c->has[0][k];
    if (with[k]) missing--;
    if (c->has[0][k] && c->has[1][k]) open[open_count++] = k;
  }
  for (int k = 0; k < open_count && missing > 0; k++, missing--) {
    int other = k + rng_below(random, open_count - k);
    int chosen = open[other];
    open[other] = open[k];
    with[chosen] = true;
  }
}

static carom_status choose(const carom_system *system, const candidates *c, double share,
                           uint64_t seed, carom_chunks *out, carom_error *error) {
  bool *with = size_allocate_zero((size_t)c->count, sizeof(bool));
  int *open = size_allocate_zero((size_t)c->count, sizeof(int));
  carom_status status = CAROM_OK;
  if (with == NULL || open == NULL) {
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d chunks", c->count);
  } else {
    rng random;
    rng_seed(&random, seed, 0);
    choose_kinds(c, share, &random, with, open);
    size_t size = (size_t)system->coordinate_count, states = (size_t)out->states;
    for (int k = 0; k < c->count; k++) {
      const carom_chunks *from = &c->chunks[with[k]];
      size_t at = (size_t)k * states;
      chunks_put(system, out, k, from->x + at * size, from->v + at * size, from->contact + at);
    }
  }
  free(with);
  free(open);
  return status;
}

/* ---- simulation ---- */

/* Progress over the whole data set. */
typedef struct overall {
  carom_progress report;
  void *user;
  int64_t before, total; /* time steps */
} overall;

static bool forward_progress(void *user, int64_t done, int64_t total) {
  const overall *o = user;
  (void)total;
  int64_t sum = o->before + done;
  return o->report(o->user, sum < o->total ? sum : o->total, o->total);
}

typedef struct generator {
  const carom_system *system;
  const carom_dataset_options *options;
  carom_rollout_options simulation;
  overall progress;
  carom_report report;
  double *x0, *v0;  /* [BLOCK_SIZE][D] */
  double *x, *v;    /* [BLOCK_SIZE][steps + 1][D] */
  uint8_t *contact; /* [BLOCK_SIZE][steps + 1] */
} generator;

static void generator_free(generator *g) {
  free(g->x0);
  free(g->v0);
  free(g->x);
  free(g->v);
  free(g->contact);
}

// those that this rank simulates
static int own_trajectories(const carom_dataset_options *options, int split) {
  const int wanted = dataset_split_size(options, split);
  const rank_range own = ranks_own(block_count(wanted));
  const int64_t first = (int64_t)own.first * BLOCK_SIZE, end = (int64_t)own.end * BLOCK_SIZE;
  return (int)((end < wanted ? end : wanted) - (first < wanted ? first : wanted));
}

static carom_status generator_init(generator *g, const carom_system *system,
                                   const carom_rollout_options *simulation,
                                   const carom_dataset_options *options, carom_error *error) {
  *g = (generator){.system = system, .options = options};
  g->simulation = simulation != NULL ? *simulation : carom_rollout_default_options(system);
  g->simulation.steps = options->steps;
  g->simulation.threads = options->threads;
  g->progress = (overall){.report = options->progress, .user = options->progress_user};
  for (int split = 0; split < SPLIT_COUNT; split++)
    g->progress.total += (int64_t)own_trajectories(options, split) * options->steps;
  g->simulation.progress = options->progress != NULL ? forward_progress : NULL;
  g->simulation.progress_user = &g->progress;
  size_t bytes = sizeof(double) * (size_t)system->coordinate_count;
  size_t states = BLOCK_SIZE * ((size_t)options->steps + 1);
  g->x0 = malloc(BLOCK_SIZE * bytes);
  g->v0 = malloc(BLOCK_SIZE * bytes);
  g->x = calloc(states, bytes);
  g->v = calloc(states, bytes);
  g->contact = calloc(states, 1);
  if (g->x0 != NULL && g->v0 != NULL && g->x != NULL && g->v != NULL && g->contact != NULL)
    return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for trajectories of %d steps",
                   options->steps);
}

static carom_status simulate_block(generator *g, int split, int block, int count,
                                   carom_error *error) {
  uint64_t seed = dataset_seed(g->options->seed, split, PURPOSE_STATES, (uint64_t)block);
  carom_status status = carom_system_sample(g->system, seed, count, g->x0, g->v0, error);
  if (status != CAROM_OK) return status;
  carom_report report = {0};
  status = carom_system_simulate(g->system, &g->simulation, NULL, count, g->x0, g->v0, g->x, g->v,
                                 g->contact, &report, error);
  if (status != CAROM_OK) return status;
  carom_report_add(&g->report, &report);
  g->progress.before += report.time_steps;
  return CAROM_OK;
}

static carom_status collect_block(generator *g, int split, int block, candidates *c,
                                  carom_error *error) {
  const int first = block * BLOCK_SIZE, left = c->count - first;
  const int count = left < BLOCK_SIZE ? left : BLOCK_SIZE, states = g->options->steps + 1;
  const size_t trajectory = (size_t)states * (size_t)g->system->coordinate_count;
  const uint64_t seed = dataset_seed(g->options->seed, split, PURPOSE_PLACES, 0);
  carom_status status = simulate_block(g, split, block, count, error);
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    rng random;
    rng_seed(&random, seed, (uint64_t)(first + k));
    candidates_offer(c, first + k, g->system, states, g->x + (size_t)k * trajectory,
                     g->v + (size_t)k * trajectory, g->contact + (size_t)k * (size_t)states,
                     &random);
  }
  return status;
}

// simulates one trajectory for every wanted chunk; each rank has blocks of its own
static carom_status collect(generator *g, int split, candidates *c, carom_error *error) {
  const rank_range own = ranks_own(block_count(c->count));
  carom_status status = CAROM_OK;
  ranks_alone_begin();
  for (int block = own.first; block < own.end && status == CAROM_OK; block++)
    status = collect_block(g, split, block, c, error);
  ranks_alone_end();
  status = carom_ranks_agree(status, error);
  if (status == CAROM_OK) candidates_exchange(c, g->system);
  return status;
}

static carom_status generate_split(generator *g, int split, carom_chunks *out, carom_error *error) {
  const carom_dataset_options *o = g->options;
  int wanted = dataset_split_size(o, split);
  candidates c;
  carom_status status = candidates_allocate(g->system, wanted, o->chunk, &c, error);
  if (status == CAROM_OK) status = collect(g, split, &c, error);
  if (status == CAROM_OK) status = chunks_allocate(g->system, wanted, o->chunk, out, error);
  if (status == CAROM_OK)
    status = choose(g->system, &c, o->contact_share, dataset_seed(o->seed, split, PURPOSE_KINDS, 0),
                    out, error);
  if (status == CAROM_OK)
    status =
        noise_add(g->system, o->noise, dataset_seed(o->seed, split, PURPOSE_NOISE, 0), out, error);
  candidates_free(&c);
  return status;
}

static carom_status generate_splits(generator *g, carom_dataset **made, carom_error *error) {
  carom_dataset *data = calloc(1, sizeof *data);
  if (data == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a data set");
  carom_status status = CAROM_OK;
  for (int split = 0; split < SPLIT_COUNT && status == CAROM_OK; split++)
    status = generate_split(g, split, dataset_split(data, split), error);
  if (status == CAROM_OK) report_of_ranks(&g->report);
  data->dt = g->simulation.dt;
  for (int split = 0; split < SPLIT_COUNT; split++) dataset_split(data, split)->dt = data->dt;
  if (status == CAROM_OK)
    *made = data;
  else
    carom_dataset_destroy(data);
  return status;
}

// a scene with one given state has one trajectory: it is cut as a given one would be
static carom_status generate_from_one(generator *g, carom_dataset **made, carom_error *error) {
  g->progress.total = g->options->steps;
  carom_status status = simulate_block(g, 0, 0, 1, error);
  if (status == CAROM_OK) status = contacts_flag(g->system, 1, g->x0, g->contact, error);
  if (status != CAROM_OK) return status;
  const carom_trajectories one = {.batch = 1,
                                  .state_count = g->options->steps + 1,
                                  .point_count = g->system->point_count,
                                  .dimension = g->system->dimension,
                                  .dt = g->simulation.dt,
                                  .x = g->x,
                                  .v = g->v,
                                  .contact = g->contact};
  status = carom_dataset_from_trajectories(g->system, &one, g->options, made, error);
  // nothing is to be found out about a simulation of one's own
  if (status == CAROM_OK) (*made)->finding_count = 0;
  return status;
}

carom_status carom_dataset_generate(const carom_system *system,
                                    const carom_rollout_options *simulation,
                                    const carom_dataset_options *options, carom_dataset **dataset,
                                    carom_error *error) {
  if (dataset != NULL) *dataset = NULL;
  REQUIRE(system, error);
  REQUIRE(options, error);
  REQUIRE(dataset, error);
  carom_status status = options_check(&dataset_option_table, options, error);
  if (status != CAROM_OK) return status;
  if (options->steps < options->chunk - 1)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "trajectories of %d steps are too short for chunks of %d states; take at "
                     "least %d steps",
                     options->steps, options->chunk, options->chunk - 1);
  generator g;
  carom_dataset *made = NULL;
  status = generator_init(&g, system, simulation, options, error);
  if (status == CAROM_OK)
    status = (system->initial.kind == SAMPLER_STATE ? generate_from_one : generate_splits)(
        &g, &made, error);
  if (made != NULL) {
    made->report = g.report;
    made->simulated = true;
    made->compensation = g.simulation.compensation;
    made->contact_time = g.simulation.contact_time;
    made->friction = g.simulation.friction;
  }
  generator_free(&g);
  *dataset = made;
  return status == CAROM_OK ? error_clear(error) : status;
}
