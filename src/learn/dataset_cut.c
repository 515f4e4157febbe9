/* Data sets from given trajectories (recording.h). The trajectories are dealt out to the three splits at
 * random; where there are fewer trajectories than splits each one is cut along time instead. From what
 * a split got of their runs, its pieces, chunks are cut that do not overlap, in rounds of one chunk from each piece,
 * until there are as many as wanted or no more. */
#include "base/error.h"
#include "base/size.h"
#include "learn/chunks.h"
#include "learn/dataset.h"
#include "learn/noise.h"
#include "learn/options.h"
#include "learn/recording.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Consecutive states of one trajectory that belong to a split. */
typedef struct piece {
  int split;
  size_t first; /* state, counted over all trajectories */
  int states;
} piece;

typedef struct cutter {
  const carom_dataset_options *options;
  recording r;
  uint8_t *taken; /* [count][states] states that are in a chunk */
  int piece_count;
  piece *pieces;  /* at most [run_count + count * SPLIT_COUNT] */
  int *order;     /* the same: of the pieces of one split, or of trajectories */
  size_t *starts; /* of the chunks of one split */
  int found;
} cutter;

static void cutter_free(cutter *c) {
  recording_free(&c->r);
  free(c->taken);
  free(c->pieces);
  free(c->order);
  free(c->starts);
}

static int largest_split(const carom_dataset_options *o) {
  int largest = o->train > o->validation ? o->train : o->validation;
  return largest > o->test ? largest : o->test;
}

static carom_status cutter_init(cutter *c, carom_error *error) {
  const recording *r = &c->r;
  size_t states = (size_t)r->count * (size_t)r->states;
  size_t pieces = (size_t)r->run_count + (size_t)r->count * SPLIT_COUNT;
  c->taken = size_allocate_zero(states, 1);
  c->pieces = calloc(pieces, sizeof *c->pieces);
  c->order = calloc(pieces, sizeof *c->order);
  c->starts = size_allocate_zero((size_t)largest_split(c->options), sizeof *c->starts);
  if (c->taken != NULL && c->pieces != NULL && c->order != NULL && c->starts != NULL)
    return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to cut %d trajectories of %d states",
                   r->count, r->states);
}

static void shuffle(int *values, int count, rng *random) {
  for (int k = count - 1; k > 0; k--) {
    int other = rng_below(random, k + 1), value = values[k];
    values[k] = values[other];
    values[other] = value;
  }
}

/* ---- splits ---- */

/* Cuts `total` things into shares proportional to what the splits want: ends[split] is where a
 * share ends. A split that wants something gets at least one where there are enough. */
static void proportion(const carom_dataset_options *o, int total, int *ends) {
  int64_t wanted = (int64_t)o->train + o->validation + o->test, sum = 0;
  int left = 0; /* splits that still want something */
  for (int split = 0; split < SPLIT_COUNT; split++) left += dataset_split_size(o, split) > 0;
  int before = 0;
  for (int split = 0; split < SPLIT_COUNT; split++) {
    int size = dataset_split_size(o, split);
    sum += size;
    left -= size > 0;
    int end = (int)((sum * total + wanted / 2) / wanted);
    if (size > 0 && end <= before) end = before + 1;
    if (end > total - left) end = total - left;
    ends[split] = before = end > before ? end : before;
  }
}

