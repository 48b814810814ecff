// Parsing quantization_config (quantisation.hpp). What a method's own library does not write, or
// this version can not run, is an error that names the place.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "io/quantisation.hpp"

namespace sightline::io {
namespace {

constexpr std::int64_t kMaxGroup = 1 << 20;   // far above any published group or block
constexpr std::size_t kMaxEntries = 1 << 20;  // of a list of names

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// True if there is nothing, or one of these texts.
void require_one_of(const JsonReader& object, std::string_view key,
                    std::initializer_list<std::string_view> allowed) {
  if (!object.has(key)) return;
  const std::string found = lower(object.at(key).string());
  std::string expected;
  for (const std::string_view text : allowed) {
    if (found == text) return;
    expected += fmt::format("{}\"{}\"", expected.empty() ? "" : " or ", text);
  }
  object.at(key).fail(expected, "\"" + found + "\"");
}

/// A group size: a positive number, or -1 for the whole row (0 here).
std::int64_t group_size(const JsonReader& object, std::string_view key) {
  const std::int64_t size = object.at(key).integer(-1, kMaxGroup);
  if (size == 0) object.at(key).fail("a positive number, or -1 for whole rows", "0");
  return size < 0 ? 0 : size;
}

PackedCode integer_code(const JsonReader& bits, bool eight) {
  const std::int64_t found = bits.integer(1, 64);
  if (found == 4) return PackedCode::u4;
  if (eight && found == 8) return PackedCode::u8;
  bits.fail(eight ? "4 or 8 bits" : "4 bits", std::to_string(found));
}

bool flag(const JsonReader& object, std::string_view key, bool otherwise) {
  return object.has(key) ? object.at(key).boolean() : otherwise;
}

}  // namespace

class QuantisationParser {
 public:
  explicit QuantisationParser(const JsonReader& config, std::string file) : config_(config) {
    result_.file_ = std::move(file);
  }

  std::shared_ptr<const Quantisation> parse() {
    if (!config_.value().is_object()) config_.fail("an object", config_.value().type_name());
    result_.method_ = lower(config_.at("quant_method").string());
    if (result_.method_ == "fp8") {
      parse_fp8();
    } else if (result_.method_ == "gptq") {
      parse_gptq();
    } else if (result_.method_ == "awq") {
      parse_awq();
    } else if (result_.method_ == "compressed-tensors") {
      parse_compressed_tensors();
    } else {
      config_.at("quant_method")
          .fail("\"fp8\", \"gptq\", \"awq\" or \"compressed-tensors\"",
                "\"" + result_.method_ + "\"");
    }
    return std::make_shared<Quantisation>(std::move(result_));
  }

 private:
  /// transformers: FineGrainedFP8Config.
  void parse_fp8() {
    require_one_of(config_, "fmt", {"e4m3", "float8_e4m3fn"});
    require_one_of(config_, "activation_scheme", {"dynamic", "static"});
    require_one_of(config_, "expert_dtype", {"fp8"});
    WeightScheme scheme;
    constexpr std::int64_t kBlock = 128;  // transformers' default
    scheme.group_rows = scheme.group_cols = kBlock;
    const Json* block = config_.value().find("weight_block_size");
    if (block != nullptr && block->is_null()) {
      scheme.group_rows = scheme.group_cols = 0;
    } else if (block != nullptr) {
      const JsonReader sizes = config_.at("weight_block_size");
      if (sizes.size() != 2) sizes.fail("2 numbers (rows, columns)", std::to_string(sizes.size()));
      scheme.group_rows = sizes.at(std::size_t{0}).integer(1, kMaxGroup);
      scheme.group_cols = sizes.at(std::size_t{1}).integer(1, kMaxGroup);
    }
    result_.groups_.push_back({{}, scheme});
    result_.below_ = true;
    ignore_list(config_.has("modules_to_not_convert") ? "modules_to_not_convert"
                                                      : "ignored_layers");
  }

