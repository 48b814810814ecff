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
#include "image/decode.hpp"
#include "image/picture.hpp"
#include "image/png_write.hpp"
#include "image/processor_config.hpp"
#include "io/json.hpp"

namespace sightline::cli {
namespace {

struct PixelsOptions {
  ModelOptions model;
  std::vector<std::string> files;
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

std::string pixels_line(const PixelsOptions& options, const image::ProcessorConfig& processor,
                        const std::string& file) {
  image::DecodeOptions decode_options;
  decode_options.max_pixels = options.model.engine.max_image_pixels;
  decode_options.alpha =
      options.model.engine.alpha == AlphaMode::drop ? image::Alpha::drop : image::Alpha::white;
  image::Decoded decoded = image::decode_file(file, decode_options);
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

int pixels(const PixelsOptions& options, Output& output) {
  const image::ProcessorConfig processor = image::read_processor_config(
      options.model.directory(),
      {options.model.engine.min_pixels, options.model.engine.max_pixels});
  if (options.out) prepare_output_directory(options);
  int code = kDone;
  for (const std::string& file : options.files) {
    try {
      output.line(pixels_line(options, processor, file));
    } catch (const Error& error) {
      const int failed = report_error(error, output);
      if (code == kDone) code = failed;
    }
  }
  return code;
}

}  // namespace

Command pixels_command() {
  auto options = std::make_shared<PixelsOptions>();
  Command command("pixels", "what the image processor makes of picture files");
  command.description(
      "Writes one line of JSON per file: format, size [height, width] and SHA-256 of the RGB bytes "
      "as decoded and as resized for the model, patch grid [t, h, w], visual tokens. A picture "
      "that "
      "was turned (EXIF), has further frames, or gave a warning says so in further members. Needs "
      "only the checkpoint's processor file. A file that fails does not stop the others; the exit "
      "code is that of the first failure.");
  add_model(command, options->model);
  command.positionals("FILE", options->files, "PNG, JPEG, WebP, GIF, TIFF or BMP files.")
      .option("--out DIR", options->out,
              "Also write each resized picture as DIR/FILE.png; the directory is made.");
  add_revision(command, options->model);
  add_picture_options(command, options->model.engine);
  command.example("sightline pixels demo photo.jpg", "size, grid and tokens of a picture")
      .example("sightline pixels demo *.jpg --max-pixels 262144 --out resized",
               "with a limit, keeping what the model would see")
      .action([options](Output& output) { return pixels(*options, output); });
  return command;
}

}  // namespace sightline::cli
