// The table of models (models.hpp).
#include "calc/models.hpp"

namespace sightline::calc {
namespace {

constexpr std::array<int, 3> kNone{-1, -1, -1};
constexpr std::array<int, 3> kOf24{5, 11, 17}, kOf27{8, 16, 24};

constexpr Model kModels[] = {
    // id, family, patch, blocks, width, language width, deepstack
    {"qwen3.5-0.8b", Family::qwen3_5, 16, 12, 768, 1024, kNone},
    {"qwen3.5-2b", Family::qwen3_5, 16, 24, 1024, 2048, kNone},
    {"qwen3.5-4b", Family::qwen3_5, 16, 24, 1024, 2560, kNone},
    {"qwen3.5-9b", Family::qwen3_5, 16, 27, 1152, 4096, kNone},
    {"qwen3.5-27b", Family::qwen3_5, 16, 27, 1152, 5120, kNone},
    {"qwen3.5-35b-a3b", Family::qwen3_5, 16, 27, 1152, 2048, kNone},
    {"qwen3.5-122b-a10b", Family::qwen3_5, 16, 27, 1152, 3072, kNone},
    {"qwen3.5-397b-a17b", Family::qwen3_5, 16, 27, 1152, 4096, kNone},
    {"qwen3-vl-2b", Family::qwen3_vl, 16, 24, 1024, 2048, kOf24},
    {"qwen3-vl-4b", Family::qwen3_vl, 16, 24, 1024, 2560, kOf24},
    {"qwen3-vl-8b", Family::qwen3_vl, 16, 27, 1152, 4096, kOf27},
    {"qwen3-vl-32b", Family::qwen3_vl, 16, 27, 1152, 5120, kOf27},  // vision: the class's values
    {"gemma-4-e2b", Family::gemma4, 16, 16, 768, 1536, kNone},
    {"gemma-4-e4b", Family::gemma4, 16, 16, 768, 2560, kNone},
    {"gemma-4-26b-a4b", Family::gemma4, 16, 27, 1152, 2816, kNone},
    {"gemma-4-31b", Family::gemma4, 16, 27, 1152, 5376, kNone},
    {"gemma-4-12b", Family::gemma4_unified, 48, 0, 0, 3840, kNone},
};

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

}  // namespace

std::span<const Model> models() noexcept { return kModels; }

const Model* find_model(std::string_view id) noexcept {
  for (const Model& model : kModels) {
    if (same_word(model.id, id)) return &model;
  }
  return nullptr;
}

std::string_view spatial_operation(const Model& model) noexcept {
  switch (model.family) {
    case Family::qwen3_5:
      return "2x2 concat + MLP";
    case Family::qwen3_vl:
      return "2x2 concat + MLP, and 3 deepstack mergers";
    case Family::gemma4:
      return model.vision_width == 1152 ? "3x3 average pool, x sqrt(width), standardise, linear"
                                        : "3x3 average pool, x sqrt(width), linear";
    case Family::gemma4_unified:
      return "dense 6912 -> 3840 + factorised positions";
  }
  return "";
}

}  // namespace sightline::calc
