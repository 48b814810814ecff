// Loading an engine (include/sightline/engine.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/background.hpp"
#include "generate/clock.hpp"
#include "generate/engine_impl.hpp"
#include "generate/load_model.hpp"
#include "generate/precision.hpp"
#include "kernels/delta_rule.hpp"

namespace sightline {
namespace {

// Default of the context: what most machines hold comfortably; the model's own limit if that is
// smaller.
constexpr std::int64_t kDefaultContext = 32768;

EngineOptions checked(EngineOptions options) {
  const auto refuse = [](const char* name, const char* expected, std::int64_t found) {
    throw Error(Code::invalid_option,
                fmt::format("{}: expected {}, found {}", name, expected, found),
                {{"option", name}});
  };
  constexpr int kMaxThreads = 1024;
  constexpr std::int64_t kMaxChunk = 1 << 16;
  if (options.threads < 0 || options.threads > kMaxThreads)
    refuse("threads", "a number from 1 to 1024", options.threads);
  if (options.prefill_chunk < 1 || options.prefill_chunk > kMaxChunk) {
    refuse("prefill-chunk", "a number of tokens from 1 to 65536", options.prefill_chunk);
  }
  if (options.context < 0) refuse("ctx", "a number of tokens", options.context);
  const std::int64_t grid = kernels::kDeltaChunk;
  options.prefill_chunk = (options.prefill_chunk + grid - 1) / grid * grid;
  return options;
}

std::int64_t bytes_of_shards(const std::string& directory) {
  std::int64_t total = 0;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    if (entry.path().extension() == ".safetensors")
      total += static_cast<std::int64_t>(entry.file_size(failure));
  }
  return total;
}

void settle_threads(Engine::Impl& impl) {
  const ThreadBudget budget = available_threads();
  const bool asked = impl.options.threads > 0;
  impl.info.threads = asked ? impl.options.threads : budget.count;
  impl.info.thread_reason = asked ? "asked for" : budget.reason;
  impl.threads = std::make_unique<Threads>(impl.info.threads);
}

void settle_kernels(Engine::Impl& impl) {
  impl.kernels = &kernels::select(impl.options.isa);
  impl.info.kernel_set = kernels::name_of(*impl.kernels);
  const bool asked = !impl.options.isa.empty() && impl.options.isa != "auto";
  impl.info.kernel_reason = asked ? "asked for" : "best that this CPU runs";
  const std::string_view refused = kernels::refused_set();
  if (!asked && !refused.empty()) impl.info.kernel_reason.append("; ").append(refused);
}

void settle_context(Engine::Impl& impl) {
  const std::int64_t most = impl.model->info().max_positions;
  if (impl.options.context > most) {
    throw Error(
        Code::invalid_option,
        fmt::format("ctx: expected at most {} (max_position_embeddings of the model), found {}",
                    most, impl.options.context),
        {{"option", "ctx"}});
  }
  impl.info.context =
      impl.options.context > 0 ? impl.options.context : std::min(most, kDefaultContext);
}

// Rows of the embedding beyond the tokenizer are padding: they are never chosen.
std::vector<std::uint64_t> vocabulary_mask(const tokenizer::Tokenizer& tokenizer,
                                           std::int64_t rows) {
  constexpr std::int64_t kBits = 64;
  std::vector<std::uint64_t> mask(static_cast<std::size_t>((rows + kBits - 1) / kBits), 0);
  for (std::int64_t id = 0; id < rows; ++id) {
    if (tokenizer.contains(static_cast<std::int32_t>(id))) {
      mask[static_cast<std::size_t>(id / kBits)] |= std::uint64_t{1} << (id % kBits);
    }
  }
  return mask;
}

// Ids that end an answer: of both configuration files, and the two of the chat format whatever the
// files say.
std::vector<std::int32_t> end_ids(const Engine::Impl& impl) {
  std::vector<std::int32_t> ids = impl.prompts->control_ids().end;
  const auto add = [&](const std::vector<std::int32_t>& more) {
    ids.insert(ids.end(), more.begin(), more.end());
  };
  add(impl.model->info().eos_token_ids);
  add(impl.generation.eos_token_ids);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// Both files describe the patches; they must agree before anything is computed.
void check_geometry(const Engine::Impl& impl) {
  const model::ModelInfo& model = impl.model->info();
  if (!model.has_vision) return;
  const auto check_file = [&](const image::ProcessorConfig& processor) {
    const auto check = [&](const char* key, std::int64_t expected, std::int64_t found) {
      if (expected == found) return;
      throw Error(Code::invalid_processor,
                  fmt::format("{}: {}: expected {} (vision_config of config.json), found {}",
                              processor.file, key, expected, found),
                  {{"file", processor.file}, {"path", key}});
    };
    check("patch_size", model.patch_size, processor.patch_size);
    check("temporal_patch_size", model.temporal_patch_size, processor.temporal_patch_size);
    check("merge_size", model.spatial_merge_size, processor.merge_size);
  };
  check_file(impl.prompts->processor());
  if (impl.prompts->has_video_processor()) check_file(impl.prompts->video_processor().frames);
}

// Opens what turns messages into ids, most of which is reading tokenizer.json, and the model beside
// it, unless matrices are rounded, which takes all threads. If both fail, the first is reported.
template <class OnPrompts>
void open_parts(Engine::Impl& impl, const std::string& directory, const OnPrompts& on_prompts) {
  const EngineOptions& options = impl.options;
  const io::WeightForm form =
      generate::weight_form(options.precision, options.vision_precision, impl.info.threads);
  Background<generate::PromptBuilder> prompts(
      [&] { return generate::PromptBuilder::open(directory, options); });
  const auto take_prompts = [&] {
    impl.prompts = std::make_unique<generate::PromptBuilder>(prompts.take());
    on_prompts();
  };
  const auto load = [&] { impl.model = generate::load_model(directory, options.use_mmap, form); };
  if (form.language_bits > 0 || form.vision_bits > 0) {
    take_prompts();
    return load();
  }
  try {
    load();
  } catch (...) {
    take_prompts();
    throw;
  }
  take_prompts();
}

}  // namespace

Engine::Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Engine Engine::load(const std::string& directory, const EngineOptions& options,
                    const OnProgress& on_progress) {
  const generate::Stopwatch clock;
  const auto progress = [&](std::int64_t done) {
    constexpr std::int64_t kSteps = 2;
    if (on_progress) on_progress({Progress::Stage::load, done, kSteps});
  };
  auto impl = std::make_shared<Impl>(checked(options));
  settle_kernels(*impl);
  settle_threads(*impl);
  progress(0);
  open_parts(*impl, directory, [&] { progress(1); });
  impl->generation = generate::read_generation_config(directory);
  impl->precision = generate::cache_precision(options.precision);
  settle_context(*impl);
  check_geometry(*impl);
  impl->vocabulary_mask =
      vocabulary_mask(impl->prompts->tokenizer(), impl->model->info().vocab_size);
  impl->end_ids = end_ids(*impl);
  EngineInfo& info = impl->info;
  info.directory = directory;
  info.model_type = impl->model->info().model_type;
  info.precision = generate::name_of(options.precision);
  info.vocab_size = impl->model->info().vocab_size;
  info.has_vision = impl->model->info().has_vision;
  info.checkpoint_bytes = bytes_of_shards(directory);
  impl->load_ms = clock.ms();
  progress(2);
  return Engine(std::move(impl));
}

const EngineInfo& Engine::info() const { return impl_->info; }

}  // namespace sightline
