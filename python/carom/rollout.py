"""Rollouts: trajectories that own what their derivative needs."""
from __future__ import annotations

import threading
import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from . import _engine
from ._engine import (NULL, Watch, check, copied, error, ffi, lib, owned, pointer, shaped, view)
from ._types import Array
from .errors import CaromWarning, StateError
from .potential import Asked, Potential
from .system import Energy, Parameters, System

if TYPE_CHECKING:
    from .pose import Pose

# batch * steps * points from which a call asks Python now and then whether to go on
_LONG = 50_000
# free rollouts that a system keeps for the next call, and numbers of a trajectory that is not kept
_KEPT, _KEPT_NUMBERS = 4, 2_000_000


@dataclass(frozen=True)
class Report:
    """What happened in a rollout: counters of events, and of numerical trouble."""
    time_steps: int
    events: int
    contacts: int
    programs: int
    interior_programs: int
    singular_programs: int
    degenerate_programs: int
    projected_programs: int
    failed_programs: int
    worst_residual: float
    failed_projections: int
    impacts: int
    resting_contacts: int
    grazing_impacts: int
    overlaps: int
    cut_steps: int


def report_of(found: Any) -> Report:
    return Report(*(getattr(found, name) for name in Report.__dataclass_fields__))


def warn_of_failures(report: Any, level: int) -> None:
    """No wrong answer without a word."""
    if report.failed_programs > 0:
        warnings.warn(f"{report.failed_programs} of {report.programs} contact problems were not solved "
                      f"(worst residual {report.worst_residual:.3g}); the best impulses found were "
                      "used. See traj.report", CaromWarning, stacklevel=level)


class Impact(NamedTuple):
    """A contact event at its own time. Arrays are copies."""
    step: int
    time: float
    contacts: Array
    impulses: Array
    x: Array
    v_before: Array
    v_after: Array


class Gradients(NamedTuple):
    """Cotangents of what a rollout was given."""
    x0: Array
    v0: Array
    theta: Parameters
    u: Optional[Array]
    #: those of a potential's own parameters
    potential: Optional[Array] = None


class Tape:
    """A rollout of the library that is used by one result; it then goes back to its system's pool."""
    __slots__ = ("c", "key", "watch", "lock")

    def __init__(self, system: System, options: Any, batch: int, key: Optional[Tuple[Any, ...]], numbers: int,
                 potential: Optional[Asked] = None, beside_scene: bool = False):
        self.key = key if numbers <= _KEPT_NUMBERS else None
        self.lock = threading.Lock()
        self.watch = Watch()
        chosen = ffi.new("carom_rollout_options *", options[0])
        chosen.threads = _engine.thread_limit(chosen.threads)
        if numbers > _LONG:
            self.watch.attach(chosen)
        rollout = ffi.new("carom_rollout **")
        if potential is None:
            check(lib.carom_rollout_create(system._c, chosen, batch, rollout, error()))
        else:
            check(lib.carom_rollout_create_with_potential(
                system._c, chosen, potential.struct(self.watch, beside_scene), batch, rollout, error()))
        self.c = owned(rollout[0], lib.carom_rollout_destroy, system._c)


class _Lease:
    """Gives a tape back when nobody needs it any more."""
    __slots__ = ("tape", "system")

    def __init__(self, tape: Tape, system: System):
        self.tape = tape
        self.system = weakref.ref(system)

    def __del__(self) -> None:
        # finalisers may run anywhere: nothing here waits for a lock
        system = self.system()
        free = system._pool.get(self.tape.key) if system is not None else None
        if free is not None and len(free) < _KEPT:
            free.append(self.tape)


def _lease(system: System, options: Any, batch: int, given: Tuple[Any, ...], numbers: int) -> _Lease:
    key = (given, batch, _engine._forked)
    free = system._pool.get(key)
    if free:
        try:
            return _Lease(free.pop(), system)
        except IndexError:  # another thread was faster
            pass
    elif free is None:
        if len(system._pool) >= _KEPT:
            system._pool.clear()
        system._pool[key] = []
    return _Lease(Tape(system, options, batch, key, numbers), system)


