// Protects: conversations through the public interface, on the demo checkpoint: what was computed
// before is reused and changes no bit; pictures are told apart by content; refusals come before
// work; cancelling ends cleanly.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "sightline/engine.hpp"

namespace sightline {
namespace {

const std::string kDemo = std::string(SIGHTLINE_TEST_DATA) + "/../../demo/checkpoint";

Engine load(EngineOptions options = {}) { return Engine::load(kDemo, options); }

Picture plain(std::uint8_t r, std::uint8_t g, std::uint8_t b, std::int64_t side = 64) {
  std::vector<std::uint8_t> rgb;
  for (std::int64_t i = 0; i < side * side; ++i) rgb.insert(rgb.end(), {r, g, b});
  return Picture::pixels(side, side, std::move(rgb));
}

Request ask(std::vector<Part> content, std::int64_t max_tokens = 6) {
  Request request;
  request.messages = {user(std::move(content))};
  request.max_tokens = max_tokens;
  request.logprobs = 3;
  return request;
}

// Everything that could differ by a bit.
std::vector<double> bits(const Result& result) {
  std::vector<double> all;
  for (const Token& token : result.tokens) {
    all.push_back(token.id);
    all.push_back(token.logprob->logprob);
    for (const TokenLogprob& top : token.top) all.push_back(top.logprob);
  }
  return all;
}

Result fresh(const Engine& engine, const Request& request) {
  return engine.open_session().send(request);
}

TEST(Session, PublishedPathOfASmallPicture) {
  const Engine engine = load();
  const Result result = fresh(engine, ask({plain(255, 0, 0), "color?"}));
  ASSERT_EQ(result.pictures.size(), 1U);
  EXPECT_EQ(result.pictures[0].resized, (std::array<std::int64_t, 2>{256, 256}));
  EXPECT_EQ(result.pictures[0].tokens, 64);
  EXPECT_GT(result.prompt_tokens, 64);
  EXPECT_GT(result.peak_memory_bytes, 0);
}

// The third turn warm equals the third turn cold, thinking on and off; the pictures are encoded
// once.
TEST(Session, ThirdTurnWarmEqualsCold) {
  for (const bool thinking : {false, true}) {
    const Engine engine = load();
    Session session = engine.open_session();
    Request request = ask({plain(0, 0, 255), "What colour is it?"});
    request.thinking = thinking;
    Result result;
    for (int turn = 0; turn < 3; ++turn) {
      if (turn > 0) {
        request.messages.push_back({"assistant", {result.text}});
        request.messages.push_back(
            user({"And now? Look again, please, and tell me what is there."}));
      }
      result = session.send(request);
      EXPECT_EQ(result.pictures[0].encoded, turn == 0);
    }
    EXPECT_GE(result.cached_tokens, 64);
    const Engine other = load();
    const Result cold = fresh(other, request);
    EXPECT_EQ(cold.cached_tokens, 0);
    EXPECT_EQ(bits(result), bits(cold)) << "thinking " << thinking;
    EXPECT_EQ(result.text, cold.text);
  }
}

// Bug log E1: the same picture with a new question reuses it.
TEST(Session, SamePictureNewQuestionIsNotEncodedAgain) {
  const Engine engine = load();
  Session session = engine.open_session();
  session.send(ask({plain(0, 255, 0), "color?"}));
  const Result second = session.send(ask({plain(0, 255, 0), "What shape is there?"}));
  EXPECT_GE(second.cached_tokens, 64);
  EXPECT_FALSE(second.pictures[0].encoded);
  EXPECT_EQ(bits(second), bits(fresh(load(), ask({plain(0, 255, 0), "What shape is there?"}))));
}

// Bug log E2: same text, other picture: other logits; the first again: the first's bits.
TEST(Session, PicturesAreToldApartByContent) {
  const Engine engine = load();
  Session session = engine.open_session();
  const Result red = session.send(ask({plain(255, 0, 0), "color?"}));
  const Result blue = session.send(ask({plain(0, 0, 255), "color?"}));
  const Result again = session.send(ask({plain(255, 0, 0), "color?"}));
  EXPECT_NE(bits(red), bits(blue));
  EXPECT_EQ(bits(red), bits(again));
}

// Bits do not depend on pieces, threads, or the feature store.
TEST(Session, OptionsThatMustNotMatterDoNot) {
  Request request =
      ask({plain(200, 30, 90, 300), "What is it?", plain(1, 200, 3, 200), "And this?"});
  const std::vector<double> expected = bits(fresh(load(), request));
  EngineOptions options;
  options.prefill_chunk = 64;
  options.threads = 3;
  options.feature_store_bytes = 0;
  options.use_mmap = false;
  EXPECT_EQ(bits(fresh(load(options), request)), expected);
}

// Refused before a picture is encoded, with token counts (bug log I5).
TEST(Session, TooLongAPromptIsRefusedWithCounts) {
  EngineOptions options;
  options.context = 100;
  const Engine engine = load(options);
  try {
    fresh(engine, ask({plain(1, 2, 3), plain(4, 5, 6), "Compare."}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::context_length_exceeded);
    EXPECT_NE(std::string(error.what()).find(" 64"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("100"), std::string::npos);
  }
}

TEST(Session, CancelledDuringTheAnswerKeepsTheText) {
  const Engine engine = load();
  Session session = engine.open_session();
  int tokens = 0;
  Request request = ask({"Write a long text."}, 50);
  request.sampling.temperature = 1.5;
  request.sampling.seed = 3;
  const Result result = session.send(request, [&](const Token&) {
    if (++tokens == 1) session.cancel();
  });
  EXPECT_TRUE(result.finish_reason == "stop" || result.finish_reason == "cancelled")
      << result.finish_reason;
  EXPECT_LE(result.token_ids.size(), 2U);
  // The session goes on with the right bits.
  EXPECT_EQ(bits(session.send(ask({plain(9, 9, 9), "color?"}))),
            bits(fresh(load(), ask({plain(9, 9, 9), "color?"}))));
}

TEST(Session, CancelledDuringThePromptGivesNoAnswer) {
  const Engine engine = load();
  Session session = engine.open_session();
  const Result result =
      session.send(ask({plain(9, 9, 9), "color?"}), {}, [&](const Progress& progress) {
        if (progress.stage == Progress::Stage::prompt) session.cancel();
      });
  EXPECT_EQ(result.finish_reason, "cancelled");
  EXPECT_TRUE(result.token_ids.empty());
}

TEST(Session, SeedsReproduce) {
  const Engine engine = load();
  Request request = ask({"Say something."}, 12);
  request.sampling.temperature = 1;
  request.sampling.seed = 11;
  EXPECT_EQ(bits(fresh(engine, request)), bits(fresh(engine, request)));
  request.sampling.seed.reset();
  EXPECT_NE(fresh(engine, request).seed, fresh(engine, request).seed);
}

TEST(Session, ATraceChangesNoBit) {
  class Counter : public Trace {
   public:
    void enter(const Site&, const std::source_location&, const std::source_location&) override {
      ++entered;
    }
    void input(const Site&, const TensorRef&) override {}
    void note(const Site&, const TensorRef&) override {}
    void output(const Site&, const TensorRef&) override {}
    void leave(const Site&) override { ++left; }
    int entered = 0, left = 0;
  } counter;
  const Engine engine = load();
  const Request request = ask({plain(7, 80, 160, 100), "color?"});
  Session traced = engine.open_session();
  traced.set_trace(&counter);
  EXPECT_EQ(bits(traced.send(request)), bits(fresh(engine, request)));
  EXPECT_GT(counter.entered, 50);
  EXPECT_EQ(counter.entered, counter.left);
}

// A wrong option must not cost a picture and a prompt.
TEST(Session, OptionsAreRefusedBeforeAnythingIsComputed) {
  const Engine engine = load();
  Session session = engine.open_session();
  Request request = ask({plain(1, 2, 3), "a"});
  request.sampling.temperature = 1000;
  bool computed = false;
  try {
    session.send(request, {}, [&](const Progress&) { computed = true; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_option);
    EXPECT_STREQ(error.what(), "temperature: expected a number from 0 to 100, found 1000");
  }
  EXPECT_FALSE(computed);
}

TEST(Session, BadRequestsAreNamed) {
  const Engine engine = load();
  const auto code = [&](const Request& request) {
    try {
      fresh(engine, request);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::internal;
  };
  Request request = ask({"a"});
  request.max_tokens = 0;
  EXPECT_EQ(code(request), Code::invalid_option);
  request = ask({Picture::file("/nonexistent.png"), "a"});
  EXPECT_EQ(code(request), Code::file_not_found);
  request = ask({"a\xff"});
  EXPECT_EQ(code(request), Code::invalid_utf8);
  Picture limited = plain(1, 2, 3);
  limited.min_pixels = limited.max_pixels = std::numeric_limits<std::int64_t>::max();
  request = ask({limited, "a"});
  EXPECT_EQ(code(request), Code::invalid_messages);
  limited.min_pixels = limited.max_pixels = std::int64_t{1} << 40;
  request = ask({limited, "a"});
  EXPECT_EQ(code(request), Code::image_too_large);
  request = ask({plain(1, 2, 3, 0), "a"});
  EXPECT_EQ(code(request), Code::image_too_large);
  request.messages.clear();
  request.messages_json = "[";
  EXPECT_EQ(code(request), Code::invalid_json);
  request.messages_json = "[]";
  EXPECT_NE(code(request), Code::internal);
}

}  // namespace
}  // namespace sightline
