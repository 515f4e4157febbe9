"""Data sets, models, training, runs."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import carom

SMALL = {"hidden_layers": 1, "hidden_size": 16, "seed": 1}


@pytest.fixture(scope="module")
def data(bd1):
    return carom.Dataset.generate(bd1, train=32, validation=8, test=8, seed=1)


def test_data_from_arrays(bd1):
    traj = bd1.rollout(*bd1.sample(12, seed=3), steps=60)
    given = carom.Dataset.from_trajectories(bd1, traj.x, traj.v, dt=bd1.dt, train=20, validation=4,
                                            test=4)
    assert given.train.x.shape == (20, 5, 3, 2)
    assert {f.kind for f in given.findings} and repr(given).startswith("Dataset of bd1: 20 train")
    # every chunk is a piece of a trajectory
    first = given.train.x[0, 0]
    assert np.any(np.all(traj.x == first, axis=(-1, -2)))
    pose = traj.pose()
    same = carom.Dataset.from_poses(bd1, pose.position, pose.angle, pose.velocity,
                                    pose.angular_velocity, dt=bd1.dt, train=20, validation=4, test=4)
    assert np.allclose(same.train.x, given.train.x, atol=1e-9)


def test_data_there_and_back(data, bd1, tmp_path):
    data.write(tmp_path / "data.h5")
    again = carom.Dataset.read(bd1, tmp_path / "data.h5")
    assert np.array_equal(again.train.x, data.train.x) and np.array_equal(again.test.v, data.test.v)
    x = data.train.x
    del data, again
    assert np.isfinite(x).all()


def test_doubtful_data_is_warned_of(bd1):
    traj = bd1.rollout(*bd1.sample(12, seed=3), steps=60)
    with pytest.warns(carom.CaromWarning):
        carom.Dataset.from_trajectories(bd1, traj.x, traj.v, dt=bd1.dt * 3, train=20, validation=4,
                                        test=4)


def test_the_gradient_of_a_loss(data, bd1):
    model = carom.Model(bd1, data=data, single_precision=False, **SMALL)
    loss, gradient = model.loss(data.train)
    random = np.random.default_rng(0)
    direction = random.standard_normal(gradient.shape)
    start, h, values = model.vector.copy(), 1e-7, []
    for s in (-h, h):
        model.vector[:] = start + s * direction
        values.append(model.loss(data.train)[0])
    assert loss > 0 and np.isclose((values[1] - values[0]) / (2 * h), gradient @ direction, rtol=1e-3)


def test_fit_learns(data, bd1):
    model, seen = carom.Model(bd1, **SMALL), []
    history = carom.fit(model, data, epochs=40, batch=16, callback=seen.append)
    assert len(history) == len(seen) == 40 and seen[-1].epoch == 40
    assert history["loss"][-1] < 0.7 * history["loss"][0]
    assert np.isclose(history["friction"][-1], model.properties()["friction"])
    assert not history.stopped and model.options["length_scale"] > 0
    out = model.predict(data.test.x[:, 0], data.test.v[:, 0], 4)
    assert out.x.shape == data.test.x.shape
    evaluation = model.evaluate(data, steps=5)
    assert np.isclose(evaluation.error, evaluation["chunk"]["relative_error"]["mean"])
    assert evaluation.x.shape[1] == 6 and evaluation.chunk_x.shape == data.test.x.shape
    # the force is minus the gradient of the potential
    x, h = data.test.x[0, 0], 1e-4
    model = carom.Model(bd1, data=data, single_precision=False, **SMALL)
    plus, minus = x.copy(), x.copy()
    plus[0, 1] += h
    minus[0, 1] -= h
    slope = (model.potential(plus) - model.potential(minus)) / (2 * h)
    assert np.isclose(-slope, model.force(x)[0, 1], rtol=1e-5)


def test_a_callback_stops_and_training_goes_on(data, bd1):
    model = carom.Model(bd1, **SMALL)
    history = carom.fit(model, data, epochs=9, batch=16, callback=lambda epoch: epoch.epoch < 3)
    assert len(history) == 3 and history.stopped
    whole, parts = carom.Model(bd1, **SMALL), carom.Model(bd1, **SMALL)
    carom.fit(whole, data, epochs=6, batch=16)
    trainer = carom.Trainer(parts, data, epochs=6, batch=16)
    assert trainer.run(lambda epoch: epoch.epoch < 2) is False
    assert trainer.epochs_done == 2 and trainer.run()
    assert np.array_equal(parts.vector, whole.vector)


def test_an_exception_of_a_callback_comes_through(data, bd1):
    def fail(epoch):
        raise ZeroDivisionError("mine")

    model = carom.Model(bd1, **SMALL)
    with pytest.raises(ZeroDivisionError, match="mine"):
        carom.fit(model, data, epochs=3, callback=fail)
    assert np.isfinite(model.vector).all()


def test_ctrl_c_stops_cleanly(data, bd1, tmp_path):
    model = carom.Model(bd1, **SMALL)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        carom.fit(model, data, epochs=100_000, batch=4, folder=tmp_path / "run")
    timer.join()
    # what was learned is there, in memory and in the folder, and can be gone on with
    run = carom.load_run(tmp_path / "run", "last")
    assert np.array_equal(run.model.vector, model.vector)
    assert len(run.metrics["epoch"]) > 0


def test_ctrl_c_stops_a_simulation(cp3):
    x0, v0 = cp3.sample(64)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            cp3.rollout(x0, v0, steps=20_000, gradient=False)
    timer.join()
    assert np.isfinite(cp3.rollout(x0, v0, steps=3).x).all()


def test_run_folders(data, bd1, tmp_path):
    folder = tmp_path / "run"
    model = carom.Model(bd1, **SMALL)
    history = carom.fit(model, data, epochs=4, batch=16, folder=folder)
    warm = history.warm_start
    # sixteen units do not explain gravity well enough for it to be kept
    assert warm.done and not warm.kept and warm.loss_after < warm.loss_before and warm.pairs > 0
    assert carom.fit(carom.Model(bd1, **SMALL), data, epochs=1, batch=16, warm_start=False).warm_start is None
    assert {"config.json", "data.h5", "best.h5", "last.h5", "metrics.csv"} <= set(os.listdir(folder))
    run = carom.load_run(folder, "last")
    assert run.config["train"]["epochs"] == 4 and run.system.name == "bd1"
    assert list(run.metrics["epoch"]) == [1, 2, 3, 4] and "friction" in run.metrics
    assert np.array_equal(run.model.vector, model.vector)
    assert run.predict(*bd1.sample(2), 5).x.shape == (2, 6, 3, 2)
    assert np.isclose(run.evaluate(steps=5).error, model.evaluate(data, steps=5).error)
    assert "friction" in run._repr_html_()
    with pytest.raises(FileExistsError, match="holds a run already"):
        carom.fit(model, data, epochs=4, folder=folder)
    # going on gives the bits of never having stopped
    stopped = tmp_path / "stopped"
    carom.fit(carom.Model(bd1, **SMALL), data, epochs=4, batch=16, folder=stopped,
              callback=lambda epoch: epoch.epoch < 2)
    again = carom.Model(bd1, **SMALL)
    carom.fit(again, data, epochs=4, batch=16, folder=stopped, resume=True)
    assert np.array_equal(again.vector, model.vector)
    assert list(carom.load_run(stopped).metrics["epoch"]) == [1, 2, 3, 4]


def test_models_there_and_back(data, bd1, tmp_path):
    model = carom.Model(bd1, "cmr-cd-chnn", data=data, **SMALL)
    model.save(tmp_path / "model.h5")
    again = carom.Model.load(bd1, tmp_path / "model.h5")
    assert again.name == "cmr-cd-chnn" and np.array_equal(again.vector, model.vector)
    assert set(again.arrays) == set(model.arrays) >= {"mass", "friction", "weight0"}


def test_a_bar_shows_progress(data, bd1, capsys):
    pytest.importorskip("tqdm")
    model = carom.Model(bd1, hidden_size=8, data=data)
    carom.fit(model, data, epochs=2, progress=True)
    assert "2/2" in capsys.readouterr().err
    carom.fit(model, data, epochs=2)  # nobody looks
    assert capsys.readouterr().err == ""


def test_what_an_evaluation_shows(data, bd1):
    found = carom.Model(bd1, hidden_size=8, data=data).evaluate(data, steps=5)
    assert f"along the chunks: {found.error:.3g}" in repr(found) and len(repr(found)) < 1000
