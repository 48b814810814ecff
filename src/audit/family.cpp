// The table of published sizes (family.hpp).
#include "audit/family.hpp"

#include <algorithm>
#include <cctype>

namespace sightline::audit {
namespace {

constexpr FamilyMember kFamily[] = {
    // name, repository, H, L, FFN, n_q, n_kv, n_v, tied, experts, top-k, I, vision depth, E, heads,
    // inter
    {"qwen3.5-0.8b", "Qwen/Qwen3.5-0.8B", 1024, 24, 3584, 8, 2, 16, true, 0, 0, 0, 12, 768, 12,
     3072},
    {"qwen3.5-2b", "Qwen/Qwen3.5-2B", 2048, 24, 6144, 8, 2, 16, true, 0, 0, 0, 24, 1024, 16, 4096,
     "2026-11-03"},
    {"qwen3.5-4b", "Qwen/Qwen3.5-4B", 2560, 32, 9216, 16, 4, 32, true, 0, 0, 0, 24, 1024, 16, 4096},
    {"qwen3.5-9b", "Qwen/Qwen3.5-9B", 4096, 32, 12288, 16, 4, 32, false, 0, 0, 0, 27, 1152, 16,
     4304, "2026-11-03"},
    {"qwen3.5-27b", "Qwen/Qwen3.5-27B", 5120, 64, 17408, 24, 4, 48, false, 0, 0, 0, 27, 1152, 16,
     4304},
    {"qwen3.5-35b-a3b", "Qwen/Qwen3.5-35B-A3B", 2048, 40, 0, 16, 2, 32, false, 256, 8, 512, 27,
     1152, 16, 4304},
    {"qwen3.5-122b-a10b", "Qwen/Qwen3.5-122B-A10B", 3072, 48, 0, 32, 2, 64, false, 256, 8, 1024, 27,
     1152, 16, 4304},
    {"qwen3.5-397b-a17b", "Qwen/Qwen3.5-397B-A17B", 4096, 60, 0, 32, 2, 64, false, 512, 10, 1024,
     27, 1152, 16, 4304, "2026-11-03"},
};

// What all published files say alike (specification 1.1 to 1.3).
constexpr std::int64_t kVocabulary = 248320, kMaxPositions = 262144, kHeadDim = 256;
constexpr std::int64_t kLinearHeadDim = 128, kLinearKeyHeads = 16, kConvKernel = 4;
constexpr std::int64_t kFullAttentionInterval = 4;
constexpr std::int64_t kImage = 248056, kVideo = 248057, kVisionStart = 248053, kVisionEnd = 248054;
constexpr std::int64_t kEndOfText = 248044;

using Object = io::Json::Object;

io::Json rope_parameters() {
  io::Json section = io::Json::array();
  for (const std::int64_t n : {11, 11, 10}) section.push(n);
  return Object{{"mrope_interleaved", true},
                {"mrope_section", std::move(section)},
                {"partial_rotary_factor", 0.25},
                {"rope_theta", std::int64_t{10'000'000}},
                {"rope_type", "default"}};
}

io::Json text_config(const FamilyMember& m) {
  io::Json layers = io::Json::array();
  for (std::int64_t i = 0; i < m.num_hidden_layers; ++i)
    layers.push((i + 1) % kFullAttentionInterval == 0 ? "full_attention" : "linear_attention");
  io::Json text =
      Object{{"attention_bias", false},      {"attention_dropout", 0.0},
             {"attn_output_gate", true},     {"dtype", "bfloat16"},
             {"eos_token_id", kEndOfText},   {"full_attention_interval", kFullAttentionInterval},
             {"head_dim", kHeadDim},         {"hidden_act", "silu"},
             {"hidden_size", m.hidden_size}, {"initializer_range", 0.02}};
  if (m.is_moe()) {
    text.add("moe_intermediate_size", m.moe_intermediate_size);
    text.add("shared_expert_intermediate_size", m.moe_intermediate_size);
    text.add("num_experts", m.num_experts);
    text.add("num_experts_per_tok", m.num_experts_per_tok);
    text.add("output_router_logits", false);
    text.add("router_aux_loss_coef", 0.001);
  } else {
    text.add("intermediate_size", m.intermediate_size);
  }
  text.add("layer_types", std::move(layers));
  text.add("linear_conv_kernel_dim", kConvKernel);
  text.add("linear_key_head_dim", kLinearHeadDim);
  text.add("linear_num_key_heads", kLinearKeyHeads);
  text.add("linear_num_value_heads", m.linear_num_value_heads);
  text.add("linear_value_head_dim", kLinearHeadDim);
  text.add("mamba_ssm_dtype", "float32");
  text.add("max_position_embeddings", kMaxPositions);
  text.add("mlp_only_layers", io::Json::array());
  text.add("model_type", m.is_moe() ? "qwen3_5_moe_text" : "qwen3_5_text");
  text.add("mtp_num_hidden_layers", std::int64_t{1});
  text.add("mtp_use_dedicated_embeddings", false);
  text.add("num_attention_heads", m.num_attention_heads);
  text.add("num_hidden_layers", m.num_hidden_layers);
  text.add("num_key_value_heads", m.num_key_value_heads);
  text.add("rms_norm_eps", 1e-6);
  text.add("rope_parameters", rope_parameters());
  text.add("tie_word_embeddings", m.tie_word_embeddings);
  text.add("use_cache", true);
  text.add("vocab_size", kVocabulary);
  return text;
}

io::Json vision_config(const FamilyMember& m) {
  return Object{{"deepstack_visual_indexes", io::Json::array()},
                {"depth", m.vision_depth},
                {"hidden_act", "gelu_pytorch_tanh"},
                {"hidden_size", m.vision_hidden_size},
                {"in_channels", std::int64_t{3}},
                {"initializer_range", 0.02},
                {"intermediate_size", m.vision_intermediate_size},
                {"model_type", m.is_moe() ? "qwen3_5_moe_vision" : "qwen3_5_vision"},
                {"num_heads", m.vision_num_heads},
                {"num_position_embeddings", std::int64_t{2304}},
                {"out_hidden_size", m.hidden_size},
                {"patch_size", std::int64_t{16}},
                {"spatial_merge_size", std::int64_t{2}},
                {"temporal_patch_size", std::int64_t{2}}};
}

/// Limits in pixels: of a picture, or of all frames of a clip (specification 2.2 and 3.2).
io::Json processor(std::int64_t least_pixels, std::int64_t most_pixels) {
  io::Json half = io::Json::array();
  for (int channel = 0; channel < 3; ++channel) half.push(0.5);
  return Object{{"size", Object{{"longest_edge", most_pixels}, {"shortest_edge", least_pixels}}},
                {"patch_size", std::int64_t{16}},
                {"temporal_patch_size", std::int64_t{2}},
                {"merge_size", std::int64_t{2}},
                {"image_mean", half},
                {"image_std", half},
                {"processor_class", kPublishedProcessor}};
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::span<const FamilyMember> family() { return kFamily; }

const FamilyMember* find_member(std::string_view name) {
  for (const FamilyMember& member : kFamily) {
    if (equal_ignoring_case(member.name, name)) return &member;
  }
  return nullptr;
}

io::Json published_config(const FamilyMember& m) {
  io::Json architectures = io::Json::array();
  architectures.push(m.is_moe() ? "Qwen3_5MoeForConditionalGeneration"
                                : "Qwen3_5ForConditionalGeneration");
  return Object{{"architectures", std::move(architectures)},
                {"image_token_id", kImage},
                {"model_type", m.is_moe() ? "qwen3_5_moe" : "qwen3_5"},
                {"text_config", text_config(m)},
                {"tie_word_embeddings", m.tie_word_embeddings},
                {"video_token_id", kVideo},
                {"vision_config", vision_config(m)},
                {"vision_end_token_id", kVisionEnd},
                {"vision_start_token_id", kVisionStart}};
}

io::Json published_image_processor() {
  io::Json json = processor(65'536, 16'777'216);
  json.add("image_processor_type", "Qwen2VLImageProcessorFast");
  return json;
}

io::Json published_video_processor() {
  io::Json json = processor(4'096, 25'165'824);
  json.add("video_processor_type", "Qwen3VLVideoProcessor");
  return json;
}

}  // namespace sightline::audit
