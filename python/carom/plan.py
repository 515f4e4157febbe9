"""Plans: initial states, controls and parameters that make a motion do what an objective says."""
from __future__ import annotations

import json
import os
import threading
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Union

import numpy as np

from . import _engine
from ._engine import (NULL, check, copied, error, ffi, file_lock, lib, owned, path_bytes, pointer,
                      set_options, shaped, string)
from ._types import Array
from .rollout import Trajectory
from .system import System


class Unknown(NamedTuple):
    """A number that is to be found."""
    name: str
    start: float
    low: float
    high: float


class PlanLoss(NamedTuple):
    """The objective, its gradient by the unknowns, its weighted terms, and how many of these ask for a
    contact or an apex that did not happen."""
    loss: float
    gradient: Array
    terms: Array
    missing: int


def plans() -> List[str]:
    """Names of the built-in plans."""
    return [string(lib.carom_plan_name(k)) for k in range(lib.carom_plan_count())]


class Plan:
    """A plan (docs/planning.md): a built-in one by its name, a path, a dict, or JSON text.

    `loss(z)` and `motion(z)` take the unknowns as a vector, so that any optimiser can be used.

    >>> plan = carom.Plan("hit")
    >>> start = np.array([unknown.start for unknown in plan.unknowns])
    >>> found = plan.loss(start)
    >>> found.gradient.shape == start.shape
    True
    """

    def __init__(self, plan: Union[str, "os.PathLike[str]", Mapping[str, Any]]):
        made = ffi.new("carom_plan **")
        if isinstance(plan, Mapping):
            plan = json.dumps(plan)
        if isinstance(plan, str) and plan.lstrip()[:1] == "{":
            data = plan.encode()
            check(lib.carom_plan_parse(data, len(data), NULL, made, error()))
        else:
            check(lib.carom_plan_load(path_bytes(plan), made, error()))
        self._c = owned(made[0], lib.carom_plan_destroy)
        info = lib.carom_plan_describe(self._c)
        self.name: str = string(info.name)
        self.description: str = string(info.description)
        self.json: str = string(info.json)
        self.system = System(string(lib.carom_system_describe(info.system).json))
        self.dt: float = info.rollout.dt
        self.steps: int = info.rollout.steps
        self._terms: int = info.term_count
        self._count: int = info.unknown_count
        self._lock = threading.Lock()

    @property
    def unknowns(self) -> List[Unknown]:
        found = (lib.carom_plan_unknown(self._c, k) for k in range(self._count))
        return [Unknown(string(u.name), u.start, u.low, u.high) for u in found]

    @property
    def terms(self) -> List[str]:
        """What the terms of the objective are, in words."""
        buffer, found = ffi.new("char[256]"), []
        for k in range(self._terms):
            lib.carom_plan_term_label(self._c, k, buffer, 256)
            found.append(string(buffer))
        return found

    def loss(self, unknowns: Any) -> PlanLoss:
        """The objective at unknowns [count], and its gradient."""
        z = shaped(unknowns, (self._count,), "unknowns")
        loss, missing = ffi.new("double *"), ffi.new("int *")
        gradient, terms = np.empty(self._count), np.empty(self._terms)
        with self._lock:
            check(lib.carom_plan_loss(self._c, pointer(z), loss, pointer(gradient), pointer(terms),
                                      missing, error()))
        return PlanLoss(loss[0], gradient, terms, missing[0])

    def motion(self, unknowns: Any) -> Trajectory:
        """The motion of unknowns [count]."""
        z, system = shaped(unknowns, (self._count,), "unknowns"), self.system
        x = np.empty((self.steps + 1, *system.state_shape))
        v, contact = np.empty_like(x), np.zeros(self.steps + 1, np.bool_)
        u = np.empty((self.steps, system.control_size)) if system.control_size else None
        with self._lock:
            check(lib.carom_plan_motion(self._c, pointer(z), pointer(x), pointer(v),
                                        ffi.from_buffer("uint8_t[]", contact), pointer(u), error()))
        return Trajectory(system, x, v, dt=self.dt, contact=contact, u=u, batched=False)

    def solve(self, callback: Optional[Callable[[int, int, float, float], Any]] = None,
              **options: Any) -> "PlanResult":
        """Solves it: optimizer="lbfgs", iterations, learning_rate, starts, seed, threads, goal, ...

        `callback(done, total, loss, best)` is called after each iteration; False ends with what has been
        found so far. KeyboardInterrupt and exceptions of the callback come through.
        """
        info = lib.carom_plan_describe(self._c)  # held: its parts are not copies
        chosen = ffi.new("carom_plan_options *", info.options)
        set_options(lib.CAROM_PLAN_OPTIONS, chosen, options)
        chosen.threads = _engine.thread_limit(chosen.threads)
        watch, made = _engine.Watch(callback), ffi.new("carom_plan_result **")  # type: ignore[arg-type]
        with self._lock:
            status = lib.carom_plan_solve(self._c, chosen, lib.carom_py_plan, watch.handle, made, error())
        result = None if made[0] == NULL else owned(made[0], lib.carom_plan_result_destroy)
        watch.check(status)
        return PlanResult(self, result)

    def __repr__(self) -> str:
        return f"Plan({self.name!r}, {self._count} unknowns)"


class PlanResult:
    """What was found: unknowns, loss, losses of the best start, motions before and after.

    >>> result = carom.Plan("hit").solve(iterations=3)
    >>> bool(result.losses[-1] <= result.losses[0])
    True
    """

    def __init__(self, plan: Plan, c: Any):
        self.plan = plan
        self._c = c
        self.loss: float = c.loss
        self.success: bool = c.success
        self.stop: str = string(lib.carom_plan_stop_text(c.starts[c.best].stop))
        self.unknowns = copied(c.unknowns, (c.unknown_count,))
        self.losses = copied(c.losses, (c.iterations + 1,))
        self.gradient_norms = copied(c.gradient_norms, (c.iterations + 1,))
        self.terms = copied(c.terms, (c.term_count,))

    @property
    def motions(self) -> Trajectory:
        """The motions before and after (and after with the scene's own properties) as one batch."""
        c, system = self._c, self.plan.system
        shape = (c.motions, c.steps + 1, *system.state_shape)
        u = None if c.u == NULL else copied(c.u, (c.motions, c.steps, system.control_size))
        return Trajectory(system, copied(c.x, shape), copied(c.v, shape), dt=c.dt,
                          contact=copied(c.contacts, shape[:2], np.bool_), u=u)

    def write(self, path: Any) -> None:
        """A file with all of it, for `carom view`."""
        with file_lock():
            check(lib.carom_plan_result_write(self._c, self.plan._c, path_bytes(path), error()))

    def __repr__(self) -> str:
        return f"PlanResult({self.plan.name!r}, loss {self.loss:.4g}, {self.stop})"
