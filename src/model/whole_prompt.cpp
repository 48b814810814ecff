// Checks, joins and inputs of prompts (whole_prompt.hpp).
#include "model/whole_prompt.hpp"

#include <fmt/format.h>

#include <cstring>

#include "model/positions.hpp"

namespace sightline::model {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

void show_integers(nn::Span& span, const char* name, const std::vector<std::int64_t>& values,
                   std::int64_t rows) {
  const std::int64_t cols = static_cast<std::int64_t>(values.size()) / rows;
  span.in(TensorRef{name, DType::i64, Shape{rows, cols},
                    reinterpret_cast<const std::byte*>(values.data()), cols});
}

void show_visuals(nn::Pass& pass, nn::Span& span, std::span<const VisualInput> visuals,
                  const char* pixels, const char* grids) {
  if (visuals.empty()) return;
  const ArenaScope scope(pass.arena);
  span.in(nn::tensor_ref(pixels, joined_pixels(pass, visuals), false));
  std::vector<std::int64_t> thw;
  for (const VisualInput& visual : visuals)
    thw.insert(thw.end(), {visual.grid.t, visual.grid.h, visual.grid.w});
  show_integers(span, grids, thw, static_cast<std::int64_t>(visuals.size()));
}

}  // namespace

void check_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size) {
      throw Error(Code::invalid_token_id,
                  fmt::format("token {} of the input: expected an id from 0 to {}, found {}", i,
                              vocab_size - 1, ids[i]));
    }
  }
}

void check_whole_rows(const nn::Pass& pass, std::int64_t rows, std::int64_t vocab_size) {
  if (rows <= kMaxWholeRows || pass.counts_only()) return;
  const double mebibytes =
      static_cast<double>(rows) * static_cast<double>(vocab_size) * sizeof(float) / kMebibyte;
  throw Error(Code::context_length_exceeded,
              fmt::format("a run with the head on every row: expected at most {} tokens, found {} "
                          "(their logits alone would take {:.0f} MiB); ask a shorter question or "
                          "use a smaller picture",
                          kMaxWholeRows, rows, mebibytes));
}

ConstView joined_pixels(nn::Pass& pass, std::span<const VisualInput> visuals) {
  if (visuals.size() == 1) return visuals[0].pixels;
  std::int64_t rows = 0;
  for (const VisualInput& visual : visuals) rows += visual.pixels.rows;
  const View all = pass.arena.matrix(rows, visuals.empty() ? 0 : visuals[0].pixels.cols);
  std::int64_t next = 0;
  for (const VisualInput& visual : visuals) {
    for (std::int64_t r = 0; r < visual.pixels.rows && !pass.counts_only(); ++r, ++next) {
      std::memcpy(all.row(next), visual.pixels.row(r),
                  static_cast<std::size_t>(all.cols) * sizeof(float));
    }
  }
  return all;
}

void gather_wanted(const nn::Pass& pass, ConstView rows, std::span<const Segment> segments,
                   View gathered) {
  if (pass.counts_only()) return;
  std::int64_t next = 0;
  for (const Segment& segment : segments) {
    for (const std::int64_t row : segment.wanted) {
      std::memcpy(gathered.row(next++), rows.row(segment.first_row + row),
                  static_cast<std::size_t>(rows.cols) * sizeof(float));
    }
  }
}

void show_inputs(nn::Pass& pass, nn::Span& span, const WholePrompt& prompt, const ModelInfo& info) {
  if (!span.tracing()) return;
  show_integers(span, "input_ids", {prompt.ids.begin(), prompt.ids.end()}, 1);
  show_integers(span, "attention_mask", std::vector<std::int64_t>(prompt.ids.size(), 1), 1);
  std::vector<std::int64_t> types;
  for (const TokenType type : token_types(prompt.ids, info.image_token_id, info.video_token_id))
    types.push_back(static_cast<std::int64_t>(type));
  show_integers(span, "mm_token_type_ids", types, 1);
  show_visuals(pass, span, prompt.images, "pixel_values", "image_grid_thw");
  show_visuals(pass, span, prompt.videos, "pixel_values_videos", "video_grid_thw");
}

void show_positions(nn::Span& span, std::span<const Segment> segments, std::int64_t rows) {
  if (!span.tracing()) return;
  std::vector<std::int64_t> values;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const Segment& segment : segments) {
      const auto first = segment.positions->axes[axis].begin() + segment.first_position;
      values.insert(values.end(), first, first + segment.rows);
    }
  }
  const auto show = [&](const char* name, const Shape& shape) {
    span.in(TensorRef{name, DType::i64, shape, reinterpret_cast<const std::byte*>(values.data()),
                      shape.back()});
  };
  show("position_ids", {3, 1, rows});
  if (segments.size() != 1 || segments[0].first_position != 0) return;
  values.assign(static_cast<std::size_t>(rows), 1);
  show("attention_mask", {1, rows});
}

}  // namespace sightline::model
