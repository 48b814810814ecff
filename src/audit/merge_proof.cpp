// Comparison of an insertion's operands and result (merge_proof.hpp).
#include "audit/merge_proof.hpp"

#include <algorithm>
#include <cstring>

#include "base/sha256.hpp"
#include "trace/sinks.hpp"

namespace sightline::audit {
namespace {

constexpr const char* kInsertion = "masked_scatter";
constexpr std::size_t kFirstPositions = 12;  // as many as the acceptance values list

std::vector<PlaceholderRun> runs_of(const std::vector<std::int32_t>& ids, std::int32_t id) {
  std::vector<PlaceholderRun> runs;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != id) continue;
    const auto position = static_cast<std::int64_t>(i);
    if (!runs.empty() && runs.back().first + runs.back().tokens == position) {
      ++runs.back().tokens;
    } else {
      runs.push_back({position, 1, {}});
    }
  }
  return runs;
}

/// A proof of insertion number `k`: pictures come first if there are any.
MergeProof start(const model::ModelInfo& info, const std::vector<std::int32_t>& ids,
                 std::size_t k) {
  const bool images = std::find(ids.begin(), ids.end(), info.image_token_id) != ids.end();
  MergeProof proof;
  proof.token_id = k == 0 && images ? info.image_token_id : info.video_token_id;
  proof.positions = static_cast<std::int64_t>(ids.size());
  proof.runs = runs_of(ids, proof.token_id);
  return proof;
}

bool rows_equal(const std::byte* a, const std::byte* b, std::size_t bytes) {
  return std::memcmp(a, b, bytes) == 0;
}

io::Json tensor_json(const Shape& shape, const std::string& sha256) {
  io::Json dims = io::Json::array();
  for (int i = 0; i < shape.rank(); ++i) dims.push(shape[i]);
  io::Json json = io::Json::Object{{"shape", std::move(dims)}};
  if (!sha256.empty()) json.add("sha256", sha256);
  return json;
}

io::Json one_json(const MergeProof& proof) {
  io::Json first = io::Json::array(), runs = io::Json::array();
  for (const std::int64_t position : proof.first_positions(kFirstPositions)) first.push(position);
  for (const PlaceholderRun& run : proof.runs) {
    io::Json entry = io::Json::Object{{"first", run.first}, {"tokens", run.tokens}};
    if (!run.sha256.empty()) entry.add("sha256", run.sha256);
    runs.push(std::move(entry));
  }
  io::Json json = io::Json::Object{{"positions", proof.positions},
                                   {"image_token_id", proof.token_id},
                                   {"image_count", proof.placeholders()},
                                   {"other_count", proof.positions - proof.placeholders()},
                                   {"first_positions", std::move(first)}};
  bool all = true;
  for (const Equality& equality : proof.equalities()) {
    json.add(equality.key, equality.value ? io::Json(*equality.value) : io::Json(nullptr));
    all = all && equality.ok();
  }
  json.add("ok", proof.visual_rows_equal ? io::Json(all) : io::Json(nullptr));
  json.add("runs", std::move(runs));
  json.add("original", tensor_json(proof.original, proof.original_sha256));
  json.add("visual", tensor_json(proof.visual, proof.visual_sha256));
  json.add("combined", tensor_json(proof.combined, proof.combined_sha256));
  return json;
}

}  // namespace

std::int64_t MergeProof::placeholders() const {
  std::int64_t count = 0;
  for (const PlaceholderRun& run : runs) count += run.tokens;
  return count;
}

std::vector<std::int64_t> MergeProof::first_positions(std::size_t count) const {
  std::vector<std::int64_t> list;
  for (const PlaceholderRun& run : runs) {
    for (std::int64_t i = 0; i < run.tokens && list.size() < count; ++i)
      list.push_back(run.first + i);
  }
  return list;
}

std::array<Equality, 4> MergeProof::equalities() const {
  return {Equality{"shapes_equal", "embeddings and combined rows have one shape", true,
                   original == combined},
          Equality{"image_rows_equal_visual", "rows at placeholders = visual rows", true,
                   visual_rows_equal},
          Equality{"image_rows_equal_placeholder", "rows at placeholders = placeholder embeddings",
                   false, placeholder_rows_equal},
          Equality{"other_rows_equal_original", "all other rows = text embeddings", true,
                   other_rows_equal}};
}

