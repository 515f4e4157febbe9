"""Potential energies of the user's own: the engine asks them for their gradient at every stage of the
integrator, and in reverse for the derivative of that."""
from __future__ import annotations

from typing import Any, Protocol, Tuple, Union

import numpy as np

from ._engine import NULL, Watch, ffi, lib, shaped
from ._types import Array


class Potential(Protocol):
    """What `System.rollout(..., potential=...)` takes: V(x) by its gradient and the derivative of that.

    x and the results are [count, points, dimension]: `count` states, each to be treated by itself, all of a
    batch at once. The same question must have the same answer, for the derivative asks again.

    A potential with parameters of its own has `parameter_count`, and its `gradient_vjp` gives their
    cotangent too; that of a whole rollout is `grads.potential`. A method `value(x)`, [count], is needed for
    `traj.energy()` alone.

    >>> class Well:                                   # V = p/4 sum x^4
    ...     parameter_count = 1
    ...     def __init__(self, p): self.p = p
    ...     def gradient(self, x): return self.p * x ** 3
    ...     def gradient_vjp(self, x, g_bar): return 3 * self.p * x ** 2 * g_bar, [(x ** 3 * g_bar).sum()]
    >>> system = carom.System("cp3")
    >>> traj = system.rollout(*system.sample(4, seed=1), potential=Well(0.2), steps=20)
    >>> traj.vjp(np.ones_like(traj.x)).potential.shape
    (1,)
    """

    def gradient(self, x: Array) -> Array:
        """dV/dx."""

    def gradient_vjp(self, x: Array, g_bar: Array) -> Union[Array, Tuple[Array, Array]]:
        """The Hessian at x times g_bar, and with it the cotangent of the parameters, if there are any."""


class Asked:
    """A potential as the engine's callbacks see it."""
    __slots__ = ("potential", "shape", "parameter_count")

    def __init__(self, potential: Potential, state_shape: Tuple[int, int]):
        for name in ("gradient", "gradient_vjp"):
            if not callable(getattr(potential, name, None)):
                raise TypeError(f"a potential has a method {name!r}, which {type(potential).__name__} has "
                                "not; see help(carom.Potential)")
        self.potential = potential
        self.shape = state_shape
        self.parameter_count = int(getattr(potential, "parameter_count", 0))

    def struct(self, watch: Watch, beside_scene: bool) -> Any:
        """For the library; `watch` keeps it and what it raises."""
        watch.state.potential = self
        return ffi.new("carom_potential *", {
            "gradient": lib.carom_py_gradient, "gradient_vjp": lib.carom_py_gradient_vjp,
            "parameter_count": self.parameter_count, "beside_scene": beside_scene,
            "user": watch.handle})

    def _place(self, address: Any, count: int) -> Array:
        shape = (count, *self.shape)
        size = 8 * count * self.shape[0] * self.shape[1]
        return np.frombuffer(ffi.buffer(address, size)).reshape(shape)

    def gradient(self, count: int, x: Any, gradient: Any) -> None:
        # a copy: who keeps it may do so
        at = self._place(x, count).copy()
        self._place(gradient, count)[...] = shaped(self.potential.gradient(at), at.shape,
                                                   "the potential's gradient")

    def gradient_vjp(self, count: int, x: Any, g_bar: Any, x_bar: Any, parameters_bar: Any) -> None:
        at, bar = self._place(x, count).copy(), self._place(g_bar, count).copy()
        given = self.potential.gradient_vjp(at, bar)
        own = None
        if self.parameter_count > 0:
            if not isinstance(given, tuple) or len(given) != 2:
                raise TypeError("gradient_vjp of a potential with parameters gives two arrays, the cotangents "
                                "of x and of the parameters")
            given, own = given
        self._place(x_bar, count)[...] += shaped(given, at.shape, "the potential's cotangent of x")
        if own is None or parameters_bar == NULL:
            return
        place = np.frombuffer(ffi.buffer(parameters_bar, 8 * self.parameter_count))
        place += shaped(own, place.shape, "the potential's cotangent of its parameters")
