// `sightline source`: the engine's own code of a module, its lines marked with the calls that they
// made.
#include <fmt/format.h>

#include "audit/module_source.hpp"
#include "audit/picture_grid.hpp"
#include "audit/walk.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/subject_options.hpp"

namespace sightline::cli {
namespace {

constexpr std::int64_t kOtherTokens = 16;  // of the reference's example: a picture and "color?"
constexpr double kMostTokens = 262144;

constexpr const char *kModel = "qwen3.5-2b", *kPicture = "64x64";

struct SourceOptions {
  std::string module;
  ModelOptions model;  // the revision alone is set by an option
  std::optional<std::string> subject, picture, trace;
  std::optional<std::int64_t> tokens;
};

std::vector<audit::PlacedCall> walked_calls(SourceOptions options) {
  options.model.model = options.subject.value_or(kModel);
  const audit::Subject subject = find_subject(options.model);
  const auto model = subject.declare();
  audit::PromptShape prompt;
  prompt.other_tokens = options.tokens.value_or(kOtherTokens);
  if (model->info().has_vision) {
    const auto rule = audit::size_rule(model->info(), subject.directory.value_or(""), {});
    const auto size = audit::parse_picture_size("--image", options.picture.value_or(kPicture));
    prompt.images.push_back(audit::picture_grid(model->info(), rule, size));
  }
  return audit::placed_calls(audit::walk_whole(*model, prompt, nn::Precision::bf16).events);
}

/// The calls of the document, or of a walk.
std::vector<audit::PlacedCall> calls_of(const SourceOptions& options) {
  if (!options.trace) return walked_calls(options);
  if (options.subject || options.picture || options.tokens || options.model.revision) {
    throw Error(Code::usage,
                "source: --trace has calls of its own: it cannot be used with --model, --revision, "
                "--image or --tokens");
  }
  return audit::placed_calls(io::read_json_file(*options.trace), *options.trace);
}

/// "#27", "#29..52 (24)": numbers of the calls that a line made.
std::string marks(const std::vector<std::int64_t>& calls) {
  if (calls.empty()) return {};
  if (calls.size() == 1) return fmt::format("#{}", calls.front());
  return fmt::format("#{}..{} ({})", calls.front(), calls.back(), calls.size());
}

std::string source_text(const audit::ModuleSource& source) {
  const audit::PlacedCall& call = *source.call;
  std::string text = fmt::format("call #{}: {}, class {}\n", call.number,
                                 call.path.empty() ? "(root)" : call.path, call.class_name);
  for (const audit::SourceFunction& function : source.functions) {
    std::size_t width = 0;
    for (const audit::SourceLine& line : function.lines)
      width = std::max(width, marks(line.calls).size());
    text += fmt::format("\n{}:{}\n", function.file, function.lines.front().number);
    for (const audit::SourceLine& line : function.lines) {
      std::string row =
          fmt::format("{:<{}}  {:>4}  {}", marks(line.calls), width, line.number, line.text);
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + "\n";
    }
  }
  return text;
}

io::Json source_json(const audit::ModuleSource& source) {
  io::Json functions = io::Json::array();
  for (const audit::SourceFunction& function : source.functions) {
    io::Json lines = io::Json::array();
    for (const audit::SourceLine& line : function.lines) {
      io::Json calls = io::Json::array();
      for (const std::int64_t call : line.calls) calls.push(call);
      lines.push(io::Json::Object{
          {"line", line.number}, {"text", line.text}, {"calls", std::move(calls)}});
    }
    functions.push(io::Json::Object{{"file", function.file},
                                    {"first_line", function.lines.front().number},
                                    {"lines", std::move(lines)}});
  }
  return io::Json::Object{{"call", source.call->number},
                          {"path", source.call->path},
                          {"class", source.call->class_name},
                          {"functions", std::move(functions)}};
}

}  // namespace

Command source_command() {
  auto options = std::make_shared<SourceOptions>();
  Command command("source", "the engine's own code of a module, beside the calls that it makes");
  command.description(
      "Shows the C++ function behind a module, from the sources that this binary was built from, "
      "with file and line. Each line that called a module is marked with the number of the call: "
      "of the trace given by --trace, else of a walk over the model that the configuration "
      "declares, which makes the calls of 'sightline trace --level all' for the same prompt. So "
      "code and trace can be seen to agree.");
  command
      .positional("PATH_OR_CLASS", options->module,
                  "A module that runs, such as model.visual.merger, or a class such as "
                  "Qwen3_5Attention (its first call).",
                  true)
      .option("--trace FILE", options->trace,
              "Whose calls: a document of 'sightline trace --level all --json', written by this "
              "build.")
      .option("--model MODEL", options->subject,
              "Whose calls: a published size or a checkpoint (default: qwen3.5-2b).")
      .option("--image WxH", options->picture, "Size of the picture in pixels (default: 64x64).")
      .option("--tokens N", options->tokens, "Tokens that are no placeholders (default: 16).",
              {1, kMostTokens});
  add_revision(command, options->model);
  command.example("sightline source Qwen3_5Model", "how the two branches are joined")
      .example("sightline source model.visual.blocks.0.attn --model demo", "attention of a block")
      .example("sightline source Qwen3_5TextModel --trace run.json", "the lines of a run")
      .action([options](Output& output) {
        const std::vector<audit::PlacedCall> calls = calls_of(*options);
        const audit::ModuleSource source = audit::module_source(calls, options->module);
        output.write(output.json() ? io::to_json_text(source_json(source)) + "\n"
                                   : source_text(source));
        return 0;
      });
  return command;
}

}  // namespace sightline::cli
