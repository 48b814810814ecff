// Writes out what a run gave and what it cost.
#include "cli/result_report.hpp"

#include <fmt/format.h>

#include <limits>

namespace sightline::cli {
namespace {

constexpr double kMsPerSecond = 1000, kBytesPerMiB = 1024.0 * 1024.0;

template <std::size_t N>
io::Json list(const std::array<std::int64_t, N>& values) {
  io::Json array = io::Json::array();
  for (const std::int64_t value : values) array.push(value);
  return array;
}

/// Tokens per second, 0 when no time was measured.
double rate(std::int64_t tokens, double ms) {
  return ms > 0 ? static_cast<double>(tokens) * kMsPerSecond / ms : 0;
}

/// JSON integers of this program are 64-bit and signed; a larger seed is written as text.
io::Json seed_json(std::uint64_t seed) {
  if (seed <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return static_cast<std::int64_t>(seed);
  }
  return std::to_string(seed);
}

io::Json video_json(const VideoReport& video) {
  io::Json indices = io::Json::array(), seconds = io::Json::array();
  for (const std::int64_t index : video.indices) indices.push(index);
  for (const double time : video.seconds) seconds.push(time);
  return io::Json::Object{{"frames", video.frames},
                          {"rate", video.rate ? io::Json(*video.rate) : io::Json(nullptr)},
                          {"indices", std::move(indices)},
                          {"seconds", std::move(seconds)}};
}

io::Json picture_json(const PictureReport& picture) {
  io::Json notes = io::Json::array();
  for (const std::string& note : picture.notes) notes.push(note);
  io::Json json = io::Json::Object{{"name", picture.name},
                                   {"format", picture.format},
                                   {"original", list(picture.original)},
                                   {"resized", list(picture.resized)},
                                   {"grid", list(picture.grid)},
                                   {"tokens", picture.tokens},
                                   {"orientation", picture.orientation},
                                   {"encoded", picture.encoded},
                                   {"decode_ms", picture.decode_ms},
                                   {"encode_ms", picture.encode_ms},
                                   {"notes", std::move(notes)}};
  if (picture.video) json.add("video", video_json(*picture.video));
  return json;
}

io::Json candidate_json(const TokenLogprob& candidate) {
  return io::Json::Object{
      {"id", candidate.id}, {"piece", candidate.piece}, {"logprob", candidate.logprob}};
}

io::Json logprobs_json(const Result& result) {
  io::Json tokens = io::Json::array();
  for (const Token& token : result.tokens) {
    io::Json entry = token.logprob ? candidate_json(*token.logprob) : io::Json::object();
    io::Json top = io::Json::array();
    for (const TokenLogprob& candidate : token.top) top.push(candidate_json(candidate));
    entry.add("top", std::move(top));
    tokens.push(std::move(entry));
  }
  return tokens;
}

/// Tokens after the first: the first one comes with the prompt.
std::int64_t steps(const Result& result) {
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(result.token_ids.size()) - 1);
}

io::Json timings_json(const Result& result) {
  const Timings& timings = result.timings;
  const std::int64_t computed = result.prompt_tokens - result.cached_tokens;
  return io::Json::Object{{"load_ms", timings.load_ms},
                          {"prepare_ms", timings.prepare_ms},
                          {"encode_ms", timings.encode_ms},
                          {"prefill_ms", timings.prefill_ms},
                          {"decode_ms", timings.decode_ms},
                          {"prompt_tokens_per_second", rate(computed, timings.prefill_ms)},
                          {"tokens_per_second", rate(steps(result), timings.decode_ms)}};
}

std::string rounding(const EngineOptions& options) {
  if (options.precision == PrecisionMode::f32) return "f32: nothing is rounded, cache in float32";
  if (options.precision != PrecisionMode::bf16) {
    return "packed matrices times rounded activations, in integers (codes of 8 bits times 14 "
           "bits, of 4 bits times 8); keys and values of the cache bfloat16; convolution and "
           "recurrent state stay float32";
  }
  return "bf16: keys and values of the cache, and left operands where the kernel set multiplies "
         "bfloat16; convolution and recurrent state stay float32";
}

std::string cost_text(const PictureReport& picture) {
  if (!picture.encoded) return "not encoded again";
  return fmt::format("{} in {:.0f} ms, {} in {:.0f} ms", picture.video ? "opened" : "decoded",
                     picture.decode_ms, picture.video ? "decoded and encoded" : "encoded",
                     picture.encode_ms);
}

std::string picture_line(const PictureReport& picture) {
  std::string line = fmt::format("{} ({}): ", picture.name, picture.format);
  if (picture.video) {
    line +=
        fmt::format("{} of {} frames{}, ", picture.video->indices.size(), picture.video->frames,
                    picture.video->rate ? fmt::format(" at {:.4g}/s", *picture.video->rate) : "");
  }
  line += fmt::format("{} x {} -> {} x {}, grid {}{} x {}, {} tokens, {}", picture.original[1],
                      picture.original[0], picture.resized[1], picture.resized[0],
                      picture.video ? fmt::format("{} x ", picture.grid[0]) : "", picture.grid[1],
                      picture.grid[2], picture.tokens, cost_text(picture));
  if (picture.orientation != 1) line += fmt::format(", orientation {}", picture.orientation);
  for (const std::string& note : picture.notes) line += "; " + note;
  return line;
}

}  // namespace

