// What a checkpoint consists of and what is odd about it: classes, element types, shards, the head,
// tensors that nobody uses, and (when every value is read) rows of zeros and values that are no
// numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/subject.hpp"
#include "io/checkpoint.hpp"
#include "model/vision_language_model.hpp"

namespace sightline::audit {

/// Something about a stored tensor that deserves a look.
struct Finding {
  enum class Kind : std::uint8_t { dtype, zero_rows, non_finite };
  Kind kind = Kind::dtype;
  std::string tensor, file;
  std::int64_t count = 0;  ///< rows of zeros, or values; 0 for a type
  std::string detail;      ///< "3 of 64 rows are all zero"
};
std::string_view finding_name(Finding::Kind kind);

struct DtypeUse {
  DType dtype = DType::f32;
  std::int64_t tensors = 0, parameters = 0, bytes = 0;
};

/// Weights that are stored alike.
struct StorageUse {
  std::string stored;  ///< "BF16", "int4, groups of 128, zero points"
  std::int64_t weights = 0, parameters = 0;
};

struct CheckpointReport {
  std::string config_class;  ///< transformers' class, by the name of the model's
  std::string model_type;
  std::vector<std::string> architectures;  ///< as config.json lists them
  std::string processor_class;             ///< empty if no file names one
  std::vector<DtypeUse> dtypes;            ///< of all tensors, most parameters first
  DType loaded_as = DType::bf16;           ///< into which transformers loads: dtype_of_config()
  std::vector<io::ShardInfo> shards;       ///< none for a published size
  std::string quantisation;                ///< quant_method, or empty
  std::vector<StorageUse> storage;         ///< of the weights in use, most parameters first
  bool tied_head = false;
  std::int64_t used = 0, skipped = 0, ignored = 0;  ///< tensors; ignored are mtp.*
  std::vector<std::string> mtp_missing;  ///< mtp.* tensors of the published layout not stored
  std::vector<std::string> mtp_other;    ///< stored mtp.* tensors of another name or shape
  std::vector<Finding> findings;
};

/// The element type that config.json names ("dtype", once "torch_dtype"): transformers computes in
/// it and returns it. Nothing if none is named.
std::optional<DType> dtype_of_config(const io::Json& config);

/// The report of a model. `stored` is its checkpoint, or null for a published size, whose tensors
/// are those declared. Reads no values. An element type is odd if it is neither that of config.json
/// (else of most parameters) nor F32 where the published checkpoints keep F32.
CheckpointReport report_checkpoint(const Subject& subject, const model::VisionLanguageModel& model,
                                   const io::Checkpoint* stored);

/// Called with bytes read and bytes in all.
using BytesRead = std::function<void(std::int64_t done, std::int64_t all)>;

/// Reads every value of every float tensor: non-finite ones, and rows of matrices that are all
/// zero.
std::vector<Finding> check_values(const io::Checkpoint& stored, const BytesRead& progress);

}  // namespace sightline::audit
