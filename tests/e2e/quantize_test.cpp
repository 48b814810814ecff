// `quantize` through the binary. Protects: what it writes answers, is named by `inspect` and says
// what it cost; every mistake is one line and leaves nothing behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "binary.hpp"
#include "io/file.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

class Quantize : public testing::Test {
 protected:
  void SetUp() override { write_checkpoint(model_); }

  /// Expects one line on standard error with these words, this exit code, and nothing in out_.
  void expect_refused(const std::vector<std::string>& arguments, int code,
                      const std::string& words) const {
    std::vector<std::string> all{"quantize"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished done = sightline(all);
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_NE(done.err.find(words), std::string::npos) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_TRUE(fs::is_empty(out_.path())) << words;
  }

  Folder model_, out_;
};

std::string ids_of(const std::string& model, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run", model,           "Hello", "--max-tokens",
                                     "6",   "--temperature", "0",     "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished done = sightline(arguments);
  EXPECT_EQ(done.code, 0) << done.err;
  return io::to_json_text(*done.json().find("token_ids"));
}

// One rule rounds while loading and on disk: the same answer, to the bit of every logarithm.
TEST_F(Quantize, LoadingInItsPrecisionIsRunningWhatItWrites) {
  for (const std::string precision : {"int8", "int4"}) {
    const std::string out = out_.path(precision);
    ASSERT_EQ(sightline({"quantize", model_.path(), out, "--precision", precision}).code, 0);
    const auto answer = [&](const std::string& model) {
      const Finished done =
          sightline({"run", model, "Hello", "--max-tokens", "4", "--temperature", "0", "--logprobs",
                     "2", "--json", "--stats", "--precision", precision});
      EXPECT_EQ(done.code, 0) << done.err;
      EXPECT_EQ(done.json().find("engine")->find("precision")->as_string(), precision);
      return io::to_json_text(*done.json().find("logprobs"));
    };
    EXPECT_EQ(answer(model_.path()), answer(out)) << precision;
  }
}

TEST_F(Quantize, WritesACheckpointThatAnswersAndIsNamed) {
  for (const std::string precision : {"int8", "int4"}) {
    const std::string out = out_.path(precision);
    const Finished done = sightline({"quantize", model_.path(), out, "--precision", precision});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.err, "");
    EXPECT_EQ(ids_of(out, {"--threads", "1"}), ids_of(out, {"--threads", "2"}));
    const Finished check = sightline({"inspect", out, "--check"});
    EXPECT_EQ(check.code, 0) << check.out << check.err;
    for (const std::string& part :
         {std::string("compressed-tensors: "), precision + ", groups of 32: "})
      EXPECT_NE(check.out.find(part), std::string::npos) << check.out;
    for (const char* file : {"tokenizer.json", "chat_template.jinja", "preprocessor_config.json"})
      EXPECT_EQ(io::read_file(out + "/" + file), io::read_file(model_.path(file))) << file;
  }
}

TEST_F(Quantize, ReportsKindsOfModulesOrEveryOne) {
  const Finished folded =
      sightline({"quantize", model_.path(), out_.path("a"), "--precision", "int4"});
  const Finished full =
      sightline({"quantize", model_.path(), out_.path("b"), "--precision", "int4", "--full"});
  ASSERT_EQ(folded.code, 0) << folded.err;
  ASSERT_EQ(full.code, 0) << full.err;
  for (const Finished& report : {folded, full}) {
    for (const std::string& line : report.lines())
      EXPECT_LE(line.size(), line.find(out_.path()) == 0 ? 400U : 100U) << line;
    for (const char* part : {" matrices as int4, ", "kept as stored", "vision tower",
                             "embedding and head", "error   ", "weights ", "  model.safetensors"})
      EXPECT_NE(report.out.find(part), std::string::npos) << part;
  }
  EXPECT_NE(folded.out.find("layers.*.mlp.down_proj"), std::string::npos) << folded.out;
  EXPECT_EQ(full.out.find("layers.*"), std::string::npos) << full.out;
  EXPECT_NE(full.out.find("layers.3.mlp.down_proj"), std::string::npos) << full.out;
}

