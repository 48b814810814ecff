// config.json of a model: any JSON is, for each family, a configuration whose sizes contradict
// nothing, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/json.hpp"
#include "qwen3_5/config.hpp"
#include "qwen3_vl/config.hpp"

namespace {

using namespace sightline;

void require(bool condition) {
  if (!condition) std::abort();
}

template <class Text>
void check_heads(const Text& text) {
  require(text.hidden_size > 0 && text.num_hidden_layers > 0 && text.head_dim > 0);
  require(text.num_attention_heads % text.num_key_value_heads == 0);
  require(text.num_experts == 0 || text.num_experts_per_tok <= text.num_experts);
}

void check_qwen3_5(const io::Json& json) {
  const qwen3_5::Config config = qwen3_5::parse_config(json, "fuzz");
  const qwen3_5::TextConfig& text = config.text_config;
  check_heads(text);
  require(static_cast<std::int64_t>(text.layer_types.size()) == text.num_hidden_layers);
  require(text.conv_width() > 0);
  require(text.rotary_dim() > 0 && text.rotary_dim() <= text.head_dim);
  if (config.vision_config) require(config.vision_config->shape().patch_values() > 0);
}

void check_qwen3_vl(const io::Json& json) {
  const qwen3_vl::Config config = qwen3_vl::parse_config(json, "fuzz");
  check_heads(config.text_config);
  require(config.deepstack_layers() <= config.text_config.num_hidden_layers);
  if (config.vision_config) require(config.vision_config->shape().patch_values() > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto check : {check_qwen3_5, check_qwen3_vl}) {
    try {
      check(io::parse_json({reinterpret_cast<const char*>(data), size}, "fuzz"));
    } catch (const Error&) {
    }
  }
  return 0;
}
