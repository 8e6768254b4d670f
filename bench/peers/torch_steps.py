#!/usr/bin/python3
"""The steps of SVGD and of WGD with KDE, SGE and SSGE in idiomatic PyTorch, after the paper's equations.

Reads lines "rule scalar n d seconds" from standard input; for each, takes steps for about that long (three at least) and
prints the median time of a step in seconds, or what went wrong. Run by compare.py.
"""
import math
import statistics
import sys
import time

import torch


def kernel_matrix(x, fixed):
    """K of the particles x (n x d) to themselves, `fixed` being x without a gradient: exp(-r^2 / h), median bandwidth."""
    squared = torch.cdist(x, fixed, compute_mode="use_mm_for_euclid_dist_if_necessary").square()
    h = squared.detach().median() / math.log(x.shape[0] + 1)
    return torch.exp(-squared / h)


def kernel_and_gradient(x):
    """K, and row j = sum_i grad_{x_j} k(x_j, x_i), by automatic differentiation."""
    moving = x.detach().requires_grad_(True)
    k = kernel_matrix(moving, x)
    (gradient,) = torch.autograd.grad(k.sum(), moving)
    return k.detach(), gradient


def svgd(x, s):
    k, gradient = kernel_and_gradient(x)
    return (k @ s - gradient) / x.shape[0]


def kde(x, s):
    k, gradient = kernel_and_gradient(x)
    return s - gradient / k.sum(dim=1, keepdim=True)


def sge(x, s, ridge=0.01):
    k, gradient = kernel_and_gradient(x)
    k.diagonal().add_(ridge)
    return s - torch.linalg.solve(k, gradient)  # G = -gradient for a kernel of a distance


def ssge(x, s, ridge=0.01):
    k, gradient = kernel_and_gradient(x)
    shifted = k + ridge * torch.eye(x.shape[0], dtype=x.dtype)
    values, vectors = torch.linalg.eigh(shifted)
    return s - k @ (vectors @ ((vectors.T @ gradient) / values.square().unsqueeze(1)))


RULES = {"Svgd": svgd, "Kde": kde, "Sge": sge, "Ssge": ssge}


def stepper(rule, dtype, n, d):
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(42), dtype=dtype)
    optimiser = torch.optim.Adam([x], lr=1e-3)

    def step():
        s = -x  # the gradient of a standard normal log density
        x.grad = -RULES[rule](x, s)
        optimiser.step()

    return step


def time_steps(step, seconds):
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 4 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def blas():
    """Which library PyTorch's matrix products run in: with the reference one they are many times slower."""
    torch.ones(64, 64) @ torch.ones(64, 64)  # loads it
    try:
        with open("/proc/self/maps") as maps:
            loaded = maps.read()
    except OSError:
        return "an unknown BLAS"
    for mark, name in (("libmkl", "MKL"), ("openblas", "OpenBLAS"), ("libblis", "BLIS"), ("libblas", "the REFERENCE BLAS")):
        if mark in loaded:
            return name
    return "an unknown BLAS"


def serve(stepper):
    """Answers the lines of standard input; stepper(name, dtype, n, d) makes what takes one step."""
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    print(f"ready torch {torch.__version__} on {blas()}, {torch.get_num_threads()} threads", flush=True)
    for line in sys.stdin:
        name, scalar, n, d, seconds = line.split()
        dtype = {"double": torch.float64, "float": torch.float32}[scalar]
        try:
            print(time_steps(stepper(name, dtype, int(n), int(d)), float(seconds)), flush=True)
        except RuntimeError as error:
            print("failed:", str(error).splitlines()[0], flush=True)


if __name__ == "__main__":
    serve(stepper)
