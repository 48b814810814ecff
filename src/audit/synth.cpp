// What a made-up checkpoint consists of (synth.hpp); synth_files.cpp writes it.
#include "audit/synth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

constexpr float kSmall = 0.02F;  // initializer_range of the published configurations
// Logarithm of 16: A starts between 1 and 16 (Mamba-2, Dao and Gu 2024, appendix; HF: A_log).
constexpr float kMostLogA = 2.7726F;
// softplus(dt_bias) between 0.001 and 0.1, the range that the same source starts from.
constexpr float kLeastDt = -6.907F, kMostDt = -2.252F;

Distribution between(float low, float high) {
  return {Distribution::Kind::uniform, (low + high) / 2, (high - low) / 2};
}

Distribution around(float center) { return {Distribution::Kind::normal, center, kSmall}; }

Distribution fan_in(std::int64_t inputs) {
  return {Distribution::Kind::normal, 0, 1.0F / std::sqrt(static_cast<float>(inputs))};
}

/// The path of a tensor's module: its name without the last part.
std::string_view parent(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

/// `kind` is the class of the tensor's module, empty for mtp.* tensors.
Distribution values_of(std::string_view name, const Shape& shape, std::string_view kind) {
  if (name.ends_with(".A_log")) return between(0, kMostLogA);
  if (name.ends_with(".dt_bias")) return between(kLeastDt, kMostDt);
  if (shape.rank() == 1) {
    // RMSNorm multiplies by 1 + weight, its gated form and LayerNorm by the weight.
    const bool one = name.ends_with(".weight") && (kind == "LayerNorm" || kind.ends_with("Gated"));
    return around(one ? 1.0F : 0.0F);
  }
  // A convolution adds up its whole kernel, everything else its last axis (experts are stacked).
  if (kind.starts_with("Conv")) return fan_in(shape.elements() / shape[0]);
  return fan_in(shape.back());
}

io::Json replaced(const io::Json& object, const std::map<std::string, io::Json>& members) {
  io::Json changed = io::Json::object();
  for (const auto& [key, value] : object.as_object()) {
    const auto found = members.find(key);
    changed.add(key, found == members.end() ? value : found->second);
  }
  return changed;
}

io::Json cut_text(const io::JsonReader& text, std::int64_t layers) {
  constexpr std::int64_t kMost = 4096;
  const std::int64_t present = text.at("num_hidden_layers").integer(1, kMost);
  if (layers > present) {
    throw Error(Code::invalid_option,
                fmt::format("--layers: expected at most {}, found {}", present, layers),
                {{"option", "--layers"}});
  }
  std::map<std::string, io::Json> members{{"num_hidden_layers", layers}};
  if (text.has("layer_types")) {
    io::Json types = io::Json::array();
    for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i)
      types.push(text.at("layer_types").at(i).string());
    members.emplace("layer_types", std::move(types));
  }
  return replaced(text.value(), members);
}

}  // namespace

std::vector<SynthTensor> synth_tensors(const model::ModelInfo& info) {
  std::map<std::string_view, std::string_view> kinds;
  for (const Site& site : info.report.modules) kinds.emplace(site.path, site.kind);
  std::vector<SynthTensor> tensors;
  for (const io::ClaimedTensor& tensor : info.report.tensors) {
    const auto found = kinds.find(parent(tensor.name));
    const std::string_view kind = found == kinds.end() ? std::string_view() : found->second;
    tensors.push_back(
        {{tensor.name, tensor.dtype, tensor.shape}, values_of(tensor.name, tensor.shape, kind)});
  }
  for (const io::NamedShape& tensor : info.mtp)
    tensors.push_back(
        {{tensor.name, DType::bf16, tensor.shape}, values_of(tensor.name, tensor.shape, {})});
  for (SynthTensor& tensor : tensors)
    tensor.entry.bytes = tensor.entry.shape.elements() * dtype_size(tensor.entry.dtype);
  return tensors;
}

io::Json cut_config(const io::Json& config, std::int64_t layers, const std::string& file) {
  const io::JsonReader root(config, file, "", Code::invalid_config);
  std::map<std::string, io::Json> members{
      {"text_config", cut_text(root.at("text_config"), layers)}};
  // A tower whose inner blocks feed the language model stays whole.
  const auto feeds_layers = [](const io::JsonReader& vision) {
    return vision.has("deepstack_visual_indexes") &&
           vision.at("deepstack_visual_indexes").size() != 0;
  };
  if (root.has("vision_config") && !feeds_layers(root.at("vision_config"))) {
    constexpr std::int64_t kMost = 4096;
    const io::JsonReader vision = root.at("vision_config");
    const std::int64_t depth = std::min(layers, vision.at("depth").integer(1, kMost));
    members.emplace("vision_config", replaced(vision.value(), {{"depth", depth}}));
  }
  return replaced(config, members);
}

}  // namespace sightline::audit
