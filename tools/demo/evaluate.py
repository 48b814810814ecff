"""Accuracy of a checkpoint on a question file, with transformers and greedy decoding.

usage: evaluate.py CHECKPOINT_DIR QUESTIONS.jsonl ... [--dtype float32|bfloat16] [--wrong OUT.jsonl] [--limit N]
An answer counts if, lower-cased and without white space and punctuation at its ends, it equals one of `accept`
(compared after the same treatment). Pictures are resized with Pillow's bicubic filter.
"""
import argparse
import collections
import json
import pathlib

import numpy as np
import torch
from PIL import Image, ImageOps, ImageSequence

from pipeline import Prompts, patchify, resize, smart_resize


def normalise(text):
    return text.strip().strip(".,;:!?\"'`").strip().lower()


def render_prompt(folder, messages):
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    template = env.from_string((pathlib.Path(folder) / "chat_template.jinja").read_text(encoding="utf-8"))
    return template.render(messages=messages, add_generation_prompt=True)


def load_picture(path):
    return np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))


def video_size(n, h, w, lo=4096, hi=25165824):
    if min(h, w) < 32:
        s = max(32 / h, 32 / w)
        h, w = int(h * s), int(w * s)
    H, W, T = round(h / 32) * 32, round(w / 32) * 32, round(n / 2) * 2
    if T * H * W > hi:
        b = (n * h * w / hi) ** 0.5
        return max(32, int(h / b / 32) * 32), max(32, int(w / b / 32) * 32)
    if T * H * W < lo:
        b = (lo / (n * h * w)) ** 0.5
        return int(np.ceil(h * b / 32)) * 32, int(np.ceil(w * b / 32)) * 32
    return H, W


def load_clip(item, root):
    """frames [G, 2, H, W, 3] and time stamps; a list of frames is taken whole, a file is sampled at 2 frames a second"""
    if isinstance(item["video"], list):
        frames = [load_picture(root / f) for f in item["video"]]
        rate, idx = item.get("fps", 24), list(range(len(frames)))
    else:
        frames = [np.asarray(f.convert("RGB")) for f in ImageSequence.Iterator(Image.open(root / item["video"]))]
        rate = item.get("fps", 24)
        n = min(max(int(len(frames) / rate * 2), 4), 768, len(frames))
        idx = [round(v) for v in np.linspace(0, len(frames) - 1, n)]
    H, W = video_size(len(idx), *frames[0].shape[:2])
    px = [resize(frames[i], H, W) for i in idx]
    if len(px) % 2:
        px.append(px[-1])
        idx.append(idx[-1])
    stamps = [(idx[i] / rate + idx[i + 1] / rate) / 2 for i in range(0, len(idx), 2)]
    return np.stack(px).reshape(len(px) // 2, 2, H, W, 3), stamps


def inputs(prompts, folder, record, root):
    """Token ids and model arguments of one record."""
    text = render_prompt(folder, record["messages"])
    out = {}
    for m in record["messages"]:
        for item in m["content"] if isinstance(m["content"], list) else []:
            if "image" in item:
                px = load_picture(root / item["image"])
                px = resize(px, *smart_resize(*px.shape[:2]))
                grid = (px.shape[0] // 16, px.shape[1] // 16)
                text = text.replace("<|vision_start|><|image_pad|><|vision_end|>", prompts.visual(grid), 1)
                out = {"pixel_values": torch.from_numpy(patchify(px[None])[0]), "image_grid_thw": torch.tensor([[1, *grid]])}
            elif "video" in item:
                px, stamps = load_clip(item, root)
                grid = (px.shape[2] // 16, px.shape[3] // 16)
                text = text.replace("<|vision_start|><|video_pad|><|vision_end|>", prompts.visual(grid, stamps), 1)
                out = {"pixel_values_videos": torch.from_numpy(patchify(px)).flatten(0, 1), "video_grid_thw": torch.tensor([[len(px), *grid]])}
    ids = torch.tensor([prompts.encode(text)])
    kinds = (ids == prompts.id["<|image_pad|>"]).long() + 2 * (ids == prompts.id["<|video_pad|>"]).long()
    return dict(out, input_ids=ids, attention_mask=torch.ones_like(ids), mm_token_type_ids=kinds)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("checkpoint")
    ap.add_argument("questions", nargs="+", type=pathlib.Path)
    ap.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    ap.add_argument("--wrong", type=pathlib.Path)
    ap.add_argument("--limit", type=int)
    ap.add_argument("--threads", type=int, default=1)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    from transformers import Qwen3_5ForConditionalGeneration
    dtype = getattr(torch, a.dtype)
    model = Qwen3_5ForConditionalGeneration.from_pretrained(a.checkpoint, dtype=dtype).eval()
    prompts = Prompts(a.checkpoint)
    right, total, wrong = collections.Counter(), collections.Counter(), []
    for path in a.questions:
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines[:: max(1, len(lines) // a.limit)] if a.limit else lines:
            r = json.loads(line)
            x = inputs(prompts, a.checkpoint, r, path.parent)
            x = {k: v.to(dtype) if v.is_floating_point() else v for k, v in x.items()}
            with torch.no_grad():
                out = model.generate(**x, do_sample=False, max_new_tokens=40)
            answer = prompts.tok.decode(out[0, x["input_ids"].shape[1]:].tolist())
            ok = normalise(answer) in [normalise(v) for v in r["accept"]]
            total[r["category"]] += 1
            right[r["category"]] += ok
            if not ok:
                wrong.append(dict(r, answer=answer))
    for c in sorted(total):
        print("{:10s} {:5d} of {:5d}  {:.1f} %".format(c, right[c], total[c], 100 * right[c] / total[c]))
    print("{:10s} {:5d} of {:5d}  {:.1f} %".format("all", sum(right.values()), sum(total.values()), 100 * sum(right.values()) / sum(total.values())))
    if a.wrong:
        a.wrong.write_text("".join(json.dumps(w) + "\n" for w in wrong), encoding="utf-8")


if __name__ == "__main__":
    main()
