#!/usr/bin/env python3
"""How long programs with repel take to compile, beside one that solves with Eigen's Cholesky factor and nothing else.

usage: compile_time.py [--compiler g++] [--flags "-O2 -march=x86-64-v3"] [--eigen /usr/include/eigen3] [--rounds 3]
Prints a table: user seconds and peak memory, the best of some rounds, taken in turn.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHOLESKY = """#include <Eigen/Dense>
#include <iostream>
int main() {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(50, 50), s = a * a.transpose() + Eigen::MatrixXd::Identity(50, 50);
  const Eigen::VectorXd b = Eigen::VectorXd::Random(50);
  std::cout << s.llt().solve(b).transpose() << '\\n';
}
"""


PREDICTOR = """#include <repel/predictor.hpp>
#include <iostream>
int main() {
  auto ensemble = repel::Predictor<repel::Mlp, repel::CategoricalLikelihood, float>::load("ensemble.repel");
  std::cout << ensemble.predict(Eigen::MatrixXf::Zero(784, 1)).probabilities << '\\n';
}
"""


def programs():
    """The documents' programs, the first also with other rules, and one that only predicts."""
    text = (ROOT / "docs/getting-started.md").read_text() + (ROOT / "README.md").read_text()
    blocks = ["#include" + block.split("```")[0] for block in text.split("```cpp\n#include")[1:]]
    first = blocks[0]
    network = next(block for block in blocks if "repel::function_space" in block)
    one_call = next(block for block in blocks if "Eight schools" in block)
    rule = "repel::Wgd{repel::Sge{repel::Rbf{}}}"
    if rule not in first:
        sys.exit("compile_time.py: the first program of docs/getting-started.md has another rule than expected")
    yield "Eigen's Cholesky solve", CHOLESKY
    for name, other in [
        ("PlainEnsemble", "repel::PlainEnsemble{}"),
        ("Kde", "repel::Wgd{repel::Kde{repel::Rbf{}}}"),
        ("Svgd", "repel::Svgd{repel::Rbf{}}"),
        ("Sge (the first program of getting started)", rule),
        ("Ssge", "repel::Wgd{repel::Ssge{repel::Rbf{}}}"),
    ]:
        yield name, first.replace(rule, other)
    yield "sample (the README's first program)", one_call
    yield "Bnn in function space (the README's second program)", network
    yield "Predictor", PREDICTOR


def compile_once(command, source):
    """User seconds and peak kilobytes of the compiler, measured in a process of its own."""
    script = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:]).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(code, used.ru_utime, used.ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, *command, source], capture_output=True, text=True)
    code, seconds, kilobytes = done.stdout.split()
    if code != "0":
        sys.exit("compile_time.py: a program does not compile:\n" + done.stderr)
    return float(seconds), float(kilobytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="-O2 -march=x86-64-v3")
    parser.add_argument("--eigen", default="/usr/include/eigen3")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    command = [options.compiler, "-std=c++20", *options.flags.split(), "-I", str(ROOT / "include"), "-isystem", options.eigen]
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        command += ["-c", "-o", folder + "/out.o"]
        for _ in range(options.rounds):
            for name, text in programs():
                source = pathlib.Path(folder) / "program.cpp"
                source.write_text(text)
                seconds, kilobytes = compile_once(command, str(source))
                least = best.get(name, (seconds, kilobytes))
                best[name] = (min(seconds, least[0]), min(kilobytes, least[1]))
    unit = next(iter(best.values()))[0]
    print("| program | user seconds | of the Cholesky solve's | peak memory |\n| --- | --- | --- | --- |")
    for name, (seconds, kilobytes) in best.items():
        print(f"| {name} | {seconds:.1f} | {seconds / unit:.2f} | {kilobytes / 1000:.0f} MB |")


if __name__ == "__main__":
    main()
