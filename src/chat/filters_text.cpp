// Filters on strings and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chat/library.hpp"
#include "chat/operators.hpp"
#include "chat/python_text.hpp"
#include "chat/text_operations.hpp"

namespace sightline::chat {
namespace {

Value upper(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, vm.to_text(self), Case::upper));
}
Value lower(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, vm.to_text(self), Case::lower));
}
Value title(Interpreter& vm, const Value& self, const Arguments&) {
  // jinja2 begins a word after white space, hyphens and opening brackets only.
  const Text text = vm.to_text(self);
  Text out;
  std::size_t begin = 0;
  const std::string& bytes = text.bytes();
  for (std::size_t i = 0; i <= bytes.size(); ++i) {
    const bool stop = i == bytes.size() || is_space(static_cast<unsigned char>(bytes[i])) ||
                      std::string_view("-({[<").find(bytes[i]) != std::string_view::npos;
    if (!stop) continue;
    out.append(change_case(vm, text.slice(begin, i), Case::capitalize));
    if (i < bytes.size()) out.append(text, i, i + 1);
    begin = i + 1;
  }
  return vm.make_text(std::move(out));
}
Value capitalize(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, vm.to_text(self), Case::capitalize));
}

Value trim(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "trim", arguments, {"chars"});
  const bool given = bound.get(0) != nullptr && !bound.get(0)->is_none();
  const std::string chars = bound.text(0, "").bytes();
  const Text text = vm.to_text(self);
  const Range range = trim_range(text.bytes(), {.chars = given ? &chars : nullptr});
  return vm.make_text(text.slice(range.begin, range.end), self.is_string() && self.markup());
}

Value replace(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "replace", arguments, {"old", "new", "count"});
  const Text old = vm.to_text(bound.need(0));
  const bool all = bound.get(2) == nullptr || bound.get(2)->is_none();
  return vm.make_text(replace_text(vm, vm.to_text(self), old.bytes(), vm.to_text(bound.need(1)),
                                   all ? -1 : bound.integer(2, -1)));
}

Value center(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "center", arguments, {"width"});
  constexpr std::int64_t kDefaultWidth = 80;
  const Text text = vm.to_text(self);
  const auto size = static_cast<std::int64_t>(count_chars(text.bytes()));
  const std::int64_t width = std::max(size, bound.integer(0, kDefaultWidth));
  const auto pad = static_cast<std::size_t>(width - size);
  const std::size_t left = pad / 2 + (pad & static_cast<std::size_t>(width) & 1U);
  return vm.make_text(pad_text(text, left, pad - left, Text(" ")));
}

Value indent(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "indent", arguments, {"width", "first", "blank"});
  const bool spelled = bound.get(0) != nullptr && bound.get(0)->is_string();
  constexpr std::int64_t kDefaultWidth = 4;
  const Text indentation = spelled ? bound.text(0, "")
                                   : pad_text(Text(),
                                              static_cast<std::size_t>(std::max<std::int64_t>(
                                                  bound.integer(0, kDefaultWidth), 0)),
                                              0, Text(" "));
  Text text = vm.to_text(self);
  text.append("\n", kTemplateOrigin);
  std::vector<Text> lines = split_lines(vm, text, false);
  Text out;
  if (bound.flag(1, false)) out.append(indentation);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append("\n", lines[i - 1].empty() ? kTemplateOrigin : lines[i - 1].taint());
    if (i > 0 && (bound.flag(2, false) || !lines[i].empty())) out.append(indentation);
    vm.meter().step_bytes(indentation.size() + lines[i].size());
    Meter::check_text(out.size());
    out.append(lines[i]);
  }
  return vm.make_text(std::move(out));
}

