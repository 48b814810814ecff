// Watching and comparing (hidden_states.hpp).
#include "audit/hidden_states.hpp"

#include <algorithm>

#include "audit/events.hpp"
#include "audit/trace_report.hpp"
#include "base/sha256.hpp"
#include "trace/sinks.hpp"

namespace sightline::audit {
namespace {

constexpr std::string_view kVision = "vision", kLanguage = "language";

/// Path of the last block of the tower; empty without a tower.
std::string last_block(const ModuleNode& tree) {
  const ModuleNode* blocks = tree.find("model.visual.blocks");
  return blocks == nullptr || blocks->children.empty() ? "" : blocks->children.back().path;
}

HiddenState awaited(const char* tower, const char* name, std::string from) {
  HiddenState state;
  state.tower = tower;
  state.name = name;
  state.from = std::move(from);
  return state;
}

const HiddenState* last_of(const std::vector<HiddenState>& states, std::string_view tower) {
  const HiddenState* found = nullptr;
  for (const HiddenState& state : states) {
    if (state.tower == tower && std::string_view(state.name) == "last_hidden_state") found = &state;
  }
  return found;
}

io::Json width_of(const std::vector<HiddenState>& states, std::string_view tower) {
  const HiddenState* state = last_of(states, tower);
  return state == nullptr ? io::Json(nullptr) : io::Json(state->width());
}

}  // namespace

// The names are those of transformers' outputs: BaseModelOutputWithPooling of the tower, the
// language model's output, the outer model's hidden_states[-1] (after the final norm).
HiddenWatch::HiddenWatch(const ModuleNode& tree)
    : states_{awaited("vision", "last_hidden_state", "model.visual"),
              awaited("vision", "hidden_states[-1]", last_block(tree)),
              awaited("vision", "pooler_output[0]", "model.visual|pooler_output"),
              awaited("language", "last_hidden_state", "model.language_model"),
              awaited("language", "hidden_states[-1]", "model.language_model.norm"),
              awaited("head", "logits", "lm_head")} {}

void HiddenWatch::see(const std::string& from, const TensorRef& tensor) {
  for (HiddenState& state : states_) {
    if (state.from != from || !state.sha256.empty()) continue;
    const std::vector<std::byte> bytes = trace::pack(tensor);
    state.dtype = tensor.dtype;
    state.shape = tensor.shape;
    state.statistics = trace::statistics(tensor);
    state.sha256 = sha256_hex(bytes.data(), bytes.size());
  }
}

void HiddenWatch::note(const Site& site, const TensorRef& tensor) {
  see(site.path + "|" + std::string(tensor.name), tensor);
}

void HiddenWatch::output(const Site& site, const TensorRef& tensor) {
  if (!site.operation && !site.path.empty()) see(site.path, tensor);
}

std::vector<HiddenState> HiddenWatch::states() const {
  std::vector<HiddenState> seen;
  std::copy_if(states_.begin(), states_.end(), std::back_inserter(seen),
               [](const HiddenState& state) { return !state.sha256.empty(); });
  return seen;
}

bool towers_share_a_tensor(const std::vector<HiddenState>& states) {
  return std::any_of(states.begin(), states.end(), [&](const HiddenState& a) {
    return a.tower == kVision && std::any_of(states.begin(), states.end(), [&](const auto& b) {
             return b.tower == kLanguage && a.same_as(b);
           });
  });
}

io::Json hidden_json(const std::vector<HiddenState>& states) {
  io::Json list = io::Json::array();
  for (const HiddenState& state : states) {
    io::Json json =
        tensor_json(EventTensor{state.name, state.dtype, state.shape, state.statistics, {}});
    io::Json same = io::Json::array();
    for (const HiddenState& other : states) {
      if (&other != &state && state.same_as(other)) same.push(other.from);
    }
    json.add("tower", state.tower);
    json.add("from", state.from);
    json.add("width", state.width());
    json.add("sha256", state.sha256);
    json.add("same_as", std::move(same));
    list.push(std::move(json));
  }
  return io::Json::Object{{"states", std::move(list)},
                          {"widths", io::Json::Object{{"vision", width_of(states, kVision)},
                                                      {"language", width_of(states, kLanguage)}}},
                          {"same_tensor", towers_share_a_tensor(states)}};
}

}  // namespace sightline::audit
