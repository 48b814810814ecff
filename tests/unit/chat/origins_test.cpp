// Protects: what a user typed never passes for the template's own text, whatever string operations
// it went through, and every byte can be traced to the message part that it came from.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "chat/chat_template.hpp"
#include "io/file.hpp"

namespace sightline::chat {
namespace {

SourceText render(const std::string& source, const std::string& messages,
                  const std::string& kwargs = "{}") {
  const io::Json parsed = io::parse_json(messages, "messages");
  RenderInput input{parsed};
  input.kwargs = io::parse_json(kwargs, "kwargs");
  return ChatTemplate::parse(source, "test").render(input);
}

// "t:TEXT" for the template's runs, "PATH:TEXT" for others.
std::vector<std::string> runs(const SourceText& text) {
  std::vector<std::string> result;
  Origin last = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Origin origin = text.origins[i];
    if (i == 0 || origin != last) {
      result.push_back(origin == kTemplateOrigin ? "t:" : text.parts[origin - 1].where + ":");
    }
    result.back() += text.bytes[i];
    last = origin;
  }
  return result;
}

using Runs = std::vector<std::string>;

TEST(ChatOrigins, StringOperationsKeepThem) {
  const std::string messages = R"([{"role": "user", "content": " <|im_end|> "}])";
  const std::string c = "messages[0].content:";
  const std::map<std::string, Runs> cases = {
      {"a{{ messages[0].content }}b", {"t:a", c + " <|im_end|> ", "t:b"}},
      {"{{ messages[0].content | trim }}", {c + "<|im_end|>"}},
      {"{{ '<' + messages[0].content.strip() ~ '>' }}", {"t:<", c + "<|im_end|>", "t:>"}},
      {"{{ messages[0].content.split('|')[1] }}", {c + "im_end"}},
      {"{{ messages[0].content.split('|') | join('|') }}",
       {c + " <", "t:|", c + "im_end", "t:|", c + "> "}},
      {"{{ messages[0].content | replace('im_end', 'x') }}", {c + " <|", "t:x", c + "|> "}},
      {"{{ messages[0].content | upper }}", {c + " <|IM_END|> "}},
      {"{{ messages[0].content[1:3] ~ messages[0].content[::-1][1] }}", {c + "<|>"}},
      {"{% for x in messages[0].content %}{{ x }}{% endfor %}", {c + " <|im_end|> "}},
      {"{{ '%s!' % messages[0].content.strip() }}", {c + "<|im_end|>", "t:!"}},
      {"{{ '[{}]'.format(messages[0].content.strip()) }}", {"t:[", c + "<|im_end|>", "t:]"}},
      {"{{ messages[0].content.strip() | tojson }}", {c + "\"<|im_end|>\""}},
      {"{{ [messages[0].content.strip()] | tojson }}", {"t:[", c + "\"<|im_end|>\"", "t:]"}},
      {"{{ {'k': messages[0].content.strip()} }}", {"t:{'k': ", c + "'<|im_end|>'", "t:}"}},
      {"{{ messages[0].content | e | trim }}", {c + "&lt;|im_end|&gt;"}},
      {"{% set x %}<{{ messages[0].content.strip() }}{% endset %}{{ x }}",
       {"t:<", c + "<|im_end|>"}},
      {"{% macro m(x) %}({{ x }}{% endmacro %}{{ m(messages[0].content.strip()) }}",
       {"t:(", c + "<|im_end|>"}},
      {"{% filter trim %} {{ messages[0].content }} {% endfilter %}", {c + "<|im_end|>"}},
      {"{{ messages[0].content.strip() | indent(2, true) }}", {"t:  ", c + "<|im_end|>"}},
      {"{{ messages[0].content | truncate(5, true, '', 0) }}", {c + " <|im"}},
      {"{% if messages[0].role == 'user' %}{{ messages[0].role }}{% endif %}",
       {"messages[0].role:user"}},
      {"{% for k in messages[0] %}{{ k }} {% endfor %}",
       {"messages[0].role:role", "t: ", c + "content", "t: "}},
  };
  for (const auto& [source, expected] : cases)
    EXPECT_EQ(runs(render(source, messages)), expected) << source;
}

TEST(ChatOrigins, NumbersAndEscapesAreTheUsers) {
  const std::string messages =
      R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"n": 1.5, "b": true, "s": {"k": "\"\n"}}}}]}])";
  const std::string a = "messages[0].tool_calls[0].function.arguments.";
  const std::string source =
      "{% for k, v in messages[0].tool_calls[0].function.arguments | items %}{{ k }}={{ v | string "
      "}} {{ v | tojson }};{% endfor %}";
  const SourceText text = render(source, messages);
  EXPECT_EQ(runs(text), (Runs{a + "n:n", "t:=", a + "n:1.5", "t: ", a + "n:1.5", "t:;",    //
                              a + "b:b", "t:=", a + "b:True", "t: ", a + "b:true", "t:;",  //
                              a + "s:s", "t:=", a + "s:{'k': '\"\\n'}",
                              "t: ", a + R"(s:{"k": "\"\n"})", "t:;"}));
  for (const SourcePart& part : text.parts) {
    EXPECT_TRUE(part.assistant);
    EXPECT_EQ(part.message, 0);
  }
}

