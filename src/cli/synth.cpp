// `sightline synth`: a made-up checkpoint in the published layout.
#include <fmt/format.h>

#include <cmath>

#include "audit/synth.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/subject_options.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

constexpr double kMostLayers = 4096, kLeastShard = 1 << 20;

struct SynthCommand {
  ModelOptions model;
  std::optional<std::string> out, config;
  std::optional<std::int64_t> layers;
  std::optional<std::uint64_t> seed;
  audit::SynthOptions synth;
};

/// With --config, the first positional argument is OUT.
void settle_arguments(SynthCommand& command) {
  const bool no_argument = command.model.model.empty();
  if (no_argument && !command.config)
    throw Error(Code::usage, "synth: MODEL: expected what to make up, found nothing");
  if (command.config && command.out)
    throw Error(Code::usage, "synth: --config stands for MODEL: expected OUT alone beside it");
  if (command.config) command.out = command.model.model;
  if (no_argument || !command.out)
    throw Error(Code::usage, "synth: OUT: expected a directory to write, found nothing");
}

audit::Subject subject_of(const SynthCommand& command) {
  audit::Subject subject =
      command.config ? audit::subject_of_config(*command.config) : find_subject(command.model);
  if (command.layers)
    subject.config = audit::cut_config(subject.config, *command.layers, subject.file);
  return subject;
}

int synth(SynthCommand command, Output& output) {
  settle_arguments(command);
  const audit::Subject subject = subject_of(command);
  command.synth.seed = command.seed.value_or(0);
  const InterruptScope interrupt([] {});
  const audit::SynthResult result = audit::write_synth(
      subject, *command.out, command.synth, [&](std::int64_t done, std::int64_t all) {
        if (interrupt.interrupted())
          throw Error(Code::cancelled, "synth: interrupted; nothing was kept");
        output.progress(fmt::format("writing weights: {} of {}", byte_text(done), byte_text(all)));
      });
  output.progress({});
  if (output.json()) {
    io::Json files = io::Json::array();
    for (const std::string& file : result.files) files.push(file);
    output.line(io::to_json_text(io::Json::Object{{"directory", *command.out},
                                                  {"model", subject.name},
                                                  {"seed", std::to_string(command.synth.seed)},
                                                  {"tensors", result.tensors},
                                                  {"parameters", result.parameters},
                                                  {"bytes", result.bytes},
                                                  {"files", std::move(files)}}));
    return 0;
  }
  output.line(fmt::format("{}: {} tensors, {} parameters, {}, seed {}", *command.out,
                          grouped(result.tensors), grouped(result.parameters),
                          byte_text(result.bytes), command.synth.seed));
  for (const std::string& file : result.files) output.line("  " + file);
  return 0;
}

}  // namespace

Command synth_command() {
  auto options = std::make_shared<SynthCommand>();
  Command command("synth", "write a made-up checkpoint in the published layout");
  command.description(
      "Writes random weights of a published size, of a checkpoint's configuration, or of --config "
      "FILE, as the published repositories store them: BF16 (A_log and linear_attn.norm F32), the "
      "mtp.* tensors included, one file up to 5 GB and shards with an index above. Values are "
      "scaled so that activations stay finite; what such a model answers means nothing. The same "
      "seed gives the same bytes on every machine: value i of a tensor comes from SplitMix64, "
      "keyed by the seed and the tensor's name. OUT appears when it is complete, or not at all.");
  add_subject(command, options->model, /*required=*/false);
  command.positional("OUT", options->out, "Directory to write; must not exist, or be empty.")
      .option("--config FILE", options->config, "A config.json to use; then only OUT is given.")
      .option("--layers N", options->layers,
              "Cut: the first N decoder layers, and at most N vision blocks.", {1, kMostLayers})
      .option("--seed N", options->seed, "Seed of the values (default: 0).")
      .option("--tokenizer DIR", options->synth.tokenizer,
              "Copy tokenizer and processor files from this directory (default: MODEL, if it is a "
              "directory). Without any, the published processor files are written.")
      .option("--shard-bytes N", options->synth.shard_bytes,
              "Start another shard beyond this many bytes (default: 5000000000).",
              {kLeastShard, 1e15});
  add_revision(command, options->model);
  command.example("sightline synth qwen3.5-2b random-2b --tokenizer tokenizer", "4.2 GiB of noise")
      .example("sightline synth qwen3.5-35b-a3b small --layers 4", "a cut mixture of experts")
      .example("sightline synth --config config.json out --seed 7", "of a configuration")
      .action([options](Output& output) { return synth(*options, output); });
  return command;
}

}  // namespace sightline::cli
