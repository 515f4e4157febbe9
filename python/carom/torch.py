"""carom in PyTorch: rollouts and cone programs through which autograd goes.

>>> system = carom.System("cp3")
>>> x0, v0 = (torch.from_numpy(part) for part in system.sample(4, seed=1))
>>> mu = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
>>> x, v = carom.torch.rollout(system, x0, v0, {"friction": mu}, steps=50)
>>> x[:, -1].sum().backward()
>>> mu.grad.shape
torch.Size([])

Arithmetic is in double precision on the CPU; tensors of other types and devices are converted, and results
come back as x0 is. Derivatives are of first order.
"""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Tuple, Union

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from ._types import Array
from .cone import cone_solve, warn_unsolved
from .rollout import run
from .system import Parameters, System
from .torch_potential import TorchPotential, split_like

__all__ = ["rollout", "cone_program", "parameters", "Simulator"]


def _double(tensor: Any) -> torch.Tensor:
    """A tensor of doubles on the CPU, differentiably."""
    if not isinstance(tensor, torch.Tensor):
        tensor = torch.as_tensor(np.asarray(tensor, dtype=np.float64))
    if tensor.is_complex():
        raise TypeError(f"a tensor has values of type {tensor.dtype}, must be real numbers")
    return tensor.to(device="cpu", dtype=torch.float64)


def _array(tensor: torch.Tensor) -> Array:
    return tensor.detach().contiguous().numpy()


def _tensor(array: Optional[Array]) -> Optional[torch.Tensor]:
    """A tensor with a copy of its own."""
    return None if array is None else torch.from_numpy(np.array(array))


class _Rollout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, system: System, options: Dict[str, Any], energy: Optional[TorchPotential],
                beside_scene: bool, x0: torch.Tensor, v0: torch.Tensor, theta: Optional[torch.Tensor],
                u: Optional[torch.Tensor], *leaves: torch.Tensor) -> Any:
        wanted = any(ctx.needs_input_grad)
        ctx.trajectory = run(system, _array(x0), _array(v0), None if theta is None else _array(theta),
                             None if u is None else _array(u), wanted, options, energy, beside_scene)
        ctx.energy = energy
        # the derivative asks the potential again: what it is made of must not have changed by then
        ctx.save_for_backward(*leaves)
        return _tensor(ctx.trajectory.x), _tensor(ctx.trajectory.v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, x_bar: torch.Tensor, v_bar: torch.Tensor) -> Any:
        leaves = ctx.saved_tensors
        with ctx.energy.reverse() if ctx.energy is not None else nullcontext():
            grads = ctx.trajectory.vjp(_array(x_bar), _array(v_bar))
        needs = ctx.needs_input_grad[4:]
        given = (grads.x0, grads.v0, grads.theta.array, grads.u)
        return (None, None, None, None,
                *(_tensor(part) if need else None for part, need in zip(given, needs)),
                *split_like(grads.potential, leaves))


def rollout(system: System, x0: torch.Tensor, v0: torch.Tensor,
            theta: Union[None, torch.Tensor, Parameters, Mapping[str, Any]] = None,
            u: Optional[torch.Tensor] = None, *,
            potential: Optional[Callable[[torch.Tensor], torch.Tensor]] = None,
            beside_scene: bool = False, **options: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    """Trajectories x, v [batch, steps + 1, points, dimension] from x0, v0 [batch, points, dimension].

    theta    the whole vector of parameters, or a dict of segments ({"friction": mu, "mass": m}), each
             a tensor of the segment's shape or one that expands to it; None: the scene's
    u        controls [batch, steps, control_size]
    potential  a potential energy of your own in the place of the scene's gravity and springs (beside them
             if `beside_scene`): a module or function that gives V [batch] of x [batch, points, dimension],
             twice differentiable. Gradients go to all tensors that it is made of
    options  as `System.rollout`: steps, contact_time="event", ...

    Each result owns its tape: several forward passes may come before a backward one.

    >>> system = carom.System("cp3")
    >>> x0, v0 = (torch.from_numpy(part) for part in system.sample(4, seed=1))
    >>> V = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 16), torch.nn.Softplus(),
    ...                         torch.nn.Linear(16, 1))
    >>> x, v = carom.torch.rollout(system, x0, v0, potential=V, steps=10)
    >>> x[:, -1].sum().backward()
    >>> V[1].weight.grad.shape
    torch.Size([16, 6])
    """
    x0, v0 = torch.as_tensor(x0), torch.as_tensor(v0)
    vector = None if theta is None else parameters(system, theta)
    start = _double(x0)
    energy = None if potential is None else TorchPotential(potential, system, _array(start))
    x, v = _Rollout.apply(system, options, energy, bool(beside_scene), start, _double(v0), vector,
                          None if u is None else _double(u), *(energy.leaves if energy is not None else ()))
    kind = x0.dtype if x0.is_floating_point() else torch.float64
    return x.to(device=x0.device, dtype=kind), v.to(device=x0.device, dtype=kind)


def parameters(system: System, values: Union[None, torch.Tensor, Parameters, Mapping[str, Any]] = None
               ) -> torch.Tensor:
    """The vector of a system's parameters, differentiable by what `values` gives of it: a whole vector,
    or a dict of segments; `mass` and `moment` stand for their logarithms.

    >>> system = carom.System("cp3")
    >>> carom.torch.parameters(system, {"restitution": 0.5}).shape
    torch.Size([28])
    """
    scene = system.parameters()
    if values is None:
        return torch.from_numpy(scene.array)
    if isinstance(values, Parameters):
        return torch.from_numpy(values.array.copy())
    if not isinstance(values, Mapping):
        return _double(values)
    given: Dict[str, torch.Tensor] = {}
    for name, part in values.items():
        part = _double(part)
        if name in ("mass", "moment"):
            name, part = "log_" + name, torch.log(part)
        if name not in scene:
            raise KeyError(f"there is no segment {name!r}; there are {', '.join(scene)}")
        given[name] = part
    parts = []
    for name in scene:
        own = torch.from_numpy(scene[name])
        parts.append((given[name].expand(own.shape) if name in given else own).reshape(-1))
    return torch.cat(parts)


class _ConeProgram(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, options: Dict[str, Any], A: torch.Tensor, b: torch.Tensor, mu: torch.Tensor,
                lower: torch.Tensor) -> Any:
        ctx.solution = cone_solve(_array(A), _array(b), _array(mu), _array(lower), **options)
        warn_unsolved(ctx.solution, 5)
        return _tensor(ctx.solution.f)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, f_bar: torch.Tensor) -> Any:
        return (None, *(_tensor(part) for part in ctx.solution.vjp(_array(f_bar))))


