"""Writes a random bf16 checkpoint at a published shape, for measurements of speed and memory (needs numpy).

    python tools/reference/random_checkpoint.py 0.8b OUT [--tokenizer DIR]

Shapes are those of the family table (specification 1.4). Weights are normal with standard deviation 1/sqrt(fan-in), norms near
zero, so that activations stay finite. Tokenizer and processor files are copied from DIR. Deterministic.
"""
import argparse
import json
import pathlib
import shutil

import numpy as np

# hidden, layers, ffn, query heads, kv heads, value heads, (vision depth, width, heads, ffn)
SHAPES = {
    "0.8b": (1024, 24, 3584, 8, 2, 16, (12, 768, 12, 3072)),
    "2b": (2048, 24, 6144, 8, 2, 16, (24, 1024, 16, 4096)),
    "4b": (2560, 32, 9216, 16, 4, 32, (24, 1024, 16, 4096)),
}
VOCABULARY, HEAD, LINEAR_HEAD, KEY_HEADS, PATCH = 248320, 256, 128, 16, 16


def config(shape):
    hidden, layers, ffn, q, kv, v, (depth, width, heads, vffn) = shape
    types = ["full_attention" if (i + 1) % 4 == 0 else "linear_attention" for i in range(layers)]
    text = dict(model_type="qwen3_5_text", vocab_size=VOCABULARY, hidden_size=hidden, intermediate_size=ffn,
                num_hidden_layers=layers, num_attention_heads=q, num_key_value_heads=kv, head_dim=HEAD, hidden_act="silu",
                max_position_embeddings=262144, rms_norm_eps=1e-6, attention_bias=False, attn_output_gate=True,
                layer_types=types, full_attention_interval=4, linear_conv_kernel_dim=4, linear_key_head_dim=LINEAR_HEAD,
                linear_value_head_dim=LINEAR_HEAD, linear_num_key_heads=KEY_HEADS, linear_num_value_heads=v,
                tie_word_embeddings=True, eos_token_id=248044,
                rope_parameters=dict(rope_type="default", rope_theta=10000000, partial_rotary_factor=0.25,
                                     mrope_section=[11, 11, 10], mrope_interleaved=True))
    vision = dict(model_type="qwen3_5", depth=depth, hidden_size=width, intermediate_size=vffn, num_heads=heads,
                  hidden_act="gelu_pytorch_tanh", in_channels=3, patch_size=PATCH, temporal_patch_size=2, spatial_merge_size=2,
                  out_hidden_size=hidden, num_position_embeddings=2304, deepstack_visual_indexes=[])
    return dict(model_type="qwen3_5", architectures=["Qwen3_5ForConditionalGeneration"], text_config=text, vision_config=vision,
                image_token_id=248056, video_token_id=248057, vision_start_token_id=248053, vision_end_token_id=248054,
                tie_word_embeddings=True)


def tensors(shape):
    """(name, shape, kind) of every tensor; kind: a fan-in, "norm" (near zero), "one", or "a_log"."""
    hidden, layers, ffn, q, kv, v, (depth, width, heads, vffn) = shape
    conv = 2 * KEY_HEADS * LINEAR_HEAD + v * LINEAR_HEAD
    p = "model.language_model."
    yield p + "embed_tokens.weight", [VOCABULARY, hidden], hidden
    yield p + "norm.weight", [hidden], "norm"
    for i in range(layers):
        n = f"{p}layers.{i}."
        yield n + "input_layernorm.weight", [hidden], "norm"
        yield n + "post_attention_layernorm.weight", [hidden], "norm"
        for name, out, into in (("gate_proj", ffn, hidden), ("up_proj", ffn, hidden), ("down_proj", hidden, ffn)):
            yield f"{n}mlp.{name}.weight", [out, into], into
        if (i + 1) % 4 == 0:
            for name, out, into in (("q_proj", 2 * q * HEAD, hidden), ("k_proj", kv * HEAD, hidden), ("v_proj", kv * HEAD, hidden),
                                    ("o_proj", hidden, q * HEAD)):
                yield f"{n}self_attn.{name}.weight", [out, into], into
            yield n + "self_attn.q_norm.weight", [HEAD], "norm"
            yield n + "self_attn.k_norm.weight", [HEAD], "norm"
        else:
            for name, out, into in (("in_proj_qkv", conv, hidden), ("in_proj_z", v * LINEAR_HEAD, hidden), ("in_proj_b", v, hidden),
                                    ("in_proj_a", v, hidden), ("out_proj", hidden, v * LINEAR_HEAD)):
                yield f"{n}linear_attn.{name}.weight", [out, into], into
            yield n + "linear_attn.conv1d.weight", [conv, 1, 4], 4
            yield n + "linear_attn.A_log", [v], "a_log"
            yield n + "linear_attn.dt_bias", [v], "norm"
            yield n + "linear_attn.norm.weight", [LINEAR_HEAD], "one"
    p = "model.visual."
    yield p + "patch_embed.proj.weight", [width, 3, 2, PATCH, PATCH], 3 * 2 * PATCH * PATCH
    yield p + "patch_embed.proj.bias", [width], "norm"
    yield p + "pos_embed.weight", [2304, width], 4
    blocks = [("attn.qkv", 3 * width, width), ("attn.proj", width, width), ("mlp.linear_fc1", vffn, width),
              ("mlp.linear_fc2", width, vffn)]
    for i in range(depth):
        for norm in ("norm1", "norm2"):
            yield f"{p}blocks.{i}.{norm}.weight", [width], "one"
            yield f"{p}blocks.{i}.{norm}.bias", [width], "norm"
        for name, out, into in blocks:
            yield f"{p}blocks.{i}.{name}.weight", [out, into], into
            yield f"{p}blocks.{i}.{name}.bias", [out], "norm"
    yield p + "merger.norm.weight", [width], "one"
    yield p + "merger.norm.bias", [width], "norm"
    for name, out in (("linear_fc1", 4 * width), ("linear_fc2", hidden)):
        yield f"{p}merger.{name}.weight", [out, 4 * width], 4 * width
        yield f"{p}merger.{name}.bias", [out], "norm"


def values(rng, shape, kind):
    count = int(np.prod(shape))
    if kind == "a_log":
        return np.log(rng.uniform(1, 16, count)).astype(np.float32)
    noise = rng.standard_normal(count, dtype=np.float32)
    if kind == "norm":
        return noise * np.float32(0.02)
    if kind == "one":
        return 1 + noise * np.float32(0.02)
    return noise * np.float32(1 / np.sqrt(kind))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path, help="directory whose tokenizer and processor files are copied")
    args = parser.parse_args()
    shape = SHAPES[args.shape]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "config.json").write_text(json.dumps(config(shape), indent=1))
    if args.tokenizer:
        for path in args.tokenizer.iterdir():
            shutil.copyfile(path, args.out / path.name)
    header, offset = {}, 0
    listed = list(tensors(shape))
    for name, dims, kind in listed:
        wide = name.endswith("A_log") or name.endswith("linear_attn.norm.weight")
        size = int(np.prod(dims)) * (4 if wide else 2)
        header[name] = dict(dtype="F32" if wide else "BF16", shape=dims, data_offsets=[offset, offset + size])
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    rng = np.random.default_rng(0)
    with open(args.out / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for name, dims, kind in listed:
            data = values(rng, dims, kind)
            if header[name]["dtype"] == "BF16":
                bits = data.view(np.uint32)
                data = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            file.write(data.tobytes())


if __name__ == "__main__":
    main()
