"""Prints 30 steps of PyTorch's optimisers, in float64, on recorded gradients: the reference of tests/optim.

Run as: python3 generate.py   (rewrites the CSV files beside it; made with PyTorch 1.13)
"""
import torch

torch.manual_seed(42)
STEPS, SIZE = 30, 6
start = torch.randn(SIZE, dtype=torch.float64)
gradients = torch.randn(STEPS, SIZE, dtype=torch.float64) * torch.logspace(-3, 3, SIZE, dtype=torch.float64)


def write(name, rows):
    with open(name + ".csv", "w") as out:
        for row in rows:
            out.write(",".join(repr(value) for value in row.tolist()) + "\n")


def follow(name, make):
    weights = torch.nn.Parameter(start.clone())
    optimiser = make([weights])
    rows = []
    for gradient in gradients:
        weights.grad = -gradient  # PyTorch descends, repel ascends
        optimiser.step()
        rows.append(weights.detach().clone())
    write(name, rows)


write("start", [start])
write("gradients", gradients)
follow("adam", lambda w: torch.optim.Adam(w, lr=0.1))
follow("sgd", lambda w: torch.optim.SGD(w, lr=0.05))
follow("sgd_momentum", lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9))
follow("sgd_nesterov", lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9, nesterov=True))
follow("adagrad", lambda w: torch.optim.Adagrad(w, lr=0.1))
follow("rmsprop", lambda w: torch.optim.RMSprop(w, lr=0.02))
