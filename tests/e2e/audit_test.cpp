// The commands about models: models, inspect, graph, source, plan, synth. Protects: published sizes
// need no files; a made-up checkpoint can be inspected and asked; tables fit; one clear line for
// what cannot be done.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "binary.hpp"
#include "cli/table.hpp"
#include "io/file.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

void expect_fits(const Finished& done) {
  EXPECT_EQ(done.code, 0) << done.err;
  for (const std::string& line : done.lines()) EXPECT_LE(cli::display_width(line), 100U) << line;
  EXPECT_EQ(done.out.find('\x1b'), std::string::npos);
}

TEST(Models, ListEverySizeWithSources) {
  const Finished text = sightline({"models"});
  expect_fits(text);
  EXPECT_NE(text.out.find("403,397,928,944"), std::string::npos);
  const io::Json json = sightline({"models", "--json"}).json();
  const auto& models = json.find("models")->as_array();
  ASSERT_EQ(models.size(), 8U);
  for (const io::Json& model : models) {
    EXPECT_TRUE(model.find("parameters")->find("source")->is_string());
    for (const io::Json& figure : model.find("figures")->as_array()) {
      EXPECT_TRUE(figure.find("source")->is_string());
      EXPECT_NE(figure.find("value"), nullptr);
    }
  }
  const io::Json config = sightline({"models", "--config", "qwen3.5-2b"}).json();
  EXPECT_EQ(config.find("model_type")->as_string(), "qwen3_5");
  EXPECT_EQ(sightline({"models", "--config", "nothing"}).code, 2);
}

