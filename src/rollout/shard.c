#include "rollout/shard.h"

#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "physics/constraint_projection.h"
#include "rollout/impact_step.h"
#include "rollout/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Time steps whose records a worker keeps. */
static int record_count(const batch_job *job) {
  return job->keeps_records && job->options->steps > 1 ? job->options->steps : 1;
}

/* Do contacts act when their gaps close, not at the end of a time step? */
static bool follows_impacts(const batch_job *job) {
  return job->options->contact_time == CAROM_CONTACT_TIME_EVENT;
}

/* Samples that a step record has room for: none where there are no equations of motion. */
static int record_capacity(const batch_job *job) {
  return job->change != NULL && job->change->whole_step ? 0 : job->options->shard_size;
}

/* Bytes of the record of one velocity change. */
static size_t change_bytes(const batch_job *job) {
  const velocity_change *c = job->change;
  return c != NULL ? c->record_bytes(c, job->options->shard_size) : 0;
}

size_t worker_bytes(const batch_job *job) {
  size_t shard = (size_t)job->options->shard_size;
  size_t size = (size_t)job->integrator.mechanics->system->coordinate_count;
  size_t record =
      size_add(step_record_bytes(&job->integrator, record_capacity(job)), sizeof(step_record));
  record = size_add(record, change_bytes(job));
  size_t records = size_multiply((size_t)record_count(job), record);
  if (follows_impacts(job)) records = size_add(records, step_record_bytes(&job->integrator, 1));
  return size_add(records, size_multiply(shard, 4 * sizeof(double) * size + sizeof(int)));
}

/* A worker and the job it is made for. */
typedef struct worker_plan {
  worker *worker;
  const batch_job *job;
} worker_plan;

static void lay_out(void *user) {
  const worker_plan *plan = user;
  const batch_job *job = plan->job;
  worker *w = plan->worker;
  int shard = job->options->shard_size;
  int size = shard * job->integrator.mechanics->system->coordinate_count;
  int records = record_count(job);
  w->records = ARENA_ARRAY(&w->memory, step_record, records);
  for (int i = 0; i < records; i++)
    w->records[i] = step_record_make(&job->integrator, record_capacity(job), &w->memory);
  w->changes = job->change != NULL ? ARENA_ARRAY(&w->memory, void *, records) : NULL;
  w->acts = job->change != NULL ? ARENA_ARRAY(&w->memory, bool, shard) : NULL;
  for (int i = 0; job->change != NULL && i < records; i++)
    w->changes[i] = arena_bytes(&w->memory, change_bytes(job));
  if (follows_impacts(job)) w->single = step_record_make(&job->integrator, 1, &w->memory);
  w->x = arena_doubles(&w->memory, size);
  w->v = arena_doubles(&w->memory, size);
  w->x_bar = arena_doubles(&w->memory, size);
  w->v_bar = arena_doubles(&w->memory, size);
  w->impacts_left = ARENA_ARRAY(&w->memory, int, shard);
}

bool worker_init(worker *w, const batch_job *job) {
  *w = (worker){0};
  arena_init(&w->memory);
  arena_init(&w->scratch);
  contact_list_init(&w->active);
  return arena_guard(lay_out, &(worker_plan){w, job});
}

void worker_time(worker *w, const batch_job *job, stopwatch *watch) {
  w->watch = watch;
  for (int i = 0; i < record_count(job); i++) w->records[i].watch = watch;
}

void worker_free(worker *w) {
  arena_free(&w->memory);
  arena_free(&w->scratch);
  contact_list_free(&w->active);
}

/* A job whose time steps are of the length that one of a sample's steps has. */
typedef struct timed_job {
  batch_job job;
  carom_rollout_options options, impact, resting;
} timed_job;

/* The job as it is for one time step of a shard; `own` has it where time steps are not of one length. */
static const batch_job *job_at(const batch_job *job, shard_range s, int step, timed_job *own) {
  if (job->lengths == NULL) return job;
  const double dt = job->lengths[(size_t)s.first * (size_t)job->options->steps + (size_t)step];
  *own = (timed_job){*job, *job->options, *job->impact, *job->resting};
  own->options.dt = own->impact.dt = own->resting.dt = own->job.integrator.dt = dt;
  own->job.options = &own->options;
  own->job.impact = &own->impact;
  own->job.resting = &own->resting;
  return &own->job;
}

