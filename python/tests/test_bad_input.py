"""Wrong shapes, types, numbers and times: an exception with a message, never a crash."""
import numpy as np
import pytest

import carom


def raises(kind, match, call, *given, **named):
    with pytest.raises(kind, match=match):
        call(*given, **named)


def test_bad_scenes(tmp_path):
    raises(carom.SceneError, "name: missing", carom.System, {"carom": 1})
    raises(carom.SceneError, "not valid JSON", carom.System, "{")
    raises(carom.FileError, "neither a scene file nor", carom.System, "cp33")
    raises(carom.FileError, "", carom.System, tmp_path)
    raises(carom.SceneError, "", carom.System, "[]")
    raises(TypeError, "not int", carom.System, 3)
    raises(TypeError, "", carom.System, {"carom": object()})
    raises(ValueError, "NUL", carom.System, "a\0b")


@pytest.mark.parametrize("shape", [(), (0,), (6,), (3, 3), (2, 2), (4, 2, 3), (1, 4, 3, 2), (0, 3, 2)])
def test_bad_shapes_of_states(cp3, shape):
    raises(ValueError, "shape|batch is 0", cp3.rollout, np.zeros(shape), np.zeros(shape), steps=2)


def test_bad_states(cp3):
    x0, v0 = cp3.sample(3)
    raises(ValueError, "v0 has shape", cp3.rollout, x0, v0[:2])
    raises(TypeError, "real numbers", cp3.rollout, x0.astype(complex), v0)
    raises(TypeError, "real numbers", cp3.rollout, x0.astype(object), v0)
    raises(TypeError, "real numbers", cp3.rollout, "here", v0)
    raises(TypeError, "real numbers", cp3.rollout, None, v0)
    raises(ValueError, "", cp3.rollout, [[[1, 2], [3]]], v0)
    for bad in (np.nan, np.inf):
        x = x0.copy()
        x[1, 2, 0] = bad
        raises((carom.DataError, ValueError), "finite", cp3.rollout, x, v0)
    raises(ValueError, "count", cp3.sample, -1)
    raises(ValueError, "seed", cp3.sample, 1, seed=-1)
    raises(TypeError, "", cp3.sample, 1.5)


def test_bad_parameters(cp3, bd1):
    x0, v0 = cp3.sample(2)
    raises(ValueError, r"theta has shape \[3\], must be \[28\]", cp3.rollout, x0, v0, [1, 2, 3])
    raises(ValueError, "belongs to bd1", cp3.rollout, x0, v0, bd1.parameters())
    raises(ValueError, "friction", cp3.rollout, x0, v0, {"friction": -1})
    raises(ValueError, "finite", cp3.rollout, x0, v0, {"gravity": np.nan})
    raises(KeyError, "no segment", cp3.rollout, x0, v0, {"frction": 1})
    raises(ValueError, "broadcast", cp3.rollout, x0, v0, {"friction": [1, 2]})


def test_bad_options(cp3):
    x0, v0 = cp3.sample(2)
    raises(TypeError, "did you mean 'steps'", cp3.rollout, x0, v0, stesp=3)
    raises(ValueError, "dt", cp3.rollout, x0, v0, dt=0)
    raises(ValueError, "steps", cp3.rollout, x0, v0, steps=-1)
    raises(ValueError, "steps", cp3.rollout, x0, v0, steps=2.5)
    raises(ValueError, "integrator", cp3.rollout, x0, v0, integrator="rk5")
    raises(TypeError, "no value of an option", cp3.rollout, x0, v0, steps=None)
    raises(MemoryError, "memory", cp3.rollout, x0, v0, steps=2 ** 31 - 2)
    raises(ValueError, "no controls", cp3.rollout, x0, v0, u=np.zeros((2, cp3.steps, 0)))


