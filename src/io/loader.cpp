// Loader: module paths to tensors, and the book of what was claimed (checkpoint.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/mmap.hpp"
#include "base/threads.hpp"
#include "io/checkpoint.hpp"
#include "io/packed_tensors.hpp"
#include "io/rounded_modules.hpp"
#include "io/tensor_faults.hpp"
#include "sightline/error.hpp"
#include "tensor/integer_form.hpp"
#include "tensor/quantise.hpp"

namespace sightline::io {
namespace {

constexpr std::size_t kNamesInMessage = 5;
constexpr std::string_view kMtpPrefix =
    "mtp.";  // HF: _keys_to_ignore_on_load_unexpected = [r"^mtp.*"]

bool is_below(std::string_view name, std::string_view path) {
  return path.empty() || name == path ||
         (name.size() > path.size() && name.starts_with(path) && name[path.size()] == '.');
}

// Number of whole components that two dotted names share at their ends.
int common_tail(std::string_view a, std::string_view b) {
  int components = 0;
  while (true) {
    const std::size_t dot_a = a.rfind('.'), dot_b = b.rfind('.');
    const std::string_view last_a = dot_a == std::string_view::npos ? a : a.substr(dot_a + 1);
    const std::string_view last_b = dot_b == std::string_view::npos ? b : b.substr(dot_b + 1);
    if (last_a != last_b) return components;
    ++components;
    if (dot_a == std::string_view::npos || dot_b == std::string_view::npos) return components;
    a = a.substr(0, dot_a);
    b = b.substr(0, dot_b);
  }
}

void check_float(const StoredTensor& stored) {
  if (is_float(stored.dtype)) return;
  throw Error(
      Code::tensor_dtype,
      fmt::format("{}: tensor {}: expected F32, BF16 or F16, found {}: quantised, though nothing "
                  "in quantization_config of config.json says how",
                  stored.file, stored.name, dtype_name(stored.dtype)),
      {{"file", std::string(stored.file)},
       {"tensor", std::string(stored.name)},
       {"expected", "F32, BF16 or F16"},
       {"found", std::string(dtype_name(stored.dtype))}});
}

constexpr std::string_view kWeight = "weight";

/// The module of a matrix: its name without ".weight"; nothing for other names.
std::optional<std::string> module_of(std::string_view name) {
  if (!name.ends_with(".weight")) return std::nullopt;
  return std::string(name.substr(0, name.size() - kWeight.size() - 1));
}

/// Bits to which a matrix that is stored as floats is rounded; 0 for none.
int rounded_bits(const WeightForm& form, std::string_view name, const Shape& shape) {
  constexpr int kTableBits = 8;  // embedding and head: every answer passes through them
  if (shape.rank() != 2) return 0;
  if (name.starts_with("model.visual.")) {
    const bool table = name.ends_with("pos_embed.weight");
    return table || shape[0] < kLeastRoundedOutputs ? 0 : form.vision_bits;
  }
  if (form.language_bits == 0 || name.starts_with(kMtpPrefix)) return 0;
  if (name.ends_with("embed_tokens.weight") || name.ends_with("lm_head.weight")) return kTableBits;
  return is_rounded(name, shape) ? form.language_bits : 0;
}

/// Every module that a checkpoint has tensors of, and those above them.
std::vector<std::string> module_names(const Checkpoint& checkpoint) {
  std::set<std::string> modules;
  for (std::string_view name : checkpoint.names()) {
    for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.')) {
      name = name.substr(0, dot);
      if (!modules.emplace(name).second) break;
    }
  }
  return {modules.begin(), modules.end()};
}

}  // namespace

struct Loader::Book {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Quantisation> quantisation;  // null: everything is stored as floats
  std::set<std::string, std::less<>> claimed;
  std::vector<std::string> skipped;  // paths left alone on purpose
  std::vector<Site> modules;
  std::vector<ClaimedTensor> tensors;
  std::uint32_t next_site = 0;
  WeightForm form;
  std::unique_ptr<Threads> threads;  // that make packed matrices, once there is one

  [[nodiscard]] bool is_skipped(std::string_view name) const {
    return std::any_of(skipped.begin(), skipped.end(),
                       [&](const std::string& path) { return is_below(name, path); });
  }

  /// Skipped, or a value that only rounds activations, or the zero points of a weight without any.
  [[nodiscard]] bool is_left_aside(std::string_view name) const {
    if (is_skipped(name)) return true;
    return quantisation &&
           (Quantisation::is_activation_scale(name) || name.ends_with(".weight_zero_point"));
  }

