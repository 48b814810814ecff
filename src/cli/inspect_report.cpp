// Lays out what `inspect` found (inspect_report.hpp).
#include "cli/inspect_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "audit/events.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

using audit::CheckpointReport;
using audit::ModuleNode;

constexpr std::size_t kShownNames = 20;    // of one kind, in text
constexpr std::size_t kTitleColumns = 14;  // what a line is about

std::string_view name_of(DType dtype) { return io::dtype_name(dtype); }

const ModuleNode& module_of(const Inspected& inspected, const InspectView& view) {
  if (!view.module) return inspected.tree;
  const ModuleNode* node = inspected.tree.find(*view.module);
  if (node != nullptr) return *node;
  throw Error(Code::invalid_option,
              fmt::format("--module: expected a module of {}, found '{}'; without --module the "
                          "whole tree is shown",
                          inspected.subject.name, *view.module),
              {{"option", "--module"}, {"found", *view.module}});
}

std::string tensors_line(const CheckpointReport& report) {
  std::string text = fmt::format("{} used", grouped(report.used));
  if (report.skipped > 0) text += fmt::format(", {} left aside", grouped(report.skipped));
  text += fmt::format(", 0 unused, {} mtp.* ignored", grouped(report.ignored));
  if (report.ignored > 0 && report.mtp_missing.empty() && report.mtp_other.empty())
    text += " (the published ones)";
  if (!report.mtp_missing.empty())
    text += fmt::format(", {} mtp.* missing", report.mtp_missing.size());
  if (!report.mtp_other.empty())
    text += fmt::format(", {} mtp.* of another layout", report.mtp_other.size());
  return text;
}

std::string head_line(const Inspected& inspected) {
  for (const char* path : {"model.language_model.embed_tokens", "model.embed_tokens"}) {
    const ModuleNode* table = inspected.tree.find(path);
    if (!inspected.report.tied_head || table == nullptr) continue;
    return fmt::format("tied to {}.weight ({} parameters, not extra)", path,
                       grouped(table->parameters()));
  }
  return "its own lm_head.weight";
}

std::string report_text(const Inspected& inspected) {
  const CheckpointReport& report = inspected.report;
  std::string text;
  const auto line = [&](std::string_view title, std::string_view value) {
    text += wrapped(fmt::format("{:<{}}{}", title, kTitleColumns, value), 0, kTitleColumns) + "\n";
  };
  line("model", inspected.subject.name);
  line("config", fmt::format("{}, model_type {}", report.config_class, report.model_type));
  line("architectures", fmt::format("{}", fmt::join(report.architectures, ", ")));
  line("processor", report.processor_class.empty() ? "none named" : report.processor_class);
  line("tensors", tensors_line(report));
  std::string_view title = "element types";
  for (const audit::DtypeUse& use : report.dtypes) {
    line(title, fmt::format("{}: {} tensors, {} parameters, {}", name_of(use.dtype),
                            grouped(use.tensors), grouped(use.parameters), byte_text(use.bytes)));
    title = "";
  }
  line("loaded as", fmt::format("{} by transformers; sightline uses weights as they are stored",
                                audit::dtype_text(report.loaded_as)));
  title = report.quantisation.empty() ? "stored" : "quantised";
  for (const audit::StorageUse& use : report.storage) {
    line(title, fmt::format("{}{}: {} weights, {} parameters",
                            title == "quantised" ? report.quantisation + ": " : "", use.stored,
                            grouped(use.weights), grouped(use.parameters)));
    title = "";
  }
  title = "shards";
  for (const io::ShardInfo& shard : report.shards) {
    line(title, fmt::format("{}: {} tensors, {}", shard.file, grouped(shard.tensors),
                            byte_text(shard.bytes)));
    title = "";
  }
  line("head", head_line(inspected));
  return text;
}