TEST_F(Quantize, JsonHasTheErrorOfEveryTensor) {
  const auto report = [&](const char* precision) {
    const Finished done = sightline(
        {"quantize", model_.path(), out_.path(precision), "--precision", precision, "--json"});
    EXPECT_EQ(done.code, 0) << done.err;
    return done.json();
  };
  const io::Json eight = report("int8"), four = report("int4");
  const io::Json::Array &tensors8 = eight.find("tensors")->as_array(),
                        &tensors4 = four.find("tensors")->as_array();
  ASSERT_EQ(tensors8.size(), tensors4.size());
  ASSERT_FALSE(tensors8.empty());
  std::int64_t saved = 0;
  for (std::size_t i = 0; i < tensors8.size(); ++i) {
    EXPECT_EQ(tensors8[i].find("name")->as_string(), tensors4[i].find("name")->as_string());
    const double error8 = tensors8[i].find("relative_error")->as_double();
    const double error4 = tensors4[i].find("relative_error")->as_double();
    EXPECT_GT(error8, 0);
    EXPECT_LT(error8, 0.01);
    EXPECT_LT(8 * error8, error4);
    EXPECT_LT(error4, 0.12);
    EXPECT_EQ(tensors8[i].find("bits")->as_int(), 8);
    EXPECT_GT(tensors8[i].find("greatest_error")->as_double(), 0);
    saved += tensors8[i].find("bytes_before")->as_int() - tensors8[i].find("bytes_after")->as_int();
  }
  EXPECT_EQ(eight.find("bytes_before")->as_int() - eight.find("bytes_after")->as_int(), saved);
  EXPECT_GT(saved, 0);
}

TEST_F(Quantize, MistakesAreOneLineAndLeaveNothing) {
  const std::string model = model_.path(), out = out_.path("new");
  expect_refused({model, out}, 2, "--precision: expected int8 or int4, found nothing");
  expect_refused({model, out, "--precision", "int3"}, 2, "expected one of int8, int4, found");
  expect_refused({model, "--precision", "int8"}, 2, "OUT");
  expect_refused({out_.path("none"), out, "--precision", "int8"}, 2, "none");
  expect_refused({model, model, "--precision", "int8"}, 3, "not an empty directory");
  expect_refused({model, model_.path("config.json"), "--precision", "int8"}, 3,
                 "not an empty directory");
  expect_refused({model, model_.path("config.json") + "/out", "--precision", "int8"}, 3,
                 "cannot be made");
  expect_refused({model, "", "--precision", "int8"}, 3, "expected the name of a directory");
  expect_refused({data("quantised/dense-int8"), out, "--precision", "int4"}, 4,
                 "quantised already (compressed-tensors)");
}

// A directory cannot be renamed over a link: known before the work, not at its end.
TEST_F(Quantize, ALinkStandsForItsDirectory) {
  const Folder links;
  fs::create_symlink(out_.path(), links.path("link"));
  const Finished done =
      sightline({"quantize", model_.path(), links.path("link"), "--precision", "int8"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(fs::is_symlink(links.path("link")));
  EXPECT_TRUE(fs::exists(out_.path("config.json")));
  fs::create_symlink(links.path("none"), links.path("dangling"));
  const Finished refused =
      sightline({"quantize", model_.path(), links.path("dangling"), "--precision", "int8"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("dangling: is a link to nothing"), std::string::npos) << refused.err;
}

TEST_F(Quantize, AFolderThatCannotBeWrittenIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  fs::permissions(out_.path(), fs::perms::owner_write, fs::perm_options::remove);
  expect_refused({model_.path(), out_.path("new"), "--precision", "int8"}, 3, "cannot be made");
  fs::permissions(out_.path(), fs::perms::owner_write, fs::perm_options::add);
}

TEST_F(Quantize, InterruptedLeavesNothing) {
  // Wide enough that the signal comes before the end.
  std::string config = io::read_file(data("models/dense/config.json"));
  const std::string narrow = "\"intermediate_size\": 160";
  ASSERT_NE(config.find(narrow), std::string::npos);
  config.replace(config.find(narrow), narrow.size(), "\"intermediate_size\": 100000");
  const Folder made;
  const std::string wide = made.path("wide");
  ASSERT_EQ(
      sightline({"synth", "--config", made.write("config.json", config), wide, "--layers", "2"})
          .code,
      0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction inherited{};
    ASSERT_EQ(sigaction(signal, nullptr, &inherited), 0);
    if (signal == SIGHUP && inherited.sa_handler == SIG_IGN) continue;  // under nohup
    Running running({"quantize", wide, out_.path("big"), "--precision", "int4", "--threads", "1"});
    for (int i = 0; i < 500 && fs::is_empty(out_.path()); ++i) usleep(1'000);
    running.signal(signal);
    EXPECT_EQ(running.wait(), 130) << signal;
    EXPECT_TRUE(fs::is_empty(out_.path())) << signal;
  }
}

}  // namespace
}  // namespace sightline::e2e
