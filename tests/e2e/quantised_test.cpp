// Quantised checkpoints through the binary. Protects: `run`, `inspect` and `parity` take them as
// they are; the report says how weights are stored; what is missing is one clear line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "binary.hpp"
#include "io/file.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

/// A quantised checkpoint with the tokenizer of the test checkpoint.
class Quantised : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { use(GetParam()); }
  void use(const std::string& name) {
    if (!fs::exists(folder_.path("tokenizer.json"))) write_checkpoint(folder_);
    for (const char* file : {"config.json", "model.safetensors"}) {
      fs::remove(folder_.path(file));
      folder_.link("quantised/" + name + "/" + file, file);
    }
  }
  Folder folder_;
};

TEST_P(Quantised, AnswersTheSameOnAnyNumberOfThreads) {
  std::string first;
  for (const char* threads : {"1", "2"}) {
    const auto done = sightline({"run", folder_.path(), "Hello", "--max-tokens", "6", "--json",
                                 "--temperature", "0", "--threads", threads});
    ASSERT_EQ(done.code, 0) << done.err;
    const io::Json result = done.json();
    const std::string ids = io::to_json_text(*result.find("token_ids"));
    EXPECT_GE(result.find("page_ins")->find("faults")->as_int(), 0);
    if (first.empty()) first = ids;
    EXPECT_EQ(ids, first);
  }
}

TEST_P(Quantised, InspectSaysHowEveryModuleIsStored) {
  const auto done = sightline({"inspect", folder_.path(), "--check", "--json"});
  ASSERT_EQ(done.code, 0) << done.out << done.err;  // nothing is odd about it
  const io::Json report = done.json();
  const std::string method = report.find("report")->find("quantisation")->as_string();
  EXPECT_NE(method, "");
  const std::string stored =
      report.find("report")->find("storage")->as_array().front().find("stored")->as_string();
  bool found = false;
  for (const io::Json& module : report.find("modules")->as_array()) {
    const std::string path = module.find("path")->as_string();
    if (path == "model.norm") {
      EXPECT_EQ(module.find("stored")->as_string(), "BF16");
    }
    if (path != "model.layers.1.self_attn.q_proj") continue;
    found = true;
    EXPECT_EQ(module.find("stored")->as_string(), stored);
    EXPECT_EQ(module.find("parameters")->as_int(), 256 * 64);  // of what the codes stand for
  }
  EXPECT_TRUE(found);
  const auto text = sightline({"inspect", folder_.path()});
  EXPECT_NE(text.out.find(fmt::format("{:<14}{}: {}: ", "quantised", method, stored)),
            std::string::npos)
      << text.out;
}

TEST_P(Quantised, ParityWithTheWeightsReadBack) {
  const auto done = sightline({"parity", folder_.path(),
                               data(fmt::format("quantised/{}/text.safetensors", GetParam())),
                               "--precision", "f32"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

INSTANTIATE_TEST_SUITE_P(, Quantised,
                         testing::Values("moe-fp8", "dense-gptq", "dense-awq", "dense-int4",
                                         "dense-int8", "dense-fp8-channel"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class QuantisedFaults : public Quantised {};
INSTANTIATE_TEST_SUITE_P(, QuantisedFaults, testing::Values("dense-int4"));

TEST_P(QuantisedFaults, AreOneLineWithTheirCode) {
  struct Fault {
    const char *from, *to, *code, *part;
  };
  const std::string config = io::read_file(data("quantised/dense-int4/config.json"));
  for (const Fault& fault :
       {Fault{"\"re:.*in_proj_[ab]$\"", "\"re:.*block_sparse_moe\"", "invalid_config",
              "quantization_config.ignore: expected names of modules"},
        {"\"num_bits\": 4", "\"num_bits\": 3", "invalid_config",
         "num_bits: expected 4 or 8 bits, found 3"},
        {"\"group_size\": 32", "\"group_size\": 64", "tensor_shape",
         "weight_scale: expected shape"},
        {"\"compressed-tensors\"", "\"hqq\"", "invalid_config", "found \"hqq\""}}) {
    std::string text = config;
    const std::size_t at = text.find(fault.from);
    ASSERT_NE(at, std::string::npos) << fault.from;
    text.replace(at, std::string(fault.from).size(), fault.to);
    if (std::string(fault.part).find("ignore") != std::string::npos)
      text.replace(text.find("\"lm_head\""), 9, "\"other\"");
    fs::remove(folder_.path("config.json"));
    folder_.write("config.json", text);
    const auto done = sightline({"run", folder_.path(), "Hello", "--max-tokens", "1"});
    EXPECT_EQ(done.code, 4) << done.err;
    EXPECT_TRUE(done.err.starts_with(fmt::format("sightline: {}: ", fault.code))) << done.err;
    EXPECT_NE(done.err.find(fault.part), std::string::npos) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

}  // namespace
}  // namespace sightline::e2e
