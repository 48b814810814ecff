// Protects the safetensors reader: what is valid is read exactly, and everything else is refused
// with a message that names file, tensor, expected and found, before anything of the declared size
// is allocated or touched.
#include "io/safetensors.hpp"

#include <fmt/format.h>

#include "stored_file.hpp"

namespace sightline::io {
namespace {

using testing::Directory;
using testing::floats;
using testing::stored;

SafetensorsHeader parse(const std::string& bytes) {
  return parse_safetensors(bytes, static_cast<std::int64_t>(bytes.size()), "f");
}

// One tensor "a" with these three members and eight bytes of data.
std::string with(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return stored(
      fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape, offsets),
      std::string(8, '\1'));
}

TEST(Safetensors, ReadsTensorsMetadataAndPadding) {
  const std::string bytes = stored(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[3,11]},)"
      R"("a":{"dtype":"U8","shape":[3,1],"data_offsets":[0,3]}}   )",
      "abc" + floats({1.5F, -2.0F}));
  Directory directory;
  const SafetensorsFile file(directory.write("x.safetensors", bytes));
  ASSERT_EQ(file.entries().size(), 2U);
  EXPECT_EQ(file.entries()[0].name, "a");  // the order of the bytes, not of the header
  EXPECT_EQ(file.metadata(), (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
  const auto b = file.find("b");
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->shape, Shape({2}));
  EXPECT_EQ(b->file, "x.safetensors");
  EXPECT_EQ(to_floats(*b), (std::vector<float>{1.5F, -2.0F}));  // starts at an odd byte
  EXPECT_FALSE(file.find("c").has_value());
}

TEST(Safetensors, MappedAndReadBytesAreEqual) {
  Directory directory;
  const std::string path = directory.write("x", with("\"U8\"", "[8]", "[0,8]"));
  const SafetensorsFile mapped(path, true), read(path, false);
  EXPECT_EQ(std::memcmp(mapped.find("a")->data, read.find("a")->data, 8), 0);
}

// Scalars and tensors without elements are part of the format.
TEST(Safetensors, ScalarsAndEmptyTensors) {
  const auto header = parse(stored(
      R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},)"
      R"("t":{"dtype":"I64","shape":[3,0],"data_offsets":[4,4]}})",
      "1234"));
  EXPECT_EQ(header.tensors.size(), 3U);
  EXPECT_EQ(parse(stored("{}", "")).tensors.size(), 0U);
}