  StoredTensor claim(const std::string& name, const Shape& expected) {
    std::optional<StoredTensor> found = checkpoint->claim(name, expected);
    if (!found) fail_missing(name);
    note(name, *found, {}, std::string(dtype_name(found->dtype)));
    return *found;
  }

  void note(const std::string& name, const StoredTensor& found,
            std::optional<std::int64_t> parameters, std::string stored) {
    if (!claimed.insert(name).second) return;
    tensors.push_back(
        {name, std::string(found.file), found.dtype, found.shape, parameters, std::move(stored)});
  }

  /// How a module's matrix is packed; null if it is stored as floats.
  [[nodiscard]] const WeightScheme* packing(const std::string& module) const {
    if (!quantisation || checkpoint->declared()) return nullptr;
    const WeightScheme* scheme =
        quantisation->ignores(module) ? nullptr : quantisation->scheme_of(module);
    for (const char* leaf : {"weight_packed", "qweight"}) {
      const std::string codes = fmt::format("{}.{}", module, leaf);
      if (!checkpoint->contains(codes)) continue;
      if (scheme != nullptr && codes_leaf(scheme->layout) == leaf) return scheme;
      fail_packing(codes);
    }
    if (scheme == nullptr) return nullptr;
    const std::optional<StoredTensor> plain = checkpoint->find(module + ".weight");
    if (!plain && codes_leaf(scheme->layout) == kWeight) return nullptr;
    // What the configuration would pack may be stored as floats all the same.
    return plain && is_float(plain->dtype) ? nullptr : scheme;
  }
  [[noreturn]] void fail_packing(const std::string& codes) const {
    throw Error(
        Code::invalid_config,
        fmt::format("{}: quantization_config: expected it to say how tensor {} is packed, found "
                    "that it leaves this module as it was, or packs it another way",
                    quantisation->file(), codes),
        {{"file", quantisation->file()}, {"tensor", codes}});
  }

  /// A packed matrix, with its integer form if that is wanted and there is one.
  [[nodiscard]] std::shared_ptr<const PackedWeight> with_integers(
      std::shared_ptr<PackedWeight> packed) {
    if (form.integers && has_integer_form(*packed)) add_integer_form(*packed, &workers());
    return packed;
  }

  Threads& workers() {
    if (!threads) threads = std::make_unique<Threads>(form.threads);
    return *threads;
  }

  /// A stored matrix as the form wants it.
  Weight formed(const StoredTensor& stored, std::int64_t out, std::int64_t in) {
    const Weight plain{stored.dtype, out, in, stored.data};
    const int bits = checkpoint->declared() ? 0 : rounded_bits(form, stored.name, stored.shape);
    const std::optional<Rounding> rounding = bits == 0 ? std::nullopt : rounding_for(bits, in);
    if (!rounding) return plain;
    std::shared_ptr<const PackedWeight> packed =
        with_integers(round_weight(plain, *rounding, workers()));
    if (stored.mapped) forget_pages(stored.data, stored.bytes);
    return {DType::f32, out, in, nullptr, std::move(packed)};
  }

  std::shared_ptr<const PackedWeight> pack(const std::string& module, const WeightScheme& scheme,
                                           std::int64_t out, std::int64_t in) {
    const std::string codes = fmt::format("{}.{}", module, codes_leaf(scheme.layout));
    const auto claim = [&](const std::string& name) {
      std::optional<StoredTensor> found = checkpoint->find(name);
      if (found && name == codes) {
        note(name, *found, out * in, scheme.text());
      } else if (found) {
        note(name, *found, 0, {});
      }
      return found;
    };
    return with_integers(load_packed({module, out, in, scheme, checkpoint->directory()}, claim));
  }

  // The stored name that shares the longest end with a missing one hints at another prefix or
  // layout.
  [[noreturn]] void fail_missing(const std::string& name) const {
    int best = 2;  // fewer shared components hint at nothing
    std::string hint;
    for (const std::string_view stored : checkpoint->names()) {
      const int shared = common_tail(name, stored);
      if (shared <= best || claimed.contains(stored)) continue;
      best = shared;
      hint = fmt::format("; the nearest that it holds is {}", stored);
    }
    throw Error(
        Code::missing_tensor,
        fmt::format(
            "{}: tensor {}: expected by the configuration, found none among the {} tensors of the "
            "checkpoint{}",
            checkpoint->directory(), name, checkpoint->names().size(), hint),
        {{"directory", checkpoint->directory()}, {"tensor", name}});
  }
};

