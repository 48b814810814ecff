// Recognises a file by its first bytes, never by its name. No dependency but the standard library.
#pragma once

#include <optional>
#include <string_view>

#include "image/decode.hpp"

namespace sightline::image {

/// The readable format that these bytes start like, if any.
std::optional<Format> sniff(std::string_view bytes) noexcept;

/// A name for content that cannot be read ("AVIF", "SVG", "PDF", …), or nullptr if it is unknown
/// too.
const char* foreign_format(std::string_view bytes) noexcept;

}  // namespace sightline::image
