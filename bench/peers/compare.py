#!/usr/bin/env python3
"""Runs repel's steps and the PyTorch version of them alternately, and prints the ratio of their times with its spread.

usage: compare.py PROGRAM [--training] [--threads 2] [--rounds 7] [--seconds 0.3] [--pin] [--python /usr/bin/python3]

PROGRAM is built from repel_steps.cpp, or with --training from repel_training.cpp. PyTorch is looked for in --python (on Debian and Ubuntu:
apt-get install python3-torch libopenblas0-pthread; without the latter its matrix products are many times slower). Each row is the median over the rounds; the range is that of single rounds.
"""
import argparse
import os
import platform
import statistics
import subprocess
import sys

# rule, scalar, n, d
CASES = [(rule, "double", n, d) for n, d in [(100, 2), (500, 2), (5000, 2), (50, 2701), (1000, 1000)]
         for rule in ("Svgd", "Kde", "Sge", "Ssge") if n < 5000 or rule in ("Svgd", "Kde")]
CASES += [(rule, "float", 50, 100000) for rule in ("Svgd", "Kde", "Sge", "Ssge")]

# method, scalar, members, batch
TRAINING = [(method, "float", 50, 256) for method in ("DE", "SVGD", "kde-WGD", "kde-fWGD")]


class Peer:
    """A program that answers each line "name scalar n d seconds" with a line, the median time of a step."""

    def __init__(self, command, pin):
        environment = dict(os.environ, **({"OMP_PROC_BIND": "true"} if pin else {}))  # for both alike
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.greeting = self.process.stdout.readline().strip()
        if not self.greeting.startswith("ready"):
            sys.exit(f"compare.py: {' '.join(command)} did not start")

    def time(self, name, scalar, n, d, seconds):
        self.process.stdin.write(f"{name} {scalar} {n} {d} {seconds}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        try:
            return float(answer)
        except ValueError:
            sys.exit(f"compare.py: {name} {scalar} {n} {d}: {answer}")


def processor():
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def human(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="built from repel_steps.cpp, or with --training from repel_training.cpp")
    parser.add_argument("--training", action="store_true", help="steps of training networks, not steps on a normal density")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of steps in each round")
    parser.add_argument("--python", default="/usr/bin/python3", help="the Python that has PyTorch")
    parser.add_argument("--pin", action="store_true", help="bind the threads of both to cores (OMP_PROC_BIND=true)")
    parser.add_argument("--only", default="", help="only rows that contain this, such as '100 2'")
    options = parser.parse_args()

    here = __file__.rsplit("/", 1)[0] if "/" in __file__ else "."
    if subprocess.run([options.python, "-c", "import torch"], capture_output=True).returncode != 0:
        sys.exit(f"compare.py: {options.python} has no PyTorch; on Debian and Ubuntu: apt-get install python3-torch libopenblas0-pthread")
    torch = Peer([options.python, f"{here}/torch_{'training' if options.training else 'steps'}.py", options.threads], options.pin)
    if "REFERENCE" in torch.greeting:
        sys.exit("compare.py: PyTorch runs on the reference BLAS, which makes no fair peer; on Debian and Ubuntu: apt-get install libopenblas0-pthread")
    repel = Peer([options.program, options.threads], options.pin)
    print(f"{processor()}, {options.threads} threads{', pinned' if options.pin else ''}; {torch.greeting.removeprefix('ready ')}; "
          f"{options.rounds} rounds of {options.seconds} s, alternating\n")
    print(f"| {'method | members, batch' if options.training else 'rule | n, d'} | | PyTorch | repel | ratio | range |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name, scalar, n, d in TRAINING if options.training else CASES:
        if options.only and options.only not in f"{name} {scalar} {n} {d}":
            continue
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(repel.time(name, scalar, n, d, options.seconds))
            theirs.append(torch.time(name, scalar, n, d, options.seconds))
        ratios = sorted(t / o for t, o in zip(theirs, ours))
        print(f"| {name} | {n}, {d} | {scalar} | {human(statistics.median(theirs))} | {human(statistics.median(ours))} "
              f"| **{statistics.median(ratios):.3g}×** | {ratios[0]:.3g}–{ratios[-1]:.3g} |", flush=True)


if __name__ == "__main__":
    main()
