// str, repr, json.dumps and HTML escaping, character by character with the origin of each.
#include "chat/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/json.hpp"

namespace sightline::chat {
namespace {

// Text under construction; every byte added is paid for.
class Writer {
 public:
  explicit Writer(Interpreter& vm) : vm_(vm), charge_(vm.meter()) {}
  void put(std::string_view bytes, Origin origin) {
    account(bytes.size());
    out_.append(bytes, origin);
  }
  void put(const Text& text) {
    account(text.size());
    out_.append(text);
  }
  void put(const Text& text, std::size_t begin, std::size_t end) {
    account(end - begin);
    out_.append(text, begin, end);
  }
  Text take() { return std::move(out_); }
  Interpreter& vm() { return vm_; }

 private:
  void account(std::size_t bytes) {
    vm_.meter().step_bytes(bytes);
    charge_.grow(bytes);
    Meter::check_text(out_.size() + bytes);
  }
  Interpreter& vm_;
  Charge charge_;
  Text out_;
};

std::string spell_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return io::python_float(value);
}

// Characters that Python's repr escapes: controls, separators, formatting and private characters.
bool is_printable(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD) return false;
  if (c >= 0x80 && is_space(c)) return false;
  return !(c >= 0x200B && c <= 0x200F) && !(c >= 0x202A && c <= 0x202E) &&
         !(c >= 0x2060 && c <= 0x206F) && !(c >= 0xE000 && c <= 0xF8FF) && c != 0xFEFF &&
         !(c >= 0xFFF0 && c <= 0xFFFB) && c != 0xFFFE && c != 0xFFFF && !(c >= 0xE0000);
}

void put_repr_string(Writer& out, const Value& value) {
  const Text& text = value.text();
  const std::string& bytes = text.bytes();
  const bool double_quotes =
      bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
  const std::string quote = double_quotes ? "\"" : "'";
  out.put(quote, value.origin);
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t size = char_size(bytes, i);
    const char32_t c = char_at(bytes, i);
    const Origin origin = text.origin_at(i);
    if (c == '\\' || c == static_cast<unsigned char>(quote[0])) {
      out.put("\\", origin);
      out.put(text, i, i + size);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out.put(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", origin);
    } else if (is_printable(c)) {
      out.put(text, i, i + size);
    } else {
      const auto code = static_cast<std::uint32_t>(c);
      out.put(code < 0x100     ? fmt::format("\\x{:02x}", code)
              : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                               : fmt::format("\\U{:08x}", code),
              origin);
    }
    i += size;
  }
  out.put(quote, value.origin);
}

void put_repr(Writer& out, const Value& value);

void put_repr_dict(Writer& out, const std::vector<std::pair<Value, Value>>& items, Origin origin) {
  out.put("{", origin);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.put(", ", origin);
    put_repr(out, items[i].first);
    out.put(": ", origin);
    put_repr(out, items[i].second);
  }
  out.put("}", origin);
}

void put_repr_sequence(Writer& out, const Value& value) {
  using Kind = Sequence::Kind;
  const Sequence& sequence = value.sequence();
  const std::vector<Value>& items = sequence.items;
  if (sequence.kind == Kind::generator) return out.put("<generator object>", value.origin);
  if (sequence.kind == Kind::range) {
    const std::int64_t first = items.empty() ? 0 : items[0].integer();
    const std::int64_t step = items.size() < 2 ? 1 : items[1].integer() - first;
    const std::int64_t stop = items.empty() ? 0 : items.back().integer() + step;
    return out.put(step == 1 ? fmt::format("range({}, {})", first, stop)
                             : fmt::format("range({}, {}, {})", first, stop, step),
                   value.origin);
  }
  const bool view = sequence.kind >= Kind::keys;
  if (view) out.put(fmt::format("{}(", type_name(value)), value.origin);
  out.put(sequence.kind == Kind::tuple ? "(" : "[", value.origin);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.put(", ", value.origin);
    put_repr(out, items[i]);
  }
  if (sequence.kind == Kind::tuple) {
    out.put(items.size() == 1 ? ",)" : ")", value.origin);
  } else {
    out.put(view ? "])" : "]", value.origin);
  }
}

void put_repr_other(Writer& out, const Value& value) {
  if (value.is<Namespace*>()) {
    std::vector<std::pair<Value, Value>> items;
    for (const auto& [name, attribute] : std::get<Namespace*>(value.data)->attributes) {
      items.emplace_back(make_constant(name), attribute);
    }
    out.put("<Namespace ", value.origin);
    put_repr_dict(out, items, value.origin);
    return out.put(">", value.origin);
  }
  if (value.is<std::shared_ptr<Loop>>()) {
    const Loop& loop = *std::get<std::shared_ptr<Loop>>(value.data);
    return out.put(fmt::format("<LoopContext {}/{}>", loop.index0 + 1, loop.items.size()),
                   value.origin);
  }
  const Callable& callable = *std::get<std::shared_ptr<const Callable>>(value.data);
  out.put(fmt::format("<{} '{}'>", callable.macro != nullptr ? "Macro" : "function", callable.name),
          value.origin);
}

void put_repr(Writer& out, const Value& value) {
  const DepthGuard depth(out.vm().meter());
  if (value.is_string()) return put_repr_string(out, value);
  if (value.is_undefined()) return out.put("Undefined", value.origin);
  if (value.is_none()) return out.put("None", value.origin);
  if (value.is_bool()) return out.put(value.integer() != 0 ? "True" : "False", value.origin);
  if (value.is_int()) return out.put(std::to_string(value.integer()), value.origin);
  if (value.is_real()) return out.put(spell_real(value.real()), value.origin);
  if (value.is_dict()) return put_repr_dict(out, value.dict().items, value.origin);
  if (value.is_sequence()) return put_repr_sequence(out, value);
  put_repr_other(out, value);
}