TEST(Inspect, APublishedSizeIsTheReferences) {
  // The tree is torch's to the byte, wide lines included; what stands around it fits.
  const std::string tree = io::read_file(data("audit/qwen3.5-2b.txt"));
  for (const std::string& line : sightline({"inspect", "qwen3.5-2b"}).lines()) {
    if (tree.find(line + "\n") == std::string::npos) {
      EXPECT_LE(cli::display_width(line), 100U) << line;
    }
  }
  const io::Json json = sightline({"inspect", "qwen3.5-2b", "--json"}).json();
  EXPECT_EQ(json.find("tree")->as_string(), io::read_file(data("audit/qwen3.5-2b.txt")));
  EXPECT_FALSE(json.find("same_object")->as_bool());
  const io::Json& report = *json.find("report");
  EXPECT_EQ(report.find("config_class")->as_string(), "Qwen3_5Config");
  EXPECT_EQ(report.find("processor_class")->as_string(), "Qwen3VLProcessor");
  EXPECT_TRUE(report.find("tied_head")->as_bool());
  const auto& children = json.find("children")->as_array();
  ASSERT_EQ(children.size(), 2U);
  EXPECT_EQ(children[0].find("name")->as_string(), "visual");
  EXPECT_EQ(children[0].find("parameters")->as_int(), 331'416'576);
  EXPECT_EQ(children[1].find("parameters")->as_int(), 1'881'825'088);
  const Finished part = sightline({"inspect", "qwen3.5-2b", "--module", "model.visual.merger"});
  EXPECT_TRUE(part.out.starts_with("Qwen3_5VisionPatchMerger(\n")) << part.out;
  EXPECT_NE(part.out.find("25,174,016"), std::string::npos);
}

TEST(Plan, AClipHasThreeNumbers) {
  for (const char* size : {"64", "64x64", "5x64x", "5x0x64", "1x64x64", "x64x64"}) {
    const Finished done = sightline({"plan", "qwen3.5-2b", "--video", size});
    EXPECT_EQ(done.code, 2) << done.err;
    EXPECT_NE(done.err.find("--video: expected FRAMESxWIDTHxHEIGHT"), std::string::npos)
        << done.err;
    EXPECT_NE(done.err.find(std::string("found '") + size + "'"), std::string::npos) << done.err;
  }
}

TEST(Inspect, WrongQuestionsGetOneLine) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"inspect", "qwen3.5-2b", "--module", "model.nothing"},
                                             {"inspect", "qwen3.5-2b", "--check"},
                                             {"inspect", "qwen3.5-3b"},
                                             {"source", "Nothing"},
                                             {"plan", "qwen3.5-2b", "--image", "64"},
                                             {"plan", "qwen3.5-2b", "--video", "1x64x64"},
                                             {"synth", "qwen3.5-2b"},
                                             {"graph", "qwen3.5-2b", "--format", "png"}}) {
    const Finished done = sightline(arguments);
    EXPECT_EQ(done.code, 2) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

TEST(Plan, CountsAndMeasures) {
  expect_fits(sightline({"plan", "qwen3.5-9b", "--image", "1920x1080", "--video", "4x640x480"}));
  const io::Json json = sightline({"plan", "qwen3.5-2b", "--image", "64x64", "--json"}).json();
  EXPECT_EQ(json.find("visual_tokens")->as_int(), 64);
  EXPECT_EQ(json.find("prompt_tokens")->as_int(), 80);
  EXPECT_EQ(json.find("stages")->as_array().size(), 3U);
}

TEST(Graph, WritesADrawing) {
  const Folder folder;
  const std::string file = folder.path("graph.svg");
  EXPECT_EQ(sightline({"graph", "qwen3.5-2b", "-o", file}).code, 0);
  EXPECT_TRUE(io::read_file(file).ends_with("</svg>\n"));
  EXPECT_EQ(sightline({"graph", "qwen3.5-2b"}).out, io::read_file(file));
  const io::Json json = sightline({"graph", "qwen3.5-2b", "--json"}).json();
  EXPECT_EQ(json.find("nodes")->as_array().size(), 10U);
  EXPECT_EQ(json.find("edges")->as_array().size(), 9U);
}

// A call's number in `source` is its number in `trace --level all`.
TEST(Source, AgreesWithTheTrace) {
  const io::Json source = sightline({"source", "model.visual.merger", "--json"}).json();
  const io::Json trace =
      sightline({"trace", "qwen3.5-2b", "--shapes-only", "--level", "all", "--json"}).json();
  const auto& events = trace.find("events")->as_array();
  std::size_t checked = 0;
  for (const io::Json& line : source.find("functions")->as_array()[0].find("lines")->as_array()) {
    for (const io::Json& call : line.find("calls")->as_array()) {
      const io::Json& event = events[static_cast<std::size_t>(call.as_int() - 1)];
      EXPECT_EQ(event.find("i")->as_int(), call.as_int());
      EXPECT_EQ(event.find("caller")->find("line")->as_int(), line.find("line")->as_int());
      ++checked;
    }
  }
  EXPECT_EQ(checked, 4U);
}

// The same of a run: the document that `trace` wrote decides, if this build wrote it.
TEST(Source, MarksTheCallsOfAGivenTrace) {
  const Folder model;
  write_checkpoint(model);
  const auto trace = [&](const char* level) {
    const Finished done =
        sightline({"trace", model.path(), "-i", data("images/red-64.png"), "-i",
                   data("images/red-64.png"), "color?", "--level", level, "--json"});
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  const std::string text = trace("all"), file = model.write("run.json", text);
  const io::Json document = io::parse_json(text, "trace");
  const auto& events = document.find("events")->as_array();
  const Finished done = sightline({"source", "Qwen3_5TextModel", "--trace", file, "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  std::vector<std::string> names;
  const io::Json source = done.json();
  for (const io::Json& function : source.find("functions")->as_array()) {
    for (const io::Json& line : function.find("lines")->as_array()) {
      for (const io::Json& call : line.find("calls")->as_array()) {
        const io::Json& event = events[static_cast<std::size_t>(call.as_int() - 1)];
        EXPECT_EQ(event.find("caller")->find("line")->as_int(), line.find("line")->as_int());
        names.push_back(event.find("name")->as_string());
      }
    }
  }
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const std::string& name) {
                            return name.starts_with("model.language_model.layers.");
                          }),
            4);
  // What cannot be explained is refused: another level, another build, another file, other options.
  std::string other = text;
  other.replace(other.find("\"sources_sha256\":\"") + 18, 4, "0000");
  for (const auto& [name, content, says] :
       std::vector<std::array<std::string, 3>>{{"stages.json", trace("stages"), "--level all"},
                                               {"other.json", other, "other sources"},
                                               {"plain.json", "{}", "--level all"}}) {
    const Finished wrong =
        sightline({"source", "Qwen3_5TextModel", "--trace", model.write(name, content)});
    EXPECT_NE(wrong.code, 0);
    EXPECT_NE(wrong.err.find(says), std::string::npos) << wrong.err;
    EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1) << wrong.err;
  }
  EXPECT_EQ(sightline({"source", "Linear", "--trace", file, "--model", "demo"}).code, 2);
}

