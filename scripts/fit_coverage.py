#!/usr/bin/env python3
"""Sums up what `make_fit_coverage ... SEED all` has printed, of one run or of several with seeds of their own.

    scripts/fit_coverage.py FILE...

For each unknown: repetitions, those that count for bias and deviation, the share of intervals that hold the truth with its error, the
bias in deviations of the estimates, root mean squares of errors and of the deviations that were said, both by the bound,
and the seeds whose intervals do not hold it."""
import math
import re
import sys

ESTIMATE = re.compile(r"\s*(\d+) (\S+)\s+(\S+) of the bound, said\s+(\S+), (held|LOST)(.*)")
COST = re.compile(r"\s*(\d+) iterations \d+ cost ([\d.]+), from the truth ([\d.]+)")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    estimates, costs = {}, {}
    for name in sys.argv[1:]:
        try:
            with open(name, encoding="utf-8") as file:
                lines = file.readlines()
        except (OSError, UnicodeDecodeError) as problem:
            sys.exit(f"{name}: {problem}")
        for line in lines:
            if found := ESTIMATE.match(line):
                seed, unknown, off, said, held, rest = found.groups()
                estimates.setdefault(unknown, {})[int(seed)] = (
                    float(off), float(said), held == "held", "counted" in rest)
            elif found := COST.match(line):
                costs[int(found[1])] = float(found[2]) - float(found[3])
    if not costs:
        sys.exit("no line of a fit: was make_fit_coverage run with `all` behind its seed?")
    above = sorted(seed for seed, more in costs.items() if more > 0.5)
    print(f"{len(costs)} repetitions, {len(above)} above the minimum beside the truth: {above}")
    print(f"{'unknown':20} {'all':>4} {'used':>4} {'held':>7} {'error':>6} {'bias':>6} {'rms':>5} {'said':>5}  lost")
    for unknown, of in estimates.items():
        used = [one for one in of.values() if one[3]]
        share = sum(one[2] for one in of.values()) / len(of)
        lost = sorted(seed for seed, one in of.items() if not one[2])
        row = f"{unknown:20} {len(of):4} {len(used):4} {100 * share:6.1f}% "
        row += f"{100 * math.sqrt(share * (1 - share) / len(of)):5.1f}% "
        if used:
            rms = math.sqrt(sum(one[0] ** 2 for one in used) / len(used))
            said = math.sqrt(sum(one[1] ** 2 for one in used) / len(used))
            row += f"{sum(one[0] for one in used) / len(used) / rms:+6.2f} {rms:5.2f} {said:5.2f}"
        else:
            row += 19 * " "
        print(row, "", *lost)


main()
