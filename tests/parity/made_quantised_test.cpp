// Protects quantised layouts at sizes that the stored checkpoints do not have: FP8 blocks of 128 x
// 128 with edges that they do not fill, groups of 128 with columns in act order. Codes, scales and
// zero points are made up here, written as the formats say, and read twice: packed, and as the
// float32 weights that they stand for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "generate/load_model.hpp"
#include "generate/parity.hpp"
#include "gtest/gtest.h"
#include "io/file.hpp"
#include "io/safetensors_writer.hpp"
#include "kernels/kernels.hpp"
#include "model/positions.hpp"
#include "unit/io/stored_file.hpp"

namespace sightline::generate {
namespace {

using io::testing::Directory;

constexpr std::int64_t kBlock = 128;

// No width is a multiple of 128; outputs are multiples of 8, as GPTQ wants.
const char* const kDense = R"({"model_type": "qwen3_5_text", "vocab_size": 304, "hidden_size": 200,
  "intermediate_size": 328, MORE)";
const char* const kMoe = R"({"model_type": "qwen3_5_moe_text", "vocab_size": 304,
  "hidden_size": 200, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 136,
  "shared_expert_intermediate_size": 264, MORE)";
const char* const kMore = R"("num_hidden_layers": 2, "num_attention_heads": 5,
  "num_key_value_heads": 1, "head_dim": 40, "hidden_act": "silu", "max_position_embeddings": 512,
  "rms_norm_eps": 1e-6, "layer_types": ["linear_attention", "full_attention"],
  "linear_conv_kernel_dim": 4, "linear_key_head_dim": 48, "linear_value_head_dim": 48,
  "linear_num_key_heads": 2, "linear_num_value_heads": 6, "tie_word_embeddings": true,
  "rope_parameters": {"rope_type": "default", "rope_theta": 10000000,
    "partial_rotary_factor": 0.25, "mrope_section": [2, 2, 1]}})";

std::string config_text(const char* model) {
  std::string text = model;
  return text.replace(text.find("MORE"), 4, kMore);
}

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
};
using Tensors = std::vector<Tensor>;

template <class T>
Tensor tensor(std::string name, DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor made{std::move(name), dtype, shape, std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

/// A matrix in one of the formats: the tensors that store it below its module's name, and what it
/// stands for, [out][in].
struct Packed {
  Tensors stored;
  std::vector<float> values;
};

class Maker {
 public:
  std::mt19937& random() { return random_; }
  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  std::vector<float> floats(std::int64_t count, float low, float high) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(low, high);
    return values;
  }

 private:
  std::mt19937 random_{6};
};

std::int64_t parts(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// The value of a code of OCP's E4M3: bias 7, no infinities.
float e4m3(std::uint8_t code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const float size = exponent == 0
                         ? std::ldexp(static_cast<float>(fraction), -9)
                         : std::ldexp(1.0F + static_cast<float>(fraction) / 8, exponent - 7);
  return (code & 0x80) != 0 ? -size : size;
}

/// Neighbouring blocks differ in size by up to 16, so that a wrong one shows.
Packed fp8(Maker& make, std::int64_t out, std::int64_t in) {
  const std::int64_t rows = parts(out, kBlock), columns = parts(in, kBlock);
  std::vector<float> scales(static_cast<std::size_t>(rows * columns));
  for (float& scale : scales) {
    const auto size = static_cast<float>(std::int64_t{1} << make.below(5));
    scale = make.uniform(0.5F, 1) * size / (400 * std::sqrt(static_cast<float>(in)));
  }
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(out * in));
  Packed packed;
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      const auto code = static_cast<std::uint8_t>(make.below(127) | make.below(2) << 7);  // no NaN
      codes[static_cast<std::size_t>(o * in + i)] = code;
      packed.values.push_back(e4m3(code) *
                              scales[static_cast<std::size_t>(o / kBlock * columns + i / kBlock)]);
    }
  }
  packed.stored = {tensor("weight", DType::f8_e4m3, {out, in}, codes),
                   tensor("weight_scale_inv", DType::f32, {rows, columns}, scales)};
  return packed;
}

/// Four-bit codes in groups of 128 columns that lie in any order.
struct Groups {
  std::int64_t out = 0, in = 0, groups = 0;
  std::vector<std::uint32_t> codes, zeros;  // [out][in], [out][groups]
  std::vector<float> scales;                // [out][groups], halves exactly
  std::vector<std::int32_t> group;          // of a column
  std::vector<float> values;

  Groups(Maker& make, std::int64_t rows, std::int64_t columns)
      : out(rows), in(columns), groups(parts(columns, kBlock)) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(in));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), make.random());
    group.resize(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      group[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k) / kBlock;
    for (std::int64_t i = 0; i < out * groups; ++i) {
      zeros.push_back(static_cast<std::uint32_t>(1 + make.below(15)));
      scales.push_back(std::ldexp(static_cast<float>(1 + make.below(15)), -10));
    }
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t i = 0; i < in; ++i) {
        codes.push_back(static_cast<std::uint32_t>(make.below(16)));
        const auto at = static_cast<std::size_t>(o * groups + group[static_cast<std::size_t>(i)]);
        values.push_back((static_cast<float>(codes.back()) - static_cast<float>(zeros[at])) *
                         scales[at]);
      }
    }
  }
};

