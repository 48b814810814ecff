// Parts of the command line that need no process. Protects: strict values, help that fits, the
// conversation that chat sends, request lines that are read strictly.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/arguments.hpp"
#include "cli/chat_history.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/jsonl_request.hpp"
#include "cli/messages_file.hpp"
#include "cli/output.hpp"
#include "cli/resolve.hpp"

namespace sightline::cli {
namespace {

template <class F>
std::string message_of(F call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "no error";
}

TEST(Values, AreReadStrictly) {
  EXPECT_EQ(parse_integer("--n", "12", kPositive), 12);
  EXPECT_EQ(parse_number("--x", "0.5", {0, 1}), 0.5);
  EXPECT_EQ(parse_unsigned("--seed", "18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", " 1", "1 ", "0x1", "1.5", "99999999999999999999", "0"}) {
    EXPECT_EQ(message_of([&] { (void)parse_integer("--n", text, kPositive); }),
              std::string("invalid_option: --n: expected an integer of at least 1, found '") +
                  text + "'");
  }
  for (const char* text : {"inf", "nan", "1.1", "-0.1", "1e"}) {
    EXPECT_EQ(
        message_of([&] { (void)parse_number("--x", text, {0, 1}); }),
        std::string("invalid_option: --x: expected a number from 0 to 1, found '") + text + "'");
  }
}

TEST(Words, TheClosestOneIsSuggested) {
  const std::vector<std::string> words{"--max-tokens", "--max-pixels", "--seed", "--stop"};
  EXPECT_EQ(closest_word("--max-token", words), "--max-tokens");
  EXPECT_EQ(closest_word("--maxtokens", words), "--max-tokens");
  EXPECT_EQ(closest_word("--sed", words), "--seed");
  EXPECT_EQ(closest_word("--completely-other", words), "");
  EXPECT_EQ(closest_word("", words), "");
}

TEST(Help, WrapsAtBlanks) {
  EXPECT_EQ(wrapped("aa bb cc", 0, 2, 5), "aa bb\n  cc");
  EXPECT_EQ(wrapped("aa\nbb", 0, 1, 20), "aa\n bb");
  EXPECT_EQ(wrapped("longerthanthis b", 0, 0, 5), "longerthanthis\nb");
  EXPECT_EQ(wrapped("", 0, 0, 5), "");
}

// What a model says must not command the terminal: escape sequences, also of the second set.
TEST(Lines, ArePrintable) {
  EXPECT_EQ(printable("a\tb\n\x1b]0;title\x07 \r\x7f"), "a\tb\n\\x1b]0;title\\x07 \\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \xc2\xa0 größe 絵"),
            "\\x9b2J \xc2\xa0 größe 絵");
}

TEST(Lines, StayOneLine) {
  EXPECT_EQ(single_line("a\nb\tc\x1b[2m\x7f"), "a\\nb\\x09c\\x1b[2m\\x7f");
  EXPECT_EQ(single_line("größe"), "größe");
}

TEST(Repositories, IdsAsTheHubHasThem) {
  for (const char* id : {"Qwen/Qwen3.5-2B", "gpt2", "a/b_c.d"}) EXPECT_TRUE(is_repository_id(id));
  for (const char* id : {"", "/a", "a/", "a/b/c", "../a", "a/..", "a--b", ".hidden", "a b", "-x"}) {
    EXPECT_FALSE(is_repository_id(id)) << id;
  }
}

Request request_of(const std::string& text) {
  ConversationOptions defaults;
  defaults.max_tokens = 7;
  defaults.system = "short";
  return parse_request_line(io::parse_json(text, "line"), "line 1", defaults, "/base");
}

TEST(RequestLine, QuestionWithPictures) {
  const Request request = request_of(R"({"question": "what?", "images": ["a.png", "/b.png"]})");
  ASSERT_EQ(request.messages.size(), 2U);
  EXPECT_EQ(request.messages[0].role, "system");
  const auto& content = request.messages[1].content;
  ASSERT_EQ(content.size(), 3U);
  const auto path = [&](std::size_t i) {
    return std::get<Picture::File>(std::get<Picture>(content[i]).source).path;
  };
  EXPECT_EQ(path(0), "/base/a.png");
  EXPECT_EQ(path(1), "/b.png");
  EXPECT_EQ(std::get<std::string>(content[2]), "what?");
  EXPECT_EQ(request.max_tokens, 7);
}

TEST(RequestLine, OptionsReplaceTheDefaults) {
  const Request request = request_of(
      R"({"messages": [], "max_tokens": 3, "temperature": 0.5, "top_k": 4, "seed": "18446744073709551615",)"
      R"( "stop": "x", "thinking": false, "logprobs": 2, "kwargs": {"a": 1}, "tools": []})");
  EXPECT_EQ(request.max_tokens, 3);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_k, 4);
  EXPECT_EQ(request.sampling.seed, UINT64_MAX);
  EXPECT_EQ(request.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.thinking, false);
  EXPECT_EQ(request.logprobs, 2);
  EXPECT_EQ(request.messages_json, "[]");
  EXPECT_EQ(request.base_directory, "/base");
}

