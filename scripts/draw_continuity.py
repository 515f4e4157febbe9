#!/usr/bin/env python3
"""Draws docs/images/continuity.svg from the scan that tests/test_impact_time writes.

    CAROM_CONTINUITY=scan.csv build/release/tests/test_impact_time
    scripts/draw_continuity.py scan.csv docs/images/continuity.svg

Left the final height of a ball over the height it is dropped from, right the derivative that the engine
gives, each for contacts that act when their gap closes and for contacts that act at the end of a time step.
"""
import csv
import sys

WIDTH, HEIGHT, MARGIN, GAP = 760, 300, 56, 70
COLOURS = {"event": "#0b6e4f", "step": "#c8553d", "closed": "#888888"}


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: [float(row[key]) for row in rows] for key in rows[0]}


class Panel:
    """Axes at a place of the picture."""

    def __init__(self, left, width, xs, ys, title):
        self.left, self.width = left, width
        self.low_x, self.high_x = min(xs), max(xs)
        pad = 0.08 * (max(ys) - min(ys))
        self.low_y, self.high_y = min(ys) - pad, max(ys) + pad
        self.parts = [f'<text x="{left}" y="20" font-weight="bold">{title}</text>']
        for k in range(5):
            self.tick(k / 4)

    def at(self, x, y):
        across = (x - self.low_x) / (self.high_x - self.low_x)
        up = (y - self.low_y) / (self.high_y - self.low_y)
        return self.left + across * self.width, HEIGHT - MARGIN - up * (HEIGHT - MARGIN - 36)

    def tick(self, share):
        x = self.low_x + share * (self.high_x - self.low_x)
        y = self.low_y + share * (self.high_y - self.low_y)
        px, bottom = self.at(x, self.low_y)
        left, py = self.at(self.low_x, y)
        self.parts.append(f'<line x1="{left}" y1="{py:.1f}" x2="{left + self.width}" y2="{py:.1f}" stroke="#ddd"/>')
        self.parts.append(f'<text x="{px:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{x:.3g}</text>')
        self.parts.append(f'<text x="{left - 6}" y="{py + 4:.1f}" text-anchor="end">{y:.2g}</text>')

    def line(self, xs, ys, colour, width=1.6, dash="", breaks=None):
        """A polyline, broken where neighbours differ by more than `breaks`."""
        runs, run = [], []
        for k, (x, y) in enumerate(zip(xs, ys)):
            if run and breaks is not None and abs(y - ys[k - 1]) > breaks:
                runs.append(run)
                run = []
            run.append(self.at(x, y))
        runs.append(run)
        for points in runs:
            keep = points[:: max(1, len(points) // 80)] + [points[-1]]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in keep)
            self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                              f'stroke-width="{width}" stroke-dasharray="{dash}"/>')


def legend(x, y, entries):
    parts = []
    for k, (name, colour) in enumerate(entries):
        parts.append(f'<line x1="{x}" y1="{y + 16 * k - 4}" x2="{x + 18}" y2="{y + 16 * k - 4}" '
                     f'stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 24}" y="{y + 16 * k}">{name}</text>')
    return parts


def main(source, target):
    data = read(source)
    xs = data["start"]
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    heights = Panel(MARGIN, width, xs, data["event"] + data["step"], "height at the end")
    heights.line(xs, data["step"], COLOURS["step"], breaks=1e-4)
    heights.line(xs, data["event"], COLOURS["event"])
    slopes = Panel(MARGIN + width + GAP, width, xs,
                   data["event_slope"] + data["step_slope"] + data["closed_slope"],
                   "its derivative by the start")
    slopes.line(xs, data["step_slope"], COLOURS["step"])
    slopes.line(xs, data["event_slope"], COLOURS["event"])
    slopes.line(xs, data["closed_slope"], "#ffffff", 1, "2 6")
    parts = heights.parts + slopes.parts + legend(MARGIN + 8, 46, [
        ("--contact-time event", COLOURS["event"]), ("--contact-time step", COLOURS["step"])])
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">height from which the ball is '
                 "dropped (dashes: the closed form)</text>")
    with open(target, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                   f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">\n'
                   f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
