// Runs and comparisons (parity.hpp).
#include "generate/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "generate/step.hpp"
#include "model/positions.hpp"
#include "sightline/error.hpp"
#include "trace/recorder.hpp"
#include "trace/sinks.hpp"

namespace sightline::generate {
namespace {

using model::VisionLanguageModel;
using trace::Comparison;

// Bounds in float32. The reference's own distance from float64 on the small checkpoints is 2.5e-5
// of the greatest logit, 1e-4 relative L2 behind linear_attn.norm and below 3e-5 elsewhere; a wrong
// variant of GELU shows at 3e-4.
constexpr double kLogits = 1e-4, kModule = 1e-4, kDeltaNorm = 3e-4;
// In bf16 the engine may be as far from the float32 reference as the reference's own bf16 run, with
// half as much again for another order of rounding.
constexpr double kOverReference = 1.5;
constexpr double kLogitsBf16 = 5e-2, kModuleBf16 = 5e-2;  // where the case has no such run

// Intermediate forms of the reference that the engine need not have.
bool is_optional_module(std::string_view path) {
  path = path.substr(0, path.find('#'));
  return path.ends_with("pos_embed") || path.ends_with("rotary_emb");
}

double module_bound(std::string_view path, nn::Precision precision) {
  if (precision != nn::Precision::f32) return kModuleBf16;
  return path.substr(0, path.find('#')).ends_with("linear_attn.norm") ? kDeltaNorm : kModule;
}

io::StoredTensor stored(std::string_view name, ConstView x) {
  return {name,
          DType::f32,
          Shape{x.rows, x.cols},
          reinterpret_cast<const std::byte*>(x.data),
          x.rows * x.cols * dtype_size(DType::f32),
          "this run"};
}

// Compares every module as it reports, so that nothing is kept.
class ModuleChecks final : public trace::TensorSink {
 public:
  ModuleChecks(const io::SafetensorsFile& reference, nn::Precision precision)
      : reference_(reference), precision_(precision) {}

  void put(const std::string& key, const TensorRef& tensor) override {
    const auto expected = reference_.find(key);
    if (!expected) return;
    seen_.insert(key);
    ParityCheck check = new_check(key);
    const std::vector<std::byte> packed = trace::pack(tensor);
    const io::StoredTensor ours{key,
                                tensor.dtype,
                                tensor.shape,
                                packed.data(),
                                static_cast<std::int64_t>(packed.size()),
                                "this run"};
    if (tensor.shape.elements() != expected->shape.elements()) {
      check.detail = fmt::format("expected shape {}, found {}", io::shape_text(expected->shape),
                                 io::shape_text(tensor.shape));
    } else {
      settle(check, trace::compare(ours, *expected));
    }
    checks_.push_back(std::move(check));
  }

  // All checks, with one that fails for every module of the reference that did not report.
  std::vector<ParityCheck> take() {
    for (const io::TensorEntry& entry : reference_.entries()) {
      if (!entry.name.starts_with(trace::kKeyPrefix) || seen_.contains(entry.name)) continue;
      ParityCheck check = new_check(entry.name);
      if (is_optional_module(check.name)) continue;
      check.detail = "the run made no such call";
      checks_.push_back(std::move(check));
    }
    return std::move(checks_);
  }

 private:
  ParityCheck new_check(const std::string& key) const {
    ParityCheck check;
    check.kind = "module";
    check.name = key.substr(trace::kKeyPrefix.size());
    check.bound = module_bound(check.name, precision_);
    return check;
  }
  static void settle(ParityCheck& check, const Comparison& comparison) {
    check.comparison = comparison;
    if (std::isfinite(comparison.relative_l2)) {
      check.value = comparison.relative_l2;
      check.ok = *check.value <= check.bound;
    } else {
      check.detail = fmt::format("{} values are not finite", comparison.non_finite);
    }
  }

  const io::SafetensorsFile& reference_;
  nn::Precision precision_;
  std::vector<ParityCheck> checks_;
  std::set<std::string> seen_;
};

class CaseRun {
 public:
  CaseRun(const VisionLanguageModel& model, nn::Pass& pass, const ReferenceCase& reference,
          const ParityOptions& options)
      : model_(model), pass_(pass), case_(reference), options_(options) {}

  ParityReport run();

 private:
  void check_prompt(std::span<const model::TokenType> types);
  void check_integers(const char* name, const std::vector<std::int64_t>& ours);
  void run_whole(const nn::Positions& positions, model::Cache& cache, View logits);
  void check_logits(View logits);
  double logit_bound(const io::StoredTensor& logits) const;
  void check_greedy(model::Cache& cache, std::span<const float> last_row);