TEST(RequestLine, IsReadStrictly) {
  const auto error = [](const std::string& text) {
    return message_of([&] { (void)request_of(text); });
  };
  EXPECT_NE(error("[]").find("invalid_messages: line 1"), std::string::npos);
  EXPECT_NE(error(R"({"question": "a", "imges": []})").find("\"imges\""), std::string::npos);
  EXPECT_NE(error(R"({"question": 1})").find("question"), std::string::npos);
  EXPECT_NE(error(R"({"max_tokens": 3})").find("question"), std::string::npos);
  EXPECT_NE(error(R"({"question": "a", "messages": []})").find("\"messages\" alone"),
            std::string::npos);
  EXPECT_NE(error(R"({"question": "a", "max_tokens": 0})").find("max_tokens"), std::string::npos);
  EXPECT_NE(error(R"({"question": "a", "seed": -1})").find("seed"), std::string::npos);
  EXPECT_NE(error(R"({"question": "a", "top_p": 2})").find("top_p"), std::string::npos);
  EXPECT_NE(error(R"({"question": "a", "seed": 18446744073709551615})").find("2^64 - 1"),
            std::string::npos);
  EXPECT_NE(error(R"({"question": "a", "temperature": 101})").find("from 0 to 100"),
            std::string::npos);
  EXPECT_EQ(error(R"({"question": "a", "id": 2.5})"),
            "invalid_messages: line 1: id: expected text or an integer, found number");
  EXPECT_NE(message_of([] {
              (void)request_id(io::parse_json(R"({"id": []})", "x"), "line 2");
            }).find("line 2"),
            std::string::npos);
}

TEST(ChatHistory, KeepsTurnsAndPictures) {
  ChatHistory history("be brief");
  const std::string picture = std::string(SIGHTLINE_TEST_DATA) + "/images/red-64.png";
  history.attach(picture);
  EXPECT_EQ(history.attached(), 1U);
  const io::Json asked = history.ask("color?");
  EXPECT_EQ(history.attached(), 0U);
  ASSERT_EQ(asked.as_array().size(), 2U);
  EXPECT_EQ(history.messages().as_array().size(), 1U);  // until it is answered
  Result result;
  result.text = "red";
  result.reasoning = "it looks red";
  history.answer(result);
  ASSERT_EQ(history.messages().as_array().size(), 3U);
  EXPECT_EQ(io::to_json_text(history.messages().as_array()[2]),
            R"({"role":"assistant","content":"red","reasoning_content":"it looks red"})");
  EXPECT_EQ(io::to_json_text(history.ask("sure?").as_array()[3]),
            R"({"role":"user","content":"sure?"})");
  history.reset();
  EXPECT_EQ(history.messages().as_array().size(), 1U);
  EXPECT_NE(message_of([&] { history.attach("none.png"); }).find("file_not_found"),
            std::string::npos);
}

TEST(MessagesFile, PathsBecomeAbsolute) {
  io::Json messages = io::parse_json(
      R"([{"role": "user", "content": [{"type": "image", "image": "a.png"},)"
      R"({"image_url": {"url": "sub/b.png"}}, {"image": "data:image/png;base64,AA"},)"
      R"({"image": "file:///c.png"}, {"image": "/d.png"}, {"text": "a.png"}]}])",
      "messages");
  make_paths_absolute(messages, "/base");
  EXPECT_EQ(io::to_json_text(messages),
            R"([{"role":"user","content":[{"type":"image","image":"/base/a.png"},)"
            R"({"image_url":{"url":"/base/sub/b.png"}},{"image":"data:image/png;base64,AA"},)"
            R"({"image":"file:///c.png"},{"image":"/d.png"},{"text":"a.png"}]}])");
}

}  // namespace
}  // namespace sightline::cli
