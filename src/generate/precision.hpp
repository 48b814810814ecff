// What the precisions of the public interface mean below it: the type of the cache, and the form
// that weights take in memory.
#pragma once

#include <string_view>

#include "io/checkpoint.hpp"
#include "nn/pass.hpp"
#include "sightline/engine.hpp"

namespace sightline::generate {

/// "f32", "bf16", "int8", "int4" or "auto".
constexpr std::string_view name_of(PrecisionMode mode) {
  switch (mode) {
    case PrecisionMode::f32:
      return "f32";
    case PrecisionMode::bf16:
      return "bf16";
    case PrecisionMode::int8:
      return "int8";
    case PrecisionMode::int4:
      return "int4";
    case PrecisionMode::automatic:
      break;
  }
  return "auto";
}

/// All but `f32` keep keys and values in bfloat16.
constexpr nn::Precision cache_precision(PrecisionMode mode) {
  return mode == PrecisionMode::f32 ? nn::Precision::f32 : nn::Precision::bf16;
}

/// `threads` round matrices while loading.
constexpr io::WeightForm weight_form(PrecisionMode mode, VisionPrecision vision, int threads) {
  io::WeightForm form;
  form.threads = threads;
  form.integers = mode != PrecisionMode::f32 && mode != PrecisionMode::bf16;
  if (mode == PrecisionMode::int8) form.language_bits = 8;
  if (mode == PrecisionMode::int4) form.language_bits = 4;
  if (vision == VisionPrecision::int8) form.vision_bits = 8;
  return form;
}

}  // namespace sightline::generate
