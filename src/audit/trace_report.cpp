// Parameters, totals and JSON of a traced run (trace_report.hpp).
#include "audit/trace_report.hpp"

#include <algorithm>
#include <cmath>

#include "audit/base64.hpp"
#include "audit/module_source.hpp"
#include "audit/trace_run.hpp"
#include "base/sha256.hpp"

namespace sightline::audit {
namespace {

constexpr std::string_view kHead = "lm_head", kEmbeddings = "model.language_model.embed_tokens";
constexpr double kMostByte = 255;

io::Json shape_json(const Shape& shape) {
  io::Json dims = io::Json::array();
  for (int i = 0; i < shape.rank(); ++i) dims.push(shape[i]);
  return dims;
}

io::Json statistics_json(const trace::Statistics& s) {
  return io::Json::Object{{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"std", s.std},
                          {"l2", s.l2},   {"nan", s.nan}, {"inf", s.inf}};
}

io::Json histogram_json(const trace::Maps& maps) {
  io::Json counts = io::Json::array();
  for (const std::int64_t count : maps.histogram) counts.push(count);
  return io::Json::Object{{"min", maps.min}, {"max", maps.max}, {"counts", std::move(counts)}};
}

io::Json row_norms_json(const std::vector<double>& norms) {
  double most = 0;
  for (const double norm : norms) most = std::max(most, norm);
  std::string bytes;
  for (const double norm : norms) {
    const double share = most > 0 ? norm / most : 0;
    bytes += static_cast<char>(static_cast<unsigned char>(std::lround(share * kMostByte)));
  }
  return io::Json::Object{{"max", most}, {"u8", base64(bytes)}};
}

io::Json tensors_json(const std::vector<EventTensor>& tensors) {
  io::Json list = io::Json::array();
  for (const EventTensor& tensor : tensors) list.push(tensor_json(tensor));
  return list;
}

io::Json runs_json(const generate::PromptPicture& picture) {
  io::Json runs = io::Json::array();
  for (const generate::PlaceholderRun& run : picture.runs)
    runs.push(io::Json::Object{{"first", run.first_token}, {"tokens", run.tokens}});
  return runs;
}

io::Json place_json(const std::source_location& where) {
  return io::Json::Object{{"file", source_file(where)},
                          {"line", static_cast<std::int64_t>(where.line())},
                          {"function", where.function_name()}};
}

io::Json totals_json(const TraceReport& report) {
  const ParameterCount all = report.parameters();
  io::Json totals = io::Json::Object{{"calls", report.events.size()},
                                     {"parameters", all.parameters},
                                     {"parameter_bytes", all.bytes}};
  if (report.counted) {
    totals.add("flops", report.work.flops);
    totals.add("weight_bytes", report.work.weight_bytes);
    totals.add("activation_bytes", report.work.activation_bytes);
  }
  if (!report.shapes_only) totals.add("dur_us", report.duration_us());
  totals.add("cache_bytes", report.cache_bytes);
  totals.add("peak_memory_bytes", report.peak_memory_bytes);
  return totals;
}

}  // namespace

ParameterCount TraceReport::parameters_of(const Event& event) const {
  if (event.operation) return {};
  const bool tied = event.path == kHead && info->tied_head;
  const ModuleNode* node = tree.find(tied ? kEmbeddings : std::string_view(event.path));
  if (node == nullptr) return {};
  return {node->parameters(), node->bytes(), tied};
}

ParameterCount TraceReport::parameters() const { return {tree.parameters(), tree.bytes(), false}; }

bool TraceReport::sound() const {
  if (shapes_only) return true;
  return all_ok(proofs) && !failure && first_non_finite(events) == nullptr;
}

double TraceReport::duration_us() const { return events.empty() ? 0 : events.front().duration_us; }

std::string config_sha256(const io::Json& config) {
  const std::string text = io::to_json_text(config);
  return sha256_hex(text.data(), text.size());
}

io::Json tensor_json(const EventTensor& tensor) {
  io::Json json = io::Json::Object{{"name", tensor.name},
                                   {"shape", shape_json(tensor.shape)},
                                   {"dtype", dtype_text(tensor.dtype)}};
  if (tensor.statistics) json.add("stats", statistics_json(*tensor.statistics));
  if (tensor.maps) {
    json.add("histogram", histogram_json(*tensor.maps));
    json.add("row_norms", row_norms_json(tensor.maps->row_norms));
  }
  return json;
}

io::Json event_json(const TraceReport& report, const Event& event, std::size_t number) {
  io::Json json = io::Json::Object{{"i", number}, {"event", event.index}};
  if (!report.shapes_only) {
    json.add("t_us", event.start_us);
    json.add("dur_us", event.duration_us);
  }
  json.add("kind", event.operation ? "op" : "module");
  json.add("name", event.name());
  json.add("class", event.class_name);
  json.add("call", event.call);
  json.add("depth", event.depth);
  json.add("stage", channel_name(channel_of(event)));
  json.add("in", tensors_json(event.inputs));
  if (!event.inner.empty()) json.add("inner", tensors_json(event.inner));
  json.add("out", tensors_json(event.outputs));
  if (!event.outputs.empty() && event.outputs.front().statistics)
    json.add("stats", statistics_json(*event.outputs.front().statistics));
  const ParameterCount parameters = report.parameters_of(event);
  json.add("params", parameters.parameters);
  if (parameters.tied) json.add("tied", true);
  if (report.counted) {
    json.add("flops", event.work.flops);
    json.add("weight_bytes", event.work.weight_bytes);
    json.add("activation_bytes", event.work.activation_bytes);
  }
  json.add("caller", place_json(event.caller));
  json.add("callee", place_json(event.callee));
  return json;
}

io::Json trace_json(const TraceReport& report, Level level) {
  const std::vector<std::size_t> shown = shown_events(report.events, level);
  io::Json events = io::Json::array();
  for (std::size_t i = 0; i < shown.size(); ++i)
    events.push(event_json(report, report.events[shown[i]], i + 1));
  io::Json pairs = io::Json::array();
  for (auto& [from, to] : edges(report.events, shown_events(report.events, Level::root)))
    pairs.push(io::Json::Array{std::move(from), std::move(to)});
  constexpr const char* kLevels[] = {"root", "stages", "all"};
  io::Json document = io::Json::Object{
      {"schema", kTraceSchema},
      {"engine", io::Json::Object{{"name", "sightline"},
                                  {"version", report.engine_version},
                                  {"sources_sha256", sources_sha256()}}},
      {"model", io::Json::Object{{"name", report.model},
                                 {"model_type", report.info->model_type},
                                 {"config_sha256", report.config_sha256}}},
      {"shapes_only", report.shapes_only},
      {"prompt_tokens", report.prompt_tokens},
      {"visual_tokens", report.visual_tokens},
      {"inputs",
       report.events.empty() ? io::Json::array() : tensors_json(report.events.front().inputs)},
      {"level", kLevels[static_cast<std::size_t>(level)]},
      {"events", std::move(events)},
      {"edges", std::move(pairs)},
      {"totals", totals_json(report)},
      {"proof", proof_json(report.proofs)}};
  if (!report.shapes_only) {
    const Event* broken = first_non_finite(report.events);
    document.add("first_non_finite", broken == nullptr ? io::Json(nullptr) : broken->key());
    document.add("failure", report.failure ? io::Json(*report.failure) : io::Json(nullptr));
  }
  return document;
}

void add_prompt_json(const generate::Prompt& prompt, const tokenizer::Tokenizer& tokenizer,
                     io::Json& document) {
  io::Json pictures = io::Json::array(), tokens = io::Json::array(), axes = io::Json::array();
  for (const generate::PromptPicture& picture : prompt.pictures) {
    const image::Grid& grid = picture.picture.grid;
    io::Json json = io::Json::Object{{"name", picture.name},
                                     {"grid", io::Json::Array{grid.t, grid.h, grid.w}},
                                     {"first", picture.first_token},
                                     {"tokens", picture.picture.tokens}};
    if (picture.is_video()) json.add("runs", runs_json(picture));
    pictures.push(std::move(json));
  }
  for (const std::int32_t id : prompt.ids)
    tokens.push(io::Json::Object{{"id", id}, {"text", tokenizer.decode(std::span(&id, 1))}});
  for (const auto& axis : prompt.positions.axes) {
    io::Json list = io::Json::array();
    for (const std::int32_t position : axis) list.push(position);
    axes.push(std::move(list));
  }
  document.add("prompt", prompt.text.bytes);
  document.add("pictures", std::move(pictures));
  document.add("tokens", std::move(tokens));
  document.add("positions", std::move(axes));
  document.add("rope_delta", prompt.rope_delta);
}

}  // namespace sightline::audit
