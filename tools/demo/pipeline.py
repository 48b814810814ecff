"""From scenes to training batches: sizes, patches, prompts, positions, loss masks, and the worker process.

Follows the published preprocessing: pixel-count limits, multiples of 32, bicubic resize, (x - 127.5) / 127.5,
patch rows in merge-block order, video groups with time stamps. A batch is a function of (seed, stage, step).
"""
import json
import math
import multiprocessing
import os
import pathlib

import numpy as np
from PIL import Image
from tokenizers import Tokenizer

import dialogue
import scenes

MIN_PIXELS, MAX_PIXELS = 65536, 16777216


def smart_resize(h, w, lo=MIN_PIXELS, hi=MAX_PIXELS):
    H, W = round(h / 32) * 32, round(w / 32) * 32
    if H * W > hi:
        b = math.sqrt(h * w / hi)
        H, W = max(32, math.floor(h / b / 32) * 32), max(32, math.floor(w / b / 32) * 32)
    elif H * W < lo:
        b = math.sqrt(lo / (h * w))
        H, W = math.ceil(h * b / 32) * 32, math.ceil(w * b / 32) * 32
    return H, W


def resize(pixels, H, W):
    return pixels if pixels.shape[:2] == (H, W) else np.asarray(Image.fromarray(pixels).resize((W, H), Image.BICUBIC))