void MergeWatch::enter(const Site& site, const std::source_location&, const std::source_location&) {
  if (!site.operation || site.kind != kInsertion) return;
  proofs_.push_back(start(info_, ids_, proofs_.size()));
}

void MergeWatch::input(const Site& site, const TensorRef& tensor) {
  if (site.path.empty() && tensor.name == "input_ids") {
    const std::vector<std::byte> bytes = trace::pack(tensor);
    std::vector<std::int64_t> ids(bytes.size() / sizeof(std::int64_t));
    std::memcpy(ids.data(), bytes.data(), bytes.size());
    ids_.assign(ids.begin(), ids.end());
  }
  if (!site.operation || site.kind != kInsertion) return;
  const bool embeddings = tensor.name == "inputs_embeds";
  (embeddings ? original_ : visual_) = trace::pack(tensor);
  (embeddings ? proofs_.back().original : proofs_.back().visual) = tensor.shape;
}

void MergeWatch::output(const Site& site, const TensorRef& tensor) {
  if (!site.operation || site.kind != kInsertion) return;
  MergeProof& proof = proofs_.back();
  proof.combined = tensor.shape;
  compare(trace::pack(tensor), proof);
  original_ = visual_ = {};
}

void MergeWatch::compare(const std::vector<std::byte>& combined, MergeProof& proof) const {
  proof.original_sha256 = sha256_hex(original_.data(), original_.size());
  proof.visual_sha256 = sha256_hex(visual_.data(), visual_.size());
  proof.combined_sha256 = sha256_hex(combined.data(), combined.size());
  const auto width = static_cast<std::size_t>(proof.combined.back()) * sizeof(float);
  const auto rows = static_cast<std::size_t>(proof.positions);
  const auto features = static_cast<std::size_t>(proof.placeholders());
  if (combined.size() != rows * width || original_.size() != rows * width ||
      visual_.size() != features * width) {
    return;  // shapes_equal, or a missing value, says so
  }
  bool visual_equal = true, placeholder_equal = true, other_equal = true;
  std::size_t row = 0, feature = 0;
  const auto others_until = [&](std::size_t end) {
    for (; row < end; ++row) {
      other_equal =
          other_equal && rows_equal(&combined[row * width], &original_[row * width], width);
    }
  };
  for (PlaceholderRun& run : proof.runs) {
    others_until(static_cast<std::size_t>(run.first));
    const auto tokens = static_cast<std::size_t>(run.tokens);
    run.sha256 = sha256_hex(&visual_[feature * width], tokens * width);
    for (std::size_t i = 0; i < tokens; ++i, ++row, ++feature) {
      const std::byte* found = &combined[row * width];
      visual_equal = visual_equal && rows_equal(found, &visual_[feature * width], width);
      placeholder_equal = placeholder_equal && rows_equal(found, &original_[row * width], width);
    }
  }
  others_until(rows);
  proof.visual_rows_equal = visual_equal;
  proof.placeholder_rows_equal = placeholder_equal;
  proof.other_rows_equal = other_equal;
}

std::vector<MergeProof> declared_proofs(const model::ModelInfo& info,
                                        const std::vector<std::int32_t>& ids,
                                        const Events& events) {
  std::vector<MergeProof> proofs;
  for (const Event& event : events) {
    if (!event.operation || event.class_name != kInsertion) continue;
    MergeProof proof = start(info, ids, proofs.size());
    proof.original = event.inputs[0].shape;
    proof.visual = event.inputs[1].shape;
    proof.combined = event.outputs[0].shape;
    proofs.push_back(std::move(proof));
  }
  return proofs;
}

bool all_ok(const std::vector<MergeProof>& proofs) {
  return std::all_of(proofs.begin(), proofs.end(), [](const MergeProof& proof) {
    const auto equalities = proof.equalities();
    return std::all_of(equalities.begin(), equalities.end(),
                       [](const Equality& equality) { return equality.ok(); });
  });
}

io::Json proof_json(const std::vector<MergeProof>& proofs) {
  if (proofs.empty()) return nullptr;
  io::Json json = one_json(proofs[0]);
  if (proofs.size() > 1) json.add("video", one_json(proofs[1]));
  return json;
}

}  // namespace sightline::audit
