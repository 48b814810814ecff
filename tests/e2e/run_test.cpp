// Questions and answers through the binary, on a small random checkpoint: what is said means
// nothing, but its form, its repeatability and what resumes must hold.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "binary.hpp"
#include "io/file.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

class Asking : public testing::Test {
 protected:
  void SetUp() override { write_checkpoint(folder_); }

  Finished ask(std::vector<std::string> more, const std::string& input = {},
               const std::string& command = "run") {
    std::vector<std::string> arguments{command, folder_.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sightline(arguments, {input});
  }
  io::Json ask_json(std::vector<std::string> more) {
    more.emplace_back("--json");
    const Finished done = ask(more);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.lines().size(), 1U);
    return done.json();
  }

  Folder folder_;
  const std::string picture_ = data("images/red-64.png");
};

TEST_F(Asking, TheAnswerAloneOnStandardOutput) {
  const Finished done = ask({"-i", picture_, "color?", "--max-tokens", "8", "--no-thinking"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(done.out.ends_with('\n'));
  const io::Json json = ask_json({"-i", picture_, "color?", "--max-tokens", "8", "--no-thinking"});
  EXPECT_EQ(done.out, json.find("text")->as_string() + "\n");
}

TEST_F(Asking, JsonHasEveryMember) {
  const io::Json json =
      ask_json({"-i", picture_, "color?", "--max-tokens", "4", "--logprobs", "2", "--stats"});
  for (const char* key : {"text", "reasoning", "token_ids", "finish_reason", "prompt_tokens",
                          "cached_tokens", "completion_tokens", "pictures", "seed", "timings",
                          "peak_memory_bytes", "logprobs", "engine"}) {
    EXPECT_NE(json.find(key), nullptr) << key;
  }
  const std::size_t tokens = json.find("token_ids")->as_array().size();
  EXPECT_EQ(json.find("logprobs")->as_array().size(), tokens);
  EXPECT_EQ(json.find("logprobs")->as_array()[0].find("top")->as_array().size(), 2U);
  const io::Json& picture = json.find("pictures")->as_array()[0];
  EXPECT_EQ(picture.find("tokens")->as_int(), 64);
  EXPECT_EQ(io::to_json_text(*picture.find("original")), "[64,64]");
  EXPECT_EQ(io::to_json_text(*picture.find("resized")), "[256,256]");
  EXPECT_EQ(io::to_json_text(*picture.find("grid")), "[1,16,16]");
  EXPECT_TRUE(picture.find("encoded")->as_bool());
}

TEST_F(Asking, StatsSayWhatRan) {
  const Finished done = ask({"hi", "--max-tokens", "2", "--stats", "--threads", "1"});
  for (const char* part :
       {"threads      1", "kernel set", "precision    bf16", "memory", "prompt"}) {
    EXPECT_NE(done.err.find(part), std::string::npos) << part << " in " << done.err;
  }
}

TEST_F(Asking, ASeedGivesTheSameTokensWhateverTheThreadsAndPieces) {
  const std::vector<std::string> base{"-i", picture_,  "color?", "--max-tokens",
                                      "12", "--seed",  "7",      "--temperature",
                                      "1",  "--top-k", "50"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return *ask_json(more).find("token_ids");
  };
  const io::Json first = with({});
  EXPECT_EQ(with({"--threads", "1"}), first);
  EXPECT_EQ(with({"--prefill-chunk", "64"}), first);
  EXPECT_EQ(with({"--no-mmap"}), first);
}

// Tile products through their plain twin: its own tokens, the same whatever the threads and pieces.
TEST_F(Asking, TilesGiveTheSameTokensWhateverTheThreadsAndPieces) {
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"-i",           picture_, "color?", "--isa", "amx-twin",
                                       "--max-tokens", "12",     "--seed", "7"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ask_json(arguments);
  };
  const io::Json first = with({"--stats"});
  EXPECT_EQ(first.find("engine")->find("kernel_set")->as_string(), "amx-twin");
  EXPECT_EQ(first.find("token_ids")->as_array().size(), 12U);
  EXPECT_EQ(*with({"--threads", "1"}).find("token_ids"), *first.find("token_ids"));
  EXPECT_EQ(*with({"--threads", "3", "--prefill-chunk", "64"}).find("token_ids"),
            *first.find("token_ids"));
}

TEST_F(Asking, QuestionFromStandardInput) {
  const Finished piped = ask({"-", "--max-tokens", "6"}, "Hello\n");
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, ask({"Hello", "--max-tokens", "6"}).out);
}

