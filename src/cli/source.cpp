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

struct SourceOptions {
  std::string module;
  ModelOptions model{"qwen3.5-2b", std::nullopt, {}};
  std::string picture = "64x64";
  std::int64_t tokens = kOtherTokens;
};

audit::Walk walk(const SourceOptions& options) {
  const audit::Subject subject = find_subject(options.model);
  const auto model = subject.declare();
  audit::PromptShape prompt;
  prompt.other_tokens = options.tokens;
  if (model->info().has_vision) {
    const auto rule = audit::size_rule(model->info(), subject.directory.value_or(""), {});
    prompt.images.push_back(audit::picture_grid(
        model->info(), rule, audit::parse_picture_size("--image", options.picture)));
  }
  return audit::walk_whole(*model, prompt, nn::Precision::bf16);
}

/// "#27", "#29..52 (24)": numbers of the calls that a line made.
std::string marks(const std::vector<std::int64_t>& calls) {
  if (calls.empty()) return {};
  if (calls.size() == 1) return fmt::format("#{}", calls.front());
  return fmt::format("#{}..{} ({})", calls.front(), calls.back(), calls.size());
}

std::string source_text(const audit::ModuleSource& source) {
  const audit::Event& event = *source.event;
  std::string text = fmt::format("call #{}: {}, class {}\n", event.index + 1,
                                 event.path.empty() ? "(root)" : event.path, event.class_name);
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
  return io::Json::Object{{"call", source.event->index + 1},
                          {"path", source.event->path},
                          {"class", source.event->class_name},
                          {"functions", std::move(functions)}};
}

}  // namespace

Command source_command() {
  auto options = std::make_shared<SourceOptions>();
  Command command("source", "the engine's own code of a module, beside the calls that it makes");
  command.description(
      "Shows the C++ function behind a module, from the sources that this binary was built from, "
      "with file and line. Each line that called a module is marked with the number of the call in "
      "'sightline trace --level all' of the same prompt, found by a walk over the model that the "
      "configuration declares: so code and trace can be seen to agree.");
  command
      .positional("PATH_OR_CLASS", options->module,
                  "A module that runs, such as model.visual.merger, or a class such as "
                  "Qwen3_5Attention (its first call).",
                  true)
      .option("--model MODEL", options->model.model,
              "Whose calls: a published size or a checkpoint (default: qwen3.5-2b).")
      .option("--image WxH", options->picture, "Size of the picture in pixels (default: 64x64).")
      .option("--tokens N", options->tokens, "Tokens that are no placeholders (default: 16).",
              {1, kMostTokens});
  add_revision(command, options->model);
  command.example("sightline source Qwen3_5Model", "how the two branches are joined")
      .example("sightline source model.visual.blocks.0.attn --model demo", "attention of a block")
      .action([options](Output& output) {
        const audit::Walk calls = walk(*options);
        const audit::ModuleSource source = audit::module_source(calls.events, options->module);
        output.write(output.json() ? io::to_json_text(source_json(source)) + "\n"
                                   : source_text(source));
        return 0;
      });
  return command;
}

}  // namespace sightline::cli
