// Protects: experts stored one by one, as quantised Qwen3-VL checkpoints have them, give what the
// fused tensors give; a missing one is named.
#include "io/safetensors_writer.hpp"
#include "unit/io/stored_file.hpp"
#include "unit/qwen3_vl/runner.hpp"

namespace sightline::qwen3_vl {
namespace {

using io::testing::Directory;

/// Columns [first, first + count) of expert e of [N, in, out], turned to [count, in].
std::vector<std::byte> turned(const io::StoredTensor& all, std::int64_t e, std::int64_t first,
                              std::int64_t count) {
  const std::int64_t in = all.shape[1], out = all.shape[2], size = dtype_size(all.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * in * size));
  for (std::int64_t o = 0; o < count; ++o) {
    for (std::int64_t k = 0; k < in; ++k) {
      std::memcpy(bytes.data() + (o * in + k) * size,
                  all.data + ((e * in + k) * out + first + o) * size,
                  static_cast<std::size_t>(size));
    }
  }
  return bytes;
}

/// qwen3vl-moe with every expert's matrices by themselves, but for the one named `without`.
void unfuse(const Directory& to, const std::string& without = "") {
  const std::string from = directory_of("qwen3vl-moe");
  std::filesystem::copy_file(from + "/config.json", to.file("config.json"));
  const auto stored = io::Checkpoint::open(from);
  io::SafetensorsWriter writer(to.file("model.safetensors"));
  for (const std::string_view name : stored->names()) {
    const io::StoredTensor tensor = *stored->find(name);
    const auto add = [&](const std::string& path, const Shape& shape, const std::byte* data) {
      if (path != without) writer.add(path, {path, tensor.dtype, shape, data, shape.back()});
    };
    const bool gate_up = name.ends_with("experts.gate_up_proj");
    if (!gate_up && !name.ends_with("experts.down_proj")) {
      add(std::string(name), tensor.shape, tensor.data);
      continue;
    }
    const std::string path(name.substr(0, name.rfind('.') + 1));
    const std::int64_t in = tensor.shape[1], out = tensor.shape[2] / (gate_up ? 2 : 1);
    for (std::int64_t e = 0; e < tensor.shape[0]; ++e) {
      for (int part = 0; part < (gate_up ? 2 : 1); ++part) {
        const char* leaf = !gate_up ? "down_proj" : part == 0 ? "gate_proj" : "up_proj";
        add(path + std::to_string(e) + "." + leaf + ".weight", {out, in},
            turned(tensor, e, part * out, out).data());
      }
    }
  }
  writer.finish();
}

TEST(UnfusedExperts, GiveWhatTheFusedOnesGive) {
  const Directory directory;
  unfuse(directory);
  const auto model = load_from(directory.path());
  const TestPrompt prompt(model->info(), {{{1, 4, 6}, 3}}, 9);
  for (const char* isa : available_sets()) {
    Runner fused(loaded("qwen3vl-moe"), 2, isa), unfused(*model, 2, isa);
    const auto features = fused.encode(prompt);
    // The fused file is stored the other way round: the same products in another order.
    EXPECT_LE(relative_error(unfused.prompt_logits(prompt, features, 64),
                             fused.prompt_logits(prompt, features, 64)),
              1e-5F)
        << isa;
  }
}

TEST(UnfusedExperts, AMissingOneIsNamed) {
  const Directory directory;
  const std::string name = "model.language_model.layers.1.mlp.experts.2.up_proj.weight";
  unfuse(directory, name);
  EXPECT_FAILS(load_from(directory.path()), Code::missing_tensor, name);
}

}  // namespace
}  // namespace sightline::qwen3_vl
