"""How objects show themselves in a notebook: a system as a drawing, a trajectory as the page of
`carom view`, a run by its curves."""
from __future__ import annotations

import base64
import html
import io
import os
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._engine import check, error, ffi, file_lock, lib, path_bytes, pointer, string
from ._types import Array
from .errors import CaromError, CaromWarning

if TYPE_CHECKING:
    from .rollout import Trajectory
    from .run import Run
    from .system import System

_colours = ("#3b6fb6", "#c8553d", "#4f8a5b", "#8d6cab", "#b58a2c", "#3d8f97", "#a24a77", "#6b6f76")


# ---- pages ---------------------------------------------------------------------------------------

def page(*paths: Any, title: str = "carom", samples: int = 16,
         temporary: bool = False) -> str:
    """The page of `carom view` for files and run folders: HTML that needs nothing else."""
    names = [ffi.new("char[]", path_bytes(path)) for path in paths]
    size = ffi.new("size_t *")
    with file_lock():
        text = lib.carom_py_page(ffi.new("char *[]", names), len(names), title.encode(), samples,
                                 temporary, size, error())
    if text == ffi.NULL:
        check(error().status)
    try:
        return ffi.buffer(text, size[0])[:].decode()
    finally:
        lib.carom_py_free(text)


def view(shown: Any, path: Any = None, *, samples: int = 16) -> Optional[str]:
    """The page of a trajectory, a run, or any file of carom; written to `path` if one is given.

    >>> system = carom.System("bd1")
    >>> text = carom.view(system.rollout(*system.sample(1), steps=10))
    >>> text.lstrip().lower().startswith("<!doctype html>")
    True
    """
    from .rollout import Trajectory
    from .run import Run
    if isinstance(shown, Run):
        text = page(shown.folder, title=shown.folder.name, samples=samples)
    elif isinstance(shown, Trajectory):
        if shown.potential is not None:
            warnings.warn("the page's energy is that of the scene's gravity and springs, not of the potential "
                          "of this motion", CaromWarning, stacklevel=2)
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, (shown.system.name or "motion").replace("/", "-") + ".h5")
            shown.save(name)
            text = page(name, title=shown.system.name, samples=samples, temporary=True)
    else:
        text = page(shown, title=os.path.basename(os.fspath(shown)), samples=samples)
    if path is None:
        return text
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return None


def _frame(text: str) -> str:
    return (f'<iframe srcdoc="{html.escape(text, quote=True)}" width="100%" height="620" '
            'style="border: 0" sandbox="allow-scripts"></iframe>')


def trajectory_html(trajectory: "Trajectory") -> str:
    """The page in a frame; a drawing of paths where it cannot be made (no velocities)."""
    try:
        text = view(trajectory, samples=4)
        return _frame(text or "")
    except CaromError:
        x = trajectory.x if trajectory._batched else trajectory.x[None]
        return drawing(trajectory.system, x[0, 0], x[0])


def run_html(run: "Run") -> str:
    """Curves as a picture, learned beside true values as a table."""
    rows = []
    learned, true = run.model.properties(), run.model.true_properties()
    for name, value in learned.items():
        rows.append(f"<tr><td>{html.escape(name)}</td><td>{value:.5g}</td><td>{true[name]:.5g}</td></tr>")
    table = ("<table><tr><th>property</th><th>learned</th><th>scene</th></tr>" + "".join(rows)
             + "</table>")
    try:
        figure = run_figure(run)
    except ImportError:
        return table
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=90)
    return f'<img src="data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}">{table}'


def run_figure(run: "Run") -> Any:
    """Losses, and the properties that contacts have, over the epochs."""
    from matplotlib.figure import Figure
    metrics = run.metrics
    names = [name for name in metrics if name.split("/")[0] in ("friction", "restitution", "mass_ratio")]
    true = run.model.true_properties()
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    losses, properties = figure.subplots(1, 2)
    for name in ("loss", "validation_loss"):
        losses.semilogy(metrics["epoch"], metrics[name], label=name.replace("_", " "))
    losses.set(xlabel="epoch", title="loss")
    losses.legend()
    for k, name in enumerate(names[:8]):
        colour = _colours[k % len(_colours)]
        properties.plot(metrics["epoch"], metrics[name], color=colour, label=name)
        properties.axhline(true[name], color=colour, linestyle=":", linewidth=1)
    properties.set(xlabel="epoch", title="learned (dotted: the scene's)")
    if names:
        properties.legend(fontsize="small")
    return figure


# ---- drawings ------------------------------------------------------------------------------------

def system_html(system: "System") -> str:
    """A drawing of a sampled state, and what there is in words."""
    words = [_counted(system.body_count, "body", "bodies"), _counted(system.constraint_count, "constraint"),
             _counted(system.contact_count, "possible contact"), f"dt {system.dt:g}"]
    if system.control_size:
        words.append(_counted(system.control_size, "control"))
    text = (f"<div><b>{html.escape(system.name)}</b> {html.escape(system.description)}<br>"
            f"<small>{', '.join(words)}</small></div>")
    try:
        x, _ = system.sample(1, seed=0)
    except (CaromError, ValueError):
        return text
    return drawing(system, x[0]) + text


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _flat(points: Array) -> Array:
    """Places in the plane of the picture, y downwards; space is seen from the front, above, right."""
    if points.shape[-1] == 2:
        return points * (1, -1)
    turn, rise = np.radians(30), np.radians(20)
    right = np.array([np.cos(turn), np.sin(turn), 0])
    up = np.array([-np.sin(turn) * -np.sin(rise), np.cos(turn) * -np.sin(rise) * -1, np.cos(rise)])
    return np.stack([points @ right, -(points @ up)], -1)


