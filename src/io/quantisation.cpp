// Which module is stored how: matching of names (quantisation.hpp).
#include "io/quantisation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sightline::io {
namespace {

/// Calls fn(name) for a dotted name and every name above it until fn returns true.
template <class F>
bool any_above(std::string_view name, const F& fn) {
  while (true) {
    if (fn(name)) return true;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return false;
    name = name.substr(0, dot);
  }
}

/// torch's class of a module that holds a matrix.
std::string_view class_of(std::string_view module) {
  const std::string_view leaf = module.substr(module.rfind('.') + 1);
  return leaf == "embed_tokens" || leaf == "pos_embed" ? "Embedding" : "Linear";
}

}  // namespace

std::vector<std::string> module_spellings(std::string_view module) {
  constexpr std::string_view kModel = "model.", kLanguage = "model.language_model.";
  std::vector<std::string> names{std::string(module)};
  if (module.starts_with(kModel)) names.emplace_back(module.substr(kModel.size()));
  if (module.starts_with(kLanguage)) {
    const std::string rest(module.substr(kLanguage.size()));
    names.push_back("language_model.model." + rest);
    names.push_back("model." + rest);
  } else if (module.starts_with("model.layers.")) {  // the language model alone
    const std::string rest(module.substr(kModel.size()));
    names.push_back("model.language_model." + rest);
    names.push_back("language_model." + rest);
    names.push_back("language_model.model." + rest);
  } else if (module == "lm_head") {
    names.emplace_back("language_model.lm_head");
  }
  return names;
}

std::string WeightScheme::text() const {
  std::string text = code_name(code);
  if (group_rows > 1) {
    text += fmt::format(", blocks of {} x {}", group_rows, group_cols);
  } else if (group_rows == 0) {
    text += ", one scale";
  } else if (group_cols == 0) {
    text += ", one scale a row";
  } else {
    text += fmt::format(", groups of {}", group_cols);
  }
  if (zero_points) text += ", zero points";
  return text;
}

bool Quantisation::ignores(std::string_view module) const {
  for (const std::string& name : module_spellings(module)) {
    const bool named = below_ ? any_above(name,
                                          [&](std::string_view above) {
                                            return ignored_names_.contains(std::string(above));
                                          })
                              : ignored_names_.contains(name);
    if (named || std::any_of(ignored_patterns_.begin(), ignored_patterns_.end(),
                             [&](const NamePattern& p) { return p.matches(name); }))
      return true;
  }
  return false;
}

const WeightScheme* Quantisation::scheme_of(std::string_view module) const {
  const std::vector<std::string> names = module_spellings(module);
  const auto named = [&](const Target& target) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return target.pattern ? target.pattern->matches(name) : target.name == name;
    });
  };
  const auto found = [](const Group& group) { return group.quantised ? &group.scheme : nullptr; };
  // Names go before classes, as in compressed-tensors (utils/match.py, match_targets).
  for (const Group& group : groups_) {
    if (std::any_of(group.targets.begin(), group.targets.end(), named)) return found(group);
  }
  for (const Group& group : groups_) {
    const bool by_class = std::any_of(
        group.targets.begin(), group.targets.end(),
        [&](const Target& target) { return !target.pattern && target.name == class_of(module); });
    if (group.targets.empty() || by_class) return found(group);
  }
  return nullptr;
}

void Quantisation::check_ignored(const std::vector<std::string>& modules) const {
  if (ignored_.empty()) return;
  for (const std::string& module : modules) {
    if (ignores(module)) return;
    if (!below_) continue;
    // Ends and parts of names, as transformers and AutoAWQ take them.
    for (const std::string& entry : ignored_) {
      if (module.ends_with(entry) || (method_ == "awq" && module.find(entry) != std::string::npos))
        return;
    }
  }
  const bool more = ignored_.size() > 1;
  throw Error(
      Code::invalid_config,
      fmt::format("{}: {}: expected names of modules that stay as they were, found \"{}\"{} "
                  "and no such module in the checkpoint: the list belongs to another model",
                  file_, list_path_, ignored_.front(),
                  more ? fmt::format(" and {} more", ignored_.size() - 1) : ""),
      {{"file", file_}, {"path", list_path_}, {"found", ignored_.front()}});
}

bool Quantisation::is_activation_scale(std::string_view tensor) {
  constexpr std::string_view kNames[] = {"input_scale",  "input_zero_point",  "activation_scale",
                                         "output_scale", "output_zero_point", "k_scale",
                                         "v_scale",      "q_scale",           "input_global_scale"};
  const std::string_view leaf = tensor.substr(tensor.rfind('.') + 1);
  return std::find(std::begin(kNames), std::end(kNames), leaf) != std::end(kNames);
}

}  // namespace sightline::io