Loader::Loader(std::shared_ptr<const Checkpoint> checkpoint,
               std::shared_ptr<const Quantisation> quantisation)
    : book_(std::make_shared<Book>()) {
  if (quantisation && !checkpoint->declared())
    quantisation->check_ignored(module_names(*checkpoint));
  book_->form = checkpoint->form();
  book_->checkpoint = std::move(checkpoint);
  book_->quantisation = std::move(quantisation);
}

Loader Loader::at(std::string_view child) const {
  Loader below = *this;
  if (!below.path_.empty()) below.path_ += '.';
  below.path_ += child;
  return below;
}

Loader Loader::at(std::int64_t index) const { return at(std::to_string(index)); }

Loader Loader::batched(bool on) const {
  Loader same = *this;
  same.batched_ = on;
  return same;
}

bool Loader::has(std::string_view leaf) const {
  return book_->checkpoint->contains(at(leaf).path_);
}

bool Loader::has_weight(std::string_view leaf) const {
  const std::string name = at(leaf).path_;
  if (book_->checkpoint->contains(name)) return true;
  const std::optional<std::string> module = module_of(name);
  const WeightScheme* scheme = module ? book_->packing(*module) : nullptr;
  return scheme != nullptr &&
         book_->checkpoint->contains(fmt::format("{}.{}", *module, codes_leaf(scheme->layout)));
}

StoredTensor Loader::tensor(std::string_view leaf, const Shape& expected) const {
  const StoredTensor stored = book_->claim(at(leaf).path_, expected);
  if (stored.shape != expected) fail_shape(stored, shape_text(expected));
  return stored;
}

StoredTensor Loader::float_tensor(std::string_view leaf, const Shape& expected) const {
  // The element type first: packed weights differ in shape too, and the type says why.
  check_float(book_->claim(at(leaf).path_, expected));
  return tensor(leaf, expected);
}

StoredTensor Loader::either(std::string_view leaf, const Shape& expected,
                            const Shape& other) const {
  const StoredTensor stored = book_->claim(at(leaf).path_, expected);
  check_float(stored);
  if (stored.shape != expected && stored.shape != other)
    fail_shape(stored, fmt::format("{} or {}", shape_text(expected), shape_text(other)));
  return stored;
}

Weight Loader::weight(std::string_view leaf, const Shape& expected) const {
  const std::int64_t out = expected.rank() == 0 ? 1 : expected[0];
  const std::int64_t in = out == 0 ? 0 : expected.elements() / out;
  if (const std::optional<std::string> module = module_of(at(leaf).path_)) {
    if (const WeightScheme* scheme = book_->packing(*module))
      return {DType::f32, out, in, nullptr, book_->pack(*module, *scheme, out, in)};
  }
  return book_->formed(float_tensor(leaf, expected), out, in);
}

std::vector<float> Loader::values(std::string_view leaf, const Shape& expected) const {
  return to_floats(float_tensor(leaf, expected));
}

void Loader::skip() const { book_->skipped.push_back(path_); }

Site Loader::site(std::string_view kind, std::string extra) const {
  Site site{book_->next_site++, path_, std::string(kind), std::move(extra), false, batched_};
  book_->modules.push_back(site);
  return site;
}

Site Loader::operation(std::string_view name) const {
  return {book_->next_site++, path_, std::string(name), {}, true, batched_};
}

LoadReport Loader::finish() const {
  LoadReport report;
  std::vector<std::string_view> unexpected;
  for (const std::string_view name : book_->checkpoint->names()) {
    if (book_->claimed.contains(name)) {
      ++report.used;
    } else if (name.starts_with(kMtpPrefix)) {
      ++report.ignored_mtp;
      report.ignored.emplace_back(name);
    } else if (book_->is_left_aside(name)) {
      ++report.skipped;
    } else {
      unexpected.push_back(name);
    }
  }
  if (book_->quantisation && !book_->checkpoint->declared())
    report.quantisation = book_->quantisation->method();
  report.modules = std::move(book_->modules);
  report.tensors = std::move(book_->tensors);
  if (unexpected.empty()) return report;
  const std::size_t shown = std::min(unexpected.size(), kNamesInMessage);
  const std::string list = fmt::format(
      "{}",
      fmt::join(unexpected.begin(), unexpected.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  throw Error(
      Code::unexpected_tensor,
      fmt::format("{}: expected only tensors that the configuration names, found {} more: {}{}",
                  book_->checkpoint->directory(), unexpected.size(), list,
                  unexpected.size() > shown ? ", …" : ""),
      {{"directory", book_->checkpoint->directory()},
       {"tensor", std::string(unexpected.front())},
       {"count", std::to_string(unexpected.size())}});
}

}  // namespace sightline::io
