// `sightline quantize`: a checkpoint with rounded matrices, and how far they are from the stored.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/quantize.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/model_options.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "io/pack_config.hpp"

namespace sightline::cli {
namespace {

constexpr double kLeastShard = 1 << 20, kMostThreads = 1024;

struct QuantizeCommand {
  ModelOptions model;
  std::string out;
  std::optional<int> bits;
  audit::QuantizeOptions quantize;
  bool full = false;
};

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string shape_cell(const audit::RoundedTensor& tensor) {
  return fmt::format("{}x{}", tensor.shape[0], tensor.shape[1]);
}

std::string module_of(const std::string& tensor) { return tensor.substr(0, tensor.rfind('.')); }

/// The module's path below the model.
std::string short_path(const std::string& module) {
  const std::size_t layers = module.find("layers.");
  return layers == std::string::npos ? module : module.substr(layers);
}

const audit::RoundedTensor& worst_of(const std::vector<audit::RoundedTensor>& tensors) {
  return *std::max_element(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return a.relative_error() < b.relative_error();
  });
}

std::string full_table(const audit::QuantizeResult& result) {
  Table table({{"module", false, true},
               {"out x in", true},
               {"group", true},
               {"error", true},
               {"greatest", true},
               {"before", true},
               {"after", true}});
  for (const audit::RoundedTensor& tensor : result.rounded) {
    table.row({short_path(module_of(tensor.name)), shape_cell(tensor),
               std::to_string(tensor.rounding.group_cols), percent(tensor.relative_error()),
               fmt::format("{:.2g}", tensor.error.greatest), byte_text(tensor.bytes_before),
               byte_text(tensor.bytes_after)});
  }
  return table.text();
}

/// Modules that are alike but for the layer (and the expert).
std::string folded_table(const audit::QuantizeResult& result) {
  std::vector<std::string> kinds;  // in the order of the model
  std::map<std::string, std::vector<const audit::RoundedTensor*>> alike;
  for (const audit::RoundedTensor& tensor : result.rounded) {
    const std::string kind = io::module_kind(module_of(tensor.name));
    if (!alike.contains(kind)) kinds.push_back(kind);
    alike[kind].push_back(&tensor);
  }
  Table table({{"module", false, true},
               {"of them", true},
               {"out x in", true},
               {"group", true},
               {"error", true},
               {"worst", true},
               {"before", true},
               {"after", true}});
  for (const std::string& kind : kinds) {
    double sum = 0, worst = 0;
    std::int64_t before = 0, after = 0;
    const auto& tensors = alike.at(kind);
    for (const audit::RoundedTensor* tensor : tensors) {
      sum += tensor->relative_error();
      worst = std::max(worst, tensor->relative_error());
      before += tensor->bytes_before;
      after += tensor->bytes_after;
    }
    const auto count = static_cast<std::int64_t>(tensors.size());
    table.row({kind, grouped(count), shape_cell(*tensors.front()),
               std::to_string(tensors.front()->rounding.group_cols),
               percent(sum / static_cast<double>(count)), percent(worst), byte_text(before),
               byte_text(after)});
  }
  return table.text();
}

std::string kept_table(const audit::QuantizeResult& result) {
  Table table({{"kept as stored"}, {"tensors", true}, {"bytes", true}});
  for (const audit::KeptTensors& kept : result.kept)
    table.row(
        {std::string(audit::kept_name(kept.kept)), grouped(kept.tensors), byte_text(kept.bytes)});
  return table.text();
}

std::int64_t not_finite(const audit::QuantizeResult& result) {
  std::int64_t sum = 0;
  for (const audit::RoundedTensor& tensor : result.rounded) sum += tensor.not_finite;
  return sum;
}

std::string report_text(const QuantizeCommand& command, const audit::QuantizeResult& result) {
  std::int64_t parameters = 0;
  for (const audit::RoundedTensor& tensor : result.rounded) parameters += tensor.shape.elements();
  const audit::RoundedTensor& worst = worst_of(result.rounded);
  std::string text =
      fmt::format("{}: {} matrices as int{}, {} parameters\n\n{}\n{}\n", command.out,
                  grouped(static_cast<std::int64_t>(result.rounded.size())), command.quantize.bits,
                  grouped(parameters), command.full ? full_table(result) : folded_table(result),
                  kept_table(result));
  text += fmt::format("error   {} of what was rounded; worst {}, {}\n",
                      percent(audit::relative_error(result.error())),
                      percent(worst.relative_error()), short_path(module_of(worst.name)));
  text += fmt::format("weights {} before, {} after\n", byte_text(result.bytes_before),
                      byte_text(result.bytes_after));
  if (const std::int64_t groups = not_finite(result); groups > 0)
    text +=
        fmt::format("odd     {} groups hold values that are no finite numbers\n", grouped(groups));
  for (const std::string& file : result.files) text += "  " + file + "\n";
  return text;
}

io::Json report_json(const QuantizeCommand& command, const audit::QuantizeResult& result) {
  io::Json tensors = io::Json::array(), kept = io::Json::array(), files = io::Json::array();
  for (const audit::RoundedTensor& tensor : result.rounded) {
    tensors.push(io::Json::Object{{"name", tensor.name},
                                  {"shape", io::Json::Array{tensor.shape[0], tensor.shape[1]}},
                                  {"dtype", io::dtype_name(tensor.dtype)},
                                  {"bits", tensor.rounding.bits()},
                                  {"group_size", tensor.rounding.group_cols},
                                  {"relative_error", tensor.relative_error()},
                                  {"greatest_error", tensor.error.greatest},
                                  {"groups_not_finite", tensor.not_finite},
                                  {"bytes_before", tensor.bytes_before},
                                  {"bytes_after", tensor.bytes_after}});
  }
  for (const audit::KeptTensors& some : result.kept) {
    kept.push(io::Json::Object{
        {"what", audit::kept_name(some.kept)}, {"tensors", some.tensors}, {"bytes", some.bytes}});
  }
  for (const std::string& file : result.files) files.push(file);
  return io::Json::Object{{"directory", command.out},
                          {"precision", fmt::format("int{}", command.quantize.bits)},
                          {"tensors", std::move(tensors)},
                          {"kept", std::move(kept)},
                          {"relative_error", audit::relative_error(result.error())},
                          {"greatest_error", result.error().greatest},
                          {"bytes_before", result.bytes_before},
                          {"bytes_after", result.bytes_after},
                          {"files", std::move(files)}};
}

int quantize(QuantizeCommand command, Output& output) {
  if (!command.bits) {
    throw Error(Code::usage, "quantize: --precision: expected int8 or int4, found nothing",
                {{"option", "--precision"}});
  }
  command.quantize.bits = *command.bits;
  const std::string directory = command.model.directory();
  const InterruptScope interrupt([] {});
  const audit::QuantizeResult result = audit::quantize(
      directory, command.out, command.quantize, [&](std::int64_t done, std::int64_t all) {
        if (interrupt.interrupted())
          throw Error(Code::cancelled, "quantize: interrupted; nothing was kept");
        output.progress(fmt::format("writing weights: {} of {}", byte_text(done), byte_text(all)));
      });
  output.progress({});
  if (output.json()) {
    output.line(io::to_json_text(report_json(command, result)));
  } else {
    output.write(report_text(command, result));
  }
  return 0;
}

}  // namespace

