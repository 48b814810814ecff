// The checkpoint of walks that only count (checkpoint.hpp, declared_checkpoint).
#include <algorithm>
#include <mutex>
#include <set>

#include "base/reserved.hpp"
#include "io/checkpoint.hpp"
#include "sightline/error.hpp"

namespace sightline::io {
namespace {

// What is read while loading (norms, biases, convolution taps) is far smaller; a larger tensor is a
// matrix, which kernels that only count never read.
constexpr std::size_t kZeroBytes = std::size_t{64} << 20U;

class DeclaredCheckpoint final : public Checkpoint {
 public:
  DeclaredCheckpoint(std::string directory, std::vector<std::string> absent)
      : directory_(std::move(directory)),
        absent_(absent.begin(), absent.end()),
        zeros_(kZeroBytes, ReservedMemory::Kind::zeros) {}

  [[nodiscard]] const std::string& directory() const override { return directory_; }
  [[nodiscard]] std::vector<ShardInfo> shards() const override { return {}; }
  [[nodiscard]] std::vector<std::string_view> names() const override {
    return {declared_.begin(), declared_.end()};
  }
  [[nodiscard]] bool contains(std::string_view name) const override {
    return !absent_.contains(name);
  }
  [[nodiscard]] std::optional<StoredTensor> find(std::string_view) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool declared() const override { return true; }
  [[nodiscard]] std::optional<StoredTensor> claim(std::string_view name,
                                                  const Shape& expected) const override {
    if (absent_.contains(name)) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    const std::string& stored = *declared_.emplace(name).first;
    const DType dtype = published_as_float32(name) ? DType::f32 : DType::bf16;
    return StoredTensor{
        stored, dtype, expected, zeros_.data(), expected.elements() * dtype_size(dtype), "no file"};
  }

 private:
  std::string directory_;
  std::set<std::string, std::less<>> absent_;
  ReservedMemory zeros_;
  mutable std::mutex mutex_;
  mutable std::set<std::string, std::less<>> declared_;
};

}  // namespace

bool published_as_float32(std::string_view name) {
  return name.ends_with(".A_log") || name.ends_with("linear_attn.norm.weight");
}

std::shared_ptr<const Checkpoint> declared_checkpoint(std::string directory,
                                                      std::vector<std::string> absent) {
  return std::make_shared<DeclaredCheckpoint>(std::move(directory), std::move(absent));
}

}  // namespace sightline::io
