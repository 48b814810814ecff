// Bad input through the binary. Protects: each case is one clear line on standard error with a
// stable code and the documented exit code; nothing on standard output, nothing half-written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "binary.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

void expect_error(const Finished& done, int code, const std::string& name,
                  const std::vector<std::string>& parts = {}) {
  EXPECT_EQ(done.code, code) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_TRUE(done.err.starts_with("sightline: " + name + ": ")) << done.err;
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  for (const std::string& part : parts) {
    EXPECT_NE(done.err.find(part), std::string::npos) << part << " in " << done.err;
  }
}

/// The bytes of a safetensors file: length, header, data.
std::string safetensors(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data_bytes, '\0');
}

/// The test checkpoint with one file replaced.
class Checkpoint : public testing::Test {
 protected:
  void SetUp() override { write_checkpoint(folder_); }
  /// Runs a question after `file` got this text.
  Finished ask_with(const std::string& file, std::string_view text) {
    fs::remove(folder_.path(file));
    folder_.write(file, text);
    return ask();
  }
  Finished ask(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"run", folder_.path(), "Hello", "--max-tokens", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sightline(arguments);
  }
  std::string config_with(const std::string& from, const std::string& to) {
    std::string text = io::read_file(data("models/dense/config.json"));
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  Folder folder_;
};

TEST_F(Checkpoint, TruncatedSafetensorsHeader) {
  expect_error(ask_with("model.safetensors", "\x10"), 4, "invalid_safetensors",
               {"model.safetensors"});
  expect_error(ask_with("model.safetensors", safetensors("{\"a\"", 0)), 4, "invalid_safetensors");
}

TEST_F(Checkpoint, OversizedSafetensorsHeader) {
  expect_error(ask_with("model.safetensors", std::string(8, '\x7f') + "{}"), 4,
               "invalid_safetensors", {"model.safetensors"});
}

TEST_F(Checkpoint, OverlappingOffsets) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})";
  expect_error(ask_with("model.safetensors", safetensors(header, 6)), 4, "invalid_safetensors",
               {"model.safetensors"});
}

TEST_F(Checkpoint, MissingShard) {
  fs::remove(folder_.path("model.safetensors"));
  const std::string index = R"({"weight_map": {"a": "model-00001-of-00002.safetensors"}})";
  expect_error(ask_with("model.safetensors.index.json", index), 4, "missing_shard",
               {"model-00001-of-00002.safetensors"});
}

TEST_F(Checkpoint, TensorThatItsShardLacks) {
  const std::string index = R"({"weight_map": {"no.such.tensor": "model.safetensors"}})";
  const Finished done = ask_with("model.safetensors.index.json", index);
  EXPECT_EQ(done.code, 4) << done.err;
  EXPECT_EQ(done.out, "");
}

TEST_F(Checkpoint, NoWeights) {
  fs::remove(folder_.path("model.safetensors"));
  expect_error(ask(), 4, "missing_file", {"model.safetensors"});
}

TEST_F(Checkpoint, WrongShape) {
  expect_error(ask_with("config.json",
                        config_with("\"intermediate_size\": 160", "\"intermediate_size\": 161")),
               4, "tensor_shape", {"160", "161", "model.safetensors"});
}

