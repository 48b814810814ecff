// `sightline pixels`: what the checkpoint's image processor makes of picture files. Needs only the
// processor file of a checkpoint.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "base/sha256.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "generate/video_source.hpp"
#include "image/decode.hpp"
#include "image/picture.hpp"
#include "image/png_write.hpp"
#include "image/processor_config.hpp"
#include "io/json.hpp"

namespace sightline::cli {
namespace {

struct PixelsOptions {
  ModelOptions model;
  std::vector<std::string> files, videos;
  std::optional<std::string> out;
};

io::Json list(std::initializer_list<std::int64_t> values) {
  io::Json array = io::Json::array();
  for (const std::int64_t value : values) array.push(value);
  return array;
}

std::string pixel_hash(const image::Image& image) {
  return sha256_hex(image.rgb.data(), image.rgb.size());
}

/// What deserves a word beyond the fixed keys; ordinary pictures add nothing.
void add_remarks(io::Json& line, const image::DecodeReport& report) {
  if (report.orientation != 1) line.add("orientation", report.orientation);
  if (report.frames_ignored != 0) line.add("frames_ignored", report.frames_ignored);
  if (report.warnings.empty()) return;
  io::Json warnings = io::Json::array();
  for (const std::string& warning : report.warnings) warnings.push(warning);
  line.add("warnings", std::move(warnings));
}

std::filesystem::path png_path(const std::string& directory, const std::string& file) {
  return std::filesystem::path(directory) /
         (std::filesystem::path(file).filename().string() + ".png");
}

/// Refuses to write over a picture that is yet to be read, or was.
void protect_inputs(const PixelsOptions& options) {
  std::error_code error;  // of a path that does not exist: it stays as it is
  std::map<std::filesystem::path, std::string> inputs;
  for (const std::string& file : options.files) {
    inputs.emplace(std::filesystem::weakly_canonical(file, error), file);
  }
  for (const std::string& file : options.files) {
    const auto target = std::filesystem::weakly_canonical(png_path(*options.out, file), error);
    const auto input = inputs.find(target);
    if (input == inputs.end()) continue;
    throw Error(Code::usage, fmt::format("pixels: --out: '{}' would be written over the picture "
                                         "'{}'; give another directory",
                                         file, input->second));
  }
}

/// Makes the directory, and refuses two pictures that would be written to one file.
void prepare_output_directory(const PixelsOptions& options) {
  std::map<std::filesystem::path, std::string> owners;
  for (const std::string& file : options.files) {
    const auto [owner, is_new] = owners.emplace(png_path(*options.out, file), file);
    if (!is_new) {
      throw Error(Code::usage, fmt::format("pixels: --out: '{}' and '{}' would both be written to "
                                           "'{}'; run them one by one",
                                           owner->second, file, owner->first.string()));
    }
  }
  std::error_code error;
  std::filesystem::create_directories(*options.out, error);
  if (error) {
    throw Error(Code::file_unwritable,
                fmt::format("{}: cannot be made: {}", *options.out, error.message()));
  }
  protect_inputs(options);
}

image::DecodeOptions decode_options(const EngineOptions& engine) {
  image::DecodeOptions options;
  options.max_pixels = engine.max_image_pixels;
  options.alpha = engine.alpha == AlphaMode::drop ? image::Alpha::drop : image::Alpha::white;
  return options;
}

std::string pixels_line(const PixelsOptions& options, const image::ProcessorConfig& processor,
                        const std::string& file) {
  image::Decoded decoded = image::decode_file(file, decode_options(options.model.engine));
  io::Json line = io::Json::Object{{"file", file},
                                   {"format", image::format_name(decoded.report.format)},
                                   {"decoded", list({decoded.image.height, decoded.image.width})},
                                   {"decoded_rgb_sha256", pixel_hash(decoded.image)}};
  const image::Picture picture = image::prepare_picture(std::move(decoded.image), processor, file);
  line.add("resized", list({picture.resized.height, picture.resized.width}));
  line.add("resized_rgb_sha256", pixel_hash(picture.resized));
  line.add("grid", list({picture.grid.t, picture.grid.h, picture.grid.w}));
  line.add("tokens", picture.tokens);
  add_remarks(line, decoded.report);
  if (options.out) image::write_png(picture.resized, png_path(*options.out, file).string());
  return io::to_python_json(line);
}

/// The frames of a video that the model would see; each is written as DIR/FILE-0001.png.
std::string video_line(const PixelsOptions& options, const std::string& file) {
  const EngineOptions& engine = options.model.engine;
  const generate::PromptPicture prepared = generate::prepare(
      Video::file(file), file, "", video::read_video_processor_config(options.model.directory()),
      {engine.video, engine.max_video_pixels}, decode_options(engine));
  video::Clip& clip = *prepared.clip;
  io::Json indices = io::Json::array(), seconds = io::Json::array(), hashes = io::Json::array();
  for (std::int64_t k = 0; k < clip.sampling().count; ++k) {
    const image::Image frame = clip.resized(k);
    indices.push(clip.sampling().index(k));
    hashes.push(pixel_hash(frame));
    if (options.out)
      image::write_png(frame,
                       png_path(*options.out, fmt::format("{}-{:04}", file, k + 1)).string());
  }
  for (std::int64_t group = 0; group < clip.groups(); ++group)
    seconds.push(clip.sampling().seconds(group));
  io::Json line =
      io::Json::Object{{"file", file},
                       {"format", prepared.format},
                       {"decoded", list({clip.facts().height, clip.facts().width})},
                       {"frames", clip.facts().frames},
                       {"rate", clip.rate() ? io::Json(*clip.rate()) : io::Json(nullptr)},
                       {"indices", std::move(indices)},
                       {"seconds", std::move(seconds)},
                       {"resized", list({clip.size().height, clip.size().width})},
                       {"resized_rgb_sha256", std::move(hashes)},
                       {"grid", list({clip.grid().t, clip.grid().h, clip.grid().w})},
                       {"tokens", clip.tokens()}};
  image::DecodeReport report = prepared.report;
  for (std::string& note : clip.take_notes()) report.warnings.push_back(std::move(note));
  add_remarks(line, report);
  return io::to_python_json(line);
}

int pixels(const PixelsOptions& options, Output& output) {
  if (options.files.empty() && options.videos.empty())
    throw Error(Code::usage, "pixels: expected at least one FILE, or --video FILE");
  if (options.out) prepare_output_directory(options);
  int code = kDone;
  const auto each = [&](const std::vector<std::string>& files, const auto& make_line) {
    for (const std::string& file : files) {
      try {
        output.line(make_line(file));
      } catch (const Error& error) {
        const int failed = report_error(error, output);
        if (code == kDone) code = failed;
      }
    }
  };
  if (!options.files.empty()) {
    const image::ProcessorConfig processor = image::read_processor_config(
        options.model.directory(),
        {options.model.engine.min_pixels, options.model.engine.max_pixels});
    each(options.files,
         [&](const std::string& file) { return pixels_line(options, processor, file); });
  }
  each(options.videos, [&](const std::string& file) { return video_line(options, file); });
  return code;
}

}  // namespace

Command pixels_command() {
  auto options = std::make_shared<PixelsOptions>();
  Command command("pixels", "what the processors make of picture and video files");
  command.description(
      "Writes one line of JSON per file: format, size [height, width] and SHA-256 of the RGB bytes "
      "as decoded and as resized for the model, patch grid [t, h, w], visual tokens. A picture "
      "that "
      "was turned (EXIF), has further frames, or gave a warning says so in further members. Needs "
      "only the checkpoint's processor file. A file that fails does not stop the others; the exit "
      "code is that of the first failure.");
  add_model(command, options->model);
  command.positionals("FILE", options->files, "PNG, JPEG, WebP, GIF, TIFF or BMP files.", false)
      .option("--video FILE", options->videos,
              "A video file or folder of frames: the frames that would be looked at, their times "
              "and the hash of each one.")
      .option("--out DIR", options->out,
              "Also write each resized picture as DIR/FILE.png, frames of a video as "
              "DIR/FILE-0001.png and so on; the directory is made.");
  add_revision(command, options->model);
  add_picture_options(command, options->model.engine);
  command.example("sightline pixels demo photo.jpg", "size, grid and tokens of a picture")
      .example("sightline pixels demo *.jpg --max-pixels 262144 --out resized",
               "with a limit, keeping what the model would see")
      .example("sightline pixels demo --video clip.mp4 --out frames", "what is seen of a video")
      .action([options](Output& output) { return pixels(*options, output); });
  return command;
}

}  // namespace sightline::cli
