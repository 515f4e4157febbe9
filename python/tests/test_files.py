"""Trajectories in files and tables, there and back."""
import pickle

import numpy as np
import pytest

import carom


@pytest.fixture
def traj(bd1):
    return bd1.rollout(*bd1.sample(3, seed=1), steps=20)


@pytest.mark.parametrize("ending", ["npz", "h5"])
@pytest.mark.parametrize("pose", [False, True])
def test_files(traj, tmp_path, ending, pose):
    if pose and ending == "h5":
        pytest.importorskip("h5py")
    path = tmp_path / f"motion.{ending}"
    traj.save(path, pose=pose)
    again = carom.load(path)
    assert np.array_equal(again.x, traj.x) and np.array_equal(again.v, traj.v)
    assert np.array_equal(again.contact, traj.contact) and again.dt == traj.dt
    assert again.system.json == traj.system.json
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_files_by_pose_alone(traj, tmp_path):
    h5py = pytest.importorskip("h5py")
    pose = traj.pose()
    with h5py.File(tmp_path / "mine.h5", "w") as file:
        file["position"], file["angle"] = pose.position, pose.angle
        file["velocity"], file["angular_velocity"] = pose.velocity, pose.angular_velocity
        file["t"] = traj.t
    again = carom.load(tmp_path / "mine.h5", traj.system)
    assert np.allclose(again.x, traj.x, atol=1e-9) and np.isclose(again.dt, traj.dt)
    np.savez(tmp_path / "mine.npz", position=pose.position, angle=pose.angle, dt=traj.dt)
    again = carom.load(tmp_path / "mine.npz", traj.system)
    assert again.v is None and np.allclose(again.x, traj.x, atol=1e-9)
    with pytest.raises(carom.DataError, match="of which system"):
        carom.load(tmp_path / "mine.npz")


def test_h5py_reads_what_the_engine_wrote(traj, tmp_path):
    h5py = pytest.importorskip("h5py")
    traj.save(tmp_path / "motion.h5")
    with h5py.File(tmp_path / "motion.h5") as file:
        assert np.array_equal(file["x"][...], traj.x) and file.attrs["dt"] == traj.dt


def test_pandas(traj):
    pytest.importorskip("pandas")
    table = traj.to_pandas()
    assert len(table) == 3 * 21 and list(table.columns)[:4] == ["t", "x", "y", "angle"]
    again = carom.from_pandas(traj.system, table.sample(frac=1, random_state=1))
    assert np.allclose(again.x, traj.x, atol=1e-9) and np.allclose(again.v, traj.v, atol=1e-8)
    assert np.isclose(again.dt, traj.dt) and np.array_equal(again.contact, traj.contact)
    assert carom.from_pandas(traj.system, table[["x", "y", "angle"]]).v is None
    with pytest.raises(carom.DataError, match="rows"):
        carom.from_pandas(traj.system, table[:-1])


def test_pandas_in_space():
    pytest.importorskip("pandas")
    gyro = carom.System("gyro")
    traj = gyro.rollout(*gyro.sample(2, seed=1), steps=5, stabilize=True)
    again = carom.from_pandas(gyro, traj.to_pandas())
    assert np.allclose(again.x, traj.x, atol=1e-7)


def test_xarray(traj):
    pytest.importorskip("xarray")
    data = traj.to_xarray()
    assert data["angle"].dims == ("trajectory", "time", "body")
    again = carom.from_xarray(data)
    assert np.array_equal(again.x, traj.x) and np.array_equal(again.v, traj.v)
    only = data[["position", "angle"]]
    assert np.allclose(carom.from_xarray(only).x, traj.x, atol=1e-9)


def test_pickle(traj):
    again = pickle.loads(pickle.dumps(traj))
    assert np.array_equal(again.x, traj.x) and again.report == traj.report


def test_the_program_reads_it(traj, tmp_path):
    traj.save(tmp_path / "motion.h5")
    data = carom.Dataset.read(traj.system, tmp_path / "motion.h5", train=4, validation=1, test=1)
    assert data.train.x.shape[1] == 5


def test_pages(traj, tmp_path):
    text = carom.view(traj)
    assert "carom-document" in text and len(text) > 100_000
    carom.view(traj, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == text
    frame = traj._repr_html_()
    assert frame.startswith("<iframe") and 'sandbox="allow-scripts"' in frame
    bare = carom.Trajectory(traj.system, traj.x, None, dt=traj.dt)
    assert "svg" in bare._repr_html_() or "iframe" in bare._repr_html_()
    with pytest.raises((carom.FileError, carom.DataError)):
        carom.view(tmp_path / "none.h5")
