// Protects: what is odd about a checkpoint is found and named: rows of zeros, values that are not
// finite, an element type of another kind, mtp.* tensors that are missing or shaped otherwise.
#include "audit/checkpoint_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "audit/synth.hpp"
#include "generate/load_model.hpp"
#include "io/file.hpp"
#include "io/safetensors_writer.hpp"
#include "unit/temporary_folder.hpp"

namespace sightline::audit {
namespace {

class Inspected : public ::testing::Test {
 protected:
  void SetUp() override {
    Subject small =
        subject_of_config(std::string(SIGHTLINE_TEST_DATA) + "/models/dense/config.json");
    for (auto& [key, value] : small.config.as_object()) {
      if (key == "text_config") value.add("mtp_num_hidden_layers", 1);
    }
    write_synth(small, folder_.path(), {}, [](std::int64_t, std::int64_t) {});
  }

  /// Writes the weights again, each tensor as `change` leaves it (false: left out).
  template <class Change>
  void rewrite(const Change& change) const {
    const std::string weights = folder_.path("model.safetensors");
    io::SafetensorsWriter writer(weights);
    const auto stored = io::Checkpoint::open(folder_.path());
    for (const std::string_view name : stored->names()) {
      const io::StoredTensor tensor = *stored->find(name);
      std::vector<std::byte> bytes(tensor.data, tensor.data + tensor.bytes);
      DType dtype = tensor.dtype;
      if (!change(name, bytes, dtype)) continue;
      writer.add(std::string(name), {name, dtype, tensor.shape, bytes.data(), tensor.shape.back()});
    }
    writer.finish();
  }
  [[nodiscard]] CheckpointReport report() const {
    const auto stored = io::Checkpoint::open(folder_.path());
    const auto model = generate::load_model(folder_.path(), true);
    CheckpointReport report =
        report_checkpoint(subject_of_directory(folder_.path()), *model, stored.get());
    for (const Finding& finding : check_values(*stored, [](std::int64_t, std::int64_t) {}))
      report.findings.push_back(finding);
    return report;
  }

  TemporaryFolder folder_;
};

constexpr const char* kMatrix = "model.language_model.layers.0.mlp.gate_proj.weight";
constexpr const char* kNorm = "model.language_model.norm.weight";

TEST_F(Inspected, ZerosAndInfinitiesAreCounted) {
  rewrite([](std::string_view name, std::vector<std::byte>& bytes, DType) {
    constexpr std::size_t kRow = 64 * 2;  // hidden_size values of two bytes
    if (name == kMatrix) {
      std::fill_n(bytes.begin() + kRow, 2 * kRow, std::byte{0});
      for (std::size_t i = 1; i < kRow; i += 2) bytes[kRow + i] = std::byte{0x80};  // -0
      bytes[0] = std::byte{0x80};  // 0x7F80: infinity in BF16
      bytes[1] = std::byte{0x7F};
    }
    return true;
  });
  const CheckpointReport report = this->report();
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].kind, Finding::Kind::non_finite);
  EXPECT_EQ(report.findings[0].tensor, kMatrix);
  EXPECT_EQ(report.findings[0].count, 1);
  EXPECT_EQ(report.findings[1].kind, Finding::Kind::zero_rows);
  EXPECT_EQ(report.findings[1].count, 2);
}

TEST_F(Inspected, AnotherElementTypeIsNamed) {
  rewrite([](std::string_view name, std::vector<std::byte>& bytes, DType& dtype) {
    if (name == kNorm) {
      dtype = DType::f32;
      bytes.assign(bytes.size() * 2, std::byte{0});
    }
    return true;
  });
  const CheckpointReport report = this->report();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].kind, Finding::Kind::dtype);
  EXPECT_EQ(report.findings[0].tensor, kNorm);
  EXPECT_EQ(report.findings[0].detail, "expected BF16, found F32");
  ASSERT_EQ(report.dtypes.size(), 2U);
  EXPECT_EQ(report.dtypes[0].dtype, DType::bf16);
}

TEST_F(Inspected, MissingMtpTensorsAreListed) {
  rewrite([](std::string_view name, std::vector<std::byte>&, DType) {
    return name != "mtp.fc.weight";
  });
  EXPECT_EQ(report().mtp_missing, std::vector<std::string>{"mtp.fc.weight"});
}

TEST_F(Inspected, SaysWhatItIs) {
  const CheckpointReport report = this->report();
  EXPECT_EQ(report.config_class, "Qwen3_5Config");
  EXPECT_EQ(report.model_type, "qwen3_5");
  EXPECT_EQ(report.architectures, std::vector<std::string>{"Qwen3_5ForConditionalGeneration"});
  EXPECT_EQ(report.processor_class, "Qwen3VLProcessor");
  EXPECT_TRUE(report.tied_head);
  EXPECT_EQ(report.ignored, 15);
  ASSERT_EQ(report.shards.size(), 1U);
  EXPECT_EQ(report.shards[0].tensors, report.used + report.ignored);
  EXPECT_TRUE(report.findings.empty());
}

}  // namespace
}  // namespace sightline::audit
