// `sightline trace`: every module call of a question, with shapes, statistics, time and work; or of
// a configuration alone, without weights.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "audit/picture_grid.hpp"
#include "audit/trace_report.hpp"
#include "audit/trace_run.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/conversation_options.hpp"
#include "cli/output.hpp"
#include "cli/subject_options.hpp"
#include "cli/table.hpp"
#include "cli/trace_table.hpp"
#include "trace/recorder.hpp"
#include "trace/sinks.hpp"

namespace sightline::cli {
namespace {

using audit::Level;
using audit::TraceReport;

constexpr const char* kDefaultPicture = "64x64";  // with 16 other tokens: the acceptance case
constexpr std::int64_t kDefaultTokens = 16;
constexpr double kMostTokens = 1 << 20;

struct TraceCommandOptions {
  ModelOptions model;
  QuestionOptions question;
  ConversationOptions conversation;
  TraceView view;
  bool markdown = false, maps = false, shapes_only = false;
  std::optional<std::string> save;
  std::vector<std::string> select, pictures, clips;
  std::optional<std::int64_t> tokens;
};

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::usage, "trace: " + what); }

void check(const TraceCommandOptions& options, const Output& output) {
  const QuestionOptions& question = options.question;
  const bool asks = question.question || question.messages || !question.visuals.empty();
  if (options.shapes_only && asks) {
    refuse(
        "--shapes-only takes sizes (--picture WxH, --clip FxWxH, --tokens N), not a question or "
        "pictures");
  }
  if (options.shapes_only && (options.save || options.maps || options.view.values)) {
    refuse("--shapes-only computes no values: it cannot be used with --save, --maps or --values");
  }
  if (!options.shapes_only &&
      (!options.pictures.empty() || !options.clips.empty() || options.tokens))
    refuse("--picture, --clip and --tokens are options of --shapes-only");
  if (!options.select.empty() && !options.save) refuse("--select is an option of --save");
  if (options.maps && !output.json()) refuse("--maps is an option of --json");
  if (options.markdown && output.json()) refuse("--md and --json exclude each other");
}

std::string version() { return SIGHTLINE_VERSION; }

void show(const TraceReport& report, const TraceCommandOptions& options, Output& output) {
  TraceView view = options.view;
  view.colour = output.answers_in_colour();
  output.write(options.markdown ? trace_markdown(report, view) : trace_text(report, view));
}

// ---- without weights

audit::PromptShape shape_of(const TraceCommandOptions& options, const model::ModelInfo& info,
                            const audit::Subject& subject) {
  audit::PromptShape shape;
  shape.other_tokens = options.tokens.value_or(kDefaultTokens);
  const std::string directory = subject.directory.value_or("");
  std::vector<std::string> pictures = options.pictures;
  const bool asked = !pictures.empty() || !options.clips.empty();
  if (!asked && info.has_vision) pictures.emplace_back(kDefaultPicture);
  if (asked && !info.has_vision) {
    throw Error(Code::no_vision_tower, "the model has no vision tower: expected --tokens alone");
  }
  if (!options.clips.empty()) {
    const video::VideoProcessorConfig processor = audit::video_processor(info, directory);
    for (const std::string& clip : options.clips)
      shape.videos.push_back(audit::clip_grid(info, processor, "--clip", clip));
  }
  if (pictures.empty()) return shape;
  const EngineOptions& engine = options.model.engine;
  const image::SizeRule rule =
      audit::size_rule(info, directory, {engine.min_pixels, engine.max_pixels});
  for (const std::string& picture : pictures) {
    shape.images.push_back(
        audit::picture_grid(info, rule, audit::parse_picture_size("--picture", picture)));
  }
  return shape;
}