class Trajectory:
    """Motions of a batch, and what their derivative needs.

    x, v      [batch, steps + 1, points, dimension], read-only views of the engine's memory
    contact   [batch, steps + 1], True where a contact acted on the way to a state
    t         [steps + 1] times
    report    what happened on the way

    Each result owns its tape: results may be differentiated in any order, however many there are.
    """

    def __init__(self, system: System, x: Array, v: Optional[Array], *, dt: float,
                 contact: Optional[Array] = None, u: Optional[Array] = None,
                 report: Optional[Report] = None, options: Optional[Dict[str, Any]] = None,
                 batched: bool = True, potential: Optional[Potential] = None,
                 beside_scene: bool = False):
        self.system = system
        self.dt = dt
        self.u = u
        self.options = options or {}
        self._x: Optional[Array] = x
        self._v, self._contact, self._report = v, contact, report
        self._shape: Tuple[int, ...] = x.shape
        self._batched = batched
        self.potential, self.beside_scene = potential, beside_scene
        self._lease: Optional[_Lease] = None

    @classmethod
    def _of(cls, lease: "_Lease", system: System, shape: Tuple[Any, ...], dt: float, u: Any,
            options: Dict[str, Any], batched: bool, potential: Optional[Potential] = None,
            beside_scene: bool = False) -> "Trajectory":
        """The result of a run; its arrays are made when they are asked for."""
        made = cls.__new__(cls)
        made.system, made.dt, made.u, made.options = system, dt, u, options
        made._x = made._v = made._contact = made._report = None
        made._shape = shape if batched else shape[1:]
        made._batched = batched
        made._lease = lease
        made.potential, made.beside_scene = potential, beside_scene
        return made

    @property
    def x(self) -> Array:
        if self._x is None:
            lease = self._tape_lease()
            self._x = view(lease, lib.carom_rollout_positions(lease.tape.c), self._shape)
        return self._x

    @property
    def v(self) -> Optional[Array]:
        if self._v is None and self._lease is not None:
            self._v = view(self._lease, lib.carom_rollout_velocities(self._lease.tape.c), self._shape)
        return self._v

    @property
    def contact(self) -> Optional[Array]:
        if self._contact is None and self._lease is not None:
            self._contact = view(self._lease, lib.carom_rollout_contacts(self._lease.tape.c),
                                 self._shape[:-2], np.bool_)
        return self._contact

    @property
    def steps(self) -> int:
        return self._shape[-3] - 1

    @property
    def batch(self) -> int:
        return self._shape[0] if self._batched else 1

    @property
    def t(self) -> Array:
        return np.arange(self.steps + 1) * self.dt

    @property
    def report(self) -> Optional[Report]:
        if self._report is None and self._lease is not None:
            self._report = report_of(lib.carom_rollout_report(self._lease.tape.c))
        return self._report

    def __len__(self) -> int:
        return self.batch

    def __repr__(self) -> str:
        tape = "" if self._lease is None else ", differentiable"
        return (f"Trajectory of {self.system.name}: {self.batch} x {self.steps} steps of {self.dt:g}"
                f"{tape}")

    def _repr_html_(self) -> str:
        from .notebook import trajectory_html
        return trajectory_html(self)

    # ---- the derivative ----

    def _tape_lease(self) -> "_Lease":
        if self._lease is None:
            raise StateError("this trajectory has no tape: it was made with gradient=False, detached, "
                             "read from a file or predicted by a model")
        return self._lease

    def _tape(self) -> Tape:
        return self._tape_lease().tape

    def vjp(self, x_bar: Any = None, v_bar: Any = None,
            impacts: Optional[Mapping[Tuple[int, int], Mapping[str, Any]]] = None) -> Gradients:
        """The derivative: from cotangents of x and v (each may be None) to those of x0, v0, theta, u.

        `impacts` has cotangents of impacts: {(sample, index): {"time": 1.0}}, also "x", "v_before",
        "v_after". They need keep_impacts=True.

        >>> system = carom.System("bd1")
        >>> traj = system.rollout(*system.sample(2, seed=1), steps=50)
        >>> x_bar = np.zeros_like(traj.x)
        >>> x_bar[:, -1, 0, 1] = 1                       # the height of the centre at the end
        >>> grads = traj.vjp(x_bar)
        >>> grads.v0.shape, grads.theta["gravity"].shape
        ((2, 3, 2), (2,))
        """
        tape, system = self._tape(), self.system
        x_bar = None if x_bar is None else shaped(x_bar, self._shape, "x_bar")
        v_bar = None if v_bar is None else shaped(v_bar, self._shape, "v_bar")
        x0 = np.empty((self.batch, *system.state_shape))
        v0, theta = np.empty_like(x0), np.empty(system._parameter_count)
        with tape.lock:
            written = self._set_impact_bars(tape, impacts or {})
            try:
                status = lib.carom_rollout_vjp(tape.c, pointer(x_bar), pointer(v_bar), pointer(x0),
                                               pointer(v0), pointer(theta), error())
                tape.watch.check(status)
            finally:
                for place in written:
                    place[:] = 0
            u = None
            if self.u is not None:
                u = copied(lib.carom_rollout_controls_bar(tape.c), (self.batch, *self.u.shape[-2:]))
            own = None
            if self.potential is not None:
                asked = tape.watch.state.potential
                own = copied(lib.carom_rollout_potential_bar(tape.c), (asked.parameter_count,))
        if not self._batched:
            x0, v0, u = x0[0], v0[0], None if u is None else u[0]
        return Gradients(x0, v0, Parameters(system, theta, is_gradient=True), u, own)

    def _set_impact_bars(self, tape: Tape, given: Mapping[Any, Any]) -> List[Array]:
        written = []
        for (sample, index), parts in given.items():
            bars = lib.carom_rollout_impact_bars(tape.c, sample, index)
            if bars.time == NULL:
                raise IndexError(f"there is no impact {index} of sample {sample}"
                                 + ("" if self.options.get("keep_impacts") else
                                    "; simulate with keep_impacts=True"))
            for name, value in parts.items():
                if name not in ("time", "x", "v_before", "v_after"):
                    raise KeyError(f"an impact has no {name!r}; it has time, x, v_before, v_after")
                shape = () if name == "time" else self.system.state_shape
                value = shaped(value, shape, f"cotangent of {name}")
                place = np.frombuffer(ffi.buffer(getattr(bars, name), value.size * 8))
                place[:] = value.reshape(-1)
                written.append(place)
        return written

    # ---- impacts ----

    def impacts(self, sample: int = 0) -> List[Impact]:
        """Impacts of a sample in order of time; needs keep_impacts=True."""
        tape = self._tape()
        if not self.options.get("keep_impacts"):
            raise StateError("impacts were not kept; simulate with keep_impacts=True")
        if not 0 <= sample < self.batch:
            raise IndexError(f"sample is {sample}, must be at least 0 and below {self.batch}")
        d, shape = self.system.dimension, self.system.state_shape
        found = []
        with tape.lock:
            for k in range(lib.carom_rollout_impact_count(tape.c, sample)):
                c = lib.carom_rollout_impact(tape.c, sample, k)
                found.append(Impact(c.step, c.time, copied(c.contacts, (c.contact_count,), np.intc),
                                    copied(c.impulses, (c.contact_count, d)), copied(c.x, shape),
                                    copied(c.v_before, shape), copied(c.v_after, shape)))
        return found

    # ---- forms of it ----

    def detach(self) -> "Trajectory":
        """A copy in memory of its own, without the tape."""
        return Trajectory(self.system, self.x.copy(), None if self.v is None else self.v.copy(),
                          dt=self.dt, contact=None if self.contact is None else self.contact.copy(),
                          u=self.u, report=self.report, options=self.options, batched=self._batched,
                          potential=self.potential, beside_scene=self.beside_scene)

    def __reduce__(self) -> Any:
        plain = self.detach()
        return _from_state, (plain.system, plain.x, plain.v, plain.dt, plain.contact, plain.u,
                             plain._report, plain.options, plain._batched, plain.potential,
                             plain.beside_scene)

    def pose(self) -> "Pose":
        """The motion as poses of bodies."""
        return self.system.to_pose(self.x, self.v)

    def energy(self, theta: Any = None) -> Energy:
        """Kinetic and potential energy of all states."""
        found = self.system.energy(self.x, self.v, theta)
        if self.potential is None:
            return found
        value = getattr(self.potential, "value", None)
        if value is None:
            raise StateError("the potential of this motion has no method `value`, so its energy is not known")
        own = shaped(value(self.x.reshape(-1, *self.system.state_shape)), (found.kinetic.size,),
                     "the potential's value").reshape(found.kinetic.shape)
        return Energy(found.kinetic, own + found.potential if self.beside_scene else own)

    def save(self, path: Any, *, pose: bool = False) -> None:
        """Writes it: .h5 (read by the program `carom` too) or .npz; `pose` adds poses of bodies."""
        from .files import save
        save(path, self, pose=pose)

    def to_pandas(self) -> Any:
        """A row for each state and body (needs pandas)."""
        from .files import to_pandas
        return to_pandas(self)

    def to_xarray(self) -> Any:
        """An xarray.Dataset with named axes (needs xarray)."""
        from .files import to_xarray
        return to_xarray(self)


