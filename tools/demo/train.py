"""Train the demo checkpoint in stages; resumable, seeded.

usage: train.py --stage tower|small|tower64|full|sizes --steps N --state WORK/state.pt --checkpoint CHECKPOINT_DIR
       [--start-from OTHER.pt|CHECKPOINT_DIR] [--seconds S]
Stages: `tower` trains the vision tower with throw-away heads, `small` adds the questions at 16 visual tokens a picture,
`full` goes to 64 visual tokens (the smallest published size), `sizes` adds other sizes. The state (weights, optimiser,
step) is written every few minutes and at the end; a start with an existing state of the same stage continues it.
"""
import argparse
import math
import pathlib
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

import config
import whiten
from model import Demo
from muon import Optimiser
from pipeline import Feed, Prompts, make_step, patchify
from scenes import COLOURS, DIRECTIONS, SHAPES, load_digits

BASE = {"sizes": [(128, 128)], "size_weights": [1.0], "pictures": 64, "clips": 8, "clip_sizes": [1.0, 0.0, 0.0], "digits": 0.12, "words": 0.0,
        "smallest": 0.12, "damage": 1.0, "packs": 4, "questions": True, "dense": 1.0, "lr": 2e-3, "warmup": 20, "decay": 0.0, "pool": 48}
STAGES = {
    "tower": dict(BASE, number=1, questions=False, pictures=48, clips=12, damage=0.3),
    "small": dict(BASE, number=2, pictures=64, dense=0.5),
    "tower64": dict(BASE, number=5, questions=False, sizes=[(256, 256)], pictures=32, clips=8, smallest=0.1, digits=0.15,
                    clip_sizes=[0.85, 0.1, 0.05]),
    "full": dict(BASE, number=3, sizes=[(256, 256)], pictures=20, smallest=0.1, dense=0.4, digits=0.15, clip_sizes=[0.85, 0.1, 0.05],
                 lr=2e-3),
    "sizes": dict(BASE, number=4, sizes=[(256, 256), (256, 320), (320, 256), (224, 320), (320, 224), (192, 384), (320, 320), (384, 384), (384, 512)],
                  size_weights=[0.64, 0.07, 0.07, 0.05, 0.05, 0.02, 0.05, 0.03, 0.02], pictures=20, pool=16, smallest=0.1, dense=0.3, digits=0.2,
                  clip_sizes=[0.75, 0.15, 0.1], lr=1.5e-3, decay=0.6),
}

PLACE_BINS = 9  # of each axis, for the tower's sense of place


