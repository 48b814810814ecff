// Protects: pictures are recognised by their whole content, and the store keeps its limit.
#include "generate/feature_store.hpp"

#include <gtest/gtest.h>

namespace sightline::generate {
namespace {

PictureHash hash_of(std::uint8_t last) {
  PictureHash hash{};
  hash.bytes[15] = last;  // hashes that differ in one byte are different pictures
  return hash;
}

Features features(std::size_t count) { return std::make_shared<std::vector<float>>(count); }

TEST(FeatureStore, TheLeastRecentlyUsedLeavesFirst) {
  FeatureStore store(3 * 100 * static_cast<std::int64_t>(sizeof(float)));
  for (std::uint8_t i = 0; i < 3; ++i) store.insert(hash_of(i), features(100));
  EXPECT_NE(store.find(hash_of(0)), nullptr);  // now more recent than 1
  store.insert(hash_of(3), features(100));
  EXPECT_EQ(store.find(hash_of(1)), nullptr);
  EXPECT_NE(store.find(hash_of(0)), nullptr);
  EXPECT_NE(store.find(hash_of(3)), nullptr);
}

TEST(FeatureStore, WhatIsLargerThanTheLimitIsNotKept) {
  FeatureStore store(10);
  store.insert(hash_of(1), features(100));
  EXPECT_EQ(store.find(hash_of(1)), nullptr);
}

}  // namespace
}  // namespace sightline::generate
