// quantization_config with the tensors of a small matrix: any configuration and any bytes are a
// packed weight whose every element can be read, or an Error. The input is a line of JSON, then the
// bytes of a safetensors file.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "io/packed_tensors.hpp"
#include "io/quantisation.hpp"
#include "kernels/matmul.hpp"

namespace {

using namespace sightline;

constexpr std::int64_t kOut = 24, kIn = 40;

/// The tensors of a file held in memory.
class Tensors {
 public:
  explicit Tensors(std::string_view bytes)
      : bytes_(bytes),
        header_(io::parse_safetensors(bytes, static_cast<std::int64_t>(bytes.size()), "fuzz")) {}

  [[nodiscard]] std::optional<io::StoredTensor> find(std::string_view name) const {
    for (const io::TensorEntry& entry : header_.tensors) {
      if (entry.name != name) continue;
      const auto* data = reinterpret_cast<const std::byte*>(bytes_.data()) + entry.begin;
      return io::StoredTensor{entry.name, entry.dtype, entry.shape, data, entry.bytes, "fuzz"};
    }
    return std::nullopt;
  }

 private:
  std::string_view bytes_;
  io::SafetensorsHeader header_;
};

void check(std::string_view config, std::string_view file) {
  const io::Json json = io::parse_json(config, "fuzz");
  const auto quantisation =
      io::parse_quantisation(io::JsonReader(json, "fuzz", "", Code::invalid_config), "fuzz");
  if (!quantisation) return;
  quantisation->check_ignored({"m", "model.language_model.layers.0.mlp.gate"});
  const io::WeightScheme* scheme = quantisation->scheme_of("m");
  if (scheme == nullptr || quantisation->ignores("m")) return;
  const Tensors tensors(file);
  const auto packed = io::load_packed({"m", kOut, kIn, *scheme, "fuzz"},
                                      [&](const std::string& name) { return tensors.find(name); });
  const Weight weight{DType::f32, kOut, kIn, nullptr, packed};
  std::vector<float> row(kIn);
  for (std::int64_t o = 0; o < kOut; ++o) kernels::widen_row(weight, o, row.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  try {
    check(input.substr(0, line), input.substr(std::min(line + 1, input.size())));
  } catch (const Error&) {
  }
  return 0;
}
