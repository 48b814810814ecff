"""Make a question set: pictures, questions.jsonl, clips and clips.jsonl, from a seed of its own.

usage: heldout.py OUT_DIR --seed N --part heldout|validate [--scenes 230] [--plain 24] [--digits 130] [--words 0] [--clips 72]
The held-out set is made once and only measured; decisions during training use a validation set (another seed, other
handwriting samples).
"""
import argparse
import json
import pathlib

import numpy as np
from PIL import Image

import dialogue
import scenes

SIZES = [(64, 64), (96, 96), (128, 128), (160, 160), (192, 192), (224, 224), (256, 256), (256, 256)]
OTHER = [(240, 320), (320, 240), (256, 320), (320, 256), (200, 300), (300, 200), (320, 320), (384, 384), (180, 330), (384, 512)]


def save(rng, pixels, path):
    """A small file: PNG for smooth pictures, JPEG or WebP for noisy ones."""
    im = Image.fromarray(pixels)
    flat = len(np.unique(pixels.reshape(-1, 3)[::7], axis=0)) < 300
    kind = "png" if flat and rng.random() < 0.8 else ["jpg", "webp"][int(rng.integers(2))]
    options = {"png": {"optimize": True}, "jpg": {"quality": int(rng.integers(75, 95))}, "webp": {"quality": int(rng.integers(75, 95))}}[kind]
    path = path.with_suffix("." + kind)
    im.save(path, **options)
    return path


def record(ident, category, media, history, question, answer):
    messages = []
    for i, (q, a) in enumerate(history + [(question, None)]):
        messages.append({"role": "user", "content": [media, {"type": "text", "text": q}] if i == 0 else q})
        if a is not None:
            messages.append({"role": "assistant", "content": a})
    return {"id": ident, "category": category, "messages": messages, "accept": dialogue.accepted(answer)}


def questions(rng, scene, media, ident, categories):
    out, history = [], []
    for c in categories:
        for _ in range(12):
            made = dialogue.ask(rng, scene, c)
            if made:
                break
        else:
            continue
        keep = [h for h in history if h[0] != made[0]][-2:] if rng.random() < 0.35 else []
        out.append(record("{}-{}".format(ident, len(out) + 1), c, media, keep, *made[:2]))
        history.append(made[:2])
    return out


def pictures(rng, out, a, digits):
    folder = out / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    lines, n = [], 0
    plan = ["scene"] * a.scenes + ["plain"] * a.plain + ["digit"] * a.digits + ["word"] * a.words
    order = rng.permutation(len(digits[1]))
    for kind in plan:
        n += 1
        h, w = OTHER[int(rng.integers(len(OTHER)))] if kind == "scene" and rng.random() < 0.2 else SIZES[int(rng.integers(len(SIZES)))]
        if kind == "digit":
            scene = scenes.sample_digit(rng, digits, w / h, int(order[(n - 1) % len(order)]))
            cats = ["digit"] if rng.random() < 0.8 else ["colour", "digit"]
        elif kind == "word":
            scene, cats = scenes.sample_word(rng, w / h), ["word"]
        elif kind == "plain":
            scene, cats = scenes.sample_scene(rng, w / h, count=0), ["colour"]
        else:
            scene = scenes.sample_scene(rng, w / h, count=1 + n % 4)
            cats = ["colour", "shape", "position", "count"]
            rng.shuffle(cats)
            cats += ["describe"] if rng.random() < 0.3 else []
        path = save(rng, scenes.render(rng, scene, w, h), folder / "{:04d}".format(n))
        media = {"type": "image", "image": "pictures/" + path.name}
        lines += questions(rng, scene, media, path.stem, cats)
    (out / "questions.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    return n, lines


def clips(rng, out, a):
    folder = out / "clips"
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for n in range(1, a.clips + 1):
        clip = scenes.sample_clip(rng)
        side = int(rng.choice([64, 64, 64, 96]))
        as_file = n % 3 != 0
        frames = int(rng.integers(4, 9)) if as_file else int(rng.integers(2, 7))
        px = scenes.render_clip(rng, clip, side, frames)
        fps = float(rng.choice([2, 4, 5, 8, 10]))
        if as_file:
            name = "clips/{:04d}.gif".format(n)
            ims = [Image.fromarray(p).quantize(64) for p in px]
            ims[0].save(out / name, save_all=True, append_images=ims[1:], duration=int(1000 / fps), loop=0, optimize=False)
            media = {"type": "video", "video": name, "fps": fps}
        else:
            (folder / "{:04d}".format(n)).mkdir(exist_ok=True)
            names = ["clips/{:04d}/{}.png".format(n, i + 1) for i in range(frames)]
            for p, f in zip(px, names):
                Image.fromarray(p).save(out / f, optimize=True)
            media = {"type": "video", "video": names, "fps": fps}
        more = ["colour", "shape"] if n % 2 else []
        for r in questions(rng, clip, media, "clip-{:04d}".format(n), ["direction"] + more):
            r["category"] = r["category"] if r["category"] == "direction" else "clip-" + r["category"]
            lines.append(r)
    (out / "clips.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    return lines


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--seed", type=int, required=True)
    ap.add_argument("--part", choices=["heldout", "validate"], required=True)
    for k, v in (("scenes", 230), ("plain", 24), ("digits", 130), ("words", 0), ("clips", 72)):
        ap.add_argument("--" + k, type=int, default=v)
    a = ap.parse_args()
    n, lines = pictures(np.random.default_rng([a.seed, 1]), a.out, a, scenes.load_digits()[a.part])
    more = clips(np.random.default_rng([a.seed, 2]), a.out, a)
    print(n, "pictures,", len(lines), "questions;", a.clips, "clips,", len(more), "questions")


if __name__ == "__main__":
    main()
