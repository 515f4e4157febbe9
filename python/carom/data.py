"""Data for learning: trajectories cut into chunks, split into training, validation and test."""
from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _engine
from ._engine import (NULL, Watch, check, error, ffi, file_lock, get_options, lib, numbers, owned,
                      path_bytes, pointer, set_options, view)
from ._types import Array
from .errors import CaromWarning, DataError
from .rollout import Report, Trajectory, report_of
from .system import System


class Chunks(NamedTuple):
    """Pieces of trajectories: x, v [count, states, points, dimension], contact [count, states]; views."""
    x: Array
    v: Array
    contact: Array
    dt: float


class Finding(NamedTuple):
    """Something that was found out about given data, or done to it."""
    kind: str
    warning: bool
    text: str


_finding_kinds = ("trajectories", "projection", "velocity", "contacts", "units")


def findings_of(found: Iterable[Any]) -> List[Finding]:
    return [Finding(_finding_kinds[f.kind], f.warning, _engine.string(f.text)) for f in found]


class Dataset:
    """Training, validation and test chunks of one system.

    Made by `Dataset.generate`, `Dataset.from_trajectories`, `Dataset.from_poses` or `Dataset.read`.

    >>> system = carom.System("bd1")
    >>> data = carom.Dataset.generate(system, train=8, validation=2, test=2, seed=1)
    >>> data.train.x.shape
    (8, 5, 3, 2)
    """

    def __init__(self, system: System, pointer: Any):
        self.system = system
        self._c = owned(pointer, lib.carom_dataset_destroy)

    @staticmethod
    def _options(system: System, given: Dict[Any, Any], watch: Optional[Watch] = None) -> Any:
        chosen = ffi.new("carom_dataset_options *", lib.carom_dataset_default_options(system._c))
        set_options(lib.CAROM_DATASET_OPTIONS, chosen, given)
        chosen.threads = _engine.thread_limit(chosen.threads)
        if watch is not None:
            watch.attach(chosen)
        return chosen

    @classmethod
    def generate(cls, system: System, *, simulation: Optional[Dict[Any, Any]] = None,
                 progress: Optional[Callable[[int, int], Any]] = None, **options: Any) -> "Dataset":
        """Simulates the scene with its own parameters and cuts a chunk from each trajectory.

        simulation  options of the rollouts: {"contact_time": "event"}
        progress    called with (done, total); False stops
        options     train, validation, test, chunk, steps, contact_share, noise, seed, ...
        """
        watch, made = Watch(progress), ffi.new("carom_dataset **")
        chosen = cls._options(system, options, watch)
        how = system._rollout_options(simulation or {})
        if not watch.check(lib.carom_dataset_generate(system._c, how, chosen, made, error())):
            raise KeyboardInterrupt("the progress callback stopped the simulation")
        return cls(system, made[0])

    @classmethod
    def from_trajectories(cls, system: System, x: Any, v: Any = None, *, dt: Optional[float] = None,
                          contact: Any = None, lengths: Any = None, **options: Any) -> "Dataset":
        """Cuts chunks from trajectories x, v [trajectories, states, points, dimension].

        x        or a `Trajectory`. NaN marks states that are missing
        v        None: estimated from x
        dt       time between two states; None: the scene's
        contact  [trajectories, states]; None: found
        lengths  states of each trajectory, where they differ
        options  train, validation, test, chunk, velocity="next", project=True, seed, ...

        What was found out is in `findings`; what may go wrong is also warned of.
        """
        given, held = trajectories_of(system, x, v, dt, contact, lengths)
        watch, made = Watch(), ffi.new("carom_dataset **")
        chosen = cls._options(system, options, watch)
        watch.check(lib.carom_dataset_from_trajectories(system._c, given, chosen, made, error()))
        del held
        data = cls(system, made[0])
        data._warn()
        return data

    @classmethod
    def from_poses(cls, system: System, position: Any, angle: Any = None, velocity: Any = None,
                   angular_velocity: Any = None, *, quaternion: Any = None, dt: Optional[float] = None,
                   contact: Any = None, **options: Any) -> "Dataset":
        """Cuts chunks from motions of bodies by pose [trajectories, states, body, ...]: `carom.Pose`.
        Without velocities these are estimated."""
        known = velocity is not None
        x, v = system.from_pose(position, angle, velocity, angular_velocity, quaternion=quaternion)
        return cls.from_trajectories(system, x, v if known else None, dt=dt, contact=contact, **options)

    @classmethod
    def read(cls, system: System, path: Any, **options: Any) -> "Dataset":
        """Reads a data set, or a file of trajectories, which is cut as options say."""
        watch, made = Watch(), ffi.new("carom_dataset **")
        chosen = cls._options(system, options, watch)
        with file_lock():
            status = lib.carom_dataset_read(system._c, path_bytes(path), chosen, made, error())
        watch.check(status)
        data = cls(system, made[0])
        data._warn()
        return data

    def write(self, path: Any) -> None:
        """Writes an HDF5 file that `carom train --data` takes."""
        with file_lock():
            check(lib.carom_dataset_write(self._c, self.system._c, path_bytes(path), error()))

    def _split(self, split: int) -> Chunks:
        c = lib.carom_dataset_split(self._c, split)
        shape = (c.count, c.states, *self.system.state_shape)
        return Chunks(view(self._c, c.x, shape), view(self._c, c.v, shape),
                      view(self._c, c.contact, shape[:2], np.bool_), c.dt)

    @property
    def train(self) -> Chunks:
        return self._split(lib.CAROM_TRAIN)

    @property
    def validation(self) -> Chunks:
        return self._split(lib.CAROM_VALIDATION)

    @property
    def test(self) -> Chunks:
        return self._split(lib.CAROM_TEST)

    @property
    def dt(self) -> float:
        return self._c.dt

    @property
    def report(self) -> Report:
        return report_of(self._c.report)

    @property
    def findings(self) -> List[Finding]:
        """What was found out about given trajectories."""
        return findings_of(self._c.findings[k] for k in range(self._c.finding_count))

    def _warn(self) -> None:
        for finding in self.findings:
            if finding.warning:
                warnings.warn(finding.text, CaromWarning, stacklevel=4)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self._split(k)[0].shape[0]} {name}"
                           for k, name in enumerate(("train", "validation", "test")))
        return f"Dataset of {self.system.name}: {counts} chunks of {self.train.x.shape[1]} states"


