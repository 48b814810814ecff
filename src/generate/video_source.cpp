// Opening videos (video_source.hpp).
#include "generate/video_source.hpp"

#include <fmt/format.h>

#include <utility>

#include "generate/clock.hpp"
#include "generate/picture_source.hpp"

namespace sightline::generate {
namespace {

video::OpenedClip open_frames(const std::vector<Picture>& frames, const std::string& where,
                              const std::string& base_directory,
                              const image::DecodeOptions& decode) {
  std::vector<video::FramePicture> pictures;
  for (const Picture& frame : frames) {
    if (const auto* file = std::get_if<Picture::File>(&frame.source)) {
      pictures.push_back({resolved(file->path, base_directory), {}});
    } else if (const auto* encoded = std::get_if<Picture::Encoded>(&frame.source)) {
      pictures.push_back({encoded->name, {encoded->bytes.begin(), encoded->bytes.end()}});
    } else {
      throw Error(
          Code::unsupported_content,
          fmt::format("{}: frames of a video: expected files or encoded pictures, found raw "
                      "pixels",
                      where),
          {{"path", where}});
    }
  }
  return video::open_frames(std::move(pictures), where, decode);
}

// The video's own options before the engine's; a number of frames replaces a rate and the other way
// round.
video::ClipOptions clip_options(const Video& source, const VideoDefaults& defaults,
                                bool extracted) {
  const VideoOptions& own = source.options;
  const VideoOptions& other = defaults.options;
  video::ClipOptions options;
  options.rate = own.rate ? own.rate : extracted && own.fps ? own.fps : other.rate;
  const bool fps_is_rate = extracted && own.fps && !own.rate;
  if (!fps_is_rate) options.fps = own.fps;
  options.num_frames = own.num_frames;
  if (!options.fps && !options.num_frames) {
    options.fps = other.fps;
    options.num_frames = other.num_frames;
  }
  options.min_frames = own.min_frames ? own.min_frames : other.min_frames;
  options.max_frames = own.max_frames ? own.max_frames : other.max_frames;
  options.min_pixels = source.min_pixels;
  options.max_pixels = source.max_pixels;
  options.total_pixels = source.total_pixels ? source.total_pixels : defaults.total_pixels;
  return options;
}

}  // namespace

PromptPicture prepare(const Video& source, const std::string& where,
                      const std::string& base_directory,
                      const video::VideoProcessorConfig& processor, const VideoDefaults& defaults,
                      const image::DecodeOptions& decode) {
  const Stopwatch clock;
  PromptPicture result;
  result.where = where;
  video::OpenedClip opened;
  if (const auto* file = std::get_if<Picture::File>(&source.source)) {
    result.name = file->path;
    opened = video::open_path(resolved(file->path, base_directory), decode);
  } else if (const auto* encoded = std::get_if<Picture::Encoded>(&source.source)) {
    result.name = encoded->name;
    opened =
        video::open_bytes({encoded->bytes.begin(), encoded->bytes.end()}, encoded->name, decode);
  } else {
    result.name = where;
    opened =
        open_frames(std::get<std::vector<Picture>>(source.source), where, base_directory, decode);
  }
  const video::ClipOptions options =
      clip_options(source, defaults, opened.reader->facts().extracted);
  result.clip = std::make_shared<video::Clip>(std::move(opened), processor, options, result.name);
  const video::Clip& clip = *result.clip;
  result.format = clip.facts().format;
  result.report.orientation = clip.facts().orientation;
  result.report.warnings = clip.facts().notes;
  result.picture.original_height = clip.facts().height;
  result.picture.original_width = clip.facts().width;
  result.picture.resized.height = clip.size().height;
  result.picture.resized.width = clip.size().width;
  result.picture.grid = clip.grid();
  result.picture.tokens = clip.tokens();
  result.picture.hash = clip.hash();
  result.decode_ms = clock.ms();
  return result;
}

}  // namespace sightline::generate