/* Start of sample `sample`'s state at `step` in a trajectory. */
static size_t trajectory_at(const batch_job *job, int sample, int step) {
  size_t states = (size_t)job->options->steps + 1;
  return ((size_t)sample * states + (size_t)step) *
         (size_t)job->integrator.mechanics->system->coordinate_count;
}

static void gather(const batch_job *job, const double *trajectory, shard_range s, int step,
                   double *states) {
  size_t size = (size_t)job->integrator.mechanics->system->coordinate_count;
  for (int i = 0; i < s.count; i++)
    memcpy(states + (size_t)i * size, trajectory + trajectory_at(job, s.first + i, step),
           sizeof(double) * size);
}

static void scatter(const batch_job *job, const double *states, shard_range s, int step,
                    double *trajectory) {
  size_t size = (size_t)job->integrator.mechanics->system->coordinate_count;
  for (int i = 0; i < s.count; i++)
    memcpy(trajectory + trajectory_at(job, s.first + i, step), states + (size_t)i * size,
           sizeof(double) * size);
}

/* Are the impacts of a shard to be kept on its tape? */
static bool keeps_impacts(const batch_job *job, const tape *t) {
  return t != NULL && job->options->keep_impacts;
}

/* The contact event of sample i of a shard, if there is one. Returns whether there was; *offset tells where
 * its impulses stand on the tape. */
static bool sample_event(const batch_job *job, worker *w, int i, int step, tape *t, int64_t *offset,
                         shard_result *result) {
  int size = job->integrator.mechanics->system->coordinate_count;
  double *x = w->x + i * size, *v = w->v + i * size;
  const mechanics *m = job->integrator.mechanics;
  *offset = -1;
  if (!collision_detect(m->system, x, &w->active)) {
    result->status = CAROM_OUT_OF_MEMORY;
    return false;
  }
  if (w->active.count == 0) return false;
  arena_mark mark = arena_save(&w->scratch);
  contact_event event = contact_event_make(m, job->options, &w->active, x, &w->scratch);
  event.failures = &result->failures;
  size_t bytes = event_impulses_bytes(&event);
  void *memory = t != NULL ? growing_append(&t->memory, bytes) : arena_bytes(&w->scratch, bytes);
  double end = (step + 1) * job->options->dt;
  int entry = keeps_impacts(job, t) ? impact_log_add(&t->impacts, &event, i, step, end, v) : 0;
  if (memory == NULL || entry < 0) {
    result->status = CAROM_OUT_OF_MEMORY;
    return false;
  }
  if (t != NULL) *offset = (unsigned char *)memory - t->memory.bytes;
  event_impulses impulses = event_impulses_at(&event, memory);
  if (!contact_event_solve(&event, x, v, &impulses, &w->scratch)) result->report.failed_programs++;
  if (keeps_impacts(job, t)) impact_log_complete(&t->impacts, entry, &event, &impulses, v);

  result->report.events++;
  result->report.contacts += w->active.count;
  report_event(&result->report, &event, &impulses);
  arena_restore(&w->scratch, mark);
  return true;
}

/* The record of a time step. */
static step_record *record_of(const batch_job *job, worker *w, int step) {
  return &w->records[job->keeps_records ? step : 0];
}

/* The record of its velocity change. */
static void *change_of(const batch_job *job, const worker *w, int step) {
  return w->changes[job->keeps_records ? step : 0];
}

/* First number of a sample's controls at a time step, or numbers from one sample to the next. */
static size_t control_at(const batch_job *job, int sample, int step) {
  size_t size = (size_t)job->integrator.mechanics->system->control_size;
  return ((size_t)sample * (size_t)job->options->steps + (size_t)step) * size;
}

/* The controls that a shard's samples have at a time step; u_bar [batch][steps][control_size] may be NULL. */
static step_controls controls_of(const batch_job *job, shard_range s, int step, double *u_bar) {
  const double *u = job->states.u;
  size_t at = control_at(job, s.first, step);
  if (u == NULL) return (step_controls){0};
  return (step_controls){
      .u = u + at, .u_bar = u_bar != NULL ? u_bar + at : NULL, .stride = control_at(job, 1, 0)};
}

