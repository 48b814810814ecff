// URLs of pictures and lenient base64.
#include "chat/data_url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sightline/error.hpp"

namespace sightline::chat {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool starts_with_nocase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(),
                                                    [](char a, char b) { return a == lower(b); });
}

[[noreturn]] void fail(const std::string& where, const std::string& what,
                       Error::Context more = {}) {
  Error::Context context = {{"path", where}};
  context.insert(context.end(), more.begin(), more.end());
  throw Error(Code::invalid_messages, fmt::format("{}: {}", where, what), std::move(context));
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The character at url[i], percent escapes decoded; moves i to its last byte.
char unescaped(std::string_view url, std::size_t& i) {
  if (url[i] != '%' || i + 2 >= url.size()) return url[i];
  const int high = hex_value(url[i + 1]);
  const int low = hex_value(url[i + 2]);
  if (high < 0 || low < 0) return '%';
  i += 2;
  return static_cast<char>(high * 16 + low);
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

std::string printable(char c) {
  return c >= 0x20 && c < 0x7F ? fmt::format("'{}'", c)
                               : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c));
}

[[noreturn]] void fail_base64(const std::string& where, std::size_t position,
                              const std::string& what) {
  fail(where, fmt::format("invalid base64 in the data URL at byte {}: {}", position, what),
       {{"position", std::to_string(position)}});
}

// Decodes url[begin, …); positions in errors count from the beginning of the URL.
std::string decode_base64(std::string_view url, std::size_t begin, const std::string& where) {
  std::string bytes;
  bytes.reserve((url.size() - begin) / 4 * 3);
  unsigned buffer = 0;
  std::size_t digits = 0;
  bool padded = false;
  for (std::size_t i = begin; i < url.size(); ++i) {
    const std::size_t position = i;
    const char c = unescaped(url, i);
    if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
    if (c == '=') {
      padded = true;
      continue;
    }
    const int value = base64_value(c);
    if (value < 0) fail_base64(where, position, "found " + printable(c));
    if (padded) fail_base64(where, position, "data behind the padding");
    buffer = (buffer << 6U) | static_cast<unsigned>(value);
    if (++digits % 4 != 1)
      bytes += static_cast<char>((buffer >> ((3 - (digits - 1) % 4) * 2)) & 0xFFU);
  }
  if (digits % 4 == 1)
    fail_base64(where, url.size(), "the last group has one character, expected 2 to 4");
  if (bytes.empty()) fail_base64(where, url.size(), "expected data, found nothing");
  return bytes;
}

DataSource read_data_url(std::string_view url, const std::string& where) {
  if (url.size() > kMaxDataUrlBytes) {
    throw Error(Code::file_too_large,
                fmt::format("{}: a data URL of {} bytes, at most {} are accepted", where,
                            url.size(), kMaxDataUrlBytes),
                {{"path", where}});
  }
  const std::size_t comma = url.find(',');
  if (comma == std::string_view::npos)
    fail(where, "a data URL without ',': expected data:image/png;base64,…");
  std::string_view header = url.substr(0, comma);
  while (!header.empty() && std::isspace(static_cast<unsigned char>(header.back())) != 0)
    header.remove_suffix(1);
  constexpr std::string_view kMarker = ";base64";
  if (header.size() < kMarker.size() ||
      !starts_with_nocase(header.substr(header.size() - kMarker.size()), kMarker)) {
    fail(where, "a data URL that is not base64: expected data:image/png;base64,…");
  }
  return {decode_base64(url, comma + 1, where)};
}

PathSource read_file_url(std::string_view url, const std::string& where) {
  constexpr std::string_view kHost = "localhost/";
  std::string_view rest = url.substr(std::string_view("file://").size());
  if (starts_with_nocase(rest, kHost)) rest.remove_prefix(kHost.size() - 1);
  if (!rest.starts_with('/')) {
    fail(where, fmt::format("a file URL needs three slashes and an absolute path: found \"{}\"",
                            url.substr(0, 80)));
  }
  PathSource source;
  for (std::size_t i = 0; i < rest.size(); ++i) source.path += unescaped(rest, i);
  return source;
}

// "http" of "http://…", empty for a plain path.
std::string_view scheme_of(std::string_view url) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = url.substr(0, colon);
  const bool name = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  });
  return name ? scheme : std::string_view();
}

}  // namespace

bool is_data_url(std::string_view url) { return starts_with_nocase(url, "data:"); }

VisualSource read_visual_source(std::string_view url, const std::string& where) {
  if (is_data_url(url)) return read_data_url(url, where);
  if (starts_with_nocase(url, "file://")) return read_file_url(url, where);
  if (const std::string_view scheme = scheme_of(url); !scheme.empty()) {
    throw Error(Code::unsupported_content,
                fmt::format("{}: {}:// addresses are not fetched, nothing is ever downloaded; save "
                            "the file and give its "
                            "path or a data URL",
                            where, scheme),
                {{"path", where}, {"scheme", std::string(scheme)}});
  }
  if (url.empty()) fail(where, "expected a path, a file:// or a data: URL, found an empty text");
  if (url.find('\0') != std::string_view::npos) fail(where, "a path must not contain a zero byte");
  return PathSource{std::string(url)};
}

}  // namespace sightline::chat
