// Rounded checkpoints. Protects: what is stored are the codes, scales and errors of round_rows, for
// every stored float type; all else is copied bit by bit; the directory loads and is whole or
// absent.
#include "audit/quantize.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "audit/checkpoint_report.hpp"
#include "base/bf16.hpp"
#include "generate/load_model.hpp"
#include "io/file.hpp"
#include "io/rounded_modules.hpp"
#include "io/safetensors_writer.hpp"
#include "sightline/error.hpp"
#include "unit/temporary_folder.hpp"

namespace sightline::audit {
namespace {

namespace fs = std::filesystem;

/// A bfloat16's value as a half; zero below the normal ones.
std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const unsigned sign = bits >> 16U & 0x8000U;
  const int exponent = static_cast<int>(bits >> 23U & 0xffU) - 127 + 15;
  if (exponent <= 0) return static_cast<std::uint16_t>(sign);
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent) << 10U |
                                    (bits >> 13U & 0x3ffU));
}

class Quantize : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  static std::string model(const std::string& name) {
    return std::string(SIGHTLINE_TEST_DATA) + "/models/" + name;
  }
  static void no_progress(std::int64_t, std::int64_t) {}

  /// The dense model with its matrices in another float type; `change` sees them as floats.
  template <class F>
  std::string as_type(DType dtype, const F& change) const {
    const auto stored = io::Checkpoint::open(model("dense"));
    fs::create_directories(path("typed"));
    io::SafetensorsWriter writer(path("typed") + "/model.safetensors");
    for (const std::string_view name : stored->names()) {
      const io::StoredTensor tensor = *stored->find(name);
      if (!io::is_rounded(name, tensor.shape)) {
        writer.add(std::string(name),
                   {name, tensor.dtype, tensor.shape, tensor.data, tensor.shape.back()});
        continue;
      }
      std::vector<float> values = io::to_floats(tensor);
      change(name, values);
      std::vector<std::uint16_t> halves;
      for (const float value : values)
        halves.push_back(dtype == DType::f16 ? half_bits(value) : to_bf16(value).bits);
      const void* data = dtype == DType::f32 ? static_cast<const void*>(values.data())
                                             : static_cast<const void*>(halves.data());
      writer.add(std::string(name), {name, dtype, tensor.shape, static_cast<const std::byte*>(data),
                                     tensor.shape.back()});
    }
    writer.finish();
    io::write_file(path("typed") + "/config.json", io::read_file(model("dense") + "/config.json"));
    return path("typed");
  }

  TemporaryFolder folder_;
};

std::string bytes_of(const io::StoredTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data), static_cast<std::size_t>(tensor.bytes)};
}

/// Compares every tensor of `out` with what it was made of.
void expect_rounded(const std::string& from, const std::string& out, int bits,
                    const QuantizeResult& result) {
  const auto before = io::Checkpoint::open(from), after = io::Checkpoint::open(out);
  std::size_t rounded = 0, tensors = 0;
  for (const std::string_view name : before->names()) {
    const io::StoredTensor tensor = *before->find(name);
    if (!io::is_rounded(name, tensor.shape)) {
      const auto copy = after->find(name);
      ASSERT_TRUE(copy) << name;
      EXPECT_EQ(copy->dtype, tensor.dtype) << name;
      EXPECT_EQ(bytes_of(*copy), bytes_of(tensor)) << name;
      ++tensors;
      continue;
    }
    const Weight weight{tensor.dtype, tensor.shape[0], tensor.shape[1], tensor.data};
    const Rounding rounding = *rounding_for(bits, weight.in);
    const RoundedRows rows = round_rows(weight, 0, weight.out, rounding);
    const std::string module(name.substr(0, name.rfind('.')));
    const io::StoredTensor codes = *after->find(module + ".weight_packed");
    const io::StoredTensor scales = *after->find(module + ".weight_scale");
    const io::StoredTensor shape = *after->find(module + ".weight_shape");
    EXPECT_EQ(codes.shape, (Shape{weight.out, weight.in * bits / 32}));
    EXPECT_EQ(scales.shape, (Shape{weight.out, weight.in / rounding.group_cols}));
    EXPECT_EQ(bytes_of(codes),
              std::string(reinterpret_cast<const char*>(rows.codes.data()), rows.codes.size()));
    EXPECT_EQ(bytes_of(scales),
              std::string(reinterpret_cast<const char*>(rows.scales.data()), rows.scales.size()));
    const std::int64_t noted[] = {weight.out, weight.in};
    EXPECT_EQ(std::memcmp(shape.data, noted, sizeof noted), 0);
    const auto report =
        std::find_if(result.rounded.begin(), result.rounded.end(),
                     [&](const RoundedTensor& tensor) { return tensor.name == name; });
    ASSERT_NE(report, result.rounded.end()) << name;
    EXPECT_DOUBLE_EQ(report->relative_error(), relative_error(rows.error)) << name;
    EXPECT_EQ(report->error.greatest, rows.error.greatest) << name;
    EXPECT_EQ(report->bytes_after, codes.bytes + scales.bytes + shape.bytes);
    ++rounded;
    tensors += 3;
  }
  EXPECT_EQ(rounded, result.rounded.size());
  EXPECT_EQ(tensors, after->names().size());
}

