// What a Matroska or WebM file says about its own length, which FFmpeg does not tell: so that a cut
// one is known even where its tracks end at different times. No state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sightline::video {

/// Bytes that the whole file has by the size of its Segment (RFC 8794, RFC 9559 section 4.5);
/// nothing if `head`, its beginning, is no Matroska file or the size is left open, as in streams.
std::optional<std::int64_t> matroska_bytes(std::string_view head);

}  // namespace sightline::video