/* What sample i needs to follow its impacts through a time step. */
static impact_setting impact_setting_of(const batch_job *job, shard_range s, int i, int step,
                                        worker *w, tape *t, shard_result *result) {
  impact_setting made = {.impact = job->impact,
                         .dt = job->options->dt,
                         .sample = i,
                         .step = step,
                         .near = &w->active,
                         .tape = t,
                         .keeps_impacts = keeps_impacts(job, t),
                         .report = result != NULL ? &result->report : NULL};
  made.stretch =
      (stretch_setting){.integrator = job->integrator,
                        .stabilize = job->options->stabilize,
                        .resting = job->resting,
                        .record = &w->single,
                        .controls = controls_of(job, (shard_range){s.first + i, 1}, step, NULL),
                        .weight = w->weights != NULL ? w->weights + i : NULL,
                        .failures = result != NULL ? &result->failures : NULL,
                        .scratch = &w->scratch};
  return made;
}

/* The same as sample_event where contacts act when their gaps close; the start of the step is the last state
 * of the trajectory. */
static bool sample_impacts(const batch_job *job, shard_range s, int i, int step, worker *w, tape *t,
                           int64_t *offset, shard_result *result) {
  int size = job->integrator.mechanics->system->coordinate_count;
  size_t at = trajectory_at(job, s.first + i, step);
  impact_setting setting = impact_setting_of(job, s, i, step, w, t, result);
  bool acted;
  if (!impact_step(&setting, job->states.x + at, job->states.v + at, w->x + i * size,
                   w->v + i * size, offset, &acted))
    result->status = CAROM_OUT_OF_MEMORY;
  return acted;
}

/* What a sample whose numbers are not finite leaves in the result; whether they are. */
static bool sample_finite(const double *x, const double *v, int size, int sample, int step,
                          shard_result *result) {
  if (vector_is_finite(x, size) && vector_is_finite(v, size)) return true;
  result->status = CAROM_NUMERICAL_FAILURE;
  result->bad_sample = sample;
  result->bad_step = step + 1;
  return false;
}

/* Is the velocity of sample i to be changed? Counts contacts where that depends on them. */
static bool change_acts(const batch_job *job, worker *w, int i, shard_result *result) {
  const carom_system *s = job->integrator.mechanics->system;
  if (!job->change->at_contacts) return true;
  if (!collision_detect(s, w->x + i * s->coordinate_count, &w->active))
    result->status = CAROM_OUT_OF_MEMORY;
  else if (w->active.count > 0)
    result->report.events++;
  result->report.contacts += w->active.count;
  return result->status == CAROM_OK && w->active.count > 0;
}

/* One time step with a velocity change in the place of contact events:
 *
 *   (x, v) <- ODESolve(f, (x, v), dt), put on the constraints if asked for, v <- v + change(x, v)
 *
 * or, where it is the whole step, v <- v + change(x, v), x <- x + dt v. */
static bool shard_change(const batch_job *job, shard_range s, int step, worker *w,
                         shard_result *result) {
  const mechanics *m = job->integrator.mechanics;
  const int size = m->system->coordinate_count;
  const size_t states = (size_t)job->options->steps + 1;
  uint8_t *contacts = job->states.contacts;
  step_record *record = record_of(job, w, step);
  if (!job->change->whole_step)
    integrator_step(&job->integrator, s.count, w->x, w->v, record, &w->scratch);
  result->report.time_steps += s.count;
  const double start = stopwatch_read(w->watch);
  for (int i = 0; i < s.count; i++) {
    double *x = w->x + i * size, *v = w->v + i * size;
    if (!sample_finite(x, v, size, s.first + i, step, result)) return false;
    if (job->options->stabilize && !job->change->whole_step)
      result->report.failed_projections += project_state(m, x, v, &w->scratch);
    w->acts[i] = change_acts(job, w, i, result);
    if (result->status != CAROM_OK) return false;
    if (contacts != NULL)
      contacts[(size_t)(s.first + i) * states + (size_t)step + 1] =
          job->change->at_contacts && w->acts[i];
  }
  job->change->apply(job->change, m, s.count, w->acts, w->x, w->v, change_of(job, w, step),
                     &w->scratch);
  for (int i = 0; job->change->whole_step && i < s.count * size; i++)
    w->x[i] += job->options->dt * w->v[i];
  if (w->watch != NULL) w->watch->contacts += stopwatch_read(w->watch) - start;
  for (int i = 0; i < s.count; i++)
    if (!sample_finite(w->x + i * size, w->v + i * size, size, s.first + i, step, result))
      return false;
  scatter(job, w->x, s, step + 1, job->states.x);
  scatter(job, w->v, s, step + 1, job->states.v);
  return true;
}

