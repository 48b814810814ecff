// Protects the writer: what it writes is what the reader reads, strides are packed, and nothing is
// left half-written.
#include "io/safetensors_writer.hpp"

#include "io/safetensors.hpp"
#include "stored_file.hpp"

namespace sightline::io {
namespace {

using testing::Directory;

TensorRef ref(const std::vector<float>& values, const Shape& shape, std::int64_t stride) {
  return {"", DType::f32, shape, reinterpret_cast<const std::byte*>(values.data()), stride};
}

TEST(SafetensorsWriter, RoundTripInOrderWithMetadata) {
  Directory directory;
  const std::string path = directory.file("out.safetensors");
  const std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<std::int64_t> ids{-1, 1LL << 40};
  SafetensorsWriter writer(path);
  writer.metadata("who", "a \"test\"");
  writer.add("z", ref(values, {2, 4}, 4));
  writer.add("ids", {"", DType::i64, {2}, reinterpret_cast<const std::byte*>(ids.data()), 2});
  writer.add("packed", ref(values, {2, 1, 3}, 4));  // rows 4 apart
  writer.add("scalar", ref(values, {}, 1));
  writer.add("empty", ref(values, {3, 0}, 0));
  writer.finish();
  EXPECT_EQ(directory.files(), 2U);  // the stage lives as long as the writer

  const SafetensorsFile file(path);
  ASSERT_EQ(file.entries().size(), 5U);
  EXPECT_EQ(file.metadata()[0].second, "a \"test\"");
  EXPECT_EQ(file.entries()[0].name, "z");
  EXPECT_EQ(to_floats(*file.find("z")), values);
  EXPECT_EQ(to_floats(*file.find("packed")), (std::vector<float>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(file.find("packed")->shape, Shape({2, 1, 3}));
  EXPECT_EQ(std::memcmp(file.find("ids")->data, ids.data(), 16), 0);
  EXPECT_EQ(to_floats(*file.find("scalar")), (std::vector<float>{0}));
  EXPECT_EQ((file.entries()[0].begin) % 8, 0);
}

TEST(SafetensorsWriter, UnfinishedLeavesNothing) {
  Directory directory;
  {
    SafetensorsWriter writer(directory.file("out"));
    writer.add("a", ref({1, 2}, {2}, 2));
    EXPECT_EQ(writer.bytes(), 8);
    EXPECT_EQ(writer.tensors(), 1);
    EXPECT_FAILS(writer.add("a", ref({1, 2}, {2}, 2)), Code::internal, "tensor a is written twice");
  }
  EXPECT_EQ(directory.files(), 0U);
  EXPECT_FAILS(SafetensorsWriter(directory.file("no/such/out")), Code::file_unwritable,
               "no/such/out");
}

}  // namespace
}  // namespace sightline::io
