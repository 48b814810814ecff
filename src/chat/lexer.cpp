// The template lexer: text outside tags with white space control, then the expression tokens inside
// them.
#include "chat/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chat/text.hpp"

namespace sightline::chat {
namespace {

// "\r\n" and "\r" become "\n"; one newline at the very end is dropped (keep_trailing_newline is
// off).
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name)
      : source_(normalized(source)), name_(name) {}

  std::vector<Token> run() {
    while (pos_ < source_.size()) read_outside();
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_syntax(name_, line_, what); }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return pos_ + ahead < source_.size() ? source_[pos_ + ahead] : '\0';
  }
  [[nodiscard]] bool at(std::string_view text) const {
    return source_.compare(pos_, text.size(), text) == 0;
  }

  // Moves forward, counting lines and remembering whether a line has just begun.
  void advance(std::size_t count) {
    line_ += static_cast<int>(
        std::count(source_.begin() + static_cast<std::ptrdiff_t>(pos_),
                   source_.begin() + static_cast<std::ptrdiff_t>(pos_ + count), '\n'));
    pos_ += count;
    line_starting_ = pos_ > 0 && source_[pos_ - 1] == '\n';
  }
  void skip_space() {
    std::size_t end = pos_;
    while (end < source_.size() && is_space(char_at(source_, end))) end += char_size(source_, end);
    if (end > pos_) advance(end - pos_);
  }

  // Text up to the next tag, then the tag.
  void read_outside() {
    std::size_t tag = pos_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos) break;
      const char next = tag + 1 < source_.size() ? source_[tag + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    }
    if (tag == std::string::npos) {
      add(TokenKind::data, source_.substr(pos_));
      advance(source_.size() - pos_);
      return;
    }
    const char kind = source_[tag + 1];
    read_text(tag, tag + 2, kind != '{');
    advance(2);
    const bool sign = peek() == '-' || peek() == '+';
    if (kind == '%' && read_raw(sign ? 1 : 0)) return;
    if (sign) advance(1);
    if (kind == '#') return read_comment();
    add(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
    read_inside(kind == '{' ? TokenKind::variable_end : TokenKind::block_end);
  }

  // Emits source[pos, end) with the white space control of the tag whose sign stands at `sign_at`.
  void read_text(std::size_t end, std::size_t sign_at, bool lstrip) {
    const char sign = sign_at < source_.size() ? source_[sign_at] : '\0';
    const std::string_view text = std::string_view(source_).substr(pos_, end - pos_);
    std::size_t keep = text.size();
    if (sign == '-') {
      keep = trim_range(text, {.left = false}).end;
    } else if (sign != '+' && lstrip) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      const bool blank = trim_range(text.substr(start), {.left = false}).end == 0;
      if ((start > 0 || line_starting_) && blank) keep = start;
    }
    if (keep > 0) add(TokenKind::data, std::string(text.substr(0, keep)));
    advance(text.size());
  }

  // After "{%": a raw block, if it is one. `skip` is the length of the sign.
  bool read_raw(std::size_t skip) {
    const std::size_t open = end_of_word(pos_ + skip, "raw");
    if (open == 0) return false;
    const bool trims = source_.compare(open, 3, "-%}") == 0;
    if (!trims && source_.compare(open, 2, "%}") != 0) return false;
    advance(open + (trims ? 3 : 2) - pos_);
    if (trims) skip_space();
    for (std::size_t tag = source_.find("{%", pos_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      const std::size_t close = end_of_word(tag + (sign == '-' || sign == '+' ? 3 : 2), "endraw");
      if (close == 0) continue;
      const std::size_t signs = source_[close] == '-' || source_[close] == '+' ? 1 : 0;
      if (source_.compare(close + signs, 2, "%}") != 0) continue;
      read_text(tag, tag + 2, true);
      advance(close - pos_);
      end_tag("%}", true);
      return true;
    }
    fail("missing end of the raw block");
  }

  // Offset behind white space, `word` and white space, 0 if they are not there. In range of source_
  // when not 0.
  [[nodiscard]] std::size_t end_of_word(std::size_t from, std::string_view word) const {
    const auto skip = [&](std::size_t i) {
      while (i < source_.size() && is_space(char_at(source_, i))) i += char_size(source_, i);
      return i;
    };
    from = skip(from);
    if (from > source_.size() || source_.compare(from, word.size(), word) != 0) return 0;
    from = skip(from + word.size());
    return from < source_.size() ? from : 0;
  }

  void read_comment() {
    const std::size_t close = source_.find("#}", pos_);
    if (close == std::string::npos) fail("missing end of comment");
    const char before = close > pos_ ? source_[close - 1] : '\0';
    advance(close - pos_ - (before == '-' || before == '+' ? 1 : 0));
    end_tag("#}", true);
  }

  // Consumes "-%}" with the space behind it, "+%}", or "%}" with one newline where trim_blocks
  // applies. False: no end here.
  bool end_tag(std::string_view closing, bool trims_newline) {
    const char sign = peek();
    if (sign == '-' && source_.compare(pos_ + 1, closing.size(), closing) == 0) {
      advance(1 + closing.size());
      skip_space();
      return true;
    }
    if (trims_newline && sign == '+' && source_.compare(pos_ + 1, closing.size(), closing) == 0) {
      advance(1 + closing.size());
      return true;
    }
    if (!at(closing)) return false;
    advance(closing.size());
    if (trims_newline && peek() == '\n') advance(1);
    return true;
  }

  void read_inside(TokenKind end) {
    const bool block = end == TokenKind::block_end;
    std::string open;
    while (true) {
      skip_space();
      if (pos_ >= source_.size())
        fail(block ? "missing end of the tag: %}" : "missing end of the expression: }}");
      const int line = line_;
      if (open.empty() && end_tag(block ? "%}" : "}}", block)) {
        tokens_.push_back({end, "", line});
        return;
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const char c = peek();
    if (is_digit_char(c)) return read_number();
    if (is_name_char(c)) {
      std::size_t size = 1;
      while (is_name_char(peek(size))) ++size;
      add(TokenKind::name, source_.substr(pos_, size));
      return advance(size);
    }
    if (c == '\'' || c == '"') return read_string();
    read_operator(open);
  }

  void read_operator(std::string& open) {
    constexpr std::array<std::string_view, 26> kOperators = {
        "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto* const it = std::find_if(kOperators.begin(), kOperators.end(),
                                        [&](std::string_view op) { return at(op); });
    if (it == kOperators.end()) {
      fail(
          fmt::format("unexpected character '{}'", source_.substr(pos_, char_size(source_, pos_))));
    }
    const char c = it->front();
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) {
        fail(open.empty() ? fmt::format("unexpected '{}'", c)
                          : fmt::format("unexpected '{}', expected '{}'", c, open.back()));
      }
      open.pop_back();
    }
    add(TokenKind::op, std::string(*it));
    advance(it->size());
  }

  // Digits with single underscores between them, from `at` on.
  [[nodiscard]] std::size_t digits(std::size_t ahead, bool hex = false) const {
    const auto digit = [&](char c) {
      return is_digit_char(c) || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
    };
    std::size_t end = ahead;
    while (digit(peek(end)) || (peek(end) == '_' && end > ahead && digit(peek(end + 1)))) ++end;
    return end;
  }

  void read_number() {
    const char prefix = static_cast<char>(peek(1) | 0x20);
    std::size_t end = digits(0);
    TokenKind kind = TokenKind::integer;
    if (peek() == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b') &&
        digits(2, prefix == 'x') > 2) {
      end = digits(2, prefix == 'x');
    } else if (pos_ == 0 || source_[pos_ - 1] != '.') {
      std::size_t fraction = end;
      if (peek(end) == '.' && is_digit_char(peek(end + 1))) fraction = digits(end + 1);
      std::size_t exponent = fraction;
      if ((peek(fraction) | 0x20) == 'e') {
        const std::size_t sign = peek(fraction + 1) == '+' || peek(fraction + 1) == '-' ? 1 : 0;
        if (is_digit_char(peek(fraction + 1 + sign))) exponent = digits(fraction + 1 + sign);
      }
      if (exponent > end) kind = TokenKind::real;
      end = exponent;
    }
    std::string text = source_.substr(pos_, end);
    std::erase(text, '_');
    if (kind == TokenKind::integer && text.size() > 1 && text[0] == '0' && is_digit_char(text[1]) &&
        text.find_first_not_of('0') != std::string::npos) {
      fail("a number must not start with 0: " + text);
    }
    add(kind, std::move(text));
    advance(end);
  }

  void read_string();
  void read_escape(std::string& out, std::size_t& i);

  std::string source_;
  const std::string& name_;
  std::size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

void Lexer::read_string() {
  const char quote = peek();
  std::size_t i = pos_ + 1;
  std::string out;
  while (i < source_.size() && source_[i] != quote) {
    if (source_[i] == '\\') {
      read_escape(out, i);
    } else {
      out += source_[i++];
    }
  }
  if (i >= source_.size()) fail("missing end of the string");
  add(TokenKind::string, std::move(out));
  advance(i + 1 - pos_);
}

// One escape sequence of Python's "unicode-escape" codec at source_[i].
void Lexer::read_escape(std::string& out, std::size_t& i) {
  constexpr std::string_view kFrom = "abfnrtv\\'\"";
  constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"";
  const char c = i + 1 < source_.size() ? source_[i + 1] : '\0';
  const std::size_t simple = kFrom.find(c);
  i += 2;
  if (c == '\n') return;
  if (c != '\0' && simple != std::string_view::npos) {
    out += kTo[simple];
    return;
  }
  const std::size_t width = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (c == 'N') fail("\\N{...} in a string is not supported");
  char32_t code = 0;
  if (width > 0) {
    for (std::size_t k = 0; k < width; ++k, ++i) {
      const char h = i < source_.size() ? source_[i] : '\0';
      const int digit = is_digit_char(h)                         ? h - '0'
                        : (h | 0x20) >= 'a' && (h | 0x20) <= 'f' ? (h | 0x20) - 'a' + 10
                                                                 : -1;
      if (digit < 0) fail("truncated \\x, \\u or \\U escape in a string");
      code = code * 16 + static_cast<char32_t>(digit);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      fail("a string escape that is no character");
  } else if (c >= '0' && c <= '7') {
    --i;
    for (int k = 0; k < 3 && i < source_.size() && source_[i] >= '0' && source_[i] <= '7';
         ++k, ++i) {
      code = code * 8 + static_cast<char32_t>(source_[i] - '0');
    }
  } else {
    out += '\\';
    --i;
    return;
  }
  out += encode_char(code);
}

}  // namespace

void fail_syntax(const std::string& name, int line, const std::string& what) {
  throw Error(Code::invalid_template, fmt::format("{} line {}: {}", name, line, what),
              {{"template", name}, {"line", std::to_string(line)}, {"reason", what}});
}

std::vector<Token> tokenize_template(std::string_view source, const std::string& name) {
  return Lexer(source, name).run();
}

}  // namespace sightline::chat
