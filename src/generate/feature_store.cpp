// Least-recently-used store of picture features (feature_store.hpp).
#include "generate/feature_store.hpp"

namespace sightline::generate {
namespace {

std::int64_t bytes_of(const Features& features) {
  return static_cast<std::int64_t>(features->size() * sizeof(float));
}

}  // namespace

Features FeatureStore::find(const PictureHash& hash) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(hash);
  if (found == index_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->features;
}

void FeatureStore::insert(const PictureHash& hash, Features features) {
  const std::lock_guard lock(mutex_);
  if (bytes_of(features) > max_bytes_ || index_.contains(hash)) return;
  bytes_ += bytes_of(features);
  recent_.push_front({hash, std::move(features)});
  index_[hash] = recent_.begin();
  while (bytes_ > max_bytes_) {
    bytes_ -= bytes_of(recent_.back().features);
    index_.erase(recent_.back().hash);
    recent_.pop_back();
  }
}

}  // namespace sightline::generate
