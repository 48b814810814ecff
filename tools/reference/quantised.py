#!/usr/bin/env python3
"""Makes the small quantised checkpoints of tests/data/quantised, and what transformers makes of their weights.

    quantised.py tests/data/models tests/data/quantised

Each is the language model of a reference checkpoint (dense, moe-per-expert) as a published format stores it, with a
case for `sightline parity`: transformers in float32, over the weights that the format's own library reads back. Needs
torch, transformers (5.24), safetensors and compressed-tensors (0.20), and the source of autoawq (0.2.9) in
$AUTOAWQ and of gptqmodel (7.7) in $GPTQMODEL: folders of their unpacked source packages. Only functions that pack and
unpack are taken from the two; their kernels want other machines. FP8 blocks have no packing: torch's own type.
"""

import argparse
import ast
import contextlib
import importlib
import json
import math
import os
import pathlib
import re
import sys
import types

import numpy
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from capture import greedy_tokens  # noqa: E402

WHOLE, ALONE = "model.language_model.", "model."
PROMPT = 20  # tokens of the case
# Kept as floats: too narrow for every format, or never quantised in published checkpoints.
KEPT = ("in_proj_a", "in_proj_b", "conv1d", "mlp.gate.", "shared_expert_gate", "embed_tokens", "lm_head", "norm")


def language_model(models, name):
    """Configuration and weights of the language model alone, of its last linear and its full attention layer."""
    config = json.load(open(models / name / "config.json"))
    text = dict(config["text_config"], architectures=[config["architectures"][0].replace(
        "ForConditionalGeneration", "ForCausalLM")])
    first = text["num_hidden_layers"] - 2
    text.update(num_hidden_layers=2, layer_types=text["layer_types"][first:])
    weights = {}
    for key, weight in load_file(models / name / "model.safetensors").items():
        layer = re.match(r"model\.language_model\.layers\.(\d+)\.(.*)", key)
        if key.startswith(("model.visual.", "mtp.")) or layer and int(layer[1]) < first:
            continue
        weights[f"model.layers.{int(layer[1]) - first}.{layer[2]}" if layer else key.replace(WHOLE, ALONE)] = weight
    return text, weights


def is_packed(name, weight):
    return name.endswith(".weight") and weight.dim() == 2 and not any(part in name for part in KEPT)


def scales_of(weight, group, bits, symmetric):
    """Scales and zero points [out, groups] that span every group of columns."""
    columns = weight.shape[1] if group is None else group
    parts = [weight[:, i:i + columns].float() for i in range(0, weight.shape[1], columns)]
    low = torch.stack([part.amin(1).clamp(max=0) for part in parts], 1)
    high = torch.stack([part.amax(1).clamp(min=0) for part in parts], 1)
    top = 2 ** bits - 1
    if symmetric:
        return (torch.maximum(-low, high) / (2 ** (bits - 1) - 1)).clamp(min=1e-8), torch.full_like(
            low, 2 ** (bits - 1))
    scale = ((high - low) / top).clamp(min=1e-8)
    return scale, (-low / scale).round().clamp(0, top)


class Fp8:
    """Blocks of 32 x 32 (published: 128 x 128, which these weights do not fill)."""
    BLOCK = 32
    checkpoint, folder = "moe-per-expert", "moe-fp8"

    def config(self, weights):
        # The names of the whole model, as the published lists have them.
        kept = sorted(key[:-7].replace(ALONE, WHOLE) for key in weights
                      if key.endswith((".gate.weight", "shared_expert_gate.weight", "in_proj_a.weight",
                                       "in_proj_b.weight")))
        return {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                "weight_block_size": [self.BLOCK, self.BLOCK], "modules_to_not_convert": ["lm_head"] + kept}

    def pack(self, weight):
        rows, columns = (math.ceil(size / self.BLOCK) for size in weight.shape)
        scale = torch.empty(rows, columns)
        wide = torch.empty(weight.shape)
        for r in range(rows):
            for c in range(columns):
                block = (slice(r * self.BLOCK, (r + 1) * self.BLOCK), slice(c * self.BLOCK, (c + 1) * self.BLOCK))
                scale[r, c] = weight[block].float().abs().max() / torch.finfo(torch.float8_e4m3fn).max
                wide[block] = scale[r, c]
        codes = (weight.float() / wide).to(torch.float8_e4m3fn)
        return {"weight": codes, "weight_scale_inv": scale}, codes.float() * wide