/* One time step of Algorithm 1 for all samples of a shard; false if it cannot go on.
 *
 *   (x, v)   <- ODESolve(f, (x, v), dt)                   between contacts: integrator_step
 *   (x, v)   <- (x, v) put on Phi(x) = 0, J_E v = 0        if asked for: project_state
 *   C        <- {i : gap_i(x) < 0}                        collision_detect
 *   v        <- v + M^-1 J_C' (f_c + f_r)  if C not empty  compression, then restitution:
 *   x        <- x + w                                     contact_event_solve
 *
 * Where contacts act when their gaps close, the last three are impact_step's, which begins the step again for
 * those samples in which one does. */
static bool shard_step(const batch_job *job, shard_range s, int step, worker *w, tape *t,
                       shard_result *result) {
  int size = job->integrator.mechanics->system->coordinate_count;
  size_t steps = (size_t)job->options->steps;
  step_record *record = record_of(job, w, step);
  record->controls = controls_of(job, s, step, NULL);
  integrator_step(&job->integrator, s.count, w->x, w->v, record, &w->scratch);
  result->report.time_steps += s.count;
  double start = stopwatch_read(w->watch);
  for (int i = 0; i < s.count; i++) {
    int64_t offset;
    double *x = w->x + i * size, *v = w->v + i * size;
    bool finite = vector_is_finite(x, size) && vector_is_finite(v, size);
    if (finite && job->options->stabilize)
      result->report.failed_projections +=
          project_state(job->integrator.mechanics, x, v, &w->scratch);
    bool acted =
        finite && (follows_impacts(job) ? sample_impacts(job, s, i, step, w, t, &offset, result)
                                        : sample_event(job, w, i, step, t, &offset, result));
    if (!finite || !vector_is_finite(x, size) || !vector_is_finite(v, size)) {
      result->status = CAROM_NUMERICAL_FAILURE;
      result->bad_sample = s.first + i;
      result->bad_step = step + 1;
    }
    if (result->status != CAROM_OK) return false;
    if (t != NULL) t->offset[(size_t)i * steps + (size_t)step] = offset;
    if (job->states.contacts != NULL)
      job->states.contacts[(size_t)(s.first + i) * (steps + 1) + (size_t)step + 1] = acted;
  }
  if (w->watch != NULL) w->watch->contacts += stopwatch_read(w->watch) - start;
  scatter(job, w->x, s, step + 1, job->states.x);
  scatter(job, w->v, s, step + 1, job->states.v);
  return true;
}

/* The first states of the trajectories. */
static void begin_trajectories(const batch_job *job, shard_range s, worker *w) {
  const batch_states *states = &job->states;
  size_t size = (size_t)job->integrator.mechanics->system->coordinate_count;
  size_t at = (size_t)s.first * size, bytes = sizeof(double) * (size_t)s.count * size;
  memcpy(w->x, states->x0 + at, bytes);
  memcpy(w->v, states->v0 + at, bytes);
  scatter(job, w->x, s, 0, states->x);
  scatter(job, w->v, s, 0, states->v);
  for (int i = 0; states->contacts != NULL && i < s.count; i++)
    states->contacts[(size_t)(s.first + i) * ((size_t)job->options->steps + 1)] = 0;
}

/* A shard to run or to reverse, as a guard takes it. */
typedef struct shard_work {
  const batch_job *job;
  shard_range range;
  worker *worker;
  tape *tape;
  shard_result *result;
  const batch_cotangents *bars;
  double *theta_bar, *potential_bar;
} shard_work;

/* Runs a function under a guard; the worker is as good as new afterwards. */
static bool guarded(void (*function)(void *user), shard_work *work) {
  if (arena_guard(function, work)) return true;
  arena_restore(&work->worker->scratch, (arena_mark){0});
  return false;
}

static void run(void *user) {
  const shard_work *work = user;
  timed_job own;
  begin_trajectories(work->job, work->range, work->worker);
  for (int step = 0; step < work->job->options->steps; step++) {
    const batch_job *job = job_at(work->job, work->range, step, &own);
    if (!(job->change != NULL
              ? shard_change(job, work->range, step, work->worker, work->result)
              : shard_step(job, work->range, step, work->worker, work->tape, work->result)))
      return;
    if (job->progress != NULL && !job->progress(job->progress_user, work->range.count)) {
      work->result->status = CAROM_INTERRUPTED;
      return;
    }
  }
}

