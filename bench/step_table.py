#!/usr/bin/env python3
"""step_table.py STEP_BENCH [--scalar double] [--seconds 0.5]: runs step_bench and prints a table of its steps.

Each cell is the time of a step and, in brackets, the part of it that the machine needs at the least for the step's
exponentials, arithmetic and memory traffic, at rates measured in the same run. Medians of single steps.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile


def human(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="step_bench, as built by the preset bench")
    parser.add_argument("--scalar", default="double", choices=["double", "float"])
    parser.add_argument("--seconds", type=float, default=0.5, help="of steps for each cell")
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([options.program, f"--benchmark_filter=/{options.scalar}/", f"--benchmark_min_time={options.seconds}",
                               f"--benchmark_out={out.name}", "--benchmark_out_format=json"], stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(f"step_table.py: {options.program} failed")
        results = json.load(out)["benchmarks"]
    cells, rules = {}, []
    for result in results:
        rule, n, d = re.match(r"(\w+)/\w+/n:(\d+)/d:(\d+)", result["name"]).groups()
        if rule not in rules:
            rules.append(rule)
        cells.setdefault((int(n), int(d)), {})[rule] = f"{human(1 / result['steps/s'])} ({100 * result['of_roofline']:.0f} %)"
    print(f"| n, d | {' | '.join(rules)} |\n|{' --- |' * (len(rules) + 1)}")
    for (n, d), row in cells.items():
        print(f"| {n}, {d} | {' | '.join(row.get(rule, '') for rule in rules)} |")


if __name__ == "__main__":
    main()
