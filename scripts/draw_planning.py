#!/usr/bin/env python3
"""Draws docs/images/planning-billiards.svg: the loss of plans over iterations.

    carom plan billiards --goal 0 --json ... >one.json     (one file for each curve)
    scripts/draw_planning.py OUT.svg "name=one.json" ...
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 340, 70, 200, 20, 46
COLOURS = ["#0b6e4f", "#c8553d", "#2b59c3", "#8a6d00", "#7b2d8b", "#555555"]


def main():
    out, curves = sys.argv[1], []
    for text in sys.argv[2:]:
        name, path = text.split("=", 1)
        with open(path) as file:
            curves.append((name, json.load(file)["losses"]))
    last = max(len(losses) for _, losses in curves) - 1
    low = math.floor(math.log10(min(min(losses) for _, losses in curves)))
    high = math.ceil(math.log10(max(max(losses) for _, losses in curves)))

    def at(k, loss):
        x = LEFT + (WIDTH - LEFT - RIGHT) * k / last
        y = TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log10(loss)) / (high - low)
        return x, y

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    ]
    for power in range(low, high + 1):
        x, y = at(0, 10.0**power)
        parts.append(f'<path d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>')
    for k in range(0, last + 1, max(1, last // 4)):
        x, y = at(k, 10.0**low)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{k}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">iteration</text>')
    for number, (name, losses) in enumerate(curves):
        line = " ".join("%.1f,%.1f" % at(k, loss) for k, loss in enumerate(losses))
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        y = TOP + 16 + 18 * number
        parts.append(f'<path d="M{WIDTH - RIGHT + 14} {y - 4}h22" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 42}" y="{y}">{name}</text>')
    parts.append("</svg>\n")
    with open(out, "w") as file:
        file.write("\n".join(parts))


main()
