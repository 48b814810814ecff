// The binary as a process: where it finds models, closed pipes, environment, links. Protects what
// scripts and packagers rely on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "binary.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

/// A cache of the Hugging Face layout with one repository that has a tokenizer.
void write_cache(const Folder& cache, const std::string& hub) {
  const std::string repository = hub + "models--some--model/";
  cache.write(repository + "refs/main", std::string(kCommit) + "\n");
  fs::create_directories(cache.path(repository + "snapshots/" + kCommit));
  cache.link("processor/tokenizer.json",
             repository + "snapshots/" + std::string(kCommit) + "/tokenizer.json");
}

TEST(HuggingFaceCache, EveryWayToNameIt) {
  const Folder cache;
  write_cache(cache, "hub/");
  const auto tokenize = [&](const char* variable, const std::string& value,
                            std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"tokenize", "some/model"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Surroundings around{"color?",
                        {{"HF_HUB_CACHE", std::nullopt},
                         {"HUGGINGFACE_HUB_CACHE", std::nullopt},
                         {"HF_HOME", std::nullopt},
                         {"XDG_CACHE_HOME", std::nullopt},
                         {"HOME", "/nonexistent"}}};
    around.environment.emplace_back(variable, value);
    return sightline(arguments, around);
  };
  EXPECT_EQ(tokenize("HF_HUB_CACHE", cache.path("hub")).code, 0);
  EXPECT_EQ(tokenize("HF_HOME", cache.path()).code, 0);
  EXPECT_EQ(tokenize("HUGGINGFACE_HUB_CACHE", cache.path("hub")).code, 0);
  EXPECT_EQ(tokenize("HF_HOME", cache.path(), {"--revision", "main"}).code, 0);
  EXPECT_EQ(tokenize("HF_HOME", cache.path(), {"--revision", kCommit}).code, 0);
  EXPECT_EQ(tokenize("HF_HOME", cache.path(), {"--revision", "other"}).code, 2);
  EXPECT_EQ(tokenize("HF_HOME", cache.path(), {"--revision", "../../x"}).code, 2);
  const Folder home;
  write_cache(home, ".cache/huggingface/hub/");
  const Finished done = sightline({"tokenize", "some/model"}, {"x",
                                                               {{"HF_HUB_CACHE", std::nullopt},
                                                                {"HF_HOME", std::nullopt},
                                                                {"XDG_CACHE_HOME", std::nullopt},
                                                                {"HOME", home.path()}}});
  EXPECT_EQ(done.code, 0) << done.err;
  // Where no shell has done it, "~" is HOME.
  EXPECT_EQ(sightline({"tokenize", "some/model"}, {"x",
                                                   {{"HF_HUB_CACHE", std::nullopt},
                                                    {"HF_HOME", "~/.cache/huggingface"},
                                                    {"HOME", home.path()}}})
                .code,
            0);
}

Finished shell(const std::string& script) {
  return sightline({"-c", script}, {"", {}, "", "/bin/sh"});
}

TEST(Process, FindsTheDemoFromAnywhere) {
  const Folder elsewhere;
  const Surroundings away{"color?", {{"HOME", std::nullopt}}, elsewhere.path()};
  const Finished done = sightline({"tokenize", "demo"}, away);
  EXPECT_EQ(done.code, 0) << done.err;
  fs::create_symlink(binary_path(), elsewhere.path("linked"));
  Surroundings linked = away;
  linked.binary = elsewhere.path("linked");
  EXPECT_EQ(sightline({"tokenize", "demo"}, linked).out, done.out);
}

TEST(Process, RelativeModelsAndPictures) {
  const Finished done = sightline({"pixels", "processor", "images/red-64.png"}, {"", {}, data("")});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.json().find("file")->as_string(), "images/red-64.png");
}

TEST(Process, AClosedPipeEndsItQuietly) {
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "{\"text\": \"some words to fill a pipe\"}\n";
  Running running({"tokenize", data("processor"), "--jsonl"}, lines);
  EXPECT_FALSE(running.read_some().empty());
  running.close_output();
  EXPECT_EQ(running.wait(), 0);
}

TEST(Process, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  for (const char* arguments : {"version", "version --json"}) {
    const Finished done = shell(fmt::format("'{}' {} > /dev/full", binary_path(), arguments));
    EXPECT_EQ(done.code, 3) << arguments;
    EXPECT_TRUE(done.err.starts_with("sightline: file_unwritable: standard output")) << done.err;
  }
  // An error that standard output does not take is said on standard error, with its own code.
  const Finished wrong = shell(fmt::format("'{}' no-command --json > /dev/full", binary_path()));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(wrong.err.starts_with("sightline: usage: 'no-command'")) << wrong.err;
}

TEST(Process, AFileSizeLimitIsAnError) {
  const Folder folder;
  const Finished done = shell(
      fmt::format("ulimit -f 0; '{}' pixels '{}' '{}' --out '{}' > /dev/null 2> /dev/null",
                  binary_path(), data("processor"), data("images/red-64.png"), folder.path()));
  EXPECT_EQ(done.code, 3);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Process, PicturesComeThroughPipes) {
  const Finished done =
      shell(fmt::format("cat '{}' | '{}' pixels '{}' /dev/stdin", data("images/red-64.png"),
                        binary_path(), data("processor")));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.json().find("tokens")->as_int(), 64);
}

}  // namespace
}  // namespace sightline::e2e
