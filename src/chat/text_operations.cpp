// Case, replacement, splitting and padding of texts, byte ranges and origins together.
#include "chat/text_operations.hpp"

#include <algorithm>

namespace sightline::chat {
namespace {

constexpr char32_t kSharpS = 0xDF;

bool is_cased(char32_t c) { return to_upper(c) != c || to_lower(c) != c || c == kSharpS; }

std::string upper_char(char32_t c) { return c == kSharpS ? "SS" : encode_char(to_upper(c)); }

}  // namespace

Text change_case(Interpreter& vm, const Text& text, Case wanted) {
  const std::string& bytes = text.bytes();
  vm.meter().step_bytes(bytes.size() * 4);
  Text out;
  bool inside_word = false;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t size = char_size(bytes, i);
    const char32_t c = char_at(bytes, i);
    bool upper = wanted == Case::upper || (wanted == Case::capitalize && i == 0);
    if (wanted == Case::title) upper = !inside_word;
    if (wanted == Case::swap) upper = to_lower(c) == c;
    out.append(upper ? upper_char(c) : encode_char(to_lower(c)), text.origin_at(i));
    inside_word = is_cased(c);
    i += size;
  }
  return out;
}

Text replace_text(Interpreter& vm, const Text& text, std::string_view old, const Text& replacement,
                  std::int64_t limit) {
  const std::string& bytes = text.bytes();
  vm.meter().step_bytes(bytes.size());
  Text out;
  std::size_t i = 0;
  for (std::int64_t done = 0; limit < 0 || done < limit; ++done) {
    const std::size_t at = bytes.find(old, i);
    if (at == std::string::npos) break;
    out.append(text, i, at);
    out.append(replacement);
    vm.meter().step_bytes(replacement.size());
    Meter::check_text(out.size());
    i = at + old.size();
    if (!old.empty()) continue;
    if (at >= bytes.size()) return out;
    i = at + char_size(bytes, at);
    out.append(text, at, i);
  }
  out.append(text, i, bytes.size());
  return out;
}

namespace {

std::vector<Text> split_at(Interpreter& vm, const Text& text, const Split& how) {
  const std::string& bytes = text.bytes();
  std::vector<Text> parts;
  Charge charge(vm.meter());
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  while (how.limit < 0 || static_cast<std::int64_t>(parts.size()) < how.limit) {
    vm.meter().step();
    charge.grow(sizeof(Text));
    std::size_t at = 0;
    if (how.from_right) {
      at = end < begin + how.separator.size()
               ? std::string::npos
               : bytes.rfind(how.separator, end - how.separator.size());
      if (at == std::string::npos) break;
      parts.push_back(text.slice(at + how.separator.size(), end));
      end = at;
    } else {
      at = bytes.find(how.separator, begin);
      if (at == std::string::npos) break;
      parts.push_back(text.slice(begin, at));
      begin = at + how.separator.size();
    }
  }
  parts.push_back(text.slice(begin, end));
  return parts;
}

std::vector<Text> split_at_space(Interpreter& vm, const Text& text, const Split& how) {
  const std::string& bytes = text.bytes();
  std::vector<Text> parts;
  Charge charge(vm.meter());
  Range rest = trim_range(bytes, {});
  while (rest.begin < rest.end) {
    vm.meter().step();
    charge.grow(sizeof(Text));
    const bool last = how.limit >= 0 && static_cast<std::int64_t>(parts.size()) >= how.limit;
    std::size_t cut = how.from_right ? rest.end : rest.begin;
    if (last) {
      // What is left stays together, with the space at its far end.
      parts.push_back(how.from_right ? text.slice(0, rest.end)
                                     : text.slice(rest.begin, bytes.size()));
      return parts;
    }
    if (how.from_right) {
      while (cut > rest.begin && !is_space(char_at(bytes, char_before(bytes, cut))))
        cut = char_before(bytes, cut);
      parts.push_back(text.slice(cut, rest.end));
      while (cut > rest.begin && is_space(char_at(bytes, char_before(bytes, cut))))
        cut = char_before(bytes, cut);
      rest.end = cut;
    } else {
      while (cut < rest.end && !is_space(char_at(bytes, cut))) cut += char_size(bytes, cut);
      parts.push_back(text.slice(rest.begin, cut));
      while (cut < rest.end && is_space(char_at(bytes, cut))) cut += char_size(bytes, cut);
      rest.begin = cut;
    }
  }
  return parts;
}

}  // namespace

std::vector<Text> split_text(Interpreter& vm, const Text& text, const Split& how) {
  vm.meter().step_bytes(text.size());
  std::vector<Text> parts =
      how.separator.empty() ? split_at_space(vm, text, how) : split_at(vm, text, how);
  if (how.from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> split_lines(Interpreter& vm, const Text& text, bool keep_ends) {
  const std::string& bytes = text.bytes();
  const auto ends_line = [](char32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
  };
  std::vector<Text> lines;
  Charge charge(vm.meter());
  for (std::size_t begin = 0; begin < bytes.size();) {
    vm.meter().step();
    charge.grow(sizeof(Text));
    std::size_t end = begin;
    while (end < bytes.size() && !ends_line(char_at(bytes, end))) end += char_size(bytes, end);
    std::size_t next = end < bytes.size() ? end + char_size(bytes, end) : end;
    if (end < bytes.size() && bytes[end] == '\r' && next < bytes.size() && bytes[next] == '\n')
      ++next;
    lines.push_back(text.slice(begin, keep_ends ? next : end));
    begin = next;
  }
  return lines;
}

Text pad_text(const Text& text, std::size_t left, std::size_t right, const Text& fill) {
  const auto check = [&](std::size_t count) {
    if (!fill.empty() && count > kMaxTextBytes / fill.size()) Meter::check_text(kMaxTextBytes + 1);
  };
  check(left);
  check(right);
  Text out;
  for (std::size_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (std::size_t i = 0; i < right; ++i) out.append(fill);
  return out;
}

Value list_of(Interpreter& vm, std::vector<Text> texts) {
  std::vector<Value> items;
  items.reserve(texts.size());
  for (Text& text : texts) items.push_back(vm.make_text(std::move(text)));
  return vm.make_sequence(std::move(items));
}

}  // namespace sightline::chat