std::string findings_text(const Inspected& inspected) {
  const auto& findings = inspected.report.findings;
  if (findings.empty()) {
    return fmt::format("suspicious    nothing{}\n",
                       inspected.values_read             ? "; every weight was read"
                       : inspected.report.shards.empty() ? ""
                                                         : " (values not read; see --check)");
  }
  std::string text =
      fmt::format("suspicious    {} found\n", grouped(static_cast<std::int64_t>(findings.size())));
  for (std::size_t i = 0; i < findings.size() && i < kShownNames; ++i) {
    const audit::Finding& found = findings[i];
    text +=
        wrapped(fmt::format("  {}: {}: {}", found.file, found.tensor, found.detail), 0, 4) + "\n";
  }
  if (findings.size() > kShownNames)
    text += fmt::format("  and {} more; --json lists all\n", findings.size() - kShownNames);
  return text;
}

std::string children_text(const Inspected& inspected) {
  const ModuleNode* model = inspected.tree.find("model");
  if (model == nullptr) return {};
  Table table(
      {{"child of model"}, {"class"}, {"tensors", true}, {"parameters", true}, {"bytes", true}});
  std::vector<const ModuleNode*> children;
  for (const ModuleNode& child : model->children) children.push_back(&child);
  if (const ModuleNode* head = inspected.tree.find("lm_head")) children.push_back(head);
  for (const ModuleNode* child : children) {
    const bool tied = child->path == "lm_head" && inspected.report.tied_head;
    table.row({child->path == "lm_head" ? "lm_head, beside it" : child->name, child->class_name,
               grouped(child->tensor_count()), tied ? "tied" : grouped(child->parameters()),
               byte_text(child->bytes())});
  }
  std::string text = table.text();
  if (model->find("visual") != nullptr && model->find("visual") != model->find("language_model"))
    text += "visual and language_model are two objects: no tensor belongs to both\n";
  return text;
}

/// One row a module, two blanks a level; equal neighbours of a list as one row.
void add_rows(const ModuleNode& node, int level, bool full, std::size_t copies,
              const std::string& label, Table& table) {
  table.row({fmt::format("{:{}}{}", "", 2 * level, label),
             copies > 1 ? fmt::format("{} x {}", copies, node.class_name) : node.class_name,
             grouped(node.tensor_count() * static_cast<std::int64_t>(copies)),
             grouped(node.parameters() * static_cast<std::int64_t>(copies)),
             byte_text(node.bytes() * static_cast<std::int64_t>(copies)), node.stored()});
  for (const audit::Run& run : audit::folded(node.children)) {
    const ModuleNode& first = node.children[run.first];
    if (!full && run.last > run.first) {
      add_rows(first, level + 1, full, copies * (run.last - run.first + 1),
               fmt::format("{}-{}", first.name, node.children[run.last].name), table);
      continue;
    }
    for (std::size_t i = run.first; i <= run.last; ++i)
      add_rows(node.children[i], level + 1, full, copies, node.children[i].name, table);
  }
}

std::string module_table(const ModuleNode& node, bool full) {
  Table table({{"module", false, true},
               {"class", false, true},
               {"tensors", true},
               {"parameters", true},
               {"bytes", true},
               {"stored", false, true}});
  add_rows(node, 0, full, 1, node.path.empty() ? "(root)" : node.path, table);
  return table.text();
}

/// The tree as torch prints this module by itself.
std::string tree_text(ModuleNode node, bool full) {
  node.name.clear();
  return audit::torch_text(node, full);
}

/// Lines of a tree that are too wide go on below, further in than what they contain.
std::string fitting(const std::string& tree) {
  constexpr std::size_t kFurther = 4;
  std::string text;
  std::istringstream lines(tree);
  for (std::string line; std::getline(lines, line);)
    text += wrapped(line, 0, line.find_first_not_of(' ') + kFurther) + "\n";
  return text;
}

io::Json strings(const std::vector<std::string>& values) {
  io::Json array = io::Json::array();
  for (const std::string& value : values) array.push(value);
  return array;
}

io::Json shape_json(const Shape& shape) {
  io::Json array = io::Json::array();
  for (int i = 0; i < shape.rank(); ++i) array.push(shape[i]);
  return array;
}