int trace_shapes(const TraceCommandOptions& options, Output& output) {
  const audit::Subject subject = find_subject(options.model);
  const auto model = subject.declare();
  const audit::PromptShape shape = shape_of(options, model->info(), subject);
  audit::Walk walk = audit::walk_whole(*model, shape, nn::Precision::bf16);
  TraceReport report;
  report.engine_version = version();
  report.model = options.model.model;
  report.config_sha256 = audit::config_sha256(subject.config);
  report.shapes_only = report.counted = true;
  report.info = &model->info();
  report.tree = audit::module_tree(model->info().report);
  report.proofs =
      audit::declared_proofs(model->info(), audit::prompt_ids(model->info(), shape), walk.events);
  report.events = std::move(walk.events);
  report.work = walk.work;
  report.prompt_tokens = walk.prompt_tokens;
  report.visual_tokens = walk.visual_tokens;
  report.cache_bytes = walk.cache_bytes;
  report.peak_memory_bytes = report.tree.bytes() + walk.cache_bytes + walk.scratch_bytes;
  if (output.json()) {
    output.line(io::to_json_text(audit::trace_json(report, options.view.level)));
  } else {
    show(report, options, output);
  }
  return 0;
}

// ---- a run

/// True if some value of the run has a name that the patterns select.
bool selects_any(const std::vector<std::string>& patterns, const audit::Events& events) {
  return std::any_of(events.begin(), events.end(), [&](const audit::Event& event) {
    const std::string name = event.name();
    if (name.empty()) return false;
    const auto port = [&](const std::string& port_name) {
      return trace::selects(patterns, name + "|" + port_name);
    };
    bool found = trace::selects(patterns, name);
    for (std::size_t i = 0; i < event.inputs.size(); ++i)
      found = found || port(i == 0 ? "in" : event.inputs[i].name);
    for (const audit::EventTensor& tensor : event.inner) found = found || port(tensor.name);
    return found;
  });
}

void check_selection(const std::vector<std::string>& patterns, const audit::Events& events) {
  for (const std::string& pattern : patterns) {
    if (selects_any({pattern}, events)) continue;
    throw Error(Code::invalid_option,
                fmt::format("--select: '{}' selects no module: expected a pattern of paths such as "
                            "'*.layers.0.mlp' ('sightline trace --level all' lists them), or of "
                            "PATH|VALUE such as '*.merger|in'",
                            pattern),
                {{"option", "--select"}, {"found", pattern}});
  }
}

/// The file of --save, and what fills it.
struct Capture {
  explicit Capture(const TraceCommandOptions& options)
      : sink(*options.save), recorder({options.select}, sink) {
    sink.metadata("producer", "sightline trace");
    sink.metadata("order", "calls");
    sink.metadata("model", options.model.model);
  }
  trace::FileSink sink;
  trace::Recorder recorder;
};

TraceReport run_report(const Engine& engine, const TraceCommandOptions& options,
                       const generate::Prompt& prompt, audit::TracedRun run) {
  const model::ModelInfo& info = audit::info_of(engine);
  TraceReport report;
  report.engine_version = version();
  report.model = options.model.model;
  report.config_sha256 = audit::config_sha256(
      io::read_json_file(engine.info().directory + "/config.json", Code::invalid_config));
  report.info = &info;
  report.tree = audit::module_tree(info.report);
  report.events = std::move(run.events);
  report.proofs = std::move(run.proofs);
  report.counted = run.counted;
  report.work = run.work;
  report.prompt_tokens = prompt.tokens();
  for (const generate::PromptPicture& picture : prompt.pictures)
    report.visual_tokens += picture.picture.tokens;
  report.cache_bytes = run.cache_bytes;
  report.peak_memory_bytes = run.peak_memory_bytes;
  report.failure = std::move(run.failure);
  return report;
}

int trace_question(const TraceCommandOptions& options, Output& output) {
  std::error_code error;
  if (audit::find_member(options.model.model) != nullptr &&
      !std::filesystem::is_directory(options.model.model, error)) {
    refuse(
        fmt::format("'{}' is the name of a published size, which has no weights: add "
                    "--shapes-only, or give a checkpoint",
                    options.model.model));
  }
  const Request request = make_request(options.conversation, options.question, "trace", output);
  const Engine engine = load_engine(options.model, output);
  const generate::Prompt prompt = audit::build_prompt(engine, request);
  const audit::Walk walk = audit::count_prompt(engine, prompt);
  check_selection(options.select, walk.events);
  std::optional<Capture> capture;
  if (options.save) capture.emplace(options);
  audit::TraceOptions how{true, options.maps, {}, {}};
  if (capture) how.watchers.push_back(&capture->recorder);
  output.progress(fmt::format("tracing {} tokens", prompt.tokens()));
  audit::TracedRun run = audit::trace_run(engine, request, walk, how);
  if (capture) capture->sink.finish();
  output.progress({});
  const TraceReport report = run_report(engine, options, prompt, std::move(run));
  if (output.json()) {
    io::Json document = audit::trace_json(report, options.view.level);
    audit::add_prompt_json(prompt, audit::tokenizer_of(engine), document);
    output.line(io::to_json_text(document));
  } else {
    show(report, options, output);
    if (capture) {
      output.line(fmt::format("saved       {} tensors, {} in {}", capture->sink.tensors(),
                              byte_text(capture->sink.bytes()), *options.save));
    }
  }
  return report.sound() ? kDone : kCheckFailed;
}

