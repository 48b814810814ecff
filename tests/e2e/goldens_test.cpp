// The commands against the reference's own results: tokenizer, chat templates, pictures, prompts.
// Protects: what people see through the binary is what the reference computes, byte for byte.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "binary.hpp"

namespace sightline::e2e {
namespace {

/// A folder with only the files that the command under test needs.
void link_only(const Folder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) folder.link("processor/" + name, name);
}

TEST(Goldens, TokenizeBothWays) {
  const Folder model;
  link_only(model, {"tokenizer.json"});
  const io::Json cases = io::read_json_file(data("text/tokenizer.json"));
  std::string texts, ids;
  for (const io::Json& c : cases.as_array()) {
    texts += io::to_json_text(io::Json::Object{{"text", *c.find("text")}}) + "\n";
    ids += io::to_json_text(io::Json::Object{{"ids", *c.find("ids")}}) + "\n";
  }
  const auto encoded = sightline({"tokenize", model.path(), "--jsonl"}, {texts});
  const auto decoded = sightline({"tokenize", model.path(), "--decode"}, {ids});
  const auto skipped = sightline({"tokenize", model.path(), "--decode", "--skip-special"}, {ids});
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  ASSERT_EQ(encoded.lines().size(), cases.as_array().size());
  ASSERT_EQ(decoded.lines().size(), cases.as_array().size());
  ASSERT_EQ(skipped.lines().size(), cases.as_array().size());
  for (std::size_t i = 0; i < cases.as_array().size(); ++i) {
    const io::Json& c = cases.as_array()[i];
    const io::Json line = io::parse_json(encoded.lines()[i], "line");
    EXPECT_EQ(*line.find("ids"), *c.find("ids")) << io::to_json_text(*c.find("text"));
    EXPECT_EQ(line.find("pieces")->as_array().size(), c.find("ids")->as_array().size());
    EXPECT_EQ(*io::parse_json(decoded.lines()[i], "line").find("text"), *c.find("decoded"));
    EXPECT_EQ(*io::parse_json(skipped.lines()[i], "line").find("text"),
              *c.find("decoded_skip_special"));
  }
}

TEST(Goldens, TokenizeOneTextExactly) {
  const auto one = sightline({"tokenize", data("processor")}, {"color?"});
  EXPECT_EQ(one.out, "{\"ids\": [3313, 30], \"pieces\": [\"color\", \"?\"]}\n");
  const auto control = sightline({"tokenize", data("processor")}, {"<|im_end|>"});
  EXPECT_EQ(control.json().find("ids")->as_array().size(), 1U);
  const auto plain = sightline({"tokenize", data("processor"), "--plain"}, {"<|im_end|>"});
  EXPECT_GT(plain.json().find("ids")->as_array().size(), 1U);
}

std::vector<std::string> render_arguments(const io::Json& c, const Folder& folder) {
  const std::string messages = folder.write("messages.json", io::to_json_text(*c.find("messages")));
  std::vector<std::string> arguments{
      "render",     data("processor"),
      "--messages", messages,
      "--template", data("processor/" + c.find("template")->as_string()),
      "--kwargs",   io::to_json_text(*c.find("kwargs"))};
  if (!c.find("tools")->is_null()) {
    arguments.emplace_back("--tools");
    arguments.push_back(folder.write("tools.json", io::to_json_text(*c.find("tools"))));
  }
  if (!c.find("add_generation_prompt")->as_bool()) {
    arguments.emplace_back("--no-generation-prompt");
  }
  return arguments;
}

TEST(Goldens, RenderEveryTemplateCase) {
  const io::Json cases = io::read_json_file(data("text/chat_template.json"));
  const Folder folder;
  for (const io::Json& c : cases.as_array()) {
    std::vector<std::string> arguments = render_arguments(c, folder);
    const std::string name = c.find("name")->as_string() + " " + c.find("template")->as_string();
    if (const io::Json* text = c.find("text")) {
      const Finished done = sightline(arguments);
      ASSERT_EQ(done.code, 0) << name << done.err;
      EXPECT_EQ(*done.json().find("text"), *text) << name;
      continue;
    }
    arguments.emplace_back("--json");
    const Finished refused = sightline(arguments);
    EXPECT_EQ(refused.code, 1) << name;
    const io::Json document = refused.json();
    EXPECT_EQ(*document.find("error")->find("message"), *c.find("error")) << name;
  }
}

TEST(Goldens, RenderNeedsOnlyTheTemplate) {
  const Folder model;
  link_only(model, {"chat_template.jinja"});
  const std::string messages = R"({"messages": [{"role": "user", "content": "Hi"}]})";
  const auto done = sightline({"render", model.path(), "--messages", "-"}, {messages});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(done.json().find("text")->as_string().starts_with("<|im_start|>user\nHi<|im_end|>"));
}

TEST(Goldens, PixelsOfEveryPicture) {
  const Folder model;
  link_only(model, {"preprocessor_config.json"});
  const io::Json index = io::read_json_file(data("images/index.json"));
  std::vector<std::string> arguments{"pixels", model.path(), "--out", model.path("out")};
  for (const io::Json& c : index.find("cases")->as_array()) {
    arguments.push_back(data("images/" + c.find("file")->as_string()));
  }
  const Finished done = sightline(arguments);
  ASSERT_EQ(done.code, 0) << done.err;
  const auto lines = done.lines();
  ASSERT_EQ(lines.size(), index.find("cases")->as_array().size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const io::Json& c = index.find("cases")->as_array()[i];
    const io::Json line = io::parse_json(lines[i], "line");
    for (const char* key :
         {"decoded", "decoded_rgb_sha256", "resized", "resized_rgb_sha256", "grid", "tokens"}) {
      EXPECT_EQ(*line.find(key), *c.find(key)) << lines[i] << key;
    }
  }
  // The written picture is the resized one: reading it again changes nothing.
  const auto again = sightline({"pixels", model.path(), model.path("out/red-64.png.png")});
  EXPECT_EQ(*again.json().find("decoded_rgb_sha256"),
            *io::parse_json(lines[0], "line").find("resized_rgb_sha256"));
}

TEST(Goldens, PromptsWithPictures) {
  const Folder folder;
  link_only(folder, {"tokenizer.json", "chat_template.jinja", "preprocessor_config.json"});
  const io::Json cases = io::read_json_file(data("text/processor_images.json"));
  int number = 0;
  for (const io::Json& c : cases.as_array()) {
    io::Json content = io::Json::array(), grids = io::Json::array();
    for (const io::Json& size : c.find("images")->as_array()) {
      const std::string name = fmt::format("{}.png", number++);
      write_picture(folder, name, size.as_array()[0].as_int(), size.as_array()[1].as_int());
      content.push(io::Json::Object{{"type", "image"}, {"image", name}});
      const std::size_t i = content.as_array().size() / 2;
      content.push(io::Json::Object{{"type", "text"}, {"text", fmt::format("picture {}. ", i)}});
    }
    const io::Json messages =
        io::Json::Array{io::Json::Object{{"role", "user"}, {"content", content}}};
    const std::string file = folder.write("messages.json", io::to_json_text(messages));
    const Finished done = sightline({"prompt", folder.path(), "--messages", file, "--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    const io::Json json = done.json();
    EXPECT_EQ(*json.find("ids"), *c.find("ids"));
    for (const io::Json& run : json.find("runs")->as_array()) grids.push(*run.find("grid"));
    EXPECT_EQ(grids, *c.find("grid"));
  }
}

// Specification 4.5 and 6.2: the worked example.
TEST(Goldens, PositionsOfTheWorkedExample) {
  const std::string picture = data("images/red-64.png");
  const Finished done = sightline({"prompt", data("processor"), "-i", picture, "color?", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json json = done.json();
  EXPECT_EQ(json.find("tokens")->as_int(), 80);
  EXPECT_EQ(json.find("rope_delta")->as_int(), -56);
  EXPECT_EQ(json.find("next_position")->as_int(), 24);
  const io::Json& run = json.find("runs")->as_array()[0];
  EXPECT_EQ(run.find("first")->as_int(), 4);
  EXPECT_EQ(run.find("tokens")->as_int(), 64);
  EXPECT_EQ(run.find("part")->as_string(), "messages[0].content[0]");
  const auto position = [&](std::size_t row) {
    std::vector<std::int64_t> axes;
    for (const io::Json& axis : json.find("positions")->as_array()) {
      axes.push_back(axis.as_array()[row].as_int());
    }
    return axes;
  };
  EXPECT_EQ(position(4), (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_EQ(position(67), (std::vector<std::int64_t>{4, 11, 11}));
  EXPECT_EQ(position(68), (std::vector<std::int64_t>{12, 12, 12}));
  EXPECT_EQ(position(79), (std::vector<std::int64_t>{23, 23, 23}));
}

TEST(Goldens, PromptTableFitsAndFoldsPlaceholders) {
  const Finished table = sightline({"prompt", data("processor"), "-i", data("images/red-64.png"),
                                    std::string(300, 'x') + "<|image_pad|>\nline"});
  ASSERT_EQ(table.code, 0) << table.err;
  for (const std::string& line : table.lines()) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_NE(table.out.find("picture, 64 placeholders"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("messages[0].content[1].text"), std::string::npos) << table.out;
}

class ParityCases : public testing::TestWithParam<std::string> {};

TEST_P(ParityCases, HoldInF32) {
  const std::string model = data("models/" + GetParam());
  std::vector<std::string> arguments{"parity", model};
  for (const char* name : {"text", "text-long", "image", "two-images"}) {
    arguments.push_back(model + "/cases/" + name + ".safetensors");
  }
  const Finished done = sightline(arguments);
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("greedy"), std::string::npos);
  EXPECT_NE(done.out.find("ok     module"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ParityCases, testing::Values("dense", "dense-wide"));

// With tile registers (their plain twin): in bf16 within what the reference's own run in bfloat16
// allows, and further from float32 than without them; in f32 nothing is rounded.
TEST(ParityCommand, TileProductsHoldInBothPrecisions) {
  const std::string model = data("models/dense-wide");
  const auto error = [&](const std::string& isa, const std::string& precision) {
    const Finished done = sightline({"parity", model, model + "/cases/image.safetensors", "--isa",
                                     isa, "--precision", precision, "--json"});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    const io::Json report = done.json();
    for (const io::Json& check : report.find("checks")->as_array()) {
      if (check.find("kind")->as_string() == "logits") return check.find("value")->as_double();
    }
    return -1.0;
  };
  const double tiles = error("amx-twin", "bf16"), plain = error("reference", "bf16");
  EXPECT_GT(plain, 0);
  EXPECT_GT(tiles, 2 * plain);
  EXPECT_LT(error("amx-twin", "f32"), plain);
}

TEST(ParityCommand, FailsWithExitCodeOne) {
  const std::string model = data("models/dense");
  const Finished done = sightline(
      {"parity", model, model + "/cases/image.safetensors", "--tolerance", "0", "--json"});
  EXPECT_EQ(done.code, 1) << done.err;
  EXPECT_FALSE(done.json().find("ok")->as_bool());
}

}  // namespace
}  // namespace sightline::e2e
