// Protects: both published templates render exactly as the reference does, errors included.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "chat/chat_template.hpp"
#include "io/file.hpp"

namespace sightline::chat {
namespace {

const std::string kData = SIGHTLINE_TEST_DATA;

const ChatTemplate& published(const std::string& file) {
  static std::map<std::string, ChatTemplate> templates;
  auto it = templates.find(file);
  if (it == templates.end()) {
    it = templates
             .emplace(file, ChatTemplate::parse(io::read_file(kData + "/processor/" + file), file))
             .first;
  }
  return it->second;
}

RenderInput input_of(const io::Json& golden) {
  const io::Json* tools = golden.find("tools");
  RenderInput input{*golden.find("messages")};
  input.tools = tools != nullptr && !tools->is_null() ? tools : nullptr;
  if (const io::Json* kwargs = golden.find("kwargs")) input.kwargs = *kwargs;
  input.add_generation_prompt = golden.find("add_generation_prompt")->as_bool();
  return input;
}

// Renders one case of a golden file; the text, or "error: " and the message.
std::string rendered(const io::Json& golden) {
  try {
    return published(golden.find("template")->as_string()).render(input_of(golden)).bytes;
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  }
}

void expect_all_equal(const std::string& path, std::size_t least) {
  const io::Json cases = io::read_json_file(path);
  ASSERT_GE(cases.as_array().size(), least);
  for (const io::Json& golden : cases.as_array()) {
    const io::Json* text = golden.find("text");
    const std::string expected =
        text != nullptr ? text->as_string() : "error: " + golden.find("error")->as_string();
    EXPECT_EQ(rendered(golden), expected) << golden.find("name")->as_string();
  }
}

TEST(ChatGolden, PublishedTemplatesEqualTheReference) {
  expect_all_equal(kData + "/text/chat_template.json", 144);
}

// Written by tools/reference/conversation_cases.py.
TEST(ChatGolden, RandomConversationsEqualTheReference) {
  expect_all_equal(kData + "/text/chat_conversations.json", 150);
  if (const char* more = std::getenv("SIGHTLINE_CHAT_CASES")) expect_all_equal(more, 1);
}

}  // namespace
}  // namespace sightline::chat