void add_trace_options(Command& command, TraceCommandOptions& options) {
  command.group("What is shown")
      .choice("--level LEVEL", options.view.level,
              {{"root", Level::root}, {"stages", Level::stages}, {"all", Level::all}},
              "'root': the whole, the model, its two towers and the head; 'stages' (default): what "
              "these call, each block and layer one line; 'all': every call.")
      .flag("--full", options.view.full, "Fold no equal neighbours.")
      .flag("--values", options.view.values,
            "Minimum, maximum, mean, deviation, norm, NaN and infinities of each output.")
      .flag("--md", options.markdown, "Markdown instead of aligned text.")
      .flag("--maps", options.maps,
            "With --json: a histogram of 64 bins and the norm of each row, for every tensor.")
      .option("--save FILE", options.save,
              "Write the outputs of all modules to a safetensors file, for 'sightline diff' and "
              "other programs.")
      .option("--select GLOB", options.select,
              "With --save: only modules whose path matches; 'GLOB|NAME' selects inputs ('in', "
              "names) and inner values. May be repeated.")
      .group("Without weights")
      .flag("--shapes-only", options.shapes_only,
            "Walk the model without weights and without computing: shapes, parameters, FLOPs and "
            "bytes, from config.json alone.")
      .option("--picture WxH", options.pictures,
              "With --shapes-only: a picture of this size (default: one of 64x64).")
      .option("--clip FxWxH", options.clips,
              "With --shapes-only: a clip of F sampled frames of this size.")
      .option("--tokens N", options.tokens,
              "With --shapes-only: tokens that are no pictures (default: 16).", {0, kMostTokens});
}

}  // namespace

Command trace_command() {
  auto options = std::make_shared<TraceCommandOptions>();
  Command command("trace", "every module call of a question: shapes, values, time, work");
  command.description(
      "Runs the prompt once, in one piece, and shows what each module received and returned: the "
      "inputs, then one entry a call with its place in the order, class, shapes, parameters, "
      "operations, time; at the end totals, whether the pictures' features arrived where they "
      "belong (four statements, each OK or DIFF), and the first module that made a value that is "
      "not finite. Modules, classes and shapes are those of transformers; watching changes no bit "
      "of the result. A prompt may have at most 2048 tokens. With --json one document "
      "(docs/trace.md). Exit code 0 if all statements hold and all values are finite, else 1.");
  add_subject(command, options->model);
  add_question_options(command, options->question);
  add_trace_options(command, *options);
  command.group("Template");
  add_template_options(command, options->conversation);
  add_picture_options(command, options->model.engine);
  add_engine_options(command, options->model.engine);
  add_revision(command, options->model);
  command
      .example("sightline trace demo -i photo.png \"What is this?\"",
               "the way of a picture to the first token")
      .example("sightline trace demo --video clip.mp4 \"What moves?\" --max-frames 4",
               "the way of a video")
      .example(
          "sightline trace demo -i photo.png \"color?\" --save mine.safetensors --select '*.mlp'",
          "keep the outputs of some modules")
      .example("sightline trace qwen3.5-397b-a17b --shapes-only --picture 1920x1080",
               "what the largest model would do")
      .action([options](Output& output) {
        check(*options, output);
        return options->shapes_only ? trace_shapes(*options, output)
                                    : trace_question(*options, output);
      });
  return command;
}

}  // namespace sightline::cli