// the first run of a trajectory or of one behind it: runs are in the order of trajectories
static int first_run(const recording *r, int trajectory) {
  int low = 0, high = r->run_count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (r->runs[middle].trajectory < trajectory)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// what of a trajectory's runs lies in [begin, end) goes to a split
static void add_pieces(cutter *c, int split, int trajectory, int begin, int end) {
  const recording *r = &c->r;
  for (int k = first_run(r, trajectory), stop = first_run(r, trajectory + 1); k < stop; k++) {
    const run *of = &r->runs[k];
    const int first = of->first > begin ? of->first : begin;
    const int last = of->first + of->states < end ? of->first + of->states : end;
    if (last <= first) continue;
    c->pieces[c->piece_count++] =
        (piece){split, (size_t)trajectory * (size_t)r->states + (size_t)first, last - first};
  }
}

// the trajectories that have a run, in `order`
static int list_trajectories(cutter *c) {
  int count = 0;
  for (int k = 0; k < c->r.run_count; k++)
    if (count == 0 || c->order[count - 1] != c->r.runs[k].trajectory)
      c->order[count++] = c->r.runs[k].trajectory;
  return count;
}

// whole trajectories, dealt out in a random order
static void deal_out(cutter *c, int count) {
  int ends[SPLIT_COUNT], split = 0;
  proportion(c->options, count, ends);
  rng random;
  rng_seed(&random, dataset_seed(c->options->seed, 0, PURPOSE_ORDER, 0), 0);
  shuffle(c->order, count, &random);
  for (int k = 0; k < count; k++) {
    while (split < SPLIT_COUNT - 1 && k >= ends[split]) split++;
    add_pieces(c, split, c->order[k], 0, c->r.states);
  }
}

// each trajectory gives its beginning to training, its end to the test
static void cut_along_time(cutter *c, int count) {
  for (int k = 0; k < count; k++) {
    int ends[SPLIT_COUNT];
    const run *last = &c->r.runs[first_run(&c->r, c->order[k] + 1) - 1];
    proportion(c->options, last->first + last->states, ends);
    for (int split = 0, begin = 0; split < SPLIT_COUNT; begin = ends[split], split++)
      add_pieces(c, split, c->order[k], begin, ends[split]);
  }
}

static void make_pieces(cutter *c) {
  int wanted = 0;
  for (int split = 0; split < SPLIT_COUNT; split++)
    wanted += dataset_split_size(c->options, split) > 0;
  const int count = list_trajectories(c);
  (count >= wanted ? deal_out : cut_along_time)(c, count);
}

/* ---- chunks ---- */

static void take(cutter *c, size_t start) {
  memset(c->taken + start, 1, (size_t)c->options->chunk);
  c->starts[c->found++] = start;
}

// one round after the other over the pieces until `target` chunks are found or no more are there
static void take_in_rounds(cutter *c, int split, bool with_contact, int target, rng *random) {
  for (bool progress = true; progress && c->found < target;) {
    int pieces = 0;
    for (int k = 0; k < c->piece_count; k++)
      if (c->pieces[k].split == split) c->order[pieces++] = k;
    shuffle(c->order, pieces, random);
    progress = false;
    for (int k = 0; k < pieces && c->found < target; k++) {
      const piece *p = &c->pieces[c->order[k]];
      int start = chunk_pick(c->r.contact + p->first, p->states, c->options->chunk, with_contact,
                             c->taken + p->first, random);
      if (start < 0) continue;
      take(c, p->first + (size_t)start);
      progress = true;
    }
  }
}

static bool is_free(const cutter *c, size_t start) {
  if (c->r.contact[start] != 0) return false;
  for (int k = 0; k < c->options->chunk; k++)
    if (c->taken[start + (size_t)k] != 0) return false;
  return true;
}

// chunks one after the other, as early as possible: the most that the room left can hold
static void take_densely(cutter *c, int split, int target) {
  int chunk = c->options->chunk;
  for (int k = 0; k < c->piece_count; k++) {
    const piece *p = &c->pieces[k];
    if (p->split != split) continue;
    for (int start = 0; start + chunk <= p->states && c->found < target;) {
      bool free = is_free(c, p->first + (size_t)start);
      if (free) take(c, p->first + (size_t)start);
      start += free ? chunk : 1;
    }
  }
}

// gives back all chunks but the first `kept`
static void give_back(cutter *c, int kept) {
  while (c->found > kept) memset(c->taken + c->starts[--c->found], 0, (size_t)c->options->chunk);
}

static void find_chunks(cutter *c, int split) {
  const carom_dataset_options *o = c->options;
  int wanted = dataset_split_size(o, split);
  rng random;
  rng_seed(&random, dataset_seed(o->seed, split, PURPOSE_PLACES, 0), 0);
  c->found = 0;
  // the share with a contact first, then those without, then what fills the number
  take_in_rounds(c, split, true, (int)lround(o->contact_share * wanted), &random);
  int with_contact = c->found;
  take_in_rounds(c, split, false, wanted, &random);
  take_in_rounds(c, split, true, wanted, &random);
  if (c->found == wanted) return;
  // chunks at random places leave gaps that short data cannot afford
  give_back(c, with_contact);
  take_densely(c, split, wanted);
}

static carom_status cut_split(cutter *c, int split, carom_chunks *out, carom_error *error) {
  const carom_dataset_options *o = c->options;
  size_t size = (size_t)c->r.system->coordinate_count;
  find_chunks(c, split);
  if (split == 0 && c->found == 0)
    return error_set(error, CAROM_INVALID_DATA,
                     "no training chunk of %d states can be cut from %d trajectories of %d states: "
                     "the part for training is too short, or every possible first state is in "
                     "contact; take a smaller chunk or more data",
                     o->chunk, c->r.count, c->r.states);
  carom_status status = chunks_allocate(c->r.system, c->found, o->chunk, out, error);
  if (status != CAROM_OK) return status;
  for (int k = 0; k < c->found; k++)
    chunks_put(c->r.system, out, k, c->r.x + c->starts[k] * size, c->r.v + c->starts[k] * size,
               c->r.contact + c->starts[k]);
  return noise_add(c->r.system, o->noise, dataset_seed(o->seed, split, PURPOSE_NOISE, 0), out,
                   error);
}

static carom_status cut_all(cutter *c, const carom_system *system, const carom_trajectories *given,
                            carom_dataset *made, carom_error *error) {
  carom_status status = recording_make(system, given, c->options, &c->r, made, error);
  if (status == CAROM_OK) status = cutter_init(c, error);
  if (status == CAROM_OK) make_pieces(c);
  for (int split = 0; split < SPLIT_COUNT && status == CAROM_OK; split++) {
    status = cut_split(c, split, dataset_split(made, split), error);
    dataset_split(made, split)->dt = given->dt;
  }
  return status;
}

static carom_status check_arguments(const carom_system *system,
                                    const carom_dataset_options *options,
                                    const carom_trajectories *given, carom_error *error) {
  carom_status status = options_check(&dataset_option_table, options, error);
  if (status != CAROM_OK) return status;
  if (given->point_count != system->point_count || given->dimension != system->dimension)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "states of %d points in %d dimensions are none of %s, which has %d in %d",
                     given->point_count, given->dimension, system->name, system->point_count,
                     system->dimension);
  if (!(given->dt > 0) || !isfinite(given->dt))
    return error_set(error, CAROM_INVALID_ARGUMENT, "the time step is %g, must be positive",
                     given->dt);
  if (given->times != NULL)
    return error_set(error, CAROM_INVALID_DATA,
                     "time steps of the trajectories are unequal, chunks have equal ones: resample "
                     "the trajectories to equal time steps, or fit them (carom fit takes such)");
  if (given->batch < 1)
    return error_set(error, CAROM_INVALID_DATA, "there are no trajectories to learn from");
  if (given->state_count < options->chunk)
    return error_set(error, CAROM_INVALID_DATA,
                     "trajectories of %d states are shorter than a chunk of %d states; take a "
                     "smaller chunk or longer trajectories",
                     given->state_count, options->chunk);
  return CAROM_OK;
}

carom_status carom_dataset_from_trajectories(const carom_system *system,
                                             const carom_trajectories *trajectories,
                                             const carom_dataset_options *options,
                                             carom_dataset **dataset, carom_error *error) {
  if (dataset != NULL) *dataset = NULL;
  REQUIRE(system, error);
  REQUIRE(trajectories, error);
  REQUIRE(trajectories->x, error);
  REQUIRE(options, error);
  REQUIRE(dataset, error);
  carom_status status = check_arguments(system, options, trajectories, error);
  if (status != CAROM_OK) return status;
  carom_dataset *made = calloc(1, sizeof *made);
  if (made == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a data set");
  made->dt = trajectories->dt;
  cutter c = {.options = options};
  status = cut_all(&c, system, trajectories, made, error);
  cutter_free(&c);
  if (status != CAROM_OK) {
    carom_dataset_destroy(made);
    return status;
  }
  *dataset = made;
  return error_clear(error);
}