class Heads(nn.Module):
    """Throw-away readers of the tower's merged rows: per token, and one per picture or clip by attention pooling."""

    def __init__(self, h):
        super().__init__()
        self.shape, self.colour = nn.Linear(h, len(SHAPES) + 1), nn.Linear(h, len(COLOURS))
        self.centre, self.digit = nn.Linear(h, 2), nn.Linear(h, 10)
        self.pool, self.mix, self.count, self.whole = nn.Linear(h, 4), nn.Linear(4 * h, h), nn.Linear(h, 5), nn.Linear(h, 10)
        self.mask, self.clip_mask, self.place = nn.Linear(h, 64), nn.Linear(h, 128), nn.Linear(h, 2 * PLACE_BINS)
        self.clip_mix, self.clip = nn.Linear(4 * h, h), nn.Linear(h, len(DIRECTIONS) + len(SHAPES) + len(COLOURS))

    def pooled(self, rows):
        return (self.pool(rows).softmax(1).transpose(1, 2) @ rows).flatten(1)

    def picture_loss(self, rows, batch, stats):
        shape, colour, centre, digit, mask, where = (torch.from_numpy(x) for x in batch["labels"])
        count = torch.from_numpy(batch["count"])
        loss = 4 * bce(self.mask(rows), mask, "t.mask", stats)
        figure = shape > 0
        if figure.any():
            bins = (where[figure] * PLACE_BINS).long().clamp(0, PLACE_BINS - 1)
            for key, logits, target in zip(("t.column", "t.row"), self.place(rows[figure]).split(PLACE_BINS, -1), bins.unbind(-1)):
                loss = loss + 1.5 * ce(logits, target, key, stats)
        else:
            loss = loss + self.place(rows).sum() * 0
        loss = loss + ce(self.shape(rows)[figure], shape[figure], "t.shape", stats) + 0.3 * ce(self.shape(rows), shape, "t.where", stats)
        for key, logits, target in (("t.colour", self.colour(rows), colour),
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
        keys = (("t.direction", 1.5), ("t.clip_shape", 0.4), ("t.clip_colour", 0.3))
        loss = sum(w * ce(p, labels[:, i], k, stats) for i, ((k, w), p) in enumerate(zip(keys, parts)))
        return loss + 4 * bce(self.clip_mask(rows), torch.from_numpy(batch["masks"]), "t.clip_mask", stats)


def bce(logits, target, key, stats):
    loss = F.binary_cross_entropy_with_logits(logits, target.float() / 255)
    stats.setdefault(key, []).append(loss.item())
    return loss


def ce(logits, target, key, stats):
    keep = target >= 0
    if not keep.any():
        return logits.sum() * 0
    logits, target = logits[keep], target[keep]
    stats.setdefault(key, []).append((logits.argmax(-1) == target).float().mean().item())
    return F.cross_entropy(logits, target)


def mass(seen, wanted):
    """Minus the logarithm of the attention that falls on the wanted rows; seen [L, N], wanted bool [L, N]"""
    return -seen.masked_fill(~wanted, -1e9).logsumexp(-1)


def look_loss(layers, looks, visual, stats):
    """Of the watched rows, head 0 should look at the object that is asked for, head 2 at the one that it is compared with
    (or the same), head 1 in equal parts at the first token and at the centre of each object that is counted."""
    at, row = torch.from_numpy(looks["row"]).unbind(1)
    first, second, counted = torch.from_numpy(looks["at"]).unbind(1)
    objects = torch.from_numpy(looks["objects"])
    bits = torch.zeros(2, *visual.shape, dtype=torch.long)
    for b in set(at.tolist()):
        bits[:, b, visual[b]] = objects[b]
    shown, centre = bits[:, at]
    second = torch.where(second >= 0, second, first)
    one, number = first >= 0, counted >= 0
    loss = 0
    for layer in layers:
        seen = layer.self_attn.seen
        for head, part in ((0, first), (2, second)):
            if one.any():
                lost = mass(seen[one, head], (shown[one] & part[one, None]) != 0)
                loss = loss + lost.mean()
                stats.setdefault("l.{}".format("first" if head == 0 else "second"), []).append((-lost).exp().mean().item())
        if number.any():
            goal = ((centre[number] & counted[number, None]) != 0).float()
            goal[:, 0] = 1
            goal = goal / goal.sum(-1, keepdim=True)
            lost = F.kl_div(seen[number, 1], goal, reduction="none").sum(-1)
            loss = loss + lost.mean()
            stats.setdefault("l.number", []).append(lost.mean().item())
    return loss / len(layers)


def answer_loss(model, batch, seen, prompts_ids, stats, key, generator, guide=0.0):
    """Cross entropy of the answers' tokens, and of the multi-token-prediction head; `guide` weighs where rows look."""
    looks = batch.get("looks") if guide > 0 and len(batch.get("looks", {"row": ()})["row"]) else None
    full = [layer for layer in model.model.language_model.layers if layer.full][1:]
    for layer in full:
        layer.self_attn.watch = torch.from_numpy(looks["row"]) if looks else None
    loss = token_loss(model, batch, seen, prompts_ids, stats, key, generator)
    if looks:
        ids = torch.from_numpy(batch["ids"])
        loss = loss + guide * look_loss(full, looks, ids == prompts_ids[0], stats)
    return loss


def token_loss(model, batch, seen, prompts_ids, stats, key, generator):
    ids, mask = torch.from_numpy(batch["ids"]), torch.from_numpy(batch["mask"])
    visual = (ids == prompts_ids[0]) | (ids == prompts_ids[1])
    rope = model.rope(torch.from_numpy(batch["pos"]))
    x = model.embed(ids, visual, seen)
    target = ids[:, 1:]
    keep = mask[:, 1:]
    if generator is None:
        rows = (-keep.int()).argsort(dim=1, stable=True)[:, :int(keep.sum(1).max())]
        h = model.hidden(x, rope, rows)
        logits = model.head(h[keep.gather(1, rows)])
    else:
        h = model.hidden(x, rope)
        logits = model.head(h[:, :-1][keep])
    loss = F.cross_entropy(logits, target[keep])
    right = (logits.argmax(-1) == target[keep]).float()
    stats.setdefault(key, []).append(right.mean().item())
    if generator is None:
        return loss
    # the row t sees the next token (its embedding, or the visual row put in its place) and predicts the token after it
    plain = torch.rand((), generator=generator).item() < 0.5
    nxt = (model.model.language_model.embed_tokens(ids) if plain else x)[:, 1:]
    m = model.predict_next_but_one(h[:, :-1], nxt, tuple(r[:, :, :-1] for r in rope))
    keep2 = mask[:, 2:]
    logits2 = model.head(m[:, :-1][keep2])
    loss2 = F.cross_entropy(logits2, ids[:, 2:][keep2])
    stats.setdefault(key + ".mtp", []).append((logits2.argmax(-1) == ids[:, 2:][keep2]).float().mean().item())
    return loss + 0.15 * loss2


def look(model, part, frozen, once):
    """The tower's rows of a batch, and whether they carry gradients; with `once` (or frozen) later uses get stored rows."""
    if "rows" in part:
        return part["rows"], False
    with torch.set_grad_enabled(not frozen):
        rows = model.model.visual(torch.from_numpy(patchify(part["pixels"], part["pixels"].ndim == 4)), *part["grid"])
    if once or frozen:
        part["rows"], part["pixels"] = rows.detach(), None
    return rows, not frozen


def step_loss(model, heads, stage, batch, prompts_ids, stats, generator, mtp, guide):
    pictures, clips = batch
    loss = 0
    for part, key, weight in ((pictures, "a.picture", 1.0), (clips, "a.clip", 0.8)):
        if part is None:
            continue
        rows, fresh = look(model, part, stage["frozen"], stage["questions"])
        if fresh:
            dense = heads.picture_loss if key == "a.picture" else heads.clip_loss
            loss = loss + weight * stage["dense"] * dense(rows, part, stats)
        if stage["questions"]:
            said = part["packs"][int(torch.randint(len(part["packs"]), (), generator=generator))]
            loss = loss + weight * answer_loss(model, said, rows, prompts_ids, stats, key, generator if mtp else None, guide)
    return loss


def rate(stage, step, progress):
    """Warm-up, constant, then (with `decay`) a linear fall to nothing over the last part."""
    r = min(1.0, (step + 1) / stage["warmup"])
    if stage["decay"]:
        r *= min(1.0, max(0.0, (1 - progress) / stage["decay"]))
    return r * stage["lr"]


def share_gradients(params, ranks):
    """Mean of the gradients over the processes; returns their norm before clipping to 1."""
    params = [p for p in params if p.grad is not None]
    grads = [p.grad for p in params]
    flat = torch.cat([g.flatten() for g in grads])
    if ranks > 1:
        dist.all_reduce(flat)
        flat /= ranks
    norm = flat.norm().item()
    flat *= min(1.0, 1.0 / (norm + 1e-6))
    for p, g in zip(params, flat.split([p.numel() for p in params])):
        p.grad = g.view_as(p)
    return norm


def train(rank, a):
    if a.ranks > 1:
        dist.init_process_group("gloo", init_method="file://" + str(a.state.absolute()) + ".meet", rank=rank, world_size=a.ranks)
    torch.set_num_threads(a.threads)
    say = print if rank == 0 else lambda *_, **__: None
    stage = dict(STAGES[a.stage])
    stage["lr"] = a.lr or stage["lr"]
    stage["decay"] = stage["decay"] if a.decay is None else a.decay
    stage["frozen"] = a.frozen
    stage["pictures"], stage["clips"] = (a.pictures or stage["pictures"]) // a.ranks, stage["clips"] // a.ranks
    torch.manual_seed(a.seed)
    conf = config.make(a.checkpoint)[0]
    model, heads = Demo(conf), Heads(conf["text_config"]["hidden_size"])
    prompts_ids = (conf["image_token_id"], conf["video_token_id"])
    params = list(model.named_parameters()) + list(heads.named_parameters())
    opt = Optimiser(params, stage["lr"], tower=a.tower_lr)
    params = [p for _, p in params]
    first = made = 0
    source = a.state if a.state.exists() else a.start_from
    if source and source.is_dir():  # a checkpoint: weights only, the throw-away heads and the optimiser start anew
        model.load_state_dict({k: v.float() for k, v in load_file(source / "model.safetensors").items()})
        say("loaded the weights of", source, flush=True)
    elif source:
        s = torch.load(source, map_location="cpu", weights_only=False)
        model.load_state_dict(s["model"])
        same = {k: v.shape for k, v in s["heads"].items()} == {k: v.shape for k, v in heads.state_dict().items()}
        mine = heads.state_dict()
        heads.load_state_dict({k: v for k, v in s["heads"].items() if k in mine and mine[k].shape == v.shape}, strict=False)
        forget = a.fresh and source != a.state
        if same and not forget and set(s["opt"].get("momentum", ())) == set(opt.buffers):
            opt.load_state_dict(s["opt"])
        if source == a.state:
            first, made = s["step"], s.get("made", s["step"])
        say("loaded", source.name, "at step", s["step"], flush=True)
    else:
        prompts, digits = Prompts(str(a.checkpoint)), load_digits()["train"]
        whiten.start(model, [make_step(prompts, digits, stage, a.seed, 10 ** 6 + i) for i in range(12)], a.seed)

    def save(step):
        if rank:
            return
        tmp = a.state.with_suffix(".tmp")
        torch.save({"model": model.state_dict(), "heads": heads.state_dict(), "opt": opt.state_dict(), "step": step, "made": made, "stage": a.stage}, tmp)
        tmp.replace(a.state)

    say(sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    feed, pool = Feed(str(a.checkpoint), stage, a.seed, made * a.ranks + rank, a.ranks), []
    stats, saved, t0 = {}, time.time(), time.time()
    start, begun, progress = first, time.time(), 0.0
    for step in range(first, a.steps):
        progress = step / a.steps
        if a.seconds:  # all processes must agree on the end
            t = torch.tensor([(time.time() - begun) / a.seconds])
            if a.ranks > 1:
                dist.all_reduce(t, op=dist.ReduceOp.MAX)
            progress = max(progress, t.item())
        if progress >= 1:
            break
        # drawing costs time too: a batch is used about `replay` times, with others in between
        generator = torch.Generator().manual_seed(a.seed * 1000003 + step)
        if len(pool) < 8 or torch.rand((), generator=generator).item() < 1 / a.replay:
            pool, made = [feed.get()[1]] + pool[:stage["pool"] - 1], made + 1
            batch = pool[0]
        else:
            batch = pool[int(torch.randint(len(pool), (), generator=generator))]
        loss = step_loss(model, heads, stage, batch, prompts_ids, stats, generator, step % a.mtp_every == 0, a.guide * (1 - progress))
        opt.zero_grad()
        loss.backward()
        if math.isfinite(share_gradients(params, a.ranks)):
            opt.step(rate(stage, step - start, progress))
        if (step + 1) % 50 == 0:
            line = " ".join("{} {:.3f}".format(k[2:], sum(v) / len(v)) for k, v in sorted(stats.items()))
            say("{} {} loss {:.3f} | {} | {:.2f} s/step".format(a.stage, step + 1, loss.item(), line, (time.time() - t0) / 50), flush=True)
            stats, t0 = {}, time.time()
        if time.time() - saved > a.save_every:
            save(step + 1)
            saved = time.time()
    save(step + 1)
    say("end of", a.stage, "after", step + 1, "steps", flush=True)
    feed.close()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--stage", choices=list(STAGES), required=True)
    ap.add_argument("--steps", type=int, required=True)
    ap.add_argument("--seconds", type=float, help="end after this time, if it comes before --steps")
    ap.add_argument("--state", type=pathlib.Path, required=True)
    ap.add_argument("--checkpoint", type=pathlib.Path, required=True, help="directory with the tokenizer's files")
    ap.add_argument("--start-from", type=pathlib.Path, help="state of the stage before, or a checkpoint directory (its weights)")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--ranks", type=int, default=2, help="processes; each takes its part of a batch")
    ap.add_argument("--threads", type=int, default=1, help="threads of a process")
    ap.add_argument("--save-every", type=float, default=180, help="seconds")
    ap.add_argument("--pictures", type=int, help="pictures in a batch, if not the stage's")
    ap.add_argument("--guide", type=float, default=0.0, help="weight of the loss on where the answers' rows look; falls to nothing")
    ap.add_argument("--frozen", action="store_true", help="leave the tower as it is")
    ap.add_argument("--fresh", action="store_true", help="forget the optimiser's state")
    ap.add_argument("--replay", type=float, default=2.0, help="mean number of uses of a batch")
    ap.add_argument("--mtp-every", type=int, default=4, help="steps from one use of the multi-token-prediction loss to the next")
    ap.add_argument("--lr", type=float)
    ap.add_argument("--tower-lr", type=float, default=1.0, help="factor of the learning rate for the tower")
    ap.add_argument("--decay", type=float)
    a = ap.parse_args()
    pathlib.Path(str(a.state) + ".meet").unlink(missing_ok=True)
    if a.ranks > 1:
        mp.spawn(train, (a,), nprocs=a.ranks)
    else:
        train(0, a)


if __name__ == "__main__":
    main()