Command quantize_command() {
  auto options = std::make_shared<QuantizeCommand>();
  Command command("quantize", "write a checkpoint with matrices of 8 or 4 bits");
  command.description(
      "Rounds the large matrices of the language model (attention, Gated DeltaNet and feed-forward "
      "projections, experts that are stored one by one) to codes of 8 or 4 bits, with a scale for "
      "every group of 128, 64 or 32 (int8) or 32 (int4) inputs, and copies everything else: vision "
      "tower, embedding and head, norms, gates, mtp.*, and experts that are stored as one tensor. "
      "OUT has the layout pack-quantized of compressed-tensors, which transformers and vLLM also "
      "read, and holds the codes that --precision int8 or int4 makes while loading MODEL.\n\n"
      "The report gives, for every kind of module, the relative error |rounded - stored| / "
      "|stored|, mean and worst, and bytes before and after. Weights are streamed: memory does not "
      "grow with the checkpoint. OUT appears when it is complete, or not at all.");
  add_model(command, options->model);
  command.positional("OUT", options->out, "Directory to write; must not exist, or be empty.", true)
      .choice("--precision P", options->bits, {{"int8", 8}, {"int4", 4}},
              "Codes of int8 or int4; must be given.")
      .flag("--full", options->full, "Report every matrix, with its greatest error.")
      .option("--threads N", options->quantize.threads,
              "Threads (default: as many as this process may use).", {1, kMostThreads})
      .option("--shard-bytes N", options->quantize.shard_bytes,
              "Start another shard beyond this many bytes (default: 5000000000).",
              {kLeastShard, 1e15});
  add_revision(command, options->model);
  command
      .example("sightline quantize path/to/Qwen3.5-2B qwen3.5-2b-int8 --precision int8",
               "8 bits, in groups")
      .example("sightline quantize demo demo-int4 --precision int4 --full", "every matrix")
      .example("sightline inspect qwen3.5-2b-int8", "what was written")
      .action([options](Output& output) { return quantize(*options, output); });
  return command;
}

}  // namespace sightline::cli
