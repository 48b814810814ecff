// Claiming and checking the tensors of packed weights (packed_tensors.hpp).
#include "io/packed_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/mmap.hpp"
#include "io/repack.hpp"
#include "io/tensor_faults.hpp"

namespace sightline::io {
namespace {

constexpr std::int64_t kWordBits = 32;

std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }
std::int64_t bits_of(PackedCode code) { return code == PackedCode::u4 ? 4 : 8; }
/// 32-bit words of a row of packed codes.
std::int64_t words_of(PackedCode code, std::int64_t n) {
  return divide_up(n * bits_of(code), kWordBits);
}

class Packer {
 public:
  Packer(const PackedModule& module, const ClaimTensor& claim)
      : module_(module), scheme_(module.scheme), claim_(claim) {
    weight_->code = scheme_.code;
    weight_->out = module.out;
    weight_->in = module.in;
    weight_->group_rows =
        scheme_.group_rows > 0 ? scheme_.group_rows : std::max<std::int64_t>(1, module.out);
    weight_->group_cols =
        scheme_.group_cols > 0 ? scheme_.group_cols : std::max<std::int64_t>(1, module.in);
    weight_->groups = std::max<std::int64_t>(1, divide_up(module.in, weight_->group_cols));
  }

  std::shared_ptr<PackedWeight> pack() {
    switch (scheme_.layout) {
      case PackedLayout::fp8:
      case PackedLayout::naive_quantized:
        plain_codes();
        break;
      case PackedLayout::pack_quantized:
        packed_rows();
        break;
      case PackedLayout::gptq:
        gptq();
        break;
      case PackedLayout::awq:
        awq();
        break;
    }
    return std::move(weight_);
  }

 private:
  [[nodiscard]] std::string name(std::string_view leaf) const {
    return fmt::format("{}.{}", module_.name, leaf);
  }

  /// A tensor that must be there.
  StoredTensor need(std::string_view leaf, std::string_view what) {
    if (std::optional<StoredTensor> found = claim_(name(leaf))) return *found;
    fail_missing(leaf, what);
  }
  [[noreturn]] void fail_missing(std::string_view leaf, std::string_view what) const {
    throw Error(
        Code::missing_tensor,
        fmt::format("{}: tensor {}: expected the {} of {} ({}), found none", module_.directory,
                    name(leaf), what, name(codes_leaf(scheme_.layout)), scheme_.text()),
        {{"directory", module_.directory}, {"tensor", name(leaf)}});
  }
  [[nodiscard]] std::string reason() const {
    return fmt::format("quantization_config ({})", scheme_.text());
  }
  void require(const StoredTensor& tensor, DType dtype, const Shape& shape) const {
    if (tensor.dtype != dtype) fail_dtype(tensor, dtype_name(dtype), reason());
    if (tensor.shape != shape) fail_shape(tensor, shape_text(shape), reason());
  }

  /// Scales [rows][groups] as stored; shapes of fewer dimensions are those of single columns.
  void scales(const StoredTensor& tensor) {
    PackedWeight& w = *weight_;
    if (!is_float(tensor.dtype)) fail_dtype(tensor, "F32, BF16 or F16", reason());
    const Shape whole{divide_up(w.out, w.group_rows), w.groups};
    const bool short_form = w.groups == 1 && (tensor.shape == Shape{whole[0]} ||
                                              (whole[0] == 1 && tensor.shape.rank() == 0));
    if (tensor.shape != whole && !short_form) fail_shape(tensor, shape_text(whole), reason());
    w.scale_dtype = tensor.dtype;
    w.scales = tensor.data;
  }

  /// fp8, float-quantized, int-quantized: a matrix of bytes.
  void plain_codes() {
    const bool floats = scheme_.code == PackedCode::f8_e4m3;
    const StoredTensor codes = need("weight", "codes");
    require(codes, floats ? DType::f8_e4m3 : DType::i8, Shape{module_.out, module_.in});
    weight_->codes = codes.data;
    weight_->row_bytes = module_.in;
    if (scheme_.layout == PackedLayout::fp8) {
      std::optional<StoredTensor> inverse = claim_(name("weight_scale_inv"));
      if (!inverse) inverse = claim_(name("weight_scale"));
      if (!inverse) fail_missing("weight_scale_inv", "scales");
      return scales(*inverse);
    }
    scales(need("weight_scale", "scales"));
  }

  /// compressed-tensors, pack-quantized (compressors/pack_quantized/base.py).
  void packed_rows() {
    PackedWeight& w = *weight_;
    const std::int64_t words = words_of(w.code, w.in);
    const StoredTensor codes = need("weight_packed", "codes");
    require(codes, DType::i32, Shape{w.out, words});
    w.codes = codes.data;
    w.row_bytes = words * dtype_size(DType::i32);
    scales(need("weight_scale", "scales"));
    check_shape(claim_(name("weight_shape")));
    w.zero = w.code == PackedCode::u4 ? 8 : 128;  // codes are stored with this added
    if (scheme_.zero_points) packed_zeros(need("weight_zero_point", "zero points"));
    order_columns("weight_g_idx");
    if (w.columns == nullptr) return;
    w.owned_codes = with_columns(w.codes, w.row_bytes, w.out, w.owned_columns, w.code);
    own_codes(codes);
  }

