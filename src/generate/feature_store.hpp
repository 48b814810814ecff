// Features of pictures seen before, by the 128-bit hash of their resized pixels and grid, so that
// the same picture is never encoded twice. Least recently used entries leave first. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>
#include "image/patches.hpp"

namespace sightline::generate {

using PictureHash = image::PixelHash;

/// Features of one picture: (tokens, ModelInfo::feature_width), dense; immutable once stored.
using Features = std::shared_ptr<const std::vector<float>>;

class FeatureStore {
 public:
  explicit FeatureStore(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// The stored features, or null.
  Features find(const PictureHash& hash);
  /// Keeps features, dropping others when the limit is passed; what is larger than the limit is not
  /// kept.
  void insert(const PictureHash& hash, Features features);

 private:
  struct Entry {
    PictureHash hash;
    Features features;
  };
  std::mutex mutex_;
  std::int64_t max_bytes_, bytes_ = 0;
  std::list<Entry> recent_;  // most recent first
  std::map<PictureHash, std::list<Entry>::iterator> index_;
};

}  // namespace sightline::generate
