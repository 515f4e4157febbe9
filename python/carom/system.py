"""Systems: what a scene describes, its parameters, its initial states."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._engine import (NULL, check, error, ffi, file_lock, lib, numbers, path_bytes, pointer,
                      set_options, shaped, string)
from ._types import Array

if TYPE_CHECKING:
    from .pose import Pose
    from .potential import Potential
    from .rollout import Trajectory

ArrayLike = Any


class Control(NamedTuple):
    """A force or torque from outside: where its numbers stand among those of a time step."""
    id: str
    kind: str
    body: int
    numbers: slice


class Contact(NamedTuple):
    """A contact near a state, or acting at the end of a step from it."""
    index: int  # type: ignore[assignment]  # a tuple has a method of this name
    label: str
    bodies: Tuple[int, int]
    gap: float
    point: Array
    normal: Array
    normal_impulse: float
    impulse: Array


class Energy(NamedTuple):
    kinetic: Array
    potential: Array


_control_kinds = {lib.CAROM_CONTROL_FORCE: "force", lib.CAROM_CONTROL_TORQUE: "torque"}


class Parameters:
    """The parameters of a system as one vector in named segments.

    A segment is a view: writing to it changes the vector. `mass` and `moment` are the exponentials of
    the segments `log_mass` and `log_moment`.

    >>> theta = carom.System("cp3").parameters()
    >>> theta["friction"][:3]
    array([0.5, 0.5, 0.5])
    >>> theta["friction"] = 0.2
    >>> theta["mass"].round(6)
    array([0.1 , 0.2 , 0.15])
    >>> theta.array.shape == (len(theta),)
    True
    """
    __slots__ = ("system", "array", "is_gradient")

    def __init__(self, system: "System", array: Array, is_gradient: bool = False):
        self.system = system
        self.array = array
        self.is_gradient = is_gradient

    @property
    def segments(self) -> Dict[str, slice]:
        """Where each segment stands in the vector."""
        return self.system._segments

    def keys(self) -> List[str]:
        return list(self.segments)

    def __iter__(self) -> Iterator[str]:
        return iter(self.segments)

    def __len__(self) -> int:
        return len(self.array)

    def __contains__(self, name: object) -> bool:
        return name in self.segments

    def _logarithm(self, name: str) -> Optional[str]:
        return "log_" + name if name in ("mass", "moment") and not self.is_gradient else None

    def __getitem__(self, name: str) -> Array:
        logarithm = self._logarithm(name)
        if logarithm is not None:
            return np.exp(self[logarithm])
        place = self.segments.get(name)
        if place is None:
            raise KeyError(f"there is no segment {name!r}; there are {', '.join(self.segments)}")
        part = self.array[place]
        return part.reshape(-1, self.system.dimension) if name == "log_moment" else part

    def __setitem__(self, name: str, values: ArrayLike) -> None:
        logarithm = self._logarithm(name)
        if logarithm is not None:
            values = numbers(values, name)
            if not np.all(values > 0):
                raise ValueError(f"{name} must be positive")
            name, values = logarithm, np.log(values)
        self[name][...] = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        array = self.array if dtype is None else self.array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def copy(self) -> "Parameters":
        return Parameters(self.system, self.array.copy(), self.is_gradient)

    def to_dict(self) -> Dict[str, Array]:
        """Copies of all segments by their names."""
        return {name: self[name].copy() for name in self.segments}

    def check(self) -> None:
        """Raises ValueError unless all are finite, friction >= 0, restitution in [0, 1]."""
        check(lib.carom_parameters_check(self.system._c, pointer(self.array), error()))

    def save(self, path: Any) -> None:
        """Writes them to an HDF5 file, masses and moments as they are."""
        with file_lock():
            check(lib.carom_parameters_write(self.system._c, pointer(self.array), path_bytes(path),
                                             error()))

    def __repr__(self) -> str:
        word = "Gradient by parameters" if self.is_gradient else "Parameters"
        with np.printoptions(precision=6, threshold=8, edgeitems=3):
            lines = [f"  {name:<12} {np.array2string(self[name], prefix=' ' * 15)}"
                     for name in self.segments if self[name].size]
        return f"{word} of {self.system.name}, {len(self)} numbers\n" + "\n".join(lines)

    def __reduce__(self) -> Any:
        return Parameters, (self.system, self.array, self.is_gradient)


Theta = Union[None, Parameters, Mapping[str, ArrayLike], ArrayLike]


class System:
    """Bodies, joints, planes and contacts: what a scene describes.

    `scene` is the name of a built-in scene (`carom.scenes()`), the path of a scene file, a dict, or JSON
    text. A system never changes; threads may share it.

    >>> system = carom.System("cp3")
    >>> system.body_count, system.dimension, system.state_shape
    (3, 2, (3, 2))
    >>> carom.System({**system.scene, "name": "moon", "gravity": [0, -1.62]})
    System('moon', 3 bodies in 2D)
    """

    def __init__(self, scene: Union[str, "os.PathLike[str]", Mapping[str, Any]]):
        system = ffi.new("carom_system **")
        origin = NULL
        if isinstance(scene, Mapping):
            scene, origin = json.dumps(scene), b"dict"
        elif isinstance(scene, str) and scene.lstrip()[:1] in ("{", "["):
            origin = b"text"
        elif not isinstance(scene, (str, os.PathLike)):
            raise TypeError(f"a scene is a name, path, dict or JSON text, not {type(scene).__name__}")
        if origin != NULL:
            data = scene.encode()  # type: ignore[union-attr]
            check(lib.carom_system_parse(data, len(data), origin, system, error()))
        else:
            check(lib.carom_system_load(path_bytes(scene), system, error()))
        self._c = ffi.gc(system[0], lib.carom_system_destroy)
        info = lib.carom_system_describe(self._c)
        self.name: str = string(info.name)
        self.description: str = string(info.description)
        self.json: str = string(info.json)
        self.dimension: int = info.dimension
        self.body_count: int = info.body_count
        self.point_count: int = info.point_count
        self.constraint_count: int = info.constraint_count
        self.contact_count: int = info.contact_count
        self.spring_count: int = info.spring_count
        self.control_size: int = info.control_size
        self.dt: float = info.dt
        self.steps: int = info.steps
        self.shared_properties: bool = info.shared_properties
        self.conservative: bool = info.conservative
        self._control_count: int = info.control_count
        #: (points, dimension)
        self.state_shape: Tuple[int, int] = (self.point_count, self.dimension)
        self._segments = {}
        for k in range(lib.CAROM_SEGMENT_COUNT):
            segment = lib.carom_parameters_segment(self._c, k)
            self._segments[string(segment.name)] = slice(segment.offset,
                                                         segment.offset + segment.size)
        self._parameter_count: int = lib.carom_parameters_count(self._c)
        self._options: Dict[Any, Any] = {}
        self._pool: Dict[Any, Any] = {}

    # ---- what it is made of ----

    @property
    def scene(self) -> Dict[str, Any]:
        """The scene as a dict."""
        return json.loads(self.json)

    @property
    def bodies(self) -> List[str]:
        """The bodies' names."""
        return [string(lib.carom_system_body_id(self._c, k)) for k in range(self.body_count)]

    @property
    def rigid(self) -> List[bool]:
        """Which bodies can turn."""
        return [lib.carom_system_body_is_rigid(self._c, k) for k in range(self.body_count)]

    @property
    def contacts(self) -> List[str]:
        """Labels of the possible contacts, in the order of friction and restitution."""
        return [self._label(k) for k in range(self.contact_count)]

    @property
    def controls(self) -> List[Control]:
        """The forces and torques that a rollout may be given."""
        found = []
        for k in range(self._control_count):
            info = lib.carom_system_control(self._c, k)
            found.append(Control(string(info.id), _control_kinds[info.kind], info.body,
                                 slice(info.first, info.first + info.size)))
        return found

    def _label(self, contact: int) -> str:
        buffer = ffi.new("char[96]")
        lib.carom_system_contact_label(self._c, contact, buffer, 96)
        return string(buffer)

    def __repr__(self) -> str:
        word = "body" if self.body_count == 1 else "bodies"
        return f"System({self.name!r}, {self.body_count} {word} in {self.dimension}D)"

    def _repr_html_(self) -> str:
        from .notebook import system_html
        return system_html(self)

    def __reduce__(self) -> Any:
        return System, (self.json,)

    # ---- parameters ----

    def parameters(self, values: Theta = None) -> Parameters:
        """The scene's parameters, with those of `values` in their place: a dict of segments, a vector,
        or a file that `Parameters.save` or `carom` wrote."""
        theta = np.empty(self._parameter_count)
        lib.carom_parameters_default(self._c, pointer(theta))
        made = Parameters(self, theta)
        if isinstance(values, (str, os.PathLike)):
            with file_lock():
                check(lib.carom_parameters_read(self._c, path_bytes(values), pointer(theta), error()))
        elif isinstance(values, Mapping):
            for name, part in values.items():
                made[name] = part
        elif values is not None:
            theta[...] = self._theta(values)
        return made

    def _theta(self, values: Theta) -> Optional[Array]:
        if values is None:
            return None
        if isinstance(values, Parameters):
            if values.array.shape == (self._parameter_count,):
                return numbers(values.array, "theta")
            raise ValueError(f"theta belongs to {values.system.name}, not to {self.name}")
        if isinstance(values, Mapping):
            return self.parameters(values).array
        return shaped(values, (self._parameter_count,), "theta")

    # ---- states ----

    def sample(self, count: int, seed: int = 0) -> Tuple[Array, Array]:
        """Draws `count` initial states with the scene's sampler; sample k depends on (seed, k) only.

        >>> x0, v0 = carom.System("bp5").sample(8, seed=1)
        >>> x0.shape
        (8, 5, 2)
        """
        if not 0 <= count < 2 ** 31:
            raise ValueError(f"count is {count}, must be at least 0 and below 2^31")
        if not 0 <= seed < 2 ** 64:
            raise ValueError(f"seed is {seed}, must be at least 0 and below 2^64")
        x = np.empty((count, *self.state_shape))
        v = np.empty_like(x)
        check(lib.carom_system_sample(self._c, seed, count, pointer(x), pointer(v), error()))
        return x, v

    def check_states(self, x: ArrayLike, v: ArrayLike, tolerance: float = 1e-6) -> None:
        """Raises DataError unless states are finite and hold the constraints to `tolerance`."""
        x, v, _ = self._states(x, v)
        check(lib.carom_system_check_states(self._c, len(x), pointer(x), pointer(v), tolerance,
                                            error()))

    def energy(self, x: ArrayLike, v: ArrayLike, theta: Theta = None) -> Energy:
        """Kinetic and potential energy of states [..., points, dimension]."""
        x, v = numbers(x, "x"), numbers(v, "v")
        if x.shape[-2:] != self.state_shape or x.shape != v.shape:
            raise ValueError(f"x and v have shapes {list(x.shape)} and {list(v.shape)}, must both be "
                             f"[..., {self.point_count}, {self.dimension}]")
        theta = self._theta(theta)
        flat_x, flat_v = x.reshape(-1, *self.state_shape), v.reshape(-1, *self.state_shape)
        kinetic, potential = np.empty(len(flat_x)), np.empty(len(flat_x))
        at = ffi.new("double[2]")
        for k in range(len(flat_x)):
            check(lib.carom_system_energy(self._c, pointer(theta), pointer(flat_x[k]),
                                          pointer(flat_v[k]), at, at + 1, error()))
            kinetic[k], potential[k] = at[0], at[1]
        return Energy(kinetic.reshape(x.shape[:-2]), potential.reshape(x.shape[:-2]))

    def contacts_at(self, x: ArrayLike, margin: float = 0.0) -> List[Contact]:
        """The possible contacts whose gap at a state x [points, dimension] is below `margin`."""
        x = shaped(x, self.state_shape, "x")
        found = ffi.new("carom_contact_list *")
        check(lib.carom_system_contacts(self._c, pointer(x), margin, found, error()))
        return self._contact_list(found)

    def step_contacts(self, x: ArrayLike, v: ArrayLike, theta: Theta = None, u: ArrayLike = None,
                      **options: Any) -> List[Contact]:
        """The contacts that act at the end of one time step from a state, with their impulses."""
        x, v = shaped(x, self.state_shape, "x"), shaped(v, self.state_shape, "v")
        theta = self._theta(theta)
        if u is not None:
            u = shaped(u, (self.control_size,), "u")
        found = ffi.new("carom_contact_list *")
        chosen = self._rollout_options(options)
        check(lib.carom_system_step_contacts(self._c, chosen, pointer(theta), pointer(x), pointer(v),
                                             pointer(u), found, error()))
        return self._contact_list(found)

    def _contact_list(self, found: Any) -> List[Contact]:
        d = self.dimension
        made = [Contact(c.contact, self._label(c.contact), (c.bodies[0], c.bodies[1]), c.gap,
                        np.array([c.point[i] for i in range(d)]),
                        np.array([c.normal[i] for i in range(d)]), c.normal_impulse,
                        np.array([c.impulse[i] for i in range(d)]))
                for c in (found.items[k] for k in range(found.count))]
        lib.carom_contact_list_free(found)
        return made

    def _states(self, x: ArrayLike, v: ArrayLike) -> Tuple[Array, Array, bool]:
        """States as [batch, points, dimension], and whether they had a batch axis."""
        x, v = numbers(x, "x0"), numbers(v, "v0")
        batched = x.ndim != 2
        if x.shape[-2:] != self.state_shape or x.ndim not in (2, 3):
            raise ValueError(f"x0 has shape {list(x.shape)}, must be "
                             f"[batch, {self.point_count}, {self.dimension}]")
        if v.shape != x.shape:
            raise ValueError(f"v0 has shape {list(v.shape)}, must be that of x0, {list(x.shape)}")
        return (x, v, True) if batched else (x[None], v[None], False)

    # ---- motion ----

    def _rollout_options(self, given: Mapping[str, Any]) -> Any:
        key = tuple(sorted(given.items()))
        found = self._options.get(key)
        if found is None:
            found = ffi.new("carom_rollout_options *", lib.carom_rollout_default_options(self._c))
            set_options(lib.CAROM_ROLLOUT_OPTIONS, found, given)
            if len(self._options) > 256:
                self._options.clear()
            self._options[key] = found
        return found

    def rollout(self, x0: ArrayLike, v0: ArrayLike, theta: Theta = None, u: ArrayLike = None, *,
                gradient: bool = True, potential: Optional["Potential"] = None,
                beside_scene: bool = False, **options: Any) -> "Trajectory":
        """Simulates a batch of trajectories from x0, v0 [batch, points, dimension].

        theta   parameters: a `Parameters`, a vector, or a dict of segments; None: the scene's
        u       controls [batch, steps, control_size]; None: none
        gradient  False keeps no tape: less memory, no derivative
        potential  a potential energy of your own (`carom.Potential`) in the place of the scene's gravity
                  and springs, or beside them if `beside_scene`
        options   `carom.rollout_options()`: steps, dt, integrator="rk4", contact_time="event",
                  keep_impacts=True, threads=1, ...

        A single state [points, dimension] gives arrays without the batch axis.

        >>> system = carom.System("bd1")
        >>> x0, v0 = system.sample(4, seed=1)
        >>> traj = system.rollout(x0, v0, steps=100)
        >>> traj.x.shape, bool(traj.contact.any())
        ((4, 101, 3, 2), True)
        """
        return _rollout.run(self, x0, v0, theta, u, gradient, options, potential, beside_scene)

    # ---- poses ----

    def to_pose(self, x: ArrayLike, v: ArrayLike = None) -> "Pose":
        """States [..., points, dimension] as poses of bodies: `carom.Pose`."""
        from .pose import to_pose
        return to_pose(self, x, v)

    def from_pose(self, position: Any, angle: ArrayLike = None, velocity: ArrayLike = None,
                  angular_velocity: ArrayLike = None, *,
                  quaternion: ArrayLike = None) -> Tuple[Array, Array]:
        """States (x, v) from poses of bodies: a `carom.Pose`, or its arrays.

        >>> system = carom.System("bd1")
        >>> x, v = system.from_pose([[0.5, 0.5]], angle=[0.1], velocity=[[1, 0]],
        ...                         angular_velocity=[2.0])
        >>> x.shape
        (3, 2)
        """
        from .pose import Pose, from_pose
        if isinstance(position, Pose):
            return from_pose(self, position)
        return from_pose(self, Pose(position, angle, quaternion, velocity, angular_velocity))


def scenes() -> List[str]:
    """Names of the built-in scenes.

    >>> "cp3" in carom.scenes()
    True
    """
    return [string(lib.carom_scene_name(k)) for k in range(lib.carom_scene_count())]


from . import rollout as _rollout  # noqa: E402  (it needs the classes above)
