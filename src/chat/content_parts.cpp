// Content parts: which kind, which fields, which source.
#include "chat/content_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sightline::chat {
namespace {

constexpr std::array<std::string_view, 3> kTextTypes = {"text", "input_text", "output_text"};
constexpr std::array<std::string_view, 3> kImageTypes = {"image", "image_url", "input_image"};
constexpr std::array<std::string_view, 2> kVideoTypes = {"video", "input_video"};
// What a video part may say about its sampling.
constexpr std::array<std::string_view, 7> kVideoOptions = {
    "fps", "num_frames", "min_frames", "max_frames", "sample_fps", "nframes", "total_pixels"};

template <typename Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::int64_t pixel_count(const io::Json& value, const std::string& where) {
  if (!value.is_int() || value.as_int() < 1)
    fail_message(where, "a positive integer", io::to_json_text(value));
  return value.as_int();
}

// min_pixels and max_pixels are honoured next to the source and inside image_url; twice is once too
// often.
bool read_pixel_limit(VisualPart& visual, const std::string& key, const io::Json& value,
                      const std::string& where) {
  if (key != "min_pixels" && key != "max_pixels") return false;
  std::optional<std::int64_t>& limit = key == "min_pixels" ? visual.min_pixels : visual.max_pixels;
  if (limit)
    fail_message(where + "." + key, "the field once", "it next to the address and inside it");
  limit = pixel_count(value, where + "." + key);
  return true;
}

// A source string; what was decoded from a data URL is cut out of the JSON.
VisualSource take_source(io::Json& value, const std::string& where) {
  if (!value.is_string()) fail_message(where, "a path or a URL", value.type_name());
  VisualSource source = read_visual_source(value.as_string(), where);
  if (std::holds_alternative<DataSource>(source)) value = "data:";
  return source;
}

// {"url": …, "detail": …, "min_pixels": …} or the address itself.
VisualSource read_address(VisualPart& visual, io::Json& value, const std::string& where) {
  if (!value.is_object()) return take_source(value, where);
  io::Json* url = nullptr;
  for (auto& [key, member] : value.as_object()) {
    if (key == "url" || key == "path") {
      if (url != nullptr) fail_message(where, "one of url and path", "both");
      url = &member;
    } else if (key == "detail") {
      // The size of the picture decides; "low" would have to change it.
      if (member != io::Json("auto") && member != io::Json("high") && !member.is_null()) {
        fail_message(where + ".detail",
                     "\"auto\" or \"high\" (use max_pixels for a smaller picture)",
                     io::to_json_text(member));
      }
    } else if (!read_pixel_limit(visual, key, member, where)) {
      fail_message(where, "the fields url, path, detail, min_pixels, max_pixels",
                   "\"" + key + "\"");
    }
  }
  if (url == nullptr) fail_message(where + ".url", "a path or a URL", "nothing");
  return take_source(*url, where + ".url");
}

void read_video(VisualPart& visual, io::Json& value, const std::string& where) {
  if (!value.is_array()) {
    visual.source = read_address(visual, value, where);
    return;
  }
  if (value.as_array().empty()) fail_message(where, "frames of the video", "an empty list");
  for (std::size_t i = 0; i < value.as_array().size(); ++i) {
    visual.frames.push_back(take_source(value.as_array()[i], fmt::format("{}[{}]", where, i)));
  }
}

VisualPart read_visual(io::Json& part, VisualKind kind, const std::string& where) {
  VisualPart visual;
  visual.kind = kind;
  visual.where = where;
  visual.options = io::Json::object();
  const bool image = kind == VisualKind::image;
  bool found = false;
  for (auto& [key, value] : part.as_object()) {
    const bool source = image ? key == "image" || key == "image_url" : key == "video";
    if (key == "type" || key == "detail") {
      if (key == "detail" && value != io::Json("auto") && value != io::Json("high") &&
          !value.is_null()) {
        fail_message(where + ".detail",
                     "\"auto\" or \"high\" (use max_pixels for a smaller picture)",
                     io::to_json_text(value));
      }
    } else if (source) {
      if (found) fail_message(where, "one of image and image_url", "both");
      found = true;
      const std::string path = where + "." + key;
      if (image) {
        visual.source = read_address(visual, value, path);
      } else {
        read_video(visual, value, path);
      }
    } else if (!image && among(kVideoOptions, key)) {
      visual.options.add(key, value);
    } else if (!read_pixel_limit(visual, key, value, where)) {
      fail_message(where,
                   image ? "the fields type, image, image_url, detail, min_pixels, max_pixels"
                         : fmt::format("the fields type, video, min_pixels, max_pixels, {}",
                                       fmt::join(kVideoOptions, ", ")),
                   "\"" + key + "\"");
    }
  }
  if (!found)
    fail_message(where,
                 image ? "image or image_url with a path or a URL" : "video with a path or a URL",
                 "nothing");
  return visual;
}

void check_text(const io::Json& part, const std::string& where) {
  for (const auto& [key, value] : part.as_object()) {
    if (key == "type") continue;
    if (key != "text") fail_message(where, "the fields type and text", "\"" + key + "\"");
    if (!value.is_string()) fail_message(where + ".text", "a string", value.type_name());
  }
  if (part.find("text") == nullptr) fail_message(where + ".text", "a string", "nothing");
}

}  // namespace

std::optional<VisualPart> read_content_part(io::Json& part, const std::string& where) {
  if (!part.is_object()) fail_message(where, "an object with a type", part.type_name());
  const io::Json* type = part.find("type");
  if (type != nullptr && !type->is_string())
    fail_message(where + ".type", "a string", type->type_name());
  const std::string name = type != nullptr                ? type->as_string()
                           : part.find("text") != nullptr ? "text"
                           : part.find("image") != nullptr || part.find("image_url") != nullptr
                               ? "image"
                           : part.find("video") != nullptr ? "video"
                                                           : "";
  if (among(kTextTypes, name)) {
    check_text(part, where);
    return std::nullopt;
  }
  if (among(kImageTypes, name)) return read_visual(part, VisualKind::image, where);
  if (among(kVideoTypes, name)) return read_visual(part, VisualKind::video, where);
  fail_message(where + ".type",
               fmt::format("one of {}, {}, {}", fmt::join(kTextTypes, ", "),
                           fmt::join(kImageTypes, ", "), fmt::join(kVideoTypes, ", ")),
               type == nullptr ? "nothing" : io::to_json_text(*type));
}

}  // namespace sightline::chat