TEST_F(Checkpoint, NanInConfig) {
  const Finished done =
      ask_with("config.json", config_with("\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": NaN"));
  expect_error(done, 4, "invalid_config", {"config.json"});
}

TEST_F(Checkpoint, APlaceholderThatIsNoAddedToken) {
  std::string text = io::read_file(folder_.path("config.json"));
  const std::string key = "\"image_token_id\": ";
  const std::size_t at = text.find(key);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, text.find_first_of(",\n", at) - at, key + "1");
  fs::remove(folder_.path("config.json"));
  folder_.write("config.json", text);
  EXPECT_EQ(ask().code, 0);
  expect_error(ask({"-i", data("images/red-64.png")}), 4, "invalid_config",
               {"image_token_id", "<|image_pad|>", "found 1"});
}

TEST_F(Checkpoint, UnknownModelType) {
  expect_error(ask_with("config.json",
                        config_with("\"model_type\": \"qwen3_5\"", "\"model_type\": \"llama\"")),
               4, "unsupported_model", {"llama", "qwen3_5"});
}

TEST_F(Checkpoint, BrokenTokenizer) {
  expect_error(ask_with("tokenizer.json", "{\"model\": 1}"), 4, "invalid_tokenizer",
               {"tokenizer.json"});
}

TEST_F(Checkpoint, BrokenSmallFiles) {
  expect_error(ask_with("preprocessor_config.json", "{"), 4, "invalid_processor",
               {"preprocessor_config.json", "byte 1"});
  fs::remove(folder_.path("preprocessor_config.json"));
  folder_.link("processor/preprocessor_config.json", "preprocessor_config.json");
  expect_error(ask_with("generation_config.json", "{\"do_sample\": true, \"temperature\": -1}"), 4,
               "invalid_config", {"generation_config.json: temperature"});
  fs::remove(folder_.path("generation_config.json"));
  expect_error(ask_with("chat_template.jinja", ""), 3, "template_error", {"empty prompt"});
}

TEST_F(Checkpoint, WeightsThatAreALinkToNothing) {
  fs::remove(folder_.path("model.safetensors"));
  fs::create_symlink("../blobs/gone", folder_.path("model.safetensors"));
  expect_error(ask(), 4, "missing_file", {"model.safetensors (a link to nothing)"});
}

// Known from config.json: before the picture is opened, and with or without a processor file.
TEST_F(Checkpoint, APictureForATextModel) {
  std::string config = io::read_file(data("models/dense/config.json"));
  config.replace(config.find("\"vision_config\""), 15, "\"unused_config\"");
  for (const char* command : {"run", "prompt"}) {
    fs::remove(folder_.path("config.json"));
    folder_.write("config.json", config);
    expect_error(sightline({command, folder_.path(), "-i", "none.png", "Hello"}),
                 std::string_view(command) == "run" ? 4 : 3,
                 std::string_view(command) == "run" ? "unexpected_tensor" : "no_vision_tower");
  }
  fs::remove(folder_.path("preprocessor_config.json"));
  expect_error(sightline({"prompt", folder_.path(), "-i", "none.png", "Hello"}), 3,
               "no_vision_tower", {"vision_config"});
}

TEST_F(Checkpoint, PromptLongerThanTheContext) {
  const Finished done = ask({"--ctx", "64", "-i", data("images/shapes-640x480.png")});
  expect_error(done, 5, "context_length_exceeded",
               {"300", "64", "--ctx", "shapes-640x480.png", "--max-pixels"});
  EXPECT_EQ(done.err.find("video"), std::string::npos) << done.err;
  // What the prompt does not hold cannot make it shorter.
  expect_error(ask({"--ctx", "8"}), 5, "context_length_exceeded",
               {": use a larger --ctx or a shorter text\n"});
}

TEST_F(Checkpoint, TextsThatAreNotUtf8) {
  for (const char* option : {"--stop", "--system"})
    expect_error(ask({option, "caf\xE9"}), 3, "invalid_utf8", {"0xE9 at offset 3"});
}

TEST_F(Checkpoint, EmptyFileNames) {
  for (const char* option : {"--image=", "--tools="})
    expect_error(ask({option}), 3, "file_not_found", {"''", "an empty one"});
  expect_error(sightline({"graph", folder_.path(), "--out="}), 3, "file_unwritable",
               {"''", "an empty one"});
}

TEST_F(Checkpoint, ContextBeyondTheModel) {
  expect_error(ask({"--ctx", "5000"}), 2, "invalid_option", {"4096", "5000"});
}

TEST_F(Checkpoint, MessagesThatAreNone) {
  const auto with = [&](const std::string& text) {
    const std::string file = folder_.write("messages.json", text);
    return sightline({"run", folder_.path(), "--messages", file});
  };
  expect_error(with("[{\"role\": \"user\", \"content\": \"a\"}"), 3, "invalid_json",
               {"messages.json", "byte"});
  expect_error(with("\"hello\""), 3, "invalid_messages", {"string"});
  expect_error(with("[{\"role\": \"user\", \"content\": [{\"type\": \"audio\"}]}]"), 3,
               "invalid_messages", {"messages[0].content[0].type", "audio"});
  expect_error(with("[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": null}]}]"),
               3, "invalid_messages", {"messages[0].content[0].text"});
  expect_error(with("[{\"role\": \"user\", \"content\": [{\"image\": \"http://x/a.png\"}]}]"), 3,
               "unsupported_content", {"http"});
  expect_error(with("[{\"role\": \"user\", \"content\": [{\"image\": \"a.png\", \"max\": 1}]}]"), 3,
               "invalid_messages", {"max"});
  expect_error(with("[{\"role\": \"user\", \"content\": [{\"image\": \"none.png\"}]}]"), 3,
               "file_not_found", {"none.png"});
  expect_error(with("[{\"role\": \"user\", \"content\": \"a\"}, "
                    "{\"role\": \"system\", \"content\": \"b\"}]"),
               3, "template_error", {"System message must be at the beginning."});
  expect_error(with("[]"), 3, "template_error", {"No messages provided."});
  expect_error(with("[{\"role\": \"user\", \"content\": [{\"image\": \"" +
                    data("images/red-64.png") + "\", \"max_pixels\": 1}]}]"),
               3, "invalid_messages", {"messages[0].content[0]", "65536 and 1"});
  const std::string tools = folder_.write("tools.json", "{}");
  expect_error(ask({"--tools", tools}), 3, "invalid_messages", {"tools.json"});
}