void shard_run(const batch_job *job, shard_range s, worker *w, tape *t, shard_result *result) {
  program_log_clear(&result->failures);
  *result = (shard_result){.status = CAROM_OK};
  shard_work work = {.job = job, .range = s, .worker = w, .tape = t, .result = result};
  if ((t != NULL && !tape_begin(t, job->options->shard_size, job->options->steps)) ||
      !guarded(run, &work) || (keeps_impacts(job, t) && !impact_log_finish(&t->impacts, s.count)))
    result->status = CAROM_OUT_OF_MEMORY;
}

/* Adds the cotangent of a step's states. */
static void add_state_cotangent(const batch_job *job, const double *trajectory_bar, shard_range s,
                                int step, double *bar) {
  if (trajectory_bar == NULL) return;
  int size = job->integrator.mechanics->system->coordinate_count;
  for (int i = 0; i < s.count; i++) {
    const double *from = trajectory_bar + trajectory_at(job, s.first + i, step);
    for (int k = 0; k < size; k++) bar[i * size + k] += from[k];
  }
}

/* bar += one part of an impact's cotangents; nothing if there is no impact */
static void add_impact_cotangent(const impact_log *log, const impact_entry *impact, int size,
                                 int part, double *bar) {
  if (impact == NULL) return;
  const double *from = impact_log_part(log, impact, size, part);
  for (int k = 0; k < size; k++) bar[k] += from[k];
}

static void sample_event_vjp(const batch_job *job, worker *w, int i, const tape *t, int64_t offset,
                             double *theta_bar) {
  const mechanics *m = job->integrator.mechanics;
  int size = m->system->coordinate_count;
  double *x_bar = w->x_bar + i * size, *v_bar = w->v_bar + i * size;
  const impact_entry *impact =
      keeps_impacts(job, t) ? impact_log_at(&t->impacts, i, --w->impacts_left[i]) : NULL;
  add_impact_cotangent(&t->impacts, impact, size, IMPACT_AFTER_BAR, v_bar);
  arena_mark mark = arena_save(&w->scratch);
  if (!collision_detect(m->system, w->x + i * size, &w->active)) arena_give_up();
  contact_event event =
      contact_event_make(m, job->options, &w->active, w->x + i * size, &w->scratch);
  event_impulses impulses = event_impulses_at(&event, t->memory.bytes + offset);
  contact_event_vjp(&event, w->v + i * size, &impulses, v_bar, x_bar, theta_bar, &w->scratch);
  arena_restore(&w->scratch, mark);
  add_impact_cotangent(&t->impacts, impact, size, IMPACT_BEFORE_BAR, v_bar);
  add_impact_cotangent(&t->impacts, impact, size, IMPACT_X_BAR, x_bar);
}

/* Reverses what came after the integrator's step for one sample of a shard, whose state w->x, w->v is that
 * before the projection. `offset` is that of its event's impulses, or -1. */
static void sample_vjp(const batch_job *job, worker *w, int i, const tape *t, int64_t offset,
                       double *theta_bar) {
  const mechanics *m = job->integrator.mechanics;
  int size = m->system->coordinate_count;
  if (!job->options->stabilize) {
    if (offset >= 0) sample_event_vjp(job, w, i, t, offset, theta_bar);
    return;
  }
  arena_mark mark = arena_save(&w->scratch);
  double *x = arena_doubles(&w->scratch, size), *v = arena_doubles(&w->scratch, size);
  memcpy(x, w->x + i * size, sizeof(double) * (size_t)size);
  memcpy(v, w->v + i * size, sizeof(double) * (size_t)size);
  if (offset >= 0) {
    project_state(m, w->x + i * size, w->v + i * size, &w->scratch);
    sample_event_vjp(job, w, i, t, offset, theta_bar);
  }
  project_state_vjp(m, x, v, w->x_bar + i * size, w->v_bar + i * size, theta_bar, &w->scratch);
  arena_restore(&w->scratch, mark);
}

