"""Does the training network compute what transformers computes from the exported checkpoint?

usage: check_parity.py CHECKPOINT_DIR
Compares the prompt text with the real chat template, and the logits of one picture conversation and one clip
conversation (float32) with Qwen3_5ForConditionalGeneration.
"""
import json
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import Qwen3_5ForConditionalGeneration

import dialogue
import scenes
from evaluate import render_prompt
from model import Demo
from pipeline import Prompts, patchify


def main():
    folder = sys.argv[1]
    config = json.load(open(folder + "/config.json"))
    ours = Demo(config)
    ours.load_state_dict({k: v.float() for k, v in load_file(folder + "/model.safetensors").items()})
    theirs = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    prompts, rng = Prompts(folder), np.random.default_rng(3)
    for video in (False, True):
        scene = scenes.sample_clip(rng) if video else scenes.sample_scene(rng, count=3)
        qa = [t[1:] for t in dialogue.turns(rng, scene, 3)]
        if video:
            px, stamps, grid = scenes.render_clip(rng, scene, 64, 6).reshape(3, 2, 64, 64, 3), [0.1, 0.5, 1.2], (4, 4)
        else:
            px, stamps, grid = scenes.render(rng, scene, 320, 256)[None], None, (16, 20)
        visual = prompts.visual(grid, stamps)
        ids, mask, _ = prompts.conversation(visual, qa)
        messages = []
        for i, (q, a, _) in enumerate(qa):
            messages += [{"role": "user", "content": visual + q if i == 0 else q}, {"role": "assistant", "content": a}]
        text = render_prompt(folder, messages[:-1]) + qa[-1][1] + "<|im_end|>\n"
        assert prompts.encode(text) == ids, "prompt differs from the template"
        patches = torch.from_numpy(patchify(px))
        rows = ours.model.visual(patches, *grid)
        t = torch.tensor([ids])
        pad = config["video_token_id" if video else "image_token_id"]
        pos = torch.from_numpy(prompts.positions(ids, grid))[:, None]
        with torch.no_grad():
            a = ours.head(ours.hidden(ours.embed(t, t == pad, rows), ours.rope(pos)))
            kind = {"pixel_values_videos": patches.flatten(0, 1), "video_grid_thw": torch.tensor([[len(px), *grid]])} if video else {
                "pixel_values": patches.flatten(0, 1), "image_grid_thw": torch.tensor([[1, *grid]])}
            b = theirs(input_ids=t, attention_mask=torch.ones_like(t), mm_token_type_ids=(t == pad).long() * (2 if video else 1), **kind).logits
        err = (a - b).abs().max().item() / b.abs().max().item()
        print("video" if video else "image", "tokens", len(ids), "relative difference", err)
        assert err < 1e-4


if __name__ == "__main__":
    main()
