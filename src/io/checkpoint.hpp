// A checkpoint directory's tensors, and the Loader that walks them by module path while a model is
// built. Checkpoint owns the mapped (or read) files and must outlive every Weight and StoredTensor
// taken from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/quantisation.hpp"
#include "io/safetensors.hpp"
#include "sightline/tensor.hpp"
#include "sightline/trace.hpp"
#include "tensor/weight.hpp"

namespace sightline::io {

struct ShardInfo {
  std::string file;
  std::int64_t bytes = 0, tensors = 0;
};

/// The form that matrices take in memory.
struct WeightForm {
  int language_bits = 0;  ///< of matrices that is_rounded() names, and of embedding and head at
                          ///< most 8: 8, 4, or 0 for as stored
  int vision_bits = 0;    ///< of the vision tower's matrices: 8 or 0
  bool integers = false;  ///< packed matrices get their integer form (tensor/integer_form.hpp)
  int threads = 1;        ///< that round
};

class Checkpoint {
 public:
  /// Opens `model.safetensors.index.json` with its shards if present, else `model.safetensors`.
  /// With `use_mmap` false the files are read into memory. Shards are mapped when a tensor of
  /// theirs is first claimed. Throws Error(missing_file, missing_shard, invalid_index,
  /// invalid_safetensors, …) naming file, tensor, expected and found.
  static std::shared_ptr<const Checkpoint> open(const std::string& directory, bool use_mmap = true,
                                                const WeightForm& form = {});
  virtual ~Checkpoint() = default;

  [[nodiscard]] virtual const std::string& directory() const = 0;
  [[nodiscard]] virtual std::vector<ShardInfo> shards() const = 0;
  [[nodiscard]] virtual std::vector<std::string_view> names() const = 0;  ///< ascending
  /// True if a tensor has this name; maps nothing.
  [[nodiscard]] virtual bool contains(std::string_view name) const {
    return find(name).has_value();
  }
  /// The tensor, its bytes mapped; nothing if there is none.
  [[nodiscard]] virtual std::optional<StoredTensor> find(std::string_view name) const = 0;
  /// The tensor that a model expects to have this shape; the caller checks that it has.
  [[nodiscard]] virtual std::optional<StoredTensor> claim(std::string_view name,
                                                          const Shape& expected) const {
    (void)expected;
    return find(name);
  }
  /// What a Loader makes of the matrices.
  [[nodiscard]] virtual WeightForm form() const { return {}; }
  /// True if tensors are made up as they are asked for: nothing is packed then.
  [[nodiscard]] virtual bool declared() const { return false; }
};

/// A checkpoint without weights, for walks that only count: every tensor that a model asks for
/// exists with the shape that it expects (BF16; A_log and linear_attn.norm F32, as published) and
/// reads as zeros. Only `absent` names do not exist; names() are those asked for so far.
std::shared_ptr<const Checkpoint> declared_checkpoint(std::string directory,
                                                      std::vector<std::string> absent);

/// True for the few tensors that published checkpoints keep in F32 (specification 1.5).
bool published_as_float32(std::string_view name);

/// A tensor by its name and shape alone.
struct NamedShape {
  std::string name;
  Shape shape;
};

/// A tensor that a model uses.
struct ClaimedTensor {
  std::string name, file;
  DType dtype = DType::f32;
  Shape shape;
  /// Of a packed weight's tensors: what its codes stand for, and 0 for all that goes with them.
  std::optional<std::int64_t> packed_parameters;
  std::string stored;  ///< how: "BF16", "int4, groups of 128"; empty for scales and the like
  [[nodiscard]] std::int64_t parameters() const {
    return packed_parameters.value_or(shape.elements());
  }
  [[nodiscard]] std::int64_t bytes() const { return shape.elements() * dtype_size(dtype); }
};

/// What a model is built of, and how the tensors of its checkpoint were used.
struct LoadReport {
  std::int64_t used = 0, ignored_mtp = 0, skipped = 0;
  std::vector<std::string> ignored;    ///< names of ignored mtp.* tensors
  std::vector<Site> modules;           ///< in transformers' order, parents first
  std::vector<ClaimedTensor> tensors;  ///< in the order of their modules
  std::string quantisation;            ///< quant_method; empty for a checkpoint as trained
};

/// Walks module paths: loader.at("layers").at(3).at("mlp").weight("gate_proj.weight", out, in).
/// Copies share one book of claims. Construction code spells transformers' paths, and every error
/// names the tensor.
class Loader {
 public:
  /// Matrices may be stored as `quantisation` says. Throws Error(invalid_config) if its list
  /// of modules that stay as they were belongs to another model.
  explicit Loader(std::shared_ptr<const Checkpoint> checkpoint,
                  std::shared_ptr<const Quantisation> quantisation = nullptr);

  [[nodiscard]] Loader at(std::string_view child) const;  ///< "a.b" is allowed
  [[nodiscard]] Loader at(std::int64_t index) const;
  /// This path, its sites shown with (or, again, without) transformers' batch axis (see
  /// Site::batched).
  [[nodiscard]] Loader batched(bool on = true) const;
  [[nodiscard]] const std::string& path() const { return path_; }

  /// True if the checkpoint stores `leaf` below this path.
  [[nodiscard]] bool has(std::string_view leaf) const;
  /// True if it stores the matrix `leaf` (a name that ends in "weight") below this path, plain or
  /// packed.
  [[nodiscard]] bool has_weight(std::string_view leaf) const;
  /// Claims a tensor of exactly this shape. Throws Error(missing_tensor, tensor_shape,
  /// tensor_dtype).
  StoredTensor tensor(std::string_view leaf, const Shape& expected) const;
  /// Claims a float tensor of one of two shapes (layouts that checkpoints differ in); a declared
  /// checkpoint has the first. Errors as tensor().
  StoredTensor either(std::string_view leaf, const Shape& expected, const Shape& other) const;
  /// Claims a float tensor whose dimensions after the first, multiplied, give `in` (a convolution's
  /// kernel is flattened), or the tensors of a packed weight in its place.
  Weight weight(std::string_view leaf, const Shape& expected) const;
  /// Claims a small float tensor and widens it to float32 (norms, biases, convolution taps).
  std::vector<float> values(std::string_view leaf, const Shape& expected) const;
  /// Declares that tensors whose name starts with this path are left alone on purpose (layers
  /// outside of a range).
  void skip() const;

  /// The module at this path, with the next site number. `extra` is what torch prints inside its
  /// brackets.
  [[nodiscard]] Site site(std::string_view kind, std::string extra = {}) const;
  /// A step of the module at this path that is no module itself; not part of the report.
  [[nodiscard]] Site operation(std::string_view name) const;

  /// To be called once on the root: ignores `mtp.*`, throws Error(unexpected_tensor) naming what
  /// nobody claimed.
  LoadReport finish() const;

 private:
  struct Book;
  StoredTensor float_tensor(std::string_view leaf, const Shape& expected) const;
  std::shared_ptr<Book> book_;
  std::string path_;
  bool batched_ = false;
};

}  // namespace sightline::io
