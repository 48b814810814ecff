// Rows, tables and notes of a calculation (calc_report.hpp).
#include "cli/calc_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "cli/help.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

using calc::Mode;

constexpr std::int64_t kShownTimes = 12;  // of a long list of frames

io::Json list(std::initializer_list<std::int64_t> values) {
  io::Json array = io::Json::array();
  for (const std::int64_t value : values) array.push(value);
  return array;
}

io::Json shape_json(const calc::Shape& shape) {
  io::Json array = io::Json::array();
  for (int i = 0; i < shape.rank; ++i) array.push(shape.sizes[static_cast<std::size_t>(i)]);
  return array;
}

std::string shape_text(const calc::Shape& shape) {
  std::string text;
  for (int i = 0; i < shape.rank; ++i) {
    text += (i == 0 ? "" : ", ") + grouped(shape.sizes[static_cast<std::size_t>(i)]);
  }
  return text.empty() ? "-" : "[" + text + "]";
}

const char* grid_key(const calc::Result& r) {
  return r.mode == Mode::image ? "image_grid_thw" : "video_grid_thw";
}

std::string stamp(const calc::Result& r, const calc::Sampling& sampling, std::int64_t group) {
  const double seconds = sampling.seconds(group);
  return std::string(
      (r.model->is_qwen() ? calc::seconds_text(seconds) : calc::clock_text(seconds)).view());
}

/// The way from pixels to the language model, on one line.
std::string pipeline(const calc::Model& model) {
  const std::string last =
      fmt::format("{} -> features of width {}", spatial_operation(model), model.language_width);
  if (model.vision_depth == 0) {
    return fmt::format("{0}x{0} pixels, no encoder -> {1}", model.patch, last);
  }
  return fmt::format("{0}x{0}{1} patches -> {2} blocks of width {3} -> {4}", model.patch,
                     model.is_qwen() ? "x2" : "", model.vision_depth, model.vision_width, last);
}

std::string head(const calc::Request& request, const calc::Result& r) {
  std::string text =
      fmt::format("{}, {}: {}{} x {} pixels (height x width)\n", r.model->id, name_of(r.mode),
                  r.mode == Mode::image ? "" : grouped(r.frames) + " frames of ",
                  grouped(request.height), grouped(request.width));
  text += wrapped(pipeline(*r.model), 0, 2) + "\n";
  if (r.model->has_deepstack()) {
    text += fmt::format("blocks {} also feed language layers 0, 1, 2 (deepstack)\n",
                        fmt::join(r.model->deepstack, ", "));
  }
  return text + "\n";
}

std::string size_rule(const calc::Result& r) {
  const std::int64_t factor = r.model->is_qwen() ? calc::kQwenFactor : calc::kGemmaFactor;
  return fmt::format("{}{}, multiples of {}",
                     r.enlarged_first ? "enlarged to one block, then " : "", name_of(r.branch),
                     factor);
}

std::string rows_table(const calc::Result& r) {
  const bool qwen = r.model->is_qwen();
  const bool unified = r.model->family == calc::Family::gemma4_unified;
  Table table({{"row"}, {"value", true}, {"from", false, true}});
  const auto row = [&](const char* name, std::int64_t value, const std::string& from) {
    table.row({name, grouped(value), from});
  };
  row("resized height", r.resized_height, size_rule(r));
  row("resized width", r.resized_width, "");
  row("temporal groups", r.temporal_groups, qwen ? "2 frames each" : "one a frame");
  row("repeated frames", r.repeated_frames, qwen ? "to fill the last group" : "none");
  row("model grid rows", r.grid_rows, fmt::format("height / {}", r.model->patch));
  row("model grid columns", r.grid_cols, fmt::format("width / {}", r.model->patch));
  row("processor units", r.processor_units, "16x16 pixels, over all groups");
  row("model patch positions", r.model_patch_positions, unified ? "units / 9" : "= units");
  row("visual tokens", r.visual_tokens, qwen ? "units / 4" : "units / 9");
  table.row({"LLM feature shape", shape_text({2, {r.visual_tokens, r.model->language_width}}),
             "tokens, width"});
  row("scalars", r.scalars, "tokens * width");
  return table.text();
}

