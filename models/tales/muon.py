"""The optimizer of the matrices: Muon, momentum whose direction is made orthogonal.

Keller Jordan and others, 2024; the step size is scaled as in "Muon is Scalable for LLM Training"
(2025), so that one learning rate suits it and the AdamW of the other weights.
"""
import collections

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


def orthogonalize(batch):
    """Newton-Schulz iteration: move the singular values of each matrix [n, rows, columns] to 1."""
    a, b, c = COEFFICIENTS
    wide = batch.shape[1] <= batch.shape[2]
    x = (batch if wide else batch.transpose(1, 2)).bfloat16()
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        gram = torch.bmm(x, x.transpose(1, 2))
        x = a * x + torch.bmm(b * gram + c * torch.bmm(gram, gram), x)
    return (x if wide else x.transpose(1, 2)).float()


class Muon(torch.optim.Optimizer):
    """Muon for matrices; those of one shape are handled together."""

    def __init__(self, weights, lr, momentum=0.95, weight_decay=0.1):
        super().__init__(weights, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        """One update."""
        for group in self.param_groups:
            shapes = collections.defaultdict(list)
            for weight in group["params"]:
                shapes[weight.shape].append(weight)
            for weights in shapes.values():
                self._update(weights, group)

    def _update(self, weights, group):
        """Update the weights of one shape."""
        for weight in weights:
            state = self.state[weight]
            if not state:
                state["momentum"] = torch.zeros_like(weight)
            state["momentum"].lerp_(weight.grad, 1 - group["momentum"])
        looked_ahead = [weight.grad.lerp(self.state[weight]["momentum"], group["momentum"])
                        for weight in weights]
        scale = 0.2 * max(weights[0].shape) ** 0.5
        for weight, direction in zip(weights, orthogonalize(torch.stack(looked_ahead))):
            weight.mul_(1 - group["lr"] * group["weight_decay"])
            weight.sub_(direction, alpha=group["lr"] * scale)
