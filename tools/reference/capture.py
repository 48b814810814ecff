#!/usr/bin/env python3
"""Makes a reference case for `sightline parity` with transformers: one prompt, and what every module made of it.

    capture.py CHECKPOINT OUT.safetensors -i cat.jpg "What is this?"     picture(s) and a question
    capture.py CHECKPOINT OUT.safetensors "Why is the sky blue?"         text alone
    capture.py CHECKPOINT OUT.safetensors --case OLD.safetensors         the inputs of another case
    sightline parity CHECKPOINT OUT.safetensors

Needs torch, transformers (5.24), safetensors and, for pictures, pillow and torchvision. The model runs in float32 with
eager attention, whatever the checkpoint stores: about 4 bytes of memory for every parameter. A last row in bfloat16 is
added for comparison (--no-bf16 leaves it out). docs/parity.md describes the file.
"""

import argparse
import collections

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoModelForImageTextToText, AutoProcessor

VISUAL = ("pixel_values", "image_grid_thw", "pixel_values_videos", "video_grid_thw")
ALL_ROWS_UP_TO = 64  # prompts with more tokens keep the logits of their last rows only
LAST_ROWS = 16


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="checkpoint directory")
    parser.add_argument("out", help="the case to write")
    parser.add_argument("question", nargs="?", help="the user's question")
    parser.add_argument("-i", "--image", action="append", default=[], help="picture file, before the question")
    parser.add_argument("--case", help="take the inputs of this case instead of a question")
    parser.add_argument("--thinking", action="store_true", help="render the prompt with enable_thinking")
    parser.add_argument("--tokens", type=int, default=24, help="greedy tokens to generate (default 24)")
    parser.add_argument("--no-trace", action="store_true", help="leave the modules' outputs out")
    parser.add_argument("--no-bf16", action="store_true", help="leave logits_bf16_last out")
    chosen = parser.parse_args()
    if (chosen.question is None) == (chosen.case is None):
        parser.error("give either a question or --case")
    return chosen


def inputs_of_case(path):
    """The input tensors of a case, with the batch axis that transformers wants on the ids."""
    with safe_open(path, "pt") as case:
        names = set(case.keys())
        inputs = {name: case.get_tensor(name) for name in VISUAL if name in names}
        for name in ("input_ids", "mm_token_type_ids"):
            inputs[name] = case.get_tensor(name)[None]
    return inputs


def inputs_of_question(chosen):
    """The input tensors that the checkpoint's own processor makes of pictures and a question."""
    processor = AutoProcessor.from_pretrained(chosen.checkpoint)
    content = [{"type": "image", "image": path} for path in chosen.image]
    content.append({"type": "text", "text": chosen.question})
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        enable_thinking=chosen.thinking,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )
    wanted = ("input_ids", "mm_token_type_ids") + VISUAL
    return {name: inputs[name] for name in wanted if name in inputs}


def load(checkpoint, dtype):
    model = AutoModelForImageTextToText.from_pretrained(checkpoint, dtype=dtype, attn_implementation="eager")
    return model.eval()


def first_tensor(output):
    """What a module's output is in a trace: itself, its last hidden state, or its first tensor."""
    if isinstance(output, torch.Tensor):
        return output
    if hasattr(output, "last_hidden_state"):
        return output.last_hidden_state
    if isinstance(output, (tuple, list)) and output and isinstance(output[0], torch.Tensor):
        return output[0]
    return None


def watch(model, trace):
    """Hooks that add the output of every module call: trace/PATH, trace/PATH#1 for a second call."""
    calls = collections.Counter()

    def hook(path):
        def record(_module, _inputs, output):
            tensor = first_tensor(output)
            if tensor is not None:
                call = calls[path]
                calls[path] += 1
                trace[f"trace/{path}" + (f"#{call}" if call else "")] = tensor.detach().float().contiguous().clone()

        return record

    # Activation functions and the tower's rotary table are steps of their module, not modules of the checkpoint.
    return [
        module.register_forward_hook(hook(path))
        for path, module in model.named_modules()
        if path and not path.endswith(("act_fn", "rotary_pos_emb"))
    ]


def positions_of(model, inputs):
    """The 3-D positions and the delta of a prompt. Text alone counts up on all axes."""
    ids = inputs["input_ids"]
    if not any(name in inputs for name in VISUAL):
        return torch.arange(ids.shape[1]).view(1, 1, -1).expand(3, 1, -1), torch.zeros(1, 1, dtype=torch.long)
    return model.model.get_rope_index(
        ids,
        mm_token_type_ids=inputs["mm_token_type_ids"],
        image_grid_thw=inputs.get("image_grid_thw"),
        video_grid_thw=inputs.get("video_grid_thw"),
    )


def greedy_tokens(model, output, length, delta, count):
    """The most likely token, count times; no token ends the answer and none is masked."""
    tokens = []
    while len(tokens) < count:
        tokens.append(int(output.logits[0, -1].argmax()))
        if len(tokens) == count:
            break
        position = torch.full((3, 1, 1), length + len(tokens) - 1 + delta)
        output = model(
            input_ids=torch.tensor([[tokens[-1]]]),
            position_ids=position,
            past_key_values=output.past_key_values,
            use_cache=True,
        )
    return torch.tensor(tokens, dtype=torch.long)


@torch.no_grad()
def capture(chosen):
    inputs = inputs_of_case(chosen.case) if chosen.case else inputs_of_question(chosen)
    model = load(chosen.checkpoint, torch.float32)
    trace = {}
    hooks = [] if chosen.no_trace else watch(model, trace)
    output = model(**inputs, use_cache=True)
    for hook in hooks:
        hook.remove()
    positions, delta = positions_of(model, inputs)
    length = inputs["input_ids"].shape[1]
    logits = output.logits[0]
    case = {name: inputs[name] for name in VISUAL if name in inputs}
    case["input_ids"] = inputs["input_ids"][0].long()
    case["mm_token_type_ids"] = inputs["mm_token_type_ids"][0].long()
    case["position_ids"] = positions[:, 0].long()
    case["rope_delta"] = delta.reshape(-1)[:1].long()
    case["logits"] = logits if length <= ALL_ROWS_UP_TO else logits[-LAST_ROWS:]
    case["greedy"] = greedy_tokens(model, output, length, int(delta.reshape(-1)[0]), chosen.tokens)
    case.update(trace)
    if not chosen.no_bf16:
        del model
        case["logits_bf16_last"] = load(chosen.checkpoint, torch.bfloat16)(**inputs).logits[0, -1].float()
    return {name: tensor.contiguous().clone() for name, tensor in case.items()}


def main():
    chosen = arguments()
    case = capture(chosen)
    save_file(case, chosen.out)
    modules = sum(name.startswith("trace/") for name in case)
    print(f"{chosen.out}: {len(case['input_ids'])} tokens, {modules} module outputs, {len(case['greedy'])} greedy tokens")


if __name__ == "__main__":
    main()