  /// The shape that the packing library notes must be the model's.
  void check_shape(const std::optional<StoredTensor>& tensor) const {
    if (!tensor) return;
    if (tensor->dtype != DType::i64 && tensor->dtype != DType::i32)
      fail_dtype(*tensor, "I64 or I32", reason());
    if (tensor->shape != Shape{2}) fail_shape(*tensor, "[2]", reason());
    const std::int64_t size = dtype_size(tensor->dtype);
    Shape noted;
    for (std::int64_t i = 0; i < 2; ++i) {
      std::int64_t value = 0;
      std::memcpy(&value, tensor->data + i * size, static_cast<std::size_t>(size));
      noted.push(value);
    }
    if (noted == Shape{module_.out, module_.in}) return;
    throw Error(Code::tensor_shape,
                fmt::format("{}: tensor {}: expected the values {} by the configuration, found {}",
                            tensor->file, tensor->name, shape_text({module_.out, module_.in}),
                            shape_text(noted)),
                {{"file", std::string(tensor->file)}, {"tensor", std::string(tensor->name)}});
  }

  /// Packed along the outputs: words [out · bits / 32][groups]; or bytes, one for the whole matrix.
  void packed_zeros(const StoredTensor& tensor) {
    PackedWeight& w = *weight_;
    const std::int64_t rows = divide_up(w.out, w.group_rows);
    const std::int64_t per_word = kWordBits / bits_of(w.code);
    if (tensor.dtype == DType::i8 && rows * w.groups == 1 && tensor.shape.elements() == 1) {
      w.zero = static_cast<std::uint8_t>(static_cast<std::int8_t>(tensor.data[0]) + w.zero);
      return;
    }
    require(tensor, DType::i32, Shape{words_of(w.code, rows), w.groups});
    w.owned_zeros.resize(static_cast<std::size_t>(rows * w.groups));
    for (std::int64_t o = 0; o < rows; ++o) {
      for (std::int64_t g = 0; g < w.groups; ++g) {
        const std::byte* word =
            tensor.data + (o / per_word * w.groups + g) * dtype_size(DType::i32);
        w.owned_zeros[static_cast<std::size_t>(o * w.groups + g)] =
            packed_code(word, o % per_word, w.code);
      }
    }
    w.zeros = w.owned_zeros.data();
  }

  /// gptqmodel: nn_modules/qlinear.
  void gptq() {
    PackedWeight& w = *weight_;
    const StoredTensor codes = need("qweight", "codes");
    require(codes, DType::i32, Shape{words_of(w.code, w.in), w.out});
    const StoredTensor scale = need("scales", "scales"), zeros = need("qzeros", "zero points");
    require(zeros, DType::i32, Shape{w.groups, words_of(w.code, w.out)});
    turned_scales(scale);
    const auto last = static_cast<unsigned>(w.code == PackedCode::u4 ? 15 : 255);
    const unsigned add = scheme_.zeros_less_one ? 1 : 0;
    turned_zeros([&](std::int64_t g, std::int64_t o) {
      const std::byte* row = zeros.data + g * zeros.shape[1] * dtype_size(DType::i32);
      return static_cast<std::uint8_t>((packed_code(row, o, w.code) + add) & last);
    });
    w.owned_codes = rows_of_gptq(codes.data, w.out, w.in, w.code);
    w.row_bytes = packed_row_bytes(w.code, w.in, dtype_size(DType::i32));
    order_columns("g_idx");
    if (w.columns != nullptr)
      w.owned_codes =
          with_columns(w.owned_codes.data(), w.row_bytes, w.out, w.owned_columns, w.code);
    own_codes(codes);
  }

  /// AutoAWQ: modules/linear/gemm.py, utils/packing_utils.py.
  void awq() {
    PackedWeight& w = *weight_;
    const StoredTensor codes = need("qweight", "codes");
    constexpr std::int64_t kCodes = 8;  // in a word
    require(codes, DType::i32, Shape{w.in, divide_up(w.out, kCodes)});
    if (w.out % kCodes != 0) {
      throw Error(Code::tensor_shape,
                  fmt::format("{}: tensor {}: expected a multiple of 8 outputs (AWQ packs eight in "
                              "a word), found {}",
                              codes.file, codes.name, w.out),
                  {{"file", std::string(codes.file)}, {"tensor", std::string(codes.name)}});
    }
    const StoredTensor scale = need("scales", "scales"), zeros = need("qzeros", "zero points");
    require(zeros, DType::i32, Shape{w.groups, w.out / kCodes});
    turned_scales(scale);
    turned_zeros([&](std::int64_t g, std::int64_t o) {
      return awq_code(zeros.data + g * zeros.shape[1] * dtype_size(DType::i32), o);
    });
    w.owned_codes = rows_of_awq(codes.data, w.out, w.in);
    w.row_bytes = packed_row_bytes(w.code, w.in, dtype_size(DType::i32));
    own_codes(codes);
  }

