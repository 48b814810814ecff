// `sightline calc`: from a picture's or clip's size to visual tokens, without a checkpoint. The
// arithmetic is calc/calculator.hpp, the same that the image processor uses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "calc/calculator.hpp"
#include "calc/sampling.hpp"
#include "cli/calc_report.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace sightline::cli {
namespace {

using calc::Mode;

struct CalcOptions {
  std::string model{calc::Request{}.model};
  calc::Request request;
  std::optional<std::int64_t> budget;  ///< for either family
  std::optional<std::int64_t> total_frames, num_frames;
  std::optional<double> native_fps, fps;
  bool details = false;
};

/// "soft_token_budget" as the option that sets it, or the one that was typed for it.
std::string option_name(std::string_view input, const CalcOptions& options) {
  if (options.budget && (input == "budget_tokens" || input == "soft_token_budget"))
    return "--budget";
  std::string name = "--" + std::string(input);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// Our own words with the names of options in place of inputs; the reference's stay as they are.
std::string with_options(std::string message, const calc::Problem& problem,
                         const CalcOptions& options) {
  if (!message.starts_with(std::string(problem.input) + ":")) return message;
  message.replace(0, problem.input.size(), option_name(problem.input, options));
  for (const char* other : {"soft_token_budget", "budget_tokens", "max_pixels"}) {
    const std::size_t at = message.find(fmt::format(" {}", other));
    if (at != std::string::npos)
      message.replace(at + 1, std::strlen(other), option_name(other, CalcOptions{}));
  }
  return message;
}

/// The library's words (the reference's where it has some). For people the way out follows, for
/// programs it is a member of its own.
[[noreturn]] void fail(const calc::Problem& problem, const CalcOptions& options, bool json) {
  const std::string input(problem.input), hint(hint_of(problem.code));
  std::string message(problem.message.view());
  Error::Context context{{"reason", std::string(name_of(problem.code))}};
  if (!input.empty() && input.find(' ') == std::string::npos) {
    context.emplace_back("option", option_name(input, options));
    message = with_options(message, problem, options);
  }
  if (!hint.empty()) context.emplace_back("hint", hint);
  if (!json && !hint.empty()) message += "; " + hint;
  throw Error(Code::invalid_option, message, std::move(context));
}

[[noreturn]] void fail_option(const char* option, const std::string& why) {
  throw Error(Code::invalid_option, fmt::format("{}: {}", option, why), {{"option", option}});
}

calc::Request request_of(const CalcOptions& options) {
  calc::Request request = options.request;
  request.model = options.model;
  if (!options.budget) return request;
  const calc::Model* model = calc::find_model(request.model);
  auto& own =
      model == nullptr || model->is_qwen() ? request.budget_tokens : request.soft_token_budget;
  if (own) fail_option("--budget", "given twice under two names; give one of them");
  own = options.budget;
  return request;
}

/// The frames chosen from a whole clip, where one is described; sets the request's frames.
std::optional<calc::Sampling> sample(const CalcOptions& options, calc::Request& request,
                                     bool json) {
  const bool asked = options.native_fps || options.fps || options.num_frames;
  if (!options.total_frames && asked) {
    fail_option("--total-frames",
                "needed to choose frames by rate or number; give it, or --frames");
  }
  if (!options.total_frames) return std::nullopt;
  if (request.mode != Mode::video) {
    fail_option("--total-frames", "frames are chosen in mode video only");
  }
  if (request.frames) fail_option("--frames", "follows from --total-frames; give one of them");
  const calc::Model* model = calc::find_model(request.model);
  if (model == nullptr) return std::nullopt;  // said by the calculation
  if (!model->is_qwen() && options.fps && !options.num_frames) {
    fail_option("--fps",
                "this model's processor takes 32 frames whatever the rate; use --num-frames");
  }
  const calc::SamplingRequest clip{*options.total_frames, options.native_fps, options.fps,
                                   options.num_frames};
  const calc::Sampling sampling =
      model->is_qwen() ? calc::sample_qwen(clip) : calc::sample_gemma(clip);
  if (!sampling.problem.ok()) fail(sampling.problem, options, json);
  request.frames = sampling.count;
  return sampling;
}

int calculate(const CalcOptions& options, Output& output) {
  calc::Request request = request_of(options);
  const std::optional<calc::Sampling> sampling = sample(options, request, output.json());
  const calc::Result result = calc::calculate(request);
  if (!result.problem.ok()) fail(result.problem, options, output.json());
  if (!output.json()) {
    output.write(calc_text(request, result, sampling));
    return 0;
  }
  io::Json answer = calc_rows_json(result);
  if (sampling) answer.add("sampling", sampling_json(*sampling));
  if (options.details) answer.add("details", calc_details_json(result));
  output.line(io::to_json_text(answer));
  return 0;
}

std::string model_names() {
  std::vector<std::string_view> names;
  for (const calc::Model& model : calc::models()) names.push_back(model.id);
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_size_options(Command& command, CalcOptions& options) {
  command.group("Picture or clip")
      .option("--model ID", options.model,
              fmt::format("One of {} (default {}).", model_names(), options.model))
      .choice("--mode MODE", options.request.mode,
              {{"image", Mode::image},
               {"video", Mode::video},
               {"video-prepared", Mode::video_prepared}},
              "image (default); video: frames that the processor resizes; video-prepared: frames "
              "whose sides are final.")
      .option("--height PIXELS", options.request.height, "Height, default 512.")
      .option("--width PIXELS", options.request.width, "Width, default 512.")
      .option("--frames N", options.request.frames,
              "Frames of a clip, after sampling (default 2).");
}

void add_budget_options(Command& command, CalcOptions& options) {
  command.group("Budget")
      .option("--budget N", options.budget,
              "Visual tokens of a picture: --budget-tokens or --soft-token-budget, whichever the "
              "model has.")
      .option("--budget-tokens N", options.request.budget_tokens,
              "Qwen, image: sets the largest size, N * 1024 pixels (default 16384).")
      .option("--soft-token-budget N", options.request.soft_token_budget,
              "Gemma: 70, 140, 280, 560 or 1120 (default 280, a frame of a video 70).")
      .option("--min-pixels N", options.request.min_pixels,
              "Qwen: smallest size (default 65536, a clip 4096).")
      .option("--max-pixels N", options.request.max_pixels,
              "Qwen: largest size (default 16777216, a clip 25165824 over its frames).")
      .choice("--cap-pixels-per-frame [on|off]", options.request.cap_pixels_per_frame,
              {{"on", true}, {"off", false}, {"true", true}, {"false", false}},
              "Qwen, video: also limit every frame, to at most 786432 pixels. Off unless given.");
}

void add_sampling_options(Command& command, CalcOptions& options) {
  command.group("Choosing frames (mode video)")
      .option("--total-frames N", options.total_frames,
              "Frames of the whole clip; those looked at are chosen from them, with their times.")
      .option("--native-fps RATE", options.native_fps, "Frames per second of the clip, default 24.")
      .option("--fps RATE", options.fps, "Qwen: frames looked at per second, default 2; or")
      .option("--num-frames N", options.num_frames, "their number (Gemma: default 32).");
}

}  // namespace

Command calc_command() {
  auto options = std::make_shared<CalcOptions>();
  Command command("calc", "visual tokens of a picture or clip of any size, without a checkpoint");
  command.description(
      "From height and width to the size that the processor makes of it, the grid of patches, and "
      "the tokens that the language model sees; by the rules of each model's own processor. "
      "Counts shapes: no statement about quality, time or price. Needs no files.");
  add_size_options(command, *options);
  add_budget_options(command, *options);
  add_sampling_options(command, *options);
  command.group("Output").flag(
      "--details", options->details,
      "With --json: also the size rule that acted, prompt tokens, position "
      "span and share of the budget, as the member details.");
  command.example("sightline calc --height 1080 --width 1920", "a picture, for qwen3.5-9b")
      .example("sightline calc --model gemma-4-12b --height 1080 --width 1920 --budget 280",
               "the same for another model and budget")
      .example("sightline calc --mode video --frames 46 --height 720 --width 1280 --json",
               "46 frames that are already chosen, for programs")
      .example(
          "sightline calc --mode video --total-frames 291 --native-fps 30 --height 720 "
          "--width 1280",
          "a clip: which frames, at which times, how many tokens")
      .action([options](Output& output) { return calculate(*options, output); });
  return command;
}

}  // namespace sightline::cli
