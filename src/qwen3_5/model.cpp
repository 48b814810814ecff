// HF: Qwen3_5ForConditionalGeneration and Qwen3_5Model (and their Moe twins), or Qwen3_5ForCausalLM
// for the language model alone, behind the VisionLanguageModel interface (model.hpp).
#include "qwen3_5/model.hpp"

#include <fmt/format.h>

#include "model/attend.hpp"
#include "model/whole_prompt.hpp"
#include "qwen3_5/mtp.hpp"
#include "qwen3_5/vision.hpp"

namespace sightline::qwen3_5 {
namespace {

using model::Cache;
using model::Segment;
using nn::Pass;

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
  void run_model(Pass& pass, const model::WholePrompt& prompt, Cache& cache, View final_hidden,
                 const nn::Where& where = nn::Where::current()) const;
  void insert_features(Pass& pass, std::span<const model::VisualInput> visuals, std::int32_t id,
                       std::span<const std::int32_t> ids, View rows) const;
  void insert_rows(Pass& pass, std::int32_t id, std::span<const std::int32_t> ids,
                   ConstView features, View rows,
                   const nn::Where& where = nn::Where::current()) const;
  void run_language_model(Pass& pass, const model::WholePrompt& prompt, Cache& cache, View rows,
                          View final_hidden, const nn::Where& where = nn::Where::current()) const;

