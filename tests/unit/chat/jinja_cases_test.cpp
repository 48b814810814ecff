// Protects: every construct of the template language gives what jinja2 gives, in the environment of
// transformers. The cases are written by tools/reference/template_cases.py.
#include <gtest/gtest.h>

#include "chat/chat_template.hpp"

namespace sightline::chat {
namespace {

TEST(JinjaCases, EqualTheReference) {
  const io::Json document =
      io::read_json_file(std::string(SIGHTLINE_TEST_DATA) + "/text/jinja_cases.json");
  const io::Json messages = io::Json::array();
  ASSERT_GT(document.find("cases")->as_array().size(), 600U);
  for (const io::Json& golden : document.find("cases")->as_array()) {
    const std::string& source = golden.find("template")->as_string();
    const io::Json* text = golden.find("text");
    RenderInput input{messages};
    input.kwargs = *document.find("context");
    input.add_generation_prompt = false;
    try {
      const std::string found = ChatTemplate::parse(source, "case").render(input).bytes;
      if (text == nullptr) {
        ADD_FAILURE() << source << "\n  gives " << found << "\n  expected "
                      << golden.find("error")->as_string();
      } else {
        EXPECT_EQ(found, text->as_string()) << source;
      }
    } catch (const Error& error) {
      if (text != nullptr)
        ADD_FAILURE() << source << "\n  fails: " << error.what() << "\n  expected "
                      << text->as_string();
    }
  }
}

}  // namespace
}  // namespace sightline::chat
