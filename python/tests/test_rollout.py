"""Rollouts and their derivatives."""
import gc

import numpy as np
import pytest

import carom
from conftest import SCENES

# big scenes with few steps
STEPS = {"rope": 12, "rope50": 4, "rope100": 3, "rope200": 2}


def setting(name, batch=2, **options):
    system = carom.System(name)
    x0, v0 = system.sample(batch, seed=7)
    if name == "billiards":
        x0 = 1.1 * x0  # the rack's balls touch exactly: derivatives to one side only
    return system, x0, v0, {"steps": STEPS.get(name, 30), **options}


def touching(name, batch=2):
    """A state shortly before a contact: the last one before the first event of a longer motion."""
    system, x0, v0, _ = setting(name, 8)
    if name == "billiards":
        # the cue ball shortly before it hits the first one, off its middle
        x0, v0 = x0[:batch], v0[:batch]
        x0[:, 0] = x0[:, 1] - [0.0611, 0.004]
        v0[:, 0, 0] += 0.05 * np.arange(batch)
        return system, x0, v0
    traj = system.rollout(x0, v0, steps=300)
    assert traj.contact.any(), name
    rows = [k for k in range(8) if traj.contact[k, 1:].any()][:batch]
    first = [max(int(np.argmax(traj.contact[k])) - 2, 0) for k in rows]
    return system, traj.x[rows, first].copy(), traj.v[rows, first].copy()


def directional(system, x0, v0, options, seed=0, h=1e-6, u=None):
    """One derivative along a random direction of everything, by the engine and by differences."""
    random = np.random.default_rng(seed)
    theta = system.parameters().array
    dx, dv, dt = (random.standard_normal(a.shape) for a in (x0, v0, theta))
    bounded = system.parameters()
    # inside of the bounds: a restitution of 0 or 1, a friction of 0 have one side only
    for segment, end in (("friction", 0.1), ("restitution", 0.5)):
        bounded[segment] = end
    theta = bounded.array
    du = None if u is None else random.standard_normal(u.shape)

    def run(s):
        return system.rollout(x0 + s * dx, v0 + s * dv, theta + s * dt,
                              None if u is None else u + s * du, **options)

    base = run(0)
    x_bar, v_bar = random.standard_normal(base.x.shape), random.standard_normal(base.x.shape)
    grads = base.vjp(x_bar, v_bar)
    exact = (grads.x0 * dx).sum() + (grads.v0 * dv).sum() + (grads.theta.array * dt).sum()
    if u is not None:
        exact += (grads.u * du).sum()
    values = [(x_bar * t.x).sum() + (v_bar * t.v).sum() for t in map(run, (-2 * h, -h, h, 2 * h))]
    numeric = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    return exact, numeric, base


@pytest.mark.parametrize("name", SCENES)
def test_derivative_of_every_scene(name):
    system, x0, v0, options = setting(name)
    exact, numeric, _ = directional(system, x0, v0, options)
    assert np.isclose(exact, numeric, rtol=2e-5), (exact, numeric)


@pytest.mark.parametrize("name", ["bd1", "bp5", "cp3", "gyro"])
def test_derivative_through_contacts(name):
    system, x0, v0 = touching(name)
    exact, numeric, base = directional(system, x0, v0, {"steps": 6})
    assert base.report.events > 0
    assert np.isclose(exact, numeric, rtol=1e-4), (exact, numeric)


def test_derivative_at_the_time_of_impact():
    system, x0, v0 = touching("bd1")
    options = {"steps": 6, "contact_time": "event", "keep_impacts": True}
    exact, numeric, base = directional(system, x0, v0, options)
    assert base.report.impacts > 0
    assert np.isclose(exact, numeric, rtol=1e-4), (exact, numeric)


def test_impacts_are_results_and_have_a_derivative():
    # a disk falls: t = (v + sqrt(v^2 + 2 g h)) / g
    system = carom.System({
        "carom": 1, "name": "fall", "dimension": 2, "dt": 0.01, "steps": 60, "gravity": [0, -9.81],
        "bodies": [{"id": "ball", "type": "point", "mass": 1, "radius": 0.1}],
        "planes": [{"id": "ground", "normal": [0, 1], "offset": 0}],
        "contacts": {"friction": 0, "restitution": 0.5},
        "initial": {"sampler": "box", "low": [0, 1], "high": [1, 2], "speed": 1}})
    x0, v0 = np.array([[0.0, 1.1]]), np.array([[0.3, 0.2]])
    traj = system.rollout(x0, v0, contact_time="event", keep_impacts=True)
    first = traj.impacts(0)[0]
    root = np.sqrt(0.2 ** 2 + 2 * 9.81 * 1.0)
    assert np.isclose(first.time, (0.2 + root) / 9.81, rtol=1e-9)
    assert np.isclose(first.v_after[0, 1], 0.5 * root) and np.isclose(first.v_before[0, 1], -root)
    grads = traj.vjp(impacts={(0, 0): {"time": 1.0}})
    assert np.isclose(grads.v0[0, 1], (1 + 0.2 / root) / 9.81, rtol=1e-7)
    assert np.isclose(grads.x0[0, 1], 1 / root, rtol=1e-7)
    # cotangents of impacts do not stay behind
    assert not np.any(traj.vjp().v0)
    with pytest.raises(IndexError, match="no impact 9 of sample 0"):
        traj.vjp(impacts={(0, 9): {"time": 1.0}})
    with pytest.raises(KeyError, match="no 'speed'"):
        traj.vjp(impacts={(0, 0): {"speed": 1.0}})
    with pytest.raises(carom.StateError, match="keep_impacts"):
        system.rollout(x0, v0).impacts()