TEST_F(Asking, StopTextEndsTheAnswer) {
  const io::Json whole = ask_json({"Hello", "--max-tokens", "12", "--no-thinking"});
  const std::string text = whole.find("text")->as_string();
  std::size_t at = 1;  // a printable character in the middle of the answer
  while (at < text.size() && (text[at] < '!' || text[at] > '~')) ++at;
  if (at >= text.size()) GTEST_SKIP() << "no printable character in '" << text << "'";
  const std::string stop(1, text[at]);
  const io::Json cut = ask_json({"Hello", "--max-tokens", "12", "--no-thinking", "--stop", stop});
  EXPECT_EQ(cut.find("text")->as_string(), text.substr(0, text.find(stop)));
  EXPECT_EQ(cut.find("finish_reason")->as_string(), "stop");
  EXPECT_EQ(cut.find("stop_match")->as_string(), stop);
}

TEST_F(Asking, AnAnswerThatNeverLeavesTheReasoningSaysSo) {
  const Finished done = ask({"Hello", "--thinking", "--max-tokens", "3"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, "\n");
  EXPECT_NE(done.err.find("inside the reasoning"), std::string::npos) << done.err;
  const io::Json json = ask_json({"Hello", "--thinking", "--max-tokens", "3"});
  EXPECT_EQ(json.find("text")->as_string(), "");
  EXPECT_NE(json.find("reasoning")->as_string(), "");
  EXPECT_EQ(json.find("finish_reason")->as_string(), "length");
}

std::string requests(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += fmt::format("{{\"id\": \"q{0}\", \"question\": \"Question {0}\"}}\n", i);
  }
  return lines;
}

TEST_F(Asking, ManyRequestsResume) {
  const std::string file = folder_.write("requests.jsonl", requests(4));
  const std::string out = folder_.path("answers.jsonl");
  const auto run = [&] { return ask({"--jsonl", file, "--out", out, "--max-tokens", "4"}); };
  ASSERT_EQ(run().code, 0);
  const std::string whole = io::read_file(out);
  // Nothing is left to do: nothing changes.
  EXPECT_EQ(run().code, 0);
  EXPECT_EQ(io::read_file(out), whole);
  // A run that was killed in the middle of the third line.
  const std::size_t second = whole.find('\n', whole.find('\n') + 1) + 1;
  fs::resize_file(out, second + 10);
  EXPECT_EQ(run().code, 0);
  const auto strip = [](const std::string& text) {  // what does not depend on time
    std::string kept;
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      const io::Json line = io::parse_json(text.substr(begin, end - begin), "line");
      for (const char* key : {"index", "id", "text", "token_ids", "finish_reason"}) {
        kept += io::to_json_text(*line.find(key)) + " ";
      }
      begin = end + 1;
    }
    return kept;
  };
  EXPECT_EQ(strip(io::read_file(out)), strip(whole));
}

// A mistyped --out must never cost a line of somebody's file.
TEST_F(Asking, ResumingTouchesNoForeignFile) {
  const std::string file = folder_.write("requests.jsonl", requests(1));
  for (const char* text : {"one line without its end", "two\nlines", "{\"question\": \"a\"}",
                           "{\"question\": \"a\"}\n{\"question\": \"b\"}"}) {
    const std::string out = folder_.write("notes", text);
    const Finished done = ask({"--jsonl", file, "--out", out});
    EXPECT_EQ(done.code, 3) << text;
    EXPECT_EQ(io::read_file(out), text);
  }
  EXPECT_EQ(ask({"--jsonl", file, "--out", "/dev/null"}).code, 3);
  // Torn after the first byte, and in the middle.
  for (const char* text : {"{", "{\"index\":0,\"id\":\"q0"}) {
    const std::string out = folder_.write("answers", text);
    EXPECT_EQ(ask({"--jsonl", file, "--out", out, "--max-tokens", "2"}).code, 0) << text;
    EXPECT_EQ(io::parse_json(io::read_file(out), "answer").find("id")->as_string(), "q0");
  }
}

