// Protects: what a reader sees of an answer: reasoning split, stop texts, text that is never taken
// back.
#include "generate/answer.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sightline::generate {
namespace {

TEST(StopMatcher, HoldsBackWhatMayBecomeAStopText) {
  StopMatcher matcher({"END", "###"});
  EXPECT_EQ(matcher.push("one E"), "one ");
  EXPECT_EQ(matcher.push("N"), "");
  EXPECT_EQ(matcher.push("x"), "ENx");
  EXPECT_EQ(matcher.push("two #"), "two ");
  EXPECT_EQ(matcher.push("## three"), "");
  EXPECT_EQ(matcher.match(), "###");
}

TEST(StopMatcher, TheTextThatBeginsFirstWins) {
  StopMatcher matcher({"bc", "abcd"});
  EXPECT_EQ(matcher.push("xabcd"), "x");
  EXPECT_EQ(matcher.match(), "abcd");
}

TEST(StopMatcher, EmptyStopTextsAreIgnored) {
  StopMatcher matcher({""});
  EXPECT_EQ(matcher.push("all"), "all");
  EXPECT_EQ(matcher.flush(), "");
}

// Whatever the pieces, what comes out is the text before the stop text.
TEST(StopMatcher, PiecesDoNotMatter) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) text += static_cast<char>('a' + random() % 2);
    StopMatcher whole({"aab", "bbbb"}), pieces({"aab", "bbbb"});
    const std::string expected = whole.push(text);
    std::string found;
    for (std::size_t at = 0; at < text.size() && pieces.match().empty();) {
      const std::size_t n = 1 + random() % 4;
      found += pieces.push(std::string_view(text).substr(at, n));
      at += n;
    }
    if (pieces.match().empty()) found += pieces.flush();
    const std::string before = whole.match().empty() ? text : expected;
    EXPECT_EQ(found, before) << text;
  }
}

// The demo checkpoint's vocabulary: single letters, a newline and the control tokens.
const tokenizer::Tokenizer& demo_tokenizer() {
  static const auto tokenizer = tokenizer::Tokenizer::load(std::string(SIGHTLINE_TEST_DATA) +
                                                           "/../../demo/checkpoint/tokenizer.json");
  return tokenizer;
}

std::int32_t id_of(const char* piece) { return demo_tokenizer().id_of(piece).value(); }

const std::int32_t kA = id_of("a"), kB = id_of("b"), kC = id_of("c"), kNewline = id_of("Ċ"),
                   kEnd = id_of("<|im_end|>"), kThink = id_of("<think>"),
                   kThinkEnd = id_of("</think>");

struct Outcome {
  std::string text, reasoning, streamed_text, streamed_reasoning;
  bool finished = false;
};

Outcome run(AnswerRules rules, const std::vector<std::int32_t>& ids) {
  rules.end_ids = {kEnd};
  rules.think_open = kThink;
  rules.think_close = kThinkEnd;
  Answer answer(demo_tokenizer(), rules);
  Outcome result;
  const auto take = [&](const AnswerStep& step) {
    (step.reasoning ? result.streamed_reasoning : result.streamed_text) += step.text;
    result.finished = result.finished || step.finished;
  };
  for (const std::int32_t id : ids) {
    if (!result.finished) take(answer.feed(id));
  }
  if (!result.finished) take(answer.finish());
  result.text = answer.text();
  result.reasoning = answer.reasoning();
  EXPECT_EQ(result.text, result.streamed_text);
  EXPECT_EQ(result.reasoning, result.streamed_reasoning);
  return result;
}

TEST(Answer, PlainTextEndsAtTheEndToken) {
  const Outcome result = run({}, {kA, kB, kEnd, kC});
  EXPECT_EQ(result.text, "ab");
  EXPECT_TRUE(result.finished);
}

// Bug log G5: without a closing tag all text is reasoning, the answer is empty.
TEST(Answer, UnclosedReasoningIsAllReasoning) {
  AnswerRules rules;
  rules.reasoning_open = true;
  const Outcome result = run(rules, {kA, kB});
  EXPECT_EQ(result.reasoning, "ab");
  EXPECT_EQ(result.text, "");
}

TEST(Answer, ClosedReasoningLosesTheTemplatesNewlines) {
  AnswerRules rules;
  rules.reasoning_open = true;
  const Outcome result = run(rules, {kNewline, kA, kNewline, kB, kNewline, kThinkEnd, kNewline,
                                     kNewline, kC, kNewline, kEnd});
  EXPECT_EQ(result.reasoning, "a\nb");
  EXPECT_EQ(result.text, "c\n");
}

TEST(Answer, ReasoningMayBeOpenedByTheModel) {
  const Outcome result = run({}, {kThink, kNewline, kA, kThinkEnd, kNewline, kB, kEnd});
  EXPECT_EQ(result.reasoning, "a");
  EXPECT_EQ(result.text, "b");
}

// Bug log G6: with thinking off the answer is the answer, and a later tag is text.
TEST(Answer, ATagInsideTheAnswerIsText) {
  const Outcome result = run({}, {kA, kThink, kB, kEnd});
  EXPECT_EQ(result.reasoning, "");
  EXPECT_EQ(result.text, "a<think>b");
}

TEST(Answer, StopTextsEndTheAnswerButNotTheReasoning) {
  AnswerRules rules;
  rules.reasoning_open = true;
  rules.stop = {"ab"};
  const Outcome result = run(rules, {kA, kB, kThinkEnd, kC, kA, kB, kC});
  EXPECT_EQ(result.reasoning, "ab");
  EXPECT_EQ(result.text, "c");
  EXPECT_TRUE(result.finished);
}

}  // namespace
}  // namespace sightline::generate
