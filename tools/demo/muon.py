"""Optimiser: momentum with orthogonalised updates for hidden matrices, AdamW for the rest.

The momentum of a matrix is replaced by (nearly) the orthogonal matrix closest to it, found with five steps of a
quintic Newton-Schulz iteration, and scaled so that a learning rate means about what it means for AdamW.
Matrices of one shape are handled as one batch.
"""
import collections

import torch


def orthogonal(x, steps=5):
    """x [B, rows, columns] -> the same shape, singular values near 1"""
    turned = x.shape[-2] > x.shape[-1]
    x = x.transpose(-1, -2) if turned else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        a = x @ x.transpose(-1, -2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.transpose(-1, -2) if turned else x


class Optimiser:
    def __init__(self, named, lr, decay=0.02, momentum=0.95, tower=1.0):
        """tower: factor of the learning rate for the vision tower's parameters"""
        hidden = [(n, p) for n, p in named if p.dim() == 2 and ("blocks." in n or "layers." in n)]
        names = {n for n, _ in hidden}
        # the norms of queries and keys set how sharply a head can look: they must move far
        sharp = {n for n, _ in named if "q_norm" in n or "k_norm" in n}
        rest = [[p for n, p in named if n not in names and n not in sharp and ("visual." in n) == v] for v in (False, True)]
        rest.append([p for n, p in named if n in sharp])
        self.rates = (1.0, tower, 4.0)
        self.tower = tower
        self.groups = collections.defaultdict(list)
        for n, p in hidden:
            self.groups[p.shape].append(p)
        self.momentum, self.decay, self.buffers = momentum, decay, {n: torch.zeros_like(p) for n, p in hidden}
        self.names = {p: n for n, p in hidden}
        self.adam = torch.optim.AdamW([{"params": r} for r in rest], lr=lr, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.0, fused=True)

    @torch.no_grad()
    def step(self, lr):
        for g, scale in zip(self.adam.param_groups, self.rates):
            g["lr"] = lr * scale
        self.adam.step()
        for shape, params in self.groups.items():
            params = [p for p in params if p.grad is not None]
            if not params:
                continue
            moves = []
            for p in params:
                b = self.buffers[self.names[p]].mul_(self.momentum).add_(p.grad, alpha=1 - self.momentum)
                moves.append(p.grad * (1 - self.momentum) + b * self.momentum)
            for p, u in zip(params, orthogonal(torch.stack(moves))):
                r = lr * (self.tower if "visual." in self.names[p] else 1.0)
                p.mul_(1 - r * self.decay).add_(u, alpha=-r * 0.5 * max(shape) ** 0.5)

    def zero_grad(self):
        self.adam.zero_grad(set_to_none=True)
        for params in self.groups.values():
            for p in params:
                p.grad = None

    def state_dict(self):
        return {"adam": self.adam.state_dict(), "momentum": self.buffers}

    def load_state_dict(self, s):
        self.adam.load_state_dict(s["adam"])
        for n, b in s["momentum"].items():
            self.buffers[n].copy_(b)