std::string further_table(const calc::Result& r) {
  Table table({{"further"}, {"value", true}, {"from", false, true}});
  table.row({"pixel_values", shape_text(r.pixel_values_shape),
             r.model->is_qwen() ? "units, values of one patch pair" : "pictures, slots, values"});
  if (r.model->is_qwen()) {
    table.row({grid_key(r), shape_text({3, {r.temporal_groups, r.grid_rows, r.grid_cols}}),
               "groups, rows, columns"});
  }
  if (r.padding_slots) {
    table.row({"padding slots", grouped(*r.padding_slots), "slots without a position"});
  }
  if (r.tokens_per_group) {
    table.row({"tokens per group", grouped(*r.tokens_per_group), ""});
  }
  table.row({"prompt tokens", grouped(r.prompt_tokens),
             r.mode == Mode::image ? "with start and end marks"
                                   : "with start and end marks, without time stamps"});
  if (r.model->is_qwen()) {
    table.row(
        {"position span", grouped(r.position_span),
         fmt::format("a group at p: (p, p, p) to (p, p+{}, p+{})",
                     r.grid_rows / calc::kQwenMerge - 1, r.grid_cols / calc::kQwenMerge - 1)});
  }
  table.row({"pixels per token", fmt::format("{:.1f}", r.pixels_per_token), "of what was given"});
  if (r.budget > 0) {
    table.row({"share of budget", fmt::format("{:.1f} %", 100 * r.budget_share),
               fmt::format("of {} {}", grouped(r.budget),
                           r.model->is_qwen() ? "pixels" : "tokens a picture")});
  }
  return table.text();
}

std::string sampling_text(const calc::Result& r, const calc::Sampling& sampling) {
  std::string text = fmt::format("frames {} to {}: {} of {}; times", grouped(sampling.index(0)),
                                 grouped(sampling.index(sampling.count - 1)),
                                 grouped(sampling.count), grouped(sampling.total));
  const std::int64_t groups = sampling.groups();
  for (std::int64_t g = 0; g < std::min(groups, kShownTimes); ++g) {
    text += " " + stamp(r, sampling, g);
  }
  if (groups > kShownTimes) text += " ... " + stamp(r, sampling, groups - 1);
  return "\n" + wrapped(text, 0, 2) + "\n";
}

std::string notes(const calc::Result& r) {
  std::string text = "\n";
  const auto note = [&](const std::string& words) { text += "- " + wrapped(words, 2, 2) + "\n"; };
  if (r.budget_below_minimum) {
    note("the budget is below the smallest size: whichever rule acts first wins");
  } else if (r.budget_share > 1) {
    note(r.mode == Mode::image ? "the budget is exceeded: sides are whole blocks, at least one"
                               : "the budget is exceeded: the rule does not count every repeated "
                                 "frame, and sides are whole blocks");
  }
  if (r.repeated_frames > 0) note("a repeated frame adds no motion");
  note("shapes only: marks, time stamps and padding slots are not among the visual tokens");
  return text;
}

}  // namespace

io::Json calc_rows_json(const calc::Result& r) {
  io::Json rows = io::Json::Object{{"resized_height", r.resized_height},
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
  if (r.pixel_values_shape.rank > 0)
    rows.add("pixel_values_shape", shape_json(r.pixel_values_shape));
  if (r.model->is_qwen()) {
    rows.add(grid_key(r), list({r.temporal_groups, r.grid_rows, r.grid_cols}));
  }
  if (r.padding_slots) rows.add("padding_slots", *r.padding_slots);
  if (r.tokens_per_group) rows.add("tokens_per_group", *r.tokens_per_group);
  return rows;
}

io::Json calc_details_json(const calc::Result& r) {
  io::Json details = io::Json::Object{{"model", r.model->id},
                                      {"mode", name_of(r.mode)},
                                      {"size_rule", name_of(r.branch)},
                                      {"enlarged_first", r.enlarged_first},
                                      {"prompt_tokens", r.prompt_tokens},
                                      {"pixels_per_token", r.pixels_per_token}};
  if (r.model->is_qwen()) {
    details.add("position_span", r.position_span);
    details.add("last_position",
                list({0, r.grid_rows / calc::kQwenMerge - 1, r.grid_cols / calc::kQwenMerge - 1}));
  }
  if (r.budget > 0) {
    details.add("budget", r.budget);
    details.add("budget_unit", r.model->is_qwen() ? "pixels" : "tokens");
    details.add("budget_share", r.budget_share);
    details.add("budget_below_minimum", r.budget_below_minimum);
  }
  return details;
}

io::Json sampling_json(const calc::Sampling& sampling) {
  io::Json indices = io::Json::array(), stamps = io::Json::array();
  for (std::int64_t k = 0; k < sampling.count; ++k) indices.push(sampling.index(k));
  for (std::int64_t g = 0; g < sampling.groups(); ++g) {
    const double seconds = sampling.seconds(g);
    stamps.push(
        (sampling.both_ends ? calc::seconds_text(seconds) : calc::clock_text(seconds)).view());
  }
  return io::Json::Object{{"count", sampling.count},
                          {"first", sampling.index(0)},
                          {"last", sampling.index(sampling.count - 1)},
                          {"indices", std::move(indices)},
                          {"groups", sampling.groups()},
                          {"timestamps", std::move(stamps)}};
}

std::string calc_text(const calc::Request& request, const calc::Result& result,
                      const std::optional<calc::Sampling>& sampling) {
  std::string text = head(request, result) + rows_table(result) + "\n" + further_table(result);
  if (sampling) text += sampling_text(result, *sampling);
  return text + notes(result);
}

}  // namespace sightline::cli
