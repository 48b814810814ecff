// HF: Qwen3_5ForConditionalGeneration and Qwen3_5Model, behind the VisionLanguageModel interface
// (model.hpp).
#include "qwen3_5/model.hpp"

#include <fmt/format.h>

#include <cstring>

#include "qwen3_5/mtp.hpp"
#include "qwen3_5/vision.hpp"

namespace sightline::qwen3_5 {
namespace {

using model::Cache;
using model::Segment;
using nn::Pass;

constexpr double kMebibyte = 1024.0 * 1024.0;

class ForConditionalGeneration final : public model::VisionLanguageModel {
 public:
  ForConditionalGeneration(const Config& config, const io::Loader& loader,
                           std::shared_ptr<const io::Checkpoint> checkpoint, LayerRange range);

  [[nodiscard]] const model::ModelInfo& info() const override { return info_; }
  [[nodiscard]] Cache new_cache(nn::Precision precision) const override;
  void encode(Pass& pass, std::span<const model::VisualInput> visuals,
              View features) const override;
  void embed(Pass& pass, std::span<const std::int32_t> ids, View rows) const override;
  void forward(Pass& pass, View rows, std::span<const Segment> segments,
               const model::ForwardResult& result) const override;
  void commit(Pass& pass, const model::StepRecord& record, std::int64_t rows,
              Cache& cache) const override;
  void head(Pass& pass, ConstView final_hidden, View logits) const override {
    lm_head_(pass, final_hidden, logits);
  }
  void whole(Pass& pass, const model::WholePrompt& prompt, Cache& cache,
             View logits) const override;

 private:
  const VisionModel& tower() const;
  void check_ids(std::span<const std::int32_t> ids) const;
  void run_model(Pass& pass, const model::WholePrompt& prompt, Cache& cache, View final_hidden,
                 const nn::Where& where = nn::Where::current()) const;
  void insert_features(Pass& pass, std::span<const model::VisualInput> visuals, std::int32_t id,
                       std::span<const std::int32_t> ids, View rows) const;
  void insert_rows(Pass& pass, std::int32_t id, std::span<const std::int32_t> ids,
                   ConstView features, View rows,
                   const nn::Where& where = nn::Where::current()) const;
  void wanted_logits(Pass& pass, ConstView rows, std::span<const Segment> segments,
                     const model::ForwardResult& result) const;

