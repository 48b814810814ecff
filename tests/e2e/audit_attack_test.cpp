// What somebody tries who wants the audit to fail. Protects: pictures of every odd kind are traced
// and proved; documents stay JSON whatever a file is called; nothing that is no file is replaced; a
// made-up checkpoint takes little memory; colour is for terminals that want it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "binary.hpp"
#include "cli/table.hpp"
#include "json_at.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

class Attack : public testing::Test {
 protected:
  Attack() { write_checkpoint(folder_); }
  Finished ask(const std::string& command, const std::string& picture,
               const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{command, folder_.path(), "-i", picture, "color?"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sightline(arguments);
  }
  Folder folder_;
};

TEST_F(Attack, OddPicturesAreTracedAndProved) {
  const std::string thin = write_picture(folder_, "thin.png", 3000, 20);
  for (const std::string& picture :
       {data("images/one-pixel.png"), data("images/gray16.png"), data("images/cmyk.jpg"),
        data("images/palette-trns.png"), data("images/animated.gif"), thin}) {
    const Finished done = ask("trace", picture, {"--json"});
    EXPECT_EQ(done.code, 0) << picture << done.err;
    EXPECT_TRUE(at(done.json(), {"proof", "ok"}).as_bool()) << picture;
    EXPECT_TRUE(at(done.json(), {"first_non_finite"}).is_null()) << picture;
  }
}

TEST_F(Attack, ANameThatIsNoTextStaysJsonAndInItsColumn) {
  const std::string name = folder_.path("a\xff\xe7\xba\xa2\n\x1b[31m|.png");
  fs::copy(data("images/red-64.png"), name);
  const Finished json = ask("merge", name, {"--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(at(json.json(), {"pictures"}).as_array().size(), 1U);
  const Finished text = ask("merge", name);
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
  for (const std::string& line : text.lines()) EXPECT_LE(cli::display_width(line), 100U) << line;
}

TEST_F(Attack, SavingReplacesFilesAlone) {
  const std::string picture = data("images/red-64.png");
  const std::string pipe = folder_.path("pipe"), file = folder_.path("file");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& place : {pipe, folder_.path()}) {
    const Finished done = ask("trace", picture, {"--save", place});
    EXPECT_EQ(done.code, 3) << done.err;
    EXPECT_NE(done.err.find("found a d"), std::string::npos) << done.err;
    EXPECT_EQ(done.out, "");
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  // A file is replaced when the run is done, and kept if it fails.
  folder_.write("file", "old");
  EXPECT_EQ(ask("trace", folder_.path("missing.png"), {"--save", file}).code, 3);
  EXPECT_EQ(fs::file_size(file), 3U);
  EXPECT_EQ(ask("trace", picture, {"--save", file}).code, 0);
  EXPECT_GT(fs::file_size(file), 3U);
}

// The shapes of a checkpoint that has no tokenizer are enough to make another one.
TEST_F(Attack, SynthNeedsNoTokenizer) {
  const std::string made = folder_.path("made");
  const Finished done = sightline({"synth", data("models/qwen3vl"), made});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_FALSE(fs::exists(made + "/tokenizer.json"));
  EXPECT_EQ(sightline({"inspect", made, "--check"}).code, 0);
}

// One layer has an embedding of 485 MiB, written in blocks. A child of its own, so that its
// children's peak is that of this command.
TEST(SlowAttack, SynthStreamsItsWeights) {
  constexpr std::int64_t kMostKiB = 256 * 1024;
  const Folder folder;
  const auto measured = [&] {
    const Finished done =
        sightline({"synth", "qwen3.5-0.8b", folder.path("made"), "--layers", "1"});
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    std::fprintf(stderr, "peak %ld KiB\n", usage.ru_maxrss);
    std::exit(done.code == 0 && usage.ru_maxrss < kMostKiB ? 0 : 1);
  };
  EXPECT_EXIT(measured(), testing::ExitedWithCode(0), "peak");
}

TEST_F(Attack, PlanCountsThePromptThatRunBuilds) {
  const std::string picture = write_picture(folder_, "p.png", 300, 200);
  const Finished plan =
      sightline({"plan", folder_.path(), "--image", "300x200", "what is this?", "--json"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_TRUE(at(plan.json(), {"text", "exact"}).as_bool());
  const Finished run = sightline(
      {"run", folder_.path(), "-i", picture, "what is this?", "--max-tokens", "1", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(at(plan.json(), {"prompt_tokens"}).as_int(),
            at(run.json(), {"prompt_tokens"}).as_int());
  const Finished counted = sightline({"plan", folder_.path(), "--tokens", "3", "hello"});
  EXPECT_EQ(counted.code, 2);
  EXPECT_EQ(sightline({"plan", "qwen3.5-2b", "hello"}).code, 4);
  EXPECT_EQ(sightline({"plan", "qwen3.5-2b", "hello", "--tokenizer", folder_.path("x")}).code, 3);
}

}  // namespace
}  // namespace sightline::e2e