  /// Scales stored [groups][out].
  void turned_scales(const StoredTensor& tensor) {
    PackedWeight& w = *weight_;
    if (!is_float(tensor.dtype)) fail_dtype(tensor, "F32, BF16 or F16", reason());
    if (tensor.shape != Shape{w.groups, w.out})
      fail_shape(tensor, shape_text({w.groups, w.out}), reason());
    const std::int64_t size = dtype_size(tensor.dtype);
    w.owned_scales.resize(static_cast<std::size_t>(w.out * w.groups * size));
    for (std::int64_t g = 0; g < w.groups; ++g) {
      for (std::int64_t o = 0; o < w.out; ++o) {
        std::memcpy(w.owned_scales.data() + (o * w.groups + g) * size,
                    tensor.data + (g * w.out + o) * size, static_cast<std::size_t>(size));
      }
    }
    w.scale_dtype = tensor.dtype;
    w.scales = w.owned_scales.data();
    if (tensor.mapped) forget_pages(tensor.data, tensor.bytes);
  }

  template <class F>
  void turned_zeros(const F& zero) {
    PackedWeight& w = *weight_;
    w.owned_zeros.resize(static_cast<std::size_t>(w.out * w.groups));
    for (std::int64_t o = 0; o < w.out; ++o) {
      for (std::int64_t g = 0; g < w.groups; ++g)
        w.owned_zeros[static_cast<std::size_t>(o * w.groups + g)] = zero(g, o);
    }
    w.zeros = w.owned_zeros.data();
  }

  /// Reads which group every column belongs to; columns in another order are sorted by group.
  void order_columns(std::string_view leaf) {
    PackedWeight& w = *weight_;
    const std::optional<StoredTensor> tensor = claim_(name(leaf));
    if (!tensor) {
      if (scheme_.needs_g_idx) fail_missing(leaf, "groups of the columns");
      return;
    }
    require(*tensor, DType::i32, Shape{w.in});
    std::vector<std::int32_t> group(static_cast<std::size_t>(w.in));
    if (w.in > 0) std::memcpy(group.data(), tensor->data, group.size() * sizeof(std::int32_t));
    // compressed-tensors fills what nobody set with -1.
    if (std::all_of(group.begin(), group.end(), [](std::int32_t g) { return g == -1; })) return;
    std::vector<std::int32_t> columns(group.size());
    std::iota(columns.begin(), columns.end(), 0);
    std::stable_sort(columns.begin(), columns.end(), [&](std::int32_t a, std::int32_t b) {
      return group[static_cast<std::size_t>(a)] < group[static_cast<std::size_t>(b)];
    });
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const auto expected = static_cast<std::int64_t>(j) / w.group_cols;
      const std::int32_t found = group[static_cast<std::size_t>(columns[j])];
      if (found != expected) fail_group(*tensor, found);
    }
    if (std::is_sorted(columns.begin(), columns.end())) return;
    w.owned_columns = std::move(columns);
    w.columns = w.owned_columns.data();
  }
  [[noreturn]] void fail_group(const StoredTensor& tensor, std::int32_t found) const {
    throw Error(Code::invalid_config,
                fmt::format("{}: tensor {}: expected {} groups of {} columns (the last may have "
                            "fewer), found another number of columns in group {}",
                            tensor.file, tensor.name, weight_->groups, weight_->group_cols, found),
                {{"file", std::string(tensor.file)}, {"tensor", std::string(tensor.name)}});
  }

  /// The rearranged codes are what is used: the file's pages may leave memory.
  void own_codes(const StoredTensor& source) {
    weight_->codes = weight_->owned_codes.data();
    if (source.mapped) forget_pages(source.data, source.bytes);
  }

  const PackedModule& module_;
  const WeightScheme& scheme_;
  const ClaimTensor& claim_;
  std::shared_ptr<PackedWeight> weight_ = std::make_shared<PackedWeight>();
};

}  // namespace

std::string_view codes_leaf(PackedLayout layout) {
  if (layout == PackedLayout::gptq || layout == PackedLayout::awq) return "qweight";
  return layout == PackedLayout::pack_quantized ? "weight_packed" : "weight";
}

std::shared_ptr<PackedWeight> load_packed(const PackedModule& module, const ClaimTensor& claim) {
  return Packer(module, claim).pack();
}

}  // namespace sightline::io