TEST_F(Quantize, StoresWhatRoundingGivesAndCopiesTheRest) {
  for (const char* name : {"dense", "moe", "moe-per-expert", "qwen3vl-moe"}) {
    for (const int bits : {8, 4}) {
      const std::string out = path(std::string(name) + std::to_string(bits));
      QuantizeOptions options;
      options.bits = bits;
      options.threads = bits == 8 ? 1 : 3;
      const QuantizeResult result = quantize(model(name), out, options, no_progress);
      expect_rounded(model(name), out, bits, result);
      const auto loaded = generate::load_model(out, true);
      EXPECT_EQ(loaded->info().report.quantisation, "compressed-tensors");
      const double error = relative_error(result.error());
      EXPECT_GT(error, bits == 8 ? 0.002 : 0.04);
      EXPECT_LT(error, bits == 8 ? 0.01 : 0.12);
    }
  }
}

TEST_F(Quantize, EveryFloatTypeIsRounded) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const std::string from = as_type(dtype, [](std::string_view, std::vector<float>&) {});
    const std::string out = path(std::string(io::dtype_name(dtype)));
    const QuantizeResult result = quantize(from, out, {}, no_progress);
    EXPECT_EQ(result.rounded.front().dtype, dtype);
    expect_rounded(from, out, 8, result);
  }
}

TEST_F(Quantize, ShardsHoldWhatOneFileHolds) {
  quantize(model("dense"), path("one"), {}, no_progress);
  QuantizeOptions options;
  options.shard_bytes = 50'000;
  const QuantizeResult result = quantize(model("dense"), path("many"), options, no_progress);
  const auto one = io::Checkpoint::open(path("one")), many = io::Checkpoint::open(path("many"));
  EXPECT_GT(many->shards().size(), 3U);
  ASSERT_EQ(one->names(), many->names());
  std::int64_t bytes = 0;
  for (const std::string_view name : one->names()) {
    const io::StoredTensor tensor = *one->find(name);
    EXPECT_EQ(bytes_of(tensor), bytes_of(*many->find(name))) << name;
    bytes += tensor.bytes;
  }
  EXPECT_EQ(bytes, result.bytes_after);
  EXPECT_NE(std::find(result.files.begin(), result.files.end(), "model.safetensors.index.json"),
            result.files.end());
}

TEST_F(Quantize, CountsGroupsThatAreNotFinite) {
  const std::string odd = "model.language_model.layers.1.mlp.up_proj.weight";
  const std::string from = as_type(DType::bf16, [&](std::string_view name, auto& values) {
    if (name != odd) return;
    values[0] = values[1] = std::numeric_limits<float>::infinity();  // one group
    values[70] = std::numeric_limits<float>::quiet_NaN();            // another row's
  });
  const QuantizeResult result = quantize(from, path("out"), {}, no_progress);
  for (const RoundedTensor& tensor : result.rounded) {
    EXPECT_EQ(tensor.not_finite, tensor.name == odd ? 2 : 0) << tensor.name;
    EXPECT_TRUE(std::isfinite(tensor.relative_error()));
  }
}

/// The message of what is thrown.
template <class F>
std::string refusal(Code code, const F& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing thrown";
  return {};
}

TEST_F(Quantize, RefusesWhatIsQuantisedAlready) {
  for (const char* name : {"dense-int4", "dense-gptq", "moe-fp8"}) {
    const std::string from = std::string(SIGHTLINE_TEST_DATA) + "/quantised/" + name;
    const std::string message =
        refusal(Code::invalid_config, [&] { quantize(from, path("out"), {}, no_progress); });
    EXPECT_NE(message.find("quantised already ("), std::string::npos) << message;
  }
  quantize(model("dense"), path("once"), {}, no_progress);
  refusal(Code::invalid_config, [&] { quantize(path("once"), path("out"), {}, no_progress); });
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(Quantize, GivenUpLeavesNothing) {
  int calls = 0;
  EXPECT_THROW(quantize(model("dense"), path("out"), {},
                        [&](std::int64_t done, std::int64_t all) {
                          EXPECT_LE(done, all);
                          if (++calls == 5) throw std::runtime_error("enough");
                        }),
               std::runtime_error);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Quantize, ProgressEndsAtAllBytes) {
  std::int64_t last = 0, of = 0;
  const QuantizeResult result =
      quantize(model("dense"), path("out"), {}, [&](std::int64_t done, std::int64_t all) {
        EXPECT_GT(done, last);
        last = done;
        of = all;
      });
  EXPECT_EQ(of, result.bytes_after);
  EXPECT_EQ(last, of);
}

}  // namespace
}  // namespace sightline::audit
