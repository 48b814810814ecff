// Opening pictures (picture_source.hpp).
#include "generate/picture_source.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "generate/clock.hpp"

namespace sightline::generate {

std::string resolved(const std::string& path, const std::string& base_directory) {
  const std::filesystem::path given(path);
  if (base_directory.empty() || given.is_absolute()) return path;
  return (std::filesystem::path(base_directory) / given).string();
}

namespace {

image::Decoded take_pixels(const Picture::Pixels& pixels, const std::string& name,
                           const image::DecodeOptions& options) {
  if (pixels.width < 1 || pixels.height < 1 || pixels.width > options.max_pixels / pixels.height) {
    throw Error(Code::image_too_large,
                fmt::format("{}: expected 1 to {} pixels, found {} x {}", name, options.max_pixels,
                            pixels.width, pixels.height));
  }
  const auto expected = static_cast<std::size_t>(pixels.width * pixels.height * 3);
  if (pixels.rgb.size() != expected) {
    throw Error(Code::invalid_image,
                fmt::format("{}: {} x {} pixels take {} bytes, found {}", name, pixels.width,
                            pixels.height, expected, pixels.rgb.size()));
  }
  image::Decoded decoded;
  decoded.image = {pixels.width, pixels.height, pixels.rgb};
  return decoded;
}

}  // namespace

PromptPicture prepare(const Picture& source, const std::string& where,
                      const std::string& base_directory, const image::ProcessorConfig& processor,
                      const image::DecodeOptions& decode) {
  const Stopwatch clock;
  PromptPicture result;
  result.where = where;
  image::Decoded decoded;
  if (const auto* file = std::get_if<Picture::File>(&source.source)) {
    result.name = file->path;
    decoded = image::decode_file(resolved(file->path, base_directory), decode);
    result.format = image::format_name(decoded.report.format);
  } else if (const auto* encoded = std::get_if<Picture::Encoded>(&source.source)) {
    result.name = encoded->name;
    const auto* bytes = reinterpret_cast<const char*>(encoded->bytes.data());
    decoded = image::decode({bytes, encoded->bytes.size()}, encoded->name, decode);
    result.format = image::format_name(decoded.report.format);
  } else {
    result.name = where;
    decoded = take_pixels(std::get<Picture::Pixels>(source.source), where, decode);
    result.format = "RGB";
  }
  image::ProcessorConfig config = processor;
  config.min_pixels = source.min_pixels.value_or(config.min_pixels);
  config.max_pixels = source.max_pixels.value_or(config.max_pixels);
  if (!config.has_valid_limits()) {
    throw Error(
        Code::invalid_messages,
        fmt::format("{}: expected 1 <= min_pixels <= max_pixels <= {}, found {} and {}; give "
                    "both",
                    where, image::kMaxPixelLimit, config.min_pixels, config.max_pixels),
        {{"path", where}});
  }
  result.report = std::move(decoded.report);
  result.picture = image::prepare_picture(std::move(decoded.image), config, result.name);
  result.decode_ms = clock.ms();
  return result;
}

}  // namespace sightline::generate
