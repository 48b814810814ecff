// The calculator as a WebAssembly module: the page writes a request into the buffer, calls sl_run
// and reads JSON from it. Every figure comes from src/calc; here are only names. Members of an
// answer are those of `sightline calc --json`.
#include <algorithm>
#include <array>
#include <iterator>

#include "calc/calculator.hpp"
#include "calc/patch_order.hpp"
#include "calc/positions.hpp"
#include "calc/sampling.hpp"
#include "fields.hpp"
#include "text_out.hpp"

namespace sightline::web {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 22;  // the longest answer and room to spare
constexpr std::size_t kRequestBytes = 4096;
constexpr std::int64_t kMaxListed = calc::kMaxFrames;  // elements of a list; more are left out
constexpr std::size_t kMaxSegments = 64;
std::array<char, kBufferBytes> buffer;
std::array<char, kRequestBytes> request_copy;

using calc::Problem;

void write_problem(JsonOut& out, const Problem& problem) noexcept {
  out.open('{').key("problem").open('{');
  out.key("code").text(name_of(problem.code));
  out.key("input").text(problem.input);
  out.key("found").real(problem.found).key("low").real(problem.low).key("high").real(problem.high);
  out.key("message").text(problem.message.view()).key("hint").text(hint_of(problem.code));
  out.close('}').close('}');
}

void write_list(JsonOut& out, std::initializer_list<std::int64_t> values) noexcept {
  out.open('[');
  for (const std::int64_t value : values) out.number(value);
  out.close(']');
}

void write_rows(JsonOut& out, const calc::Result& r) noexcept {
  out.key("resized_height").number(r.resized_height).key("resized_width").number(r.resized_width);
  out.key("temporal_groups").number(r.temporal_groups);
  out.key("repeated_frames").number(r.repeated_frames);
  out.key("grid_rows").number(r.grid_rows).key("grid_cols").number(r.grid_cols);
  out.key("processor_units").number(r.processor_units);
  out.key("model_patch_positions").number(r.model_patch_positions);
  out.key("visual_tokens").number(r.visual_tokens).key("llm_shape");
  write_list(out, {r.visual_tokens, r.model->language_width});
  out.key("scalars").number(r.scalars);
  if (r.pixel_values_shape.rank > 0) {
    out.key("pixel_values_shape").open('[');
    for (int i = 0; i < r.pixel_values_shape.rank; ++i) {
      out.number(r.pixel_values_shape.sizes[static_cast<std::size_t>(i)]);
    }
    out.close(']');
  }
  if (r.model->is_qwen()) {
    out.key(r.mode == calc::Mode::image ? "image_grid_thw" : "video_grid_thw");
    write_list(out, {r.temporal_groups, r.grid_rows, r.grid_cols});
  }
  if (r.padding_slots) out.key("padding_slots").number(*r.padding_slots);
  if (r.tokens_per_group) out.key("tokens_per_group").number(*r.tokens_per_group);
}

void write_details(JsonOut& out, const calc::Result& r) noexcept {
  out.key("details").open('{');
  out.key("model").text(r.model->id).key("mode").text(name_of(r.mode));
  out.key("size_rule").text(name_of(r.branch)).key("enlarged_first").boolean(r.enlarged_first);
  out.key("frames").number(r.frames).key("prompt_tokens").number(r.prompt_tokens);
  out.key("pixels_per_token").real(r.pixels_per_token);
  if (r.model->is_qwen()) out.key("position_span").number(r.position_span);
  if (r.budget > 0) {
    out.key("budget").number(r.budget);
    out.key("budget_unit").text(r.model->is_qwen() ? "pixels" : "tokens");
    out.key("budget_share").real(r.budget_share);
    out.key("budget_below_minimum").boolean(r.budget_below_minimum);
  }
  out.close('}');
}

std::optional<calc::Mode> mode_of(std::string_view name) noexcept {
  for (const calc::Mode mode : {calc::Mode::image, calc::Mode::video, calc::Mode::video_prepared}) {
    if (name_of(mode) == name) return mode;
  }
  return std::nullopt;
}

void run_calc(Fields& fields, JsonOut& out) noexcept {
  calc::Request request;
  if (const auto model = fields.find("model")) request.model = *model;
  request.mode = mode_of(fields.find("mode").value_or("image")).value_or(calc::Mode::image);
  request.height = fields.integer("height").value_or(calc::kDefaultSide);
  request.width = fields.integer("width").value_or(calc::kDefaultSide);
  request.frames = fields.integer("frames");
  request.budget_tokens = fields.integer("budget_tokens");
  request.soft_token_budget = fields.integer("soft_token_budget");
  request.min_pixels = fields.integer("min_pixels");
  request.max_pixels = fields.integer("max_pixels");
  request.cap_pixels_per_frame = fields.find("cap_pixels_per_frame") == "true";
  if (!fields.problem().ok()) return write_problem(out, fields.problem());
  const calc::Result result = calculate(request);
  if (!result.problem.ok()) return write_problem(out, result.problem);
  out.open('{');
  write_rows(out, result);
  write_details(out, result);
  out.close('}');
}

void write_sampling(JsonOut& out, const calc::Sampling& sampling, bool qwen) noexcept {
  out.open('{').key("count").number(sampling.count);
  out.key("first").number(sampling.index(0)).key("last").number(sampling.index(sampling.count - 1));
  out.key("groups").number(sampling.groups()).key("rate").real(sampling.rate);
  out.key("indices").open('[');
  for (std::int64_t k = 0; k < std::min(sampling.count, kMaxListed); ++k) {
    out.number(sampling.index(k));
  }
  out.close(']').key("timestamps").open('[');
  for (std::int64_t g = 0; g < std::min(sampling.groups(), kMaxListed); ++g) {
    const double seconds = sampling.seconds(g);
    out.text((qwen ? calc::seconds_text(seconds) : calc::clock_text(seconds)).view());
  }
  out.close(']').close('}');
}

void run_sample(Fields& fields, JsonOut& out) noexcept {
  const calc::Model* model = calc::find_model(fields.find("model").value_or("qwen3.5-9b"));
  calc::SamplingRequest clip;
  clip.total_frames = fields.integer("total_frames").value_or(0);
  clip.native_fps = fields.real("native_fps");
  clip.fps = fields.real("fps");
  clip.num_frames = fields.integer("num_frames");
  if (!fields.problem().ok()) return write_problem(out, fields.problem());
  const bool qwen = model == nullptr || model->is_qwen();
  const calc::Sampling sampling = qwen ? sample_qwen(clip) : sample_gemma(clip);
  if (!sampling.problem.ok()) return write_problem(out, sampling.problem);
  write_sampling(out, sampling, qwen);
}

/// The time stamp of one group of frames that were chosen elsewhere.
void run_stamp(Fields& fields, JsonOut& out) noexcept {
  const std::int64_t first = fields.integer("first").value_or(0);
  const std::int64_t last = fields.integer("last").value_or(first);
  const double rate = fields.real("rate").value_or(calc::kUnknownRate);
  if (!fields.problem().ok()) return write_problem(out, fields.problem());
  const calc::Text stamp = calc::seconds_stamp(calc::group_seconds(first, last, rate));
  out.open('{').key("stamp").text(stamp.view()).close('}');
}

/// "4 1x16x16 12": tokens of text, and grids in patches.
std::size_t read_segments(std::string_view list, std::span<calc::Segment> segments) noexcept {
  std::size_t count = 0;
  const char *at = list.data(), *end = at + list.size();
  while (at < end && count < segments.size()) {
    std::array<std::int64_t, 3> sizes{};
    std::size_t rank = 0;
    for (; rank < sizes.size(); ++rank) {
      at = std::from_chars(at, end, sizes[rank]).ptr;
      if (at == end || *at != 'x') break;
      ++at;
    }
    segments[count++] =
        rank == 0 ? calc::Segment{sizes[0], {}} : calc::Segment{0, {sizes[0], sizes[1], sizes[2]}};
    if (at < end) ++at;
  }
  return count;
}

void run_positions(Fields& fields, JsonOut& out) noexcept {
  std::array<calc::Segment, kMaxSegments> room;
  const std::size_t count = read_segments(fields.find("segments").value_or(""), room);
  const std::span<const calc::Segment> segments(room.data(), count);
  const calc::PromptSpan whole = prompt_span(segments, calc::kQwenMerge);
  const std::int64_t first = fields.integer("first").value_or(0);
  const std::int64_t wanted = fields.integer("count").value_or(whole.length);
  out.open('{').key("length").number(whole.length);
  out.key("next_position").number(whole.next_position).key("delta").number(whole.delta());
  out.key("positions").open('[');
  for (std::int64_t i = first; i < first + std::min(wanted, kMaxListed); ++i) {
    const calc::Position p = position_at(segments, calc::kQwenMerge, i);
    write_list(out, {p.t, p.h, p.w});
  }
  out.close(']').close('}');
}

void write_place(JsonOut& out, const calc::Grid& grid, std::int64_t merge,
                 std::int64_t row) noexcept {
  const calc::PatchPlace place = place_of_row(grid, merge, row);
  out.open('{').key("row").number(row).key("group").number(place.group);
  out.key("y").number(place.y).key("x").number(place.x);
  out.key("slot").number(place.slot).key("token").number(place.token).close('}');
}

/// By row of pixel_values, or by group, y and x. `merge`: side of the blocks, Qwen's unless given.
void run_place(Fields& fields, JsonOut& out) noexcept {
  const calc::Grid grid{fields.integer("t").value_or(1), fields.integer("h").value_or(2),
                        fields.integer("w").value_or(2)};
  const std::int64_t merge =
      std::max<std::int64_t>(1, fields.integer("merge").value_or(calc::kQwenMerge));
  const auto row = fields.integer("row");
  const std::int64_t group = fields.integer("group").value_or(0);
  const std::int64_t y = fields.integer("y").value_or(0);
  const std::int64_t x = fields.integer("x").value_or(0);
  write_place(out, grid, merge, row ? *row : row_of_patch(grid, merge, group, y, x));
}

std::string_view family_of(const calc::Model& model) noexcept {
  switch (model.family) {
    case calc::Family::qwen3_5:
      return "qwen3_5";
    case calc::Family::qwen3_vl:
      return "qwen3_vl";
    case calc::Family::gemma4:
      return "gemma4";
    case calc::Family::gemma4_unified:
      return "gemma4_unified";
  }
  return "";
}

void write_constants(JsonOut& out) noexcept {
  out.key("constants").open('{').key("unit").number(calc::kUnit);
  out.key("merge").number(calc::kQwenMerge).key("temporal").number(calc::kQwenTemporal);
  out.key("pool").number(calc::kGemmaPool).key("qwen_factor").number(calc::kQwenFactor);
  out.key("gemma_factor").number(calc::kGemmaFactor).key("token_pixels").number(calc::kTokenPixels);
  out.key("image_min_pixels").number(calc::kImageMinPixels);
  out.key("image_max_pixels").number(calc::kImageMaxPixels);
  out.key("video_min_pixels").number(calc::kVideoMinPixels);
  out.key("video_max_pixels").number(calc::kVideoMaxPixels);
  out.key("image_soft_tokens").number(calc::kImageSoftTokens);
  out.key("video_soft_tokens").number(calc::kVideoSoftTokens);
  out.key("max_side").number(calc::kMaxSide).key("max_budget").number(calc::kMaxBudget);
  out.key("default_side").number(calc::kDefaultSide);
  out.key("default_frames").number(calc::kDefaultFrames);
  out.key("unknown_rate")
      .real(calc::kUnknownRate)
      .key("default_fps")
      .real(calc::SamplingRule{}.fps);
  out.key("min_frames").number(calc::SamplingRule{}.min_frames);
  out.key("max_frames").number(calc::SamplingRule{}.max_frames);
  out.key("max_aspect_ratio").real(calc::kMaxAspectRatio).key("soft_token_budgets").open('[');
  for (const std::int64_t budget : calc::kSoftTokenBudgets) out.number(budget);
  out.close(']').close('}');
}

void run_models(Fields&, JsonOut& out) noexcept {
  out.open('{').key("models").open('[');
  for (const calc::Model& model : calc::models()) {
    out.open('{').key("id").text(model.id).key("family").text(family_of(model));
    out.key("patch").number(model.patch).key("vision_depth").number(model.vision_depth);
    out.key("vision_width").number(model.vision_width);
    out.key("language_width").number(model.language_width);
    out.key("operation").text(spatial_operation(model)).key("deepstack").open('[');
    for (const int block : model.deepstack) {
      if (block >= 0) out.number(block);
    }
    out.close(']').close('}');
  }
  out.close(']');
  write_constants(out);
  out.close('}');
}

struct Operation {
  std::string_view name;
  void (*run)(Fields&, JsonOut&) noexcept;
};
constexpr Operation kOperations[] = {{"calc", run_calc},   {"sample", run_sample},
                                     {"stamp", run_stamp}, {"positions", run_positions},
                                     {"place", run_place}, {"models", run_models}};

}  // namespace

