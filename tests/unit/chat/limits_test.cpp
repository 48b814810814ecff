// Protects: a hostile or broken template ends with one clear error, in bounded time and memory.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <chrono>

#include "chat/chat_template.hpp"

namespace sightline::chat {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

// The code and message of the error that parsing and rendering ends with; fails the test when there
// is none.
std::pair<Code, std::string> error_of(const std::string& source) {
  const io::Json messages = io::Json::array();
  try {
    const std::string text = ChatTemplate::parse(source, "t.jinja").render({messages}).bytes;
    ADD_FAILURE() << source.substr(0, 100) << " renders " << text.size() << " bytes";
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {Code::internal, ""};
}

void expect_limit(const std::string& source) {
  const auto start = std::chrono::steady_clock::now();
  const auto [code, message] = error_of(source);
  EXPECT_EQ(code, Code::template_limit) << source.substr(0, 100) << "\n" << message;
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, 60) << source.substr(0, 100);
}

TEST(ChatLimits, DeepSource) {
  constexpr std::size_t kMany = 100'000;
  using Brackets = std::pair<const char*, const char*>;
  for (const auto& [open, close] : {Brackets{"(", ")"},
                                    {"[", "]"},
                                    {"{1:", "}"},
                                    {"x(", ")"},
                                    {"x[", "]"},
                                    {"(1,", ")"},
                                    {"not ", ""},
                                    {"-", ""},
                                    {"1 if ", ""}}) {
    expect_limit("{{ " + repeated(open, kMany) + "x" + repeated(close, kMany) + " }}");
  }
  for (const char* tail : {"+x", "~x+x", ".x", "[0]", "|upper", "()", " and x", " or x", "*x",
                           "**x", " if x else y", " if x"}) {
    expect_limit("{{ x" + repeated(tail, kMany) + " }}");
  }
  expect_limit(repeated("{% if x %}", 1000));
  expect_limit(repeated("{% for x in y %}", 1000));
  expect_limit("{% if x %}" + repeated("{% elif x %}", 1000) + "{% endif %}");
  expect_limit("{% set " + repeated("(", kMany) + repeated(")", kMany) + " = 1 %}");
  expect_limit(repeated("x", 2'000'000));
}

TEST(ChatLimits, EndlessWork) {
  expect_limit("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}");
  expect_limit("{% for a in range(100001) %}{% endfor %}");
  expect_limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  expect_limit("{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}");
  expect_limit("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}");
  expect_limit(
      "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% "
      "set n.b = [n.b, n.b] %}"
      "{% endfor %}{{ n.a == n.b }}");
  expect_limit(
      "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{% if 'b' in x %}{% endif %}{% "
      "endfor %}");
  expect_limit(
      "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{{ x | length }}{% endfor %}");
}

TEST(SlowChatLimits, EndlessMemory) {
  for (const char* expression :
       {"'x' * 1000000000000", "[0] * 1000000000000", "(0,) * 9000000000000000000",
        "'x' | center(1000000000000)", "'x'.ljust(1000000000000)", "'x'.zfill(1000000000000)",
        "'x\\ny' | indent(1000000000000)", "'aaaa'.replace('', 'x' * 30000000)",
        "('x' * 30000000).join(['a', 'b', 'c'])", "['a', 'b', 'c'] | join('x' * 30000000)",
        "('\\n' * 3000000) | tojson | tojson | tojson | tojson", "('<' * 30000000) | e",
        "('a,' * 10000000).split(',')", "('x' * 30000000) | list"}) {
    expect_limit(std::string("{{ ") + expression + " }}");
  }
  expect_limit(
      "{% set n = namespace(s='x') %}{% for i in range(100) %}{% set n.s = n.s ~ n.s %}{% endfor "
      "%}");
  expect_limit(
      "{% set n = namespace(s=[1]) %}{% for i in range(100) %}{% set n.s = n.s + n.s %}{% endfor "
      "%}");
  expect_limit(
      "{% set n = namespace(s=[1]) %}{% for i in range(100) %}{% set n.s = [n.s, n.s] %}{% endfor "
      "%}{{ n.s }}");
  expect_limit(
      "{% set n = namespace(s=[1]) %}{% for i in range(100) %}{% set n.s = {'a': n.s, 'b': n.s} "
      "%}{% endfor %}{{ n.s | tojson }}");
  expect_limit(
      "{% set n = namespace(s=[]) %}{% for i in range(1000) %}{% set n.s = n.s + ['x' * 1000000 ~ "
      "i] %}{% endfor %}");
  expect_limit("{% for i in range(1000) %}{{ 'x' * 1000000 }}{% endfor %}");
  expect_limit(
      "{% for i in range(100000) %}{% set n = namespace(a=1) %}{% for j in range(100) %}{% set n = "
      "namespace(a=n) %}{% endfor %}{% endfor %}");
}

TEST(ChatLimits, DeepValuesAndCycles) {
  expect_limit(
      "{% set n = namespace(s=[]) %}{% for i in range(100000) %}{% set n.s = [n.s] %}{% endfor %}");
  expect_limit(
      "{% set n = namespace(s={}) %}{% for i in range(100000) %}{% set n.s = {'a': n.s} %}{% "
      "endfor %}");
  expect_limit(
      "{% set n = namespace(s=[]) %}{% for i in range(100000) %}{% set n.s = [n.s].index %}{% "
      "endfor %}");
  expect_limit(
      "{% set n = namespace(l=1) %}{% for i in range(100000) %}{% for j in [n.l] %}{% set n.l = "
      "loop %}{% endfor %}{% endfor %}");
  expect_limit("{% set n = namespace() %}{% set n.n = n %}{{ n }}");
  const io::Json messages = io::Json::array();
  for (const char* fine :
       {"{% set n = namespace() %}{% set n.n = [n] %}",
        "{% for i in [1, 2] %}{% if loop.changed(loop) %}{% endif %}{% endfor %}",
        "{% set n = namespace() %}{% for i in [1] %}{% set n.l = loop %}{% endfor %}{{ n.l.index "
        "}}",
        "{% set n = namespace() %}{% for i in [1] %}{% macro m() %}{% endmacro %}{% set n.m = m "
        "%}{% endfor %}{{ n.m() }}"}) {
    EXPECT_NO_THROW((void)ChatTemplate::parse(fine, "t").render({messages})) << fine;
  }
  EXPECT_EQ(error_of("{% set n = namespace() %}{% for i in [1] recursive %}{% set n.l = loop %}{% "
                     "endfor %}{{ n.l([1]) }}")
                .first,
            Code::template_error);
}

TEST(ChatLimits, PeakMemoryStaysBounded) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 3L << 20U) << "kibibytes, after the tests above when they ran";
}

