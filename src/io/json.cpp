// The adapter on nlohmann::json: its SAX parser feeds our value type; writers are our own. Nothing
// else may include nlohmann's header.
#include "io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/file.hpp"

namespace sightline::io {
namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

// Iterates over the text and tells how far the parser has come.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// What the handlers below know about the document, for messages.
struct Source {
  const std::string& name;
  std::string_view text;
  const char* reached;
};

[[noreturn]] void fail_json(const Source& source, std::size_t offset, const std::string& why) {
  throw Error(Code::invalid_json,
              fmt::format("{}: invalid JSON at byte {}: {}", source.name, offset, why),
              {{"file", source.name}, {"offset", std::to_string(offset)}});
}

// Offset of the byte that was read last.
std::size_t last_read(const Source& source) {
  const auto read = static_cast<std::size_t>(source.reached - source.text.data());
  return read == 0 ? 0 : read - 1;
}

// nlohmann's message reads "[json.exception.parse_error.101] parse error at line 1, column 2: WHY;
// last read: 'TEXT'"; keep WHY, which is short; TEXT can be as long as the document. Other faults
// read "[json.exception.NAME.406] WHY".
std::string reason_of(const nlohmann::detail::exception& error) {
  std::string text = error.what();
  if (const auto column = text.find("column "); column != std::string::npos) {
    if (const auto colon = text.find(": ", column); colon != std::string::npos) {
      text.erase(0, colon + 2);
    }
  } else if (const auto bracket = text.find("] "); bracket != std::string::npos) {
    text.erase(0, bracket + 2);
  }
  return text.substr(0, text.find("; last read: "));
}

// Forwards to a JsonSink; checks depth and finiteness.
class Forward final : public Sax {
 public:
  Forward(JsonSink& sink, const Source& source) : sink_(sink), source_(source) {}
  bool null() override { return sink_.literal(Json()), true; }
  bool boolean(bool value) override { return sink_.literal(value), true; }
  bool number_integer(number_integer_t value) override {
    return sink_.literal(std::int64_t{value}), true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<number_unsigned_t>(INT64_MAX);
    sink_.literal(fits ? Json(static_cast<std::int64_t>(value)) : Json(static_cast<double>(value)));
    return true;
  }
  bool number_float(number_float_t value, const string_t&) override {
    return sink_.literal(value), true;
  }
  bool string(string_t& value) override { return sink_.string(std::move(value)), true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return enter(), sink_.start_object(), true; }
  bool key(string_t& value) override { return sink_.key(std::move(value)), true; }
  bool end_object() override { return --depth_, sink_.end_object(), true; }
  bool start_array(std::size_t) override { return enter(), sink_.start_array(), true; }
  bool end_array() override { return --depth_, sink_.end_array(), true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    fail_json(source_, position == 0 ? 0 : position - 1, reason_of(error));
  }

 private:
  void enter() {
    if (++depth_ > kMaxJsonDepth) {
      fail_json(source_, last_read(source_),
                fmt::format("nested deeper than {} levels", kMaxJsonDepth));
    }
  }
  JsonSink& sink_;
  const Source& source_;
  std::size_t depth_ = 0;
};

void parse_events(Source& source, JsonSink& sink) {
  const char* begin = source.text.data();
  Forward forward(sink, source);
  nlohmann::json::sax_parse(Cursor(begin, &source.reached),
                            Cursor(begin + source.text.size(), &source.reached), &forward);
  // nlohmann takes a NUL byte for the end of the text.
  if (source.reached != begin && source.reached[-1] == '\0') {
    fail_json(source, last_read(source), "expected the end of the document, found a NUL byte");
  }
}

// `text` cut to a length that fits in a message, whole characters only.
std::string shown(const std::string& text) {
  constexpr std::size_t kMaxShown = 80;
  if (text.size() <= kMaxShown) return text;
  std::size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// Builds a Json from events.
class Builder final : public JsonSink {
 public:
  explicit Builder(const Source& source) : source_(source) {}
  void start_object() override { open(Json::object()); }
  void start_array() override { open(Json::array()); }
  void end_object() override { close(); }
  void end_array() override { close(); }
  void key(std::string&& name) override {
    if (!open_.back().seen.insert(name).second) {
      fail_json(source_, last_read(source_), "repeated key " + shown(to_json_text(Json(name))));
    }
    open_.back().key = std::move(name);
  }
  void string(std::string&& value) override { put(Json(std::move(value))); }
  void literal(Json value) override { put(std::move(value)); }
  Json take() { return std::move(root_); }

 private:
  // An object or array whose end has not been read.
  struct Open {
    Json value;
    std::string key;             // of the member that is being read
    std::set<std::string> seen;  // every key so far
  };

  void open(Json value) { open_.push_back({std::move(value), {}, {}}); }
  void close() {
    Json done = std::move(open_.back().value);
    open_.pop_back();
    put(std::move(done));
  }
  void put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_object()) {
      open_.back().value.add(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().value.push(std::move(value));
    }
  }
  const Source& source_;
  std::vector<Open> open_;
  Json root_;
};

// Number of bytes of the valid UTF-8 character at text[i], 0 if there is none.
std::size_t valid_utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
  };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(i + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

void write_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else if (const std::size_t length = valid_utf8_length(text, i); length > 0) {
          out.append(text.substr(i, length));
          i += length;
          continue;
        } else {
          out += "\xEF\xBF\xBD";
        }
    }
    ++i;
  }
  out += '"';
}

