// Help pages and usage errors: what a person sees first. Protects: every command explains itself
// with examples within 100 columns; mistakes are one line with the way out, and exit code 2.
#include <gtest/gtest.h>

#include "binary.hpp"

namespace sightline::e2e {
namespace {

const std::vector<std::string> kCommands{"run",    "chat",  "prompt", "tokenize", "render",
                                         "pixels", "calc",  "parity", "inspect",  "graph",
                                         "source", "plan",  "synth",  "models",   "version",
                                         "trace",  "merge", "hidden", "diff",     "quantize"};

std::size_t widest(const std::string& text) {
  std::size_t widest = 0, begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, end - begin);
    begin = end + 1;
  }
  return widest;
}

class HelpOf : public testing::TestWithParam<std::string> {};

TEST_P(HelpOf, IsCompleteAndFits) {
  const Finished help = sightline({GetParam(), "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_LE(widest(help.out), 100U) << help.out;
  for (const char* part : {"Usage: sightline ", "Examples:", "--json", "--help"}) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(sightline({"help", GetParam()}).out, help.out);
  EXPECT_EQ(sightline({GetParam(), "-h"}).out, help.out);
}

TEST_P(HelpOf, RefusesUnknownOptions) {
  const Finished wrong = sightline({GetParam(), "--no-such-option"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1) << wrong.err;
  EXPECT_TRUE(wrong.err.starts_with("sightline: usage: ")) << wrong.err;
}

INSTANTIATE_TEST_SUITE_P(Commands, HelpOf, testing::ValuesIn(kCommands));

TEST(Help, OverviewListsEveryCommand) {
  const Finished help = sightline({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_LE(widest(help.out), 100U);
  for (const std::string& command : kCommands) {
    EXPECT_NE(help.out.find("\n  " + command + " "), std::string::npos) << command;
  }
  const Finished bare = sightline({});
  EXPECT_EQ(bare.code, 2);
  EXPECT_EQ(bare.out, help.out);
}

TEST(Usage, MistypedWordsGetASuggestion) {
  EXPECT_NE(sightline({"tokenise"}).err.find("did you mean 'tokenize'?"), std::string::npos);
  EXPECT_NE(sightline({"run", "demo", "--max-token", "3", "x"}).err.find("'--max-tokens'"),
            std::string::npos);
}

TEST(Usage, ValuesAreChecked) {
  struct Case {
    std::vector<std::string> arguments;
    const char* part;
  };
  const std::vector<Case> cases{
      {{"run", "demo", "x", "--top-p", "1.5"}, "--top-p: expected a number from 0 to 1"},
      {{"run", "demo", "x", "--max-tokens", "0"}, "--max-tokens: expected an integer"},
      {{"run", "demo", "x", "--threads", "two"}, "found 'two'"},
      {{"run", "demo", "x", "--seed", "-1"}, "--seed: expected"},
      {{"run", "demo", "x", "--precision", "int5"},
       "expected one of bf16, f32, int8, int4, auto, found 'int5'"},
      {{"run", "demo", "x", "--temperature", "nan"}, "--temperature: expected"},
      {{"run", "demo", "x", "--isa", "sse1"}, "sse1"},
      {{"run", "demo"}, "nothing is asked"},
      {{"run"}, "MODEL"},
      {{"run", "demo", "x", "y"}, "one argument too many"},
      {{"run", "demo", "x", "--messages", "m.json"}, "--messages"},
      {{"run", "demo", "x", "--out", "o"}, "--out is an option of --jsonl"},
      {{"tokenize", "demo", "--skip-special"}, "--skip-special"},
      {{"render", "demo"}, "--messages"}};
  for (const Case& c : cases) {
    const Finished wrong = sightline(c.arguments);
    EXPECT_EQ(wrong.code, 2) << c.part;
    EXPECT_EQ(wrong.out, "") << c.part;
    EXPECT_NE(wrong.err.find(c.part), std::string::npos) << wrong.err;
    EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1) << wrong.err;
  }
}

TEST(Usage, ErrorsAreJsonWhenAskedFor) {
  const Finished wrong = sightline({"run", "no/such-model", "x", "--json"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "");
  const io::Json document = wrong.json();
  const io::Json* error = document.find("error");
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->find("code")->as_string(), "model_not_found");
  EXPECT_TRUE(error->find("message")->is_string());
  EXPECT_TRUE(error->find("context")->is_object());
}

TEST(Version, TextAndJson) {
  const Finished text = sightline({"version"});
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(text.out.starts_with("sightline "));
  EXPECT_NE(text.out.find("reference"), std::string::npos);
  EXPECT_EQ(sightline({"--version"}).out, text.out);
  const io::Json json = sightline({"version", "--json"}).json();
  EXPECT_TRUE(json.find("kernel_sets")->is_array());
  EXPECT_GE(json.find("threads")->as_int(), 1);
}

}  // namespace
}  // namespace sightline::e2e
