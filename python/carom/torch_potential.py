"""A potential energy written in torch, as the engine asks it: its gradient, and by autograd through that
gradient the Hessian times a vector and the cotangents of what the potential is made of."""
from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import Any, Callable, Deque, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import torch

from ._types import Array
from .system import System

# gradients whose graphs are kept in reverse: those of the four stages of a step are asked for again at once
_KEPT = 4
# a state asked for alone and in a batch may differ by rounding in single precision, not by more
_ROUNDING = 1e-3

Energy = Callable[[torch.Tensor], torch.Tensor]


def leaves_of(tensor: torch.Tensor) -> List[torch.Tensor]:
    """The leaf tensors that a result depends on, by its graph."""
    found, seen, todo = [], set(), [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.append(variable)
        todo.extend(following for following, _ in node.next_functions)
    return found


def split_like(vector: Optional[Array], tensors: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """A vector cut into tensors of the given shapes and types."""
    parts, first = [], 0
    for like in tensors:
        assert vector is not None
        part = torch.from_numpy(vector[first:first + like.numel()].copy())
        parts.append(part.reshape(like.shape).to(device=like.device, dtype=like.dtype))
        first += like.numel()
    return parts


class TorchPotential:
    """V(x) [batch] of x [batch, points, dimension] as a `carom.Potential`."""

    def __init__(self, energy: Energy, system: System, start: Array):
        if not callable(energy):
            raise TypeError(f"a potential is a module or a function of x, not {type(energy).__name__}")
        self.energy = energy
        own = list(energy.parameters()) if isinstance(energy, torch.nn.Module) else []
        like = next((part for part in own if part.is_floating_point()), None)
        # arithmetic is that of the module
        self._kind = {"dtype": torch.float64 if like is None else like.dtype,
                      "device": "cpu" if like is None else like.device}
        self._kept: Deque[Tuple[Array, torch.Tensor, torch.Tensor]] = deque(maxlen=_KEPT)
        self._in_reverse = False
        self.leaves: Tuple[torch.Tensor, ...] = tuple(part for part in own if part.requires_grad)
        start = start.reshape(-1, *system.state_shape) if start.size else start
        if start.shape[1:] == system.state_shape and np.isfinite(start).all():
            self._look(start)

    def _look(self, start: Array) -> None:
        """What it is made of, and whether it can be relied on."""
        at, value = self._value(start)
        known = {id(part) for part in self.leaves}
        self.leaves += tuple(part for part in leaves_of(value) if part is not at and id(part) not in known)
        together, alone = self.gradient(start)[:1], self.gradient(start[:1])
        if np.abs(together - alone).max() > _ROUNDING * np.abs(together).max():
            raise ValueError("the potential has another gradient when the same state is asked for again by "
                             "itself: it must not be random, and a state must not depend on others of the "
                             "batch. Is there dropout or batch normalisation in it? Call .eval()")

    @property
    def parameter_count(self) -> int:
        return sum(part.numel() for part in self.leaves)

    def _value(self, x: Array) -> Tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            at = torch.from_numpy(x).to(**self._kind).detach().requires_grad_()
            value = self.energy(at)
        if not isinstance(value, torch.Tensor) or value.numel() != len(x):
            got = list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
            raise ValueError(f"the potential gave {got} for {len(x)} states, must give one number for each, "
                             f"[{len(x)}]")
        return at, value

    def value(self, x: Array) -> Array:
        return _numbers(self._value(x)[1].reshape(-1))

    def _gradient(self, x: Array, graph: bool) -> Tuple[torch.Tensor, torch.Tensor]:
        at, value = self._value(x)
        found: Optional[torch.Tensor] = None
        with torch.enable_grad():
            if value.requires_grad:
                found, = torch.autograd.grad(value.sum(), at, create_graph=graph, retain_graph=True,
                                             allow_unused=True)
        return at, torch.zeros_like(at) if found is None else found

    def gradient(self, x: Array) -> Array:
        at, found = self._gradient(x, self._in_reverse)
        if self._in_reverse:
            self._kept.append((x, at, found))
        return _numbers(found)

    def gradient_vjp(self, x: Array, g_bar: Array) -> Any:
        at, found = next(((at, found) for asked, at, found in reversed(self._kept)
                          if asked.shape == x.shape and np.array_equal(asked, x)), (None, None))
        if at is None or found is None:
            at, found = self._gradient(x, True)
        wanted = [at, *self.leaves]
        parts: Sequence[Optional[torch.Tensor]] = [None] * len(wanted)
        if found.requires_grad:
            self._require_known(found, at)
            parts = torch.autograd.grad(found, wanted, torch.from_numpy(g_bar).to(found), retain_graph=True,
                                        allow_unused=True)
        bars = [np.zeros(like.numel()) if part is None else _numbers(part).reshape(-1)
                for part, like in zip(parts, wanted)]
        own = np.concatenate(bars[1:]) if len(bars) > 1 else np.zeros(0)
        x_bar = bars[0].reshape(x.shape)
        return (x_bar, own) if self.leaves else x_bar

    def _require_known(self, found: torch.Tensor, at: torch.Tensor) -> None:
        known = {id(part) for part in self.leaves}
        for part in leaves_of(found):
            if part is not at and id(part) not in known:
                raise RuntimeError(f"the potential depends on a tensor of shape {list(part.shape)} at some "
                                   "states and not at the first ones, so it would get no gradient; make it a "
                                   "parameter of a module")

    @contextmanager
    def reverse(self) -> Iterator[None]:
        """While the derivative asks: graphs of gradients are kept for the calls that follow."""
        self._in_reverse = True
        try:
            yield
        finally:
            self._in_reverse = False
            self._kept.clear()


def _numbers(tensor: torch.Tensor) -> Array:
    return tensor.detach().to(device="cpu", dtype=torch.float64).contiguous().numpy()
