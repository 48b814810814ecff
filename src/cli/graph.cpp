// `sightline graph`: the two branches of a run as a drawing, from the calls of a walk.
#include <fmt/format.h>

#include <filesystem>

#include "audit/graph.hpp"
#include "audit/picture_grid.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/subject_options.hpp"
#include "io/file.hpp"

namespace sightline::cli {
namespace {

constexpr std::int64_t kOtherTokens = 16;  // of the reference's example: a picture and "color?"
constexpr double kMostTokens = 262144;

enum class Format : std::uint8_t { svg, dot, mermaid };

struct GraphOptions {
  ModelOptions model;
  Format format = Format::svg;
  std::string picture = "64x64";
  std::int64_t tokens = kOtherTokens;
  bool text_only = false;
  std::optional<std::string> out;
};

audit::FlowGraph make_graph(const GraphOptions& options) {
  const audit::Subject subject = find_subject(options.model);
  const auto model = subject.declare();
  audit::PromptShape prompt;
  prompt.other_tokens = options.tokens;
  if (model->info().has_vision && !options.text_only) {
    const auto rule = audit::size_rule(model->info(), subject.directory.value_or(""), {});
    prompt.images.push_back(audit::picture_grid(
        model->info(), rule, audit::parse_picture_size("--image", options.picture)));
  }
  const std::filesystem::path place =
      std::filesystem::path(subject.name + "/").lexically_normal().parent_path();
  return audit::flow_graph(audit::walk_whole(*model, prompt, nn::Precision::bf16),
                           place.filename().string());
}

int graph(const GraphOptions& options, Output& output) {
  const audit::FlowGraph graph = make_graph(options);
  std::string text = output.json()                   ? io::to_json_text(graph_json(graph)) + "\n"
                     : options.format == Format::dot ? graph_dot(graph)
                     : options.format == Format::mermaid ? graph_mermaid(graph)
                                                         : graph_svg(graph);
  if (options.out) {
    io::write_file(*options.out, text);
  } else {
    output.write(text);
  }
  return 0;
}

}  // namespace

Command graph_command() {
  auto options = std::make_shared<GraphOptions>();
  Command command("graph", "the two branches of a run as SVG, DOT or Mermaid");
  command.description(
      "Draws how a picture and a text become logits: the picture's row above, the text's row "
      "below, joined where features replace placeholders; features of inner blocks (DeepStack) go "
      "their own lanes. The boxes are the calls of a walk over the model that the configuration "
      "declares; no weights are read. The SVG follows a page's light or dark scheme and prints "
      "light. --json gives boxes and edges.");
  add_subject(command, options->model);
  command
      .choice("--format F", options->format,
              {{"svg", Format::svg}, {"dot", Format::dot}, {"mermaid", Format::mermaid}},
              "'svg' (default), 'dot' for Graphviz, 'mermaid' for Markdown pages.")
      .option("-o,--out FILE", options->out, "Write here instead of to standard output.")
      .option("--image WxH", options->picture, "Size of the picture in pixels (default: 64x64).")
      .option("--tokens N", options->tokens, "Tokens that are no placeholders (default: 16).",
              {1, kMostTokens})
      .flag("--text-only", options->text_only, "Without a picture.");
  add_revision(command, options->model);
  command.example("sightline graph qwen3.5-2b -o graph.svg", "a drawing")
      .example("sightline graph demo --format dot | dot -Tpdf > graph.pdf", "by Graphviz")
      .action([options](Output& output) { return graph(*options, output); });
  return command;
}

}  // namespace sightline::cli
