#!/usr/bin/env python3
"""Writes tests/data/calc/sweep.json: a fingerprint of the reference's sizes over many random inputs.

Usage: size_sweep.py OUTPUT_FILE

The inputs come from a linear congruential generator that the test repeats, so only the hash of the answers is stored
(FNV-1a over "HEIGHT WIDTH" lines, "error" where the reference raises). Functions of transformers 5.24.0: smart_resize
of qwen2_vl (pictures) and qwen3_vl (clips), get_aspect_ratio_preserving_size of gemma4. Needs transformers and torch.
"""

import json
import sys

import transformers
from transformers.models.gemma4.image_processing_pil_gemma4 import get_aspect_ratio_preserving_size
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize as image_size
from transformers.models.qwen3_vl.video_processing_qwen3_vl import smart_resize as clip_size

CASES = 20000
FACTOR = 32
BUDGETS = (70, 140, 280, 560, 1120)


class Numbers:
    """The generator; the test has the same."""

    def __init__(self, state):
        self.state = state

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit

    def side(self):
        """1 to 2^20, small ones as often as large ones."""
        return 1 + self.below(1 << (1 + self.below(20)))

    def pixels(self, least, most):
        """A limit of 2^least to 2^most pixels, about."""
        return (1 << (least + self.below(most - least))) + self.below(5000)


def image(numbers):
    height, width = numbers.side(), numbers.side()
    low, high = numbers.pixels(0, 18), numbers.pixels(10, 26)
    return image_size(height, width, FACTOR, low, high)


def clip(numbers):
    frames = 1 + numbers.below(800)
    height, width = numbers.side(), numbers.side()
    low, high = numbers.pixels(0, 18), numbers.pixels(12, 27)
    return clip_size(frames, height, width, 2, FACTOR, low, high)


def pooled(numbers):
    height, width = numbers.side(), numbers.side()
    budget = BUDGETS[numbers.below(len(BUDGETS))]
    return get_aspect_ratio_preserving_size(height, width, 16, budget * 9, 3)


def fingerprint(function, seed):
    numbers, digest, errors = Numbers(seed), 0xCBF29CE484222325, 0
    for _ in range(CASES):
        try:
            line = "{} {}\n".format(*function(numbers))
        except ValueError:
            line, errors = "error\n", errors + 1
        for byte in line.encode():
            digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return {"seed": seed, "cases": CASES, "errors": errors, "fnv1a": f"{digest:016x}"}


def main():
    written = {"command": "tools/reference/size_sweep.py tests/data/calc/sweep.json",
               "transformers": transformers.__version__,
               "image": fingerprint(image, 1), "clip": fingerprint(clip, 2), "pooled": fingerprint(pooled, 3)}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
