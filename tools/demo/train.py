"""Train the demo checkpoint in stages; resumable, seeded.

usage: train.py --stage tower|small|full|sizes --steps N --state WORK/state.pt --checkpoint CHECKPOINT_DIR [--from OTHER.pt]
Stages: `tower` trains the vision tower with throw-away heads, `small` adds the questions at 16 visual tokens a picture,
`full` goes to 64 visual tokens (the smallest published size), `sizes` adds other sizes. The state (weights, optimiser,
step) is written every few minutes and at the end; a start with an existing state of the same stage continues it.
"""
import argparse
import math
import pathlib
import time

import torch
import torch.nn.functional as F
from torch import nn

import config
import export
from model import Demo
from pipeline import Feed, patchify
from scenes import COLOURS, DIRECTIONS, SHAPES

BASE = {"sizes": [(128, 128)], "size_weights": [1.0], "pictures": 64, "clips": 16, "clip_sizes": [1.0, 0.0, 0.0], "digits": 0.12, "words": 0.0,
        "smallest": 0.1, "questions": True, "dense": 1.0, "lr": 1.5e-3, "warmup": 200, "decay": 0.0}
STAGES = {
    "tower": dict(BASE, number=1, questions=False, lr=2e-3),
    "small": dict(BASE, number=2, pictures=64, dense=0.5),
    "full": dict(BASE, number=3, sizes=[(256, 256)], pictures=32, smallest=0.075, dense=0.4, digits=0.15, clip_sizes=[0.85, 0.1, 0.05],
                 lr=1.2e-3, warmup=100),
    "sizes": dict(BASE, number=4, sizes=[(256, 256), (256, 320), (320, 256), (224, 320), (320, 224), (192, 384), (320, 320), (384, 384), (384, 512)],
                  size_weights=[0.64, 0.07, 0.07, 0.05, 0.05, 0.02, 0.05, 0.03, 0.02], pictures=32, smallest=0.07, dense=0.3, digits=0.15,
                  clip_sizes=[0.75, 0.15, 0.1], lr=1.0e-3, warmup=100, decay=0.6),
}


class Heads(nn.Module):
    """Throw-away readers of the tower's merged rows: per token, and one per picture or clip by attention pooling."""

    def __init__(self, h):
        super().__init__()
        self.shape, self.colour = nn.Linear(h, len(SHAPES) + 1), nn.Linear(h, len(COLOURS))
        self.centre, self.digit = nn.Linear(h, 2), nn.Linear(h, 10)
        self.pool, self.mix, self.count, self.whole = nn.Linear(h, 4), nn.Linear(4 * h, h), nn.Linear(h, 5), nn.Linear(h, 10)
        self.clip_mix, self.clip = nn.Linear(4 * h, h), nn.Linear(h, len(DIRECTIONS) + len(SHAPES) + len(COLOURS))

    def pooled(self, rows):
        return (self.pool(rows).softmax(1).transpose(1, 2) @ rows).flatten(1)

    def picture_loss(self, rows, batch, stats):
        shape, colour, centre, digit = (torch.from_numpy(x) for x in batch["labels"])
        count = torch.from_numpy(batch["count"])
        loss = 0
        for key, logits, target in (("t.shape", self.shape(rows), shape), ("t.colour", self.colour(rows), colour),
                                    ("t.centre", self.centre(rows), centre)):
            loss = loss + ce(logits, target, key, stats)
        z = F.gelu(self.mix(self.pooled(rows)))
        loss = loss + 0.5 * ce(self.count(z), count, "t.count", stats)
        one = torch.where((digit >= 0).any(1), digit.max(1).values, -1)
        return loss + ce(self.whole(z), one, "t.digit", stats) + 0.3 * ce(self.digit(rows), digit, "t.digit_tok", stats)

    def clip_loss(self, rows, batch, stats):
        g = batch["groups"]
        z = F.gelu(self.clip_mix(self.pooled(rows)))
        labels = torch.from_numpy(batch["clip_labels"]).repeat_interleave(g, 0)
        parts = self.clip(z).split((len(DIRECTIONS), len(SHAPES), len(COLOURS)), -1)
        keys = ("t.direction", "t.clip_shape", "t.clip_colour")
        return sum(ce(p, labels[:, i], k, stats) for i, (k, p) in enumerate(zip(keys, parts))) * 0.5


def ce(logits, target, key, stats):
    keep = target >= 0
    if not keep.any():
        return logits.sum() * 0
    logits, target = logits[keep], target[keep]
    stats.setdefault(key, []).append((logits.argmax(-1) == target).float().mean().item())
    return F.cross_entropy(logits, target)


