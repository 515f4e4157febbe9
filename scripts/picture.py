#!/usr/bin/python3
"""Draws docs/scenes.svg: stroboscopic pictures of simulated scenes, earlier states paler.

    scripts/picture.py PROGRAM [OUTPUT]

For those who change the picture; building, testing and using carom need no Python. Needs h5py
(Debian: python3-h5py). The scenes are simulated with `carom simulate`, their geometry is read from
the scene text in the trajectory files.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import h5py

PANEL = 250  # width and height of a drawing
GAP = 22
CAPTION = 52
INK, PALE, GROUND = "#1f2937", "#64748b", "#cbd5e1"
COLOURS = ["#2563eb", "#ea580c", "#059669", "#9333ea", "#dc2626"]


def simulate(program, scene, seed, sample, steps):
    """Trajectory `sample` of a scene: x [state][point][coordinate], and the scene."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trajectory.h5")
        subprocess.run(
            [program, "simulate", scene, "--sample", str(sample + 1), "--seed", str(seed),
             "--steps", str(steps), "--quiet", "-o", path],
            check=True, stdout=subprocess.DEVNULL)
        with h5py.File(path) as file:
            text = file.attrs["scene"]
            return file["x"][sample], json.loads(text if isinstance(text, str) else text.decode())


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Panel:
    """A square window on the plane: world coordinates (y up) to those of the SVG."""

    def __init__(self, left, low, size):
        self.left, self.low, self.scale = left, low, PANEL / size
        self.parts = []

    def at(self, point):
        x = (point[0] - self.low[0]) * self.scale
        y = PANEL - (point[1] - self.low[1]) * self.scale
        return number(x), number(y)

    def line(self, points, colour, width, opacity, close=False):
        path = "M" + "L".join(" ".join(self.at(p)) for p in points) + ("z" if close else "")
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" '
                          f'stroke-opacity="{opacity:.2f}" stroke-linejoin="round" '
                          f'stroke-linecap="round"/>')

    def disk(self, centre, radius, colour, opacity, edge):
        x, y = self.at(centre)
        self.parts.append(f'<circle cx="{x}" cy="{y}" r="{number(radius * self.scale)}" '
                          f'fill="{colour}" fill-opacity="{opacity:.2f}" stroke="{colour}" '
                          f'stroke-opacity="{edge:.2f}"/>')

    def box(self, low, high, colour):
        (x, bottom), (right, y) = self.at(low), self.at(high)
        self.parts.append(f'<rect x="{x}" y="{y}" width="{number(float(right) - float(x))}" '
                          f'height="{number(float(bottom) - float(y))}" fill="{colour}"/>')

    def svg(self, title, text):
        return "\n".join(
            [f'<g transform="translate({self.left} {GAP})">',
             f'<rect width="{PANEL}" height="{PANEL}" rx="8" fill="#f8fafc"/>', '<g clip-path="url(#panel)">']
            + self.parts +
            ["</g>", f'<rect width="{PANEL}" height="{PANEL}" rx="8" fill="none" '
             'stroke="#e2e8f0"/>',
             f'<text x="2" y="{PANEL + 24}" font-weight="bold">{title}</text>',
             f'<text x="2" y="{PANEL + 42}" font-size="13" fill="{PALE}">{text}</text>', "</g>"])


def frames(x, count):
    """Some states from the first to the last, each with its age: 0 is the first, 1 the last."""
    last = len(x) - 1
    return [(x[round(last * k / (count - 1))], k / (count - 1)) for k in range(count)]


def fade(age, low, high):
    return low + (high - low) * age ** 1.6


def draw_pendulums(panel, x, scene, count):
    panel.box((-9, -9), (9, -scene["planes"][0]["offset"]), GROUND)
    radii = [body["radius"] for body in scene["bodies"]]
    for state, age in frames(x, count):
        panel.line([(0, 0), *state], INK, 1.2 if age < 1 else 2, fade(age, 0.10, 1))
        for k, centre in enumerate(state):
            panel.disk(centre, radii[k], COLOURS[k], fade(age, 0.04, 0.85), fade(age, 0.15, 1))
    panel.disk((0, 0), 0.018, INK, 1, 1)


