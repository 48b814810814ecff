// Reads request lines strictly: an unknown member is an error, never ignored.
#include "cli/jsonl_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>

#include "calc/sampling.hpp"
#include "generate/sampler.hpp"

namespace sightline::cli {
namespace {

constexpr std::array kMembers{
    "id",       "question", "images",     "videos",     "system",           "messages",
    "tools",    "kwargs",   "thinking",   "stop",       "add_vision_id",    "max_tokens",
    "logprobs", "fps",      "num_frames", "max_frames", "video_fps",        "temperature",
    "top_p",    "top_k",    "min_p",      "seed",       "presence_penalty", "repetition_penalty"};
constexpr std::int64_t kMostLogprobs = 100;

void refuse_unknown(const io::JsonReader& line) {
  for (const auto& [key, value] : line.value().as_object()) {
    if (std::find(kMembers.begin(), kMembers.end(), key) != kMembers.end()) continue;
    line.fail(fmt::format("only the members {}", fmt::join(kMembers, ", ")),
              fmt::format("\"{}\"", key));
  }
}

std::vector<std::string> texts(const io::JsonReader& value) {
  if (value.value().is_string()) return {value.string()};
  std::vector<std::string> list;
  for (std::size_t i = 0; i < value.size(); ++i) list.push_back(value.at(i).string());
  return list;
}

std::uint64_t read_seed(const io::JsonReader& value) {
  if (value.value().is_int()) {
    return static_cast<std::uint64_t>(value.integer(0, std::numeric_limits<std::int64_t>::max()));
  }
  const std::string text = value.value().is_string() ? value.string() : "";
  std::uint64_t seed = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    value.fail("an integer from 0 to 2^63 - 1, or the text of one up to 2^64 - 1",
               io::to_json_text(value.value()));
  }
  return seed;
}

void read_sampling(const io::JsonReader& line, Sampling& sampling) {
  const auto number = [&](const char* key, double min, double max, std::optional<double>& target) {
    if (line.has(key)) target = line.at(key).number(min, max);
  };
  number("temperature", 0, generate::kMaxTemperature, sampling.temperature);
  number("top_p", 0, 1, sampling.top_p);
  number("min_p", 0, 1, sampling.min_p);
  number("presence_penalty", -generate::kMaxPresencePenalty, generate::kMaxPresencePenalty,
         sampling.presence_penalty);
  number("repetition_penalty", generate::kMinRepetitionPenalty, generate::kMaxRepetitionPenalty,
         sampling.repetition_penalty);
  if (line.has("top_k")) sampling.top_k = line.at("top_k").integer(0, generate::kMaxTopK);
  if (line.has("seed")) sampling.seed = read_seed(line.at("seed"));
}

void read_options(const io::JsonReader& line, Request& request) {
  read_sampling(line, request.sampling);
  if (line.has("max_tokens")) {
    request.max_tokens = line.at("max_tokens").integer(1, std::numeric_limits<std::int64_t>::max());
  }
  if (line.has("logprobs")) {
    request.logprobs = static_cast<int>(line.at("logprobs").integer(0, kMostLogprobs));
  }
  if (line.has("thinking")) request.thinking = line.at("thinking").boolean();
  if (line.has("add_vision_id")) request.add_vision_id = line.at("add_vision_id").boolean();
  if (line.has("stop")) request.stop = texts(line.at("stop"));
  if (line.has("tools")) request.tools_json = io::to_json_text(line.at("tools").value());
  if (line.has("kwargs"))
    request.template_kwargs_json = io::to_json_text(line.at("kwargs").value());
}

std::string absolute_to(const std::string& base, const std::string& path) {
  return base.empty() ? path : (std::filesystem::path(base) / path).string();
}

/// What a line says of its videos.
VideoOptions read_video_options(const io::JsonReader& line) {
  VideoOptions options;
  const auto rate = [&](const char* key, std::optional<double>& target) {
    if (line.has(key)) target = line.at(key).number(calc::kMinRate, calc::kMaxRate);
  };
  const auto count = [&](const char* key, std::optional<std::int64_t>& target) {
    if (line.has(key)) target = line.at(key).integer(1, calc::kMaxFrames);
  };
  rate("fps", options.fps);
  rate("video_fps", options.rate);
  count("num_frames", options.num_frames);
  count("max_frames", options.max_frames);
  return options;
}

void read_question(const io::JsonReader& line, const std::optional<std::string>& system,
                   const std::string& base_directory, Request& request) {
  std::vector<Part> content;
  if (line.has("images")) {
    for (const std::string& path : texts(line.at("images"))) {
      content.emplace_back(Picture::file(absolute_to(base_directory, path)));
    }
  }
  if (!line.has("videos")) {
    for (const char* key : {"fps", "num_frames", "max_frames", "video_fps"}) {
      if (line.has(key)) line.fail("\"videos\" beside it", fmt::format("\"{}\" alone", key));
    }
  } else {
    for (const std::string& path : texts(line.at("videos"))) {
      Video video = Video::file(absolute_to(base_directory, path));
      video.options = read_video_options(line);
      content.emplace_back(std::move(video));
    }
  }
  content.emplace_back(line.at("question").string());
  if (line.has("system")) {
    request.messages.push_back({"system", {line.at("system").string()}});
  } else if (system) {
    request.messages.push_back({"system", {*system}});
  }
  request.messages.push_back(user(std::move(content)));
}

}  // namespace

Request parse_request_line(const io::Json& json, const std::string& where,
                           const ConversationOptions& defaults, const std::string& base_directory) {
  const io::JsonReader line(json, where, "", Code::invalid_messages);
  if (!json.is_object()) line.fail("an object", json.type_name());
  refuse_unknown(line);
  (void)request_id(json, where);
  Request request = make_request(defaults);
  read_options(line, request);
  if (!line.has("messages")) {
    read_question(line, defaults.system, base_directory, request);
    return request;
  }
  for (const char* key :
       {"question", "images", "videos", "system", "fps", "num_frames", "max_frames", "video_fps"}) {
    if (line.has(key)) line.fail("\"messages\" alone", fmt::format("also \"{}\"", key));
  }
  request.messages_json = io::to_json_text(line.at("messages").value());
  request.base_directory = base_directory;
  return request;
}

io::Json request_id(const io::Json& line, const std::string& where) {
  const io::Json* id = line.find("id");
  if (id == nullptr || id->is_null()) return nullptr;
  if (!id->is_string() && !id->is_int()) {
    io::JsonReader(*id, where, "id", Code::invalid_messages)
        .fail("text or an integer", id->type_name());
  }
  return *id;
}

}  // namespace sightline::cli