def _from_state(system, x, v, dt, contact, u, report, options, batched,  # type: ignore[no-untyped-def]
                potential=None, beside_scene=False):
    return Trajectory(system, x, v, dt=dt, contact=contact, u=u, report=report, options=options,
                      batched=batched, potential=potential, beside_scene=beside_scene)


def run(system: System, x0: Any, v0: Any, theta: Any, u: Any, gradient: bool,
        options: Dict[str, Any], potential: Optional[Potential] = None,
        beside_scene: bool = False) -> Trajectory:
    """System.rollout."""
    x0, v0, batched = system._states(x0, v0)
    theta = system._theta(theta)
    batch = len(x0)
    given = tuple(sorted(options.items()))
    chosen = system._options.get(given)
    if chosen is None:
        chosen = system._rollout_options(options)
    steps = chosen.steps
    if u is not None:
        if system.control_size == 0:
            raise ValueError(f'{system.name} has no controls; list them in the scene\'s field "controls"')
        wanted = (batch, steps, system.control_size)
        u = shaped(u, wanted if batched else wanted[1:], "u")
    if potential is not None:
        return _run_with_potential(system, chosen, potential, beside_scene, theta, x0, v0, u, batched, options)
    if not gradient and u is None:
        return _simulate(system, chosen, theta, x0, v0, batched, options)
    return _run_taped(system, chosen, given, theta, x0, v0, u, batched, options)


