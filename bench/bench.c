#include "bench/bench.h"

#include <math.h>
#include <time.h>

const bench benches[] = {
    {"events", "one contact event with 1 to 8 contacts, 2D and 3D",
     "Microseconds for one event (both cone programs) and for its reverse: a row of balls that "
     "touch each other, mean over random velocities.",
     false, bench_events},
    {"scenes", "100-step rollouts of every built-in scene",
     "Time steps per second of a plain simulation, of a run with a tape and of its reverse; "
     "reverse_ratio is the time of the reverse over the time of the run. event_ratio and "
     "event_reverse_ratio: simulation and reverse with contacts at the time of impact over those "
     "with contacts at the end of time steps.",
     false, bench_scenes},
    {"rope", "events of ropes from 50 to 3200 points, every limit active",
     "Milliseconds for one event and its reverse; growth is the ratio to the row above, where the "
     "rope has half as many points.",
     false, bench_rope},
    {"groups", "events of many separate groups of touching disks",
     "Milliseconds for one event and its reverse; growth is the ratio to the row above, with half "
     "as many groups.",
     false, bench_groups},
    {"train", "one training iteration of each task: batch 200, chunks of 5, network 3 x 256",
     "Milliseconds of one iteration (forward, reverse, update) on all threads, least over repeats: "
     "elapsed, and processor time of all threads (busy_ms, which other programs disturb less); "
     "baselines on 200 pairs of states. gflops: rate of the network's matrix products on one "
     "thread, activations in their time; gemm_share: the same over the rate of large products "
     "alone, both measured here. Shares of processor time: network, dynamics, contacts (a "
     "baseline's network), rest. reference_ratio: time of the published implementation (PyTorch, "
     "optimisation layers cached, on two cores with AVX2) over ours.",
     false, bench_training},
    {"ranks", "one training iteration of some tasks shared by the ranks that mpirun started",
     "Milliseconds, of the slowest rank: work of its shards (processor time over its threads), "
     "update "
     "by the optimiser (the same on every rank), exchange (gradient of so many numbers, losses; "
     "elapsed), their sum, and the elapsed time of an iteration; each the least over repeats. "
     "Beside "
     "other programs elapsed times tell little.",
     false, bench_ranks},
    {"learn", "seconds until a training has learned what the paper reports, task by task",
     "For each seed: seconds until every friction and restitution is as near to the truth as the "
     "paper's table 2, or 0.0005 (properties), and until the error on test chunks is at most the "
     "target, the paper's ('nearest': that of the nearest task that has one). _s: elapsed; _cpu_s: "
     "processor seconds of all threads, which other programs disturb less. Data is there when the "
     "clocks start, and they stand still while the model is judged: after the warm start and after "
     "each epoch. '-': not reached in 300 epochs, or in those that were needed.",
     true, bench_learning},
    {0}};

static double clock_seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_least_time(void (*work)(void *user), void *user, double seconds) {
  enum { LEAST_REPEATS = 3 };
  double least = INFINITY, start = clock_seconds(CLOCK_MONOTONIC);
  for (int k = 0; k < LEAST_REPEATS || clock_seconds(CLOCK_MONOTONIC) - start < seconds; k++) {
    double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    work(user);
    least = fmin(least, clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begin);
  }
  return least;
}
