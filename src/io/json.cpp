// The adapter on nlohmann::json: its SAX parser feeds our value type; writers are our own.
#include "io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "io/file.hpp"

namespace sightline::io {
namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

[[noreturn]] void fail_json(const std::string& name, std::size_t offset, const std::string& why) {
  throw Error(Code::invalid_json, fmt::format("{}: invalid JSON at byte {}: {}", name, offset, why),
              {{"file", name}, {"offset", std::to_string(offset)}});
}

// nlohmann's message reads "[json.exception.parse_error.101] parse error at line 1, column 2: WHY"; keep WHY.
std::string reason_of(const nlohmann::detail::exception& error) {
  const std::string text = error.what();
  const auto column = text.find("column ");
  const auto colon = column == std::string::npos ? std::string::npos : text.find(": ", column);
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// Forwards to a JsonSink; checks depth and finiteness.
class Forward final : public Sax {
 public:
  Forward(JsonSink& sink, const std::string& name) : sink_(sink), name_(name) {}
  bool null() override { return sink_.literal(Json()), true; }
  bool boolean(bool value) override { return sink_.literal(value), true; }
  bool number_integer(number_integer_t value) override { return sink_.literal(std::int64_t{value}), true; }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) {
      sink_.literal(static_cast<double>(value));
    } else {
      sink_.literal(static_cast<std::int64_t>(value));
    }
    return true;
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!std::isfinite(value)) fail_json(name_, 0, "number out of range: " + text);
    return sink_.literal(value), true;
  }
  bool string(string_t& value) override { return sink_.string(std::move(value)), true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return enter(), sink_.start_object(), true; }
  bool key(string_t& value) override { return sink_.key(std::move(value)), true; }
  bool end_object() override { return --depth_, sink_.end_object(), true; }
  bool start_array(std::size_t) override { return enter(), sink_.start_array(), true; }
  bool end_array() override { return --depth_, sink_.end_array(), true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    fail_json(name_, position, reason_of(error));
  }

 private:
  void enter() {
    if (++depth_ > kMaxJsonDepth) {
      fail_json(name_, 0, fmt::format("nested deeper than {} levels", kMaxJsonDepth));
    }
  }
  JsonSink& sink_;
  const std::string& name_;
  std::size_t depth_ = 0;
};

// Builds a Json from events.
class Builder final : public JsonSink {
 public:
  explicit Builder(const std::string& name) : name_(name) {}
  void start_object() override { open(Json::object()); }
  void start_array() override { open(Json::array()); }
  void end_object() override { close(); }
  void end_array() override { close(); }
  void key(std::string&& name) override {
    if (!seen_.back().insert(name).second) fail_json(name_, 0, "repeated key \"" + name + "\"");
    keys_.back() = std::move(name);
  }
  void string(std::string&& value) override { put(Json(std::move(value))); }
  void literal(Json value) override { put(std::move(value)); }
  Json take() { return std::move(root_); }

 private:
  void open(Json value) {
    stack_.push_back(std::move(value));
    keys_.emplace_back();
    seen_.emplace_back();
  }
  void close() {
    Json done = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    seen_.pop_back();
    put(std::move(done));
  }
  void put(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().is_object()) {
      stack_.back().add(std::move(keys_.back()), std::move(value));
    } else {
      stack_.back().push(std::move(value));
    }
  }
  const std::string& name_;
  std::vector<Json> stack_;
  std::vector<std::string> keys_;
  std::vector<std::set<std::string>> seen_;
  Json root_;
};

// Number of bytes of the valid UTF-8 character at text[i], 0 if there is none.
std::size_t valid_utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(i + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

void write_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
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

// Shortest text that reads back as the same double, in the C way ("1e+20", "0.1").
std::string shortest(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

struct Style {
  const char* comma;
  const char* colon;
  int indent;
  bool python;
};

void write(std::string& out, const Json& value, const Style& style, int depth) {
  const auto newline = [&](int levels) {
    if (style.indent > 0) out += '\n' + std::string(static_cast<std::size_t>(style.indent * levels), ' ');
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
  constexpr const char* kNames[] = {"null", "bool", "integer", "number", "string", "array", "object"};
  return kNames[value_.index()];
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const Object& members = as_object();
  const auto it = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.first == key; });
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
  Forward forward(sink, name);
  nlohmann::json::sax_parse(text.begin(), text.end(), &forward);
}

Json parse_json(std::string_view text, const std::string& name) {
  Builder builder(name);
  parse_json_events(text, name, builder);
  return builder.take();
}

Json read_json_file(const std::string& path) { return parse_json(read_file(path), path); }

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
  // Python's repr switches to exponents below 1e-4 and from 1e16 on (float.__repr__, format code 'r').
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
  if (member == nullptr || member->is_null()) child.fail("a value", member == nullptr ? "nothing" : "null");
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
  constexpr std::size_t kMaxShown = 80;
  const std::string shown = found.size() > kMaxShown ? found.substr(0, kMaxShown) + "…" : found;
  throw Error(code_, fmt::format("{}: {}: expected {}, found {}", file_, path_, expected, shown),
              {{"file", file_}, {"path", path_}, {"expected", expected}, {"found", shown}});
}

}  // namespace sightline::io