TEST_F(Asking, ABadRequestDoesNotStopTheOthers) {
  const std::string lines =
      "{\"question\": \"a\"}\n{\"question\": \"a\", \"temprature\": 1}\n\nnot json\n"
      "{\"question\": \"a\", \"images\": [\"none.png\"]}\n{\"question\": \"b\", \"seed\": 3}\n";
  const std::string file = folder_.write("requests.jsonl", lines);
  const Finished done = ask({"--jsonl", file, "--max-tokens", "2"});
  EXPECT_EQ(done.code, 3);
  const auto answers = done.lines();
  ASSERT_EQ(answers.size(), 5U) << done.out;
  const char* codes[] = {nullptr, "invalid_messages", "invalid_json", "file_not_found", nullptr};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const io::Json line = io::parse_json(answers[i], "line");
    EXPECT_EQ(line.find("index")->as_int(), static_cast<std::int64_t>(i));
    const io::Json* error = line.find("error");
    ASSERT_EQ(error != nullptr, codes[i] != nullptr) << answers[i];
    if (error != nullptr) {
      EXPECT_EQ(error->find("code")->as_string(), codes[i]);
    }
  }
  EXPECT_NE(done.err.find("temprature"), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("line 4"), std::string::npos) << done.err;
}

// What it has to say does not fit the pipe, so that it cannot end before the signal comes.
TEST_F(Asking, CtrlCEndsAnAnswerCleanly) {
  leave_out_end_tokens(folder_);
  const std::string said = folder_.path("said");
  Running running({"run", folder_.path(), "Hello", "--max-tokens", "4000", "--temperature", "5",
                   "--top-k", "0", "--top-p", "1", "--seed", "1", "--no-thinking"},
                  "", said);
  std::string text = running.read_some();
  ASSERT_FALSE(text.empty());
  running.signal(SIGINT);
  for (std::string more = running.read_some(); !more.empty(); more = running.read_some()) {
    text += more;
  }
  EXPECT_EQ(running.wait(), 130);
  EXPECT_TRUE(text.ends_with('\n'));
  EXPECT_NE(io::read_file(said).find("cancelled"), std::string::npos);
}

TEST_F(Asking, CtrlCBetweenManyRequestsSaysHowFarItCame) {
  leave_out_end_tokens(folder_);
  std::string lines = "{\"question\": \"a\", \"max_tokens\": 1}\n";
  for (int i = 0; i < 50; ++i) lines += "{\"question\": \"b\", \"max_tokens\": 4000}\n";
  const std::string file = folder_.write("requests.jsonl", lines), said = folder_.path("said");
  Running running({"run", folder_.path(), "--jsonl", file, "--no-thinking"}, "", said);
  ASSERT_TRUE(running.read_some().starts_with("{\"index\":0"));
  running.signal(SIGINT);
  while (!running.read_some().empty()) {
  }
  EXPECT_EQ(running.wait(), 130);
  const std::string notice = io::read_file(said);
  EXPECT_TRUE(notice.starts_with("sightline: cancelled: ")) << notice;
  EXPECT_NE(notice.find(" of 51 requests are answered\n"), std::string::npos) << notice;
}