  Config config_;
  std::shared_ptr<const io::Checkpoint> checkpoint_;  // owns the weights' bytes
  Site site_, model_site_, insertion_site_;
  std::optional<VisionModel> visual_;
  TextModel language_model_;
  nn::Linear lm_head_;  // its own weight, or that of embed_tokens
  model::ModelInfo info_;
  bool has_last_layer_;
};

model::ModelInfo make_info(const Config& config) {
  model::ModelInfo info;
  info.model_type = config.model_type;
  info.hidden_size = config.text_config.hidden_size;
  info.vocab_size = config.text_config.vocab_size;
  info.layers = config.text_config.num_hidden_layers;
  info.max_positions = config.text_config.max_position_embeddings;
  if (config.vision_config) {
    const VisionConfig& vision = *config.vision_config;
    info.has_vision = true;
    info.patch_values = vision.shape().patch_values();
    info.patch_size = vision.patch_size;
    info.temporal_patch_size = vision.temporal_patch_size;
    info.spatial_merge_size = vision.spatial_merge_size;
  }
  info.image_token_id = config.image_token_id;
  info.video_token_id = config.video_token_id;
  info.vision_start_token_id = config.vision_start_token_id;
  info.vision_end_token_id = config.vision_end_token_id;
  info.eos_token_ids = config.text_config.eos_token_id;
  info.mtp = mtp_tensors(config);
  return info;
}

std::optional<VisionModel> load_tower(const Config& config, const io::Loader& loader) {
  if (!config.vision_config) return std::nullopt;
  return VisionModel::load(loader.at("model.visual"), *config.vision_config);
}

// The head is its own tensor if the checkpoint stores one, whatever the configuration says about
// tying (specification 1.1).
nn::Linear load_head(const Config& config, const io::Loader& loader, const Weight& embeddings) {
  const io::Loader head = loader.at("lm_head").batched();
  const std::int64_t out = config.text_config.vocab_size, in = config.text_config.hidden_size;
  if (head.has("weight")) return nn::Linear::load(head, out, in);
  return {nn::Linear::linear_site(head, out, in, nn::Linear::Bias::none), embeddings, {}};
}

ForConditionalGeneration::ForConditionalGeneration(const Config& config, const io::Loader& loader,
                                                   std::shared_ptr<const io::Checkpoint> checkpoint,
                                                   LayerRange range)
    : config_(config),
      checkpoint_(std::move(checkpoint)),
      site_(loader.batched().site(config.text_config.class_name("ForConditionalGeneration"))),
      model_site_(loader.at("model").batched().site(config.text_config.class_name("Model"))),
      insertion_site_(loader.at("model").batched().operation("masked_scatter")),
      visual_(load_tower(config, loader)),
      language_model_(
          TextModel::load(loader.at("model.language_model").batched(), config.text_config, range)),
      lm_head_(load_head(config, loader, language_model_.embed_tokens.weight)),
      info_(make_info(config)),
      has_last_layer_(range.end == config.text_config.num_hidden_layers) {
  info_.tied_head = !loader.at("lm_head").has("weight");
  info_.report = loader.finish();
}

Cache ForConditionalGeneration::new_cache(nn::Precision precision) const {
  const TextConfig& text = config_.text_config;
  const DType kv = precision == nn::Precision::f32 ? DType::f32 : DType::bf16;
  Cache cache;
  for (const DecoderLayer& layer : language_model_.layers) {
    if (std::holds_alternative<Attention>(layer.mixer)) {
      cache.layers.emplace_back(model::KvLayer(text.num_key_value_heads, text.head_dim, kv));
      continue;
    }
    model::DeltaLayer state;
    state.conv_values = (text.linear_conv_kernel_dim - 1) * text.conv_width();
    state.recurrent_values = text.value_width() * text.linear_key_head_dim;
    cache.layers.emplace_back(std::move(state));
  }
  return cache;
}

const VisionModel& ForConditionalGeneration::tower() const {
  if (!visual_) {
    throw Error(
        Code::no_vision_tower,
        fmt::format("{}: the checkpoint has no vision tower (config.json lacks vision_config): "
                    "it answers text only",
                    checkpoint_->directory()));
  }
  return *visual_;
}

void ForConditionalGeneration::encode(Pass& pass, std::span<const model::VisualInput> visuals,
                                      View features) const {
  const std::int64_t merged = info_.spatial_merge_size * info_.spatial_merge_size;
  std::int64_t first = 0;
  for (const model::VisualInput& visual : visuals) {
    const std::int64_t rows = visual.grid.patches() / merged;
    tower()(pass, visual.pixels, {&visual.grid, 1}, features.slice_rows(first, rows));
    first += rows;
  }
}

void ForConditionalGeneration::check_ids(std::span<const std::int32_t> ids) const {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= info_.vocab_size) {
      throw Error(Code::invalid_token_id,
                  fmt::format("token {} of the input: expected an id from 0 to {}, found {}", i,
                              info_.vocab_size - 1, ids[i]));
    }
  }
}

void ForConditionalGeneration::embed(Pass& pass, std::span<const std::int32_t> ids,
                                     View rows) const {
  check_ids(ids);
  language_model_.embed_tokens(pass, ids, rows);
}

void ForConditionalGeneration::wanted_logits(Pass& pass, ConstView rows,
                                             std::span<const Segment> segments,
                                             const model::ForwardResult& result) const {
  const ArenaScope scope(pass.arena);
  const View gathered = pass.arena.matrix(result.logits.rows, info_.hidden_size);
  std::int64_t next = 0;
  for (const Segment& segment : segments) {
    if (pass.counts_only()) break;
    for (const std::int64_t row : segment.wanted) {
      std::memcpy(gathered.row(next++), rows.row(segment.first_row + row),
                  static_cast<std::size_t>(info_.hidden_size) * sizeof(float));
    }
  }
  lm_head_(pass, gathered, result.logits);
}

