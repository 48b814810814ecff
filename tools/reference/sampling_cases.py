#!/usr/bin/env python3
"""Writes tests/data/calc/sampling.json: which frames of a clip the reference looks at, and the times it writes.

Usage: sampling_cases.py OUTPUT_FILE

Combinations of length, rate, fps, limits and number of frames, answered by Qwen3VLVideoProcessor.sample_frames and
Qwen3VLProcessor._calculate_timestamps of transformers 5.24.0 with the published values fps 2, min_frames 4, max_frames
768; and the rule of Gemma 4 (default_sample_indices_fn, which its processor calls with 32 frames unless told
otherwise). Needs transformers and torch.
"""

import json
import logging
import sys

import transformers
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor
from transformers.video_utils import VideoMetadata, default_sample_indices_fn

UNKNOWN_RATE = 24
GEMMA_FRAMES = 32  # Gemma4VideoProcessor.num_frames

# total_frames, native_fps, what is asked (fps, num_frames, min_frames, max_frames)
QWEN = [
    (1, 30, {}),
    (2, 30, {}),
    (3, 29.97, {}),
    (4, 30, {}),
    (5, 25, {}),
    (7, 30, {"fps": 30}),
    (48, 24, {}),
    (100, None, {}),
    (100, 30, {"fps": 0.1}),
    (101, 12.5, {"fps": 3}),
    (149, 29.97, {"fps": 2.5}),
    (150, 23.976, {"fps": 1}),
    (240, 24, {"num_frames": 1}),
    (240, 24, {"num_frames": 2}),
    (240, 24, {"num_frames": 7}),
    (10, 5, {"num_frames": 16}),
    (291, 30, {"max_frames": 8}),
    (300, 60, {"fps": 10, "max_frames": 20}),
    (333, 59.94, {"fps": 4}),
    (500, 120, {"fps": 1, "min_frames": 16}),
    (720, 10, {"fps": 1.5}),
    (900, 30, {"fps": 30, "max_frames": 64}),
    (1000, 1, {}),
    (1001, 24000 / 1001, {"fps": 5}),
    (1234, 25, {"fps": 7}),
    (1798, 30000 / 1001, {}),
    (4321, 29.97, {"fps": 0.5}),
    (18000, 30, {"max_frames": 96}),
    (36000, 60, {"fps": 2, "max_frames": 768}),
    (86400, 24, {"max_frames": 48}),
    (123457, 50, {"num_frames": 33}),
    (200000, 25, {"fps": 0.25}),
]
GEMMA = [(32, 30, {}), (33, 24, {}), (1000, 29.97, {"num_frames": 7}), (98765, None, {"num_frames": 31})]


def metadata(total, rate):
    return VideoMetadata(total_num_frames=total, fps=rate)


def qwen_case(total, rate, asked):
    limits = {key: asked[key] for key in ("min_frames", "max_frames") if key in asked}
    processor = Qwen3VLVideoProcessor(**limits)
    wanted = {key: asked[key] for key in ("fps", "num_frames") if key in asked}
    indices = processor.sample_frames(metadata(total, rate), **wanted).tolist()
    seconds = Qwen3VLProcessor._calculate_timestamps(None, list(indices), rate or UNKNOWN_RATE)
    return {"indices": indices, "seconds": seconds, "timestamps": [f"{value:.1f}" for value in seconds]}


def gemma_case(total, rate, asked):
    frames = asked.get("num_frames", GEMMA_FRAMES)
    indices = default_sample_indices_fn(metadata(total, rate), num_frames=frames).tolist()
    seconds = [index / (rate or UNKNOWN_RATE) for index in indices]
    stamps = [f"{int(value // 60):02d}:{int(value % 60):02d}" for value in seconds]
    return {"indices": indices, "seconds": seconds, "timestamps": stamps}


def cases(family, function, table):
    for total, rate, asked in table:
        given = {"total_frames": total, "native_fps": rate, **asked}
        yield {"family": family, "input": given, "output": function(total, rate, asked)}


def main():
    logging.disable(logging.WARNING)
    written = list(cases("qwen", qwen_case, QWEN)) + list(cases("gemma4", gemma_case, GEMMA))
    head = {"command": "tools/reference/sampling_cases.py tests/data/calc/sampling.json",
            "transformers": transformers.__version__}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "cases": [\n')
        file.write(",\n".join(json.dumps(case) for case in written) + "\n]}\n")


if __name__ == "__main__":
    main()