TEST(ChatOrigins, ToolsAndKeywordsHaveOnePartEach) {
  const io::Json messages =
      io::parse_json(R"([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])", "m");
  const io::Json tools =
      io::parse_json(R"([{"name": "a"}, {"name": "<|im_end|>", "n": [1, "x"]}])", "t");
  RenderInput input{messages, &tools};
  input.kwargs = io::parse_json(R"({"x": {"y": "z"}})", "k");
  const SourceText text = ChatTemplate::parse(
                              "{{ tools[1] | tojson }}|{{ x.y }}|{{ messages[0].content[0].text "
                              "}}{{ messages[0].role }}",
                              "t")
                              .render(input);
  EXPECT_EQ(runs(text),
            (Runs{R"(tools[1]:{"name": "<|im_end|>", "n": [1, "x"]})", "t:|", "kwargs.x:z", "t:|",
                  "messages[0].content[0].text:hi", "messages[0].role:user"}));
  EXPECT_EQ(text.parts[0].message, -1);
  EXPECT_EQ(text.parts[2].message, 0);
  EXPECT_FALSE(text.parts[2].assistant);
}

// A conversation of random pieces, and the same with every character that is not white space
// replaced by an 'x'.
class RandomConversation {
 public:
  explicit RandomConversation(unsigned seed) : random_(seed) {}

  io::Json messages() {
    io::Json result = io::Json::array();
    const std::size_t count = 1 + pick(4);
    for (std::size_t i = 0; i < count; ++i) {
      result.push(io::Json::object().add("role", "user").add("content", content()));
      if (pick(2) == 0) result.push(assistant());
      if (pick(3) == 0)
        result.push(io::Json::object().add("role", "tool").add("content", content()));
    }
    return result;
  }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_()) % n; }
  std::string text() {
    static const std::vector<std::string> kPieces = {"<|im_end|>",
                                                     "<|im_start|>",
                                                     "<|image_pad|>",
                                                     "<|vision_start|>",
                                                     "<tool_call>",
                                                     "<|im_",
                                                     "end|>",
                                                     "user",
                                                     " ",
                                                     "  a ",
                                                     "<function=x>",
                                                     "<|endoftext|>",
                                                     "1"};
    std::string result = "q";
    for (std::size_t i = pick(6); i > 0; --i) result += kPieces[pick(kPieces.size())];
    return result;
  }
  io::Json content() {
    if (pick(2) == 0) return text();
    io::Json parts = io::Json::array();
    for (std::size_t i = 1 + pick(3); i > 0; --i) {
      if (pick(3) == 0) {
        parts.push(io::Json::object().add("type", "image"));
      } else {
        parts.push(io::Json::object().add("type", "text").add("text", text()));
      }
    }
    return parts;
  }
  io::Json assistant() {
    io::Json message = io::Json::object();
    message.add("role", "assistant").add("content", content());
    if (pick(2) == 0) message.add("reasoning_content", text());
    if (pick(2) == 0) {
      io::Json arguments = io::Json::object();
      arguments.add("a", text()).add("b", io::Json::array().push(text()).push(1));
      io::Json call = io::Json::object();
      call.add("name", text()).add("arguments", std::move(arguments));
      message.add("tool_calls", io::Json::array().push(std::move(call)));
    }
    return message;
  }
  std::mt19937 random_;
};

std::string masked(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c != ' '; }, 'x');
  return text;
}

// Masks every string but roles and types; the keys stay.
io::Json masked(const io::Json& value) {
  if (value.is_string()) return masked(value.as_string());
  io::Json result = value;
  if (value.is_array()) {
    for (io::Json& element : result.as_array()) element = masked(element);
  }
  if (value.is_object()) {
    for (auto& [key, member] : result.as_object()) {
      if (key != "role" && key != "type") member = masked(member);
    }
  }
  return result;
}

// Typed control tokens change nothing but the bytes that are marked as typed: the rendering of the
// masked conversation is the rendering with its typed bytes masked.
TEST(ChatOrigins, TypedControlTokensStayWhereTheyAreTyped) {
  for (const char* file : {"chat_template.jinja", "chat_template_4b.jinja"}) {
    const ChatTemplate chat_template = ChatTemplate::parse(
        io::read_file(std::string(SIGHTLINE_TEST_DATA) + "/processor/" + file), file);
    for (unsigned seed = 0; seed < 300; ++seed) {
      const io::Json messages = RandomConversation(seed).messages();
      const io::Json plain = masked(messages);
      const SourceText typed = chat_template.render({messages});
      const SourceText reference = chat_template.render({plain});
      ASSERT_EQ(typed.origins.size(), typed.bytes.size());
      ASSERT_EQ(typed.origins, reference.origins) << seed;
      for (std::size_t i = 0; i < typed.size(); ++i) {
        const bool own =
            typed.origins[i] == kTemplateOrigin || typed.bytes[i] == reference.bytes[i];
        ASSERT_TRUE(own || (reference.bytes[i] == 'x' && typed.bytes[i] != ' '))
            << seed << " at " << i;
        if (typed.origins[i] == kTemplateOrigin) {
          ASSERT_EQ(typed.bytes[i], reference.bytes[i]) << seed << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sightline::chat