void ForConditionalGeneration::forward(Pass& pass, View rows, std::span<const Segment> segments,
                                       const model::ForwardResult& result) const {
  const ArenaScope scope(pass.arena);
  for (const Segment& segment : segments) {
    if (segment.record == nullptr) continue;
    segment.record->rows = segment.rows;
    segment.record->layers.assign(language_model_.layers.size(), {});
  }
  // The final norm is computed only if somebody looks at it: pieces of a prompt before the last one
  // want nothing.
  View final_hidden = result.final_hidden;
  const bool logits_wanted = result.logits.data != nullptr && result.logits.rows > 0;
  if (final_hidden.data == nullptr && has_last_layer_ && (logits_wanted || pass.trace != nullptr)) {
    final_hidden = pass.arena.matrix(rows.rows, rows.cols);
  }
  language_model_(pass, rows, segments, final_hidden);
  if (logits_wanted) wanted_logits(pass, final_hidden, segments, result);
  for (const Segment& segment : segments) {
    if (segment.record == nullptr) segment.cache->length += segment.rows;
  }
}

void ForConditionalGeneration::commit(Pass& pass, const model::StepRecord& record,
                                      std::int64_t rows, Cache& cache) const {
  for (std::size_t i = 0; i < language_model_.layers.size(); ++i) {
    const auto& layer = record.layers[i];
    if (auto* kv = std::get_if<model::KvLayer>(&cache.layers[i])) {
      const std::int64_t width = static_cast<std::int64_t>(layer.a.size()) / record.rows;
      kv->append(pass, {layer.a.data(), rows, width}, {layer.b.data(), rows, width});
    } else {
      const auto& net = std::get<GatedDeltaNet>(language_model_.layers[i].mixer);
      net.commit(pass, layer, rows, std::get<model::DeltaLayer>(cache.layers[i]));
    }
  }
  cache.length += rows;
}

// All pictures of one call as one matrix: theirs if there is one, else a copy.
ConstView joined_pixels(Pass& pass, std::span<const model::VisualInput> visuals) {
  if (visuals.size() == 1) return visuals[0].pixels;
  std::int64_t rows = 0;
  for (const auto& visual : visuals) rows += visual.pixels.rows;
  const View all = pass.arena.matrix(rows, visuals.empty() ? 0 : visuals[0].pixels.cols);
  std::int64_t next = 0;
  for (const auto& visual : visuals) {
    for (std::int64_t r = 0; r < visual.pixels.rows && !pass.counts_only(); ++r, ++next) {
      std::memcpy(all.row(next), visual.pixels.row(r),
                  static_cast<std::size_t>(all.cols) * sizeof(float));
    }
  }
  return all;
}

void ForConditionalGeneration::insert_features(Pass& pass,
                                               std::span<const model::VisualInput> visuals,
                                               std::int32_t id, std::span<const std::int32_t> ids,
                                               View rows) const {
  if (visuals.empty()) return;
  const ArenaScope scope(pass.arena);
  std::vector<nn::Grid> grids;
  for (const auto& visual : visuals) grids.push_back(visual.grid);
  const ConstView pixels = joined_pixels(pass, visuals);
  const std::int64_t merged = info_.spatial_merge_size * info_.spatial_merge_size;
  const View features = pass.arena.matrix(pixels.rows / merged, info_.hidden_size);
  tower()(pass, pixels, grids, features);
  insert_rows(pass, id, ids, features, rows);
}

// The placeholder rows become feature rows. HF: inputs_embeds.masked_scatter in Qwen3_5Model.
void ForConditionalGeneration::insert_rows(Pass& pass, std::int32_t id,
                                           std::span<const std::int32_t> ids, ConstView features,
                                           View rows, const nn::Where& where) const {
  nn::Span span{pass, insertion_site_, where};
  span.in("inputs_embeds", rows);
  if (span.tracing()) span.in(nn::tensor_ref("source", features, false));
  if (!pass.count({0, 0, 2 * features.rows * features.cols * dtype_size(DType::f32)})) {
    model::merge_features(ids, id, features, rows);
  }
  span.out(rows);
}

