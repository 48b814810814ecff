// The audit of a question through the binary: trace, merge, hidden, diff. Protects: documents with
// everything of their schema; tables that fit; files that can be compared; and one clear line for
// everything that is wrong with what was asked.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "binary.hpp"
#include "cli/table.hpp"
#include "io/safetensors.hpp"
#include "json_at.hpp"

namespace sightline::e2e {
namespace {

using io::Json;

TEST(Trace, ShapesFromAConfigurationAlone) {
  const Folder folder;
  folder.link("models/dense/config.json", "config.json");
  const Finished done = sightline({"trace", folder.path(), "--shapes-only", "--picture", "100x60",
                                   "--picture", "64x64", "--tokens", "9", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(at(done.json(), {"prompt_tokens"}).as_int(),
            at(done.json(), {"visual_tokens"}).as_int() + 9);
  EXPECT_EQ(at(done.json(), {"inputs"}).as_array().back().find("shape")->as_array()[0].as_int(), 2);
}

// A clip of five frames has three pairs of frames, each a run of placeholders.
TEST(Trace, ShapesOfAClip) {
  const Folder folder;
  folder.link("models/dense/config.json", "config.json");
  const Finished done = sightline({"trace", folder.path(), "--shapes-only", "--clip", "5x256x256",
                                   "--tokens", "9", "--json"}),
                 pair = sightline({"trace", folder.path(), "--shapes-only", "--clip", "2x256x256",
                                   "--tokens", "9", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  ASSERT_EQ(pair.code, 0) << pair.err;
  EXPECT_EQ(at(done.json(), {"visual_tokens"}).as_int(),
            3 * at(pair.json(), {"visual_tokens"}).as_int());
  EXPECT_EQ(at(done.json(), {"prompt_tokens"}).as_int(),
            at(done.json(), {"visual_tokens"}).as_int() + 9);
}

void expect_fits(const Finished& done) {
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out.find('\x1b'), std::string::npos);  // not a terminal
  for (const std::string& line : done.lines()) EXPECT_LE(cli::display_width(line), 100U) << line;
}

TEST(Trace, TablesFit) {
  for (const char* level : {"root", "stages", "all"}) {
    expect_fits(sightline({"trace", "qwen3.5-2b", "--shapes-only", "--level", level}));
    expect_fits(sightline({"trace", "qwen3.5-9b", "--shapes-only", "--level", level, "--full"}));
  }
  const Finished table = sightline({"trace", "qwen3.5-2b", "--shapes-only"});
  EXPECT_NE(table.out.find("03-26  vision  model.visual.blocks.0-23 "), std::string::npos)
      << table.out;
  EXPECT_NE(table.out.find("302,309,376"), std::string::npos) << table.out;
}

class Asked : public testing::Test {
 protected:
  Asked() {
    write_checkpoint(folder);
    std::filesystem::copy(data("images/red-64.png"), folder.path("\xe7\xba\xa2\xe8\x89\xb2.png"));
  }
  /// The command with the checkpoint and the picture.
  Finished ask(const std::string& command, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{command, folder.path(), "-i",
                                       folder.path("\xe7\xba\xa2\xe8\x89\xb2.png"), "color?"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sightline(arguments);
  }
  Folder folder;
};

TEST_F(Asked, TraceHasEverythingOfTheSchema) {
  const Finished done = ask("trace", {"--json", "--maps"});
  ASSERT_EQ(done.code, 0) << done.err;
  const Json document = done.json();
  EXPECT_EQ(at(document, {"schema"}).as_int(), 1);
  EXPECT_TRUE(at(document, {"proof", "ok"}).as_bool());
  EXPECT_EQ(at(document, {"edges"}).as_array().size(), 4U);
  EXPECT_TRUE(at(document, {"first_non_finite"}).is_null());
  EXPECT_EQ(at(document, {"tokens"}).as_array().size(),
            static_cast<std::size_t>(at(document, {"prompt_tokens"}).as_int()));
  EXPECT_EQ(at(document, {"positions"}).as_array().size(), 3U);
  std::int64_t flops = 0;
  for (const Json& event : at(document, {"events"}).as_array()) {
    for (const char* key : {"t_us", "dur_us", "kind", "name", "class", "in", "out", "params"})
      EXPECT_NE(event.find(key), nullptr) << key;
    for (const char* key : {"min", "max", "mean", "std", "l2", "nan", "inf"})
      EXPECT_NE(at(event, {"stats"}).find(key), nullptr) << key;
    const Json& out = at(event, {"out"}).as_array()[0];
    EXPECT_EQ(at(out, {"histogram", "counts"}).as_array().size(), 64U);
    EXPECT_FALSE(at(out, {"row_norms", "u8"}).as_string().empty());
    flops += at(event, {"flops"}).as_int();
  }
  // The stages are the whole, but for the tower's position embedding.
  EXPECT_LE(flops, at(document, {"totals", "flops"}).as_int());
  EXPECT_GT(flops, at(document, {"totals", "flops"}).as_int() * 9 / 10);
}

TEST_F(Asked, EveryTableFitsAndSaysOk) {
  const Finished trace = ask("trace", {"--level", "all", "--values"});
  expect_fits(trace);
  std::size_t oks = 0;
  for (const std::string& line : trace.lines())
    oks += line.starts_with("merge ") && line.ends_with("OK") ? 1 : 0;
  EXPECT_EQ(oks, 4U) << trace.out;
  EXPECT_NE(trace.out.find("non-finite  none"), std::string::npos) << trace.out;
  expect_fits(ask("merge"));
  expect_fits(ask("hidden"));
  EXPECT_EQ(ask("trace", {"--md"}).out.rfind("## Inputs\n\n| call |", 0), 0U);
}

TEST_F(Asked, MergeAndHiddenProveThemselves) {
  const Finished merge = ask("merge", {"--json"});
  ASSERT_EQ(merge.code, 0) << merge.err;
  EXPECT_EQ(at(merge.json(), {"proof", "image_count"}).as_int(), 64);
  EXPECT_EQ(at(merge.json(), {"proof", "runs"}).as_array().size(), 1U);
  EXPECT_EQ(at(merge.json(), {"proof", "visual", "sha256"}).as_string().size(), 64U);
  EXPECT_EQ(at(merge.json(), {"rope_delta"}).as_int(), -56);
  const Finished hidden = ask("hidden", {"--json"});
  ASSERT_EQ(hidden.code, 0) << hidden.err;
  EXPECT_FALSE(at(hidden.json(), {"same_tensor"}).as_bool());
  EXPECT_EQ(at(hidden.json(), {"states"}).as_array().size(), 6U);
}

TEST_F(Asked, CapturesAreSelectedSavedAndCompared) {
  const std::string all = folder.path("all.safetensors"), some = folder.path("some.safetensors");
  ASSERT_EQ(ask("trace", {"--save", all}).code, 0);
  const Finished selected = ask("trace", {"--save", some, "--select", "*.layers.0.mlp", "--select",
                                          "model.visual.merger|in", "--select", "model.visual|*"});
  ASSERT_EQ(selected.code, 0) << selected.err;
  std::vector<std::string> keys;
  const io::SafetensorsFile stored(some);
  for (const io::TensorEntry& entry : stored.entries()) keys.push_back(entry.name);
  EXPECT_EQ(keys, (std::vector<std::string>{"trace/model.visual|in", "trace/model.visual|grid_thw",
                                            "trace/model.visual.merger|in",
                                            "trace/model.visual|pooler_output",
                                            "trace/model.language_model.layers.0.mlp"}));
  const Finished same = sightline({"diff", all, all, "--tolerance", "0"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.out.find("no divergence"), std::string::npos);
  // Another picture is another run from the tower on.
  const std::string other = folder.path("other.safetensors");
  const std::string picture = write_picture(folder, "plain.png", 64, 64);
  ASSERT_EQ(sightline({"trace", folder.path(), "-i", picture, "color?", "--save", other}).code, 0);
  const Finished differs = sightline({"diff", all, other, "--json"});
  EXPECT_EQ(differs.code, 1);
  EXPECT_EQ(at(differs.json(), {"first_divergence"}).as_string(), "model.visual.patch_embed.proj");
}

// A weight that is no number: nothing can be answered, and the trace says where it began.
TEST_F(Asked, ANanIsFoundWhereItBegins) {
  const std::string file = folder.path("model.safetensors");
  std::filesystem::remove(file);  // the link
  std::filesystem::copy(data("models/dense/model.safetensors"), file);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::int64_t begin = 0;
  {
    const io::SafetensorsFile weights(file);
    for (const io::TensorEntry& entry : weights.entries()) {
      if (entry.name == "model.language_model.layers.1.mlp.down_proj.weight") begin = entry.begin;
    }
  }
  ASSERT_GT(begin, 0);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(begin);
  bytes.write("\xc0\x7f", 2);  // bfloat16 NaN
  bytes.close();
  const Finished done = ask("trace", {"--json"});
  ASSERT_EQ(done.code, 1) << done.err;
  EXPECT_EQ(at(done.json(), {"first_non_finite"}).as_string(),
            "model.language_model.layers.1.mlp.down_proj");
  EXPECT_TRUE(at(done.json(), {"failure"}).is_string());
  EXPECT_TRUE(at(done.json(), {"proof", "ok"}).as_bool());
  EXPECT_NE(ask("trace").out.find("first in model.language_model.layers.1.mlp.down_proj"),
            std::string::npos);
}

struct Wrong {
  std::vector<std::string> arguments;
  int code;
  const char* says;
};

class WrongRequests : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRequests, AreOneLine) {
  const Finished done = sightline(GetParam().arguments);
  EXPECT_EQ(done.code, GetParam().code) << done.err;
  EXPECT_NE(done.err.find(GetParam().says), std::string::npos) << done.err;
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  EXPECT_EQ(done.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Audit, WrongRequests,
    testing::Values(
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "--level", "most"}, 2, "root, stages, all"},
        Wrong{{"trace", "qwen3.5-2b", "hello"}, 2, "--shapes-only"},
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "hello"}, 2, "not a question"},
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "--picture", "64"}, 2, "WIDTHxHEIGHT"},
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "--picture", "8x2000"}, 3, "longest side"},
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "--clip", "640x480"},
              2,
              "FRAMESxWIDTHxHEIGHT"},
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "--clip", "769x64x64"}, 2, "2 to 768"},
        Wrong{{"trace", "qwen3.5-2b", "--clip", "4x64x64"}, 2, "--shapes-only"},
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "--tokens", "262144"}, 5, "at most 262144"},
        Wrong{{"trace", "qwen3.5-2b", "--shapes-only", "--save", "x"}, 2, "--save"},
        Wrong{{"trace", "no-such-model", "--shapes-only"}, 2, "sightline models"},
        Wrong{{"diff", "no-such-file", "other"}, 3, "no-such-file"},
        Wrong{{"diff", data("models/dense/config.json"), data("models/dense/config.json")},
              4,
              "config.json"},
        Wrong{{"diff", data("models/dense/model.safetensors"),
               data("models/dense/cases/image.safetensors")},
              3,
              "keys in common"}));

TEST_F(Asked, WrongOptionsAreOneLine) {
  const auto expect = [&](const Finished& done, int code, const char* says) {
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_NE(done.err.find(says), std::string::npos) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  };
  expect(ask("trace", {"--select", "x"}), 2, "--save");
  expect(ask("trace", {"--save", folder.path("c"), "--select", "no*such"}), 2, "no*such");
  EXPECT_FALSE(std::filesystem::exists(folder.path("c")));
  expect(ask("trace", {"--save", folder.path("missing/c")}), 3, "missing/c");
  expect(sightline({"merge", folder.path(), "hello"}), 2, "picture");
}

}  // namespace
}  // namespace sightline::e2e
