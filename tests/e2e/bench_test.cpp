// `sightline bench`. Protects: every stage that was asked for is measured as often as asked, with
// the operations that a walk of the same model counts.
#include <gtest/gtest.h>

#include "binary.hpp"

namespace sightline::e2e {
namespace {

io::Json bench(std::vector<std::string> options) {
  options.insert(options.begin(), {"bench", "demo", "--json", "--runs", "2", "--answer", "3"});
  const Finished done = sightline(options);
  EXPECT_EQ(done.code, 0) << done.err;
  return io::parse_json(done.out, "bench");
}

TEST(Bench, MeasuresWhatWasAskedFor) {
  const io::Json report = bench({"--image", "256x256", "--image", "512x256", "--prompt", "7",
                                 "--prompt", "70", "--answer-after", "5"});
  const auto& lines = report.find("lines")->as_array();
  ASSERT_EQ(lines.size(), 5U);
  const char* stages[] = {"picture", "picture", "prompt", "prompt", "answer"};
  const char* sizes[] = {"256x256", "512x256", "7 tokens", "70 tokens", "after 5 tokens"};
  const std::int64_t tokens[] = {64, 128, 7, 70, 3};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(lines[i].find("stage")->as_string(), stages[i]);
    EXPECT_EQ(lines[i].find("size")->as_string(), sizes[i]);
    EXPECT_EQ(lines[i].find("tokens")->as_int(), tokens[i]);
    EXPECT_EQ(lines[i].find("seconds")->as_array().size(), 2U);
    EXPECT_GT(lines[i].find("tokens_per_second")->as_double(), 0);
  }
  // Twice the patches: twice the products, and more than twice with attention.
  EXPECT_GT(lines[1].find("flops")->as_int(), 2 * lines[0].find("flops")->as_int());
  // Weights are read once a token of an answer.
  EXPECT_EQ(lines[4].find("weight_bytes")->as_int() % 3, 0);
  EXPECT_GT(report.find("limits")->find("flops_per_second")->as_double(), 1e8);
  EXPECT_GT(report.find("limits")->find("read_bytes_per_second")->as_double(), 1e8);
}

TEST(Bench, CountsWhatAWalkCounts) {
  const io::Json report = bench({"--image", "256x256", "--prompt", "7", "--answer-after", "5"});
  const Finished done = sightline({"plan", "demo", "--json", "--image", "256x256"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json plan = io::parse_json(done.out, "plan");
  std::int64_t vision = 0;
  for (const io::Json& stage : plan.find("stages")->as_array()) {
    if (stage.find("name")->as_string() == "encode") vision = stage.find("flops")->as_int();
  }
  EXPECT_EQ(report.find("lines")->as_array()[0].find("flops")->as_int(), vision);
}

TEST(Bench, RefusesWhatItCanNotMeasure) {
  const Finished done = sightline({"bench", "demo", "--prompt", "none"});
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.err.find("--prompt: expected"), std::string::npos) << done.err;
}

}  // namespace
}  // namespace sightline::e2e
