// generation_config.json. Protects: what is out of range is said when the checkpoint is loaded,
// with the file's name, not when a question has been computed.
#include "generate/generation_config.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/file.hpp"

namespace sightline::generate {
namespace {

class GenerationFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sightline_generation_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  GenerationConfig read(const std::string& text) {
    io::write_file(folder_ + "/generation_config.json", text);
    return read_generation_config(folder_);
  }
  std::string fault(const std::string& text) {
    try {
      (void)read(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_config);
      const std::string file = folder_ + "/generation_config.json: ", what = error.what();
      EXPECT_TRUE(what.starts_with(file)) << what;
      return what.substr(std::min(file.size(), what.size()));
    }
    return "none";
  }
  std::string folder_;
};

TEST_F(GenerationFile, GivesTheDefaults) {
  const GenerationConfig config =
      read(R"({"do_sample": true, "temperature": 0.7, "top_p": 0.8, "top_k": 20,
               "repetition_penalty": 1.05, "eos_token_id": [5, 6]})");
  EXPECT_EQ(config.defaults.temperature, 0.7);
  EXPECT_EQ(config.defaults.top_p, 0.8);
  EXPECT_EQ(config.defaults.top_k, 20);
  EXPECT_EQ(config.defaults.repetition_penalty, 1.05);
  EXPECT_EQ(config.eos_token_ids, (std::vector<std::int32_t>{5, 6}));
}

TEST_F(GenerationFile, GreedyUnlessItSaysSample) {
  EXPECT_TRUE(read_generation_config(folder_).defaults.greedy());
  EXPECT_TRUE(read("{}").defaults.greedy());
  EXPECT_TRUE(read(R"({"do_sample": false, "temperature": 0.7})").defaults.greedy());
  EXPECT_FALSE(read(R"({"do_sample": true})").defaults.greedy());
}

TEST_F(GenerationFile, WhatIsOutOfRangeIsNamed) {
  EXPECT_EQ(fault("[]"), "expected an object, found array");
  EXPECT_EQ(fault(R"({"do_sample": true, "temperature": -1})"),
            "temperature: expected a number from 0 to 100, found -1");
  EXPECT_EQ(fault(R"({"top_p": 2})"), "top_p: expected a number from 0 to 1, found 2");
  EXPECT_EQ(fault(R"({"repetition_penalty": 0})"),
            "repetition_penalty: expected a number from 0.01 to 100, found 0");
  EXPECT_EQ(fault(R"({"top_k": -1})"), "top_k: expected an integer from 0 to 2147483647, found -1");
  EXPECT_EQ(fault(R"({"temperature": "x", "do_sample": true})").substr(0, 12), "temperature:");
  EXPECT_NE(fault(R"({"eos_token_id": [1.5]})").find("eos_token_id[0]"), std::string::npos);
}

}  // namespace
}  // namespace sightline::generate
