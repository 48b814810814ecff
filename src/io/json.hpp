// JSON as the rest of sightline sees it: one small value type, a streaming reader for very large
// files, two writers. The only user of nlohmann::json is json.cpp. Objects keep the order of their
// keys; a repeated key, NaN and infinities are errors. Values are plain data: copy freely, share
// between threads when not changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sightline/error.hpp"

namespace sightline::io {

/// A JSON value. Numbers keep what was written: an integer that fits int64 is `std::int64_t`,
/// everything else is a double.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(std::uint32_t value) : value_(std::int64_t{value}) {}
  Json(std::size_t value) : value_(static_cast<std::int64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  [[nodiscard]] bool is_double() const { return std::holds_alternative<double>(value_); }
  [[nodiscard]] bool is_number() const { return is_int() || is_double(); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(value_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(value_); }
  /// "null", "bool", "integer", "number", "string", "array" or "object": for messages.
  [[nodiscard]] const char* type_name() const;

  // Access to a value whose type has been checked; std::bad_variant_access otherwise.
  [[nodiscard]] bool as_bool() const { return std::get<bool>(value_); }
  [[nodiscard]] std::int64_t as_int() const { return std::get<std::int64_t>(value_); }
  [[nodiscard]] double as_double() const {
    return is_int() ? static_cast<double>(as_int()) : std::get<double>(value_);
  }
  [[nodiscard]] const std::string& as_string() const { return std::get<std::string>(value_); }
  [[nodiscard]] const Array& as_array() const { return std::get<Array>(value_); }
  [[nodiscard]] const Object& as_object() const { return std::get<Object>(value_); }
  [[nodiscard]] Array& as_array() { return std::get<Array>(value_); }
  [[nodiscard]] Object& as_object() { return std::get<Object>(value_); }

  /// The member with this key, or nullptr if absent or if this is not an object.
  [[nodiscard]] const Json* find(std::string_view key) const;
  /// Adds a member at the end (this must be an object). The caller guarantees that the key is new.
  Json& add(std::string key, Json value);
  /// Adds an element (this must be an array).
  Json& push(Json value);

  friend bool operator==(const Json& a, const Json& b) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// Limits of the reader; a document beyond them is an invalid_json error.
inline constexpr std::size_t kMaxJsonDepth = 128;

/// Parses one document. `name` is what the error calls it (a file name, "line 3", …).
/// Throws Error(code) with the byte offset; a checkpoint's own file passes a code of its domain.
Json parse_json(std::string_view text, const std::string& name, Code code = Code::invalid_json);

/// Reads and parses a file. Throws Error(file_not_found, file_unreadable) and Error(code).
Json read_json_file(const std::string& path, Code code = Code::invalid_json);

/// Receives the events of a document too large to keep as values (tokenizer.json). Numbers and
/// literals come as Json.
class JsonSink {
 public:
  virtual ~JsonSink() = default;
  virtual void start_object() = 0;
  virtual void key(std::string&& name) = 0;
  virtual void end_object() = 0;
  virtual void start_array() = 0;
  virtual void end_array() = 0;
  virtual void string(std::string&& value) = 0;
  virtual void literal(Json value) = 0;  ///< null, bool, integer or number
};

/// Streams a document into `sink`. Repeated keys are not detected here. Throws Error(invalid_json).
void parse_json_events(std::string_view text, const std::string& name, JsonSink& sink);

/// Compact JSON with `,` and `:`, UTF-8 kept as it is; invalid UTF-8 is replaced by U+FFFD.
/// `indent` > 0 pretty-prints.
std::string to_json_text(const Json& value, int indent = 0);

/// The text that Python's json.dumps(value, ensure_ascii=False) gives: `", "` and `": "`, Python's
/// spelling of floats. Source: specification section 4.2.
std::string to_python_json(const Json& value);

/// Python's repr of a float: shortest digits that round-trip, `1e+16` from 1e16 on, `.0` kept.
std::string python_float(double value);

/// A view of a value that knows its path, for configuration files: every error names file, path,
/// expected and found.
class JsonReader {
 public:
  JsonReader(const Json& value, std::string file, std::string path, Code code)
      : value_(&value), file_(std::move(file)), path_(std::move(path)), code_(code) {}

  [[nodiscard]] bool has(std::string_view key) const;  ///< present and not null
  [[nodiscard]] JsonReader at(
      std::string_view key) const;  ///< required member; throws when absent or null
  [[nodiscard]] JsonReader at(std::size_t index) const;
  [[nodiscard]] std::size_t size() const;  ///< of an array; throws when it is none

  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const;
  [[nodiscard]] double number(double min,
                              double max) const;  ///< integers are accepted; finite by construction
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Throws Error(code) "FILE: PATH: expected EXPECTED, found FOUND".
  [[noreturn]] void fail(const std::string& expected, const std::string& found) const;

 private:
  const Json* value_;
  std::string file_, path_;
  Code code_;
};

}  // namespace sightline::io