def test_each_result_owns_its_tape(cp3):
    x0, v0 = cp3.sample(4, seed=1)
    alone = cp3.rollout(x0, v0, steps=40)
    bar = np.ones_like(alone.x)
    wanted = alone.vjp(bar).theta.array
    first = cp3.rollout(x0, v0, steps=40)
    second = cp3.rollout(x0 * 0.5, v0 * 0.5, steps=40)
    other = second.vjp(bar).theta.array
    assert np.array_equal(first.vjp(bar).theta.array, wanted) and not np.array_equal(other, wanted)
    # and its arrays, also when the trajectory itself is gone
    x = cp3.rollout(x0, v0, steps=40).x
    kept = x.copy()
    for k in range(20):
        cp3.rollout(x0 + 1e-3 * k, v0, steps=40)
    assert np.array_equal(x, kept)


def test_a_tape_that_nobody_needs_is_used_again(cp3):
    x0, v0 = cp3.sample(4)
    first = cp3.rollout(x0, v0, steps=7)
    address = first.x.ctypes.data
    del first
    assert cp3.rollout(x0, v0, steps=7).x.ctypes.data == address


def test_without_a_tape(cp3):
    x0, v0 = cp3.sample(4, seed=1)
    taped = cp3.rollout(x0, v0, steps=30)
    plain = cp3.rollout(x0, v0, steps=30, gradient=False)
    for one in (plain, taped.detach()):
        assert np.array_equal(one.x, taped.x) and np.array_equal(one.contact, taped.contact)
        assert one.report == taped.report
        with pytest.raises(carom.StateError, match="no tape"):
            one.vjp(one.x)


def test_a_single_state_has_no_batch_axis(cp3):
    x0, v0 = cp3.sample(1, seed=2)
    one, many = cp3.rollout(x0[0], v0[0], steps=9), cp3.rollout(x0, v0, steps=9)
    assert one.x.shape == (10, 3, 2) and one.contact.shape == (10,) and one.batch == 1
    assert np.array_equal(one.x, many.x[0])
    grads = one.vjp(np.ones_like(one.x))
    assert np.array_equal(grads.x0, many.vjp(np.ones_like(many.x)).x0[0])


def test_results_outlive_what_made_them():
    made = carom.System(carom.System("bd1").json)
    x0, v0 = made.sample(2)
    traj = made.rollout(x0, v0, steps=20)
    wanted = traj.x.copy(), traj.vjp(traj.x).x0
    x, again = traj.x, made.rollout(x0, v0, steps=20)
    del made, traj
    gc.collect()
    # memory that was free would be taken here
    other = [carom.System("bd1").rollout(x0, v0 + k, steps=20) for k in range(8)]
    assert np.array_equal(x, wanted[0]) and np.array_equal(again.vjp(again.x).x0, wanted[1])
    assert len(other) == 8
    theta = carom.System("cp3").parameters()
    gc.collect()
    theta.check()


def test_results_are_not_to_be_written(cp3):
    traj = cp3.rollout(*cp3.sample(1), steps=3)
    for array in (traj.x, traj.v, traj.contact):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_arrays_of_any_layout(cp3):
    x0, v0 = cp3.sample(6, seed=4)
    wanted = cp3.rollout(x0, v0, steps=5).x
    assert np.array_equal(cp3.rollout(np.asfortranarray(x0), v0, steps=5).x, wanted)
    assert np.array_equal(cp3.rollout(np.repeat(x0, 2, 0)[::2], v0, steps=5).x, wanted)
    assert np.array_equal(cp3.rollout(x0.astype(">f8"), v0.tolist(), steps=5).x, wanted)
    assert np.allclose(cp3.rollout(x0.astype(np.float32), v0, steps=5).x, wanted, atol=1e-4)
    x0.flags.writeable = False
    assert np.array_equal(cp3.rollout(x0, v0, steps=5).x, wanted)


def test_theta_in_every_form(cp3):
    x0, v0 = cp3.sample(4, seed=1)
    theta = cp3.parameters({"friction": 0.1})
    wanted = cp3.rollout(x0, v0, theta, steps=60).x
    assert not np.array_equal(wanted, cp3.rollout(x0, v0, steps=60).x)
    for form in (theta.array, list(theta.array), {"friction": 0.1}, {"friction": [0.1] * 3}):
        assert np.array_equal(cp3.rollout(x0, v0, form, steps=60).x, wanted)


def test_trouble_is_warned_of(bd1):
    x0, v0 = bd1.sample(4, seed=1)
    with pytest.warns(carom.CaromWarning, match="contact problems were not solved"):
        bd1.rollout(x0, v0, steps=100, cone_smoothing=1e-3, cone_max_iterations=1)


def test_same_bits_from_any_threads(cp3):
    x0, v0 = cp3.sample(32, seed=1)
    motions = [cp3.rollout(x0, v0, steps=50, threads=threads).x for threads in (1, 2, 3)]
    assert all(np.array_equal(motion, motions[0]) for motion in motions)