class Gptq:
    checkpoint = "dense"

    def __init__(self, folder, act_order, second):
        self.folder, self.act_order, self.second = folder, act_order, second

    def config(self, _weights):
        return {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": self.act_order, "sym": False,
                "checkpoint_format": "gptq_v2" if self.second else "gptq", "pack_dtype": "int32",
                "lm_head": False, "dynamic": {"-:.*in_proj_[ab]$": {}}}

    def pack(self, weight):
        group, columns = 32, weight.shape[1]
        order = torch.randperm(columns) if self.act_order else torch.arange(columns)
        g_idx = torch.empty(columns, dtype=torch.int32)
        g_idx[order] = (torch.arange(columns) // group).int()
        scale, zero = scales_of(weight[:, order], group, 4, False)
        # The first format stores zero points less one: none may be 0.
        zero = zero.clamp(min=1)
        scale = scale.half().float()
        module = types.SimpleNamespace(bits=4, pack_dtype_bits=32, pack_factor=8, maxq=15, planar=False,
                                       pack_np_math_dtype=numpy.uint32, pack_np_dtype=numpy.int32, bias=None)
        module.register_buffer = lambda name, value: setattr(module, name, value)
        GPTQ["pack_original"](module, types.SimpleNamespace(weight=types.SimpleNamespace(data=weight.float())),
                              scale, zero.int(), g_idx)
        back = GPTQ["unpack"](module)
        if not self.second:
            module.qzeros = module.qzeros - 0b00010001000100010001000100010001
        tensors = {key: getattr(module, key) for key in ("qweight", "qzeros", "scales", "g_idx")}
        return tensors, back


class Awq:
    checkpoint, folder = "dense", "dense-awq"

    def config(self, _weights):
        return {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm",
                "modules_to_not_convert": ["in_proj_a", "in_proj_b"]}

    def pack(self, weight):
        scale, zero = scales_of(weight, 32, 4, False)
        scale = scale.half()
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        linear.weight.data = weight.float()
        # Codes outside of four bits would spill into their neighbours in the library's packing.
        low, high = -zero * scale.float(), (15 - zero) * scale.float()
        wide = [part.repeat_interleave(32, 1)[:, :weight.shape[1]] for part in (low, high)]
        linear.weight.data = torch.minimum(torch.maximum(linear.weight.data, wide[0]), wide[1])
        module = AWQ["WQLinear_GEMM"].from_linear(linear, 4, 32, False, scale.float().T.contiguous(),
                                                  zero.T.contiguous())
        back = AWQ["dequantize_gemm"](module.qweight, module.qzeros, module.scales.float(), 4, 32).T
        return {key: getattr(module, key) for key in ("qweight", "qzeros", "scales")}, back


class CompressedTensors:
    checkpoint = "dense"

    def __init__(self, folder, format_name, ignore, **weights):
        self.folder, self.format, self.ignore = folder, format_name, ignore
        self.args = QuantizationArgs(**weights)
        self.scheme = QuantizationScheme(targets=["Linear"], weights=self.args)

    def config(self, _weights):
        group = {"targets": ["Linear"], "weights": json.loads(self.args.model_dump_json()),
                 "input_activations": None, "output_activations": None}
        return {"quant_method": "compressed-tensors", "format": self.format, "quantization_status": "compressed",
                "config_groups": {"group_0": group}, "ignore": self.ignore}

    def pack(self, weight):
        compressor = BaseCompressor.get_value_from_registry(self.format)
        if self.args.type == "float":
            scale = (weight.float().abs().amax(1, keepdim=True) / torch.finfo(torch.float8_e4m3fn).max).bfloat16()
            zero = None
        else:
            group = self.args.group_size if self.args.strategy == "group" else None
            scale, zero = scales_of(weight, group, self.args.num_bits, self.args.symmetric)
            scale = scale.bfloat16()
            zero = (zero - 2 ** (self.args.num_bits - 1)).to(torch.int8)
        state = {"weight": weight.bfloat16(), "weight_scale": scale}
        if zero is not None and not self.args.symmetric:
            state["weight_zero_point"] = zero
        packed = compressor.compress(state, self.scheme)
        wide = dict(packed, weight_scale=scale.float())  # the library multiplies in the type of the scales
        return packed, compressor.decompress(wide, self.scheme)["weight"].float()


def awq_functions():
    """AutoAWQ's packing, without the parts that want a compiler for graphics cards."""
    root = os.environ["AUTOAWQ"]
    for name in ("awq", "awq.modules", "awq.modules.linear", "awq.utils"):
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(root, name.replace(".", "/"))]
        sys.modules[name] = module
    return {"WQLinear_GEMM": importlib.import_module("awq.modules.linear.gemm").WQLinear_GEMM,
            "dequantize_gemm": importlib.import_module("awq.utils.packing_utils").dequantize_gemm}


