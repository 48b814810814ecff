"""First weights of the patch projection: whitened principal components of real patches.

Neighbouring pixels are nearly equal, so random filters see little but brightness and edges are learned late.
Here every filter starts with an output of unit variance: three quarters look at both frames alike, one quarter
at their difference (movement).
"""
import numpy as np
import torch

from pipeline import patchify


def components(x, n, floor):
    """n filters [n, columns] with unit output variance on the rows of x (mean removed by the caller)."""
    cov = x.T @ x / len(x)
    values, vectors = np.linalg.eigh(cov)
    values, vectors = values[::-1][:n], vectors[:, ::-1][:, :n]
    return (vectors / np.sqrt(values + floor * values[0])).T


def start(model, batches, seed):
    rng = np.random.default_rng(seed)
    still = np.concatenate([patchify(p["pixels"], True).reshape(-1, 768)[::3] for p, _ in batches]).astype(np.float64)
    moving = np.concatenate([patchify(c["pixels"]).reshape(-1, 3, 2, 256) for _, c in batches]).astype(np.float64)
    weight = model.model.visual.patch_embed.proj.weight
    e = weight.shape[0]
    n = e * 3 // 4
    mean = still.mean(0)
    a = components(still - mean, n, 1e-4)
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
    a = turn @ a
    diff = (moving[:, :, 0] - moving[:, :, 1]).reshape(-1, 768) / 2
    diff = diff[np.abs(diff).max(1) > 0.3]
    b = components(diff, e - n, 1e-2)
    turn, _ = np.linalg.qr(rng.normal(size=(e - n, e - n)))
    b = turn @ b
    w = np.zeros((e, 3, 2, 256))
    w[:n] = a.reshape(n, 3, 1, 256) / 2
    w[n:, :, 0], w[n:, :, 1] = b.reshape(-1, 3, 256) / 2, -b.reshape(-1, 3, 256) / 2
    weight.data.copy_(torch.from_numpy(w).reshape(weight.shape).float())
    bias = np.concatenate((-(a @ mean), np.zeros(e - n)))
    model.model.visual.patch_embed.proj.bias.data.copy_(torch.from_numpy(bias).float())
