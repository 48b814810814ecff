// Targets, groups and what is left out (pack_config.hpp).
#include "io/pack_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "io/name_pattern.hpp"
#include "io/quantisation.hpp"
#include "sightline/error.hpp"

namespace sightline::io {
namespace {

constexpr const char* kFormat = "pack-quantized";
constexpr std::string_view kExpression = "re:";

// What is left, as far as a checkpoint has it, in as few words as recipes use for these models. A
// match begins where a name begins and may end before it does.
constexpr const char* kLeft[] = {R"(re:.*visual\..*)",
                                 R"(re:.*\.linear_attn\.in_proj_[ab]$)",
                                 R"(re:.*\.linear_attn\.conv1d$)",
                                 R"(re:.*\.mlp\.gate$)",
                                 R"(re:.*\.mlp\.shared_expert_gate$)",
                                 R"(re:.*\.mlp\.experts(\..*)?$)",
                                 R"(re:.*mtp\..*)"};
constexpr const char* kHead = "re:.*lm_head$";

/// The expression of a kind: "layers.*.mlp.down_proj" to "re:.*\.layers\.\d+\.mlp\.down_proj$".
std::string expression_of(const std::string& kind) {
  std::string text(kExpression);
  if (kind.starts_with("layers.")) text += R"(.*\.)";
  for (const char c : kind) {
    if (c == '*') {
      text += R"(\d+)";
    } else {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') text += '\\';
      text += c;
    }
  }
  return text + "$";
}

NamePattern pattern_of(const std::string& expression) {
  static const Json place;
  return {expression.substr(kExpression.size()),
          {place, "quantization_config", "ignore", Code::internal}};
}

/// Names of modules that are left, and the expressions that stand for them.
class IgnoreList {
 public:
  explicit IgnoreList(const std::vector<PackedModuleGroup>& modules) {
    for (const PackedModuleGroup& module : modules)
      (module.group_cols == 0 ? left_ : packed_).insert(module.module);
  }

  Json list() {
    take(kHead, /*always=*/true);
    for (const char* expression : kLeft) take(expression);
    while (!left_.empty()) {
      const std::string module = *left_.begin();
      take(expression_of(module_kind(module)));
      if (left_.erase(module) > 0) list_.push(module);
    }
    return std::move(list_);
  }

 private:
  /// Takes an expression that stands for something left and nothing packed.
  void take(const std::string& expression, bool always = false) {
    const NamePattern pattern = pattern_of(expression);
    const auto named = [&](const std::string& module) { return pattern.matches(module); };
    if (std::any_of(packed_.begin(), packed_.end(), named)) return;
    if (std::erase_if(left_, named) > 0 || always) list_.push(expression);
  }

  std::set<std::string> left_, packed_;
  Json list_ = Json::array();
};

Json group_json(Json targets, int bits, std::int64_t group_cols) {
  return Json::Object{{"targets", std::move(targets)},
                      {"weights", Json::Object{{"num_bits", bits},
                                               {"type", "int"},
                                               {"symmetric", true},
                                               {"strategy", "group"},
                                               {"group_size", group_cols},
                                               {"dynamic", false}}},
                      {"input_activations", nullptr},
                      {"output_activations", nullptr},
                      {"format", kFormat}};
}

/// What readers make of it must be what is stored.
void check(const Json& config, const std::vector<PackedModuleGroup>& modules) {
  const Json root = Json::Object{{"quantization_config", config}};
  const auto read =
      parse_quantisation({root, "config.json", "", Code::internal}, "the written config.json");
  for (const PackedModuleGroup& module : modules) {
    const WeightScheme* scheme =
        read->ignores(module.module) ? nullptr : read->scheme_of(module.module);
    const std::int64_t found = scheme == nullptr ? 0 : scheme->group_cols;
    if (found == module.group_cols) continue;
    throw Error(Code::internal,
                fmt::format("quantization_config: {}: expected groups of {}, found {}: modules of "
                            "this name differ between layers",
                            module.module, module.group_cols, found),
                {{"module", module.module}});
  }
}

}  // namespace

std::string module_kind(const std::string& module) {
  constexpr std::string_view kLayers = ".layers.";
  const std::size_t layers = module.starts_with("mtp.") ? std::string::npos : module.find(kLayers);
  std::string kind, part;
  const auto add = [&] {
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    kind += number ? "*" : part;
    part.clear();
  };
  for (std::size_t i = layers == std::string::npos ? 0 : layers + 1; i < module.size(); ++i) {
    if (module[i] != '.') {
      part += module[i];
      continue;
    }
    add();
    kind += '.';
  }
  add();
  return kind;
}

Json pack_quantized_config(int bits, const std::vector<PackedModuleGroup>& modules) {
  std::map<std::int64_t, std::set<std::string>, std::greater<>> kinds;
  for (const PackedModuleGroup& module : modules) {
    if (module.group_cols > 0)
      kinds[module.group_cols].insert(expression_of(module_kind(module.module)));
  }
  Json groups = Json::object();
  for (const auto& [group_cols, expressions] : kinds) {
    Json targets = Json::array();
    if (kinds.size() == 1) {
      targets.push("Linear");
    } else {
      for (const std::string& expression : expressions) targets.push(expression);
    }
    groups.add(fmt::format("group_{}", groups.as_object().size()),
               group_json(std::move(targets), bits, group_cols));
  }
  Json config =
      Json::Object{{"quant_method", "compressed-tensors"}, {"format", kFormat},
                   {"quantization_status", "compressed"},  {"config_groups", std::move(groups)},
                   {"ignore", IgnoreList(modules).list()}, {"kv_cache_scheme", nullptr}};
  check(config, modules);
  return config;
}

}  // namespace sightline::io