  Config config_;
  std::shared_ptr<const io::Checkpoint> checkpoint_;  // owns the weights' bytes
  Site site_;
  std::optional<Site> model_site_;  // none where the language model is all there is
  Site insertion_site_;
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
  // HF: Qwen3_5ForCausalLM ignores what lies below model.visual.
  if (config.text_only || config.language_model_only) loader.at("model.visual").skip();
  if (!config.vision_config) return std::nullopt;
  return VisionModel::load(loader.at("model.visual"), *config.vision_config);
}

// The head is its own tensor if the checkpoint stores one, whatever the configuration says about
// tying (specification 1.1).
nn::Linear load_head(const Config& config, const io::Loader& loader, const Weight& embeddings) {
  const io::Loader head = loader.at("lm_head").batched();
  const std::int64_t out = config.text_config.vocab_size, in = config.text_config.hidden_size;
  if (head.has_weight("weight")) return nn::Linear::load(head, out, in);
  return {nn::Linear::linear_site(head, out, in, nn::Linear::Bias::none), embeddings, {}};
}

std::optional<Site> model_site(const Config& config, const io::Loader& loader) {
  if (config.text_only) return std::nullopt;
  return loader.at("model").batched().site(config.text_config.class_name("Model"));
}

ForConditionalGeneration::ForConditionalGeneration(const Config& config, const io::Loader& loader,
                                                   std::shared_ptr<const io::Checkpoint> checkpoint,
                                                   LayerRange range)
    : config_(config),
      checkpoint_(std::move(checkpoint)),
      site_(loader.batched().site(config.text_config.class_name(
          config.text_only ? "ForCausalLM" : "ForConditionalGeneration"))),
      model_site_(model_site(config, loader)),
      insertion_site_(loader.at("model").batched().operation("masked_scatter")),
      visual_(load_tower(config, loader)),
      language_model_(
          TextModel::load(loader.at(config.text_only ? "model" : "model.language_model").batched(),
                          config.text_config, range)),
      lm_head_(load_head(config, loader, language_model_.embed_tokens.weight)),
      info_(make_info(config)),
      has_last_layer_(range.end == config.text_config.num_hidden_layers) {
  info_.tied_head = !loader.at("lm_head").has_weight("weight");
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
        fmt::format(
            "{}: the checkpoint has no vision tower (config.json {}): it answers text only",
            checkpoint_->directory(),
            config_.language_model_only ? "says language_model_only" : "lacks vision_config"));
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

void ForConditionalGeneration::embed(Pass& pass, std::span<const std::int32_t> ids,
                                     View rows) const {
  model::check_ids(ids, info_.vocab_size);
  language_model_.embed_tokens(pass, ids, rows);
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
  if (logits_wanted) {
    const View gathered = pass.arena.matrix(result.logits.rows, info_.hidden_size);
    model::gather_wanted(pass, final_hidden, segments, gathered);
    lm_head_(pass, gathered, result.logits);
  }
  for (const Segment& segment : segments) {
    if (segment.record == nullptr) segment.cache->length += segment.rows;
  }
}

void ForConditionalGeneration::commit(Pass& pass, const model::StepRecord& record,
                                      std::int64_t rows, Cache& cache) const {
  for (std::size_t i = 0; i < language_model_.layers.size(); ++i) {
    const auto& layer = record.layers[i];
    if (auto* kv = std::get_if<model::KvLayer>(&cache.layers[i])) {
      model::commit_rows(pass, layer, record.rows, rows, *kv);
    } else {
      const auto& net = std::get<GatedDeltaNet>(language_model_.layers[i].mixer);
      net.commit(pass, layer, rows, std::get<model::DeltaLayer>(cache.layers[i]));
    }
  }
  cache.length += rows;
}

void ForConditionalGeneration::insert_features(Pass& pass,
                                               std::span<const model::VisualInput> visuals,
                                               std::int32_t id, std::span<const std::int32_t> ids,
                                               View rows) const {
  if (visuals.empty()) return;
  const ArenaScope scope(pass.arena);
  std::vector<nn::Grid> grids;
  for (const auto& visual : visuals) grids.push_back(visual.grid);
  const ConstView pixels = model::joined_pixels(pass, visuals);
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

void ForConditionalGeneration::run_language_model(Pass& pass, const model::WholePrompt& prompt,
                                                  Cache& cache, View rows, View final_hidden,
                                                  const nn::Where& where) const {
  const Segment segment{&cache, 0,      rows.rows, prompt.positions, 0, model::RowKind::prompt,
                        {},     nullptr};
  language_model_(pass, rows, {&segment, 1}, final_hidden, where);
  cache.length += rows.rows;
}

void ForConditionalGeneration::run_model(Pass& pass, const model::WholePrompt& prompt, Cache& cache,
                                         View final_hidden, const nn::Where& where) const {
  nn::Span span{pass, *model_site_, where};
  model::show_inputs(pass, span, prompt, info_);
  // 1. Token embeddings. 2. The tower over all pictures, then over all clips, each inserted at its
  // placeholders.
  const View rows = span.tmp(final_hidden.rows, info_.hidden_size);
  language_model_.embed_tokens(pass, prompt.ids, rows);
  insert_features(pass, prompt.images, info_.image_token_id, prompt.ids, rows);
  insert_features(pass, prompt.videos, info_.video_token_id, prompt.ids, rows);
  span.note("inputs_embeds", rows);
  // 3. The language model in one piece.
  run_language_model(pass, prompt, cache, rows, final_hidden);
  span.out(final_hidden);
}

void ForConditionalGeneration::whole(Pass& pass, const model::WholePrompt& prompt, Cache& cache,
                                     View logits) const {
  const auto n = static_cast<std::int64_t>(prompt.ids.size());
  model::check_whole_rows(pass, n, info_.vocab_size);
  model::check_ids(prompt.ids, info_.vocab_size);
  if (!prompt.images.empty() || !prompt.videos.empty()) (void)tower();
  nn::Span span{pass, site_, nn::Where::current()};
  model::show_inputs(pass, span, prompt, info_);
  const View final_hidden = span.tmp(n, info_.hidden_size);
  if (model_site_) {
    run_model(pass, prompt, cache, final_hidden);
  } else {
    const View rows = span.tmp(n, info_.hidden_size);
    language_model_.embed_tokens(pass, prompt.ids, rows);
    run_language_model(pass, prompt, cache, rows, final_hidden);
  }
  lm_head_(pass, final_hidden, logits);
  span.out(logits);
}

}  // namespace

std::unique_ptr<model::VisionLanguageModel> load_model(
    const Config& config, std::shared_ptr<const io::Checkpoint> checkpoint,
    std::optional<LayerRange> range) {
  const io::Loader loader(checkpoint, config.quantisation);
  return std::make_unique<ForConditionalGeneration>(
      config, loader, std::move(checkpoint),
      range.value_or(LayerRange{0, config.text_config.num_hidden_layers}));
}

}  // namespace sightline::qwen3_5