Value truncate(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "truncate", arguments, {"length", "killwords", "end", "leeway"});
  constexpr std::int64_t kDefaultLength = 255;
  constexpr std::int64_t kDefaultLeeway = 5;
  const Text text = vm.to_text(self);
  const Text end = bound.text(2, "...");
  const std::int64_t length = bound.integer(0, kDefaultLength);
  const bool no_leeway = bound.get(3) == nullptr || bound.get(3)->is_none();
  const std::int64_t leeway = no_leeway ? kDefaultLeeway : bound.integer(3, 0);
  const auto end_size = static_cast<std::int64_t>(count_chars(end.bytes()));
  if (length < end_size || leeway < 0)
    vm.fail(fmt::format("expected length >= {}, got {}", end_size, length));
  if (static_cast<std::int64_t>(count_chars(text.bytes())) - leeway <= length)
    return vm.make_text(text);
  std::size_t cut = char_offset(text.bytes(), static_cast<std::size_t>(length - end_size));
  if (!bound.flag(1, false)) {
    const std::size_t space = std::string_view(text.bytes()).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  Text out = text.slice(0, cut);
  out.append(end);
  return vm.make_text(std::move(out));
}

Value wordcount(Interpreter& vm, const Value& self, const Arguments&) {
  const Text text = vm.to_text(self);
  const std::string& bytes = text.bytes();
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t i = 0; i < bytes.size(); i += char_size(bytes, i)) {
    const char32_t c = char_at(bytes, i);
    const bool word = is_alpha(c) || is_digit(c) || c == '_';
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return {words, self.origin};
}

Value string(Interpreter& vm, const Value& self, const Arguments&) {
  return self.is_string() ? self : vm.make_text(vm.to_text(self));
}
Value safe(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(vm.to_text(self), true);
}
Value escape(Interpreter& vm, const Value& self, const Arguments&) {
  if (self.is_string() && self.markup()) return self;
  return vm.make_text(escape_html(vm, vm.to_text(self)), true);
}
Value forceescape(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(escape_html(vm, vm.to_text(self)), true);
}

Value format(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Value text = vm.make_text(vm.to_text(self));
  if (arguments.named.empty()) {
    return format_percent(vm, text, vm.make_sequence(arguments.positional, Sequence::Kind::tuple));
  }
  if (!arguments.positional.empty())
    vm.fail("can't handle positional and keyword arguments at the same time");
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [name, value] : arguments.named) items.emplace_back(make_constant(name), value);
  return format_percent(vm, text, vm.make_dict(std::move(items)));
}

// Text of a number as Python's int() and float() read it: trimmed, single underscores between
// digits dropped.
std::string number_text(const Value& value) {
  const Range range = trim_range(value.bytes(), {});
  std::string text = value.bytes().substr(range.begin, range.end - range.begin);
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '_' && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 &&
        std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0) {
      text.erase(i, 1);
    }
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.erase(0, 1);
  return text;
}

std::optional<double> read_real(const Value& value) {
  if (value.is_number()) return value.real();
  if (!value.is_string()) return std::nullopt;
  const std::string text = number_text(value);
  double real = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), real);
  if (text.empty() || result.ptr != text.data() + text.size()) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) return HUGE_VAL;
  return result.ec == std::errc() ? std::optional<double>(real) : std::nullopt;
}

std::optional<std::int64_t> read_integer(const Value& value, int base) {
  if (!value.is_string()) return std::nullopt;
  std::string text = number_text(value);
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const char prefix = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
  if (prefix != '\0' && text.size() > sign + 2 && text[sign] == '0' &&
      (text[sign + 1] | 0x20) == prefix) {
    text.erase(sign, 2);
  }
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || result.ptr != text.data() + text.size() || result.ec != std::errc())
    return std::nullopt;
  return number;
}

Value to_int(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "int", arguments, {"default", "base"});
  vm.require_defined(self);
  const std::int64_t base = bound.integer(1, 10);
  if (base < 2 || base > 36) vm.fail("int() base must be >= 2 and <= 36");
  if (self.is_bool() || self.is_int()) return {self.integer(), self.origin};
  if (const auto number = read_integer(self, static_cast<int>(base))) return {*number, self.origin};
  const std::optional<double> real = read_real(self);
  if (!real || std::isnan(*real) || std::isinf(*real))
    return bound.get(0) != nullptr ? *bound.get(0) : Value(std::int64_t{0});
  if (!(*real > -9.2e18 && *real < 9.2e18)) vm.fail("an integer beyond 64 bits is not supported");
  return {static_cast<std::int64_t>(*real), self.origin};
}