// Shortest text that reads back as the same double, in the C way ("1e+20", "0.1"); "3.0", not the
// integer 3.
std::string shortest(double value) {
  char buffer[40];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

struct Style {
  const char* comma;
  const char* colon;
  int indent;
  bool python;
};

void write(std::string& out, const Json& value, const Style& style, int depth) {
  const auto newline = [&](int levels) {
    if (style.indent > 0)
      out += '\n' + std::string(static_cast<std::size_t>(style.indent * levels), ' ');
  };
  const auto separate = [&](bool first) {
    if (!first) out += style.comma;
    newline(depth + 1);
  };
  if (value.is_null()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (value.is_int()) {
    out += std::to_string(value.as_int());
  } else if (value.is_double()) {
    const double number = value.as_double();
    // JSON has no NaN or infinity: null, except in Python's own spelling.
    out += style.python ? python_float(number) : std::isfinite(number) ? shortest(number) : "null";
  } else if (value.is_string()) {
    write_string(out, value.as_string());
  } else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const Json& element : value.as_array()) {
      separate(first);
      first = false;
      write(out, element, style, depth + 1);
    }
    if (!first) newline(depth);
    out += ']';
  } else {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : value.as_object()) {
      separate(first);
      first = false;
      write_string(out, key);
      out += style.colon;
      write(out, member, style, depth + 1);
    }
    if (!first) newline(depth);
    out += '}';
  }
}

}  // namespace

const char* Json::type_name() const {
  constexpr const char* kNames[] = {"null",   "bool",  "integer", "number",
                                    "string", "array", "object"};
  return kNames[value_.index()];
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const Object& members = as_object();
  const auto it =
      std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.first == key; });
  return it == members.end() ? nullptr : &it->second;
}

Json& Json::add(std::string key, Json value) {
  as_object().emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  as_array().push_back(std::move(value));
  return *this;
}

void parse_json_events(std::string_view text, const std::string& name, JsonSink& sink) {
  Source source{name, text, text.data()};
  parse_events(source, sink);
}

Json parse_json(std::string_view text, const std::string& name, Code code) {
  Source source{name, text, text.data()};
  Builder builder(source);
  try {
    parse_events(source, builder);
  } catch (const Error& error) {
    if (code == error.code()) throw;
    throw Error(code, error.what(), error.context());
  }
  return builder.take();
}

Json read_json_file(const std::string& path, Code code) {
  return parse_json(read_file(path), path, code);
}

std::string to_json_text(const Json& value, int indent) {
  std::string out;
  write(out, value, {",", indent > 0 ? ": " : ":", indent, false}, 0);
  return out;
}

std::string to_python_json(const Json& value) {
  std::string out;
  write(out, value, {", ", ": ", 0, true}, 0);
  return out;
}

std::string python_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  // Python's repr switches to exponents below 1e-4 and from 1e16 on (float.__repr__, format code
  // 'r').
  const double size = std::fabs(value);
  char buffer[64];
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

bool JsonReader::has(std::string_view key) const {
  const Json* member = value_->find(key);
  return member != nullptr && !member->is_null();
}

JsonReader JsonReader::at(std::string_view key) const {
  if (!value_->is_object()) fail("an object", value_->type_name());
  const Json* member = value_->find(key);
  JsonReader child(member != nullptr ? *member : *value_, file_,
                   path_.empty() ? std::string(key) : path_ + "." + std::string(key), code_);
  if (member == nullptr || member->is_null())
    child.fail("a value", member == nullptr ? "nothing" : "null");
  return child;
}

JsonReader JsonReader::at(std::size_t index) const {
  if (index >= size()) fail(fmt::format("at least {} elements", index + 1), std::to_string(size()));
  return {value_->as_array()[index], file_, fmt::format("{}[{}]", path_, index), code_};
}

std::size_t JsonReader::size() const {
  if (!value_->is_array()) fail("an array", value_->type_name());
  return value_->as_array().size();
}

std::int64_t JsonReader::integer(std::int64_t min, std::int64_t max) const {
  if (!value_->is_int() || value_->as_int() < min || value_->as_int() > max) {
    fail(fmt::format("an integer from {} to {}", min, max), to_json_text(*value_));
  }
  return value_->as_int();
}

double JsonReader::number(double min, double max) const {
  if (!value_->is_number() || value_->as_double() < min || value_->as_double() > max) {
    fail(fmt::format("a number from {} to {}", min, max), to_json_text(*value_));
  }
  return value_->as_double();
}

bool JsonReader::boolean() const {
  if (!value_->is_bool()) fail("true or false", to_json_text(*value_));
  return value_->as_bool();
}

const std::string& JsonReader::string() const {
  if (!value_->is_string()) fail("a string", to_json_text(*value_));
  return value_->as_string();
}

void JsonReader::fail(const std::string& expected, const std::string& found) const {
  const std::string where = path_.empty() ? file_ : file_ + ": " + path_;
  const std::string seen = shown(found);
  throw Error(code_, fmt::format("{}: expected {}, found {}", where, expected, seen),
              {{"file", file_}, {"path", path_}, {"expected", expected}, {"found", seen}});
}

}  // namespace sightline::io
