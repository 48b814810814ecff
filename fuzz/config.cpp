// config.json of a model: any JSON is a configuration whose sizes contradict nothing, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/json.hpp"
#include "qwen3_5/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  const auto require = [](bool condition) {
    if (!condition) std::abort();
  };
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const qwen3_5::Config config = qwen3_5::parse_config(io::parse_json(text, "fuzz"), "fuzz");
    const qwen3_5::TextConfig& model = config.text_config;
    require(static_cast<std::int64_t>(model.layer_types.size()) == model.num_hidden_layers);
    require(model.hidden_size > 0 && model.conv_width() > 0);
    require(model.rotary_dim() > 0 && model.rotary_dim() <= model.head_dim);
    require(model.num_attention_heads % model.num_key_value_heads == 0);
    if (config.vision_config) require(config.vision_config->shape().patch_values() > 0);
  } catch (const Error&) {
  }
  return 0;
}