def patchify(frames, fold=False):
    """uint8 [N, T=2, H, W, 3] (or [N, H, W, 3]: the picture twice) -> float32 [N, gh*gw, 1536]; `fold`: a picture once, 768"""
    if frames.ndim == 4:
        frames = frames[:, None] if fold else np.repeat(frames[:, None], 2, 1)
    n, t, h, w, _ = frames.shape
    x = frames.reshape(n, t, h // 32, 2, 16, w // 32, 2, 16, 3)
    x = x.transpose(0, 2, 5, 3, 6, 8, 1, 4, 7)  # n, by, bx, mr, mc, c, t, py, px
    return (x.reshape(n, (h // 16) * (w // 16), 768 * t).astype(np.float32) - np.float32(127.5)) / np.float32(127.5)


class Prompts:
    """Token ids, positions and loss masks of conversations about one picture or clip."""

    def __init__(self, folder):
        self.tok = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
        self.id = {t: self.tok.token_to_id(t) for t in ("<|image_pad|>", "<|video_pad|>", "<|im_end|>", "<|endoftext|>")}

    def encode(self, text):
        return self.tok.encode(text, add_special_tokens=False).ids

    def visual(self, grid, stamps=None):
        gh, gw = grid
        pads = gh * gw // 4
        if stamps is None:
            return "<|vision_start|>" + "<|image_pad|>" * pads + "<|vision_end|>"
        groups = ("<{:.1f} seconds><|vision_start|>".format(s) + "<|video_pad|>" * pads + "<|vision_end|>" for s in stamps)
        return "<|vision_start|>" + "".join(groups) + "<|vision_end|>"

    def conversation(self, visual, qa, visual_last=False):
        """ids, the mask of the answers' tokens (stop token included; the last turn has the thinking-off opening), and for
        every row before a word of an answer its number and the Gaze of the question; qa: (question, answer, Gaze) each"""
        ids, mask, looks = [], [], []

        def add(text, answer):
            new = self.encode(text)
            ids.extend(new)
            mask.extend([answer] * len(new))

        for i, (q, a, gaze) in enumerate(qa):
            v = visual if i == 0 else ""
            user = q + v if visual_last else v + q
            last = i + 1 == len(qa)
            add("<|im_start|>user\n" + user + "<|im_end|>\n<|im_start|>assistant\n" + ("<think>\n\n</think>\n\n" if last else ""), False)
            first = len(ids)
            add(a + "<|im_end|>", True)
            looks += [(row, gaze) for row in range(first - 1, len(ids) - 2)]
            add("\n", False)
        return ids, mask, looks

    def positions(self, ids, grid):
        """[3, n] positions; every run of pad tokens is one picture or one group of the given grid"""
        gh, gw = grid[0] // 2, grid[1] // 2
        pads = {self.id["<|image_pad|>"], self.id["<|video_pad|>"]}
        out = np.zeros((3, len(ids)), np.int64)
        cur = i = 0
        while i < len(ids):
            if ids[i] in pads:
                j = np.arange(gh * gw)
                out[0, i:i + gh * gw] = cur
                out[1, i:i + gh * gw] = cur + j // gw
                out[2, i:i + gh * gw] = cur + j % gw
                cur += max(gh, gw)
                i += gh * gw
            else:
                out[:, i] = cur
                cur, i = cur + 1, i + 1
        return out


def pack(prompts, conversations, grid):
    """Right-padded arrays of several (ids, mask, ...)."""
    n = max(len(c[0]) for c in conversations)
    ids = np.full((len(conversations), n), prompts.id["<|endoftext|>"], np.int64)
    mask = np.zeros((len(conversations), n), bool)
    pos = np.zeros((3, len(conversations), n), np.int64)
    for b, (i, m, *_) in enumerate(conversations):
        ids[b, :len(i)], mask[b, :len(m)] = i, m
        pos[:, b, :len(i)] = prompts.positions(i, grid)
    return {"ids": ids, "mask": mask, "pos": pos, "grid": grid}


def looks_of(conversations, objects):
    """Where the rows before the answers' words should look: `row` [L, 2] (conversation, row) and `at` [L, 3], bit sets of
    objects for Gaze's three parts (-1: no such part); objects: int64 [conversations, 2, visual tokens]."""
    bits = lambda part: -1 if part is None else sum(1 << i for i in part)
    found = [((b, row), [bits(p) for p in gaze]) for b, c in enumerate(conversations) for row, gaze in c[2] if any(p is not None for p in gaze)]
    return {"row": np.array([f[0] for f in found], np.int64).reshape(-1, 2), "at": np.array([f[1] for f in found], np.int64).reshape(-1, 3),
            "objects": np.stack(objects)}


def native_size(rng, H, W, lo):
    """A picture size (h, w) that the size rule maps to H x W; small ones are enlarged, few are exact."""
    least = min(0.8, 60 / min(H, W))  # smaller originals hold too few pixels of a small figure
    for _ in range(30):
        s = 1.0 if rng.random() < 0.15 else float(rng.uniform(least, 1.02))
        j = 1 + (0 if rng.random() < 0.6 else float(rng.uniform(-0.05, 0.05)))
        h, w = max(24, round(H * s)), max(24, round(W * s * j))
        if smart_resize(h, w, lo) == (H, W):
            return h, w
    return H, W


def sample_any(rng, digits, aspect, smallest, digit_share, word_share):
    r = rng.random()
    if r < digit_share:
        return scenes.sample_digit(rng, digits, aspect)
    if r < digit_share + word_share:
        return scenes.sample_word(rng, aspect)
    return scenes.sample_scene(rng, aspect, smallest)


def picture_batch(rng, prompts, digits, stage, questions=True):
    H, W = stage["sizes"][int(rng.choice(len(stage["sizes"]), p=stage["size_weights"]))]
    n = max(4, int(stage["pictures"] * 65536 // max(65536, H * W))) if H * W > 65536 else stage["pictures"]
    gh, gw = H // 16, W // 16
    small = stage["smallest"] if H * W >= 65536 else max(0.1, stage["smallest"])
    images, labels, objects, count, packs = [], [], [], [], [[] for _ in range(stage["packs"])]
    lengths = rng.choice([1, 2, 4, 7], len(packs), p=[0.15, 0.15, 0.3, 0.4])  # the same in a pack: little padding
    while len(images) < n:
        s = sample_any(rng, digits, W / H, small, stage["digits"], stage["words"])
        h, w = native_size(rng, H, W, min(MIN_PIXELS, H * W))
        for pack_, length in zip(packs, lengths if questions else ()):
            qa = dialogue.turns(rng, s, int(length))
            pack_.append(prompts.conversation(prompts.visual((gh, gw)), [t[1:] for t in qa], rng.random() < 0.06))
        images.append(resize(scenes.render(rng, s, w, h, stage["damage"]), H, W))
        labels.append(scenes.token_labels(s, gw // 2, gh // 2))
        objects.append(scenes.object_labels(s, gw // 2, gh // 2))
        count.append(len(s["objects"]) if s["kind"] in ("scene", "plain") else -1)
    return {"grid": (gh, gw), "pixels": np.stack(images), "labels": [np.stack(x) for x in zip(*labels)], "count": np.array(count),
            "packs": [dict(pack(prompts, p, (gh, gw)), looks=looks_of(p, objects)) for p in packs if p]}


def stamps_of(rng, frames):
    """Time stamps of a clip: frames taken as they are at some rate, or picked from a longer recording."""
    rate = float(rng.choice([1, 2, 2, 4, 5, 8, 10, 12, 15, 24, 24, 25, 30]))
    idx = list(range(frames))
    if rng.random() < 0.3:
        total = int(rng.integers(frames, frames * 12 + 1))
        idx = [round(v) for v in np.linspace(0, total - 1, frames)]
    if len(idx) % 2:
        idx.append(idx[-1])
    return [(idx[i] / rate + idx[i + 1] / rate) / 2 for i in range(0, len(idx), 2)]


def clip_batch(rng, prompts, stage, questions=True):
    side = int(rng.choice([64, 96, 128], p=stage["clip_sizes"]))
    frames = int(rng.choice([2, 3, 4, 5, 6, 7, 8], p=[0.16, 0.1, 0.3, 0.08, 0.12, 0.06, 0.18]))
    grid = (side // 16, side // 16)
    clips, labels, masks, packs = [], [], [], [[] for _ in range(stage["packs"])]
    lengths = rng.choice([1, 2, 3], len(packs), p=[0.4, 0.35, 0.25])
    while len(clips) < stage["clips"]:
        c = scenes.sample_clip(rng)
        if frames == 2 and max(map(abs, c["step"])) > 0.4:
            continue
        px = scenes.render_clip(rng, c, side if rng.random() < 0.7 else int(rng.integers(max(48, side - 15), side + 15)), frames)
        px = np.stack([resize(f, side, side) for f in px])
        if frames % 2:
            px = np.concatenate((px, px[-1:]))
        clips.append(px)
        masks.append(scenes.clip_masks(c, frames, side // 32))
        labels.append([list(scenes.DIRECTIONS).index(c["direction"]), scenes.SHAPES.index(c["objects"][0]["shape"]),
                       scenes.COLOURS.index(c["objects"][0]["colour"])])
        for pack_, length in zip(packs, lengths if questions else ()):
            qa = dialogue.turns(rng, c, int(length))
            pack_.append(prompts.conversation(prompts.visual(grid, stamps_of(rng, frames)), [t[1:] for t in qa], rng.random() < 0.06))
    px = np.stack(clips)
    groups = px.shape[1] // 2
    return {"grid": grid, "pixels": px.reshape(len(clips) * groups, 2, side, side, 3), "groups": groups, "clip_labels": np.array(labels),
            "masks": np.concatenate(masks), "packs": [pack(prompts, p, grid) for p in packs if p]}


def make_step(prompts, digits, stage, seed, step):
    rng = np.random.default_rng([seed, stage["number"], step])
    q = stage["questions"]
    return picture_batch(rng, prompts, digits, stage, q), clip_batch(rng, prompts, stage, q) if stage["clips"] else None


def _work(queue, folder, stage, seed, first, stride, part):
    """Makes the batches first, first + stride, ..."""
    prompts, digits = Prompts(folder), scenes.load_digits()[part]
    step, parent = first, os.getppid()
    while os.getppid() == parent:  # not left behind when the trainer is stopped
        queue.put((step, make_step(prompts, digits, stage, seed, step)))
        step += stride


class Feed:
    """The batches first, first + stride, ... in order, made by a worker process."""

    def __init__(self, folder, stage, seed, first, stride, part="train"):
        ctx = multiprocessing.get_context("spawn")
        self.queue = ctx.Queue(3)
        self.job = ctx.Process(target=_work, args=(self.queue, folder, stage, seed, first, stride, part))
        self.job.start()

    def get(self):
        return self.queue.get()

    def close(self):
        self.job.terminate()


def write_json(path, data):
    pathlib.Path(path).write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
