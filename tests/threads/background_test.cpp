// Protects: what is computed beside the caller comes back once, result or error, also where the
// system has no thread left; and of two faults of a checkpoint that is opened in parallel, the same
// one is reported every time.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/background.hpp"
#include "sightline/engine.hpp"

namespace sightline {
namespace {

namespace fs = std::filesystem;

TEST(Background, GivesTheResultOrWhatWasThrown) {
  std::vector<int> values(1000, 1);  // not atomic: the thread sanitizer watches
  Background<std::string> text([&] { return std::to_string(values[0] = 7); });
  EXPECT_EQ(text.take(), "7");
  EXPECT_EQ(values[0], 7);
  Background<int> refused(
      []() -> int { throw Error(Code::invalid_option, "no", {{"option", "x"}}); });
  try {
    refused.take();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_option);
    EXPECT_STREQ(error.what(), "no");
    EXPECT_EQ(error.context(), (Error::Context{{"option", "x"}}));
  }
  Background<int> other([]() -> int { throw std::length_error("long"); });
  EXPECT_THROW(other.take(), std::length_error);
}

TEST(Background, WaitsWhenNobodyTakesTheResult) {
  std::atomic<int> ended{0};
  for (int i = 1; i <= 50; ++i) {
    {
      const Background<int> one([&] { return ++ended; });
    }
    EXPECT_EQ(ended, i);
  }
}

TEST(Background, RunsWithoutAThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto child = [] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(1);
    const rlimit limit{0, 0};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(1);
    _exit(Background<int>([] { return 3; }).take());
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(3), "");
}

// Tokenizer and weights are both broken: whichever thread is first, the tokenizer is named; and
// with a whole tokenizer, the weights.
TEST(Background, OpeningReportsTheFirstFault) {
  const fs::path demo = fs::path(SIGHTLINE_TEST_DATA) / "../../demo/checkpoint";
  const fs::path folder = fs::path(testing::TempDir()) / ("opening-" + std::to_string(getpid()));
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(demo)) {
    if (entry.path().extension() == ".json" || entry.path().extension() == ".jinja")
      fs::copy_file(entry.path(), folder / entry.path().filename(),
                    fs::copy_options::overwrite_existing);
  }
  const auto code = [&] {
    try {
      (void)Engine::load(folder.string(), {});
    } catch (const Error& error) {
      return std::string(code_name(error.code())) + " " + error.what();
    }
    return std::string();
  };
  const std::string weights = code();
  EXPECT_NE(weights.find("missing_file"), std::string::npos) << weights;
  EXPECT_NE(weights.find("model.safetensors"), std::string::npos) << weights;
  std::ofstream(folder / "tokenizer.json") << R"({"version": "2.0"})";
  for (int i = 0; i < 20; ++i) {
    const std::string tokenizer = code();
    EXPECT_NE(tokenizer.find("invalid_tokenizer"), std::string::npos) << tokenizer;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace sightline
