// The length that a Matroska file says it has. Protects: that a cut file is known as one, and that
// any bytes are read within their bounds.
#include "video/matroska.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sightline::video {
namespace {

using namespace std::string_literals;

const std::string kHeader =
    "\x1A\x45\xDF\xA3\x82"
    "ab"s;  // two bytes of content
const std::string kSegment = "\x18\x53\x80\x67"s;

TEST(Matroska, SizeOfTheSegment) {
  EXPECT_EQ(matroska_bytes(kHeader + kSegment + "\x85"s), 7 + 5 + 5);
  EXPECT_EQ(matroska_bytes(kHeader + kSegment + "\x40\x85"s), 7 + 6 + 133);
  EXPECT_EQ(matroska_bytes(kHeader + kSegment + "\x01\0\0\0\0\1\0\0"s), 7 + 12 + 65536);
  EXPECT_EQ(matroska_bytes(kHeader + "\xEC\x83..." + kSegment + "\x81"s), 7 + 5 + 5 + 1);  // Void
}

TEST(Matroska, SizesThatAreLeftOpen) {
  EXPECT_EQ(matroska_bytes(kHeader + kSegment + "\xFF"s), std::nullopt);
  EXPECT_EQ(matroska_bytes(kHeader + kSegment + "\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s), std::nullopt);
}

TEST(Matroska, OtherBytes) {
  const std::string whole = kHeader + kSegment + "\x40\x85"s;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(matroska_bytes(std::string_view(whole).substr(0, size)), std::nullopt) << size;
  EXPECT_EQ(matroska_bytes(kSegment + "\x85"s), std::nullopt);  // no header
  EXPECT_EQ(matroska_bytes("\0\0\0\x20"
                           "ftypisom"s),
            std::nullopt);
  EXPECT_EQ(matroska_bytes(kHeader + "\xEC\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFE"s + kSegment),
            std::nullopt);  // content of 2^56 bytes
}

}  // namespace
}  // namespace sightline::video
