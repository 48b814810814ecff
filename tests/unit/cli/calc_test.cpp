// `sightline calc` without a process: every golden case with a height and width, options named as
// the inputs. Protects: the command's options and keys, messages in the form asked for, and that
// the calculator agrees with the engine's own tables and positions.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "audit/family.hpp"
#include "calc/models.hpp"
#include "calc/positions.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "model/positions.hpp"

namespace sightline::cli {
namespace {

using io::Json;

/// What a stream received.
class Caught {
 public:
  explicit Caught(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~Caught() { close(fd_); }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::string text() const {
    std::string text(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  int fd_;
};

struct Ran {
  int code;
  std::string out, err;
};

Ran calc(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "calc");
  const Caught out("out"), err("err");
  std::vector<Command> commands;
  commands.push_back(calc_command());
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  Output output(out.fd(), err.fd(), json);
  const int code = run_command_line(arguments, commands, output);
  return {code, out.text(), err.text()};
}

std::string option(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

std::vector<std::string> arguments_of(const Json& input) {
  std::vector<std::string> arguments;
  for (const auto& [key, value] : input.as_object()) {
    arguments.push_back(option(key));
    arguments.push_back(value.is_string() ? value.as_string() : io::to_json_text(value));
  }
  return arguments;
}

TEST(Calc, GoldenCasesThroughTheCommand) {
  const Json cases = io::read_json_file(SIGHTLINE_TEST_DATA "/calc/cases.json");
  int equal = 0, errors = 0;
  for (const Json& c : cases.as_array()) {
    const Json& input = *c.find("input");
    if (input.find("height") == nullptr) continue;
    std::vector<std::string> arguments = arguments_of(input);
    const Ran people = calc(arguments);
    arguments.emplace_back("--json");
    const Ran ran = calc(arguments);
    const std::string where = io::to_json_text(input);
    const Json answer = io::parse_json(ran.out, "answer");
    EXPECT_EQ(ran.err, "") << where;
    EXPECT_EQ(people.code, ran.code) << where;
    if (const Json* error = c.find("output")->find("error")) {
      ++errors;
      EXPECT_EQ(ran.code, 2) << where;
      const std::string& message = answer.find("error")->find("message")->as_string();
      const bool by_zero = error->find("type")->as_string() == "ZeroDivisionError";
      EXPECT_EQ(message, by_zero ? "--height: expected an integer from 1 to 1000000, found 0"
                                 : error->find("message")->as_string());
      EXPECT_NE(people.err.find(message), std::string::npos) << people.err;
      EXPECT_EQ(std::count(people.err.begin(), people.err.end(), '\n'), 1) << people.err;
      continue;
    }
    EXPECT_EQ(ran.code, 0) << where;
    EXPECT_EQ(io::to_json_text(answer), io::to_json_text(*c.find("output"))) << where;
    EXPECT_NE(people.out.find("visual tokens"), std::string::npos) << people.out;
    ++equal;
  }
  EXPECT_EQ(equal, 89);
  EXPECT_EQ(errors, 11);
}

TEST(Calc, OneBudgetForEitherFamily) {
  const std::vector<std::string> size{"--height", "1080", "--width", "1920", "--json"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), size.begin(), size.end());
    return calc(more);
  };
  EXPECT_EQ(with({"--budget", "256"}).out, with({"--budget-tokens", "256"}).out);
  EXPECT_EQ(with({"--model", "gemma-4-12b", "--budget", "70"}).out,
            with({"--model", "gemma-4-12b", "--soft-token-budget", "70"}).out);
  EXPECT_NE(with({"--budget", "9", "--budget-tokens", "9"}).out.find("given twice"),
            std::string::npos);
  // Errors name what was typed, and options alone.
  EXPECT_NE(with({"--soft-token-budget", "70"})
                .out.find("--soft-token-budget: only Gemma has one; use --budget-tokens or "
                          "--max-pixels"),
            std::string::npos);
}

TEST(Calc, CapIsAFlagToo) {
  const std::vector<std::string> clip{"--mode", "video",   "--frames", "16",    "--height",
                                      "720",    "--width", "1280",     "--json"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), clip.begin(), clip.end());
    return calc(more).out;
  };
  const std::string capped = with({"--cap-pixels-per-frame", "on"});
  EXPECT_EQ(with({"--cap-pixels-per-frame"}), capped);
  EXPECT_EQ(with({"--cap-pixels-per-frame=true"}), capped);
  EXPECT_EQ(with({"--cap-pixels-per-frame", "off"}), with({}));
  EXPECT_NE(with({}), capped);
  EXPECT_NE(with({"--cap-pixels-per-frame", "some"}).find("expected one of on, off"),
            std::string::npos);
}

TEST(Calc, ChoosesFramesOfAClip) {
  const Ran ran = calc({"--mode", "video", "--total-frames", "291", "--native-fps", "30",
                        "--height", "720", "--width", "1280", "--json", "--details"});
  ASSERT_EQ(ran.code, 0) << ran.out;
  const Json answer = io::parse_json(ran.out, "answer");
  EXPECT_EQ(answer.find("temporal_groups")->as_int(), 10);
  const Json& sampling = *answer.find("sampling");
  EXPECT_EQ(sampling.find("count")->as_int(), 19);
  EXPECT_EQ(io::to_json_text(*sampling.find("timestamps")),
            R"(["0.3","1.3","2.4","3.5","4.6","5.6","6.7","7.8","8.9","9.7"])");
  EXPECT_EQ(answer.find("details")->find("budget")->as_int(), 25165824);
  const Ran people = calc({"--mode", "video", "--total-frames", "86400", "--native-fps", "24"});
  EXPECT_NE(people.out.find("\nframes 0 to 86,399: 768 of 86,400; times 2.4 "), std::string::npos)
      << people.out;
  EXPECT_NE(people.out.find("... 3597.6"), std::string::npos) << people.out;
}

TEST(Calc, SaysWhyABudgetIsExceeded) {
  const auto with = [](std::vector<std::string> more, const char* height, const char* width) {
    more.insert(more.end(), {"--height", height, "--width", width});
    return calc(std::move(more)).out;
  };
  EXPECT_NE(with({"--budget", "64"}, "1", "200").find("sides are whole blocks, at least one"),
            std::string::npos);
  EXPECT_NE(with({"--mode", "video", "--frames", "5"}, "2272", "2272")
                .find("does not count every repeated frame"),
            std::string::npos);
  const std::string below = with({"--budget", "16"}, "64", "64");
  EXPECT_NE(below.find("below the smallest size"), std::string::npos);
  EXPECT_EQ(below.find("is exceeded"), std::string::npos);
}

TEST(Calc, MistakesAreNamed) {
  struct Case {
    std::vector<std::string> arguments;
    const char* part;
  };
  const std::vector<Case> cases{
      {{"--height", "1e3"}, "--height: expected an integer, found '1e3'"},
      {{"--height", "+5"}, "--height: expected an integer, found '+5'"},
      {{"--width", " 5"}, "--width: expected an integer, found ' 5'"},
      {{"--width", "5 "}, "--width: expected an integer, found '5 '"},
      {{"--width", ""}, "--width"},
      {{"--width", "1000001"}, "--width: expected an integer from 1 to 1000000, found 1000001"},
      {{"--mode", "film"}, "--mode: expected one of image, video, video-prepared, found 'film'"},
      {{"--model", "gpt"}, "--model: expected one of qwen3.5-0.8b, "},
      {{"--fps", "2"}, "--total-frames: needed"},
      {{"--total-frames", "9"}, "--total-frames: frames are chosen in mode video only"},
      {{"--mode", "video", "--total-frames", "9", "--frames", "2"}, "--frames: follows from"},
      {{"--mode", "video", "--total-frames", "9", "--fps", "0"}, "--fps: expected a number from"},
      {{"--mode", "video", "--total-frames", "90", "--fps", "1", "--num-frames", "3"},
       "mutually exclusive arguments, please use only one!; give one of them"},
      {{"--mode", "video", "--total-frames", "1"}, "t:1 must be larger than temporal_factor:2"},
      {{"--mode", "video", "--model", "gemma-4-31b", "--total-frames", "90", "--fps", "1"},
       "--fps: this model's processor takes 32 frames"},
      {{"--height", "10", "--width", "2001"}, "got 200.1; crop or pad it"},
      {{"1080"}, "one argument too many"},
  };
  for (const Case& c : cases) {
    const Ran ran = calc(c.arguments);
    EXPECT_EQ(ran.code, 2) << c.part;
    EXPECT_EQ(ran.out, "") << c.part;
    EXPECT_NE(ran.err.find(c.part), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

TEST(Calc, TablesFit) {
  for (const char* model : {"qwen3.5-9b", "qwen3-vl-32b", "gemma-4-31b", "gemma-4-12b"}) {
    for (const char* mode : {"image", "video", "video-prepared"}) {
      const Ran ran = calc({"--model", model, "--mode", mode, "--height", "960", "--width", "960"});
      ASSERT_EQ(ran.code, 0) << ran.err;
      std::size_t begin = 0;
      while (begin < ran.out.size()) {
        const std::size_t end = ran.out.find('\n', begin);
        EXPECT_LE(end - begin, 100U) << ran.out;
        begin = end + 1;
      }
    }
  }
}

TEST(CalcAgrees, WithThePublishedSizes) {
  for (const audit::FamilyMember& member : audit::family()) {
    const calc::Model* model = calc::find_model(member.name);
    if (model == nullptr) continue;  // the field guide names fewer of the mixtures of Qwen3-VL
    EXPECT_EQ(model->vision_depth, member.vision_depth) << member.name;
    EXPECT_EQ(model->vision_width, member.vision_hidden_size) << member.name;
    EXPECT_EQ(model->language_width, member.hidden_size) << member.name;
  }
  EXPECT_NE(calc::find_model(audit::family().front().name), nullptr);
}

TEST(CalcAgrees, WithTheEnginesPositions) {
  std::mt19937_64 random(3);
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::int64_t>(random() % limit);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<calc::Segment> segments;
    std::vector<model::TokenType> types;
    std::vector<nn::Grid> images, videos;
    for (std::int64_t part = 1 + below(4); part > 0; --part) {
      segments.push_back({1 + below(9), {}});
      types.insert(types.end(), static_cast<std::size_t>(segments.back().text),
                   model::TokenType::text);
      const calc::Grid grid{1, 2 * (1 + below(6)), 2 * (1 + below(6))};
      const bool image = below(2) == 0;
      segments.push_back({0, grid});
      types.insert(types.end(), static_cast<std::size_t>(grid.tokens(2)),
                   image ? model::TokenType::image : model::TokenType::video);
      (image ? images : videos).push_back({1, grid.h, grid.w});
    }
    nn::Positions positions;
    const std::int64_t next = model::append_positions(types, images, videos, 2, 0, positions);
    EXPECT_EQ(calc::prompt_span(segments, 2).next_position, next);
    EXPECT_EQ(calc::prompt_span(segments, 2).length, static_cast<std::int64_t>(types.size()));
    for (std::size_t i = 0; i < types.size(); ++i) {
      const calc::Position p = calc::position_at(segments, 2, static_cast<std::int64_t>(i));
      EXPECT_EQ(p,
                (calc::Position{positions.axes[0][i], positions.axes[1][i], positions.axes[2][i]}))
          << i;
    }
  }
}

}  // namespace
}  // namespace sightline::cli