void add_modules(const ModuleNode& node, io::Json& list) {
  io::Json tensors = io::Json::array();
  for (const io::ClaimedTensor& tensor : node.tensors) {
    tensors.push(io::Json::Object{{"name", tensor.name},
                                  {"shape", shape_json(tensor.shape)},
                                  {"dtype", name_of(tensor.dtype)},
                                  {"bytes", tensor.bytes()}});
  }
  list.push(io::Json::Object{{"path", node.path},
                             {"class", node.class_name},
                             {"extra", node.extra},
                             {"parameters", node.parameters()},
                             {"bytes", node.bytes()},
                             {"stored", node.stored()},
                             {"tensors", std::move(tensors)}});
  for (const ModuleNode& child : node.children) add_modules(child, list);
}

io::Json report_json(const Inspected& inspected) {
  const CheckpointReport& report = inspected.report;
  io::Json dtypes = io::Json::array(), shards = io::Json::array(), findings = io::Json::array();
  io::Json storage = io::Json::array();
  for (const audit::StorageUse& use : report.storage) {
    storage.push(io::Json::Object{
        {"stored", use.stored}, {"weights", use.weights}, {"parameters", use.parameters}});
  }
  for (const audit::DtypeUse& use : report.dtypes) {
    dtypes.push(io::Json::Object{{"dtype", name_of(use.dtype)},
                                 {"tensors", use.tensors},
                                 {"parameters", use.parameters},
                                 {"bytes", use.bytes}});
  }
  for (const io::ShardInfo& shard : report.shards) {
    shards.push(
        io::Json::Object{{"file", shard.file}, {"bytes", shard.bytes}, {"tensors", shard.tensors}});
  }
  for (const audit::Finding& finding : report.findings) {
    findings.push(io::Json::Object{{"kind", audit::finding_name(finding.kind)},
                                   {"tensor", finding.tensor},
                                   {"file", finding.file},
                                   {"count", finding.count},
                                   {"detail", finding.detail}});
  }
  io::Json processor;
  if (!report.processor_class.empty()) processor = report.processor_class;
  return io::Json::Object{{"config_class", report.config_class},
                          {"model_type", report.model_type},
                          {"architectures", strings(report.architectures)},
                          {"processor_class", std::move(processor)},
                          {"dtypes", std::move(dtypes)},
                          {"loaded_as", audit::dtype_text(report.loaded_as)},
                          {"quantisation", report.quantisation},
                          {"storage", std::move(storage)},
                          {"shards", std::move(shards)},
                          {"tied_head", report.tied_head},
                          {"used", report.used},
                          {"unused", 0},
                          {"left_aside", report.skipped},
                          {"ignored_mtp", report.ignored},
                          {"mtp_missing", strings(report.mtp_missing)},
                          {"mtp_other", strings(report.mtp_other)},
                          {"values_read", inspected.values_read},
                          {"suspicious", std::move(findings)}};
}

io::Json children_json(const Inspected& inspected) {
  io::Json children = io::Json::array();
  const ModuleNode* model = inspected.tree.find("model");
  if (model == nullptr) return children;
  for (const ModuleNode& child : model->children) {
    children.push(io::Json::Object{{"name", child.name},
                                   {"class", child.class_name},
                                   {"parameters", child.parameters()},
                                   {"bytes", child.bytes()}});
  }
  return children;
}

}  // namespace

std::string inspect_text(const Inspected& inspected, const InspectView& view) {
  const ModuleNode& node = module_of(inspected, view);
  const std::string tree =
      fitting(tree_text(node, view.full)) + "\n" + module_table(node, view.full);
  if (view.module) return tree;
  return report_text(inspected) + findings_text(inspected) + "\n" + children_text(inspected) +
         "\n" + tree;
}

io::Json inspect_json(const Inspected& inspected, const InspectView& view) {
  const ModuleNode& node = module_of(inspected, view);
  io::Json modules = io::Json::array();
  add_modules(node, modules);
  const ModuleNode* visual = inspected.tree.find("model.visual");
  const ModuleNode* language = inspected.tree.find("model.language_model");
  return io::Json::Object{{"model", inspected.subject.name},
                          {"report", report_json(inspected)},
                          {"children", children_json(inspected)},
                          {"same_object", visual != nullptr && visual == language},
                          {"tree", tree_text(node, view.full)},
                          {"modules", std::move(modules)}};
}

}  // namespace sightline::cli
