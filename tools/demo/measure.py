"""Accuracy of a training state or a checkpoint on question files, in plain torch and in batches (the quick look).

usage: measure.py STATE.pt|CHECKPOINT_DIR TOKENIZER_DIR QUESTIONS.jsonl... [--wrong OUT.jsonl] [--threads 1] [--batch 32]
Greedy answers, weights rounded to bfloat16 as they are shipped, arithmetic in float32; `evaluate.py` does the same with
transformers and `score.py` with the engine. Answers are compared as in `evaluate.py`.
"""
import argparse
import collections
import json
import pathlib

import torch
from safetensors.torch import load_file

import config
from evaluate import load_clip, load_picture, normalise, render_prompt
from model import Demo
from pipeline import Prompts, pack, patchify, resize, smart_resize


def load(path, tokenizer):
    """The network and its configuration, ready to answer."""
    conf = config.make(tokenizer)[0]
    weights = load_file(path / "model.safetensors") if path.is_dir() else torch.load(path, map_location="cpu", weights_only=False)["model"]
    model = Demo(conf).eval()
    model.load_state_dict({k: v.bfloat16().float() for k, v in weights.items()})
    return model, conf


def media_of(record, root):
    """patches [pictures or frame pairs, patches, 1536], grid, time stamps (None for a picture) of a record's only item"""
    for m in record["messages"]:
        for item in m["content"] if isinstance(m["content"], list) else []:
            if "image" in item:
                px = load_picture(root / item["image"])
                px = resize(px, *smart_resize(*px.shape[:2]))[None]
                return patchify(px), (px.shape[1] // 16, px.shape[2] // 16), None
            if "video" in item:
                px, stamps = load_clip(item, root)
                return patchify(px), (px.shape[2] // 16, px.shape[3] // 16), stamps
    raise ValueError("no picture in record " + record["id"])


def prepare(prompts, folder, path):
    """Records of a file as (record, token ids, grid, tower input), media shared between questions about one file."""
    seen, out = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        r = json.loads(line)
        text = render_prompt(folder, r["messages"])
        key = json.dumps(r["messages"][0]["content"][0])
        if key not in seen:
            seen[key] = media_of(r, path.parent)
        patches, grid, stamps = seen[key]
        pad = "<|image_pad|>" if stamps is None else "<|video_pad|>"
        text = text.replace("<|vision_start|>" + pad + "<|vision_end|>", prompts.visual(grid, stamps), 1)
        out.append((r, prompts.encode(text), grid, patches))
    return out


@torch.no_grad()
def answers(model, conf, prompts, items, longest=24):
    """Greedy answers to items of one grid: rows of the tower once, then the whole prompt again for every token."""
    rows = {}
    for _, _, grid, patches in items:
        if id(patches) not in rows:
            rows[id(patches)] = model.model.visual(torch.from_numpy(patches), *grid).flatten(0, 1)
    rows = torch.cat([rows[id(p)] for _, _, _, p in items])
    ids, new = [list(i[1]) for i in items], [[] for _ in items]
    done, stop = [False] * len(items), (prompts.id["<|im_end|>"], prompts.id["<|endoftext|>"])
    for _ in range(longest):
        batch = pack(prompts, [(i, [False] * len(i)) for i in ids], items[0][2])
        t = torch.from_numpy(batch["ids"])
        visual = (t == conf["image_token_id"]) | (t == conf["video_token_id"])
        last = torch.tensor([[len(i) - 1] for i in ids])
        h = model.hidden(model.embed(t, visual, rows), model.rope(torch.from_numpy(batch["pos"])), last)
        for n, token in enumerate(model.head(h)[:, 0].argmax(-1).tolist()):
            done[n] = done[n] or token in stop
            if not done[n]:
                new[n].append(token)
                ids[n].append(token)
        if all(done):
            break
    return [prompts.tok.decode(n) for n in new]


def measure(model, conf, prompts, folder, paths, batch):
    """(right, total) counters by category, and the records that were answered wrongly"""
    right, total, wrong = collections.Counter(), collections.Counter(), []
    for path in paths:
        groups = collections.defaultdict(list)
        for item in prepare(prompts, folder, path):
            groups[(item[2], len(item[3]))].append(item)
        for group in groups.values():
            for start in range(0, len(group), batch):
                part = group[start:start + batch]
                for (r, *_), answer in zip(part, answers(model, conf, prompts, part)):
                    ok = normalise(answer) in [normalise(v) for v in r["accept"]]
                    total[r["category"]] += 1
                    right[r["category"]] += ok
                    if not ok:
                        wrong.append(dict(r, answer=answer))
    return right, total, wrong


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("weights", type=pathlib.Path)
    ap.add_argument("tokenizer", type=pathlib.Path)
    ap.add_argument("questions", nargs="+", type=pathlib.Path)
    ap.add_argument("--wrong", type=pathlib.Path)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--batch", type=int, default=32)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    model, conf = load(a.weights, a.tokenizer)
    right, total, wrong = measure(model, conf, Prompts(a.tokenizer), a.tokenizer, a.questions, a.batch)
    for c in sorted(total):
        print("{:14s} {:5d} of {:5d}  {:.1f} %".format(c, right[c], total[c], 100 * right[c] / total[c]))
    print("{:14s} {:5d} of {:5d}  {:.1f} %".format("all", sum(right.values()), sum(total.values()), 100 * sum(right.values()) / sum(total.values())))
    if a.wrong:
        a.wrong.write_text("".join(json.dumps(w) + "\n" for w in wrong), encoding="utf-8")


if __name__ == "__main__":
    main()