def cone_program(A: torch.Tensor, b: torch.Tensor, mu: torch.Tensor, lower: Optional[torch.Tensor] = None,
                 **options: Any) -> torch.Tensor:
    """The impulses f of cone programs (`carom.cone_solve`) as a layer; the symmetric part of A counts.

    >>> b = torch.tensor([-1.0, -2.0], requires_grad=True)
    >>> f = carom.torch.cone_program(torch.eye(2), b, torch.tensor([0.5]))
    >>> f.sum().backward()
    >>> b.grad
    tensor([-1.2000, -0.6000])
    """
    like = next(part for part in (b, A, mu, lower) if isinstance(part, torch.Tensor))
    A, b, mu = _double(A), _double(b), _double(mu)
    # axes of the batch: those of any of them
    lead = torch.broadcast_shapes(A.shape[:-2], b.shape[:-1], mu.shape[:-1])
    A, b = A.expand(*lead, *A.shape[-2:]), b.expand(*lead, *b.shape[-1:])
    mu = mu.expand(*lead, *mu.shape[-1:])
    lower = torch.zeros_like(mu) if lower is None else _double(lower).expand(mu.shape)
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"A has shape {list(A.shape)}, must be [..., C, C]")
    f = _ConeProgram.apply(options, (A + A.transpose(-1, -2)) / 2, b, mu, lower)
    kind = like.dtype if like.is_floating_point() else torch.float64
    return f.to(device=like.device, dtype=kind)


class Simulator(torch.nn.Module):
    """A system as a module whose named segments of parameters are learned.

    learn    segments: "friction", "restitution", "log_mass", "log_moment", "gravity", ...
    potential  a module in the place of the scene's gravity and springs, or beside them: `rollout`
    options  as `System.rollout`

    Friction and restitution are kept in their ranges (friction >= 0, restitution in [0, 1]) when they are
    used; what overshot the end gets the gradient that leads back.

    >>> system = carom.System("bd1")
    >>> simulator = carom.torch.Simulator(system, ["friction", "log_mass"], steps=5)
    >>> [name for name, _ in simulator.named_parameters()]
    ['friction', 'log_mass']
    >>> x, v = simulator(*(torch.from_numpy(part) for part in system.sample(2)))
    >>> x.shape
    torch.Size([2, 6, 3, 2])
    """

    def __init__(self, system: System, learn: Iterable[str] = ("friction", "restitution"), *,
                 potential: Optional[Callable[[torch.Tensor], torch.Tensor]] = None,
                 beside_scene: bool = False, **options: Any):
        super().__init__()
        self.potential = potential
        self.beside_scene = beside_scene
        self.system = system
        self.options = options
        self._learned = tuple(learn)
        theta = system.parameters()
        for name in self._learned:
            if name not in theta:
                raise KeyError(f"there is no segment {name!r}; there are {', '.join(theta)}")
            setattr(self, name, torch.nn.Parameter(torch.from_numpy(theta[name].copy())))

    def theta(self) -> torch.Tensor:
        """The whole vector of parameters."""
        given = {name: getattr(self, name) for name in self._learned}
        if "friction" in given:
            given["friction"] = _Clamp.apply(given["friction"], 0.0, float("inf"))
        if "restitution" in given:
            given["restitution"] = _Clamp.apply(given["restitution"], 0.0, 1.0)
        return parameters(self.system, given)

    def forward(self, x0: torch.Tensor, v0: torch.Tensor, u: Optional[torch.Tensor] = None,
                **options: Any) -> Tuple[torch.Tensor, torch.Tensor]:
        return rollout(self.system, x0, v0, self.theta(), u, potential=self.potential,
                       beside_scene=self.beside_scene, **{**self.options, **options})


class _Clamp(torch.autograd.Function):
    """Clamps; the gradient is kept inside, and outside where a descent leads back."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, low: float, high: float) -> torch.Tensor:
        ctx.save_for_backward(value)
        ctx.ends = low, high
        return value.clamp(low, high)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, bar: torch.Tensor) -> Any:
        (value,), (low, high) = ctx.saved_tensors, ctx.ends
        kept = ((value > low) | (bar < 0)) & ((value < high) | (bar > 0))
        return torch.where(kept, bar, torch.zeros_like(bar)), None, None