def answer_loss(model, batch, rows, prompts_ids, stats, key, generator):
    """Cross entropy of the answers' tokens, and of the multi-token-prediction head."""
    ids, mask = torch.from_numpy(batch["ids"]), torch.from_numpy(batch["mask"])
    visual = (ids == prompts_ids[0]) | (ids == prompts_ids[1])
    rope = model.rope(torch.from_numpy(batch["pos"]))
    x = model.embed(ids, visual, rows)
    h = model.hidden(x, rope)
    target = ids[:, 1:]
    keep = mask[:, 1:]
    logits = model.head(h[:, :-1][keep])
    loss = F.cross_entropy(logits, target[keep])
    right = (logits.argmax(-1) == target[keep]).float()
    stats.setdefault(key, []).append(right.mean().item())
    # the row t sees the next token (its embedding, or the visual row put in its place) and predicts the token after it
    plain = torch.rand((), generator=generator).item() < 0.5
    nxt = (model.model.language_model.embed_tokens(ids) if plain else x)[:, 1:]
    m = model.predict_next_but_one(h[:, :-1], nxt, tuple(r[:, :, :-1] for r in rope))
    keep2 = mask[:, 2:]
    logits2 = model.head(m[:, :-1][keep2])
    loss2 = F.cross_entropy(logits2, ids[:, 2:][keep2])
    stats.setdefault(key + ".mtp", []).append((logits2.argmax(-1) == ids[:, 2:][keep2]).float().mean().item())
    return loss + 0.15 * loss2


def step_loss(model, heads, stage, batch, prompts_ids, stats, generator):
    pictures, clips = batch
    visual = model.model.visual
    rows = visual(torch.from_numpy(patchify(pictures["pixels"])), *pictures["grid"])
    loss = stage["dense"] * heads.picture_loss(rows, pictures, stats)
    if stage["questions"]:
        loss = loss + answer_loss(model, pictures, rows, prompts_ids, stats, "a.picture", generator)
    if clips is not None:
        rows = visual(torch.from_numpy(patchify(clips["pixels"])), *clips["grid"])
        loss = loss + 0.5 * stage["dense"] * heads.clip_loss(rows, clips, stats)
        if stage["questions"]:
            loss = loss + 0.5 * answer_loss(model, clips, rows, prompts_ids, stats, "a.clip", generator)
    return loss


def rate(stage, step, total):
    """Warm-up, constant, then (with `decay`) a linear fall to nothing over the last part."""
    r = min(1.0, (step + 1) / stage["warmup"])
    if stage["decay"]:
        r *= min(1.0, max(0.0, (total - step) / (stage["decay"] * total)))
    return r * stage["lr"]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--stage", choices=list(STAGES), required=True)
    ap.add_argument("--steps", type=int, required=True)
    ap.add_argument("--state", type=pathlib.Path, required=True)
    ap.add_argument("--checkpoint", type=pathlib.Path, required=True, help="directory with the tokenizer's files")
    ap.add_argument("--start-from", type=pathlib.Path, help="state of the stage before")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--workers", type=int, default=1)
    ap.add_argument("--save-every", type=float, default=180, help="seconds")
    ap.add_argument("--lr", type=float)
    ap.add_argument("--decay", type=float)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    stage = dict(STAGES[a.stage])
    stage["lr"] = a.lr or stage["lr"]
    stage["decay"] = stage["decay"] if a.decay is None else a.decay
    torch.manual_seed(a.seed)
    conf = config.write(a.checkpoint)
    model, heads = Demo(conf), Heads(conf["text_config"]["hidden_size"])
    prompts_ids = (conf["image_token_id"], conf["video_token_id"])
    params = list(model.named_parameters()) + list(heads.named_parameters())
    groups = [{"params": [p for n, p in params if p.dim() > 1 and "embed" not in n], "weight_decay": 0.02},
              {"params": [p for n, p in params if p.dim() <= 1 or "embed" in n], "weight_decay": 0.0}]
    opt = torch.optim.AdamW(groups, lr=stage["lr"], betas=(0.9, 0.98), eps=1e-8, fused=True)
    first = 0
    source = a.state if a.state.exists() else a.start_from
    if source:
        s = torch.load(source, map_location="cpu", weights_only=False)
        model.load_state_dict(s["model"])
        heads.load_state_dict(s["heads"])
        opt.load_state_dict(s["opt"])
        if source == a.state:
            first = s["step"]
        print("loaded", source.name, "at step", s["step"], flush=True)

    def save(step):
        tmp = a.state.with_suffix(".tmp")
        torch.save({"model": model.state_dict(), "heads": heads.state_dict(), "opt": opt.state_dict(), "step": step, "stage": a.stage}, tmp)
        tmp.replace(a.state)

    print(sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    feed = Feed(str(a.checkpoint), stage, a.seed, first, a.workers)
    stats, saved, t0 = {}, time.time(), time.time()
    for step in range(first, a.steps):
        got, batch = feed.get()
        assert got == step
        for g in opt.param_groups:
            g["lr"] = rate(stage, step, a.steps)
        generator = torch.Generator().manual_seed(a.seed * 1000003 + step)
        loss = step_loss(model, heads, stage, batch, prompts_ids, stats, generator)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_([p for _, p in params if p.grad is not None], 1.0)
        if math.isfinite(norm):
            opt.step()
        if (step + 1) % 50 == 0:
            line = " ".join("{} {:.3f}".format(k[2:], sum(v) / len(v)) for k, v in sorted(stats.items()))
            print("{} {} loss {:.3f} | {} | {:.2f} s/step".format(a.stage, step + 1, loss.item(), line, (time.time() - t0) / 50), flush=True)
            stats, t0 = {}, time.time()
        if time.time() - saved > a.save_every:
            save(step + 1)
            saved = time.time()
    save(a.steps)
    export.save(model.state_dict(), a.state.parent)
    feed.close()


if __name__ == "__main__":
    main()
