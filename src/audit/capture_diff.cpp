// Ordering and comparing captures (capture_diff.hpp).
#include "audit/capture_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "sightline/error.hpp"
#include "trace/recorder.hpp"

namespace sightline::audit {
namespace {

using State = trace::CaptureLine::State;

bool is_trace(std::string_view key) { return key.starts_with(trace::kKeyPrefix); }

bool in_call_order(const io::SafetensorsFile& file) {
  return std::any_of(file.metadata().begin(), file.metadata().end(), [](const auto& line) {
    return line.first == "order" && line.second == "calls";
  });
}

/// Where a module's call stands by its path: embeddings, tower, insertion, language model, head;
/// inside by number, and what is inside a module before the module itself, whose output comes last.
class PathOrder {
 public:
  explicit PathOrder(std::string_view key) {
    for (std::size_t begin = 0; begin <= key.size();) {
      const std::size_t end = std::min(key.find('.', begin), key.size());
      parts_.push_back(part_of(key.substr(begin, end - begin)));
      begin = end + 1;
    }
    parts_.push_back({kLast, 0, ""});  // a module after everything inside it
  }
  friend bool operator<(const PathOrder& a, const PathOrder& b) { return a.parts_ < b.parts_; }

 private:
  using Part = std::tuple<int, std::int64_t, std::string>;
  static constexpr int kNamed = 50, kLast = 100;

  static Part part_of(std::string_view name) {
    std::int64_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec == std::errc() && read.ptr == name.data() + name.size())
      return {kNamed, number, std::string(name)};
    return {rank_of(name), 0, std::string(name)};
  }

  // Members in the order in which the reference calls them.
  static int rank_of(std::string_view name) {
    constexpr std::string_view kOrder[] = {"model",
                                           "embed_tokens",
                                           "visual",
                                           "masked_scatter",
                                           "patch_embed",
                                           "pos_embed",
                                           "rotary_emb",
                                           "blocks",
                                           "layers",
                                           "norm1",
                                           "input_layernorm",
                                           "attn",
                                           "linear_attn",
                                           "self_attn",
                                           "qkv",
                                           "q_proj",
                                           "q_norm",
                                           "k_proj",
                                           "k_norm",
                                           "v_proj",
                                           "in_proj_qkv",
                                           "in_proj_z",
                                           "in_proj_b",
                                           "in_proj_a",
                                           "conv1d",
                                           "norm",
                                           "proj",
                                           "out_proj",
                                           "o_proj",
                                           "norm2",
                                           "post_attention_layernorm",
                                           "mlp",
                                           "linear_fc1",
                                           "gate",
                                           "gate_proj",
                                           "up_proj",
                                           "act_fn",
                                           "linear_fc2",
                                           "down_proj",
                                           "merger",
                                           "language_model",
                                           "lm_head"};
    for (std::size_t i = 0; i < std::size(kOrder); ++i) {
      if (name == kOrder[i]) return static_cast<int>(i);
    }
    return kNamed;
  }

  std::vector<Part> parts_;
};

/// Language model first in `model`'s members only for its embeddings: they are looked up first.
std::string ordered_key(std::string_view key) {
  constexpr std::string_view kEmbeddings = "model.language_model.embed_tokens";
  if (key.starts_with(kEmbeddings)) return "model.embed_tokens";
  return std::string(key.substr(0, key.find('#')));
}

std::vector<std::string> order_of(const io::SafetensorsFile& ours,
                                  const io::SafetensorsFile& reference) {
  const bool by_reference = !in_call_order(ours) && in_call_order(reference);
  std::vector<std::string> keys;
  for (const io::TensorEntry& entry : (by_reference ? reference : ours).entries())
    keys.push_back(entry.name);
  if (in_call_order(ours) || by_reference) return keys;
  std::stable_sort(keys.begin(), keys.end(), [](const std::string& a, const std::string& b) {
    const auto plain = [](const std::string& key) {
      return PathOrder(ordered_key(key.substr(is_trace(key) ? trace::kKeyPrefix.size() : 0)));
    };
    return plain(a) < plain(b);
  });
  return keys;
}

void put_in_order(const std::vector<std::string>& order, trace::CaptureComparison& comparison) {
  std::unordered_map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i) place.emplace(order[i], i);
  const auto place_of = [&](const trace::CaptureLine& line) {
    const auto found = place.find(line.key);
    return found == place.end() ? order.size() : found->second;
  };
  std::erase_if(comparison.lines, [](const auto& line) { return !is_trace(line.key); });
  std::stable_sort(comparison.lines.begin(), comparison.lines.end(),
                   [&](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  comparison.first_divergence.reset();
  for (std::size_t i = 0; i < comparison.lines.size(); ++i) {
    trace::CaptureLine& line = comparison.lines[i];
    const bool apart = line.state == State::diverged || line.state == State::other_shape;
    if (apart && !comparison.first_divergence) comparison.first_divergence = i;
    line.key = line.key.substr(trace::kKeyPrefix.size());
  }
}

io::Json finite(double value) { return std::isfinite(value) ? io::Json(value) : io::Json(nullptr); }

bool was_compared(State state) { return state == State::within || state == State::diverged; }

}  // namespace

std::int64_t CaptureDiff::compared() const {
  return std::count_if(comparison.lines.begin(), comparison.lines.end(),
                       [](const auto& line) { return was_compared(line.state); });
}

CaptureDiff diff_captures(const std::string& ours, const std::string& reference, double tolerance) {
  const io::SafetensorsFile a(ours), b(reference);
  CaptureDiff diff{ours, reference, tolerance, {}};
  const bool common = std::any_of(a.entries().begin(), a.entries().end(), [&](const auto& entry) {
    return is_trace(entry.name) && b.find(entry.name).has_value();
  });
  if (!common) {
    throw Error(Code::invalid_case,
                fmt::format("{}, {}: expected captures with keys in common, such as "
                            "trace/model.visual (made by 'sightline trace --save' or "
                            "tools/reference/capture.py), found none",
                            ours, reference),
                {{"file", ours}, {"other", reference}});
  }
  diff.comparison = trace::compare_captures(a, b, [&](std::string_view) { return tolerance; });
  put_in_order(order_of(a, b), diff.comparison);
  return diff;
}

io::Json diff_json(const CaptureDiff& diff) {
  io::Json tensors = io::Json::array();
  for (const trace::CaptureLine& line : diff.comparison.lines) {
    io::Json json = io::Json::Object{{"name", line.key}, {"state", state_text(line.state)}};
    if (was_compared(line.state)) {
      json.add("relative_l2", finite(line.comparison.relative_l2));
      json.add("cosine", finite(line.comparison.cosine));
      json.add("max_abs_error", finite(line.comparison.max_abs_error));
      json.add("elements", line.comparison.elements);
      json.add("non_finite", line.comparison.non_finite);
    }
    tensors.push(std::move(json));
  }
  io::Json first = nullptr;
  if (!diff.ok()) first = diff.comparison.lines[*diff.comparison.first_divergence].key;
  return io::Json::Object{{"a", diff.ours},
                          {"b", diff.reference},
                          {"tolerance", diff.tolerance},
                          {"ok", diff.ok()},
                          {"compared", diff.compared()},
                          {"first_divergence", std::move(first)},
                          {"tensors", std::move(tensors)}};
}

const char* state_text(State state) {
  switch (state) {
    case State::within:
      return "same";
    case State::diverged:
      return "differs";
    case State::other_shape:
      return "other shape";
    case State::not_in_reference:
      return "only in A";
    case State::not_in_ours:
      break;
  }
  return "only in B";
}

}  // namespace sightline::audit