Packed pack_quantized(Maker& make, std::int64_t out, std::int64_t in) {
  const Groups g(make, out, in);
  const std::int64_t words = parts(in, 8), zero_words = parts(out, 8);
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(out * words)),
      zeros(static_cast<std::size_t>(zero_words * g.groups));
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      codes[static_cast<std::size_t>(o * words + i / 8)] |=
          g.codes[static_cast<std::size_t>(o * in + i)] << (4 * (i % 8));
    }
    for (std::int64_t k = 0; k < g.groups; ++k) {
      zeros[static_cast<std::size_t>(o / 8 * g.groups + k)] |=
          g.zeros[static_cast<std::size_t>(o * g.groups + k)] << (4 * (o % 8));
    }
  }
  return {{tensor("weight_packed", DType::i32, {out, words}, codes),
           tensor("weight_scale", DType::f32, {out, g.groups}, g.scales),
           tensor("weight_zero_point", DType::i32, {zero_words, g.groups}, zeros),
           tensor("weight_shape", DType::i64, {2}, std::vector<std::int64_t>{out, in}),
           tensor("weight_g_idx", DType::i32, {in}, g.group)},
          g.values};
}

/// The first format: zero points less one.
Packed gptq(Maker& make, std::int64_t out, std::int64_t in) {
  const Groups g(make, out, in);
  const std::int64_t words = parts(in, 8), zero_words = parts(out, 8);
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(words * out)),
      zeros(static_cast<std::size_t>(g.groups * zero_words));
  std::vector<float> scales(g.scales.size());
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      codes[static_cast<std::size_t>(i / 8 * out + o)] |=
          g.codes[static_cast<std::size_t>(o * in + i)] << (4 * (i % 8));
    }
    for (std::int64_t k = 0; k < g.groups; ++k) {
      const auto at = static_cast<std::size_t>(o * g.groups + k);
      zeros[static_cast<std::size_t>(k * zero_words + o / 8)] |= (g.zeros[at] - 1) << (4 * (o % 8));
      scales[static_cast<std::size_t>(k * out + o)] = g.scales[at];
    }
  }
  return {{tensor("qweight", DType::i32, {words, out}, codes),
           tensor("qzeros", DType::i32, {g.groups, zero_words}, zeros),
           tensor("scales", DType::f32, {g.groups, out}, scales),
           tensor("g_idx", DType::i32, {in}, g.group)},
          g.values};
}

using PackMatrix = Packed (*)(Maker&, std::int64_t out, std::int64_t in);

/// The tensors of a model twice: packed, and as float32. Experts are stored one by one.
struct Checkpoints {
  Tensors packed, floats;
  std::vector<std::string> kept;  ///< linear modules that stay as they were
  std::int64_t matrices = 0;      ///< packed
};

void add_matrix(Checkpoints& made, Maker& make, PackMatrix pack, const std::string& module,
                std::int64_t out, std::int64_t in) {
  Packed packed = pack(make, out, in);
  for (Tensor& part : packed.stored) {
    part.name = fmt::format("{}.{}", module, part.name);
    made.packed.push_back(std::move(part));
  }
  made.floats.push_back(tensor(module + ".weight", DType::f32, {out, in}, packed.values));
  ++made.matrices;
}

/// Norms near one, the range of decays that models have, matrices that are not packed.
std::vector<float> plain_values(Maker& make, const io::ClaimedTensor& claimed) {
  const std::int64_t n = claimed.shape.elements();
  if (claimed.shape.rank() == 1) return make.floats(n, 0, 1);
  const float size = 1.5F / std::sqrt(static_cast<float>(n / claimed.shape[0]));
  return make.floats(n, -size, size);
}

Checkpoints make_checkpoints(const std::string& config, PackMatrix pack) {
  Checkpoints made;
  Maker make;
  const auto model = declare_model(io::parse_json(config, "config.json"), "config.json");
  for (const io::ClaimedTensor& claimed : model->info().report.tensors) {
    const std::string& name = claimed.name;
    const Shape& shape = claimed.shape;
    const std::string module = name.substr(0, name.rfind('.'));
    if (name.ends_with(".experts.gate_up_proj")) {
      for (std::int64_t e = 0; e < shape[0]; ++e) {
        for (const char* leaf : {"gate_proj", "up_proj"})
          add_matrix(made, make, pack, fmt::format("{}.{}.{}", module, e, leaf), shape[1] / 2,
                     shape[2]);
      }
    } else if (name.ends_with(".experts.down_proj")) {
      for (std::int64_t e = 0; e < shape[0]; ++e)
        add_matrix(made, make, pack, fmt::format("{}.{}.down_proj", module, e), shape[1], shape[2]);
    } else if (name.ends_with("_proj.weight") || name.ends_with("_qkv.weight") ||
               name.ends_with("_z.weight")) {
      add_matrix(made, make, pack, module, shape[0], shape[1]);
    } else {
      const Tensor plain = tensor(name, DType::f32, shape, plain_values(make, claimed));
      if (shape.rank() == 2 && !name.ends_with("embed_tokens.weight")) made.kept.push_back(module);
      made.packed.push_back(plain);
      made.floats.push_back(plain);
    }
  }
  return made;
}