def _run_taped(system: System, chosen: Any, given: Tuple[Any, ...], theta: Any, x0: Any, v0: Any, u: Any,
               batched: bool, options: Dict[str, Any]) -> Trajectory:
    batch, steps = len(x0), chosen.steps
    shape = (batch, steps + 1, *system.state_shape)
    lease = _lease(system, chosen, batch, given, batch * (steps + 1) * system.point_count)
    _execute(lease.tape, system, theta, x0, v0, u)
    return Trajectory._of(lease, system, shape, chosen.dt, None if u is None else u.copy(), options,
                          batched)


def _run_with_potential(system: System, chosen: Any, potential: Potential, beside_scene: bool, theta: Any,
                        x0: Any, v0: Any, u: Any, batched: bool, options: Dict[str, Any]) -> Trajectory:
    """The same with a potential of the user's; its tape is used once."""
    shape = (len(x0), chosen.steps + 1, *system.state_shape)
    tape = Tape(system, chosen, len(x0), None, len(x0) * (chosen.steps + 1) * system.point_count,
                Asked(potential, system.state_shape), bool(beside_scene))
    _execute(tape, system, theta, x0, v0, u)
    return Trajectory._of(_Lease(tape, system), system, shape, chosen.dt, None if u is None else u.copy(),
                          options, batched, potential, bool(beside_scene))


def _execute(tape: Tape, system: System, theta: Any, x0: Any, v0: Any, u: Any) -> None:
    if system.control_size > 0:
        check(lib.carom_rollout_set_controls(tape.c, pointer(u), error()))
    failed = lib.carom_py_run(tape.c, pointer(theta), pointer(x0), pointer(v0), error())
    if failed < 0:
        tape.watch.check(-failed)
    if failed > 0:
        warn_of_failures(lib.carom_rollout_report(tape.c), 6)


def _simulate(system: System, chosen: Any, theta: Any, x0: Any, v0: Any, batched: bool,
              options: Dict[str, Any]) -> Trajectory:
    batch, steps = len(x0), chosen.steps
    x = np.empty((batch, steps + 1, *system.state_shape))
    v, contact = np.empty_like(x), np.zeros((batch, steps + 1), np.bool_)
    report, watch = ffi.new("carom_report *"), Watch()
    used = ffi.new("carom_rollout_options *", chosen[0])
    used.threads = _engine.thread_limit(used.threads)
    watch.attach(used)
    watch.check(lib.carom_system_simulate(
        system._c, used, pointer(theta), batch, pointer(x0), pointer(v0), pointer(x), pointer(v),
        ffi.from_buffer("uint8_t[]", contact), report, error()))
    warn_of_failures(report, 5)
    if not batched:
        x, v, contact = x[0], v[0], contact[0]
    return Trajectory(system, x, v, dt=chosen.dt, contact=contact, report=report_of(report),
                      options=options, batched=batched)