// json.dumps.
class JsonWriter {
 public:
  JsonWriter(Interpreter& vm, const JsonStyle& style) : out_(vm), style_(style) {}

  void put(const Value& value, std::size_t level) {
    const DepthGuard depth(out_.vm().meter());
    if (value.is_string()) return put_string(value.text(), value.origin);
    if (value.is_dict()) return put_dict(value, level);
    if (value.is_sequence() && value.sequence().kind <= Sequence::Kind::tuple)
      return put_list(value, level);
    if (!value.is_none() && !value.is_number()) {
      out_.vm().fail(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
    out_.put(scalar(value), value.origin);
  }
  Text take() { return out_.take(); }

 private:
  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (value.is_bool()) return value.integer() != 0 ? "true" : "false";
    return value.is_int() ? std::to_string(value.integer()) : io::python_float(value.real());
  }

  void newline(std::size_t level, Origin origin) {
    if (!style_.pretty) return;
    out_.put("\n", origin);
    for (std::size_t i = 0; i < level; ++i) out_.put(style_.indent, origin);
  }

  // Separators are punctuation of the value: they take its origin.
  void separate(bool first, std::size_t level, Origin origin) {
    if (!first)
      out_.put(style_.comma.bytes(), origin != kTemplateOrigin ? origin : style_.comma.taint());
    newline(level, origin);
  }

  void put_list(const Value& value, std::size_t level) {
    out_.put("[", value.origin);
    bool first = true;
    for (const Value& item : value.sequence().items) {
      separate(std::exchange(first, false), level + 1, value.origin);
      put(item, level + 1);
    }
    if (!first) newline(level, value.origin);
    out_.put("]", value.origin);
  }

  void put_dict(const Value& value, std::size_t level) {
    std::vector<const std::pair<Value, Value>*> members;
    for (const auto& member : value.dict().items) members.push_back(&member);
    if (style_.sort_keys) sort(members);
    out_.put("{", value.origin);
    bool first = true;
    for (const auto* member : members) {
      separate(std::exchange(first, false), level + 1, value.origin);
      put_key(member->first);
      out_.put(style_.colon.bytes(),
               value.origin != kTemplateOrigin ? value.origin : style_.colon.taint());
      put(member->second, level + 1);
    }
    if (!first) newline(level, value.origin);
    out_.put("}", value.origin);
  }

  void put_key(const Value& key) {
    if (key.is_string()) return put_string(key.text(), key.origin);
    if (!key.is_none() && !key.is_number()) {
      out_.vm().fail(
          fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
    out_.put(fmt::format("\"{}\"", scalar(key)), key.origin);
  }

  void sort(std::vector<const std::pair<Value, Value>*>& members) {
    std::stable_sort(members.begin(), members.end(), [&](const auto* a, const auto* b) {
      bool comparable = true;
      const int order = compare(out_.vm().meter(), a->first, b->first, comparable);
      if (!comparable) {
        out_.vm().fail(fmt::format("'<' not supported between instances of '{}' and '{}'",
                                   type_name(a->first), type_name(b->first)));
      }
      return order < 0;
    });
  }

  void put_string(const Text& text, Origin origin) {
    const std::string& bytes = text.bytes();
    out_.put("\"", origin);
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t plain = plain_end(bytes, i);
      if (plain > i) out_.put(text, i, plain);
      if (plain >= bytes.size()) break;
      const std::size_t size = char_size(bytes, plain);
      out_.put(escaped(char_at(bytes, plain)), text.origin_at(plain));
      i = plain + size;
    }
    out_.put("\"", origin);
  }

  [[nodiscard]] std::size_t plain_end(const std::string& bytes, std::size_t i) const {
    const auto plain = [&](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte >= 0x20 && c != '"' && c != '\\' && (byte < 0x80 || !style_.ensure_ascii);
    };
    while (i < bytes.size() && plain(bytes[i])) ++i;
    return i;
  }

  static std::string escaped(char32_t c) {
    constexpr std::string_view kFrom = "\"\\\n\r\t\b\f";
    constexpr std::string_view kTo = "\"\\nrtbf";
    const std::size_t at = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
    if (at != std::string_view::npos) return {'\\', kTo[at]};
    const auto code = static_cast<std::uint32_t>(c);
    if (code < 0x10000) return fmt::format("\\u{:04x}", code);
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10U),
                       0xDC00 + ((code - 0x10000) & 0x3FFU));
  }

  Writer out_;
  const JsonStyle& style_;
};

}  // namespace

Text python_str(Interpreter& vm, const Value& value) {
  if (value.is_string()) return value.text();
  if (value.is_undefined()) return {};
  return python_repr(vm, value);
}

Text python_repr(Interpreter& vm, const Value& value) {
  Writer out(vm);
  put_repr(out, value);
  return out.take();
}

Text python_json(Interpreter& vm, const Value& value, const JsonStyle& style) {
  JsonWriter out(vm, style);
  out.put(value, 0);
  return out.take();
}

Text escape_html(Interpreter& vm, const Text& text) {
  constexpr std::string_view kSpecial = "&<>'\"";
  constexpr std::string_view kEscaped[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  Writer out(vm);
  const std::string& bytes = text.bytes();
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::size_t at = std::min(bytes.find_first_of(kSpecial, begin), bytes.size());
    if (at > begin) out.put(text, begin, at);
    if (at < bytes.size()) out.put(kEscaped[kSpecial.find(bytes[at])], text.origin_at(at));
    begin = at + 1;
  }
  return out.take();
}

}  // namespace sightline::chat
