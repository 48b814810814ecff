// The words of a command line. Protects: every word reaches the option or argument that people
// mean, as typed; nothing is swallowed, split or ignored.
#include "cli/arguments.hpp"

#include <gtest/gtest.h>

namespace sightline::cli {
namespace {

/// A command with one argument of every kind.
struct Targets {
  std::string model;
  std::optional<std::string> question, system;
  std::vector<std::string> images;
  std::int64_t count = 0;
  bool fast = false, cap = false;

  std::string read(const std::vector<std::string>& words) {
    Command command("ask", "asks");
    command.positional("MODEL", model, "", true)
        .positional("QUESTION", question, "")
        .option("-i,--image FILE", images, "")
        .option("--system TEXT", system, "")
        .option("--count N", count, "", {-10, 10})
        .flag("--fast", fast, "")
        .choice("--cap [on|off]", cap, {{"on", true}, {"off", false}, {"true", true}}, "");
    try {
      read_arguments(command, words);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST(Arguments, EverySpellingOfAnOption) {
  Targets t;
  EXPECT_EQ(t.read({"m", "-i", "a", "-ib", "--image", "c", "--image=d=e", "q"}), "");
  EXPECT_EQ(t.images, (std::vector<std::string>{"a", "b", "c", "d=e"}));
  EXPECT_EQ(t.model, "m");
  EXPECT_EQ(t.question, "q");
}

TEST(Arguments, ValuesComeOutAsTyped) {
  Targets t;
  EXPECT_EQ(t.read({"[a,b]", "--system=", "%%", "--count", "-3", "--json"}), "");
  EXPECT_EQ(t.model, "[a,b]");
  EXPECT_EQ(t.system, "");
  EXPECT_EQ(t.question, "%%");
  EXPECT_EQ(t.count, -3);
  Targets dashes;
  EXPECT_EQ(dashes.read({"m", "--system", "-x", "--image=--fast", "-5 + 3?"}), "");
  EXPECT_EQ(dashes.system, "-x");
  EXPECT_EQ(dashes.images, std::vector<std::string>{"--fast"});
  EXPECT_EQ(dashes.question, "-5 + 3?");
  EXPECT_FALSE(dashes.fast);
}

TEST(Arguments, AfterTwoDashesNothingIsAnOption) {
  Targets t;
  EXPECT_EQ(t.read({"m", "--fast", "--", "--what is it?"}), "");
  EXPECT_TRUE(t.fast);
  EXPECT_EQ(t.question, "--what is it?");
}

TEST(Arguments, AValueInBracketsMayBeLeftOut) {
  Targets t;
  EXPECT_EQ(t.read({"m", "--cap", "--fast"}), "");
  EXPECT_TRUE(t.cap);
  EXPECT_EQ(t.read({"m", "--cap", "off"}), "");
  EXPECT_FALSE(t.cap);
  EXPECT_EQ(t.read({"m", "--cap"}), "");
  EXPECT_TRUE(t.cap);
  EXPECT_EQ(t.read({"m", "--cap=off"}), "");
  EXPECT_FALSE(t.cap);
}

TEST(Arguments, WhatIsWrongIsSaid) {
  const auto error = [](const std::vector<std::string>& words) {
    const std::string text = Targets().read(words), tail = "; see 'sightline ask --help'";
    EXPECT_TRUE(text.ends_with(tail)) << text;
    return text.substr(0, text.size() - std::min(tail.size(), text.size()));
  };
  EXPECT_EQ(error({}), "ask: MODEL is required");
  EXPECT_EQ(error({"m", "q", "x"}), "ask: one argument too many: 'x'");
  EXPECT_EQ(error({"m", "--fats"}), "ask: unknown option '--fats'; did you mean '--fast'?");
  EXPECT_EQ(error({"m", "--what is it"}),
            "ask: unknown option '--what is it'; put '--' before an argument that begins with a "
            "dash");
  EXPECT_EQ(error({"m", "--fas"}), "ask: unknown option '--fas'; did you mean '--fast'?");
  EXPECT_EQ(error({"m", "-x"}), "ask: unknown option '-x'");
  EXPECT_EQ(error({"m", "-i"}), "ask: -i: expected a value after it, found nothing");
  EXPECT_EQ(error({"m", "--fast=false"}), "ask: --fast takes no value, found 'false'");
  EXPECT_EQ(error({"m", "--json=1"}), "ask: --json takes no value, found '1'");
  EXPECT_EQ(error({"m", "--count"}), "ask: --count: expected a value after it, found nothing");
  EXPECT_EQ(error({"m", "--system", "--json"}),
            "ask: --system: expected a value after it, found the option '--json' (write "
            "--system=--json if that is the value)");
}

TEST(Arguments, HelpAndJsonAreKnownBeforeReading) {
  EXPECT_TRUE(asks_for_json({"run", "x", "--json"}));
  EXPECT_FALSE(asks_for_json({"run", "x", "--", "--json"}));
  EXPECT_TRUE(asks_for_help({"run", "-h"}));
  EXPECT_FALSE(asks_for_help({"run", "--", "-h"}));
}

}  // namespace
}  // namespace sightline::cli
