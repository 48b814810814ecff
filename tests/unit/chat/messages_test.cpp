// Protects: every shape in which people send messages is either understood or refused with the JSON
// path of what is wrong; nothing is silently dropped.
#include "chat/messages.hpp"

#include <gtest/gtest.h>

#include <map>

#include "chat/chat_template.hpp"
#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::chat {
namespace {

io::Json json(const std::string& text) { return io::parse_json(text, "test"); }
Messages read(const std::string& text) { return read_messages(json(text)); }
std::string normal(const std::string& text) {
  return io::to_json_text(normalize_messages(json(text)));
}

// The error of a content array in a user message.
std::string error_of_parts(const std::string& parts) {
  try {
    read(R"([{"role": "user", "content": )" + parts + "}]");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
std::string error_of(const std::string& messages) {
  try {
    read(messages);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string bytes_of(const std::string& url) {
  return std::get<DataSource>(read_visual_source(url, "where")).bytes;
}
std::string path_of(const std::string& url) {
  return std::get<PathSource>(read_visual_source(url, "where")).path;
}

TEST(Messages, ReasoningHasOneNameInside) {
  for (const char* name : {"reasoning_content", "reasoning", "thinking"}) {
    const io::Json message =
        normalize_messages(
            json(std::string(R"([{"role": "assistant", "content": "a", ")") + name + R"(": "r"}])"))
            .as_array()[0];
    EXPECT_EQ(message.find("reasoning_content")->as_string(), "r") << name;
  }
  // Null is absent; the first name that has a value wins.
  const io::Json message =
      normalize_messages(
          json(R"([{"role": "assistant", "reasoning_content": null, "reasoning": "r"}])"))
          .as_array()[0];
  EXPECT_EQ(message.find("reasoning_content")->as_string(), "r");
  EXPECT_EQ(error_of(R"([{"role": "assistant", "reasoning": 5}])"),
            "messages[0].reasoning: expected a string, found integer");
}

TEST(Messages, ArgumentsGivenAsTextAreParsed) {
  EXPECT_EQ(
      normal(
          R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"b\": 1, \"a\": [true]}"}}]}])"),
      R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":[true]}}}]}])");
  EXPECT_EQ(normal(R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": ""}]}])"),
            R"([{"role":"assistant","tool_calls":[{"name":"f","arguments":{}}]}])");
  EXPECT_EQ(
      error_of(
          R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}])"),
      "messages[0].tool_calls[0].function.arguments: expected a JSON object, found array");
  EXPECT_NE(
      error_of(
          R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}])")
          .find("messages[0].tool_calls[0].function.arguments: invalid JSON at byte"),
      std::string::npos);
  EXPECT_EQ(error_of(R"([{"role": "assistant", "tool_calls": [{"function": {"arguments": {}}}]}])"),
            "messages[0].tool_calls[0].function.name: expected a string, found nothing");
}

TEST(Messages, FaultyMessagesAreNamed) {
  EXPECT_EQ(error_of(R"({"role": "user"})"),
            "messages: expected an array of messages, found object");
  EXPECT_EQ(error_of(R"(["hi"])"),
            "messages[0]: expected an object with role and content, found string");
  EXPECT_EQ(error_of(R"([{"content": "hi"}])"),
            "messages[0].role: expected a string, found nothing");
  EXPECT_EQ(error_of(R"([{"role": 1}])"), "messages[0].role: expected a string, found integer");
  EXPECT_EQ(error_of(R"([{"role": "user", "content": 5}])"),
            "messages[0].content: expected a string or an array of parts, found integer");
  EXPECT_EQ(error_of(R"([{"role": "user", "content": null}])"), "no error");
  EXPECT_EQ(error_of("[]"), "no error");  // the template itself refuses it
}

TEST(Messages, ContentParts) {
  const Messages messages = read(R"([
    {"role": "user", "content": [{"type": "text", "text": "A:"}, {"type": "image", "image": "a.png"}, {"type": "text", "text": "B:"},
      {"type": "image_url", "image_url": {"url": "file:///b%20c.png", "detail": "auto"}}, {"type": "input_text", "text": "?"}]},
    {"role": "assistant", "content": "no"},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,QUJD"}, {"image": "d.png"},
      {"type": "video", "video": "v.mp4", "fps": 2}, {"type": "video_url", "video_url": {"url": "w.mp4"}}, {"video": ["f1.png", "f2.png"]}]}])");
  ASSERT_EQ(messages.visuals.size(), 7U);
  EXPECT_EQ(std::get<PathSource>(messages.visuals[0].source).path, "a.png");
  EXPECT_EQ(messages.visuals[0].where, "messages[0].content[1]");
  EXPECT_EQ(messages.visuals[0].item, 1U);
  EXPECT_EQ(std::get<PathSource>(messages.visuals[1].source).path, "/b c.png");
  EXPECT_EQ(std::get<DataSource>(messages.visuals[2].source).bytes, "ABC");
  EXPECT_EQ(messages.visuals[2].message, 2U);
  EXPECT_EQ(std::get<PathSource>(messages.visuals[3].source).path, "d.png");
  EXPECT_EQ(messages.visuals[4].kind, VisualKind::video);
  EXPECT_EQ(io::to_json_text(messages.visuals[4].options), R"({"fps":2})");
  EXPECT_EQ(std::get<PathSource>(messages.visuals[5].source).path, "w.mp4");
  EXPECT_EQ(messages.visuals[6].frames.size(), 2U);
  // Decoded pictures do not travel through the template.
  EXPECT_EQ(io::to_json_text(messages.json).find("QUJD"), std::string::npos);
}