void write(const std::string& folder, const std::string& config, const Tensors& tensors) {
  std::filesystem::create_directories(folder);
  io::write_file(folder + "/config.json", config);
  io::SafetensorsWriter writer(folder + "/model.safetensors");
  for (const Tensor& stored : tensors) {
    writer.add(stored.name,
               {stored.name, stored.dtype, stored.shape, stored.bytes.data(), stored.shape.back()});
  }
  writer.finish();
}

/// Logits of 24 tokens.
std::vector<float> logits(const model::VisionLanguageModel& model, std::string_view set,
                          const ParityOptions& how) {
  ReferenceCase prompt;
  for (int i = 0; i < 24; ++i) prompt.ids.push_back((i * 37 + 5) % 304);
  const auto n = static_cast<std::int64_t>(prompt.ids.size());
  nn::Positions positions;
  const std::vector<model::TokenType> text(prompt.ids.size(), model::TokenType::text);
  (void)model::append_positions(text, {}, {}, 2, 0, positions);
  Threads threads(2);
  Arena arena;
  nn::Pass pass(kernels::select(set), threads, arena);
  pass.precision = nn::Precision::f32;
  model::Cache cache = model.new_cache(pass.precision);
  const View view = arena.matrix(n, model.info().vocab_size);
  prompt_in_pieces(model, pass, prompt, how, positions, cache, view);
  return {view.row(0), view.row(0) + n * view.cols};
}

double greatest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, greatest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(a[i]) - b[i]));
    greatest = std::max(greatest, std::abs(static_cast<double>(b[i])));
  }
  return difference / greatest;
}

struct Made {
  const char *name, *model;
  PackMatrix pack;
  const char* method;  ///< quantization_config without its list
  const char* list;    ///< key of the list of modules that stay; null: `method` names them
  const char* stored;
  bool same_bits;  ///< columns lie in their own order
};

const Made kMade[] = {
    {"fp8", kDense, fp8, R"("quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128])",
     "modules_to_not_convert", "float8_e4m3, blocks of 128 x 128", true},
    {"fp8_experts", kMoe, fp8,
     R"("quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128])",
     "modules_to_not_convert", "float8_e4m3, blocks of 128 x 128", true},
    {"gptq_act_order", kDense, gptq,
     R"("quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": true, "sym": false,
        "checkpoint_format": "gptq", "dynamic": {"-:.*in_proj_[ab]$": {}})",
     nullptr, "int4, groups of 128, zero points", false},
    {"compressed_tensors_act_order", kDense, pack_quantized,
     R"("quant_method": "compressed-tensors", "format": "pack-quantized",
        "quantization_status": "compressed", "config_groups": {"group_0": {"targets": ["Linear"],
          "weights": {"num_bits": 4, "type": "int", "symmetric": false, "strategy": "group",
            "group_size": 128, "actorder": "group", "dynamic": false},
          "input_activations": null, "output_activations": null}})",
     "ignore", "int4, groups of 128, zero points", false},
};

class MadeQuantised : public ::testing::TestWithParam<Made> {};

TEST_P(MadeQuantised, LogitsAreThoseOfTheWeightsInFloat32) {
  const Made& made = GetParam();
  const std::string config = config_text(made.model);
  const Checkpoints both = make_checkpoints(config, made.pack);
  std::string method = made.method;
  if (made.list != nullptr)
    method +=
        fmt::format(R"(, "{}": ["lm_head", "{}"])", made.list, fmt::join(both.kept, "\", \""));
  const Directory folder;
  write(folder.file("packed"),
        config.substr(0, config.rfind('}')) + ", \"quantization_config\": {" + method + "}}",
        both.packed);
  write(folder.file("floats"), config, both.floats);
  const auto packed = load_model(folder.file("packed"), true),
             floats = load_model(folder.file("floats"), true);
  std::int64_t stored = 0;
  for (const io::ClaimedTensor& claimed : packed->info().report.tensors)
    stored += claimed.stored == made.stored ? 1 : 0;
  EXPECT_EQ(stored, both.matrices);
  EXPECT_GT(stored, 12);
  for (const auto& set : kernels::list_sets()) {
    if (!set.available || set.twin) continue;
    for (const ParityOptions& how : {ParityOptions{{}, 64, model::RowKind::prompt},
                                     ParityOptions{{}, 1, model::RowKind::step}}) {
      const std::vector<float> found = logits(*packed, set.name, how),
                               expected = logits(*floats, set.name, how);
      if (made.same_bits) {
        EXPECT_TRUE(found == expected) << set.name;
      } else {  // sums in another order
        EXPECT_LT(greatest_difference(found, expected), 2e-5) << set.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, MadeQuantised, ::testing::ValuesIn(kMade),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sightline::generate