// The signal comes while the first picture is read; the second, which is none, is not looked at.
TEST_F(Asking, CtrlCEndsTheReadingOfPictures) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  constexpr std::int64_t kSide = 256;
  constexpr std::size_t kHead = 54, kPixels = std::size_t{3} * kSide * kSide;
  std::string bitmap(kHead + kPixels, '\0');  // more than a pipe holds
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) bitmap[at + i] = static_cast<char>(value >> (8 * i));
  };
  bitmap.replace(0, 2, "BM");
  put(10, kHead), put(14, 40), put(18, kSide), put(22, kSide), put(26, 1 | 24U << 16U);
  const int fd = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  Running running({"run", folder_.path(), "-i", pipe, "-i", folder_.path("none.png"), "color?"});
  const std::size_t first = bitmap.size() - 1;
  ASSERT_EQ(write(fd, bitmap.data(), first), static_cast<ssize_t>(first));  // it is being read
  running.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ASSERT_EQ(write(fd, bitmap.data() + first, 1), 1);
  close(fd);
  EXPECT_EQ(running.read_some(), "\n");
  EXPECT_EQ(running.wait(), 130);
}

TEST_F(Asking, ChatEqualsColdRuns) {
  for (const char* thinking : {"--thinking", "--no-thinking"}) {
    const std::string saved = folder_.path("talk.json");
    const std::string input = "/image " + picture_ + "\ncolor?\nAnd the shape?\n/save " + saved +
                              "\nAre you sure of it?\n";
    const Finished chat = ask({"--json", thinking, "--max-tokens", "80"}, input, "chat");
    ASSERT_EQ(chat.code, 0) << chat.err;
    ASSERT_EQ(chat.lines().size(), 3U) << chat.out;
    const io::Json third = io::parse_json(chat.lines()[2], "line");
    io::Json messages = io::read_json_file(saved);
    messages.push(io::Json::Object{{"role", "user"}, {"content", "Are you sure of it?"}});
    const std::string file = folder_.write("cold.json", io::to_json_text(messages));
    const io::Json cold = ask_json({"--messages", file, thinking, "--max-tokens", "80"});
    EXPECT_EQ(*third.find("token_ids"), *cold.find("token_ids")) << thinking;
    EXPECT_EQ(*third.find("prompt_tokens"), *cold.find("prompt_tokens"));
    EXPECT_GE(third.find("cached_tokens")->as_int(), 64);
    EXPECT_EQ(cold.find("cached_tokens")->as_int(), 0);
    EXPECT_FALSE(third.find("pictures")->as_array()[0].find("encoded")->as_bool());
  }
}

TEST_F(Asking, ChatCommands) {
  const Finished chat =
      ask({"--max-tokens", "2"},
          "/image none.png\n/load none.json\n/bogus\n/save\n/help\n/reset\n/quit\n"
          "never asked\n",
          "chat");
  EXPECT_EQ(chat.code, 3);  // of the first failure
  EXPECT_EQ(chat.out, "");
  for (const char* part :
       {"none.png", "none.json", "/bogus", "/save: expected a file name", "/image FILE"}) {
    EXPECT_NE(chat.err.find(part), std::string::npos) << part << " in " << chat.err;
  }
}

TEST_F(Asking, ChatRefusesWhatItCouldNotKeep) {
  const std::string bad = folder_.write("bad.json", "[{\"content\": \"no role\"}]");
  const Finished chat =
      ask({"--max-tokens", "2", "--json"}, "a\xff\n/load " + bad + "\ngoes on\n", "chat");
  EXPECT_EQ(chat.code, 3);
  ASSERT_EQ(chat.lines().size(), 3U) << chat.out;
  const char* codes[] = {"invalid_utf8", "invalid_messages"};
  for (std::size_t i = 0; i < 2; ++i) {
    const io::Json line = io::parse_json(chat.lines()[i], "line");
    EXPECT_EQ(line.find("error")->find("code")->as_string(), codes[i]);
  }
  EXPECT_NE(io::parse_json(chat.lines()[2], "line").find("text"), nullptr);
}

TEST_F(Asking, ChatLoadsWhatItSaved) {
  const std::string saved = folder_.path("talk.json");
  ask({"--max-tokens", "4"}, "/image " + picture_ + "\ncolor?\n/save " + saved + "\n", "chat");
  const Finished again =
      ask({"--max-tokens", "4", "--json"}, "/load " + saved + "\nshape?\n", "chat");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.json().find("pictures")->as_array().size(), 1U);
}

}  // namespace
}  // namespace sightline::e2e
