"""Identification from Python: numbers with their intervals."""
import numpy as np
import pytest

import carom

EVENT = {"contact_time": "event"}
BALL = {"carom": 1, "name": "ball", "dimension": 2, "dt": 0.01, "steps": 100, "gravity": [0, -9],
        "bodies": [{"id": "ball", "type": "point", "mass": 1, "radius": 0.1}],
        "planes": [{"id": "ground", "normal": [0, 1], "offset": 0}],
        "contacts": {"friction": 0, "restitution": 0.5, "time": "event"},
        "initial": {"sampler": "state", "bodies": [{"body": "ball", "position": [0, 0.6]}]}}


@pytest.fixture(scope="module")
def ball():
    """A ball that falls from 0.6, and positions of it with noise, in closed form: g = 9.81, e = 0.7."""
    t, g, e = np.arange(61) * 0.01, 9.81, 0.7
    hit = np.sqrt(2 * 0.5 / g)
    after = t - hit
    height = np.where(after < 0, 0.6 - g * t ** 2 / 2, 0.1 + e * g * hit * after - g * after ** 2 / 2)
    x = np.zeros((6, 61, 1, 2))
    x[..., 0, 1] = height
    return carom.System(BALL), x + 1e-4 * np.random.default_rng(1).standard_normal(x.shape)


@pytest.fixture(scope="module")
def found(ball):
    return carom.identify(*ball, ["gravity", "restitution:start=0.4"], dt=0.01, threads=1)


def test_a_ball_in_closed_form(ball, found):
    system, x = ball
    for name, truth in (("gravity", 9.81), ("restitution", 0.7)):
        one = found[name]
        assert one.determined and not one.derived and one.low < one.value < one.high
        assert abs(one.value - truth) < 4 * one.deviation < 0.02 * truth
        assert np.isclose(one.high - one.value, 1.96 * one.deviation, rtol=0.05)
    assert found["gravity"].scene == 9 and found["restitution"].start == 0.4
    assert found.names == ["gravity", "restitution[ball|ground]"] and len(found) == len(list(found)) == 2
    assert found["restitution"] is found["restitution[ball|ground]"]
    assert found.correlation.shape == (2, 2) and np.allclose(np.diag(found.correlation), 1)
    assert found.theta["restitution"] == found["restitution"].value
    assert found.channels["position"].estimated
    assert np.isclose(found.channels["position"].noise, 1e-4, rtol=0.15)
    assert len(found.trajectories) == 6 and found.trajectories[0].deviation >= found.trajectories[-1].deviation
    # what a reader sees
    text = repr(found)
    assert "gravity" in text and f"{found['gravity'].value:.6g}" in text and "95 % interval" in text
    assert "<table>" in found._repr_html_()
    with pytest.raises(KeyError, match=r"there are gravity, restitution\[ball"):
        found["friction"]


def test_forms_of_the_result(ball, found, tmp_path):
    pandas = pytest.importorskip("pandas")
    h5py = pytest.importorskip("h5py")
    table = found.to_pandas()
    assert isinstance(table, pandas.DataFrame) and table.loc["gravity", "value"] == found["gravity"].value
    found.save(tmp_path / "fit.h5")
    with h5py.File(tmp_path / "fit.h5") as file:
        assert np.array_equal(file["value"][:], [one.value for one in found])
    # motions of the truth, which was held out
    system, _ = ball
    truth = system.rollout(*system.sample(2), {"gravity": [0, -9.81], "restitution": 0.7}, steps=60)
    errors = found.predict(truth)
    assert errors.position.shape == (2,) and (errors.position < 1e-3).all()
    # first velocities from the positions beside them
    assert (found.predict(truth.x).position < 5e-3).all()