def test_bad_cotangents(cp3):
    traj = cp3.rollout(*cp3.sample(2), steps=4)
    raises(ValueError, "x_bar has shape", traj.vjp, np.zeros((2, 4, 3, 2)))
    raises(ValueError, "v_bar has shape", traj.vjp, None, 1.0)
    raises(TypeError, "real numbers", traj.vjp, np.zeros(traj.x.shape, complex))


def test_a_state_that_becomes_non_finite(cp3):
    x0, v0 = cp3.sample(1)
    raises(carom.NumericalError, "non-finite|finite", cp3.rollout, x0, v0 * 1e200, steps=50)


def test_bad_programs():
    raises(ValueError, "A has shape", carom.cone_program, np.eye(3), [1, 2], [0.5])
    raises(ValueError, "mu has shape", carom.cone_program, np.eye(2), [1, 2], [[0.5]])
    raises(ValueError, "1, 2 or 3 for each", carom.cone_program, np.eye(4), [1, 2, 3, 4], [0.5])
    raises(TypeError, "did you mean", carom.cone_program, np.eye(2), [1, 2], [0.5], tolerence=1)
    raises(ValueError, "mu|friction", carom.cone_program, np.eye(2), [1, 2], [-0.5])
    raises(ValueError, r"b\[1\] is nan", carom.cone_program, np.eye(2), [1, np.nan], [0.5])
    with pytest.warns(carom.CaromWarning, match="cone programs were not solved: unbounded"):
        carom.cone_program(np.zeros((2, 2)), [-1, 0], [0.5])
    raises(ValueError, "f_bar has shape", carom.cone_solve(np.eye(2), [1, 2], [0.5]).vjp, [1.0])


def test_bad_data(bd1, tmp_path):
    make = carom.Dataset.from_trajectories
    x = np.zeros((2, 20, 3, 2))
    raises(carom.DataError, "x has shape", make, bd1, x[..., :1])
    raises(carom.DataError, "v has shape", make, bd1, x, x[:1])
    raises(carom.DataError, "contact has shape", make, bd1, x, x, contact=np.zeros(3))
    raises(carom.DataError, "lengths has shape", make, bd1, x, x, lengths=[3])
    raises(carom.DataError, "", make, bd1, x, x)
    raises(ValueError, "dt|time step", make, bd1, x, x, dt=-1.0)
    raises(TypeError, "no option", make, bd1, x, x, chunks=5)
    raises(carom.FileError, "", carom.Dataset.read, bd1, tmp_path / "none.h5")
    (tmp_path / "bad.h5").write_bytes(b"no HDF5")
    raises((carom.FileError, carom.DataError), "bad.h5", carom.Dataset.read, bd1, tmp_path / "bad.h5")
    raises((carom.FileError, carom.DataError), "bad.h5", carom.load, tmp_path / "bad.h5")
    (tmp_path / "bad.npz").write_bytes(b"no zip")
    raises((carom.FileError, carom.DataError), "bad.npz", carom.load, tmp_path / "bad.npz")
    raises(ValueError, "must end in", carom.load, tmp_path / "bad.txt")
    raises(carom.FileError, "", carom.load_run, tmp_path)


def test_bad_models(bd1, cp3):
    raises(ValueError, "model", carom.Model, bd1, "cm-cd-cnn")
    raises(ValueError, "hidden_size", carom.Model, bd1, hidden_size=0)
    model = carom.Model(bd1, hidden_size=8)
    raises(ValueError, "x0 has shape", model.predict, np.zeros((1, 5, 2)), np.zeros((1, 5, 2)), 3)
    raises(ValueError, "steps", model.predict, *bd1.sample(1), -1)
    raises(ValueError, "x has shape", model.force, np.zeros((4, 2)))
    other = carom.Dataset.generate(cp3, train=4, validation=1, test=1)
    raises(carom.DataError, "the data is of cp3", carom.fit, model, other, epochs=1)
    data = carom.Dataset.generate(bd1, train=4, validation=1, test=1)
    raises(TypeError, "no option", carom.fit, model, data, epochs=1, rate=3)
    raises(ValueError, "split", model.evaluate, data, "all")
