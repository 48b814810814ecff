// JSON to VideoProcessorConfig (processor_config.hpp).
#include "video/processor_config.hpp"

#include <fmt/format.h>

#include <optional>

#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::video {
namespace {

constexpr const char* kNewFile = "processor_config.json";
constexpr const char* kOldFile = "video_preprocessor_config.json";
constexpr const char* kProcessor = "Qwen3VLVideoProcessor";

void check_processor(const io::JsonReader& reader) {
  if (!reader.has("video_processor_type")) return;
  const io::JsonReader type = reader.at("video_processor_type");
  if (type.string() != kProcessor) type.fail(kProcessor, fmt::format("\"{}\"", type.string()));
}

void read_sampling(const io::JsonReader& reader, VideoProcessorConfig& config) {
  calc::SamplingRule& rule = config.sampling;
  if (reader.has("fps")) rule.fps = reader.at("fps").number(calc::kMinRate, calc::kMaxRate);
  if (reader.has("min_frames"))
    rule.min_frames = reader.at("min_frames").integer(1, calc::kMaxFrames);
  if (reader.has("max_frames"))
    rule.max_frames = reader.at("max_frames").integer(1, calc::kMaxFrames);
  rule.temporal_patch = config.frames.temporal_patch_size;
  if (reader.has("do_sample_frames"))
    config.do_sample_frames = reader.at("do_sample_frames").boolean();
  if (reader.has("cap_pixels_per_frame"))
    config.cap_pixels_per_frame = reader.at("cap_pixels_per_frame").boolean();
}

// The `video_processor` member of processor_config.json, if there is one.
std::optional<io::Json> nested_part(const std::string& directory) {
  const std::string file = directory + "/" + kNewFile;
  if (!io::has_file(file)) return std::nullopt;
  const io::Json json = io::read_json_file(file, Code::invalid_processor);
  const io::Json* part = json.find("video_processor");
  if (part == nullptr || !part->is_object()) return std::nullopt;
  return *part;
}

}  // namespace

VideoProcessorConfig parse_video_processor_config(const io::Json& json, const std::string& file,
                                                  const std::string& path) {
  const io::JsonReader reader(json, file, path, Code::invalid_processor);
  check_processor(reader);
  VideoProcessorConfig config;
  config.frames = image::parse_processor_config(json, file, path);
  read_sampling(reader, config);
  return config;
}

bool has_video_processor(const std::string& directory) {
  return io::has_file(directory + "/" + kOldFile) || nested_part(directory).has_value();
}

VideoProcessorConfig read_video_processor_config(const std::string& directory) {
  const std::string flat = directory + "/" + kOldFile;
  if (const auto part = nested_part(directory))
    return parse_video_processor_config(*part, directory + "/" + kNewFile, "video_processor");
  if (!io::has_file(flat)) {
    throw Error(Code::missing_file,
                fmt::format("{}: expected {} or {} with a video_processor, found neither; download "
                            "the file beside the weights",
                            directory, kOldFile, kNewFile),
                {{"directory", directory}, {"file", kOldFile}});
  }
  return parse_video_processor_config(io::read_json_file(flat, Code::invalid_processor), flat);
}

}  // namespace sightline::video
