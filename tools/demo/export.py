"""Write a training state as a checkpoint: model.safetensors (bf16, as published), config.json, generation_config.json.

usage: export.py STATE.pt CHECKPOINT_DIR      (the directory already holds the tokenizer's files)
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file

import config


def save(weights, folder):
    config.write(folder)
    out = {}
    for name, w in weights.items():
        f32 = name.endswith("linear_attn.A_log") or name.endswith("linear_attn.norm.weight")
        out[name] = w.detach().to(torch.float32 if f32 else torch.bfloat16).contiguous().clone()
    save_file(out, pathlib.Path(folder) / "model.safetensors", metadata={"format": "pt"})
    return sum(w.numel() for w in out.values())


if __name__ == "__main__":
    state = torch.load(sys.argv[1], map_location="cpu", weights_only=False)
    print(save(state["model"], sys.argv[2]), "parameters")