class Synth : public testing::Test {
 protected:
  void SetUp() override { write_checkpoint(model_); }
  Folder model_, out_;
};

TEST_F(Synth, AnswersAndHasNothingOdd) {
  const std::string made = out_.path("made");
  const Finished synth = sightline({"synth", model_.path(), made, "--seed", "5", "--json"});
  ASSERT_EQ(synth.code, 0) << synth.err;
  EXPECT_EQ(synth.json().find("seed")->as_string(), "5");
  const Finished check = sightline({"inspect", made, "--check"});
  EXPECT_EQ(check.code, 0) << check.out;
  const std::vector<std::string> question{"run",    made,           "-i", data("images/red-64.png"),
                                          "color?", "--max-tokens", "4",  "--no-thinking"};
  const Finished answer = sightline(question);
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(sightline(question).out, answer.out);
  // Only --tokenizer or a directory gives tokenizer files.
  EXPECT_TRUE(fs::exists(fs::path(made) / "tokenizer.json"));
  EXPECT_NE(sightline({"synth", model_.path(), made}).code, 0);
}

// MODEL, OUT or OUT alone: the message names the one that is missing.
TEST_F(Synth, SaysWhatIsMissing) {
  const std::string config = data("models/dense/config.json");
  const auto error = [](const std::vector<std::string>& arguments) {
    const Finished done = sightline(arguments);
    EXPECT_EQ(done.code, 2) << done.err;
    return done.err;
  };
  EXPECT_NE(error({"synth"}).find("synth: MODEL: expected"), std::string::npos);
  EXPECT_NE(error({"synth", "qwen3.5-2b"}).find("synth: OUT: expected"), std::string::npos);
  EXPECT_NE(error({"synth", "--config", config}).find("synth: OUT: expected"), std::string::npos);
  EXPECT_NE(error({"synth", "--config", config, "a", "b"}).find("expected OUT alone"),
            std::string::npos);
}

TEST_F(Synth, TakesAConfigurationAndCutsIt) {
  const std::string made = out_.path("cut");
  const Finished synth = sightline({"synth", "--config", data("models/dense/config.json"), made,
                                    "--layers", "2", "--tokenizer", model_.path()});
  ASSERT_EQ(synth.code, 0) << synth.err;
  const io::Json json = sightline({"inspect", made, "--json"}).json();
  const std::string tree = json.find("tree")->as_string();
  EXPECT_NE(tree.find("(0-1): 2 x Qwen3_5DecoderLayer("), std::string::npos) << tree;
  EXPECT_NE(sightline({"synth", "--config", data("models/dense/config.json"), out_.path("x"),
                       "--layers", "9"})
                .err.find("--layers: expected at most 4"),
            std::string::npos);
}

TEST_F(Synth, InterruptedLeavesNothing) {
  Running running({"synth", "qwen3.5-0.8b", out_.path("big")});
  for (int i = 0; i < 500 && fs::is_empty(out_.path()); ++i) usleep(10'000);
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(), 130);
  EXPECT_TRUE(fs::is_empty(out_.path()));
}

}  // namespace
}  // namespace sightline::e2e
