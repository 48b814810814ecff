// `sightline merge`: the proof that a picture's features stand where its placeholders stood.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "audit/trace_report.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cli/trace_table.hpp"
#include "cli/traced_question.hpp"

namespace sightline::cli {
namespace {

using audit::MergeProof;
using generate::Prompt;

constexpr std::size_t kFirstPositions = 12;

/// The picture or video of which placeholders begin at a run, or nothing.
const generate::PromptPicture* picture_at(const Prompt& prompt, std::int64_t first) {
  for (const generate::PromptPicture& picture : prompt.pictures) {
    for (const generate::PlaceholderRun& run : picture.runs) {
      if (run.first_token == first) return &picture;
    }
  }
  return nullptr;
}

/// Ranges of the three axes over a run: "4 / 4-11 / 4-11".
std::string axes_text(const Prompt& prompt, const audit::PlaceholderRun& run) {
  std::string text;
  for (const auto& axis : prompt.positions.axes) {
    const auto begin = axis.begin() + static_cast<std::ptrdiff_t>(run.first);
    const auto [low, high] =
        std::minmax_element(begin, begin + static_cast<std::ptrdiff_t>(run.tokens));
    text += text.empty() ? "" : " / ";
    text += *low == *high ? std::to_string(*low) : fmt::format("{}-{}", *low, *high);
  }
  return text;
}

std::string runs_text(const Prompt& prompt, const MergeProof& proof) {
  constexpr std::size_t kDigits = 16;  // of a hash; --json has all
  Table table({{"picture", false, true},
               {"ids", false},
               {"tokens", true},
               {"positions (t / h / w)"},
               {"sha256 of its features"}});
  for (const audit::PlaceholderRun& run : proof.runs) {
    const generate::PromptPicture* picture = picture_at(prompt, run.first);
    table.row({picture == nullptr ? "-" : picture->name,
               fmt::format("{}-{}", run.first, run.first + run.tokens - 1), grouped(run.tokens),
               axes_text(prompt, run), run.sha256.substr(0, kDigits)});
  }
  return table.text();
}

std::string tensor_line(const char* name, const Shape& shape, const std::string& sha256) {
  return fmt::format("{:<12}{:<18}{}\n", name, audit::shape_text(shape), sha256);
}

std::string merge_text(const Prompt& prompt, const MergeProof& proof) {
  const std::int64_t placeholders = proof.placeholders();
  std::string text =
      fmt::format("{} positions; id {}: {} placeholders, {} others\n", grouped(proof.positions),
                  proof.token_id, grouped(placeholders), grouped(proof.positions - placeholders));
  text += fmt::format("first positions: {}{}\n\n",
                      fmt::join(proof.first_positions(kFirstPositions), ", "),
                      placeholders > static_cast<std::int64_t>(kFirstPositions) ? ", ..." : "");
  text += runs_text(prompt, proof) + "\n";
  text += tensor_line("original", proof.original, proof.original_sha256);
  text += tensor_line("visual", proof.visual, proof.visual_sha256);
  text += tensor_line("combined", proof.combined, proof.combined_sha256);
  return text + "\n";
}

int merge(const TracedQuestion& options, Output& output) {
  if (options.question.visuals.empty() && !options.question.messages)
    throw Error(Code::usage,
                "merge: expected at least one picture or video: --image FILE, --video FILE, or "
                "--messages");
  const WatchedRun watched = run_watched(options, "merge", output);
  const std::vector<MergeProof>& proofs = watched.run.proofs;
  if (proofs.empty()) throw Error(Code::usage, "merge: the conversation holds no picture or video");
  if (output.json()) {
    io::Json document = io::Json::Object{{"proof", audit::proof_json(proofs)}};
    audit::add_prompt_json(watched.prompt, audit::tokenizer_of(watched.engine), document);
    output.line(io::to_json_text(document));
  } else {
    for (const MergeProof& proof : proofs) output.write(merge_text(watched.prompt, proof));
    output.write(proof_text(proofs));
    output.line(fmt::format("rope delta  {}: the answer starts at position {}",
                            watched.prompt.rope_delta,
                            watched.prompt.tokens() + watched.prompt.rope_delta));
  }
  return audit::all_ok(proofs) ? kDone : kCheckFailed;
}

}  // namespace

Command merge_command() {
  auto options = std::make_shared<TracedQuestion>();
  Command command("merge", "prove that pictures' features stand where placeholders stood");
  command.description(
      "Runs the prompt and compares what went into the insertion of features with what came out: "
      "how many positions, which belong to which picture, hashes of features, 3-D positions; and "
      "the four statements: one shape, placeholder rows are the visual rows, they are no longer "
      "the placeholder's embedding, all other rows are untouched. Rows are equal if every bit is. "
      "Exit code 0 if all four hold, else 1.");
  add_traced_question(command, *options);
  command.example("sightline merge demo -i photo.png \"What is this?\"", "one picture")
      .example("sightline merge demo --video clip.mp4 \"What moves?\"", "each group of frames")
      .example("sightline merge demo -i a.png -i b.png \"What differs?\" --json",
               "two pictures, every position and hash")
      .action([options](Output& output) { return merge(*options, output); });
  return command;
}

}  // namespace sightline::cli