def trajectories_of(system: System, x: Any, v: Any, dt: Optional[float], contact: Any,
                    lengths: Any) -> Tuple[Any, List[Any]]:
    """Measured motions as the library takes them, and what must live as long as they do."""
    if isinstance(x, Trajectory):
        x, v, dt, contact = x.x, x.v, x.dt, x.contact
    x = numbers(x, "x")
    if x.ndim == 3:
        x = x[None]
        v = None if v is None else numbers(v, "v")[None]
        contact = None if contact is None else np.asarray(contact)[None]
    if x.ndim != 4 or x.shape[2:] != system.state_shape:
        raise DataError(f"x has shape {list(x.shape)}, must be [trajectories, states, "
                        f"{system.point_count}, {system.dimension}]; `Dataset.from_poses` takes poses")
    if v is not None:
        v = numbers(v, "v")
        if v.shape != x.shape:
            raise DataError(f"v has shape {list(v.shape)}, must be that of x, {list(x.shape)}")
    given = ffi.new("carom_trajectories *")
    given.batch, given.state_count = x.shape[:2]
    given.point_count, given.dimension = x.shape[2:]
    given.dt = system.dt if dt is None else dt
    given.dt_from = lib.CAROM_DT_OF_SCENE if dt is None else lib.CAROM_DT_OF_ATTRIBUTE
    held: List[Any] = [pointer(x), pointer(v)]
    given.x, given.v = held
    if lengths is not None:
        lengths = np.ascontiguousarray(lengths, np.intc)
        if lengths.shape != x.shape[:1]:
            raise DataError(f"lengths has shape {list(lengths.shape)}, must be [{len(x)}]")
        held.append(ffi.from_buffer("int[]", lengths))
        given.lengths = held[-1]
    if contact is not None:
        contact = np.ascontiguousarray(np.asarray(contact) != 0, np.uint8)
        if contact.shape != x.shape[:2]:
            raise DataError(f"contact has shape {list(contact.shape)}, must be {list(x.shape[:2])}")
        held.append(ffi.from_buffer("uint8_t[]", contact))
        given.contact = held[-1]
    return given, held


def dataset_of(system: System, data: Any) -> Dataset:
    """What `fit` takes as data: a Dataset, a Trajectory, (x, v), or a path."""
    if isinstance(data, Dataset):
        other = data.system
        if other is not system and (other.bodies, other.rigid, other.state_shape) != (
                system.bodies, system.rigid, system.state_shape):
            raise DataError(f"the data is of {other.name}, whose bodies are not those of {system.name}")
        return data
    if isinstance(data, Trajectory):
        return Dataset.from_trajectories(system, data)
    if isinstance(data, (tuple, list)) and len(data) == 2:
        return Dataset.from_trajectories(system, *data)
    return Dataset.read(system, data)