/// Where the page writes the request and reads the answer.
extern "C" __attribute__((export_name("sl_buffer"))) char* sl_buffer() { return buffer.data(); }

/// Runs the request of `length` bytes in the buffer; bytes of the answer, 0 if there is none.
extern "C" __attribute__((export_name("sl_run"))) std::size_t sl_run(std::size_t length) {
  if (length > kRequestBytes) return 0;
  std::copy_n(buffer.data(), length, request_copy.data());
  const std::string_view request(request_copy.data(), length);
  const std::size_t end = std::min(request.find('\n'), length);
  Fields fields(request.substr(std::min(end + 1, length)));
  JsonOut out(buffer);
  for (const Operation& operation : kOperations) {
    if (operation.name == request.substr(0, end)) operation.run(fields, out);
  }
  return out.overflow() ? 0 : out.size();
}

}  // namespace sightline::web

// What the standard library calls where it would throw; its own prints, which a page cannot.
_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) { __builtin_trap(); }  // NOLINT
_LIBCPP_END_NAMESPACE_STD

// Debian's compiler runtime for wasm32 is built with the stack protector, which nothing else
// defines.
extern "C" {
std::uintptr_t __stack_chk_guard = 0x51677468;              // NOLINT(bugprone-reserved-identifier)
[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }  // NOLINT(bugprone-reserved-identifier)
}
