// Key/value blocks with copy on write (cache.hpp).
#include "model/cache.hpp"

#include <atomic>
#include <cstring>

namespace sightline::model {

void KvLayer::make_writable(std::size_t block) {
  const auto half =
      static_cast<std::size_t>(kernels::kKvBlock * kv_heads_ * head_dim_ * dtype_size(dtype_));
  if (block < storage_.size()) {
    if (storage_[block].use_count() == 1) {
      // The other owners are gone; what they read happened before what is written now.
      std::atomic_thread_fence(std::memory_order_acquire);
      return;
    }
    std::shared_ptr<std::byte[]> copy(new std::byte[2 * half]);
    std::memcpy(copy.get(), storage_[block].get(), 2 * half);
    storage_[block] = std::move(copy);
  } else {
    storage_.push_back(std::shared_ptr<std::byte[]>(new std::byte[2 * half]()));
    keys_.push_back(nullptr);
    values_.push_back(nullptr);
  }
  keys_[block] = storage_[block].get();
  values_[block] = storage_[block].get() + half;
}

void KvLayer::append(const kernels::Compute& compute, ConstView keys, ConstView values) {
  const std::int64_t end = length_ + keys.rows;
  if (compute.count(kernels::store_work(keys, dtype_) + kernels::store_work(values, dtype_))) {
    length_ = end;
    return;
  }
  for (std::int64_t block = length_ / kernels::kKvBlock; block * kernels::kKvBlock < end; ++block) {
    make_writable(static_cast<std::size_t>(block));
  }
  kernels::store_kv(keys, kv_heads_, length_, dtype_, keys_.data());
  kernels::store_kv(values, kv_heads_, length_, dtype_, values_.data());
  length_ = end;
}

kernels::KvBlocks KvLayer::blocks() const {
  return {keys_.data(), values_.data(), dtype_, length_};
}

std::int64_t KvLayer::bytes() const {
  const std::int64_t blocks = (length_ + kernels::kKvBlock - 1) / kernels::kKvBlock;
  return blocks * 2 * kernels::kKvBlock * kv_heads_ * head_dim_ * dtype_size(dtype_);
}

std::int64_t Cache::bytes() const {
  std::int64_t total = 0;
  for (const auto& layer : layers) {
    total += std::visit([](const auto& state) { return state.bytes(); }, layer);
  }
  return total;
}

}  // namespace sightline::model