def drawing(system: "System", x: Array, path: Optional[Array] = None) -> str:
    """A state as SVG; `path` [states, points, dimension] adds the way of the centres of mass."""
    shapes: List[str] = []
    d = system.dimension
    reach = 0.0
    bodies = [lib.carom_system_body(system._c, k) for k in range(system.body_count)]
    # centres of mass: the tips of axes are no part of a body
    centres = [body.first_point for body in bodies]
    seen = [_flat(x[centres])]
    for body in bodies:
        reach = max(reach, body.radius)
    if path is not None:
        seen.append(_flat(path[:, centres]).reshape(-1, 2))
    ties = [lib.carom_system_tie(system._c, k) for k in range(lib.carom_system_tie_count(system._c))]
    ends = [[_place(system, tie.ends[side], x) for side in (0, 1)] for tie in ties]
    seen += [_flat(np.array(pair)) for pair in ends]
    if d == 2:
        seen += _feet(system, x[centres].mean(0), reach)
    low = np.min([part.min(0) for part in seen], 0) - reach
    high = np.max([part.max(0) for part in seen], 0) + reach
    size = max(float((high - low).max()), 1e-9)
    low, high = low - 0.12 * size, high + 0.12 * size
    line = size / 150
    if d == 2:
        shapes += _walls(system, low, high, line)
    for tie, pair in zip(ties, ends):
        a, b = _flat(np.array(pair))
        dash = f' stroke-dasharray="{3 * line:.4g}"' if tie.kind == lib.CAROM_TIE_SPRING else ""
        shapes.append(_line(a, b, "#8a8f98", 1.5 * line, dash))
    for k, body in enumerate(bodies):
        colour = _colours[k % len(_colours)]
        if path is not None:
            way = " ".join(f"{p[0]:.5g},{p[1]:.5g}" for p in _flat(path[:, body.first_point]))
            shapes.append(f'<polyline points="{way}" fill="none" stroke="{colour}" '
                          f'stroke-width="{line:.4g}" opacity="0.6"/>')
        shapes += _body(system, body, x, colour, line)
    box = f"{low[0]:.5g} {low[1]:.5g} {high[0] - low[0]:.5g} {high[1] - low[1]:.5g}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="360" height="280" '
            f'role="img" aria-label="{html.escape(system.name, quote=True)}">{"".join(shapes)}</svg>')


def _place(system: "System", place: Any, x: Array) -> Array:
    at = np.empty(system.dimension)
    here = ffi.new("carom_place *", place)
    x = np.ascontiguousarray(x)
    lib.carom_place_position(here, system._c, pointer(x), pointer(at))
    return at


def _line(a: Union[Array, Sequence[float]], b: Union[Array, Sequence[float]], colour: str, width: float,
          more: str = "") -> str:
    return (f'<line x1="{a[0]:.5g}" y1="{a[1]:.5g}" x2="{b[0]:.5g}" y2="{b[1]:.5g}" stroke="{colour}" '
            f'stroke-width="{width:.4g}"{more}/>')


def _feet(system: "System", centre: Array, reach: float) -> List[Array]:
    """The places of planes that are nearest to the bodies, unless that is far away."""
    found = []
    for k in range(lib.carom_system_plane_count(system._c)):
        plane = lib.carom_system_plane(system._c, k)
        normal = np.array([plane.normal[0], plane.normal[1]])
        distance = float(centre @ normal) + plane.offset
        if abs(distance) < max(20 * reach, 2.0):
            found.append(_flat(centre - distance * normal)[None])
    return found


def _walls(system: "System", low: Array, high: Array, line: float) -> List[str]:
    """Planes as lines across the picture, where they cross it."""
    shapes = []
    for k in range(lib.carom_system_plane_count(system._c)):
        plane = lib.carom_system_plane(system._c, k)
        normal = np.array([plane.normal[0], -plane.normal[1]])
        foot, along = -plane.offset * normal, np.array([-normal[1], normal[0]])
        far = float(np.abs(high - low).sum() + np.abs(foot).sum())
        shapes.append(_line(foot - far * along, foot + far * along, "#40454d", 2 * line))
    return shapes


def _body(system: "System", body: Any, x: Array, colour: str, line: float) -> List[str]:
    d, first = system.dimension, body.first_point
    centre = _flat(x[first])
    style = f'fill="{colour}" fill-opacity="0.35" stroke="{colour}" stroke-width="{line:.4g}"'
    shapes = []
    if body.shape in (lib.CAROM_SHAPE_RIM, lib.CAROM_SHAPE_POINTS) and body.shape_point_count > 0:
        local = np.array([[body.shape_points[i * d + j] for j in range(d)]
                          for i in range(body.shape_point_count)])
        places = _flat(x[first] + local @ (x[first + 1:first + 1 + d] - x[first]))
        if body.shape == lib.CAROM_SHAPE_POINTS:
            middle = places.mean(0)
            places = places[np.argsort(np.arctan2(*(places - middle).T[::-1]))]
        shapes.append(f'<polygon points="{" ".join(f"{p[0]:.5g},{p[1]:.5g}" for p in places)}" {style}/>')
    else:
        radius = body.radius if body.radius > 0 else 2.5 * line
        shapes.append(f'<circle cx="{centre[0]:.5g}" cy="{centre[1]:.5g}" r="{radius:.5g}" {style}/>')
    if body.rigid and d == 2 and body.radius > 0:
        tip = _flat(x[first] + body.radius * (x[first + 1] - x[first]))
        shapes.append(_line(centre, tip, colour, line))
    return shapes
