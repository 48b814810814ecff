// Writing checkpoint directories. Protects: what is written piece by piece, in any order and over
// several shards, is what Checkpoint reads; groups stay together; the directory is whole or absent.
#include "io/checkpoint_writer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/checkpoint.hpp"
#include "io/file.hpp"
#include "io/shard_index.hpp"
#include "unit/temporary_folder.hpp"

namespace sightline::io {
namespace {

namespace fs = std::filesystem;

class CheckpointWriter : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  /// Byte i of a tensor.
  static std::byte value(const TensorEntry& tensor, std::int64_t i) {
    return static_cast<std::byte>((i * 7 + static_cast<std::int64_t>(tensor.name.size())) & 0xff);
  }
  static void write(ShardWriter& file, const TensorEntry& tensor, std::int64_t from,
                    std::int64_t to) {
    std::vector<std::byte> bytes;
    for (std::int64_t i = from; i < to; ++i) bytes.push_back(value(tensor, i));
    file.write(tensor, from, bytes);
  }

  TemporaryFolder folder_;
};

const std::vector<std::vector<TensorEntry>> kGroups{
    {{"a.scale", DType::bf16, {3, 3}}, {"a.codes", DType::i32, {3, 5}}, {"a", DType::i64, {2}}},
    {{"b", DType::u8, {7}}},
    {{"c.codes", DType::i32, {8}}, {"c.scale", DType::bf16, {1}}, {"c", DType::i64, {2}}},
    {{"empty", DType::f32, {0, 4}}}};

TEST_F(CheckpointWriter, PiecesInAnyOrderOverSeveralShardsAreReadBack) {
  const std::vector<Shard> shards = plan_shards(kGroups, 100);
  ASSERT_EQ(shards.size(), 2U);  // 94 + 7 bytes are too many for one
  EXPECT_EQ(shards[1].tensors.size(), 5U);
  {
    StagedDirectory directory(path("out"));
    std::vector<std::string> files;
    for (const Shard& shard : shards) {
      ShardWriter file(directory, shard);
      for (auto tensor = shard.tensors.rbegin(); tensor != shard.tensors.rend(); ++tensor) {
        EXPECT_EQ(tensor->begin % dtype_size(tensor->dtype), 0) << tensor->name;
        const std::int64_t half = tensor->bytes / 2;
        write(file, *tensor, half, tensor->bytes);
        write(file, *tensor, 0, half);
      }
      file.finish();
    }
    write_index(directory, shards, files);
    EXPECT_EQ(files, std::vector<std::string>{kShardIndexFile});
    EXPECT_FALSE(fs::exists(path("out")));
    directory.commit();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
  const auto read = Checkpoint::open(path("out"));
  EXPECT_EQ(read->names().size(), 8U);
  for (const Shard& shard : shards) {
    for (const TensorEntry& tensor : shard.tensors) {
      const std::optional<StoredTensor> stored = read->find(tensor.name);
      ASSERT_TRUE(stored) << tensor.name;
      EXPECT_EQ(stored->shape, tensor.shape);
      EXPECT_EQ(stored->dtype, tensor.dtype);
      EXPECT_EQ(stored->file, shard.file);
      for (std::int64_t i = 0; i < tensor.bytes; ++i)
        ASSERT_EQ(stored->data[i], value(tensor, i)) << tensor.name << " " << i;
    }
  }
}

TEST_F(CheckpointWriter, AGroupLargerThanAShardHasOneOfItsOwn) {
  const std::vector<Shard> shards = plan_shards(kGroups, 1);
  ASSERT_EQ(shards.size(), 4U);
  EXPECT_EQ(shards[0].tensors.size(), 3U);
  EXPECT_EQ(shards[3].file, "model.safetensors-00004-of-00004.safetensors");
  EXPECT_EQ(plan_shards(kGroups, 1 << 20).front().file, "model.safetensors");
}

TEST_F(CheckpointWriter, GivenUpLeavesNothing) {
  {
    StagedDirectory directory(path("below/out"));
    const std::vector<Shard> shards = plan_shards(kGroups, 1 << 20);
    const ShardWriter file(directory, shards.front());
  }
  EXPECT_TRUE(fs::is_empty(path("below")));
}

/// The message of what `make` throws.
template <class F>
std::string refusal(const F& make) {
  try {
    make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::file_unwritable);
    return error.what();
  }
  return "nothing thrown";
}

TEST_F(CheckpointWriter, RefusesWhatIsThereAndWhereNothingCanBe) {
  write_file(path("file"), "");
  for (const char* taken : {"", "file"}) {
    EXPECT_NE(
        refusal([&] { StagedDirectory directory(path(taken)); }).find("not an empty directory"),
        std::string::npos)
        << taken;
  }
  EXPECT_NE(refusal([&] { StagedDirectory directory(path("file/out")); }).find("cannot be made"),
            std::string::npos);
  EXPECT_TRUE(is_file(path("file")));
  fs::create_directories(path("empty"));
  StagedDirectory directory(path("empty/"));
  constexpr std::int64_t kTooMany = std::int64_t{1} << 62;
  EXPECT_NE(refusal([&] { directory.check_space(kTooMany); }).find("free bytes"),
            std::string::npos);
  directory.commit();
  EXPECT_TRUE(fs::is_empty(path("empty")));
}

TEST_F(CheckpointWriter, CopiesWhatPromptsAreMadeOf) {
  fs::create_directories(path("from"));
  for (const char* name : {"tokenizer.json", "generation_config.json", "notes.txt", "config.json"})
    write_file(path("from") + "/" + name, name);
  StagedDirectory directory(path("out"));
  std::vector<std::string> files;
  copy_small_files(path("from"), directory, files);
  EXPECT_EQ(files, (std::vector<std::string>{"tokenizer.json", "generation_config.json"}));
  EXPECT_EQ(read_file(directory.path("tokenizer.json")), "tokenizer.json");
}

}  // namespace
}  // namespace sightline::io
