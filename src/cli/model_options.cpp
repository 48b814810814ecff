// Declares the shared options; their defaults are those of EngineOptions.
#include "cli/model_options.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

#include "calc/sampling.hpp"
#include "cli/answer_stream.hpp"
#include "cli/output.hpp"
#include "cli/resolve.hpp"
#include "generate/precision.hpp"

namespace sightline::cli {
namespace {

constexpr double kMostThreads = 1024, kMostPixels = 1e12, kLongestContext = 32768;

void add_video_options(Command& command, EngineOptions& options) {
  constexpr Range kRates{calc::kMinRate, calc::kMaxRate};
  constexpr Range kFrames{2, static_cast<double>(calc::kMaxFrames)};
  command.group("Videos")
      .option("--fps X", options.video.fps,
              "Look at this many frames a second (default: the checkpoint's, 2), at least 4 and at "
              "most --max-frames in all.",
              kRates)
      .option("--max-frames N", options.video.max_frames,
              "Look at no more frames of a video (default: the checkpoint's, 768).", kFrames)
      .option("--num-frames N", options.video.num_frames,
              "Look at this many frames, evenly spread, in place of --fps.", kFrames)
      .option("--video-fps X", options.video.rate,
              "Frames per second of a folder or list of frame pictures, for the time stamps "
              "(default: 24). All of them are looked at unless --fps, --num-frames or --max-frames "
              "is given.",
              kRates)
      .option("--video-pixels N", options.max_video_pixels,
              "Shrink frames until all frames looked at have at most this many pixels together "
              "(default: the checkpoint's).",
              {1, kMostPixels})
      .choice(
          "--video-wrapper FORM", options.video_wrapper,
          {{"inner", VideoWrapper::inner}, {"whole", VideoWrapper::whole}},
          "'inner' keeps the template's vision start and end around a video's groups (default), "
          "'whole' replaces them, as transformers up to 5.9.");
}

/// The values of --precision.
std::vector<std::pair<std::string, PrecisionMode>> precision_choices() {
  std::vector<std::pair<std::string, PrecisionMode>> choices;
  for (const PrecisionMode mode : {PrecisionMode::bf16, PrecisionMode::f32, PrecisionMode::int8,
                                   PrecisionMode::int4, PrecisionMode::automatic})
    choices.emplace_back(generate::name_of(mode), mode);
  return choices;
}

}  // namespace

std::string ModelOptions::directory() const { return resolve_model(model, revision); }

Engine load_engine(const ModelOptions& options, Output& output) {
  Engine engine = Engine::load(options.directory(), options.engine, [&](const Progress& progress) {
    output.progress(progress_text(progress));
  });
  output.progress({});
  return engine;
}

void add_model(Command& command, ModelOptions& options) {
  command.positional("MODEL", options.model,
                     "Checkpoint directory, 'demo', or a repository id in the Hugging Face cache.",
                     true);
}

void add_revision(Command& command, ModelOptions& options) {
  command.option("--revision NAME", options.revision,
                 "Branch, tag or commit of a repository id (default: main).");
}

void add_picture_options(Command& command, EngineOptions& options) {
  command.group("Pictures")
      .option("--min-pixels N", options.min_pixels,
              "Enlarge smaller pictures to about this many pixels (default: the checkpoint's). One "
              "visual token stands for 32 x 32 pixels.",
              {1, kMostPixels})
      .option("--max-pixels N", options.max_pixels,
              "Shrink larger pictures to at most this many pixels (default: the checkpoint's).",
              {1, kMostPixels})
      .option("--max-image-pixels N", options.max_image_pixels,
              "Refuse picture files that declare more pixels than this (default: 100000000).",
              {1, kMostPixels})
      .choice("--alpha MODE", options.alpha,
              {{"white", AlphaMode::white}, {"drop", AlphaMode::drop}},
              "Transparent pixels: 'white' puts them on white (default), 'drop' shows the colour "
              "that they hide.");
  add_video_options(command, options);
}

std::string default_isa() {
  const char* isa = std::getenv("SIGHTLINE_ISA");
  return isa != nullptr ? isa : "";
}

void add_machine_options(Command& command, EngineOptions& options) {
  options.isa = default_isa();
  command.group("Engine")
      .option("--threads N", options.threads,
              "Threads to compute with (default: what this process may really use: affinity mask "
              "and cgroup quota).",
              {1, kMostThreads})
      .option(
          "--isa SET", options.isa,
          "Kernel set, see 'sightline version' (default: the best of this machine, or the "
          "environment variable SIGHTLINE_ISA). 'amx-twin' and 'avx512-bf16-twin' compute on any "
          "machine what 'amx' and 'avx512-bf16' do, slowly.")
      .flag("--no-mmap", options.use_mmap, "Read the weights into memory instead of mapping them.",
            false);
}

void add_precision_options(Command& command, EngineOptions& options) {
  command
      .choice("--precision P", options.precision, precision_choices(),
              "'bf16' rounds the key/value cache to bfloat16, and left operands where the "
              "instruction set multiplies bfloat16 (default); 'f32' rounds nothing; 'int8' and "
              "'int4' round the language model's matrices while loading and multiply in integers; "
              "'auto' multiplies in integers what is stored so ('sightline quantize').")
      .choice("--vision-precision P", options.vision_precision,
              {{"stored", VisionPrecision::stored}, {"int8", VisionPrecision::int8}},
              "The vision tower's matrices: as stored (default), or rounded to 8 bits.");
}

void add_engine_options(Command& command, EngineOptions& options) {
  add_machine_options(command, options);
  add_precision_options(command, options);
  command.option("--prefill-chunk N", options.prefill_chunk,
                 "Prompt tokens computed at once, rounded up to a multiple of 64 (default: 512). "
                 "Alters memory and speed, never the answer.",
                 {1, kLongestContext});
}

void add_context_option(Command& command, EngineOptions& options) {
  command.option("--ctx N", options.context,
                 "Most tokens of prompt and answer together (default: the model's, at most 32768). "
                 "The cache grows as needed.",
                 {1, kLongestContext});
}

}  // namespace sightline::cli
