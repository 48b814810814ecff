// Names and shapes of what is rounded (rounded_modules.hpp).
#include "io/rounded_modules.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "tensor/quantise.hpp"

namespace sightline::io {
namespace {

// The language model within a vision-language model, and alone.
constexpr std::string_view kLayers[] = {"model.language_model.layers.", "model.layers."};

// Below a layer, `#` being a number. transformers' classes: Qwen3_5Attention and
// Qwen3VLTextAttention; Qwen3_5GatedDeltaNet; the MLP; one expert of a mixture that is stored
// expert by expert; the expert that every token passes.
constexpr std::string_view kModules[] = {
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "linear_attn.in_proj_qkv",
    "linear_attn.in_proj_z",
    "linear_attn.out_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
    "mlp.experts.#.gate_proj",
    "mlp.experts.#.up_proj",
    "mlp.experts.#.down_proj",
    "mlp.shared_expert.gate_proj",
    "mlp.shared_expert.up_proj",
    "mlp.shared_expert.down_proj",
};

/// The beginning of `text` that is a number is cut off; false if there is none.
bool take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

/// True if the module's path is `pattern`.
bool matches(std::string_view path, std::string_view pattern) {
  const std::size_t number = pattern.find('#');
  if (number == std::string_view::npos) return path == pattern;
  return take(path, pattern.substr(0, number)) && take_number(path) &&
         path == pattern.substr(number + 1);
}

bool is_rounded_module(std::string_view path) {
  const bool layer = std::any_of(std::begin(kLayers), std::end(kLayers),
                                 [&](std::string_view start) { return take(path, start); });
  if (!layer || !take_number(path) || !take(path, ".")) return false;
  return std::any_of(std::begin(kModules), std::end(kModules),
                     [&](std::string_view pattern) { return matches(path, pattern); });
}

}  // namespace

bool is_rounded(std::string_view tensor_name, const Shape& shape) {
  constexpr std::string_view kLeaf = ".weight";
  if (!tensor_name.ends_with(kLeaf) || shape.rank() != 2) return false;
  if (shape[0] < kLeastRoundedOutputs) return false;
  constexpr int kFew = 4, kMany = 8;
  if (!rounding_for(kFew, shape[1]) || !rounding_for(kMany, shape[1])) return false;
  return is_rounded_module(tensor_name.substr(0, tensor_name.size() - kLeaf.size()));
}

}  // namespace sightline::io