/* The state before projection and contact events of a step, and the step's record, again. */
static step_record *repeat_step(const batch_job *job, shard_range s, int step, worker *w,
                                double *u_bar) {
  step_record *record = record_of(job, w, step);
  record->controls = controls_of(job, s, step, u_bar);
  record->weights = w->weights;
  if (job->keeps_records) {
    integrator_replay(&job->integrator, s.count, record, w->x, w->v);
  } else {
    gather(job, job->states.x, s, step, w->x);
    gather(job, job->states.v, s, step, w->v);
    integrator_step(&job->integrator, s.count, w->x, w->v, record, &w->scratch);
  }
  return record;
}

/* Reverses a time step of sample i that impacts have cut, from its end to its start; the sample then takes no
 * part in the reverse of the step as if there were no contacts: the cotangents of its start go to x_bar, v_bar
 * [D], those that the shard's step sees are zero. */
static void sample_impacts_vjp(const batch_job *job, shard_range s, int i, int step, worker *w,
                               tape *t, double *u_bar, double *theta_bar, double *potential_bar,
                               double *x_bar, double *v_bar) {
  int size = job->integrator.mechanics->system->coordinate_count;
  int64_t offset = t->offset[(size_t)i * (size_t)job->options->steps + (size_t)step];
  impact_setting setting = impact_setting_of(job, s, i, step, w, t, NULL);
  if (u_bar != NULL) u_bar += control_at(job, s.first + i, step);
  vector_copy(x_bar, w->x_bar + i * size, size);
  vector_copy(v_bar, w->v_bar + i * size, size);
  memset(w->x_bar + i * size, 0, sizeof(double) * (size_t)size);
  memset(w->v_bar + i * size, 0, sizeof(double) * (size_t)size);
  impact_step_vjp(&setting, offset, &w->impacts_left[i], x_bar, v_bar, theta_bar, potential_bar,
                  u_bar);
}

/* Reverses one time step where contacts act when their gaps close: samples with impacts by themselves, the
 * others, and the steps of those with zeros in their place, together. */
static void shard_impacts_vjp(const batch_job *job, shard_range s, int step, worker *w, tape *t,
                              double *u_bar, double *theta_bar, double *potential_bar) {
  int size = job->integrator.mechanics->system->coordinate_count;
  const int64_t *offset = t->offset + step;
  size_t steps = (size_t)job->options->steps;
  arena_mark mark = arena_save(&w->scratch);
  double *x_bar = arena_doubles(&w->scratch, s.count * size);
  double *v_bar = arena_doubles(&w->scratch, s.count * size);
  step_record *record = repeat_step(job, s, step, w, u_bar);
  double start = stopwatch_read(w->watch);
  for (int i = 0; i < s.count; i++) {
    if (offset[(size_t)i * steps] >= 0)
      sample_impacts_vjp(job, s, i, step, w, t, u_bar, theta_bar, potential_bar, x_bar + i * size,
                         v_bar + i * size);
    else
      sample_vjp(job, w, i, t, -1, theta_bar);
  }
  if (w->watch != NULL) w->watch->contacts += stopwatch_read(w->watch) - start;
  integrator_step_vjp(&job->integrator, s.count, record, w->x_bar, w->v_bar, theta_bar,
                      potential_bar, NULL, &w->scratch);
  for (int i = 0; i < s.count; i++) {
    if (offset[(size_t)i * steps] < 0) continue;
    vector_copy(w->x_bar + i * size, x_bar + i * size, size);
    vector_copy(w->v_bar + i * size, v_bar + i * size, size);
  }
  arena_restore(&w->scratch, mark);
}

/* Reverses one time step; w->x_bar, w->v_bar become those of the state before it. In the forward pass
 * this was step, projection, events, so now events first: v_bar and x_bar of the state after the events
 * become those of the state after the step (sample_vjp), then those before it (integrator_step_vjp). */
static void shard_step_vjp(const batch_job *job, shard_range s, int step, worker *w, const tape *t,
                           double *u_bar, double *theta_bar, double *potential_bar) {
  step_record *record = repeat_step(job, s, step, w, u_bar);
  double start = stopwatch_read(w->watch);
  for (int i = 0; i < s.count; i++) {
    int64_t offset = t->offset[(size_t)i * (size_t)job->options->steps + (size_t)step];
    sample_vjp(job, w, i, t, offset, theta_bar);
  }
  if (w->watch != NULL) w->watch->contacts += stopwatch_read(w->watch) - start;
  integrator_step_vjp(&job->integrator, s.count, record, w->x_bar, w->v_bar, theta_bar,
                      potential_bar, NULL, &w->scratch);
}

