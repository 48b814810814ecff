// `sightline bench`. Protects: every stage that was asked for is measured as often as asked, with
// the operations that a walk of the same model counts; an interrupt keeps what was measured.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

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

TEST(Bench, NamedSizesAreAllThatIsMeasured) {
  const io::Json report = bench({"--prompt", "7"});
  ASSERT_EQ(report.find("lines")->as_array().size(), 1U);
  EXPECT_TRUE(report.find("complete")->as_bool());
}

TEST(Bench, SaysWhatMemoryWeightsTakeInBothForms) {
  const io::Json report = bench({"--prompt", "7", "--precision", "int8"});
  EXPECT_EQ(report.find("precision")->as_string(), "int8");
  EXPECT_TRUE(report.find("weights_resident_once")->as_bool());
  const std::int64_t stored = report.find("stored_weight_bytes")->as_int();
  const std::int64_t peak = report.find("peak_memory_bytes")->as_int();
  EXPECT_GT(stored, 1 << 20);
  EXPECT_GT(peak, stored / 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)  // which keep freed memory
  EXPECT_LT(peak, 256 << 20) << "the memory in which reading was measured is no model's";
#endif
  const Finished done =
      sightline({"bench", "demo", "--runs", "1", "--prompt", "7", "--precision", "f32"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("for precision f32, each resident once;\npeak memory "),
            std::string::npos)
      << done.out;
}

/// A context is made up, not read: its answer tokens must do the work of those after a prompt.
TEST(Bench, TokensAfterAMadeUpContextDoTheWorkOfThoseAfterAPrompt) {
  const io::Json report = bench({"--answer-after", "700"});
  const Finished done = sightline({"plan", "demo", "--json", "--tokens", "700"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json plan = done.json();
  const std::int64_t prompt = plan.find("prompt_tokens")->as_int();
  const io::Json same = bench({"--answer-after", std::to_string(prompt), "--answer", "1"});
  std::int64_t step = 0;
  for (const io::Json& stage : plan.find("stages")->as_array()) {
    if (stage.find("name")->as_string() == "step") step = stage.find("flops")->as_int();
  }
  EXPECT_EQ(same.find("lines")->as_array()[0].find("flops")->as_int(), step);
  EXPECT_GT(report.find("lines")->as_array()[0].find("flops")->as_int(), 2 * step);
}

TEST(SlowBench, RowsAreShownWhenKnownAndAnInterruptKeepsThem) {
  Running running({"bench", "demo", "--prompt", "7", "--prompt", "4096", "--runs", "1000"});
  std::string text;
  while (text.find("7 tokens") == std::string::npos) {
    const std::string more = running.read_some();
    ASSERT_FALSE(more.empty()) << text;
    text += more;
  }
  running.signal(SIGTERM);
  for (std::string more = running.read_some(); !more.empty(); more = running.read_some())
    text += more;
  EXPECT_EQ(running.wait(), 130);
  EXPECT_NE(text.find("Incomplete: interrupted, "), std::string::npos) << text;
  EXPECT_NE(text.find(" of 1000 runs"), std::string::npos) << text;
  EXPECT_NE(text.find("peak memory"), std::string::npos) << text;
}

TEST(SlowBench, AnInterruptKeepsFinishedRunsInJson) {
  Running many({"bench", "demo", "--json", "--prompt", "4096", "--prompt", "7", "--runs", "1000"});
  std::this_thread::sleep_for(std::chrono::seconds(5));  // the machine is measured in one
  many.signal(SIGINT);
  std::string text;
  for (std::string more = many.read_some(); !more.empty(); more = many.read_some()) text += more;
  EXPECT_EQ(many.wait(), 130);
  const io::Json report = io::parse_json(text, "bench");
  EXPECT_FALSE(report.find("complete")->as_bool());
  ASSERT_EQ(report.find("lines")->as_array().size(), 1U);
  const auto& line = report.find("lines")->as_array()[0];
  EXPECT_GT(line.find("seconds")->as_array().size(), 0U);
  EXPECT_LT(line.find("seconds")->as_array().size(), 1000U);
  EXPECT_GT(line.find("flops")->as_int(), 0);
}

TEST(Bench, RefusesWhatItCanNotMeasure) {
  const Finished done = sightline({"bench", "demo", "--prompt", "none"});
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.err.find("--prompt: expected"), std::string::npos) << done.err;
  // The answer tokens after a context need positions, too.
  const Finished late = sightline({"bench", "demo", "--answer-after", "4096", "--answer", "1"});
  EXPECT_EQ(late.code, 2);
  EXPECT_NE(late.err.find("at most 4096 tokens"), std::string::npos) << late.err;
}

}  // namespace
}  // namespace sightline::e2e
