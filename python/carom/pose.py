"""Rigid bodies by pose instead of Cartesian points.

The engine's state of a rigid body is its centre of mass and the tips of its axes at unit distance:
x_k = c + R e_k, v_k = v + omega x R e_k.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Tuple

import numpy as np

from ._engine import lib, numbers
from ._types import Array

if TYPE_CHECKING:
    from .system import System


class Pose(NamedTuple):
    """Bodies by pose; every array has the axes [..., body] first.

    position          [..., body, dimension] of the centre of mass
    angle             [..., body] in the plane, radians, unwrapped along time by `to_pose`
    quaternion        [..., body, 4] in space, (w, x, y, z): turns body axes into those of the world
    velocity          [..., body, dimension]
    angular_velocity  [..., body] in the plane, [..., body, 3] about axes of the world in space

    Point masses have angle 0, quaternion (1, 0, 0, 0) and angular velocity 0.
    """
    position: Array
    angle: Optional[Array] = None
    quaternion: Optional[Array] = None
    velocity: Optional[Array] = None
    angular_velocity: Optional[Array] = None


def _first_points(system: "System") -> List[Tuple[int, bool]]:
    """The first point of each body, and whether it is rigid."""
    found = []
    for k in range(system.body_count):
        body = lib.carom_system_body(system._c, k)
        found.append((body.first_point, bool(body.rigid)))
    return found


def to_pose(system: "System", x: Any, v: Any = None) -> Pose:
    """System.to_pose."""
    x = _states(system, x, "x")
    v = None if v is None else _states(system, v, "v")
    if v is not None and v.shape != x.shape:
        raise ValueError(f"v has shape {list(v.shape)}, must be that of x, {list(x.shape)}")
    bodies, d = _first_points(system), system.dimension
    lead = (*x.shape[:-2], len(bodies))
    position = np.stack([x[..., first, :] for first, _ in bodies], -2)
    velocity = None if v is None else np.stack([v[..., first, :] for first, _ in bodies], -2)
    turned = np.zeros(lead) if d == 2 else np.zeros((*lead, 4))
    rate = None if v is None else np.zeros(lead if d == 2 else (*lead, 3))
    if d == 3:
        turned[..., 0] = 1
    for k, (first, rigid) in enumerate(bodies):
        if not rigid:
            continue
        # columns are the body's axes
        axes = np.swapaxes(x[..., first + 1:first + 1 + d, :] - x[..., first:first + 1, :], -1, -2)
        if d == 2:
            angle = np.arctan2(axes[..., 1, 0] - axes[..., 0, 1], axes[..., 0, 0] + axes[..., 1, 1])
            turned[..., k] = np.unwrap(angle, axis=-1) if angle.ndim > 0 else angle
        else:
            turned[..., k, :] = _continuous(_quaternion(_rotation(axes)))
        if v is not None and rate is not None:
            speed = np.swapaxes(v[..., first + 1:first + 1 + d, :] - v[..., first:first + 1, :], -1, -2)
            # sum_k r_k x w_k, where w_k = omega x r_k and the r_k are orthonormal
            if d == 2:
                cross = axes[..., 0, :] * speed[..., 1, :] - axes[..., 1, :] * speed[..., 0, :]
                rate[..., k] = cross.sum(-1) / (axes ** 2).sum((-1, -2))
            else:
                rate[..., k, :] = np.cross(axes, speed, axis=-2).sum(-1) / 2
    if d == 2:
        return Pose(position, turned, None, velocity, rate)
    return Pose(position, None, turned, velocity, rate)


def from_pose(system: "System", pose: Pose) -> Tuple[Array, Array]:
    """System.from_pose."""
    bodies, d = _first_points(system), system.dimension
    count = len(bodies)
    position = numbers(pose.position, "position")
    if position.ndim < 2 or position.shape[-2:] != (count, d):
        raise ValueError(f"position has shape {list(position.shape)}, must be [..., {count}, {d}]")
    lead = position.shape[:-1]
    velocity = _part(pose.velocity, (*lead, d), "velocity")
    rate = _part(pose.angular_velocity, lead if d == 2 else (*lead, 3), "angular_velocity")
    turn = _turn(pose, lead, d, any(rigid for _, rigid in bodies))
    x = np.empty((*lead[:-1], *system.state_shape))
    v = np.empty_like(x)
    for k, (first, rigid) in enumerate(bodies):
        x[..., first, :] = position[..., k, :]
        v[..., first, :] = velocity[..., k, :]
        if not rigid:
            continue
        for axis in range(d):
            arm = turn[..., k, :, axis]
            x[..., first + 1 + axis, :] = position[..., k, :] + arm
            if d == 2:
                swing = rate[..., k, None] * np.stack([-arm[..., 1], arm[..., 0]], -1)
            else:
                swing = np.cross(rate[..., k, :], arm)
            v[..., first + 1 + axis, :] = velocity[..., k, :] + swing
    return x, v


def _turn(pose: Pose, lead: Tuple[Any, ...], d: int, any_rigid: bool) -> Array:
    """Rotation matrices [..., body, d, d]."""
    given, other = (pose.angle, pose.quaternion) if d == 2 else (pose.quaternion, pose.angle)
    word = "angle" if d == 2 else "quaternion"
    if other is not None:
        raise ValueError(f"in {d}D bodies turn by {word}")
    if given is None and any_rigid:
        raise ValueError(f"{word} is missing: the system has rigid bodies")
    if d == 2:
        angle = _part(given, lead, word)
        c, s = np.cos(angle), np.sin(angle)
        return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
    quaternion = _part(given, (*lead, 4), word)
    if given is None:
        quaternion[..., 0] = 1
    length = np.linalg.norm(quaternion, axis=-1, keepdims=True)
    if not np.all(length > 0):
        raise ValueError("a quaternion is zero")
    w, x, y, z = np.moveaxis(quaternion / length, -1, 0)
    return np.stack([
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)], -2)


def _rotation(axes: Array) -> Array:
    """The nearest rotations to [..., 3, 3]."""
    u, _, w = np.linalg.svd(axes)
    flip = np.ones(u.shape[:-1])
    flip[..., -1] = np.sign(np.linalg.det(u @ w))
    return (u * flip[..., None, :]) @ w


def _quaternion(r: Array) -> Array:
    """Unit quaternions of rotations [..., 3, 3]: the eigenvector whose component is largest is taken."""
    m = [[r[..., i, j] for j in range(3)] for i in range(3)]
    trace = m[0][0] + m[1][1] + m[2][2]
    # 4 q q^T; its row of the largest diagonal entry is a multiple of q
    rows = np.stack([
        np.stack([1 + trace, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]], -1),
        np.stack([m[2][1] - m[1][2], 1 + 2 * m[0][0] - trace, m[1][0] + m[0][1], m[0][2] + m[2][0]], -1),
        np.stack([m[0][2] - m[2][0], m[1][0] + m[0][1], 1 + 2 * m[1][1] - trace, m[2][1] + m[1][2]], -1),
        np.stack([m[1][0] - m[0][1], m[0][2] + m[2][0], m[2][1] + m[1][2], 1 + 2 * m[2][2] - trace], -1),
    ], -2)
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), -1)
    q = np.take_along_axis(rows, largest[..., None, None], -2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0, -q, q)


def _continuous(q: Array) -> Array:
    """Signs of quaternions along the last axis before theirs, so that they do not jump."""
    if q.ndim < 2:
        return q
    turns = np.sign((q[..., 1:, :] * q[..., :-1, :]).sum(-1))
    turns[turns == 0] = 1
    sign = np.concatenate([np.ones_like(turns[..., :1]), np.cumprod(turns, -1)], -1)
    return q * sign[..., None]


def _states(system: "System", values: Any, name: str) -> Array:
    array = numbers(values, name)
    if array.ndim < 2 or array.shape[-2:] != system.state_shape:
        raise ValueError(f"{name} has shape {list(array.shape)}, must be "
                         f"[..., {system.point_count}, {system.dimension}]")
    return array


def _part(values: Any, shape: Tuple[Any, ...], name: str) -> Array:
    if values is None:
        return np.zeros(shape)
    array = numbers(values, name)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {list(array.shape)}, must be {list(shape)}")
    return array