// The inputs that transformers' root and model calls receive, in its order.
void show_inputs(Pass& pass, nn::Span& span, const model::WholePrompt& prompt,
                 const model::ModelInfo& info) {
  if (!span.tracing()) return;
  const auto n = static_cast<std::int64_t>(prompt.ids.size());
  const auto show = [&](const char* name, const std::vector<std::int64_t>& values,
                        std::int64_t rows, std::int64_t cols) {
    span.in(TensorRef{name, DType::i64, Shape{rows, cols},
                      reinterpret_cast<const std::byte*>(values.data()), cols});
  };
  show("input_ids", {prompt.ids.begin(), prompt.ids.end()}, 1, n);
  show("attention_mask", std::vector<std::int64_t>(prompt.ids.size(), 1), 1, n);
  std::vector<std::int64_t> types;
  for (const std::int32_t id : prompt.ids)
    types.push_back(id == info.image_token_id ? 1 : id == info.video_token_id ? 2 : 0);
  show("mm_token_type_ids", types, 1, n);
  const auto show_visuals = [&](std::span<const model::VisualInput> visuals, const char* pixels,
                                const char* grids) {
    if (visuals.empty()) return;
    const ArenaScope scope(pass.arena);
    span.in(nn::tensor_ref(pixels, joined_pixels(pass, visuals), false));
    std::vector<std::int64_t> thw;
    for (const auto& visual : visuals)
      thw.insert(thw.end(), {visual.grid.t, visual.grid.h, visual.grid.w});
    show(grids, thw, static_cast<std::int64_t>(visuals.size()), 3);
  };
  show_visuals(prompt.images, "pixel_values", "image_grid_thw");
  show_visuals(prompt.videos, "pixel_values_videos", "video_grid_thw");
}

void ForConditionalGeneration::run_model(Pass& pass, const model::WholePrompt& prompt, Cache& cache,
                                         View final_hidden, const nn::Where& where) const {
  nn::Span span{pass, model_site_, where};
  show_inputs(pass, span, prompt, info_);
  // 1. Token embeddings. 2. The tower over all pictures, then over all clips, each inserted at its
  // placeholders.
  const View rows = span.tmp(final_hidden.rows, info_.hidden_size);
  language_model_.embed_tokens(pass, prompt.ids, rows);
  insert_features(pass, prompt.images, info_.image_token_id, prompt.ids, rows);
  insert_features(pass, prompt.videos, info_.video_token_id, prompt.ids, rows);
  span.note("inputs_embeds", rows);
  // 3. The language model in one piece.
  const Segment segment{&cache, 0,      rows.rows, prompt.positions, 0, model::RowKind::prompt,
                        {},     nullptr};
  language_model_(pass, rows, {&segment, 1}, final_hidden);
  cache.length += rows.rows;
  span.out(final_hidden);
}

void ForConditionalGeneration::whole(Pass& pass, const model::WholePrompt& prompt, Cache& cache,
                                     View logits) const {
  const auto n = static_cast<std::int64_t>(prompt.ids.size());
  if (n > model::kMaxWholeRows && !pass.counts_only()) {
    const double mebibytes =
        static_cast<double>(n) * static_cast<double>(info_.vocab_size) * sizeof(float) / kMebibyte;
    throw Error(Code::context_length_exceeded,
                fmt::format("a run with the head on every row: expected at most {} tokens, found "
                            "{} (their logits alone would "
                            "take {:.0f} MiB); ask a shorter question or use a smaller picture",
                            model::kMaxWholeRows, n, mebibytes));
  }
  check_ids(prompt.ids);
  nn::Span span{pass, site_, nn::Where::current()};
  show_inputs(pass, span, prompt, info_);
  const View final_hidden = span.tmp(n, info_.hidden_size);
  run_model(pass, prompt, cache, final_hidden);
  lm_head_(pass, final_hidden, logits);
  span.out(logits);
}

}  // namespace

std::unique_ptr<model::VisionLanguageModel> load_model(
    const Config& config, std::shared_ptr<const io::Checkpoint> checkpoint,
    std::optional<LayerRange> range) {
  const io::Loader loader(checkpoint);
  return std::make_unique<ForConditionalGeneration>(
      config, loader, std::move(checkpoint),
      range.value_or(LayerRange{0, config.text_config.num_hidden_layers}));
}

}  // namespace sightline::qwen3_5
