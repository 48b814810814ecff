// File signatures: those that can be read, and those that people send instead.
#include "image/sniff.hpp"

#include <algorithm>
#include <array>

namespace sightline::image {
namespace {

using std::string_view_literals::operator""sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  const char* name;
};

constexpr std::array kForeign{
    Signature{0, "\x00\x00\x00\x0CJXL \r\n\x87\n"sv, "JPEG XL"},
    Signature{0, "\xFF\x0A"sv, "JPEG XL"},
    Signature{0, "\x00\x00\x00\x0CjP  \r\n\x87\n"sv, "JPEG 2000"},
    Signature{0, "\xFF\x4F\xFF\x51"sv, "JPEG 2000"},
    Signature{0, "\x00\x00\x01\x00"sv, "ICO"},
    Signature{0, "\x00\x00\x02\x00"sv, "CUR"},
    Signature{0, "8BPS"sv, "PSD"},
    Signature{0, "%PDF"sv, "PDF"},
    Signature{0, "%!PS"sv, "PostScript"},
    Signature{0, "qoif"sv, "QOI"},
    Signature{0, "DDS "sv, "DDS"},
    Signature{0, "gimp xcf"sv, "XCF"},
    Signature{0, "\x76\x2F\x31\x01"sv, "OpenEXR"},
    Signature{0, "#?RADIANCE"sv, "Radiance HDR"},
    Signature{0, "\x8AMNG\r\n"sv, "MNG"},
    Signature{0, "\xD7\xCD\xC6\x9A"sv, "WMF"},
    Signature{0, "\x1A\x45\xDF\xA3"sv, "Matroska or WebM video"},
    Signature{8, "AVI "sv, "AVI video"},
    Signature{0, "version https://git-lfs"sv, "Git LFS pointer (the real file was not downloaded)"},
    Signature{0, "PK\x03\x04"sv, "ZIP archive"},
    Signature{0, "\x1F\x8B"sv, "gzip archive"},
    Signature{0, "data:"sv, "data URL (decode its base64 first)"},
};

constexpr std::array kHeifBrands{"heic"sv, "heix"sv, "hevc"sv, "hevx"sv,
                                 "heim"sv, "heis"sv, "mif1"sv, "msf1"sv};

bool starts_with_at(std::string_view bytes, std::size_t offset, std::string_view what) noexcept {
  return bytes.size() >= offset + what.size() && bytes.compare(offset, what.size(), what) == 0;
}

// ISO base media files carry a brand at byte 8 and compatible brands from byte 16 on.
const char* iso_media_name(std::string_view bytes) noexcept {
  if (!starts_with_at(bytes, 4, "ftyp")) return nullptr;
  const std::string_view brands = bytes.substr(8, 56);
  if (brands.find("avif") != std::string_view::npos ||
      brands.find("avis") != std::string_view::npos) {
    return "AVIF";
  }
  const bool heif = std::ranges::any_of(kHeifBrands, [&](std::string_view brand) {
    return brands.find(brand) != std::string_view::npos;
  });
  return heif ? "HEIC" : "MP4 or QuickTime video";
}

// Text formats: SVG and HTML may start with blanks, a byte order mark, a declaration or comments.
const char* text_name(std::string_view bytes) noexcept {
  constexpr std::size_t kHead = 4096;
  const std::string_view head = bytes.substr(0, kHead);
  const bool markup = head.find('<') <= head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (markup && head.find("<svg") != std::string_view::npos) return "SVG";
  if (markup) return "HTML or XML text";
  const bool pnm = head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '7' &&
                   (head[2] == '\n' || head[2] == ' ' || head[2] == '\r');
  return pnm ? "PNM" : nullptr;
}

}  // namespace

std::optional<Format> sniff(std::string_view bytes) noexcept {
  if (bytes.starts_with("\x89PNG\r\n\x1A\n"sv)) return Format::png;
  if (bytes.starts_with("\xFF\xD8\xFF"sv)) return Format::jpeg;
  if (bytes.starts_with("RIFF"sv) && starts_with_at(bytes, 8, "WEBP"sv)) return Format::webp;
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) return Format::gif;
  if (bytes.starts_with("II*\0"sv) || bytes.starts_with("MM\0*"sv) ||
      bytes.starts_with("II+\0"sv) || bytes.starts_with("MM\0+"sv)) {
    return Format::tiff;
  }
  // "BM" may begin any text; the length of the header, below 256, follows at byte 14.
  if (bytes.starts_with("BM"sv) && bytes.size() >= 18 && bytes.substr(15, 3) == "\0\0\0"sv) {
    return Format::bmp;
  }
  return std::nullopt;
}

const char* foreign_format(std::string_view bytes) noexcept {
  if (const char* name = iso_media_name(bytes)) return name;
  for (const Signature& signature : kForeign) {
    if (starts_with_at(bytes, signature.offset, signature.bytes)) return signature.name;
  }
  return text_name(bytes);
}

}  // namespace sightline::image