TEST(Messages, OrderOfPartsIsKeptAndPicturesAreNumbered) {
  const ChatTemplate chat_template = ChatTemplate::parse(
      io::read_file(std::string(SIGHTLINE_TEST_DATA) + "/processor/chat_template.jinja"),
      "chat_template.jinja");
  const io::Json messages =
      read(
          R"([{"role": "user", "content": [{"type": "text", "text": "A:"}, {"type": "image", "image": "1"},
      {"type": "text", "text": "B:"}, {"type": "image", "image": "2"}, {"type": "text", "text": "differ?"}]}])")
          .json;
  RenderInput input{messages};
  input.kwargs = json(R"({"add_vision_id": true})");
  const std::string image = "<|vision_start|><|image_pad|><|vision_end|>";
  EXPECT_TRUE(chat_template.render(input).bytes.starts_with(
      "<|im_start|>user\nA:Picture 1: " + image + "B:Picture 2: " + image + "differ?<|im_end|>\n"));
  const io::Json text = json(R"([{"role": "user", "content": "hi"}])");
  const io::Json parts = json(R"([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])");
  EXPECT_EQ(chat_template.render({text}).bytes, chat_template.render({parts}).bytes);
}

TEST(Messages, PixelLimitsAreHonouredInBothPlaces) {
  for (
      const char* part :
      {R"([{"type": "image_url", "image_url": {"url": "a"}, "max_pixels": 262144, "min_pixels": 1}])",
       R"([{"type": "image_url", "image_url": {"url": "a", "max_pixels": 262144, "min_pixels": 1}}])"}) {
    const Messages messages = read(std::string(R"([{"role": "user", "content": )") + part + "}]");
    EXPECT_EQ(messages.visuals.at(0).max_pixels, 262144) << part;
    EXPECT_EQ(messages.visuals.at(0).min_pixels, 1) << part;
  }
  EXPECT_EQ(error_of_parts(R"([{"type": "image", "image": "a", "max_pixels": "big"}])"),
            "messages[0].content[0].max_pixels: expected a positive integer, found \"big\"");
  EXPECT_EQ(error_of_parts(R"([{"image_url": {"url": "a", "max_pixels": 5}, "max_pixels": 6}])"),
            "messages[0].content[0].max_pixels: expected the field once, found it next to the "
            "address and inside it");
}

TEST(Messages, NothingInAPartIsIgnored) {
  const std::string at = "messages[0].content[0]";
  const std::string known =
      "one of text, input_text, output_text, image, image_url, input_image, video, input_video";
  EXPECT_EQ(error_of_parts(R"([{"type": "audio"}])"),
            at + ".type: expected " + known + ", found \"audio\"");
  EXPECT_EQ(error_of_parts(R"([{}])"), at + ".type: expected " + known + ", found nothing");
  EXPECT_EQ(error_of_parts(R"(["hi"])"), at + ": expected an object with a type, found string");
  EXPECT_EQ(error_of_parts(R"([{"type": "text", "text": null}])"),
            at + ".text: expected a string, found null");
  EXPECT_EQ(error_of_parts(R"([{"type": "text"}])"),
            at + ".text: expected a string, found nothing");
  EXPECT_EQ(error_of_parts(R"([{"type": "text", "text": "a", "image": "b"}])"),
            at + ": expected the fields type and text, found \"image\"");
  EXPECT_EQ(error_of_parts(R"([{"type": "image"}])"),
            at + ": expected image or image_url with a path or a URL, found nothing");
  EXPECT_EQ(error_of_parts(R"([{"type": "image", "image": 5}])"),
            at + ".image: expected a path or a URL, found integer");
  EXPECT_EQ(error_of_parts(R"([{"type": "image", "image": "a", "resized_width": 5}])"),
            at + ": expected the fields type, image, image_url, detail, min_pixels, max_pixels, "
                 "found \"resized_width\"");
  EXPECT_EQ(error_of_parts(R"([{"image_url": {"url": "a", "size": 5}}])"),
            at + ".image_url: expected the fields url, path, detail, min_pixels, max_pixels, found "
                 "\"size\"");
  EXPECT_EQ(error_of_parts(R"([{"image_url": {}}])"),
            at + ".image_url.url: expected a path or a URL, found nothing");
  EXPECT_EQ(error_of_parts(R"([{"image_url": {"url": "a", "detail": "low"}}])"),
            at + ".image_url.detail: expected \"auto\" or \"high\" (use max_pixels for a smaller "
                 "picture), found \"low\"");
}

