"""The demo's config.json and generation_config.json: the published keys, small values."""
import json
import pathlib

from pipeline import write_json

HIDDEN, VISION = 96, 96
LAYERS = ["linear_attention", "full_attention"] * 3


def make(folder):
    """Config from the tokenizer in `folder`; vocab_size is rounded up, as in the published checkpoints."""
    tok = json.loads((pathlib.Path(folder) / "tokenizer.json").read_text(encoding="utf-8"))
    ids = {t["content"]: t["id"] for t in tok["added_tokens"]}
    vocab = -(-(max(ids.values()) + 1) // 32) * 32
    text = {
        "attention_bias": False, "attention_dropout": 0.0, "attn_output_gate": True, "dtype": "bfloat16",
        "eos_token_id": ids["<|endoftext|>"], "full_attention_interval": 2, "head_dim": 32, "hidden_act": "silu",
        "hidden_size": HIDDEN, "initializer_range": 0.02, "intermediate_size": 256, "layer_types": LAYERS,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 24, "linear_num_key_heads": 4, "linear_num_value_heads": 4,
        "linear_value_head_dim": 24, "mamba_ssm_dtype": "float32", "max_position_embeddings": 4096, "mlp_only_layers": [],
        "model_type": "qwen3_5_text", "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": False,
        "num_attention_heads": 4, "num_hidden_layers": len(LAYERS), "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
        "tie_word_embeddings": True, "use_cache": True, "vocab_size": vocab,
        "rope_parameters": {"mrope_interleaved": True, "mrope_section": [4, 2, 2], "partial_rotary_factor": 0.5,
                            "rope_theta": 100, "rope_type": "default"},
    }
    vision = {
        "deepstack_visual_indexes": [], "depth": 4, "hidden_act": "gelu_pytorch_tanh", "hidden_size": VISION, "in_channels": 3,
        "initializer_range": 0.02, "intermediate_size": 256, "model_type": "qwen3_5", "num_heads": 4,
        "num_position_embeddings": 256, "out_hidden_size": HIDDEN, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
    }
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"], "image_token_id": ids["<|image_pad|>"], "model_type": "qwen3_5",
        "text_config": text, "tie_word_embeddings": True, "video_token_id": ids["<|video_pad|>"],
        "vision_config": vision, "vision_end_token_id": ids["<|vision_end|>"], "vision_start_token_id": ids["<|vision_start|>"],
    }, {"do_sample": False, "eos_token_id": [ids["<|im_end|>"], ids["<|endoftext|>"]], "pad_token_id": ids["<|endoftext|>"]}


def write(folder):
    config, generation = make(folder)
    write_json(pathlib.Path(folder) / "config.json", config)
    write_json(pathlib.Path(folder) / "generation_config.json", generation)
    return config
