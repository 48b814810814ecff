// All 122 cases of the calculator, whose figures the reference's own functions returned (each case
// names its function in tests/data/calc/cases.json). Protects: a row that differs from what the
// processors and models do, and messages that differ from the reference's.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "calc/calculator.hpp"
#include "calc/positions.hpp"
#include "calc/sampling.hpp"
#include "io/json.hpp"

namespace sightline::calc {
namespace {

using io::Json;

const Json& cases() {
  static const Json json = io::read_json_file(SIGHTLINE_TEST_DATA "/calc/cases.json");
  return json;
}

std::vector<const Json*> cases_of(const std::string& kind) {
  std::vector<const Json*> found;
  for (const Json& c : cases().as_array()) {
    if (c.find("variant")->as_string().ends_with(kind)) found.push_back(&c);
  }
  return found;
}

std::optional<std::int64_t> integer(const Json& input, const char* key) {
  const Json* value = input.find(key);
  if (value == nullptr) return std::nullopt;
  return value->as_int();
}

std::optional<double> number(const Json& input, const char* key) {
  const Json* value = input.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return value->as_double();
}

Json list(std::initializer_list<std::int64_t> values) {
  Json array = Json::array();
  for (const std::int64_t value : values) array.push(value);
  return array;
}

Request request_of(const Json& input) {
  Request request;
  request.model = input.find("model")->as_string();
  for (const Mode mode : {Mode::image, Mode::video, Mode::video_prepared}) {
    if (name_of(mode) == input.find("mode")->as_string()) request.mode = mode;
  }
  request.height = *integer(input, "height");
  request.width = *integer(input, "width");
  request.frames = integer(input, "frames");
  request.budget_tokens = integer(input, "budget_tokens");
  request.soft_token_budget = integer(input, "soft_token_budget");
  request.min_pixels = integer(input, "min_pixels");
  request.max_pixels = integer(input, "max_pixels");
  const Json* cap = input.find("cap_pixels_per_frame");
  request.cap_pixels_per_frame = cap != nullptr && cap->as_bool();
  return request;
}

Json rows_of(const Result& r) {
  Json rows = Json::Object{{"resized_height", r.resized_height},
                           {"resized_width", r.resized_width},
                           {"temporal_groups", r.temporal_groups},
                           {"repeated_frames", r.repeated_frames},
                           {"grid_rows", r.grid_rows},
                           {"grid_cols", r.grid_cols},
                           {"processor_units", r.processor_units},
                           {"model_patch_positions", r.model_patch_positions},
                           {"visual_tokens", r.visual_tokens},
                           {"llm_shape", list({r.visual_tokens, r.model->language_width})},
                           {"scalars", r.scalars}};
  if (r.pixel_values_shape.rank > 0) {
    Json shape = Json::array();
    for (int i = 0; i < r.pixel_values_shape.rank; ++i)
      shape.push(r.pixel_values_shape.sizes.at(i));
    rows.add("pixel_values_shape", std::move(shape));
  }
  if (r.model->is_qwen()) {
    const Grid grid = r.grid();
    rows.add(r.mode == Mode::image ? "image_grid_thw" : "video_grid_thw",
             list({grid.t, grid.h, grid.w}));
  }
  if (r.padding_slots) rows.add("padding_slots", *r.padding_slots);
  if (r.tokens_per_group) rows.add("tokens_per_group", *r.tokens_per_group);
  return rows;
}

/// True if the problem is the one that the case expects, in the reference's words.
void expect_problem(const Problem& problem, const Json& error, const std::string& where) {
  EXPECT_FALSE(problem.ok()) << where;
  if (error.find("type")->as_string() == "ZeroDivisionError") {
    // The reference divides by zero; the calculator names the side.
    EXPECT_EQ(problem.code, ErrorCode::out_of_range) << where;
    EXPECT_EQ(problem.message.view(), "height: expected an integer from 1 to 1000000, found 0");
    return;
  }
  EXPECT_EQ(problem.message.view(), error.find("message")->as_string()) << where;
}

std::size_t check_sizes(const std::string& kind) {
  const auto found = cases_of(kind);
  for (const Json* c : found) {
    const Json& input = *c->find("input");
    const Json& output = *c->find("output");
    const std::string where = io::to_json_text(input);
    const Result result = calculate(request_of(input));
    if (const Json* error = output.find("error")) {
      expect_problem(result.problem, *error, where);
      continue;
    }
    EXPECT_TRUE(result.problem.ok()) << where << result.problem.message.view();
    if (!result.problem.ok()) continue;
    EXPECT_EQ(io::to_json_text(rows_of(result)), io::to_json_text(output)) << where;
  }
  return found.size();
}

TEST(CalcGolden, Images) { EXPECT_EQ(check_sizes("/image"), 66U); }
TEST(CalcGolden, Clips) { EXPECT_EQ(check_sizes("/video"), 22U); }
TEST(CalcGolden, PreparedClips) { EXPECT_EQ(check_sizes("/video-prepared"), 12U); }

SamplingRequest sampling_request(const Json& input) {
  return {*integer(input, "total_frames"), number(input, "native_fps"), number(input, "fps"),
          integer(input, "num_frames")};
}

void check_indices(const Sampling& sampling, const Json& indices, const std::string& where) {
  if (indices.is_null()) return;
  ASSERT_EQ(indices.as_array().size(), static_cast<std::size_t>(sampling.count)) << where;
  for (std::int64_t k = 0; k < sampling.count; ++k) {
    EXPECT_EQ(sampling.index(k), indices.as_array()[static_cast<std::size_t>(k)].as_int()) << where;
  }
}

/// "..." in the list stands for what was left out.
void check_stamps(const Sampling& sampling, const Json& stamps, bool qwen,
                  const std::string& where) {
  const auto text = [&](std::int64_t group) {
    const double seconds = sampling.seconds(group);
    return std::string((qwen ? seconds_text(seconds) : clock_text(seconds)).view());
  };
  const auto& list = stamps.as_array();
  for (std::size_t i = 0; i < list.size() && list[i].as_string() != "..."; ++i) {
    EXPECT_EQ(text(static_cast<std::int64_t>(i)), list[i].as_string()) << where;
  }
  EXPECT_EQ(text(sampling.groups() - 1), list.back().as_string()) << where;
}

TEST(CalcGolden, Sampling) {
  const auto found = cases_of("/sampling");
  EXPECT_EQ(found.size(), 13U);
  for (const Json* c : found) {
    const Json& input = *c->find("input");
    const Json& output = *c->find("output");
    const std::string where = io::to_json_text(input);
    const bool qwen = c->find("variant")->as_string().starts_with("qwen");
    const Sampling sampling =
        qwen ? sample_qwen(sampling_request(input)) : sample_gemma(sampling_request(input));
    if (const Json* error = output.find("error")) {
      expect_problem(sampling.problem, *error, where);
      continue;
    }
    ASSERT_TRUE(sampling.problem.ok()) << where << sampling.problem.message.view();
    EXPECT_EQ(sampling.count, output.find("count")->as_int()) << where;
    if (const Json* first = output.find("first")) {
      EXPECT_EQ(sampling.index(0), first->as_int()) << where;
      EXPECT_EQ(sampling.index(sampling.count - 1), output.find("last")->as_int()) << where;
      EXPECT_EQ(sampling.groups(), output.find("groups")->as_int()) << where;
    }
    check_indices(sampling, *output.find("indices"), where);
    check_stamps(sampling, *output.find("timestamps"), qwen, where);
  }
}

/// Text is a number of tokens; between the groups of the golden clip stand three.
std::vector<Segment> segments_of(const Json& list) {
  constexpr std::int64_t kBetweenGroups = 3;
  std::vector<Segment> segments;
  for (const Json& part : list.as_array()) {
    if (part.is_int()) {
      segments.push_back({part.as_int(), {}});
      continue;
    }
    const auto& grid = part.as_array();
    for (std::int64_t t = 0; t < grid[1].as_int(); ++t) {
      if (t > 0) segments.push_back({kBetweenGroups, {}});
      segments.push_back({0, {1, grid[2].as_int(), grid[3].as_int()}});
    }
  }
  return segments;
}

TEST(CalcGolden, Positions) {
  const auto found = cases_of("/positions");
  EXPECT_EQ(found.size(), 6U);
  for (const Json* c : found) {
    const std::vector<Segment> segments = segments_of(*c->find("input")->find("segments"));
    const Json& output = *c->find("output");
    const PromptSpan whole = prompt_span(segments, kQwenMerge);
    EXPECT_EQ(whole.length, output.find("length")->as_int());
    EXPECT_EQ(whole.delta(), output.find("delta")->as_int());
    EXPECT_EQ(whole.next_position, output.find("next_position")->as_int());
    for (const auto& [index, expected] : output.find("at")->as_object()) {
      const Position p = position_at(segments, kQwenMerge, std::stoll(index));
      EXPECT_EQ(list({p.t, p.h, p.w}), expected) << index;
    }
  }
}

TEST(CalcGolden, VideoPrompts) {
  const auto found = cases_of("/video-prompt");
  EXPECT_EQ(found.size(), 3U);
  for (const Json* c : found) {
    const Json& input = *c->find("input");
    std::vector<std::int64_t> indices;
    for (const Json& index : input.find("frames_indices")->as_array())
      indices.push_back(index.as_int());
    const auto& grid = input.find("video_grid_thw")->as_array();
    const Grid group{1, grid[1].as_int(), grid[2].as_int()};
    const double rate = number(input, "fps").value_or(kUnknownRate);
    std::string text;
    for (std::size_t i = 0; i < indices.size(); i += kQwenTemporal) {
      const std::size_t last = std::min(i + kQwenTemporal, indices.size()) - 1;
      text += seconds_stamp(group_seconds(indices[i], indices[last], rate)).view();
      text += "<|vision_start|>" +
              std::string(static_cast<std::size_t>(group.tokens(kQwenMerge)), 'V') +
              "<|vision_end|>";
    }
    EXPECT_EQ(text, c->find("output")->find("text")->as_string());
    EXPECT_EQ(std::count(text.begin(), text.end(), 'V'),
              c->find("output")->find("video_tokens")->as_int());
  }
}

TEST(CalcGolden, EveryCaseIsSeen) {
  EXPECT_EQ(cases().as_array().size(), 122U);
  EXPECT_EQ(66 + 22 + 12 + 13 + 6 + 3, 122);
}

}  // namespace
}  // namespace sightline::calc
