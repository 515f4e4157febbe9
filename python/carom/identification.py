"""Identification: numbers of a scene whose form is known, with their uncertainty, from measured motions."""
from __future__ import annotations

import os
import threading
import warnings
from typing import (Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple,
                    Union)

import numpy as np

from . import _engine
from ._engine import (NULL, Watch, check, copied, error, ffi, file_lock, lib, option_text, owned, path_bytes,
                      pointer, set_options, string)
from ._types import Array
from .data import Finding, findings_of, trajectories_of
from .errors import CaromWarning, DataError
from .pose import Pose
from .rollout import Report, report_of
from .system import Parameters, System

Unknowns = Union[str, Sequence[str], Mapping[str, Any]]


class Estimate(NamedTuple):
    """One number that was asked for, or follows from such.

    deviation   standard error; infinite where the data does not determine it, 0 at a border of its range
    low, high   the 95 % interval; infinite ends where there is none
    start       where the search began, and `scene` the scene's value
    derived     follows from others: the ratio of two masses
    """
    name: str
    value: float
    deviation: float
    low: float
    high: float
    start: float
    scene: float
    determined: bool
    at_border: bool
    derived: bool


class Channel(NamedTuple):
    """What is measured of bodies: how many numbers, their noise, and how far predictions are from them."""
    numbers: int
    noise: float
    estimated: bool
    residual: float


class Misfit(NamedTuple):
    """How well a trajectory is described: `deviation` of its residuals in those of the noise is near 1."""
    trajectory: int
    numbers: int
    deviation: float
    outliers: int


class Prediction(NamedTuple):
    """Mean distances and angles between measured and predicted bodies, for each trajectory."""
    position: Array
    angle: Array


def _channel(c: Any) -> Channel:
    return Channel(c.count, c.noise, c.estimated, c.residual)


