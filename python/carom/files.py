"""Trajectories in files and in the tables of other packages."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Optional

import numpy as np

from ._engine import NULL, check, copied, error, ffi, file_lock, lib, path_bytes, pointer
from ._types import Array
from .errors import DataError, FileError
from .rollout import Trajectory
from .system import System

_pose_names = ("position", "angle", "quaternion", "velocity", "angular_velocity")


def save(path: Any, trajectory: Trajectory, *, pose: bool = False) -> None:
    """Writes a trajectory to .h5 or .npz; `pose` adds the poses of bodies (.h5 then needs h5py)."""
    name = os.fspath(path)
    if str(name).endswith(".npz"):
        _write_npz(name, _arrays(trajectory, pose))
    elif str(name).endswith((".h5", ".hdf5")):
        if pose:
            _write_h5py(name, _arrays(trajectory, pose))
        else:
            _write_hdf5(name, trajectory)
    else:
        raise ValueError(f"{name}: the name must end in .h5 or .npz")


def load(path: Any, system: Optional[System] = None) -> Trajectory:
    """Reads a trajectory from .npz or .h5, by points (x, v) or by pose (position, angle or quaternion,
    velocity, angular_velocity). `system` is that of the file unless it is given.

    >>> system = carom.System("bd1")
    >>> traj = system.rollout(*system.sample(2), steps=5)
    >>> name = os.path.join(tempfile.mkdtemp(), "motion.npz")
    >>> traj.save(name, pose=True)
    >>> bool((carom.load(name).x == traj.x).all())
    True
    """
    name = os.fspath(path)
    if not str(name).endswith((".h5", ".hdf5", ".npz")):
        raise ValueError(f"{name}: the name must end in .h5 or .npz")
    found = _read_npz(name) if str(name).endswith(".npz") else _read_hdf5(name)
    if system is None:
        if "scene" not in found:
            raise DataError(f"{name}: does not say of which system it is; give one")
        system = System(str(found["scene"]))
    x, v = _states_of(system, found, name)
    dt = float(found["dt"]) if found.get("dt") else _dt_of_times(found, system)
    contact = found.get("contact")
    # a batch axis is there unless it was saved without
    return Trajectory(system, x, v, dt=dt, contact=None if contact is None else np.asarray(contact) != 0,
                      u=found.get("u"), batched=x.ndim == 4)


def _dt_of_times(found: Dict[str, Any], system: System) -> float:
    t = found.get("t")
    return float(np.mean(np.diff(t))) if t is not None and len(t) > 1 else system.dt


def _states_of(system: System, found: Dict[str, Any], name: Any) -> Any:
    if "x" in found:
        x, v = found["x"], found.get("v")
    elif "position" in found:
        x, v = system.from_pose(found["position"], found.get("angle"), found.get("velocity"),
                                found.get("angular_velocity"), quaternion=found.get("quaternion"))
        v = v if "velocity" in found else None
    else:
        raise DataError(f"{name}: has neither x nor position")
    x = np.asarray(x, float)
    if x.ndim not in (3, 4) or x.shape[-2:] != system.state_shape:
        raise DataError(f"{name}: x has shape {list(x.shape)}, must be [batch, states, "
                        f"{system.point_count}, {system.dimension}]")
    return x, None if v is None else np.asarray(v, float)


def _arrays(trajectory: Trajectory, pose: bool) -> Dict[str, Any]:
    found: Dict[str, Any] = {"x": trajectory.x, "t": trajectory.t, "dt": trajectory.dt,
                             "scene": trajectory.system.json}
    for name in ("v", "contact", "u"):
        if getattr(trajectory, name) is not None:
            found[name] = getattr(trajectory, name)
    if pose:
        given = trajectory.pose()
        found.update({name: getattr(given, name) for name in _pose_names
                      if getattr(given, name) is not None})
    return found


def _write_npz(path: Any, arrays: Dict[str, Any]) -> None:
    """Whole or not at all, as all of carom's files."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, part = tempfile.mkstemp(suffix=".npz", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read_npz(path: Any) -> Dict[str, Any]:
    import zipfile
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        kind = FileError if isinstance(problem, OSError) else DataError
        raise kind(f"{path}: cannot be read: {problem}") from problem


