// The preprocessor file of a checkpoint: the published one, the nested form, overrides, and every
// refusal. Geometry must come from the file: a class default would silently patch with the wrong
// size.
#include "image/processor_config.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "image/picture.hpp"
#include "image_data.hpp"

namespace sightline::image {
namespace {

constexpr const char* kPublished =
    R"({"size": {"longest_edge": 16777216, "shortest_edge": 65536}, "patch_size": 16, "temporal_patch_size": 2,
        "merge_size": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
        "processor_class": "Qwen3VLProcessor", "image_processor_type": "Qwen2VLImageProcessorFast"})";

// A checkpoint directory with the given files, removed afterwards.
class Directory {
 public:
  explicit Directory(std::initializer_list<std::pair<const char*, std::string>> files) {
    static int count = 0;
    path_ = testing::TempDir() + "/sightline_processor_" + std::to_string(::getpid()) + "_" +
            std::to_string(count++);
    std::filesystem::create_directories(path_);
    for (const auto& [name, text] : files) io::write_file(path_ + "/" + name, text);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ProcessorConfig parse(const std::string& text) {
  return parse_processor_config(io::parse_json(text, "p.json"), "p.json");
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kPublished;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ProcessorConfig, ReadsThePublishedFile) {
  const Directory directory{{"preprocessor_config.json", kPublished}};
  const ProcessorConfig config = read_processor_config(directory.path());
  EXPECT_EQ(config.min_pixels, 65536);
  EXPECT_EQ(config.max_pixels, 16777216);
  EXPECT_EQ(config.patch_size, 16);
  EXPECT_EQ(config.temporal_patch_size, 2);
  EXPECT_EQ(config.merge_size, 2);
  EXPECT_EQ(config.factor(), 32);
  EXPECT_EQ(config.row_floats(), 1536);
  EXPECT_EQ(config.image_mean, (std::array<double, 3>{0.5, 0.5, 0.5}));
  EXPECT_EQ(config.image_processor_type, "Qwen2VLImageProcessorFast");
}

TEST(ProcessorConfig, NestedFormComesFirst) {
  const std::string nested =
      R"({"image_processor": )" + with("\"patch_size\": 16", "\"patch_size\": 14") + "}";
  const Directory both{{"preprocessor_config.json", kPublished}, {"processor_config.json", nested}};
  EXPECT_EQ(read_processor_config(both.path()).patch_size, 14);
  const Directory other{{"preprocessor_config.json", kPublished},
                        {"processor_config.json", "{\"a\": 1}"}};
  EXPECT_EQ(read_processor_config(other.path()).patch_size, 16);
  const Directory none{{"processor_config.json", "{\"a\": 1}"}};
  expect_error(Code::missing_file, {"preprocessor_config.json"},
               [&] { read_processor_config(none.path()); });
  const Directory broken{{"processor_config.json", R"({"image_processor": {"size": {}}})"}};
  expect_error(Code::invalid_processor, {"processor_config.json", "image_processor"},
               [&] { read_processor_config(broken.path()); });
}

TEST(ProcessorConfig, PixelKeysOverrideSizeAndOptionsOverrideBoth) {
  const std::string text =
      with("\"patch_size\": 16", "\"min_pixels\": 1000, \"max_pixels\": 9000, \"patch_size\": 16");
  EXPECT_EQ(parse(text).min_pixels, 1000);
  EXPECT_EQ(parse(text).max_pixels, 9000);
  const Directory directory{{"preprocessor_config.json", kPublished}};
  const ProcessorConfig config =
      read_processor_config(directory.path(), {.min_pixels = {}, .max_pixels = 262144});
  EXPECT_EQ(config.min_pixels, 65536);
  const TargetSize size = image_target_size(3024, 4032, config.size_rule());
  EXPECT_EQ(size.height, 416);
  EXPECT_EQ(size.width, 576);
  EXPECT_EQ(grid_of(1, size, 16, 2).tokens(2), 234);
  expect_error(Code::invalid_option, {"--min-pixels", "--max-pixels", "65536", "100"}, [&] {
    read_processor_config(directory.path(), {.min_pixels = {}, .max_pixels = 100});
  });
  expect_error(Code::invalid_option, {"0"}, [&] {
    read_processor_config(directory.path(), {.min_pixels = 0, .max_pixels = {}});
  });
}

// The same picture under two geometries: 14-pixel patches of an older family, 16-pixel ones of
// this.
TEST(ProcessorConfig, GeometryDecidesTheTokens) {
  const ProcessorConfig older = parse(with("\"patch_size\": 16", "\"patch_size\": 14"));
  const TargetSize size = target_size(480, 640, older, "a");
  EXPECT_EQ(grid_of(1, size, older.patch_size, 2).tokens(2), 17 * 23);
  EXPECT_EQ(grid_of(1, target_size(480, 640, parse(kPublished), "a"), 16, 2).tokens(2), 300);
}

TEST(ProcessorConfig, RefusesWhatItDoesNotUnderstand) {
  const auto refuse = [](const std::string& text, std::initializer_list<std::string_view> parts) {
    expect_error(Code::invalid_processor, parts, [&] { parse(text); });
  };
  refuse(with("Qwen2VLImageProcessorFast", "CLIPImageProcessor"),
         {"p.json", "image_processor_type", "CLIPImageProcessor"});
  refuse(with("\"patch_size\": 16", "\"patch\": 16"), {"p.json", "patch_size"});
  refuse(with("\"patch_size\": 16", "\"patch_size\": 0"), {"patch_size", "0"});
  refuse(with("\"patch_size\": 16", "\"patch_size\": \"16\""), {"patch_size", "integer", "\"16\""});
  refuse(with("\"merge_size\": 2", "\"merge_size\": 1000000"), {"merge_size"});
  refuse(with("\"image_std\": [0.5, 0.5, 0.5]", "\"image_std\": [0.5, 0, 0.5]"), {"image_std[1]"});
  refuse(with("\"image_mean\": [0.5, 0.5, 0.5]", "\"image_mean\": [0.5]"),
         {"image_mean", "3 numbers", "1"});
  refuse(with("\"longest_edge\": 16777216", "\"height\": 224"), {"size", "longest_edge"});
  refuse(with("\"longest_edge\": 16777216", "\"longest_edge\": 100"), {"65536", "100"});
  refuse(with("\"merge_size\": 2", "\"merge_size\": 2, \"resample\": 2"),
         {"resample", "3 (bicubic)", "2"});
  refuse("[1]", {"p.json"});
}

}  // namespace
}  // namespace sightline::image