class Identification:
    """What `carom.identify` found.

    >>> system = carom.System("bd1")
    >>> traj = system.rollout(*system.sample(3, seed=1), contact_time="event", steps=60)
    >>> found = carom.identify(system, traj, {"gravity": 8.0}, simulation={"contact_time": "event"})
    >>> round(found["gravity"].value, 6), found["gravity"].determined
    (9.81, True)
    >>> found.names
    ['gravity']
    """

    def __init__(self, system: System, fit: Any):
        self.system = system
        self._fit, self._lock = fit, threading.Lock()
        c = lib.carom_fit_result_of(fit)
        self.estimates: List[Estimate] = [
            Estimate(string(e.name), *(getattr(e, name) for name in Estimate._fields[1:]))
            for e in (c.estimates[k] for k in range(c.estimate_count))]
        #: [unknowns, unknowns]; 0 for what is not determined
        self.correlation = copied(c.correlation, (c.unknown_count, c.unknown_count))
        #: the scene's parameters with the estimates in their places
        self.theta = Parameters(system, copied(c.theta, (system._parameter_count,)))
        self.notes: List[str] = [string(c.notes[k].text) for k in range(c.note_count)]
        self.warnings: List[str] = [string(c.notes[k].text) for k in range(c.note_count)
                                    if c.notes[k].warning]
        self.channels: Dict[str, Channel] = {
            string(lib.carom_channel_name(k)): _channel(c.channels[k])
            for k in range(lib.CAROM_CHANNEL_COUNT) if c.channels[k].count > 0}
        #: the worst first
        self.trajectories: List[Misfit] = [
            Misfit(one.trajectory, one.count, one.deviation, one.outliers)
            for one in (c.trajectories[k] for k in range(c.trajectory_count))]
        self.scale: float = c.scale
        self.shift: Tuple[float, ...] = tuple(c.shift[k] for k in range(system.dimension))
        self.log_likelihood: float = c.log_likelihood
        #: to compare hypotheses on the same data: the smaller the better
        self.bic: float = c.bic
        self.iterations: int = c.iterations
        self.report: Report = report_of(c.report)
        self.findings: List[Finding] = findings_of(
            lib.carom_fit_finding(fit, k) for k in range(lib.carom_fit_finding_count(fit)))

    @property
    def names(self) -> List[str]:
        return [estimate.name for estimate in self.estimates]

    def __getitem__(self, name: str) -> Estimate:
        """By name; "restitution" stands for "restitution[ball|ground]" where that is the only one."""
        same = [one for one in self.estimates if one.name == name]
        alike = [one for one in self.estimates if one.name.startswith(name + "[") and not one.derived]
        if same or len(alike) == 1:
            return (same or alike)[0]
        raise KeyError(f"there is no estimate {name!r}; there are {', '.join(self.names)}")

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def predict(self, data: Any, v: Any = None, *, dt: Optional[float] = None,
                lengths: Any = None, times: Any = None) -> Prediction:
        """Simulates motions from their first states over their whole length with the estimates: data as
        `identify` takes it, for instance some that was held out."""
        found = ffi.new("carom_fit_prediction *")
        with self._lock, _Measured(self.system, data, v, dt, lengths, times) as given:
            check(lib.carom_fit_predict(self._fit, given, found, error()))
        made = Prediction(copied(found.position, (found.count,)), copied(found.angle, (found.count,)))
        lib.carom_fit_prediction_free(found)
        return made

    def save(self, path: Any) -> None:
        """Writes fit.h5 as `carom fit` does; `theta.save` writes the parameters."""
        with self._lock, file_lock():
            check(lib.carom_fit_write(self._fit, path_bytes(path), error()))

    def to_pandas(self) -> Any:
        """A row for each estimate (needs pandas)."""
        import pandas
        return pandas.DataFrame(self.estimates, columns=Estimate._fields).set_index("name")

    def _rows(self) -> List[Tuple[str, str, str, str]]:
        rows = []
        for e in self.estimates:
            if e.determined:
                spread = f"{e.deviation:.2g}" if e.deviation > 0 else "at a border"
                interval = f"{e.low:.6g} .. {e.high:.6g}"
            else:
                spread, interval = "not determined", f"{e.low:.6g} .. {e.high:.6g}"
            rows.append((e.name, f"{e.value:.6g}", spread, interval))
        return rows

    def __repr__(self) -> str:
        rows = [("", "value", "deviation", "95 % interval"), *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                 for row in rows]
        return "\n".join([f"Identification of {self.system.name}", *lines,
                          *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        import html
        head = "".join(f"<th>{name}</th>" for name in ("", "value", "deviation", "95&nbsp;% interval"))
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                       for row in self._rows())
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return f"<table><tr>{head}</tr>{rows}</table><ul>{notes}</ul>"


class _Measured:
    """Motions in any of the forms that users have them, while the library reads them."""

    def __init__(self, system: System, data: Any, v: Any, dt: Optional[float], lengths: Any, times: Any):
        self.held: List[Any] = []
        self.read = isinstance(data, (str, os.PathLike))
        if self.read:
            self.c = ffi.new("carom_trajectories *")
            with file_lock():
                check(lib.carom_trajectories_read_measured(system._c, path_bytes(data), self.c, error()))
            if dt is not None:
                self.c.dt, self.c.dt_from = dt, lib.CAROM_DT_OF_ATTRIBUTE
            if times is not None:
                raise DataError("times are those of the file; give them with arrays alone")
            return
        if isinstance(data, Pose):
            known = data.velocity is not None
            data, velocity = system.from_pose(data)
            v = velocity if known else v
        if isinstance(data, tuple) and len(data) == 2:
            data, v = data
        if times is not None and dt is not None:
            raise DataError("give dt or times: dt is the length of equal steps")
        self.c, self.held = trajectories_of(system, data, v, dt, None, lengths)
        if times is not None:
            self._use_times(times)

    def _use_times(self, times: Any) -> None:
        """Times of the states of all trajectories, or of each, whose steps may be of any length."""
        shape = (self.c.batch, self.c.state_count)
        given = np.asarray(times, float)
        if given.shape not in (shape, shape[1:]):
            raise DataError(f"times has shape {list(given.shape)}, must be {list(shape[1:])} or {list(shape)}")
        each = np.ascontiguousarray(np.broadcast_to(given, shape))
        steps = np.diff(each, axis=1)
        steps = steps[np.isfinite(steps)]
        if steps.size > 0 and np.median(steps) > 0:
            self.c.dt, self.c.dt_from = float(np.median(steps)), lib.CAROM_DT_OF_TIMES
        self.held.append(pointer(each))
        self.c.times = self.held[-1]

    def __enter__(self) -> Any:
        return self.c

    def __exit__(self, *details: object) -> None:
        if self.read:
            lib.carom_trajectories_free(self.c)


def _unknown_text(unknown: Unknowns) -> str:
    """The list in commas that carom_fit_create takes."""
    if isinstance(unknown, str):
        return unknown
    if not isinstance(unknown, Mapping):
        return ",".join(unknown)
    parts = []
    for name, given in unknown.items():
        if given is None:
            given = {}
        elif not isinstance(given, Mapping):
            given = {"start": given}
        text = name
        for key, value in given.items():
            if key in ("shared", "each"):
                text += f":{key}" if value else ""
            elif key == "prior":
                text += f":prior={float(value[0])!r}/{float(value[1])!r}"
            else:
                text += f":{key}={option_text(value)}"
        parts.append(text)
    return ",".join(parts)


def identify(system: System, data: Any, unknown: Unknowns, *, v: Any = None, dt: Optional[float] = None,
             lengths: Any = None, times: Any = None, simulation: Optional[Mapping[str, Any]] = None,
             progress: Optional[Callable[[int, int], Any]] = None, **options: Any) -> Identification:
    """Finds numbers of a scene, and how well they are known, from measured motions (docs/fitting.md).

    data        a `Trajectory`, positions x [trajectories, states, points, dimension] (NaN: missing), a pair
                (x, v), a `carom.Pose`, or the path of a file; everything else of the scene is known
    unknown     "friction, mass[b]:start=0.6", a list of such, or a dict of names with a start, None, or
                {"start": 1.0, "low": 0.0, "high": 2.0, "prior": (mean, deviation), "shared": True}:
                friction, restitution, mass, moment, gravity, stiffness, scale, shift[z], ...
    v, dt, lengths  velocities, time between states, states of each: as `Dataset.from_trajectories`
    times       [states] or [trajectories, states], in the place of dt, where time steps are unequal
    simulation  options of the rollouts: {"contact_time": "event"}, which measured data wants
    progress    called with (done, total); False stops
    options     `carom.identification_options()`: piece, huber, position_noise, search, ...

    What the data does not determine is said in `notes`, and warned of where it matters.
    """
    watch, made = Watch(progress), ffi.new("carom_fit **")
    chosen = ffi.new("carom_fit_options *", lib.carom_fit_default_options())
    set_options(lib.CAROM_FIT_OPTIONS, chosen, options)
    chosen.threads = _engine.thread_limit(chosen.threads)
    watch.attach(chosen)
    how = system._rollout_options(simulation) if simulation else NULL
    with _Measured(system, data, v, dt, lengths, times) as given:
        check(lib.carom_fit_create(system._c, given, _unknown_text(unknown).encode(), how, chosen, made,
                                   error()))
    fit = owned(made[0], lib.carom_fit_destroy, system._c, watch)
    if not watch.check(lib.carom_fit_run(fit, error())):
        raise KeyboardInterrupt("the progress callback stopped the identification")
    found = Identification(system, fit)
    for text in [*(f.text for f in found.findings if f.warning), *found.warnings]:
        warnings.warn(text, CaromWarning, stacklevel=2)
    return found