Value to_float(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "float", arguments, {"default"});
  vm.require_defined(self);
  if (const std::optional<double> real = read_real(self)) return {*real, self.origin};
  return bound.get(0) != nullptr ? *bound.get(0) : Value(0.0);
}

Value absolute(Interpreter& vm, const Value& self, const Arguments&) {
  vm.require_defined(self);
  if (!self.is_number()) vm.fail(fmt::format("bad operand type for abs(): '{}'", type_name(self)));
  if (self.is_real()) return {std::fabs(self.real()), self.origin};
  return self.integer() < 0 ? negated(vm, self) : Value(self.integer(), self.origin);
}

Value round(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "round", arguments, {"precision", "method"});
  vm.require_defined(self);
  if (!self.is_number())
    vm.fail(fmt::format("type {} doesn't define __round__ method", type_name(self)));
  const std::string method = bound.text(1, "common").bytes();
  constexpr std::int64_t kMaxPrecision = 300;
  const std::int64_t precision = bound.integer(0, 0);
  if (precision < -kMaxPrecision || precision > kMaxPrecision)
    vm.fail("the precision of round() is too large");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return {std::ceil(self.real() * scale) / scale, self.origin};
  if (method == "floor") return {std::floor(self.real() * scale) / scale, self.origin};
  if (method != "common") vm.fail("method must be common, ceil or floor");
  if (!self.is_real() && precision >= 0) return {self.integer(), self.origin};
  if (!std::isfinite(self.real())) return self;
  // Correctly rounded decimal, ties to even, as Python's round; printing does exactly that for
  // digits behind the point.
  double result = std::nearbyint(self.real() * scale) / scale;
  if (precision >= 0)
    result = std::strtod(fmt::format("{:.{}f}", self.real(), precision).c_str(), nullptr);
  return self.is_real() ? Value(result, self.origin)
                        : Value(static_cast<std::int64_t>(result), self.origin);
}

Value tojson(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  if (bound.get(1) != nullptr && !bound.get(1)->is_none()) {
    style.pretty = true;
    style.comma = Text(",");
    style.indent =
        bound.get(1)->is_string()
            ? bound.text(1, "").bytes()
            : std::string(
                  static_cast<std::size_t>(std::clamp<std::int64_t>(bound.integer(1, 0), 0, 1000)),
                  ' ');
  }
  if (bound.get(2) != nullptr && !bound.get(2)->is_none()) {
    const std::vector<Value> pair = vm.iterate(*bound.get(2));
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      vm.fail("separators must be a pair of strings");
    style.comma = pair[0].text();
    style.colon = pair[1].text();
  }
  return vm.make_text(python_json(vm, self, style));
}

using Entry = std::pair<std::string_view, Function>;
constexpr Entry kFilters[] = {
    {"upper", upper},           {"lower", lower},   {"title", title},
    {"capitalize", capitalize}, {"trim", trim},     {"replace", replace},
    {"center", center},         {"indent", indent}, {"truncate", truncate},
    {"wordcount", wordcount},   {"string", string}, {"safe", safe},
    {"escape", escape},         {"e", escape},      {"forceescape", forceescape},
    {"format", format},         {"int", to_int},    {"float", to_float},
    {"abs", absolute},          {"round", round},   {"tojson", tojson}};

}  // namespace

Function find_text_filter(std::string_view name) {
  const auto* const it = std::find_if(std::begin(kFilters), std::end(kFilters),
                                      [&](const Entry& e) { return e.first == name; });
  return it == std::end(kFilters) ? nullptr : it->second;
}

}  // namespace sightline::chat