def test_forms_of_data(tmp_path, bd1):
    traj = bd1.rollout(*bd1.sample(2, seed=1), **EVENT, steps=30)
    pose = traj.pose()
    traj.save(tmp_path / "motion.h5")
    values = [carom.identify(bd1, data, {"gravity": 8.0}, simulation=EVENT, dt=0.01,
                             threads=1)["gravity"].value
              for data in (traj, traj.x, (traj.x, traj.v), pose, tmp_path / "motion.h5")]
    assert np.allclose(values, 9.81, atol=1e-6)


def test_unequal_steps(ball):
    system, x = ball
    kept = np.sort(np.random.default_rng(2).permutation(61)[:40])
    x, t = x[:, kept], 5 + kept * 0.01
    for times in (t, np.tile(t, (6, 1))):
        found = carom.identify(system, x, ["gravity", "restitution"], times=times, threads=1)
        for name, truth in (("gravity", 9.81), ("restitution", 0.7)):
            assert abs(found[name].value - truth) < 4 * found[name].deviation < 0.02 * truth
        assert found.predict(x, times=times).position.max() < 0.02
    assert found.predict(x, dt=0.015).position.min() > 0.02
    for bad, message in ((t[::-1], "do not rise"), (t[:-1], r"times has shape \[39\]")):
        with pytest.raises(carom.DataError, match=message):
            carom.identify(system, x, "gravity", times=bad)
    with pytest.raises(carom.DataError, match="dt or times"):
        carom.identify(system, x, "gravity", times=t, dt=0.01)


def test_unknowns(bd1):
    from carom.identification import _unknown_text as text
    assert text("mass, friction:start=1") == "mass, friction:start=1"
    assert text(["mass[b]", "scale"]) == "mass[b],scale"
    assert text({"mass": None, "friction": 0.5, "gravity": {"start": 9, "low": 8, "prior": (9.8, 0.1),
                                                           "shared": True, "each": False}}) == (
        "mass,friction:start=0.5,gravity:start=9:low=8:prior=9.8/0.1:shared")


def test_what_the_data_does_not_determine_is_said(bd1):
    # a disk that touches nothing says nothing of restitution
    x, v = bd1.from_pose([[0.5, 0.5]], [0.1], [[0.0, 0.3]], [0.2])
    traj = bd1.rollout(x[None], v[None], **EVENT, steps=8)
    assert not traj.contact.any()
    with pytest.warns(carom.CaromWarning, match="restitution"):
        found = carom.identify(bd1, traj, ["gravity", "restitution"], simulation=EVENT)
    assert not found["restitution"].determined and found["gravity"].determined
    assert "not determined" in repr(found)


def test_it_can_be_stopped(bd1):
    traj = bd1.rollout(*bd1.sample(2, seed=1), **EVENT, steps=30)
    with pytest.raises(KeyboardInterrupt):
        carom.identify(bd1, traj, "gravity:start=8", simulation=EVENT, progress=lambda done, total: False)

    def fail(done, total):
        raise ZeroDivisionError("on purpose")
    with pytest.raises(ZeroDivisionError):
        carom.identify(bd1, traj, "gravity:start=8", simulation=EVENT, progress=fail)


def test_bad_input(bd1, tmp_path):
    traj = bd1.rollout(*bd1.sample(2, seed=1), steps=10)

    def fails(kind, message, *given, **options):
        with pytest.raises(kind, match=message):
            carom.identify(bd1, *given, **options)

    fails(ValueError, "gravty", traj, "gravty")
    fails(ValueError, "unknown", traj, [])
    fails(ValueError, "start", traj, {"gravity": {"begin": 3}})
    fails(TypeError, "no option 'peice'", traj, "gravity", peice=3)
    fails(ValueError, "contact_time|contact-time", traj, "gravity", simulation={"contact_time": "now"})
    fails(carom.DataError, "x has shape", traj.x[..., :1], "gravity")
    fails(carom.FileError, "", tmp_path / "none.h5", "gravity")
    fails(TypeError, "real numbers", carom.Dataset.generate(bd1, train=2, validation=1, test=1), "gravity")
