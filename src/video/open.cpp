// From a path to a reader (open.hpp).
#include "video/open.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/sha256.hpp"
#include "image/sniff.hpp"
#include "sightline/error.hpp"
#include "video/codes.hpp"

namespace sightline::video {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kHead = 64;  // bytes that tell formats apart

std::string_view head_of(const ByteSource& source, std::array<std::uint8_t, kHead>& head) {
  const std::int64_t got = source.read(0, head.data(), kHead);
  return {reinterpret_cast<const char*>(head.data()),
          static_cast<std::size_t>(std::max<std::int64_t>(got, 0))};
}

OpenedClip open_source(ByteSource source, const std::string& name,
                       const image::DecodeOptions& options) {
  std::array<std::uint8_t, kHead> head;
  const std::string_view start = head_of(source, head);
  if (start.empty()) {
    throw Error(kInvalidVideo, fmt::format("{}: expected a video, found 0 bytes", name),
                {{"file", name}});
  }
  const auto picture = image::sniff(start);
  OpenedClip clip;
  clip.content = source.sha256(name);
  if (picture == image::Format::webp) {
    clip.reader = read_webp(std::move(source), name, options);
  } else if (!picture || picture == image::Format::gif) {
    clip.reader = read_container(std::move(source), name, options);
  } else {
    throw Error(
        kUnsupportedVideo,
        fmt::format("{}: expected a video, found one {} picture: give it as a picture (-i), "
                    "or give the folder of all frames",
                    name, image::format_name(*picture)),
        {{"file", name}});
  }
  return clip;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Runs of digits compare by value, everything else by bytes: 2.png before 10.png.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[k])) {
      if (a[i] != b[k]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[k]);
      ++i, ++k;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (k < b.size() && b[k] == '0') ++k;
    std::size_t x = i, y = k;
    while (x < a.size() && is_digit(a[x])) ++x;
    while (y < b.size() && is_digit(b[y])) ++y;
    if (x - i != y - k) return x - i < y - k;
    const int order = a.compare(i, x - i, b, k, y - k);
    if (order != 0) return order < 0;
    i = x, k = y;
  }
  return a.size() - i != b.size() - k ? a.size() - i < b.size() - k : a < b;
}

bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kNames[] = {".png", ".jpg",  ".jpeg", ".webp",
                                         ".gif", ".tiff", ".tif",  ".bmp"};
  return std::find(std::begin(kNames), std::end(kNames), extension) != std::end(kNames);
}

std::vector<FramePicture> pictures_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_picture_name(at->path()) && at->path().filename().string().front() != '.')
      names.push_back(at->path().filename().string());
  }
  if (error) {
    throw Error(Code::file_unreadable,
                fmt::format("{}: cannot be read: {}", folder, error.message()), {{"file", folder}});
  }
  std::sort(names.begin(), names.end(), natural_less);
  std::vector<FramePicture> pictures;
  for (const std::string& name : names)
    pictures.push_back({(fs::path(folder) / name).string(), {}});
  return pictures;
}

// "a.png,b.png": paths that all exist, of a path that does not.
std::vector<FramePicture> listed(const std::string& path) {
  std::vector<FramePicture> pictures;
  std::error_code error;
  if (path.find(',') == std::string::npos || fs::exists(path, error)) return pictures;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(',', start), path.size());
    pictures.push_back({path.substr(start, end - start), {}});
    start = end + 1;
  }
  return pictures;
}

}  // namespace

OpenedClip open_path(const std::string& path, const image::DecodeOptions& options) {
  std::error_code error;
  if (fs::is_directory(path, error)) return open_frames(pictures_of(path), path, options);
  std::vector<FramePicture> list = listed(path);
  if (!list.empty()) return open_frames(std::move(list), path, options);
  return open_source(ByteSource::file(path), path, options);
}

OpenedClip open_bytes(std::string bytes, const std::string& name,
                      const image::DecodeOptions& options) {
  return open_source(ByteSource::memory(std::move(bytes)), name, options);
}

OpenedClip open_frames(std::vector<FramePicture> pictures, const std::string& name,
                       const image::DecodeOptions& options) {
  OpenedClip clip;
  Sha256 all;
  for (const FramePicture& picture : pictures) {
    const auto digest = picture.bytes.empty()
                            ? ByteSource::file(picture.name).sha256(picture.name)
                            : ByteSource::memory(picture.bytes).sha256(picture.name);
    all.update(digest.data(), digest.size());
  }
  clip.content = all.finish();
  clip.reader = read_pictures(std::move(pictures), name, options);
  return clip;
}

}  // namespace sightline::video
