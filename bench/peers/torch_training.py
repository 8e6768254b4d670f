#!/usr/bin/python3
"""Training steps of an ensemble of networks 784-100-100-100-10 in idiomatic PyTorch: batched matrix products over the members,
automatic differentiation, the kernel's repulsion in weight space or function space, Adam.

Reads lines "method scalar members batch seconds" from standard input; for each, takes steps for about that long (three at
least) and prints the median time of a step in seconds, or what went wrong. Run by compare.py --training.
"""
import torch

from torch_steps import kernel_and_gradient, serve

WIDTHS = [784, 100, 100, 100, 10]
PICTURES = 60000  # as many as FashionMNIST has


class Ensemble:
    """A tensor of weights (members x in x out) and one of biases (members x 1 x out) for each layer."""

    def __init__(self, members, dtype):
        self.members = members
        self.parameters = []
        for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
            bound = inputs ** -0.5
            for shape in ((members, inputs, outputs), (members, 1, outputs)):
                self.parameters.append(torch.empty(shape, dtype=dtype).uniform_(-bound, bound).requires_grad_(True))

    def logits(self, x):
        """members x batch x classes"""
        values = x.expand(self.members, *x.shape)
        for layer in range(len(WIDTHS) - 1):
            values = torch.baddbmm(self.parameters[2 * layer + 1], values, self.parameters[2 * layer])
            if layer < len(WIDTHS) - 2:
                values = torch.relu(values)
        return values

    def flat(self, tensors):
        return torch.cat([tensor.detach().reshape(self.members, -1) for tensor in tensors], dim=1)

    def like_parameters(self, flat):
        parts = flat.split([parameter[0].numel() for parameter in self.parameters], dim=1)
        return [part.reshape(parameter.shape) for part, parameter in zip(parts, self.parameters)]


def log_likelihood(logits, labels):
    members, batch, classes = logits.shape
    return -torch.nn.functional.cross_entropy(
        logits.reshape(-1, classes), labels.repeat(members), reduction="sum") * (PICTURES / batch)


def deep_ensemble(ensemble, x, labels):
    """The gradient of the log posterior under a standard normal prior."""
    gradients = torch.autograd.grad(log_likelihood(ensemble.logits(x), labels), ensemble.parameters)
    return [gradient - parameter.detach() for gradient, parameter in zip(gradients, ensemble.parameters)]


def svgd(ensemble, x, labels):
    s = ensemble.flat(deep_ensemble(ensemble, x, labels))
    k, gradient = kernel_and_gradient(ensemble.flat(ensemble.parameters))
    return ensemble.like_parameters((k @ s - gradient) / ensemble.members)


def kde_wgd(ensemble, x, labels):
    s = deep_ensemble(ensemble, x, labels)
    k, gradient = kernel_and_gradient(ensemble.flat(ensemble.parameters))
    return [a - b for a, b in zip(s, ensemble.like_parameters(gradient / k.sum(dim=1, keepdim=True)))]


def kde_fwgd(ensemble, x, labels):
    """The likelihood and the repulsion of the logits of the batch, with a flat function prior, pulled back to the weights."""
    logits = ensemble.logits(x)
    moving = logits.detach().requires_grad_(True)
    (s,) = torch.autograd.grad(log_likelihood(moving, labels), moving)
    k, gradient = kernel_and_gradient(logits.detach().reshape(ensemble.members, -1))
    direction = s - (gradient / k.sum(dim=1, keepdim=True)).reshape(logits.shape)
    return torch.autograd.grad(logits, ensemble.parameters, grad_outputs=direction)


METHODS = {"DE": deep_ensemble, "SVGD": svgd, "kde-WGD": kde_wgd, "kde-fWGD": kde_fwgd}


def stepper(method, dtype, members, batch):
    torch.manual_seed(42)
    x, labels = torch.rand(PICTURES, WIDTHS[0], dtype=dtype), torch.randint(0, WIDTHS[-1], (PICTURES,))
    ensemble = Ensemble(members, dtype)
    optimiser = torch.optim.Adam(ensemble.parameters, lr=1e-3)

    def step():
        chosen = torch.randint(0, PICTURES, (batch,))
        for parameter, direction in zip(ensemble.parameters, METHODS[method](ensemble, x[chosen], labels[chosen])):
            parameter.grad = -direction
        optimiser.step()

    return step


if __name__ == "__main__":
    serve(stepper)