/* Reverses shard_change, whose records a worker keeps: x <- x + dt v if it was the whole step, then the
 * change, then projection and step. */
static void shard_change_vjp(const batch_job *job, shard_range s, int step, worker *w,
                             double *theta_bar, double *potential_bar) {
  const mechanics *m = job->integrator.mechanics;
  const int size = m->system->coordinate_count;
  const double start = stopwatch_read(w->watch);
  for (int i = 0; job->change->whole_step && i < s.count * size; i++)
    w->v_bar[i] += job->options->dt * w->x_bar[i];
  job->change->apply_vjp(job->change, m, s.count, change_of(job, w, step), w->x_bar, w->v_bar,
                         theta_bar, potential_bar, &w->scratch);
  if (w->watch != NULL) w->watch->contacts += stopwatch_read(w->watch) - start;
  if (job->change->whole_step) return;
  step_record *record = repeat_step(job, s, step, w, NULL);
  for (int i = 0; i < s.count; i++) sample_vjp(job, w, i, NULL, -1, theta_bar);
  integrator_step_vjp(&job->integrator, s.count, record, w->x_bar, w->v_bar, theta_bar,
                      potential_bar, NULL, &w->scratch);
}

static void reverse(void *user) {
  const shard_work *work = user;
  const batch_job *job = work->job;
  timed_job own;
  shard_range s = work->range;
  worker *w = work->worker;
  const batch_cotangents *bars = work->bars;
  size_t size = (size_t)job->integrator.mechanics->system->coordinate_count;
  size_t at = (size_t)s.first * size, bytes = sizeof(double) * (size_t)s.count * size;
  memset(w->x_bar, 0, bytes);
  memset(w->v_bar, 0, bytes);
  for (int i = 0; i < s.count; i++) w->impacts_left[i] = impact_log_count(&work->tape->impacts, i);
  if (bars->u != NULL)
    memset(bars->u + control_at(job, s.first, 0), 0, sizeof(double) * control_at(job, s.count, 0));
  for (int step = job->options->steps; step >= 0; step--) {
    add_state_cotangent(job, bars->x, s, step, w->x_bar);
    add_state_cotangent(job, bars->v, s, step, w->v_bar);
    if (step == 0) break;
    job = job_at(work->job, s, step - 1, &own);
    if (job->change != NULL)
      shard_change_vjp(job, s, step - 1, w, work->theta_bar, work->potential_bar);
    else if (follows_impacts(job))
      shard_impacts_vjp(job, s, step - 1, w, work->tape, bars->u, work->theta_bar,
                        work->potential_bar);
    else
      shard_step_vjp(job, s, step - 1, w, work->tape, bars->u, work->theta_bar,
                     work->potential_bar);
  }
  if (bars->x0 != NULL) memcpy(bars->x0 + at, w->x_bar, bytes);
  if (bars->v0 != NULL) memcpy(bars->v0 + at, w->v_bar, bytes);
}

bool shard_vjp(const batch_job *job, shard_range s, worker *w, tape *t,
               const batch_cotangents *bars, double *theta_bar, double *potential_bar) {
  shard_work work = {.job = job,
                     .range = s,
                     .worker = w,
                     .tape = t,
                     .bars = bars,
                     .theta_bar = theta_bar,
                     .potential_bar = potential_bar};
  w->weights = bars->weights != NULL ? bars->weights + s.first : NULL;
  return guarded(reverse, &work);
}

carom_status shard_error(const shard_result *result, double dt, carom_error *error) {
  switch (result->status) {
    case CAROM_OK: return CAROM_OK;
    case CAROM_NUMERICAL_FAILURE:
      return error_set(error, CAROM_NUMERICAL_FAILURE,
                       "sample %d became non-finite at step %d (t = %g); use a smaller dt or more "
                       "substeps, or check the parameters",
                       result->bad_sample, result->bad_step, result->bad_step * dt);
    case CAROM_INTERRUPTED:
      return error_set(error, CAROM_INTERRUPTED, "stopped by the progress callback");
    default:
      return error_set(error, result->status,
                       "no memory for the contacts of a shard; free some, or use a smaller "
                       "shard_size or fewer threads");
  }
}