  /// gptqmodel: QuantizeConfig; formats `gptq` (zero points less one) and `gptq_v2`.
  void parse_gptq() {
    require_one_of(config_, "checkpoint_format", {"gptq", "gptq_v2"});
    require_one_of(config_, "format", {"gptq", "gptq_v2"});
    require_one_of(config_, "pack_dtype", {"int32"});
    const auto second = [&](const char* key) {
      return config_.has(key) && lower(config_.at(key).string()) == "gptq_v2";
    };
    WeightScheme scheme;
    scheme.layout = PackedLayout::gptq;
    scheme.code = integer_code(config_.at("bits"), true);
    scheme.group_cols = group_size(config_, "group_size");
    scheme.zero_points = true;
    scheme.zeros_less_one = !second("checkpoint_format") && !second("format");
    scheme.needs_g_idx = flag(config_, "desc_act", false);
    if (config_.has("dynamic")) overrides(config_.at("dynamic"), scheme);
    result_.groups_.push_back({{}, scheme});
  }

  /// gptqmodel: patterns with settings of their own, or, after "-:", modules that stay.
  void overrides(const JsonReader& dynamic, const WeightScheme& base) {
    if (!dynamic.value().is_object()) dynamic.fail("an object", dynamic.value().type_name());
    for (const auto& [key, value] : dynamic.value().as_object()) {
      const JsonReader settings = dynamic.at(key);
      Quantisation::Group group;
      group.scheme = base;
      group.quantised = !key.starts_with("-:");
      const bool marked = key.starts_with("-:") || key.starts_with("+:");
      group.targets.push_back(
          {key, std::make_shared<NamePattern>(marked ? key.substr(2) : key, settings)});
      if (settings.has("bits")) group.scheme.code = integer_code(settings.at("bits"), true);
      if (settings.has("group_size")) group.scheme.group_cols = group_size(settings, "group_size");
      if (settings.has("desc_act")) group.scheme.needs_g_idx = settings.at("desc_act").boolean();
      result_.groups_.push_back(std::move(group));
    }
  }

  /// AutoAWQ: AwqConfig, version `gemm`.
  void parse_awq() {
    require_one_of(config_, "version", {"gemm"});
    require_one_of(config_, "format", {"gemm"});
    WeightScheme scheme;
    scheme.layout = PackedLayout::awq;
    scheme.code = integer_code(config_.at("bits"), false);
    scheme.group_cols = group_size(config_, "group_size");
    scheme.zero_points = true;
    if (!flag(config_, "zero_point", true))
      config_.at("zero_point").fail("true (the gemm layout stores zero points)", "false");
    result_.groups_.push_back({{}, scheme});
    result_.below_ = true;
    ignore_list("modules_to_not_convert");
  }

  /// compressed-tensors: QuantizationConfig.
  void parse_compressed_tensors() {
    const JsonReader groups = config_.at("config_groups");
    if (!groups.value().is_object()) groups.fail("an object", groups.value().type_name());
    for (const auto& [name, value] : groups.value().as_object()) {
      const JsonReader group = groups.at(name);
      if (!group.has("weights")) continue;  // rounds activations alone
      Quantisation::Group parsed;
      parsed.scheme = scheme_of_group(group);
      parsed.targets = targets(group.at("targets"));
      result_.groups_.push_back(std::move(parsed));
    }
    ignore_list("ignore");
  }

  WeightScheme scheme_of_group(const JsonReader& group) const {
    // A group's own format goes before the file's (compressed-tensors: mixed-precision).
    const JsonReader& place = group.has("format") ? group : config_;
    require_one_of(place, "format",
                   {"pack-quantized", "float-quantized", "int-quantized", "naive-quantized"});
    const std::string format = lower(place.at("format").string());
    const JsonReader weights = group.at("weights");
    const bool floats = weights.has("type") && lower(weights.at("type").string()) == "float";
    require_one_of(weights, "type", {"int", "float"});
    WeightScheme scheme;
    const bool packed = format == "pack-quantized";
    if (packed && floats)
      weights.at("type").fail("\"int\" in the format pack-quantized", "\"float\"");
    if (format == "float-quantized" && !floats)
      weights.fail("type \"float\" in the format float-quantized", "\"int\"");
    scheme.layout = packed ? PackedLayout::pack_quantized : PackedLayout::naive_quantized;
    if (packed) {
      scheme.code = integer_code(weights.at("num_bits"), true);
    } else {
      const std::int64_t bits = weights.at("num_bits").integer(1, 64);
      if (bits != 8) weights.at("num_bits").fail("8 bits", std::to_string(bits));
      scheme.code = floats ? PackedCode::f8_e4m3 : PackedCode::i8;
    }
    scheme.zero_points = !flag(weights, "symmetric", true);
    if (scheme.zero_points && !packed)
      weights.at("symmetric").fail("true in the format " + format, "false");
    set_strategy(weights, scheme);
    if (weights.has("actorder") && weights.at("actorder").value().is_string()) {
      const std::string order = lower(weights.at("actorder").string());
      require_one_of(weights, "actorder", {"group", "dynamic", "weight", "static"});
      scheme.needs_g_idx = order == "group" || order == "dynamic";
    } else if (flag(weights, "actorder", false)) {
      scheme.needs_g_idx = true;
    }
    return scheme;
  }

