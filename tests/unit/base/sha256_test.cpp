// SHA-256: the vectors of FIPS 180-4 and every way to cut a message, since picture identity and
// file manifests rest on it.
#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sightline {
namespace {

std::string digest_of(const std::string& text) { return sha256_hex(text.data(), text.size()); }

TEST(Sha256, StandardVectors) {
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Padding around block ends is where implementations go wrong: any split must give the digest of
// the whole.
TEST(Sha256, AnySplitGivesTheSameDigest) {
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'x');
    const std::string whole = digest_of(text);
    for (const std::size_t first : {std::size_t{0}, size / 3, size / 2, size}) {
      Sha256 hash;
      hash.update(text.data(), first);
      hash.update(text.data() + first, size - first);
      const auto digest = hash.finish();
      EXPECT_EQ(hex(digest.data(), digest.size()), whole) << size << " split at " << first;
    }
  }
}

}  // namespace
}  // namespace sightline
