// The two ways in which Python strings are formatted: `format % values` and
// `format.format(values)`.
#include <fmt/format.h>

#include <algorithm>

#include "chat/operators.hpp"
#include "chat/python_text.hpp"

namespace sightline::chat {
namespace {

// One conversion of a %-format: %(key)-0+ 12.3f
struct Conversion {
  bool left = false, zero = false, plus = false, space = false, alternate = false;
  std::size_t width = 0;
  int precision = -1;
  char type = 's';
  std::string key;
  bool keyed = false;
};

constexpr std::size_t kMaxWidth = 10'000;

class PercentFormat {
 public:
  PercentFormat(Interpreter& vm, const Text& format, const Value& arguments)
      : vm_(vm), format_(format), bytes_(format.bytes()), arguments_(arguments) {
    if (arguments.is_sequence() && arguments.sequence().kind == Sequence::Kind::tuple) {
      values_ = arguments.sequence().items;
    } else {
      values_ = {arguments};
    }
  }

  Text run() {
    while (i_ < bytes_.size()) {
      const std::size_t percent = std::min(bytes_.find('%', i_), bytes_.size());
      out_.append(format_, i_, percent);
      i_ = percent + 1;
      if (percent == bytes_.size()) break;
      if (i_ < bytes_.size() && bytes_[i_] == '%') {
        out_.append(format_, i_, i_ + 1);
        ++i_;
        continue;
      }
      convert(read());
      Meter::check_text(out_.size());
    }
    if (used_ < values_.size() && !mapping_used_ && !arguments_.is_dict()) {
      vm_.fail("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek() const { return i_ < bytes_.size() ? bytes_[i_] : '\0'; }
  std::size_t number() {
    std::size_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = std::min(kMaxWidth + 1, value * 10 + static_cast<std::size_t>(bytes_[i_++] - '0'));
    }
    if (value > kMaxWidth) vm_.fail("a format width is too large");
    return value;
  }

  Conversion read() {
    Conversion c;
    if (peek() == '(') {
      const std::size_t close = bytes_.find(')', i_);
      if (close == std::string::npos) vm_.fail("incomplete format key");
      c.key = bytes_.substr(i_ + 1, close - i_ - 1);
      c.keyed = true;
      i_ = close + 1;
    }
    for (;
         i_ < bytes_.size() && std::string_view("-+ #0").find(bytes_[i_]) != std::string_view::npos;
         ++i_) {
      c.left = c.left || bytes_[i_] == '-';
      c.plus = c.plus || bytes_[i_] == '+';
      c.space = c.space || bytes_[i_] == ' ';
      c.zero = c.zero || bytes_[i_] == '0';
      c.alternate = c.alternate || bytes_[i_] == '#';
    }
    c.width = number();
    if (peek() == '.') {
      ++i_;
      c.precision = static_cast<int>(number());
    }
    if (i_ >= bytes_.size()) vm_.fail("incomplete format");
    c.type = bytes_[i_++];
    return c;
  }

  const Value& argument(const Conversion& c) {
    if (c.keyed) {
      if (!arguments_.is_dict()) vm_.fail("format requires a mapping");
      mapping_used_ = true;
      const Value* value = arguments_.dict().find(c.key);
      if (value == nullptr) vm_.fail(fmt::format("'{}'", c.key));
      return *value;
    }
    if (used_ >= values_.size()) vm_.fail("not enough arguments for format string");
    return values_[used_++];
  }

  void convert(const Conversion& c) {
    const Value& value = argument(c);
    Text text;
    if (c.type == 's' || c.type == 'r' || c.type == 'a') {
      text = c.type == 's' ? vm_.to_text(value) : python_repr(vm_, value);
      if (c.precision >= 0)
        text = text.slice(0, char_offset(text.bytes(), static_cast<std::size_t>(c.precision)));
    } else {
      vm_.require_defined(value);
      text = Text(number_text(c, value), value.origin);
    }
    const std::size_t size = count_chars(text.bytes());
    const std::size_t pad = c.width > size ? c.width - size : 0;
    const std::string spaces(pad, ' ');
    if (!c.left) out_.append(spaces, kTemplateOrigin);
    out_.append(text);
    if (c.left) out_.append(spaces, kTemplateOrigin);
  }

  std::string number_text(const Conversion& c, const Value& value) {
    if (std::string_view("diuxXoeEfFgGc").find(c.type) == std::string_view::npos) {
      vm_.fail(fmt::format("unsupported format character '{}'", c.type));
    }
    if (c.type == 'c' && value.is_string()) return value.bytes();
    if (!value.is_number()) {
      vm_.fail(
          fmt::format("%{} format: a real number is required, not {}", c.type, type_name(value)));
    }
    if (c.type == 'c') {
      if (value.is_real() || value.integer() < 0 || value.integer() > 0x10FFFF)
        vm_.fail("%c requires int or char");
      return encode_char(static_cast<char32_t>(value.integer()));
    }
    const bool whole = std::string_view("diuxXo").find(c.type) != std::string_view::npos;
    const std::string sign = c.plus ? "+" : c.space ? " " : "";
    const std::string zero = c.zero && !c.left && c.width > 0 ? fmt::format("0{}", c.width) : "";
    if (!whole) {
      const std::string precision = c.precision < 0 ? ".6" : fmt::format(".{}", c.precision);
      return fmt::format(fmt::runtime(fmt::format("{{:{}{}{}{}}}", sign, zero, precision, c.type)),
                         value.real());
    }
    const double real = value.is_real() ? value.real() : 0;
    if (!(real > -9.2e18 && real < 9.2e18)) vm_.fail("an integer beyond 64 bits is not supported");
    const std::int64_t number = value.is_real() ? static_cast<std::int64_t>(real) : value.integer();
    const char type = c.type == 'i' || c.type == 'u' ? 'd' : c.type;
    return fmt::format(fmt::runtime(fmt::format("{{:{}{}{}{}}}", sign,
                                                c.alternate && type != 'd' ? "#" : "", zero, type)),
                       number);
  }

  Interpreter& vm_;
  const Text& format_;
  const std::string& bytes_;
  const Value& arguments_;
  std::vector<Value> values_;
  std::size_t used_ = 0;
  bool mapping_used_ = false;
  std::size_t i_ = 0;
  Text out_;
};

// The value that a replacement field names: "", "0", "name", "name.attribute", "name[key]".
Value braces_value(Interpreter& vm, const std::string& field, const Arguments& arguments,
                   std::size_t& next) {
  const std::size_t end = std::min(field.find_first_of(".["), field.size());
  const std::string head = field.substr(0, end);
  Value value;
  if (head.find_first_not_of("0123456789") == std::string::npos) {
    const std::size_t index = head.empty()      ? next++
                              : head.size() > 6 ? arguments.positional.size()
                                                : std::stoul(head);
    if (index >= arguments.positional.size()) {
      vm.fail(fmt::format("Replacement index {} out of range for positional args tuple", index));
    }
    value = arguments.positional[index];
  } else {
    const auto it = std::find_if(arguments.named.begin(), arguments.named.end(),
                                 [&](const auto& n) { return n.first == head; });
    if (it == arguments.named.end()) vm.fail(fmt::format("'{}'", head));
    value = it->second;
  }
  for (std::size_t i = end; i < field.size();) {
    const bool dot = field[i] == '.';
    const std::size_t stop =
        std::min(dot ? field.find_first_of(".[", i + 1) : field.find(']', i), field.size());
    const std::string key = field.substr(i + 1, stop - i - 1);
    const bool number =
        !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
    value = dot      ? vm.attribute(value, key)
            : number ? vm.item(value, Value(static_cast<std::int64_t>(std::stol(key))))
                     : vm.item(value, make_constant(key));
    i = dot ? stop : stop + 1;
  }
  return value;
}

}  // namespace

Value format_percent(Interpreter& vm, const Value& format, const Value& arguments) {
  return vm.make_text(PercentFormat(vm, format.text(), arguments).run());
}

Value format_braces(Interpreter& vm, const Value& format, const Arguments& arguments) {
  const Text& text = format.text();
  const std::string& bytes = text.bytes();
  Text out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t brace = std::min(bytes.find_first_of("{}", i), bytes.size());
    out.append(text, i, brace);
    if (brace == bytes.size()) break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(text, brace, brace + 1);
      i = brace + 2;
      continue;
    }
    const std::size_t close = bytes.find('}', brace);
    if (bytes[brace] == '}' || close == std::string::npos)
      vm.fail("Single '{' or '}' encountered in format string");
    std::string field = bytes.substr(brace + 1, close - brace - 1);
    if (field.find_first_of(":{") != std::string::npos)
      vm.fail("format specifications in str.format are not supported");
    const bool repr = field.ends_with("!r");
    if (repr || field.ends_with("!s")) field.resize(field.size() - 2);
    const Value value = braces_value(vm, field, arguments, next);
    const Text part = repr ? python_repr(vm, value) : vm.to_text(value);
    Meter::check_text(out.size() + part.size());
    out.append(part);
    i = close + 1;
  }
  return vm.make_text(std::move(out));
}

}  // namespace sightline::chat