def gptq_functions():
    """gptqmodel's packing function by itself, and the reading of its result (its dequantize_weight, 4 bits)."""
    path = pathlib.Path(os.environ["GPTQMODEL"]) / "gptqmodel/nn_modules/qlinear/__init__.py"
    wanted = [node for node in ast.walk(ast.parse(path.read_text()))
              if isinstance(node, ast.FunctionDef) and node.name == "pack_original"]
    limits = types.SimpleNamespace(threadpool_limits=lambda _n: contextlib.nullcontext())
    conv1d = types.SimpleNamespace(pytorch_utils=types.SimpleNamespace(Conv1D=()))
    space = {"t": torch, "np": numpy, "math": math, "nn": torch.nn, "_ConvNd": torch.nn.modules.conv._ConvNd,
             "transformers": conv1d, "THREADPOOLCTL": limits}
    exec(compile(ast.Module(wanted, []), str(path), "exec"), space)

    def unpack(module):
        shifts = torch.arange(0, 32, 4)
        codes = (module.qweight[:, None, :] >> shifts[None, :, None] & 15).reshape(-1, module.qweight.shape[1])
        zeros = (module.qzeros[:, :, None] >> shifts[None, None, :] & 15).reshape(module.qzeros.shape[0], -1)
        zeros = zeros[:, :module.scales.shape[1]]
        index = module.g_idx.long()
        return ((codes - zeros[index]).float() * module.scales.float()[index]).T

    return {"pack_original": space["pack_original"], "unpack": unpack}


@torch.no_grad()
def capture(text, weights, ids):
    config = AutoConfig.for_model(**text)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    state = {key: value.float() for key, value in weights.items()}
    if "model.layers.0.mlp.experts.0.gate_proj.weight" in state:
        state = fused_experts(state, text["num_experts"])
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    output = model(input_ids=ids[None], use_cache=True)
    return {"input_ids": ids, "mm_token_type_ids": torch.zeros_like(ids),
            "position_ids": torch.arange(len(ids)).expand(3, -1).contiguous(),
            "rope_delta": torch.zeros(1, dtype=torch.long), "logits": output.logits[0].contiguous(),
            "greedy": greedy_tokens(model, output, len(ids), 0, 24)}


def fused_experts(state, experts):
    for key in [key for key in state if key.endswith("mlp.experts.0.gate_proj.weight")]:
        path = key[:-len("0.gate_proj.weight")]
        take = lambda leaf: [state.pop(f"{path}{e}.{leaf}.weight") for e in range(experts)]  # noqa: E731
        state[path + "gate_up_proj"] = torch.stack(
            [torch.cat(pair) for pair in zip(take("gate_proj"), take("up_proj"))])
        state[path + "down_proj"] = torch.stack(take("down_proj"))
    return state


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    chosen = parser.parse_args()
    global AWQ, GPTQ
    AWQ, GPTQ = awq_functions(), gptq_functions()
    narrow = ["re:.*in_proj_[ab]$", "lm_head"]
    for made in (Fp8(), Gptq("dense-gptq", True, False), Gptq("dense-gptq-v2", False, True), Awq(),
                 CompressedTensors("dense-int4", "pack-quantized", narrow, num_bits=4, type="int", symmetric=False,
                                   strategy="group", group_size=32),
                 CompressedTensors("dense-int8", "pack-quantized", narrow, num_bits=8, type="int", symmetric=True,
                                   strategy="channel"),
                 CompressedTensors("dense-fp8-channel", "float-quantized", narrow, num_bits=8, type="float",
                                   symmetric=True, strategy="channel")):
        torch.manual_seed(6)
        text, weights = language_model(chosen.models, made.checkpoint)
        stored, read_back = {}, {}
        for name, weight in weights.items():
            if not is_packed(name, weight):
                stored[name] = read_back[name] = weight
                continue
            packed, read_back[name] = made.pack(weight)
            stored.update({name[:-len("weight")] + leaf: tensor.contiguous() for leaf, tensor in packed.items()})
        ids = torch.randint(0, 480, (PROMPT,))
        folder = chosen.out / made.folder
        folder.mkdir(parents=True, exist_ok=True)
        save_file(stored, folder / "model.safetensors", {"format": "pt"})
        save_file(capture(text, read_back, ids), folder / "text.safetensors")
        with open(folder / "config.json", "w") as file:
            json.dump(dict(text, quantization_config=made.config(weights)), file, indent=1)
            file.write("\n")
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{made.folder}: {len(stored)} tensors, {size} bytes with its case")


if __name__ == "__main__":
    main()
