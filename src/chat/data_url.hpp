// Where a picture of a message comes from: a path, a file:// URL or a data: URL. Nothing is ever
// downloaded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace sightline::chat {

struct PathSource {
  std::string path;
};
struct DataSource {
  std::string bytes;  ///< decoded, any format
};
using VisualSource = std::variant<PathSource, DataSource>;

/// Largest data: URL that is decoded.
inline constexpr std::size_t kMaxDataUrlBytes = std::size_t{256} << 20U;

/// Reads a path, a file:// URL (percent escapes decoded) or a base64 data: URL. Lenient about what
/// people send: any letter case of "data:" and "base64", parameters, white space, missing padding,
/// the URL-safe alphabet, percent escapes. `where` is the JSON path for errors. Throws
/// Error(invalid_messages) with the position in the base64 text, Error(unsupported_content) for
/// http:// and other schemes, Error(file_too_large).
VisualSource read_visual_source(std::string_view url, const std::string& where);

/// True for "data:…" in any letter case.
bool is_data_url(std::string_view url);

}  // namespace sightline::chat
