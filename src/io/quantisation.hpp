// quantization_config of config.json: which modules of a checkpoint are stored as packed codes, and
// how. Formats: `fp8` (fine-grained, block scales), `gptq`, `awq`, `compressed-tensors`. It says
// how weights are stored and nothing else: what it says about activations (dynamic or static
// rounding to 8 bits) is an option of other engines' kernels; here activations stay float32.
// Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/json.hpp"
#include "io/name_pattern.hpp"
#include "tensor/packed_weight.hpp"

namespace sightline::io {

/// Which tensors a packed weight consists of, below its module's name.
enum class PackedLayout : std::uint8_t {
  fp8,   ///< weight (F8_E4M3), weight_scale_inv (or weight_scale): multiplied with the codes
  gptq,  ///< qweight [in/8, out], qzeros, scales, g_idx
  awq,   ///< qweight [in, out/8] in AWQ's order of columns, qzeros, scales
  pack_quantized,   ///< weight_packed [out, in/8], weight_scale, weight_shape, weight_zero_point
  naive_quantized,  ///< weight (F8_E4M3 or I8), weight_scale; float-quantized and int-quantized
};

/// How the weights of some modules are stored.
struct WeightScheme {
  PackedLayout layout = PackedLayout::fp8;
  PackedCode code = PackedCode::f8_e4m3;
  std::int64_t group_rows = 1;  ///< outputs that share a scale; 0: all
  std::int64_t group_cols = 0;  ///< inputs that share a scale; 0: all
  bool zero_points = false;     ///< stored beside the scales
  /// GPTQ's first format stores zero points less one (specification of the format: gptqmodel,
  /// utils/model.py, convert_gptq_v1_to_v2_format_module).
  bool zeros_less_one = false;
  bool needs_g_idx = false;  ///< the order of columns must be stored

  /// "int4, groups of 128, zero points".
  [[nodiscard]] std::string text() const;
};

class Quantisation {
 public:
  /// The scheme of a module of the class `Linear` or `Embedding`; null if the configuration leaves
  /// it as it was.
  [[nodiscard]] const WeightScheme* scheme_of(std::string_view module) const;
  /// True if the list of modules that stay as they were names this one, or a module above it,
  /// exactly or by a regular expression.
  [[nodiscard]] bool ignores(std::string_view module) const;
  /// Throws Error(invalid_config) if the list of modules that stay as they were is not empty
  /// and none of its entries names any of these modules.
  void check_ignored(const std::vector<std::string>& modules) const;
  /// True if a tensor of this name carries the rounding of activations or of the cache, which is
  /// not done here.
  [[nodiscard]] static bool is_activation_scale(std::string_view tensor);

  [[nodiscard]] const std::string& method() const { return method_; }  ///< quant_method
  [[nodiscard]] const std::string& file() const { return file_; }      ///< for messages

 private:
  friend std::shared_ptr<const Quantisation> parse_quantisation(const JsonReader& root,
                                                                const std::string& file);
  friend class QuantisationParser;

  /// Modules by exact name, by regular expression ("re:") or by class.
  struct Target {
    std::string name;
    std::shared_ptr<const NamePattern> pattern;
  };
  struct Group {
    std::vector<Target> targets;  ///< none: every module
    WeightScheme scheme;
    bool quantised = true;
  };

  std::string method_, file_, list_path_;
  std::vector<Group> groups_;
  std::unordered_set<std::string> ignored_names_;
  std::vector<std::string> ignored_;  ///< as the configuration lists them
  std::vector<NamePattern> ignored_patterns_;
  bool below_ = false;  ///< a name stands for the modules below it too, and for ends of names
};

/// Parses `quantization_config` of a configuration (or of its text_config); null if there is none.
/// `file` names it in messages. Throws Error of the reader's code naming what it does not know,
/// expected and found.
std::shared_ptr<const Quantisation> parse_quantisation(const JsonReader& root,
                                                       const std::string& file);

/// The names by which a configuration may mean this module: with and without the prefix of the
/// whole model, and in the order of older exports.
std::vector<std::string> module_spellings(std::string_view module);

}  // namespace sightline::io