io::Json result_json(const Result& result) {
  io::Json ids = io::Json::array(), pictures = io::Json::array();
  for (const std::int32_t id : result.token_ids) ids.push(id);
  for (const PictureReport& picture : result.pictures) pictures.push(picture_json(picture));
  io::Json json = io::Json::Object{{"text", result.text},
                                   {"reasoning", result.reasoning},
                                   {"token_ids", std::move(ids)},
                                   {"finish_reason", result.finish_reason}};
  if (!result.stop_match.empty()) json.add("stop_match", result.stop_match);
  json.add("prompt_tokens", result.prompt_tokens);
  json.add("cached_tokens", result.cached_tokens);
  json.add("completion_tokens", result.token_ids.size());
  json.add("pictures", std::move(pictures));
  json.add("seed", seed_json(result.seed));
  json.add("timings", timings_json(result));
  json.add("peak_memory_bytes", result.peak_memory_bytes);
  json.add("page_ins",
           io::Json::Object{{"faults", result.page_ins.faults}, {"bytes", result.page_ins.bytes}});
  if (!result.tokens.empty()) json.add("logprobs", logprobs_json(result));
  return json;
}

io::Json engine_json(const EngineInfo& info, const EngineOptions& options) {
  return io::Json::Object{
      {"directory", info.directory},   {"model_type", info.model_type},
      {"threads", info.threads},       {"threads_reason", info.thread_reason},
      {"kernel_set", info.kernel_set}, {"kernel_set_reason", info.kernel_reason},
      {"precision", info.precision},   {"rounding", rounding(options)},
      {"mapped", options.use_mmap},    {"checkpoint_bytes", info.checkpoint_bytes},
      {"context", info.context}};
}

std::string stats_text(const Result& result, const EngineInfo& info, const EngineOptions& options) {
  const Timings& t = result.timings;
  const std::int64_t computed = result.prompt_tokens - result.cached_tokens;
  std::string text =
      fmt::format("threads      {} ({})\nkernel set   {} ({})\nprecision    {}\n", info.threads,
                  info.thread_reason, info.kernel_set, info.kernel_reason, rounding(options));
  text += fmt::format("checkpoint   {:.1f} MiB of weights, {}, ready in {:.0f} ms\n",
                      static_cast<double>(info.checkpoint_bytes) / kBytesPerMiB,
                      options.use_mmap ? "mapped" : "read into memory", t.load_ms);
  for (const PictureReport& picture : result.pictures) {
    text += fmt::format("{:<13}{}\n", picture.video ? "video" : "picture", picture_line(picture));
  }
  text += fmt::format(
      "prompt       {} tokens, {} of them cached; prepared in {:.0f} ms, pictures {:.0f} ms, "
      "prompt {:.0f} ms ({:.1f} tokens/s)\n",
      result.prompt_tokens, result.cached_tokens, t.prepare_ms, t.encode_ms, t.prefill_ms,
      rate(computed, t.prefill_ms));
  text += fmt::format("answer       {} tokens in {:.0f} ms ({:.1f} tokens/s), {}, seed {}\n",
                      result.token_ids.size(), t.decode_ms, rate(steps(result), t.decode_ms),
                      result.finish_reason, result.seed);
  text += fmt::format("memory       {:.1f} MiB at the peak, mapped pages included\n",
                      static_cast<double>(result.peak_memory_bytes) / kBytesPerMiB);
  return text + fmt::format("page-ins     {} faults, {:.1f} MiB read from storage\n",
                            result.page_ins.faults,
                            static_cast<double>(result.page_ins.bytes) / kBytesPerMiB);
}

}  // namespace sightline::cli
