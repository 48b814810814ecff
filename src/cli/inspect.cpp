// `sightline inspect`: what a checkpoint is: load report, odd tensors, the two towers, the module
// tree as torch prints it, parameters and bytes per module.
#include <fmt/format.h>

#include "audit/checkpoint_report.hpp"
#include "audit/module_tree.hpp"
#include "cli/commands.hpp"
#include "cli/inspect_report.hpp"
#include "cli/output.hpp"
#include "cli/subject_options.hpp"
#include "cli/table.hpp"
#include "generate/load_model.hpp"

namespace sightline::cli {
namespace {

constexpr int kDone = 0, kFound = 1;

struct InspectOptions {
  ModelOptions model;
  bool check = false;
  InspectView view;
};

std::vector<audit::Finding> check(const io::Checkpoint& stored, Output& output) {
  auto findings = audit::check_values(stored, [&](std::int64_t done, std::int64_t all) {
    output.progress(fmt::format("reading weights: {} of {}", byte_text(done), byte_text(all)));
  });
  output.progress({});
  return findings;
}

int inspect(const InspectOptions& options, Output& output) {
  const audit::Subject subject = find_subject(options.model);
  std::shared_ptr<const io::Checkpoint> stored;
  std::unique_ptr<model::VisionLanguageModel> model;
  if (subject.directory) {
    stored = io::Checkpoint::open(*subject.directory);
    model = generate::load_model(*subject.directory, /*use_mmap=*/true);
  } else {
    if (options.check) {
      throw Error(Code::usage, fmt::format("--check: '{}' is a published size without weights: "
                                           "expected a checkpoint directory",
                                           options.model.model));
    }
    model = subject.declare();
  }
  Inspected inspected{subject, audit::report_checkpoint(subject, *model, stored.get()),
                      audit::module_tree(model->info().report), options.check};
  if (options.check) {
    for (audit::Finding& finding : check(*stored, output))
      inspected.report.findings.push_back(std::move(finding));
  }
  if (output.json()) {
    output.line(io::to_json_text(inspect_json(inspected, options.view)));
  } else {
    output.write(inspect_text(inspected, options.view));
  }
  return options.check && !inspected.report.findings.empty() ? kFound : kDone;
}

}  // namespace

Command inspect_command() {
  auto options = std::make_shared<InspectOptions>();
  Command command("inspect", "what a checkpoint consists of, and its module tree");
  command.description(
      "Shows what a checkpoint is (classes, element types, shards, head), which tensors are used, "
      "left aside or odd, the vision tower and the language model with their parameters, the "
      "module tree as torch prints it, and parameters and bytes of every module. A published size "
      "is shown as its configuration declares it, without weights. The exit code is 1 if --check "
      "was given and something is odd.");
  add_subject(command, options->model);
  command
      .flag("--check", options->check,
            "Read every weight: rows that are all zero, values that are not finite.")
      .flag("--full", options->view.full, "Show equal neighbours one by one.")
      .option("--module PATH", options->view.module,
              "Only the tree and table of this module, such as model.visual.merger.");
  add_revision(command, options->model);
  command.example("sightline inspect demo", "the demo checkpoint")
      .example("sightline inspect qwen3.5-397b-a17b --module model.language_model.layers.3",
               "a layer of a published size")
      .example("sightline inspect my-finetune --check", "read every weight")
      .action([options](Output& output) { return inspect(*options, output); });
  return command;
}

}  // namespace sightline::cli
