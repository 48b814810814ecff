// The vision side of the models that the calculator knows: what shapes depend on. Source: the
// published configurations; where one could not be read here, the class's values (marked).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace sightline::calc {

/// How a model's processor and vision side work.
enum class Family : std::uint8_t {
  qwen3_5,         ///< 16 x 16 x 2 patches, encoder, 2 x 2 merger
  qwen3_vl,        ///< the same, and further mergers that feed the first language layers
  gemma4,          ///< 16 x 16 patches, encoder, 3 x 3 average pool
  gemma4_unified,  ///< no encoder: 48 x 48 pixels go through one linear map
};

struct Model {
  std::string_view id;
  Family family;
  std::int64_t patch;            ///< side of what one model position receives, in pixels
  std::int64_t vision_depth;     ///< blocks; 0 without an encoder
  std::int64_t vision_width;     ///< of a block; 0 without an encoder
  std::int64_t language_width;   ///< of the language model: columns of the visual features
  std::array<int, 3> deepstack;  ///< 0-based blocks tapped for language layers 0, 1, 2; -1: none

  [[nodiscard]] bool is_qwen() const noexcept {
    return family == Family::qwen3_5 || family == Family::qwen3_vl;
  }
  [[nodiscard]] bool has_deepstack() const noexcept { return deepstack[0] >= 0; }
};

/// All of them, a family after the other.
std::span<const Model> models() noexcept;
/// The model with this id (letter case of ASCII does not matter); null if there is none.
const Model* find_model(std::string_view id) noexcept;
/// "2x2 concat + MLP": what turns patch positions into language tokens.
std::string_view spatial_operation(const Model& model) noexcept;

// What the processors share (published files; specification sections 2 and 3).
inline constexpr std::int64_t kUnit = 16;           ///< pixels of a processor's spatial unit
inline constexpr std::int64_t kChannels = 3;        ///< red, green, blue
inline constexpr std::int64_t kQwenMerge = 2;       ///< spatial_merge_size
inline constexpr std::int64_t kQwenTemporal = 2;    ///< temporal_patch_size
inline constexpr std::int64_t kGemmaPool = 3;       ///< pooling_kernel_size
inline constexpr std::int64_t kQwenFactor = 32;     ///< multiple of every side
inline constexpr std::int64_t kGemmaFactor = 48;    ///< multiple of every side
inline constexpr std::int64_t kTokenPixels = 1024;  ///< Qwen: kQwenFactor squared
inline constexpr std::int64_t kImageMinPixels = 65536, kImageMaxPixels = 16777216;
inline constexpr std::int64_t kVideoMinPixels = 4096, kVideoMaxPixels = 25165824;
inline constexpr std::array<std::int64_t, 5> kSoftTokenBudgets{70, 140, 280, 560, 1120};
inline constexpr std::int64_t kImageSoftTokens = 280, kVideoSoftTokens = 70;

}  // namespace sightline::calc