  const VisionLanguageModel& model_;
  nn::Pass& pass_;
  const ReferenceCase& case_;
  const ParityOptions& options_;
  nn::Positions positions_;
  std::int64_t rope_delta_ = 0;
  ParityReport report_;
};

// Integers of the case that the engine derives itself must be equal one by one.
void CaseRun::check_integers(const char* name, const std::vector<std::int64_t>& ours) {
  const std::vector<std::int64_t> expected = case_.integers(name);
  if (expected.empty()) return;
  ParityCheck check;
  check.name = name;
  check.kind = check.name == "mm_token_type_ids" ? "token_types"
               : check.name == "rope_delta"      ? "rope_delta"
                                                 : "positions";
  if (expected.size() != ours.size()) {
    check.detail = fmt::format("expected {} values, found {}", expected.size(), ours.size());
  } else {
    std::size_t unequal = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (ours[i] != expected[i] && unequal++ == 0) {
        check.detail = fmt::format("value {}: expected {}, found {}", i, expected[i], ours[i]);
      }
    }
    check.value = static_cast<double>(unequal);
    check.ok = unequal == 0;
  }
  report_.checks.push_back(std::move(check));
}

void CaseRun::check_prompt(std::span<const model::TokenType> types) {
  std::vector<std::int64_t> values;
  for (const model::TokenType type : types) values.push_back(static_cast<std::int64_t>(type));
  check_integers("mm_token_type_ids", values);
  values.clear();
  for (const auto& axis : positions_.axes) values.insert(values.end(), axis.begin(), axis.end());
  check_integers("position_ids", values);
  check_integers("rope_delta", {rope_delta_});
}

void CaseRun::run_whole(const nn::Positions& positions, model::Cache& cache, View logits) {
  ModuleChecks modules(*case_.file, pass_.precision);
  trace::Recorder recorder({}, modules);
  const std::vector<model::VisualInput> images = case_.images.inputs();
  const std::vector<model::VisualInput> videos = case_.videos.inputs();
  pass_.trace = &recorder;
  try {
    model_.whole(pass_, {case_.ids, images, videos, &positions}, cache, logits);
  } catch (...) {
    pass_.trace = nullptr;
    throw;
  }
  pass_.trace = nullptr;
  for (ParityCheck& check : modules.take()) {
    if (!check.ok && !report_.first_divergent) report_.first_divergent = check.name;
    report_.checks.push_back(std::move(check));
  }
}

double CaseRun::logit_bound(const io::StoredTensor& logits) const {
  if (options_.tolerance) return *options_.tolerance;
  if (pass_.precision == nn::Precision::f32) return kLogits;
  const auto rounded = case_.file->find("logits_bf16_last");
  const std::int64_t columns = logits.shape.back();
  if (!rounded || rounded->shape.elements() != columns) return kLogitsBf16;
  io::StoredTensor last = logits;
  last.shape = Shape{columns};
  last.bytes = columns * dtype_size(logits.dtype);
  last.data += logits.bytes - last.bytes;
  const Comparison apart = trace::compare(*rounded, last);
  if (apart.max_abs_reference == 0) return kLogitsBf16;
  return std::max(kLogits, kOverReference * apart.max_abs_error / apart.max_abs_reference);
}

// The case holds every row, or the last ones.
void CaseRun::check_logits(View logits) {
  const auto expected = case_.file->find("logits");
  if (!expected) return;
  ParityCheck check;
  check.kind = check.name = "logits";
  check.bound = logit_bound(*expected);
  const std::int64_t rows = logits.cols == 0 ? 0 : expected->shape.elements() / logits.cols;
  if (expected->shape.back() != logits.cols || rows > logits.rows || rows == 0) {
    check.detail = fmt::format("expected shape {}, found [{}, {}]", io::shape_text(expected->shape),
                               logits.rows, logits.cols);
  } else {
    const Comparison comparison =
        trace::compare(stored("logits", logits.slice_rows(logits.rows - rows, rows)), *expected);
    check.comparison = comparison;
    if (comparison.non_finite > 0 || !std::isfinite(comparison.max_abs_error)) {
      check.detail = fmt::format("{} values are not finite", comparison.non_finite);
    } else {
      const double scale = comparison.max_abs_reference;
      check.value = scale > 0 ? comparison.max_abs_error / scale : comparison.max_abs_error;
      check.ok = *check.value <= check.bound;
      check.detail = fmt::format("{} rows, {} with another greatest id", comparison.rows,
                                 comparison.rows_with_other_argmax);
    }
  }
  report_.checks.push_back(std::move(check));
}

std::int32_t greatest(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Generates on its own choices, and stops where the reference chose another token.
void CaseRun::check_greedy(model::Cache& cache, std::span<const float> last_row) {
  const std::vector<std::int64_t> expected = case_.integers("greedy");
  if (expected.empty()) return;
  ParityCheck check;
  check.kind = check.name = "greedy";
  check.required = pass_.precision == nn::Precision::f32;
  std::vector<float> logits(last_row.begin(), last_row.end());
  std::size_t equal = 0;
  for (; equal < expected.size(); ++equal) {
    const std::int32_t id = greatest(logits);
    if (id != expected[equal]) {
      check.detail = fmt::format("token {}: expected {}, found {}", equal, expected[equal], id);
      const std::int64_t other = expected[equal];
      if (other >= 0 && other < static_cast<std::int64_t>(logits.size())) {
        const auto gap =
            logits[static_cast<std::size_t>(id)] - logits[static_cast<std::size_t>(other)];
        check.detail += fmt::format(" (its logit is greater by {:.3g})", gap);
      }
      break;
    }
    if (equal + 1 < expected.size()) step(model_, pass_, cache, id, logits);
  }
  check.value = static_cast<double>(expected.size() - equal);
  check.ok = equal == expected.size();
  if (check.ok) check.detail = fmt::format("{} tokens equal", equal);
  report_.checks.push_back(std::move(check));
}

ParityReport CaseRun::run() {
  const model::ModelInfo& info = model_.info();
  const auto n = static_cast<std::int64_t>(case_.ids.size());
  report_.path = case_.path;
  report_.tokens = n;
  const auto types = model::token_types(case_.ids, info.image_token_id, info.video_token_id);
  const std::int64_t next = model::append_positions(types, case_.images.grids, case_.videos.grids,
                                                    info.spatial_merge_size, 0, positions_);
  rope_delta_ = next - n;
  check_prompt(types);

  model::Cache cache = model_.new_cache(pass_.precision);
  const ArenaScope scope(pass_.arena);
  const std::int64_t rows = options_.piece == 0 ? std::min(n, model::kMaxWholeRows) : n;
  const View logits = pass_.arena.matrix(rows, info.vocab_size);
  if (options_.piece == 0) {
    run_whole(positions_, cache, logits);
  } else {
    prompt_in_pieces(model_, pass_, case_, options_, positions_, cache, logits);
  }
  check_logits(logits);
  cache.rope_delta = rope_delta_;
  const float* last = logits.row(logits.rows - 1);
  check_greedy(cache, {last, static_cast<std::size_t>(info.vocab_size)});
  report_.ok = std::all_of(report_.checks.begin(), report_.checks.end(),
                           [](const ParityCheck& check) { return check.ok || !check.required; });
  return std::move(report_);
}

}  // namespace

ParityReport run_parity(const VisionLanguageModel& model, nn::Pass& pass,
                        const ReferenceCase& reference, const ParityOptions& options) {
  return CaseRun(model, pass, reference, options).run();
}

void prompt_in_pieces(const VisionLanguageModel& model, nn::Pass& pass,
                      const ReferenceCase& reference, const ParityOptions& options,
                      const nn::Positions& positions, model::Cache& cache, View logits) {
  const model::ModelInfo& info = model.info();
  const ArenaScope scope(pass.arena);
  const View rows = pass.arena.matrix(logits.rows, info.hidden_size);
  model.embed(pass, reference.ids, rows);
  std::vector<model::FeatureRows> all;
  const auto insert = [&](const CaseVisuals& visuals, std::int32_t id) {
    if (visuals.grids.empty()) return;
    const auto wanted = std::count(reference.ids.begin(), reference.ids.end(), id);
    const View features = pass.arena.matrix(wanted, info.feature_width());
    model.encode(pass, visuals.inputs(), features);
    for (const model::FeatureRows& run : model::feature_runs(reference.ids, id, features))
      all.push_back(run);
  };
  insert(reference.images, info.image_token_id);
  insert(reference.videos, info.video_token_id);
  model::place_features(all, rows);
  for (std::int64_t first = 0; first < rows.rows; first += options.piece) {
    const std::int64_t count = std::min(options.piece, rows.rows - first);
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < count; ++i) wanted.push_back(i);
    const auto here = model::features_within(all, first, count);
    const model::Segment segment{&cache, 0,       count, &positions, first, options.piece_kind,
                                 wanted, nullptr, here};
    model.forward(pass, rows.slice_rows(first, count), {&segment, 1},
                  {logits.slice_rows(first, count), {}});
  }
}

}  // namespace sightline::generate