TEST(Safetensors, EveryElementTypeHasItsNameAndSize) {
  for (const char* name : {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16",
                           "I32", "U32", "F32", "F64", "I64", "U64"}) {
    const auto dtype = dtype_from_name(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_EQ(dtype_name(*dtype), name);
    const std::int64_t count = 8 / dtype_size(*dtype);
    EXPECT_EQ(parse(with(fmt::format("\"{}\"", name), fmt::format("[{}]", count), "[0,8]"))
                  .tensors.size(),
              1U);
  }
}

TEST(Safetensors, WidensEveryFloatTypeExactly) {
  const auto widened = [](const char* name, const std::string& data, std::int64_t size) {
    return to_floats({name, *dtype_from_name(name), Shape({1}),
                      reinterpret_cast<const std::byte*>(data.data()), size, "f"})[0];
  };
  EXPECT_EQ(widened("F32", floats({3.25F}), 4), 3.25F);
  EXPECT_EQ(widened("BF16", std::string("\x50\x40"), 2), 3.25F);
  EXPECT_EQ(widened("F16", std::string("\x80\x42"), 2), 3.25F);
  EXPECT_EQ(widened("F16", std::string("\x01\x00", 2), 2),
            0x1p-24F);  // the smallest subnormal number
  EXPECT_FAILS(widened("I16", "ab", 2), Code::tensor_dtype,
               "f: tensor I16: expected F32, BF16 or F16, found I16");
}

TEST(Safetensors, LengthOfTheHeader) {
  EXPECT_FAILS(parse(""), Code::invalid_safetensors,
               "f: not a valid safetensors file: expected at least 8 bytes");
  EXPECT_FAILS(parse("1234567"), Code::invalid_safetensors, "found 7");
  EXPECT_FAILS(parse(std::string(8, '\0')), Code::invalid_safetensors,
               "expected a header beginning with {");
  std::string cut = stored("{}", "");
  cut.pop_back();
  EXPECT_FAILS(parse(cut), Code::invalid_safetensors,
               "expected a header of 2 bytes, found 1 bytes after its length: the file is cut off");
  EXPECT_FAILS(parse(std::string(16, '\xFF')), Code::invalid_safetensors,
               "expected a header of at most 100000000 bytes");
  EXPECT_FAILS(parse(std::string("\x01\xE1\xF5\x05\0\0\0\0{}", 10)), Code::invalid_safetensors,
               "found 100000001");
}

TEST(Safetensors, TheHeaderMustBeAnObjectOfJson) {
  EXPECT_FAILS(parse(stored("[]", "")), Code::invalid_safetensors, "beginning with {");
  EXPECT_FAILS(parse(stored(" {}", "")), Code::invalid_safetensors, "beginning with {");
  EXPECT_FAILS(parse(stored("{\"a\":", "")), Code::invalid_safetensors, "f (header)");
  EXPECT_FAILS(parse(stored("{\"a\":NaN}", "")), Code::invalid_safetensors, "f (header)");
  EXPECT_FAILS(parse(stored("{\"\xFF\":1}", "")), Code::invalid_safetensors, "f (header)");
  EXPECT_FAILS(parse(stored(std::string("{\"a\":") + std::string(5000, '['), "")),
               Code::invalid_safetensors, "f (header)");
  EXPECT_FAILS(
      parse(stored(
          R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
          "")),
      Code::invalid_safetensors, "repeated key \"a\"");
}

TEST(Safetensors, MetadataAreStrings) {
  EXPECT_FAILS(parse(stored(R"({"__metadata__":[]})", "")), Code::invalid_safetensors,
               "at __metadata__, found array");
  EXPECT_FAILS(parse(stored(R"({"__metadata__":{"n":1}})", "")), Code::invalid_safetensors,
               "a string at __metadata__.n, found integer");
}

TEST(Safetensors, MembersOfATensor) {
  EXPECT_FAILS(parse(stored(R"({"a":1})", "")), Code::invalid_safetensors,
               "f: tensor a: expected an object with dtype, shape and data_offsets, found integer");
  EXPECT_FAILS(parse(stored(R"({"a":{}})", "")), Code::invalid_safetensors,
               "tensor a: expected a dtype string, found none");
  EXPECT_FAILS(parse(with("3", "[8]", "[0,8]")), Code::invalid_safetensors,
               "a dtype string, found integer");
  EXPECT_FAILS(parse(with("\"F4\"", "[8]", "[0,8]")), Code::tensor_dtype, "found \"F4\"");
  EXPECT_FAILS(parse(with("\"U8\"", "8", "[0,8]")), Code::invalid_safetensors,
               "a shape array, found integer");
  EXPECT_FAILS(parse(with("\"U8\"", "[-8]", "[0,8]")), Code::invalid_safetensors,
               "a non-negative integer in shape, found -8");
  EXPECT_FAILS(parse(with("\"U8\"", "[8.0]", "[0,8]")), Code::invalid_safetensors, "found 8.0");
  EXPECT_FAILS(parse(with("\"U8\"", "[1,1,1,1,1,1,8]", "[0,8]")), Code::invalid_safetensors,
               "at most 6 dimensions, found 7");
  EXPECT_FAILS(parse(with("\"U8\"", "[8]", "[0]")), Code::invalid_safetensors,
               "data_offsets of two integers, found [0]");
  EXPECT_FAILS(parse(with("\"U8\"", "[8]", "{}")), Code::invalid_safetensors,
               "data_offsets of two integers");
  EXPECT_FAILS(parse(with("\"U8\"", "[8]", "[\"0\",8]")), Code::invalid_safetensors,
               "a non-negative integer in data_offsets");
  EXPECT_FAILS(parse(with("\"U8\"", "[8]", "[0,1e3]")), Code::invalid_safetensors,
               "a non-negative integer in data_offsets");
}

TEST(Safetensors, OffsetsAndSizes) {
  EXPECT_FAILS(parse(with("\"U8\"", "[9]", "[0,9]")), Code::invalid_safetensors,
               "data_offsets within the 8 bytes of data, found [0, 9]");
  EXPECT_FAILS(parse(with("\"U8\"", "[0]", "[8,0]")), Code::invalid_safetensors, "found [8, 0]");
  EXPECT_FAILS(parse(with("\"U8\"", "[1]", "[9223372036854775806,9223372036854775807]")),
               Code::invalid_safetensors, "within the 8 bytes");
  EXPECT_FAILS(parse(with("\"U8\"", "[1]", "[0,18446744073709551615]")), Code::invalid_safetensors,
               "a non-negative integer in data_offsets");
  EXPECT_FAILS(parse(with("\"F32\"", "[3]", "[0,8]")), Code::invalid_safetensors,
               "12 bytes for F32 [3], found data_offsets of 8 bytes");
  EXPECT_FAILS(parse(with("\"F32\"", "[4294967296,4294967296]", "[0,8]")),
               Code::invalid_safetensors,
               "a size that fits 63 bits, found shape [4294967296, 4294967296]");
  EXPECT_FAILS(parse(with("\"F32\"", "[9223372036854775807]", "[0,8]")), Code::invalid_safetensors,
               "fits 63 bits");
  // A zero hides no overflow, and an overflow no zero.
  EXPECT_FAILS(parse(with("\"F32\"", "[4294967296,4294967296,0]", "[0,0]")),
               Code::invalid_safetensors, "fits 63 bits");
}

TEST(Safetensors, OverlapsHolesAndBytesLeftOver) {
  const auto two = [](const char* first, const char* second) {
    return stored(
        fmt::format(
            R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
            first, second),
        std::string(9, 'x'));
  };
  EXPECT_FAILS(
      parse(two("[0,4]", "[3,7]")), Code::invalid_safetensors,
      "f: tensor b: expected data beginning at 4, found 3 (it overlaps the tensor before)");
  EXPECT_FAILS(parse(two("[0,4]", "[0,4]")), Code::invalid_safetensors, "overlaps");
  EXPECT_FAILS(parse(two("[0,4]", "[5,9]")), Code::invalid_safetensors,
               "tensor b: expected data beginning at 4, found 5 (it leaves a hole)");
  EXPECT_FAILS(parse(two("[1,5]", "[5,9]")), Code::invalid_safetensors,
               "tensor a: expected data beginning at 0, found 1");
  EXPECT_FAILS(parse(two("[0,4]", "[4,8]")), Code::invalid_safetensors,
               "expected 8 bytes of data, as its tensors say, found 9");
}

TEST(Safetensors, FilesThatAreNone) {
  Directory directory;
  EXPECT_FAILS(SafetensorsFile(directory.file("none")), Code::file_not_found, "none");
  EXPECT_FAILS(SafetensorsFile(directory.path()), Code::file_unreadable, directory.path());
  const std::string empty = directory.write("empty", "");
  EXPECT_FAILS(SafetensorsFile{empty}, Code::invalid_safetensors, "at least 8 bytes");
}

// Every proper prefix of a valid file is refused: a download that broke off is never half a model.
TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = with("\"U8\"", "[8]", "[0,8]");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FAILS(parse(whole.substr(0, length)), Code::invalid_safetensors, "f");
  }
}

}  // namespace
}  // namespace sightline::io