TEST(BadPictures, EachWithItsCode) {
  const Folder folder;
  const std::string png = io::read_file(data("images/red-64.png"));
  const auto pixels = [&](const std::string& file) {
    return sightline({"pixels", data("processor"), file});
  };
  const auto stored = [&](const std::string& bytes) { return folder.write("picture", bytes); };
  expect_error(pixels(stored("")), 3, "invalid_image", {"picture"});
  expect_error(pixels(stored(png.substr(0, png.size() - 10))), 3, "invalid_image");
  expect_error(pixels(stored("<svg></svg>")), 3, "unsupported_image_format", {"PNG", "JPEG"});
  expect_error(pixels(folder.path("none.png")), 3, "file_not_found", {"none.png"});
  expect_error(pixels(folder.path()), 3, "file_unreadable");
  expect_error(pixels(data("image_cases/bomb-20000x20000.png")), 5, "image_too_large",
               {"20000", "--max-image-pixels"});
  expect_error(pixels(write_picture(folder, "wide.png", 1093, 5)), 3, "image_aspect_ratio",
               {"1093", "5", "200"});
  EXPECT_EQ(pixels(write_picture(folder, "limit.png", 1000, 5)).code, 0);
}

// Limits of a caller, not of the file: nothing of that size may be allocated.
TEST(BadPictures, TargetsBeyondAnyContext) {
  expect_error(sightline({"pixels", data("processor"), data("images/red-64.png"), "--min-pixels",
                          "1000000000000", "--max-pixels", "1000000000000"}),
               5, "image_too_large", {"1000000x1000000", "--min-pixels"});
}

TEST(BadPictures, PixelsNeverWritesOverItsInput) {
  const Folder folder;
  const std::string first = write_picture(folder, "a", 8, 8);
  const std::string second = write_picture(folder, "a.png", 9, 9);
  const std::string before = io::read_file(second);
  expect_error(sightline({"pixels", data("processor"), first, second, "--out", folder.path()}), 2,
               "usage", {"a.png"});
  EXPECT_EQ(io::read_file(second), before);
}

TEST(BadPictures, OneDoesNotStopTheOthers) {
  const Folder folder;
  const Finished done =
      sightline({"pixels", data("processor"), folder.path("none.png"), data("images/red-64.png")});
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.lines().size(), 1U);
}

TEST(BadInput, TokenizerLines) {
  const auto tokenize = [](const char* option, const std::string& input) {
    return sightline({"tokenize", data("processor"), option}, {input});
  };
  expect_error(tokenize("--jsonl", "{\"text\": 1}\n"), 3, "invalid_json", {"line 1"});
  expect_error(tokenize("--jsonl", "{\"text\": \"a\", \"b\": 1}\n"), 3, "invalid_json");
  expect_error(tokenize("--jsonl", "{\"text\": \n"), 3, "invalid_json", {"line 1", "byte"});
  expect_error(tokenize("--decode", "{\"ids\": [300000]}\n"), 3, "invalid_token_id",
               {"ids[0]", "300000"});
  expect_error(tokenize("--plain", "a\xff"), 3, "invalid_utf8", {"byte"});
}

TEST(Models, TheErrorListsWhatWasTried) {
  const Finished done =
      sightline({"tokenize", "nobody/nothing"}, {"", {{"HF_HUB_CACHE", "/no/such/cache"}}});
  expect_error(done, 2, "model_not_found",
               {"nobody/nothing", "/no/such/cache/models--nobody--nothing", "'demo'"});
  expect_error(sightline({"tokenize", "nobody/nothing"}, {"",
                                                          {{"HF_HUB_CACHE", std::nullopt},
                                                           {"HF_HOME", std::nullopt},
                                                           {"XDG_CACHE_HOME", std::nullopt},
                                                           {"HOME", std::nullopt}}}),
               2, "model_not_found", {"HF_HOME"});
}

}  // namespace
}  // namespace sightline::e2e
