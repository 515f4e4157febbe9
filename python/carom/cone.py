"""The cone program of contact impulses, its solver and its derivative, as a layer of its own."""
from __future__ import annotations

import sys
import threading
import warnings
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np

from ._engine import NULL, check, error, ffi, lib, numbers, owned, pointer, set_options
from ._types import Array
from .errors import CaromWarning


_statuses = ("solved", "degenerate", "inaccurate", "unbounded", "invalid")


class ConeInfo(NamedTuple):
    """How a program was solved; `status` is "solved", "degenerate", "inaccurate", "unbounded" or
    "invalid"."""
    status: str
    newton_steps: int
    interior_steps: int
    residual: float
    singular: bool
    projected: bool


class ConeGradients(NamedTuple):
    """Cotangents of what a program was given; that of A is symmetric."""
    A: Array
    b: Array
    mu: Array
    lower: Array


class ConeSolution:
    """The solution of cone programs, and what their derivative needs.

    f      [..., contacts * dimension]
    info   how each was solved: a `ConeInfo`, or a list of them
    """

    def __init__(self, f: Array, infos: List[Any], solvers: List[Any], count: int):
        self.f = f
        self._infos = infos
        self._solvers = solvers
        self._count = count
        self._lock = threading.Lock()

    @property
    def info(self) -> Any:
        return self._infos[0] if self.f.ndim == 1 else self._infos

    def vjp(self, f_bar: Any) -> ConeGradients:
        """The derivative: from the cotangent of f to those of A, b, mu and lower."""
        f_bar = numbers(f_bar, "f_bar")
        if f_bar.shape != self.f.shape:
            raise ValueError(f"f_bar has shape {list(f_bar.shape)}, must be {list(self.f.shape)}")
        lead, size = self.f.shape[:-1], self.f.shape[-1]
        flat = f_bar.reshape(-1, size)
        A, b = np.zeros((len(flat), size, size)), np.zeros((len(flat), size))
        mu, lower = np.zeros((len(flat), self._count)), np.zeros((len(flat), self._count))
        with self._lock:
            for k, solver in enumerate(self._solvers):
                check(lib.carom_cone_solver_vjp(solver, pointer(flat[k]), pointer(A[k]), pointer(b[k]),
                                                pointer(mu[k]), pointer(lower[k]), error()))
        return ConeGradients(A.reshape(*lead, size, size), b.reshape(*lead, size),
                             mu.reshape(*lead, self._count), lower.reshape(*lead, self._count))

    def __repr__(self) -> str:
        return f"ConeSolution({self.f!r})"


def cone_solve(A: Any, b: Any, mu: Any, lower: Any = None, **options: Any) -> ConeSolution:
    """Solves  minimise 1/2 f'Af + b'f  subject to  |f_t,i| <= mu_i f_n,i,  f_n,i >= lower_i.

    A      [..., C, C] symmetric positive semidefinite (its lower triangle is read), C = contacts *
           dimension; f_i has the normal first
    b      [..., C]
    mu     [..., contacts]
    lower  [..., contacts]; None: zeros
    options  tolerance, max_iterations, smoothing

    Where A is singular, f is the minimiser of least norm.

    >>> solution = carom.cone_solve(np.eye(2), [-1.0, -2.0], [0.5])
    >>> solution.f.round(12), solution.info.status
    (array([1.6, 0.8]), 'solved')
    >>> solution.vjp([1.0, 0.0]).b.round(12)
    array([-0.8, -0.4])
    """
    A, b, mu, lower, lead, count = _programs(A, b, mu, lower)
    size = b.shape[-1]
    chosen = ffi.new("carom_cone_options *", lib.carom_cone_default_options())
    set_options(lib.CAROM_CONE_OPTIONS, chosen, options)
    f = np.zeros((len(b), size))
    infos, solvers = [], []
    info = ffi.new("carom_cone_info *")
    program = ffi.new("carom_cone_program *", {
        "contact_count": count, "dimension": size // count if count else 2})
    for k in range(len(b)):
        solver = ffi.new("carom_cone_solver **")
        check(lib.carom_cone_solver_create(solver, error()))
        solvers.append(owned(solver[0], lib.carom_cone_solver_destroy))
        held = [pointer(A[k]), pointer(b[k]), pointer(mu[k]), pointer(lower[k])]
        program.A, program.b, program.mu, program.lower = held
        check(lib.carom_cone_solver_solve(solver[0], program, chosen, pointer(f[k]), info, error()))
        infos.append(ConeInfo(_statuses[info.status], info.newton_steps,
                              info.interior_steps, info.residual, info.singular, info.projected))
    return ConeSolution(f.reshape(*lead, size), infos, solvers, count)


def _programs(A: Any, b: Any, mu: Any, lower: Any) -> Tuple[Any, ...]:
    """Programs with one axis for the batch, checked."""
    A, b, mu = numbers(A, "A"), numbers(b, "b"), numbers(mu, "mu")
    lower = np.zeros(mu.shape) if lower is None else numbers(lower, "lower")
    if b.ndim < 1 or mu.ndim < 1 or A.shape != (*b.shape, b.shape[-1]):
        raise ValueError(f"A has shape {list(A.shape)} and b {list(b.shape)}, must be [..., C, C] "
                         "and [..., C]")
    count, size = mu.shape[-1], b.shape[-1]
    if mu.shape[:-1] != b.shape[:-1] or lower.shape != mu.shape:
        raise ValueError(f"mu has shape {list(mu.shape)} and lower {list(lower.shape)}, must both be "
                         f"{[*b.shape[:-1], 'contacts']}")
    if size != 0 and (count == 0 or size not in (count, 2 * count, 3 * count)):
        raise ValueError(f"b has {size} entries for {count} contacts, must have 1, 2 or 3 for each")
    lead = b.shape[:-1]
    return (A.reshape(-1, size, size) if size else A.reshape(int(np.prod(lead)), 0, 0),
            b.reshape(int(np.prod(lead)), size), mu.reshape(int(np.prod(lead)), count),
            lower.reshape(int(np.prod(lead)), count), lead, count)


def warn_unsolved(solution: ConeSolution, level: int) -> None:
    bad = [info for info in solution._infos if info.status not in ("solved", "degenerate")]
    if bad:
        worst = max(bad, key=lambda info: info.residual)
        warnings.warn(f"{len(bad)} of {len(solution._infos)} cone programs were not solved: "
                      f"{worst.status}, residual {worst.residual:.3g}", CaromWarning, stacklevel=level)


def cone_program(A: Any, b: Any, mu: Any, lower: Any = None, **options: Any) -> Any:
    """The impulses f of cone programs: see `cone_solve`, which also gives the derivative.

    Of torch tensors f is one too, and autograd goes through it. A program that was not solved is warned
    of (`carom.CaromWarning`).

    >>> carom.cone_program(np.eye(2), [-1.0, 0.5], [0.5]).round(12)
    array([ 1. , -0.5])
    """
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(part, torch.Tensor) for part in (A, b, mu, lower)):
        from .torch import cone_program as differentiable
        return differentiable(A, b, mu, lower, **options)
    solution = cone_solve(A, b, mu, lower, **options)
    warn_unsolved(solution, 3)
    return solution.f
