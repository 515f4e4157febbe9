"""Threads, forks, memory."""
import gc
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import carom

QUICK = bool(os.environ.get("CAROM_TEST_QUICK"))


def test_two_threads_at_once(cp3):
    x0, v0 = cp3.sample(16, seed=1)
    wanted = cp3.rollout(x0, v0, steps=50)
    bar = np.ones_like(wanted.x)
    gradient = wanted.vjp(bar).theta.array
    problems = []

    def work():
        for _ in range(30):
            traj = cp3.rollout(x0, v0, steps=50)
            if not np.array_equal(traj.vjp(bar).theta.array, gradient):
                problems.append("gradient")
            # one result that both threads differentiate
            if not np.array_equal(wanted.vjp(bar).theta.array, gradient):
                problems.append("shared")
            solution = carom.cone_solve(np.eye(2), [-1.0, -2.0], [0.5])
            if not np.allclose(solution.f, [1.6, 0.8]):
                problems.append("cone")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_the_interpreter_is_free_while_the_engine_works(cp3):
    x0, v0 = cp3.sample(64)
    done = threading.Event()
    counted = [0]

    def count():
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    before = counted[0]
    try:
        cp3.rollout(x0, v0, steps=500, threads=1, gradient=False)
        during = counted[0] - before
    finally:
        done.set()
    thread.join()
    # with the lock held it would be the few that fit before and after the call
    assert during > 1000


def _child(queue, x0, v0):
    system = carom.System("cp3")
    traj = system.rollout(x0, v0, steps=50, threads=2)
    data = carom.Dataset.generate(system, train=4, validation=1, test=1)
    model = carom.Model(system, hidden_size=8, data=data)
    carom.fit(model, data, epochs=1)
    queue.put((traj.x, traj.vjp(np.ones_like(traj.x)).theta.array))


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes(cp3, way):
    x0, v0 = cp3.sample(16, seed=1)
    traj = cp3.rollout(x0, v0, steps=50, threads=2)   # the parent has used threads before
    context = multiprocessing.get_context(way)
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue, x0, v0))
    process.start()
    x, gradient = queue.get(timeout=120)
    process.join(timeout=30)
    assert process.exitcode == 0
    assert np.array_equal(x, traj.x)
    assert np.array_equal(gradient, traj.vjp(np.ones_like(traj.x)).theta.array)


# the sanitizer keeps freed memory for a while
needs_own_memory = pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="memory is not given back here")


def _memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@needs_own_memory
def test_nothing_leaks():
    cycles = 500 if QUICK else 10_000
    scene = carom.System("bd1").json

    def cycle():
        system = carom.System(scene)
        x0, v0 = system.sample(2)
        traj = system.rollout(x0, v0, steps=5)
        x = traj.x
        traj.vjp(x)
        carom.cone_solve(np.eye(2), [-1.0, -2.0], [0.5]).vjp([1.0, 1.0])
        with pytest.raises(ValueError):
            system.rollout(x0, v0[:1])

    for _ in range(200):
        cycle()
    gc.collect()
    before = _memory()
    for _ in range(cycles):
        cycle()
    gc.collect()
    # 10,000 systems and rollouts that stayed would be hundreds of megabytes
    assert _memory() - before < 8e6


@needs_own_memory
def test_no_cycles_hold_engines_alive():
    gc.disable()
    try:
        before = _memory()
        for _ in range(60):
            system = carom.System("rope50")
            system.rollout(*system.sample(8), steps=40)
            del system
        assert _memory() - before < 60e6
    finally:
        gc.enable()


@needs_own_memory
def test_models_and_data_do_not_leak(bd1):
    def cycle():
        data = carom.Dataset.generate(bd1, train=4, validation=1, test=1)
        model = carom.Model(bd1, hidden_size=64, data=data)
        carom.fit(model, data, epochs=1)
        model.predict(*bd1.sample(1), 3)

    for _ in range(10):
        cycle()
    gc.collect()
    before = _memory()
    for _ in range(20 if QUICK else 100):
        cycle()
    gc.collect()
    assert _memory() - before < 8e6


@needs_own_memory
def test_potentials_do_not_leak(bd1):
    class Well:
        parameter_count = 1

        def gradient(self, x):
            return 0.3 * x

        def gradient_vjp(self, x, g_bar):
            return 0.3 * g_bar, [(x * g_bar).sum()]

    class Broken(Well):
        def gradient(self, x):
            raise ZeroDivisionError

    x0, v0 = bd1.sample(2)

    def cycle():
        traj = bd1.rollout(x0, v0, potential=Well(), steps=3)
        traj.vjp(traj.x)
        try:
            bd1.rollout(x0, v0, potential=Broken(), steps=3)
        except ZeroDivisionError:
            pass

    gc.disable()
    try:
        for _ in range(100):
            cycle()
        gc.collect()
        before = _memory()
        for _ in range(200 if QUICK else 1500):
            cycle()
        # a rollout that stayed would be 10 kB
        assert _memory() - before < 4e6
    finally:
        gc.enable()


def test_torch_and_others_are_not_imported_by_carom():
    code = "import carom, sys; print([m for m in ('torch', 'h5py', 'matplotlib', 'pandas', 'xarray') " \
           "if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
