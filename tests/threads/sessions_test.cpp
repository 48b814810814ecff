// Protects: sessions of one engine that answer on several threads at the same time give the bits
// that each gives alone, whatever the others do: answer, cancel, share pictures, trace, come and
// go.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include "conversations.hpp"

namespace sightline {
namespace {

// Runs all at once, each on a thread of its own, and waits for them.
void together(const std::vector<std::function<void()>>& tasks) {
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (const auto& task : tasks) {
    threads.emplace_back([&] {
      for (++ready; ready < tasks.size();) std::this_thread::yield();
      task();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Request sampled(std::int64_t max_tokens) {
  Request request = ask({"Write a long text."}, max_tokens);
  request.sampling.temperature = 1.5;
  request.sampling.seed = 3;
  return request;
}

TEST(ThreadSessions, TwoAnswerAtOnceAsAlone) {
  const Request red = ask({plain(255, 0, 0), "color?"}), text = sampled(12);
  const std::vector<double> red_alone = alone(red), text_alone = alone(text);
  const Engine engine = load_demo();
  const auto repeat = [&](const Request& request, const std::vector<double>& expected) {
    Session session = engine.open_session();
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(bits(session.send(request)), expected);
      session.reset();
    }
  };
  together({[&] { repeat(red, red_alone); }, [&] { repeat(text, text_alone); }});
}

// The answering thread waits in its callback until another one has cancelled: exactly one token.
TEST(ThreadSessions, CancelledFromAnotherThread) {
  const Engine engine = load_demo();
  Session session = engine.open_session();
  std::atomic<bool> begun{false}, cancelled{false};
  std::thread other([&] {
    begun.wait(false);
    session.cancel();
    cancelled = true;
    cancelled.notify_all();
  });
  const Result result = session.send(sampled(50), [&](const Token&) {
    begun = true;
    begun.notify_all();
    cancelled.wait(false);
  });
  other.join();
  EXPECT_EQ(result.finish_reason, "cancelled");
  EXPECT_EQ(result.token_ids.size(), 1U);
  const Request next = ask({plain(9, 9, 9), "color?"});
  EXPECT_EQ(bits(session.send(next)), alone(next));
}

// Cancelled at any moment, the picture and the prompt included: what came is the beginning of the
// whole answer, and another session does not notice.
TEST(ThreadSessions, CancelledAtAnyMoment) {
  const Engine engine = load_demo();
  Request request = sampled(8);
  request.messages = {user({plain(1, 200, 30), "Write a long text."})};
  const std::vector<double> whole = alone(request);
  const Request other = ask({"color?"});
  const std::vector<double> other_alone = alone(other);
  Session session = engine.open_session();
  std::atomic<bool> done{false};
  const auto answer = [&] {
    for (int i = 0; i < 6; ++i) {
      const std::vector<double> part = bits(session.send(request));
      ASSERT_LE(part.size(), whole.size());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
    }
    done = true;
  };
  const auto cancel = [&] {
    for (int i = 0; !done; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + 7 * i % 40));
      session.cancel();
    }
  };
  const auto bystander = [&] { EXPECT_EQ(bits(engine.open_session().send(other)), other_alone); };
  together({answer, cancel, bystander});
  EXPECT_EQ(bits(session.send(request)), whole);
}

// Features of pictures are kept by the engine, for all sessions; here there is room for one picture
// only, so that each session also drops what the other one just used.
TEST(ThreadSessions, ShareTheFeaturesOfPictures) {
  const Request red = ask({plain(255, 0, 0), "color?"}, 2),
                blue = ask({plain(0, 0, 255), "color?"}, 2);
  const std::vector<double> red_alone = alone(red), blue_alone = alone(blue);
  constexpr std::int64_t kOnePicture = 64 * 1024 * 4;  // 64 tokens, at most 1024 floats each
  for (const std::int64_t room : {kOnePicture, EngineOptions().feature_store_bytes}) {
    EngineOptions options;
    options.feature_store_bytes = room;
    const Engine engine = load_demo(options);
    const auto both = [&](bool red_first) {
      for (int i = 0; i < 4; ++i) {
        const bool now_red = (i % 2 == 0) == red_first;
        const Result result = engine.open_session().send(now_red ? red : blue);
        EXPECT_EQ(bits(result), now_red ? red_alone : blue_alone);
      }
    };
    together({[&] { both(true); }, [&] { both(false); }});
  }
}

// Counts calls that come nested and from one thread, and reads what they show.
class Watcher final : public Trace {
 public:
  void enter(const Site&, const std::source_location&, const std::source_location&) override {
    see();
    ++depth_;
    ++calls;
  }
  void input(const Site&, const TensorRef& tensor) override { read(tensor); }
  void note(const Site&, const TensorRef& tensor) override { read(tensor); }
  void output(const Site&, const TensorRef& tensor) override { read(tensor); }
  void leave(const Site&) override {
    see();
    --depth_;
    EXPECT_GE(depth_, 0);
  }
  [[nodiscard]] bool balanced() const { return depth_ == 0; }
  int calls = 0;

 private:
  void see() const { EXPECT_EQ(std::this_thread::get_id(), owner_); }
  void read(const TensorRef& tensor) {
    see();
    if (tensor.data != nullptr && tensor.shape.elements() > 0) last_ = *tensor.data;
  }

  std::thread::id owner_ = std::this_thread::get_id();
  int depth_ = 0;
  std::byte last_{};
};

TEST(ThreadSessions, OneIsTracedWhileAnotherRuns) {
  const Request traced = ask({plain(7, 80, 160), "color?"}, 3), other = sampled(10);
  const std::vector<double> traced_alone = alone(traced), other_alone = alone(other);
  const Engine engine = load_demo();
  const auto with_trace = [&] {
    Watcher watcher;
    Session session = engine.open_session();
    session.set_trace(&watcher);
    EXPECT_EQ(bits(session.send(traced)), traced_alone);
    EXPECT_GT(watcher.calls, 50);
    EXPECT_TRUE(watcher.balanced());
    session.set_trace(nullptr);
    const int before = watcher.calls;
    EXPECT_EQ(bits(session.send(traced)), traced_alone);
    EXPECT_EQ(watcher.calls, before);
  };
  const auto without = [&] {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(bits(engine.open_session().send(other)), other_alone);
  };
  together({with_trace, without});
}

// The engine's own handle goes away while its sessions still answer.
TEST(ThreadSessions, KeepTheirEngineAlive) {
  const Request request = ask({"color?"}, 4);
  const std::vector<double> expected = alone(request);
  std::optional<Engine> engine = load_demo();
  std::vector<Session> sessions;
  for (int i = 0; i < 3; ++i) sessions.push_back(engine->open_session());
  const auto answer = [&](std::size_t i) { EXPECT_EQ(bits(sessions[i].send(request)), expected); };
  together({[&] { answer(0); }, [&] { answer(1); }, [&] { answer(2); }, [&] { engine.reset(); }});
}

// A request that fails leaves nothing locked behind.
TEST(ThreadSessions, AFailingOneHoldsUpNobody) {
  const Request good = ask({"color?"}, 3);
  const std::vector<double> expected = alone(good);
  EngineOptions options;
  options.context = 100;
  const Engine engine = load_demo(options);
  const auto bad = [&] {
    Session session = engine.open_session();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(session.send(ask({plain(1, 2, 3), plain(3, 2, 1), "?"})), Error);
      EXPECT_THROW(session.send(good, [](const Token&) { throw std::runtime_error("mine"); }),
                   std::runtime_error);
    }
  };
  together({bad, [&] {
              for (int i = 0; i < 4; ++i) {
                EXPECT_EQ(bits(engine.open_session().send(good)), expected);
              }
            }});
}

}  // namespace
}  // namespace sightline