TEST(ChatErrors, SyntaxNamesTheLineAndWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\n{% if x %}",
       "t.jinja line 2: unexpected end of the template; looking for elif or else or endif"},
      {"{{ 'abc }}", "t.jinja line 1: missing end of the string"},
      {"{{ x", "t.jinja line 1: missing end of the expression: }}"},
      {"{% set x = 1", "t.jinja line 1: missing end of the tag: %}"},
      {"\n\n{# x", "t.jinja line 3: missing end of comment"},
      {"{% raw %}", "t.jinja line 1: missing end of the raw block"},
      {"{{ x | urlize }}", "t.jinja line 1: the filter 'urlize' is not supported"},
      {"{{ x is divisble }}", "t.jinja line 1: the test 'divisble' is not supported"},
      {"{% include 'x' %}", "t.jinja line 1: the tag 'include' is not supported in chat templates"},
      {"{% frob %}", "t.jinja line 1: unknown tag 'frob'"},
      {"{% if x %}{% endfor %}",
       "t.jinja line 1: unknown tag 'endfor'; looking for elif or else or endif"},
      {"{{ (x] }}", "t.jinja line 1: unexpected ']', expected ')'"},
      {"{{ x $ }}", "t.jinja line 1: unexpected character '$'"},
      {"{{ 99999999999999999999 }}",
       "t.jinja line 1: the number 99999999999999999999 is not supported"},
      {"{% break %}", "t.jinja line 1: 'break' outside a loop"},
      {"{{ '\\ud800' }}", "t.jinja line 1: a string escape that is no character"},
      {"x\n\xFF", "t.jinja line 2: byte 2 is not UTF-8"},
  };
  for (const auto& [source, expected] : cases) {
    const auto [code, message] = error_of(source);
    EXPECT_EQ(code, Code::invalid_template) << source;
    EXPECT_EQ(message, expected);
  }
}

TEST(ChatErrors, FailuresNameTheLineAndTheReason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\n{{ x.y }}", "t.jinja line 2: 'x' is undefined"},
      {"{{ {}.a.b }}", "t.jinja line 1: 'dict object' has no attribute 'a'"},
      {"{{ [].append(1) }}",
       "t.jinja line 1: access to attribute 'append' of 'list' object is unsafe."},
      {"{{ 9223372036854775807 + 1 }}",
       "t.jinja line 1: an integer beyond 64 bits is not supported"},
      {"{{ lipsum() }}", "t.jinja line 1: the function 'lipsum' is not supported"},
      {"{{ '{:>5}'.format(1) }}",
       "t.jinja line 1: format specifications in str.format are not supported"},
      {"\n\n{{ raise_exception('as it is') }}", "as it is"},
      {"{% macro m() %}\n{{ 1 }}{% endmacro %}\n\n{{ m() + 1 }}",
       "t.jinja line 4: can only concatenate str (not \"int\") to str"},
  };
  for (const auto& [source, expected] : cases) {
    const auto [code, message] = error_of(source);
    EXPECT_EQ(code, Code::template_error) << source;
    EXPECT_EQ(message, expected);
  }
}

TEST(ChatErrors, KeywordsCannotReplaceTheMessages) {
  const io::Json messages = io::Json::array();
  RenderInput input{messages};
  input.kwargs = io::parse_json(R"({"messages": []})", "k");
  EXPECT_THROW((void)ChatTemplate::parse("x", "t").render(input), Error);
}

}  // namespace
}  // namespace sightline::chat