def _write_h5py(path: Any, arrays: Dict[str, Any]) -> None:
    import h5py
    part = f"{path}.tmp-{os.getpid()}"
    try:
        with h5py.File(part, "w") as file:
            for name, value in arrays.items():
                if name in ("dt", "scene"):
                    file.attrs[name] = value
                else:
                    file[name] = value.astype(np.uint8) if name == "contact" else value
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def _write_hdf5(path: Any, trajectory: Trajectory) -> None:
    system = trajectory.system
    shape = (trajectory.batch, trajectory.steps + 1)
    given = ffi.new("carom_trajectories *")
    given.batch, given.state_count = shape
    given.point_count, given.dimension = system.state_shape
    given.dt, given.dt_from = trajectory.dt, lib.CAROM_DT_OF_ATTRIBUTE
    x = np.ascontiguousarray(trajectory.x)
    v = None if trajectory.v is None else np.ascontiguousarray(trajectory.v)
    u = None if trajectory.u is None else np.ascontiguousarray(trajectory.u)
    held = [pointer(x), pointer(v), pointer(u)]
    given.x, given.v, given.u = held
    if trajectory.contact is not None:
        contact = np.ascontiguousarray(trajectory.contact, np.uint8)
        held.append(ffi.from_buffer("uint8_t[]", contact))
        given.contact = held[-1]
    with file_lock():
        check(lib.carom_trajectories_write(given, system._c, path_bytes(path), error()))


def _read_hdf5(path: Any) -> Dict[str, Any]:
    """Every array of a file by its name; no h5py needed."""
    arrays = ffi.new("carom_arrays *")
    with file_lock():
        check(lib.carom_arrays_read(path_bytes(path), arrays, error()))
    found: Dict[str, Any] = {}
    for k in range(arrays.count):
        item = arrays.items[k]
        shape = tuple(item.shape[i] for i in range(item.rank))
        found[ffi.string(item.name).decode()] = copied(item.values, shape)
    if arrays.scene != NULL:
        found["scene"] = ffi.string(arrays.scene).decode()
    if arrays.dt > 0:
        found["dt"] = arrays.dt
    lib.carom_arrays_free(arrays)
    return found


# ---- tables of other packages --------------------------------------------------------------------

_axes = "xyz"


def to_pandas(trajectory: Trajectory) -> Any:
    """Trajectory.to_pandas: a row for each trajectory, state and body, with its pose."""
    import pandas
    system, pose = trajectory.system, trajectory.pose()
    batch, states, bodies = trajectory.batch, trajectory.steps + 1, system.body_count
    index = pandas.MultiIndex.from_product(
        [range(batch), range(states), system.bodies], names=["trajectory", "state", "body"])
    columns: Dict[str, Any] = {"t": np.tile(np.repeat(trajectory.t, bodies), batch)}
    columns.update(_columns("", pose.position, system.dimension))
    if pose.angle is not None:
        columns["angle"] = pose.angle.reshape(-1)
    if pose.quaternion is not None:
        columns.update(zip(("qw", "qx", "qy", "qz"), pose.quaternion.reshape(-1, 4).T))
    if pose.velocity is not None and pose.angular_velocity is not None:
        columns.update(_columns("v", pose.velocity, system.dimension))
        rate = pose.angular_velocity
        columns.update({"omega": rate.reshape(-1)} if system.dimension == 2 else
                       _columns("omega_", rate, 3))
    if trajectory.contact is not None:
        columns["contact"] = np.repeat(trajectory.contact.reshape(-1), bodies)
    return pandas.DataFrame(columns, index=index)


def _columns(prefix: str, values: Array, dimension: int) -> Dict[str, Array]:
    return {prefix + _axes[k]: values[..., k].reshape(-1) for k in range(dimension)}


