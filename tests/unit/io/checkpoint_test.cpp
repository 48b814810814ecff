// Protects how a checkpoint directory is opened: index and shards agree in every tensor, or the
// directory is refused with the name of what is wrong.
#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include "io/shard_index.hpp"
#include "stored_file.hpp"

namespace sightline::io {
namespace {

using testing::Directory;
using testing::floats;
using testing::stored;

// A shard with tensors of one float each.
std::string shard(const std::vector<std::string>& names) {
  std::string header = "{";
  std::vector<float> values;
  for (const std::string& name : names) {
    const auto at = static_cast<float>(values.size());
    header += fmt::format("{}\"{}\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[{},{}]}}",
                          at > 0 ? "," : "", name, values.size() * 4, values.size() * 4 + 4);
    values.push_back(at);
  }
  return stored(header + "}", floats(values));
}

constexpr const char* kFirst = "model.safetensors-00001-of-00002.safetensors";
constexpr const char* kSecond = "model.safetensors-00002-of-00002.safetensors";

std::string index_of(const std::vector<std::pair<std::string, std::string>>& map) {
  std::string text = R"({"metadata":{"total_size":8},"weight_map":{)";
  for (const auto& [tensor, file] : map)
    text += fmt::format("{}\"{}\":\"{}\"", text.back() == '{' ? "" : ",", tensor, file);
  return text + "}}";
}

TEST(Checkpoint, OneFile) {
  Directory directory;
  directory.write("model.safetensors", shard({"b", "a"}));
  for (const bool use_mmap : {true, false}) {
    const auto checkpoint = Checkpoint::open(directory.path(), use_mmap);
    EXPECT_EQ(checkpoint->names(), (std::vector<std::string_view>{"a", "b"}));
    EXPECT_EQ(to_floats(checkpoint->find("a").value()), (std::vector<float>{1}));
    EXPECT_FALSE(checkpoint->find("c").has_value());
    ASSERT_EQ(checkpoint->shards().size(), 1U);
    EXPECT_EQ(checkpoint->shards()[0].tensors, 2);
    EXPECT_EQ(checkpoint->shards()[0].file, "model.safetensors");
  }
}

// With an index only its shards count; the published single shard has its unusual name.
TEST(Checkpoint, IndexAndShards) {
  Directory directory;
  directory.write("model.safetensors", shard({"other"}));
  directory.write(kFirst, shard({"a"}));
  directory.write(kSecond, shard({"b", "c"}));
  directory.write(kShardIndexFile, index_of({{"c", kSecond}, {"a", kFirst}, {"b", kSecond}}));
  const auto checkpoint = Checkpoint::open(directory.path());
  EXPECT_EQ(checkpoint->names().size(), 3U);
  EXPECT_EQ(checkpoint->find("c")->file, kSecond);
  EXPECT_FALSE(checkpoint->contains("other"));

  EXPECT_TRUE(is_shard_name("model.safetensors-00001-of-00001.safetensors"));
  EXPECT_TRUE(is_shard_name("model-00003-of-00014.safetensors"));
  for (const char* name :
       {"model.safetensors", "model-a-of-b.safetensors", "model-1-of-.safetensors",
        "consolidated.safetensors", "model-.safetensors", "model.safetensors-",
        "model-1-of-2.safetensors.part"}) {
    EXPECT_FALSE(is_shard_name(name)) << name;
  }
}

TEST(Checkpoint, NoWeights) {
  Directory directory;
  EXPECT_FAILS(Checkpoint::open(directory.file("none")), Code::missing_file, "no such directory");
  EXPECT_FAILS(Checkpoint::open(directory.path()), Code::missing_file,
               "expected model.safetensors.index.json or model.safetensors, found no weights");
  directory.write("pytorch_model.bin", "");
  EXPECT_FAILS(Checkpoint::open(directory.path()), Code::missing_file,
               "found only pytorch_model.bin");
}

TEST(Checkpoint, ShardsThatAreMissingOrNotNamed) {
  Directory directory;
  directory.write(kShardIndexFile, index_of({{"a", kFirst}, {"b", kSecond}}));
  directory.write(kFirst, shard({"a"}));
  EXPECT_FAILS(
      Checkpoint::open(directory.path()), Code::missing_shard,
      "the index names shard model.safetensors-00002-of-00002.safetensors, found no such file");
  directory.write(kSecond, shard({"b"}));
  EXPECT_NO_THROW(Checkpoint::open(directory.path()));
  directory.write("model-00003-of-00003.safetensors", shard({"c"}));
  EXPECT_FAILS(
      Checkpoint::open(directory.path()), Code::invalid_index,
      "the directory holds shard model-00003-of-00003.safetensors, which the index does not name");
}

TEST(Checkpoint, TensorsThatIndexAndShardsDisagreeOn) {
  Directory directory;
  directory.write(kFirst, shard({"a"}));
  directory.write(kSecond, shard({"b"}));
  directory.write(kShardIndexFile, index_of({{"a", kFirst}, {"b", kFirst}, {"z", kSecond}}));
  EXPECT_FAILS(Checkpoint::open(directory.path()), Code::invalid_index,
               fmt::format("tensor b: expected in shard {}, found it in {}", kFirst, kSecond));
  directory.write(kShardIndexFile, index_of({{"a", kFirst}, {"b", kSecond}, {"z", kSecond}}));
  EXPECT_FAILS(Checkpoint::open(directory.path()), Code::invalid_index,
               fmt::format("tensor z: expected in shard {}, found it in no shard", kSecond));
  directory.write(kSecond, shard({"b", "c"}));
  directory.write(kShardIndexFile, index_of({{"a", kFirst}, {"b", kSecond}}));
  EXPECT_FAILS(Checkpoint::open(directory.path()), Code::invalid_index,
               fmt::format("shard {} holds tensor c, which the index does not name", kSecond));
  directory.write(kSecond, shard({"b", "a"}));
  EXPECT_FAILS(Checkpoint::open(directory.path()), Code::invalid_index,
               fmt::format("tensor a: expected in one shard, found in {} and {}", kFirst, kSecond));
}

TEST(Checkpoint, BrokenShardIsNamed) {
  Directory directory;
  directory.write(kFirst, shard({"a"}));
  directory.write(kSecond, shard({"b"}).substr(0, 40));
  directory.write(kShardIndexFile, index_of({{"a", kFirst}, {"b", kSecond}}));
  EXPECT_FAILS(Checkpoint::open(directory.path()), Code::invalid_safetensors, kSecond);
}

// The names come from a file that somebody else wrote: nothing outside of the directory is opened.
TEST(ShardIndex, NamesArePlain) {
  for (const char* name :
       {"../secret", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
    EXPECT_FAILS(parse_shard_index(index_of({{"t", name}}), "i"), Code::invalid_index,
                 "i: weight_map.t: expected the plain name of a file in the same directory");
  }
}

TEST(ShardIndex, Malformed) {
  EXPECT_FAILS(parse_shard_index("{", "i"), Code::invalid_index, "i: invalid JSON");
  EXPECT_FAILS(parse_shard_index("[]", "i"), Code::invalid_index,
               "i: weight_map: expected an object, found none");
  EXPECT_FAILS(parse_shard_index(R"({"weight_map":[]})", "i"), Code::invalid_index, "found array");
  EXPECT_FAILS(parse_shard_index(R"({"weight_map":{}})", "i"), Code::invalid_index,
               "at least one tensor");
  EXPECT_FAILS(parse_shard_index(R"({"weight_map":{"a":1}})", "i"), Code::invalid_index,
               "weight_map.a: expected a file name, found integer");
  EXPECT_FAILS(parse_shard_index(R"({"weight_map":{"a":"x","a":"y"}})", "i"), Code::invalid_index,
               "repeated key \"a\"");
}

}  // namespace
}  // namespace sightline::io
