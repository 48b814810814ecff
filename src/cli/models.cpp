// `sightline models`: the published sizes of the family, with the source of each figure. Parameters
// are counted by walking the model that each configuration declares.
#include <fmt/format.h>

#include "audit/parameters.hpp"
#include "audit/subject.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

using audit::FamilyMember;
using audit::ParameterCounts;

constexpr std::string_view kCounted =
    "counted: elements of the tensors that the model of this configuration claims";

ParameterCounts counts_of(const FamilyMember& member) {
  const auto model = audit::subject_of(member).declare();
  return audit::count_parameters(model->info(), audit::module_tree(model->info().report));
}

/// One figure of the table: where config.json has it, and its value.
struct Figure {
  const char* path;
  io::Json value;
};

std::vector<Figure> figures(const FamilyMember& m) {
  std::vector<Figure> list{{"text_config.hidden_size", m.hidden_size},
                           {"text_config.num_hidden_layers", m.num_hidden_layers}};
  if (m.is_moe()) {
    list.push_back({"text_config.num_experts", m.num_experts});
    list.push_back({"text_config.num_experts_per_tok", m.num_experts_per_tok});
    list.push_back({"text_config.moe_intermediate_size", m.moe_intermediate_size});
  } else {
    list.push_back({"text_config.intermediate_size", m.intermediate_size});
  }
  list.push_back({"text_config.num_attention_heads", m.num_attention_heads});
  list.push_back({"text_config.num_key_value_heads", m.num_key_value_heads});
  list.push_back({"text_config.linear_num_value_heads", m.linear_num_value_heads});
  list.push_back({"tie_word_embeddings", m.tie_word_embeddings});
  list.push_back({"vision_config.depth", m.vision_depth});
  list.push_back({"vision_config.hidden_size", m.vision_hidden_size});
  list.push_back({"vision_config.num_heads", m.vision_num_heads});
  list.push_back({"vision_config.intermediate_size", m.vision_intermediate_size});
  return list;
}

io::Json member_json(const FamilyMember& member) {
  io::Json figure_list = io::Json::array();
  for (Figure& figure : figures(member)) {
    figure_list.push(
        io::Json::Object{{"path", figure.path},
                         {"value", std::move(figure.value)},
                         {"source", fmt::format("config.json of {}", member.repository)}});
  }
  const ParameterCounts counts = counts_of(member);
  return io::Json::Object{
      {"name", member.name},
      {"repository", member.repository},
      {"checked", member.checked.empty() ? io::Json(nullptr) : io::Json(member.checked)},
      {"model_type", member.is_moe() ? "qwen3_5_moe" : "qwen3_5"},
      {"figures", std::move(figure_list)},
      {"parameters", io::Json::Object{{"vision", counts.vision},
                                      {"language", counts.language},
                                      {"head", counts.head},
                                      {"mtp", counts.mtp},
                                      {"total", counts.total()},
                                      {"source", kCounted}}},
      {"tensors", counts.tensors}};
}

std::string language_table() {
  Table table({{"name"},
               {"hidden", true},
               {"layers", true},
               {"feed-forward"},
               {"q/kv", true},
               {"GDN", true},
               {"head"},
               {"source: config.json of"}});
  for (const FamilyMember& m : audit::family()) {
    table.row({std::string(m.name), grouped(m.hidden_size), std::to_string(m.num_hidden_layers),
               m.is_moe() ? fmt::format("{} of {} x {}", m.num_experts_per_tok, m.num_experts,
                                        grouped(m.moe_intermediate_size))
                          : grouped(m.intermediate_size),
               fmt::format("{}/{}", m.num_attention_heads, m.num_key_value_heads),
               std::to_string(m.linear_num_value_heads), m.tie_word_embeddings ? "tied" : "own",
               std::string(m.repository)});
  }
  return table.text();
}

std::string vision_table() {
  Table table({{"name"},
               {"blocks", true},
               {"width", true},
               {"heads", true},
               {"feed-forward", true},
               {"output width", true}});
  for (const FamilyMember& m : audit::family()) {
    table.row({std::string(m.name), std::to_string(m.vision_depth), grouped(m.vision_hidden_size),
               std::to_string(m.vision_num_heads), grouped(m.vision_intermediate_size),
               grouped(m.hidden_size)});
  }
  return table.text();
}

std::string parameter_table() {
  Table table({{"name"},
               {"vision", true},
               {"language", true},
               {"head", true},
               {"MTP", true},
               {"total", true},
               {"n", true}});
  for (const FamilyMember& m : audit::family()) {
    const ParameterCounts counts = counts_of(m);
    table.row({std::string(m.name), grouped(counts.vision), grouped(counts.language),
               counts.head == 0 ? "tied" : grouped(counts.head), grouped(counts.mtp),
               grouped(counts.total()), std::to_string(counts.tensors)});
  }
  return table.text();
}

std::string models_text() {
  return fmt::format(
      "Language models. All: 248,320 ids, heads of 256, every fourth layer full attention. q/kv,\n"
      "GDN: heads of attention, value heads of Gated DeltaNet. A mixture: chosen of all experts\n"
      "x width, and a shared one.\n\n{}\n"
      "Vision towers. All: patches of 2 x 16 x 16, four merged into one feature. Source as "
      "above.\n\n{}\n"
      "Parameters, {}\n(MTP: stored, never run; n: tensors).\n\n{}",
      language_table(), vision_table(), kCounted.substr(kCounted.find("elements")),
      parameter_table());
}

io::Json models_json() {
  io::Json list = io::Json::array();
  for (const FamilyMember& member : audit::family()) list.push(member_json(member));
  return io::Json::Object{{"models", std::move(list)}};
}

std::string config_text(const std::string& name) {
  const FamilyMember* member = audit::find_member(name);
  if (member != nullptr) return io::to_json_text(audit::published_config(*member), 2);
  std::vector<std::string> names;
  for (const FamilyMember& known : audit::family()) names.emplace_back(known.name);
  throw_unknown_word("--config", names, name);
}

}  // namespace

Command models_command() {
  auto config = std::make_shared<std::optional<std::string>>();
  Command command("models", "the published sizes of the family");
  command
      .description(
          "Lists the published sizes with their figures, the source of each, and their parameters. "
          "Nothing is read or downloaded: parameters are counted by walking the model that each "
          "configuration declares. inspect, graph, plan, synth and trace --shapes-only take these "
          "names as MODEL.")
      .option("--config NAME", *config, "Print the config.json of this size instead.")
      .example("sightline models", "the tables")
      .example("sightline models --json", "every figure with its path in config.json and source")
      .example("sightline models --config qwen3.5-9b > config.json", "a published configuration")
      .action([config](Output& output) {
        if (*config) {
          output.line(config_text(**config));
          return 0;
        }
        output.write(output.json() ? io::to_json_text(models_json()) + "\n" : models_text());
        return 0;
      });
  return command;
}

}  // namespace sightline::cli