TEST(DataUrl, AllShapesGiveTheSameBytes) {
  for (const char* url :
       {"data:image/png;base64,QUJDRA==", "data:image;base64,QUJDRA==", "data:;base64,QUJDRA",
        "DATA:image/png;BASE64,QUJDRA==", "data:image/png;charset=x;base64,QUJDRA==",
        "data:image/png;base64 , QUJD\r\nRA =\n= ", "data:image/png;base64,QUJDRA%3D%3D",
        "data:image/png;base64,QUJDRA="}) {
    EXPECT_EQ(bytes_of(url), "ABCD") << url;
  }
  EXPECT_EQ(bytes_of("data:;base64,-_-_"), bytes_of("data:;base64,+/+/"));
  EXPECT_EQ(bytes_of("data:;base64,QQ"), "A");
  EXPECT_EQ(bytes_of("data:;base64,QUI"), "AB");
  EXPECT_EQ(bytes_of("data:;base64,AAAA"), std::string(3, '\0'));
}

TEST(DataUrl, InvalidOnesNameThePosition) {
  const auto error = [](const std::string& url) -> std::string {
    try {
      (void)read_visual_source(url, "p");
    } catch (const Error& caught) {
      return caught.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("data:;base64,QUJ!"), "p: invalid base64 in the data URL at byte 16: found '!'");
  EXPECT_EQ(error("data:;base64,QQ==QQ"),
            "p: invalid base64 in the data URL at byte 17: data behind the padding");
  EXPECT_EQ(error("data:;base64,QUJDR"),
            "p: invalid base64 in the data URL at byte 18: the last group has one character, "
            "expected 2 to 4");
  EXPECT_EQ(error("data:;base64,"),
            "p: invalid base64 in the data URL at byte 13: expected data, found nothing");
  EXPECT_EQ(error("data:image/png,abc"),
            "p: a data URL that is not base64: expected data:image/png;base64,…");
  EXPECT_EQ(error("data:image/png;base64"),
            "p: a data URL without ',': expected data:image/png;base64,…");
  EXPECT_EQ(error("http://169.254.169.254/"),
            "p: http:// addresses are not fetched, nothing is ever downloaded; save the file and "
            "give its path or a data URL");
  EXPECT_EQ(error("HTTPS://x/y.png").substr(0, 38), "p: HTTPS:// addresses are not fetched,");
  EXPECT_EQ(error(""), "p: expected a path, a file:// or a data: URL, found an empty text");
  EXPECT_EQ(error("file://host/a"),
            "p: a file URL needs three slashes and an absolute path: found \"file://host/a\"");
  EXPECT_EQ(path_of("file:///etc/a%2Bb"), "/etc/a+b");
  EXPECT_EQ(path_of("file://localhost/x"), "/x");
  EXPECT_EQ(path_of("dir/a:b.png"), "dir/a:b.png");
}

// The template's own errors come with the message that they are about.
TEST(Messages, TemplateErrorsNameTheMessage) {
  const ChatTemplate chat_template = ChatTemplate::parse(
      io::read_file(std::string(SIGHTLINE_TEST_DATA) + "/processor/chat_template.jinja"),
      "chat_template.jinja");
  const auto context_of = [&](const std::string& messages) {
    std::map<std::string, std::string> context;
    try {
      const io::Json parsed = json(messages);
      (void)chat_template.render({parsed});
    } catch (const Error& error) {
      for (const auto& [key, value] : error.context()) context[key] = value;
    }
    return context;
  };
  const std::string user = R"({"role": "user", "content": "a"})";
  const std::string system = R"({"role": "system", "content": "b"})";
  EXPECT_EQ(context_of("[" + user + "," + system + "]")["message_index"], "1");
  EXPECT_EQ(context_of("[" + system + "," + system + "," + user + "]")["message_index"], "1");
  EXPECT_EQ(context_of("[" + user + R"(,{"role": "critic", "content": "b"}])")["message_index"],
            "1");
  EXPECT_EQ(
      context_of(R"([{"role": "system", "content": [{"type": "image"}]},)" + user + "]")["path"],
      "messages[0].content[0]");
  EXPECT_EQ(
      context_of(
          R"([{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "audio"}]}])")
          ["path"],
      "messages[0].content[1]");
  EXPECT_EQ(context_of(R"([{"role": "user", "content": 5}])")["path"], "messages[0].content");
  EXPECT_EQ(context_of("[" + system + "]").count("message_index"), 0U);
  EXPECT_EQ(context_of("[" + system + "]")["reason"], "No user query found in messages.");
}

}  // namespace
}  // namespace sightline::chat
