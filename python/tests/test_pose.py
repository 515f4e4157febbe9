"""Bodies by pose, both directions."""
import numpy as np
import pytest

import carom
from conftest import SCENES


@pytest.mark.parametrize("name", SCENES)
def test_there_and_back(name):
    system = carom.System(name)
    traj = system.rollout(*system.sample(2, seed=1), steps=5, stabilize=True)
    pose = traj.pose()
    assert pose.position.shape == (2, 6, system.body_count, system.dimension)
    x, v = system.from_pose(pose)
    # rigid bodies are rigid to rounding and drift of five steps
    assert np.allclose(x, traj.x, atol=1e-7) and np.allclose(v, traj.v, atol=1e-6)


def test_a_turning_disk(bd1):
    x, v = bd1.from_pose([[0.5, 0.5]], [3.0], [[0.0, 0.5]], [20.0])
    assert np.allclose(x[1] - x[0], [np.cos(3), np.sin(3)])
    pose = bd1.rollout(x, v, steps=20).pose()
    # the angle goes on beyond pi
    assert np.allclose(pose.angle[:, 0], 3 + 20 * bd1.dt * np.arange(21), rtol=1e-5)
    assert np.allclose(pose.angular_velocity, 20)


def test_quaternions():
    system = carom.System("gyro")
    random = np.random.default_rng(0)
    q = random.standard_normal((200, 1, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    omega = random.standard_normal((200, 1, 3))
    x, v = system.from_pose(np.zeros((200, 1, 3)), None, None, omega, quaternion=q)
    pose = system.to_pose(x, v)
    same = np.abs((pose.quaternion * q).sum(-1))
    assert np.allclose(same, 1, atol=1e-12) and np.allclose(pose.angular_velocity, omega)
    # neighbours do not change sign
    assert np.all((pose.quaternion[1:] * pose.quaternion[:-1]).sum(-1) >= 0)
    # a quarter turn about z takes the first axis to the second
    half = np.sqrt(0.5)
    x, _ = system.from_pose([[0, 0, 0]], quaternion=[[half, 0, 0, half]])
    assert np.allclose(x[1] - x[0], [0, 1, 0])


def test_bad_poses(bd1):
    gyro = carom.System("gyro")
    with pytest.raises(ValueError, match="angle is missing"):
        bd1.from_pose([[0.0, 0.0]])
    with pytest.raises(ValueError, match="position has shape"):
        bd1.from_pose([0.0, 0.0], [0.0])
    with pytest.raises(ValueError, match="velocity has shape"):
        bd1.from_pose([[0.0, 0.0]], [0.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="in 3D bodies turn by quaternion"):
        gyro.from_pose([[0, 0, 0]], [1.0])
    with pytest.raises(ValueError, match="zero"):
        gyro.from_pose([[0, 0, 0]], quaternion=[[0, 0, 0, 0]])
    with pytest.raises(ValueError, match="x has shape"):
        bd1.to_pose(np.zeros((4, 2)))
