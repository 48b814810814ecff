// JSON to ProcessorConfig, with bounds on every number.
#include "image/processor_config.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::image {
namespace {

constexpr const char* kNewFile = "processor_config.json";
constexpr const char* kOldFile = "preprocessor_config.json";
constexpr std::int64_t kBicubic = 3;  // PIL.Image.Resampling.BICUBIC

// Bounds that keep every product of them in 64 bits; far above any published value.
constexpr std::int64_t kMaxPatch = 1024;
constexpr std::int64_t kMaxTemporal = 64;

// Names under which the one algorithm of specification section 2 is published.
constexpr std::array kProcessors{"Qwen2VLImageProcessorFast", "Qwen2VLImageProcessor",
                                 "Qwen2VLImageProcessorPil"};

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

bool flag(const io::JsonReader& reader, const char* key) {
  return !reader.has(key) || reader.at(key).boolean();
}

std::array<double, 3> channel_values(const io::JsonReader& reader, double min, double max) {
  if (reader.size() != 3) {
    reader.fail("3 numbers", fmt::format("{}", reader.size()));
  }
  return {reader.at(0).number(min, max), reader.at(1).number(min, max),
          reader.at(2).number(min, max)};
}

void read_limits(const io::JsonReader& reader, ProcessorConfig& config) {
  const auto read = [&](const char* own, const char* in_size) {
    const auto number = reader.has(own) ? reader.at(own) : reader.at("size").at(in_size);
    return number.integer(1, kMaxPixelLimit);
  };
  config.min_pixels = read("min_pixels", "shortest_edge");
  config.max_pixels = read("max_pixels", "longest_edge");
  if (config.min_pixels > config.max_pixels) {
    reader.fail("a smallest number of pixels that is not above the largest",
                fmt::format("{} and {}", config.min_pixels, config.max_pixels));
  }
}

void check_processor(const io::JsonReader& reader, ProcessorConfig& config) {
  if (reader.has("image_processor_type")) {
    const io::JsonReader type = reader.at("image_processor_type");
    config.image_processor_type = type.string();
    if (std::ranges::find(kProcessors, config.image_processor_type) == kProcessors.end()) {
      type.fail(fmt::format("one of {}", fmt::join(kProcessors, ", ")),
                quoted(config.image_processor_type));
    }
  }
  if (reader.has("resample")) {
    const io::JsonReader resample = reader.at("resample");
    const std::int64_t filter = resample.integer(0, 100);
    if (filter != kBicubic) resample.fail("3 (bicubic)", fmt::format("{}", filter));
  }
}

void apply_limits(const PixelLimits& limits, ProcessorConfig& config) {
  config.min_pixels = limits.min_pixels.value_or(config.min_pixels);
  config.max_pixels = limits.max_pixels.value_or(config.max_pixels);
  if (config.has_valid_limits()) return;
  throw Error(
      Code::invalid_option,
      fmt::format(
          "pixel limits: expected 1 <= --min-pixels <= --max-pixels <= {}, found {} and {}; "
          "give both options",
          kMaxPixelLimit, config.min_pixels, config.max_pixels),
      {{"min_pixels", std::to_string(config.min_pixels)},
       {"max_pixels", std::to_string(config.max_pixels)}});
}

}  // namespace

ProcessorConfig parse_processor_config(const io::Json& json, const std::string& file,
                                       const std::string& path) {
  const io::JsonReader reader(json, file, path, Code::invalid_processor);
  ProcessorConfig config;
  config.file = file;
  check_processor(reader, config);
  read_limits(reader, config);
  config.patch_size = reader.at("patch_size").integer(1, kMaxPatch);
  config.temporal_patch_size = reader.at("temporal_patch_size").integer(1, kMaxTemporal);
  config.merge_size = reader.at("merge_size").integer(1, kMaxPatch);
  constexpr double kLargest = 1e6, kSmallest = 1e-6;
  config.image_mean = channel_values(reader.at("image_mean"), -kLargest, kLargest);
  config.image_std = channel_values(reader.at("image_std"), kSmallest, kLargest);
  if (reader.has("rescale_factor")) {
    config.rescale_factor = reader.at("rescale_factor").number(kSmallest, kLargest);
  }
  config.do_resize = flag(reader, "do_resize");
  config.do_rescale = flag(reader, "do_rescale");
  config.do_normalize = flag(reader, "do_normalize");
  return config;
}

ProcessorConfig read_processor_config(const std::string& directory, const PixelLimits& limits) {
  const std::string nested = directory + "/" + kNewFile, flat = directory + "/" + kOldFile;
  ProcessorConfig config;
  bool found = false;
  if (io::has_file(nested)) {
    const io::Json json = io::read_json_file(nested, Code::invalid_processor);
    if (const io::Json* part = json.find("image_processor"); part != nullptr && part->is_object()) {
      config = parse_processor_config(*part, nested, "image_processor");
      found = true;
    }
  }
  if (!found && !io::has_file(flat)) {
    throw Error(
        Code::missing_file,
        fmt::format("{}: expected {} or {} with an image_processor, found neither; download "
                    "the file beside the weights",
                    directory, kOldFile, kNewFile),
        {{"directory", directory}, {"file", kOldFile}});
  }
  if (!found)
    config = parse_processor_config(io::read_json_file(flat, Code::invalid_processor), flat);
  apply_limits(limits, config);
  return config;
}

}  // namespace sightline::image
