// Protects: watching costs nothing when nobody watches. The time of a null Span, times the spans of
// one token, is below a thousandth of that token's decode time; measured on a model of middling
// size whose weights are zeros (so that its file needs no disk), which takes the time of any other.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "audit/family.hpp"
#include "base/threads.hpp"
#include "generate/step.hpp"
#include "traced_case.hpp"
#include "unit/temporary_folder.hpp"

namespace sightline::audit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostShare = 1e-3;
constexpr std::int64_t kLayers = 8, kVocabulary = 32768;  // some 150 million parameters
constexpr int kSteps = 8, kRounds = 5, kSpans = 100'000;

void set(io::Json& object, const std::string& key, io::Json value) {
  for (auto& [name, member] : object.as_object()) {
    if (name == key) member = std::move(value);
  }
}

/// The 0.8B configuration, cut, without a tower.
io::Json cut_config() {
  io::Json config = published_config(*find_member("qwen3.5-0.8b"));
  std::erase_if(config.as_object(),
                [](const auto& member) { return member.first == "vision_config"; });
  for (auto& [key, text] : config.as_object()) {
    if (key != "text_config") continue;
    io::Json types = io::Json::array();
    for (std::int64_t i = 0; i < kLayers; ++i)
      types.push(i % 4 == 3 ? "full_attention" : "linear_attention");
    set(text, "layer_types", std::move(types));
    set(text, "num_hidden_layers", kLayers);
    set(text, "vocab_size", kVocabulary);
  }
  return config;
}

/// A checkpoint of zeros: a header, and a file with nothing behind it (no blocks on the disk).
void write_zeros(const TemporaryFolder& folder) {
  const io::Json config = cut_config();
  std::ofstream(folder.path("config.json")) << io::to_json_text(config);
  const auto declared = generate::declare_model(config, "cut");
  io::Json header = io::Json::object();
  std::int64_t end = 0;
  for (const io::ClaimedTensor& tensor : declared->info().report.tensors) {
    io::Json shape = io::Json::array();
    for (int i = 0; i < tensor.shape.rank(); ++i) shape.push(tensor.shape[i]);
    header.add(tensor.name,
               io::Json::Object{{"dtype", io::dtype_name(tensor.dtype)},
                                {"shape", std::move(shape)},
                                {"data_offsets", io::Json::Array{end, end + tensor.bytes()}}});
    end += tensor.bytes();
  }
  const std::string text = io::to_json_text(header), file = folder.path("model.safetensors");
  const std::uint64_t length = text.size();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << text;
  out.close();
  std::filesystem::resize_file(file, sizeof length + length + static_cast<std::uint64_t>(end));
}

/// Counts what one token calls.
class Counter final : public Trace {
 public:
  void enter(const Site&, const std::source_location&, const std::source_location&) override {
    ++spans;
  }
  void input(const Site&, const TensorRef&) override { ++values; }
  void note(const Site&, const TensorRef&) override { ++values; }
  void output(const Site&, const TensorRef&) override { ++values; }
  void leave(const Site&) override {}
  std::int64_t spans = 0, values = 0;
};

/// Seconds of one Span with an input, a note and an output, nobody watching: the best of a few
/// rounds.
double null_span_seconds() {
  Threads threads(1);
  Arena arena;
  nn::Pass pass(kernels::select("reference"), threads, arena);
  const Site site{0, "model", "Model"};
  std::vector<float> values(4);
  const View view{values.data(), 2, 2};
  double best = 1;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kSpans; ++i) {
      nn::Span span{pass, site, nn::Where::current()};
      span.in("x", view);
      span.note("inner", view);
      span.out(view);
      asm volatile("" : : "r"(&span) : "memory");  // as between calls that somebody else compiled
    }
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / kSpans);
  }
  return best;
}

TEST(SlowSpan, NobodyWatchingCostsAThousandthAtMost) {
  const TemporaryFolder folder;
  write_zeros(folder);
  const auto model = generate::load_model(folder.path(), true);
  Threads threads(available_threads().count);
  Arena arena;
  nn::Pass pass(kernels::select("auto"), threads, arena);
  model::Cache cache = model->new_cache(pass.precision);
  std::vector<float> logits(static_cast<std::size_t>(kVocabulary));
  Counter counter;
  pass.trace = &counter;
  generate::step(*model, pass, cache, 1, logits);
  pass.trace = nullptr;
  double step = 1e9;
  for (int i = 0; i < kSteps; ++i) {
    const auto start = Clock::now();
    generate::step(*model, pass, cache, 1, logits);
    step = std::min(step, std::chrono::duration<double>(Clock::now() - start).count());
  }
  const double span = null_span_seconds();
  const double share = static_cast<double>(counter.spans) * span / step;
  RecordProperty("spans_per_token", std::to_string(counter.spans));
  RecordProperty("null_span_ns", std::to_string(span * 1e9));
  RecordProperty("step_ms", std::to_string(step * 1e3));
  std::printf("%lld spans and %lld values a token, %.2f ns a null span, %.2f ms a token: %.6f %%\n",
              static_cast<long long>(counter.spans), static_cast<long long>(counter.values),
              span * 1e9, step * 1e3, 100 * share);
  EXPECT_GT(counter.spans, kLayers * 10);
  EXPECT_LT(share, kMostShare);
}

}  // namespace
}  // namespace sightline::audit