def draw_disks(panel, x, scene, count):
    for low, high in [((-9, -9), (0, 9)), ((1, -9), (9, 9)), ((-9, -9), (9, 0)), ((-9, 1), (9, 9))]:
        panel.box(low, high, GROUND)
    for state, age in frames(x, count):
        for k, body in enumerate(scene["bodies"]):
            centre, axis = state[3 * k], state[3 * k + 1] - state[3 * k]
            rim = centre + body["radius"] * axis
            panel.disk(centre, body["radius"], COLOURS[k], fade(age, 0.03, 0.8),
                       fade(age, 0.12, 1))
            panel.line([centre, rim], "#ffffff" if age == 1 else COLOURS[k], 2 if age == 1 else 1,
                       fade(age, 0.2, 1))


def project(point):
    """Seen from the front right and above."""
    azimuth, elevation = math.radians(24), math.radians(16)
    across = -math.sin(azimuth) * point[0] + math.cos(azimuth) * point[1]
    depth = math.cos(azimuth) * point[0] + math.sin(azimuth) * point[1]
    return across, math.cos(elevation) * point[2] - math.sin(elevation) * depth


def draw_gyroscope(panel, x, scene, count):
    shape, wall = scene["bodies"][0]["shape"], -scene["planes"][0]["offset"]
    corners = [(-0.65, -0.6), (0.65, -0.6), (0.65, 0.6), (-0.65, 0.6)]
    points = " ".join(",".join(panel.at(project((a, wall, b)))) for a, b in corners)
    panel.parts.append(f'<polygon points="{points}" fill="{GROUND}" fill-opacity="0.75"/>')
    for state, age in frames(x, count):
        centre, axes = state[0], state[1:] - state[0]
        rim = [centre + shape["radius"] * (math.cos(a) * axes[0] + math.sin(a) * axes[1])
               for a in (2 * math.pi * k / 40 for k in range(40))]
        colour = COLOURS[0] if age < 1 else COLOURS[1]
        width = 1.1 if age < 1 else 2.2
        panel.line([project((0, 0, 0)), project(centre)], INK, width, fade(age, 0.08, 1))
        panel.line([project(p) for p in rim], colour, width, fade(age, 0.10, 1), close=True)
    panel.line([project(state[0]) for state in x], COLOURS[4], 1, 0.55)
    panel.parts.append('<circle cx="{}" cy="{}" r="3.5" fill="{}"/>'.format(
        *panel.at(project((0, 0, 0))), INK))


def draw_rope(panel, x, scene, count):
    for state, age in frames(x, count):
        panel.line([(0, 0), *state], COLOURS[2] if age < 1 else INK, 1.4 if age < 1 else 3,
                   fade(age, 0.12, 1))
        for point in state:
            panel.disk(point, 0.006 if age < 1 else 0.009, COLOURS[2], fade(age, 0.12, 1),
                       fade(age, 0.12, 1))
    panel.disk((0, 0), 0.014, INK, 1, 1)


# scene, seed, sample, steps, frames, window (low corner, size), how, title, text
SCENES = [
    ("cp3", 1, 19, 70, 13, ((-0.62, -1.08), 1.8), draw_pendulums, "cp3",
     "pendulums on rough ground"),
    ("bd5", 1, 11, 60, 9, ((-0.05, -0.05), 1.1), draw_disks, "bd5", "disks with spin in a box"),
    ("gyro", 1, 14, 48, 13, ((-0.88, -0.86), 1.72), draw_gyroscope, "gyro", "a top that hits a wall"),
    ("rope", 1, 13, 160, 17, ((-0.57, -0.7), 1.1), draw_rope, "rope",
     "limits of bending and stretch"),
]


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: scripts/picture.py PROGRAM [OUTPUT]")
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    output = sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "docs", "scenes.svg")
    panels = []
    for k, (scene, seed, sample, steps, count, window, draw, title, text) in enumerate(SCENES):
        x, content = simulate(sys.argv[1], scene, seed, sample, steps)
        panel = Panel(GAP + k * (PANEL + GAP), *window)
        draw(panel, x, content, count)
        panels.append(panel.svg(title, text))
    width, height = GAP + len(SCENES) * (PANEL + GAP), GAP + PANEL + CAPTION
    with open(output, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                   f'font-family="Helvetica, Arial, sans-serif" font-size="16" fill="{INK}">\n'
                   f'<title>Four scenes of carom: earlier states are paler</title>\n'
                   f'<clipPath id="panel"><rect width="{PANEL}" height="{PANEL}" rx="8"/>'
                   f'</clipPath>\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n')
        file.write("\n".join(panels) + "\n</svg>\n")


if __name__ == "__main__":
    main()
