"""What a call of `rollout` costs beside the same run from C, in one process and one run.

    python3 python/bench/overhead.py [SCENE] [BATCH] [STEPS]

Both sides take turns; the lowest of all rounds counts. `process` is processor time, which a busy machine does
not change much, `wall` the clock.
"""
import sys
import time

import carom
from carom._engine import NULL, lib, pointer
from carom.rollout import _lease


def rounds(system, batch, steps, repeats, count):
    x0, v0 = system.sample(batch, seed=1)
    options = {"steps": steps, "threads": 1}
    system.rollout(x0, v0, **options)
    lease = _lease(system, system._rollout_options(options), batch, tuple(sorted(options.items())), 0)

    def from_c():
        lib.carom_py_run_seconds(lease.tape.c, NULL, pointer(x0), pointer(v0), repeats)

    def from_python():
        for _ in range(repeats):
            traj = system.rollout(x0, v0, **options)
            traj.x, traj.v

    found = {}
    for clock, name in ((time.process_time, "process"), (time.perf_counter, "wall")):
        best = {from_c: float("inf"), from_python: float("inf")}
        for _ in range(count):
            for side in best:
                start = clock()
                side()
                best[side] = min(best[side], (clock() - start) / repeats)
        found[name] = best[from_c], best[from_python]
    return found


def own_potential(system, batch=32, steps=5):
    """Processor time of a loss with its gradient: the scene's potential, and a network in torch."""
    import torch
    torch.set_num_threads(1)
    x0, v0 = (torch.tensor(part) for part in system.sample(batch, seed=1))
    mu = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    size = x0[0].numel()
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(size, 32), torch.nn.Softplus(),
                              torch.nn.Linear(32, 1)).double()
    best = {None: float("inf"), net: float("inf")}
    for _ in range(10):
        for potential in best:
            start = time.process_time()
            x, v = carom.torch.rollout(system, x0, v0, {"friction": mu}, potential=potential, steps=steps,
                                       threads=1)
            v.abs().mean().backward()
            best[potential] = min(best[potential], time.process_time() - start)
    return best[None], best[net]


def main():
    scene = sys.argv[1] if len(sys.argv) > 1 else "cp3"
    batch = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    system = carom.System(scene)
    for name, (c, python) in rounds(system, batch, steps, 1, 100).items():
        print(f"{scene}, {batch} x {steps} steps, {name}: C {1e3 * c:.3f} ms, Python {1e3 * python:.3f} ms, "
              f"{100 * (python / c - 1):+.2f} %")
    for name, (c, python) in rounds(system, 1, 10, 1000, 5).items():
        print(f"{scene}, 1 x 10 steps, 1000 calls, {name}: C {1e6 * c:.2f} us, Python {1e6 * python:.2f} us, "
              f"overhead {1e6 * (python - c):.2f} us a call")
    try:
        plain, network = own_potential(system)
    except ImportError:
        return
    print(f"{scene}, 32 x 5 steps, loss and gradient, process: the scene's potential {1e3 * plain:.2f} ms, "
          f"a network in torch {1e3 * network:.2f} ms")


if __name__ == "__main__":
    main()