  static void set_strategy(const JsonReader& weights, WeightScheme& scheme) {
    std::string strategy;
    if (weights.has("strategy")) {
      require_one_of(weights, "strategy", {"tensor", "channel", "group", "block"});
      strategy = lower(weights.at("strategy").string());
    } else if (!weights.has("group_size")) {  // the library's rule for what is not said
      strategy = "tensor";
    } else {
      strategy = group_size(weights, "group_size") == 0 ? "channel" : "group";
    }
    if (strategy == "tensor") {
      scheme.group_rows = scheme.group_cols = 0;
    } else if (strategy == "channel") {
      scheme.group_cols = 0;
    } else if (strategy == "group") {
      scheme.group_cols = group_size(weights, "group_size");
      if (scheme.group_cols == 0) weights.at("group_size").fail("a positive number", "-1");
    } else {
      const JsonReader sizes = weights.at("block_structure");
      if (sizes.size() != 2) sizes.fail("2 numbers (rows, columns)", std::to_string(sizes.size()));
      scheme.group_rows = sizes.at(std::size_t{0}).integer(1, kMaxGroup);
      scheme.group_cols = sizes.at(std::size_t{1}).integer(1, kMaxGroup);
    }
  }

  std::vector<Quantisation::Target> targets(const JsonReader& list) const {
    std::vector<Quantisation::Target> result;
    if (list.size() == 0 || list.size() > kMaxEntries)
      list.fail("names of modules or classes", std::to_string(list.size()) + " entries");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string& text = list.at(i).string();
      std::shared_ptr<const NamePattern> pattern;
      if (text.starts_with("re:"))
        pattern = std::make_shared<NamePattern>(text.substr(3), list.at(i));
      result.push_back({text, std::move(pattern)});
    }
    return result;
  }

  void ignore_list(const char* key) {
    if (!config_.has(key)) return;
    const JsonReader list = config_.at(key);
    result_.list_path_ = list.path();
    if (list.size() > kMaxEntries)
      list.fail(fmt::format("at most {} entries", kMaxEntries), std::to_string(list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string& text = list.at(i).string();
      result_.ignored_.push_back(text);
      if (text.starts_with("re:")) {
        result_.ignored_patterns_.emplace_back(text.substr(3), list.at(i));
      } else if (result_.below_ && text.find_first_of("*+?[]()|^$\\") != std::string::npos) {
        // transformers takes such entries as expressions that end where a name ends
        // (quantizers_utils.py, should_convert_module).
        result_.ignored_patterns_.emplace_back("(?:" + text + R"()(?:(?<=\.)|(?=\.|$)))",
                                               list.at(i));
      } else {
        result_.ignored_names_.insert(text);
      }
    }
  }

  const JsonReader& config_;
  Quantisation result_;
};

std::shared_ptr<const Quantisation> parse_quantisation(const JsonReader& root,
                                                       const std::string& file) {
  if (!root.value().is_object()) return nullptr;
  JsonReader place = root;
  if (!root.has("quantization_config")) {
    if (!root.has("text_config") || !root.at("text_config").has("quantization_config"))
      return nullptr;
    place = root.at("text_config");
  }
  const JsonReader config = place.at("quantization_config");
  return QuantisationParser(config, file).parse();
}

}  // namespace sightline::io
