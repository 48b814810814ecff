"""Writes what torch prints of a model, built on the meta device from a config.json alone (needs torch, transformers).

    sightline models --config qwen3.5-2b > config.json
    python tools/reference/module_tree.py config.json tests/data/audit/qwen3.5-2b.txt

Made so: tests/data/audit/qwen3.5-*.txt, with transformers 5.24.0 and torch 2.13.0.
"""
import json
import pathlib
import sys

import torch
import transformers


def main():
    config_file, out = sys.argv[1:]
    config = json.loads(pathlib.Path(config_file).read_text(encoding="utf-8"))
    parsed = transformers.AutoConfig.for_model(**config)
    with torch.device("meta"):
        model = getattr(transformers, config["architectures"][0])(parsed)
    pathlib.Path(out).write_text(f"{model}\n", encoding="utf-8")
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: {out}")


if __name__ == "__main__":
    main()