def from_pandas(system: System, table: Any, dt: Optional[float] = None) -> Trajectory:
    """A trajectory from a table as `Trajectory.to_pandas` makes it; velocities may be missing."""
    d, bodies = system.dimension, system.bodies
    batch = table.index.get_level_values("trajectory").nunique()
    states = table.index.get_level_values("state").nunique()
    if len(table) != batch * states * len(bodies):
        raise DataError(f"the table has {len(table)} rows, must have {batch} x {states} x {len(bodies)}: "
                        "one for each trajectory, state and body")
    wanted = [(i, k, body) for i in sorted(table.index.get_level_values("trajectory").unique())
              for k in sorted(table.index.get_level_values("state").unique()) for body in bodies]
    table = table.reindex(wanted)
    shape = (batch, states, len(bodies))

    def part(names: List[Any]) -> Optional[Array]:
        if not all(name in table for name in names):
            return None
        values = table[names].to_numpy(float)
        return values.reshape(*shape, len(names)) if len(names) > 1 else values.reshape(shape)

    position = part(list(_axes[:d]))
    if position is None:
        raise DataError(f"the table needs the columns {', '.join(_axes[:d])}")
    velocity = part(["v" + axis for axis in _axes[:d]])
    x, v = system.from_pose(position, part(["angle"]) if d == 2 else None, velocity,
                            part(["omega"] if d == 2 else ["omega_" + axis for axis in _axes]),
                            quaternion=part(["qw", "qx", "qy", "qz"]) if d == 3 else None)
    if dt is None:
        dt = float(np.mean(np.diff(table["t"].to_numpy(float).reshape(shape)[0, :, 0]))) \
            if "t" in table and states > 1 else system.dt
    contact = part(["contact"])
    return Trajectory(system, x, None if velocity is None else v, dt=dt,
                      contact=None if contact is None else contact[..., 0] != 0)


def to_xarray(trajectory: Trajectory) -> Any:
    """Trajectory.to_xarray."""
    import xarray
    system = trajectory.system
    lead = ["trajectory", "time"] if trajectory._batched else ["time"]
    axes = list(_axes[:system.dimension])
    pose = trajectory.pose()
    variables = {"x": (lead + ["point", "axis"], trajectory.x)}
    if trajectory.v is not None:
        variables["v"] = (lead + ["point", "axis"], trajectory.v)
    if trajectory.contact is not None:
        variables["contact"] = (lead, trajectory.contact)
    variables["position"] = (lead + ["body", "axis"], pose.position)
    if pose.angle is not None:
        variables["angle"] = (lead + ["body"], pose.angle)
    if pose.quaternion is not None:
        variables["quaternion"] = (lead + ["body", "component"], pose.quaternion)
    if pose.velocity is not None and pose.angular_velocity is not None:
        variables["velocity"] = (lead + ["body", "axis"], pose.velocity)
        variables["angular_velocity"] = (
            lead + (["body"] if system.dimension == 2 else ["body", "axis"]), pose.angular_velocity)
    coordinates = {"time": trajectory.t, "axis": axes, "body": system.bodies}
    return xarray.Dataset(variables, coordinates, {"scene": system.json, "dt": trajectory.dt})


def from_xarray(data: Any, system: Optional[System] = None) -> Trajectory:
    """A trajectory from a Dataset as `Trajectory.to_xarray` makes it."""
    found = {name: data[name].to_numpy() for name in
             ("x", "v", "contact", *_pose_names) if name in data}
    if system is None:
        if "scene" not in data.attrs:
            raise DataError("the data does not say of which system it is; give one")
        system = System(data.attrs["scene"])
    x, v = _states_of(system, found, "data")
    times = np.asarray(data["time"], float)
    dt = float(data.attrs.get("dt", np.mean(np.diff(times)) if len(times) > 1 else system.dt))
    return Trajectory(system, x, v, dt=dt, contact=found.get("contact"), batched=x.ndim == 4)
