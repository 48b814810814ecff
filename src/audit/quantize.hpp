// A checkpoint whose large matrices are rounded to packed codes, written in the layout
// pack-quantized of compressed-tensors; everything else is copied as it is stored. Which matrices:
// io/rounded_modules.hpp; how: tensor/quantise.hpp, as while loading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/checkpoint_writer.hpp"
#include "sightline/tensor.hpp"
#include "tensor/quantise.hpp"

namespace sightline::audit {

struct QuantizeOptions {
  int bits = 8;     ///< 8 or 4
  int threads = 0;  ///< 0: as many as this process may use
  std::int64_t shard_bytes = io::kShardBytes;
};

/// A matrix that was rounded.
struct RoundedTensor {
  std::string name;  ///< as it was stored, "….weight"
  DType dtype = DType::bf16;
  Shape shape;  ///< [out, in]
  Rounding rounding = {};
  RoundingError error = {};
  std::int64_t not_finite = 0;  ///< groups that hold a value that is no finite number
  std::int64_t bytes_before = 0, bytes_after = 0;

  /// Relative L2 error: |rounded − stored| / |stored|; 0 for a matrix of zeros.
  [[nodiscard]] double relative_error() const;
};

/// Why a tensor was copied as it is stored.
enum class Kept : std::uint8_t {
  vision,   ///< model.visual.*
  head,     ///< embedding and head
  experts,  ///< all experts of a layer as one tensor
  mtp,      ///< mtp.*
  small,    ///< norms, convolutions, gates, and matrices too small or of odd width
};
/// "vision tower", …
std::string_view kept_name(Kept kept);

struct KeptTensors {
  Kept kept = Kept::small;
  std::int64_t tensors = 0, bytes = 0;
};

struct QuantizeResult {
  std::vector<RoundedTensor> rounded;              ///< in the model's order
  std::vector<KeptTensors> kept;                   ///< those that there are
  std::int64_t bytes_before = 0, bytes_after = 0;  ///< of all weights
  std::vector<std::string> files;                  ///< in the order of writing

  /// Of all rounded matrices together.
  [[nodiscard]] RoundingError error() const;
};

/// √(error / norm).
double relative_error(const RoundingError& error);

/// Writes the checkpoint: all or nothing, in a neighbouring directory that is renamed at the end.
/// `out` must not exist, or be an empty directory. Memory beyond the mapped input does not depend
/// on the checkpoint's size. Throws what loading the model throws, Error(invalid_config) for a
/// checkpoint that is quantised already or has nothing to round, Error(file_unwritable), and
/// whatever `progress` throws.
QuantizeResult quantize(const std::string& directory, const std::string& out,
                        const QuantizeOptions& options, const io::BytesWritten& progress);

}  // namespace sightline::audit
