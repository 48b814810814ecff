// Session: one request from messages to result (include/sightline/engine.hpp).
#include <fmt/format.h>

#include <atomic>

#include "generate/answer.hpp"
#include "generate/clock.hpp"
#include "generate/conversation.hpp"
#include "generate/engine_impl.hpp"
#include "generate/request_messages.hpp"

namespace sightline {

using generate::Answer;
using generate::Prompt;

namespace {

// One request under way.
struct Turn {
  const Request& request;
  const OnToken& on_token;
  generate::SamplerOptions sampling;
  Prompt prompt;
};

}  // namespace

struct Session::Impl {
  std::shared_ptr<Engine::Impl> engine;
  generate::Conversation conversation;
  std::atomic<bool> cancelled{false};
  Trace* trace = nullptr;

  Result send(const Request& request, const OnToken& on_token, const OnProgress& on_progress);
  void check_length(const Prompt& prompt) const;
  [[nodiscard]] generate::AnswerRules rules(const Request& request, const Prompt& prompt) const;
  [[nodiscard]] Token make_token(const Request& request, std::int32_t id,
                                 std::span<const float> logits) const;
  void decode(const generate::RunContext& run, const Turn& turn, std::vector<float>& logits,
              Result& result);
};

namespace {

VideoReport video_report(const video::Clip& clip) {
  VideoReport report;
  report.frames = clip.facts().frames;
  report.rate = clip.rate();
  for (std::int64_t k = 0; k < clip.sampling().count; ++k)
    report.indices.push_back(clip.sampling().index(k));
  for (std::int64_t group = 0; group < clip.groups(); ++group)
    report.seconds.push_back(clip.sampling().seconds(group));
  return report;
}

std::vector<PictureReport> picture_reports(const Prompt& prompt) {
  std::vector<PictureReport> reports;
  for (const generate::PromptPicture& picture : prompt.pictures) {
    PictureReport report;
    report.name = picture.name;
    report.format = picture.format;
    report.original = {picture.picture.original_height, picture.picture.original_width};
    report.resized = {picture.picture.resized.height, picture.picture.resized.width};
    report.grid = {picture.picture.grid.t, picture.picture.grid.h, picture.picture.grid.w};
    report.tokens = picture.picture.tokens;
    report.orientation = picture.report.orientation;
    report.decode_ms = picture.decode_ms;
    if (picture.is_video()) report.video = video_report(*picture.clip);
    report.notes = picture.report.warnings;
    if (picture.report.frames_ignored > 0) {
      report.notes.push_back(
          fmt::format("{} further frames or pages ignored", picture.report.frames_ignored));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

// What shortens a prompt, by what it holds: "a larger --ctx, smaller pictures (…) or a shorter
// text".
std::string ways_to_fit(const Prompt& prompt, bool can_grow) {
  bool pictures = false, videos = false;
  for (const generate::PromptPicture& picture : prompt.pictures)
    (picture.is_video() ? videos : pictures) = true;
  std::string ways;
  const auto add = [&](bool holds, const char* way) {
    if (holds) ways += (ways.empty() ? "" : ", ") + std::string(way);
  };
  add(can_grow, "a larger --ctx");
  add(pictures, "smaller pictures (--max-pixels)");
  add(videos, "fewer or smaller video frames (--max-frames, --video-pixels)");
  return (ways.empty() ? "" : ways + " or ") + "a shorter text";
}

}  // namespace

// Refused before any picture is encoded, with what each costs.
void Session::Impl::check_length(const Prompt& prompt) const {
  const std::int64_t context = engine->info.context;
  if (prompt.tokens() < context) return;
  std::string pictures;
  for (const generate::PromptPicture& picture : prompt.pictures) {
    pictures +=
        fmt::format("{}{} {}", pictures.empty() ? "" : ", ", picture.name, picture.picture.tokens);
  }
  const bool can_grow = context < engine->model->info().max_positions;
  throw Error(
      Code::context_length_exceeded,
      fmt::format("the prompt has {} tokens{}, the context holds {} with the answer: use {}",
                  prompt.tokens(), pictures.empty() ? "" : " (pictures: " + pictures + ")", context,
                  ways_to_fit(prompt, can_grow)),
      {{"prompt_tokens", std::to_string(prompt.tokens())}, {"context", std::to_string(context)}});
}

generate::AnswerRules Session::Impl::rules(const Request& request, const Prompt& prompt) const {
  const generate::ControlIds& ids = engine->prompts->control_ids();
  generate::AnswerRules rules;
  rules.end_ids = engine->end_ids;
  rules.stop = request.stop;
  if (ids.think_open >= 0) rules.think_open = ids.think_open;
  if (ids.think_close >= 0) rules.think_close = ids.think_close;
  rules.reasoning_open = prompt.reasoning_open;
  return rules;
}

Token Session::Impl::make_token(const Request& request, std::int32_t id,
                                std::span<const float> logits) const {
  Token token;
  token.id = id;
  if (request.logprobs <= 0) return token;
  const generate::LogprobRow row = generate::logprobs(logits, id, request.logprobs);
  const tokenizer::Tokenizer& tokenizer = engine->prompts->tokenizer();
  const auto entry = [&](std::int32_t which, double logprob) {
    return TokenLogprob{which, tokenizer.decode(std::span(&which, 1)), logprob};
  };
  token.logprob = entry(id, row.chosen);
  for (const auto& [which, logprob] : row.top) token.top.push_back(entry(which, logprob));
  return token;
}

void Session::Impl::decode(const generate::RunContext& run, const Turn& turn,
                           std::vector<float>& logits, Result& result) {
  const auto& [request, on_token, sampling, prompt] = turn;
  generate::Sampler sampler(sampling, prompt.ids, static_cast<std::int64_t>(logits.size()));
  Answer answer(engine->prompts->tokenizer(), rules(request, prompt));
  const std::int64_t room = std::min(request.max_tokens, engine->info.context - prompt.tokens());
  result.finish_reason = "length";
  const auto emit = [&](Token token, const generate::AnswerStep& step) {
    token.text = step.text;
    token.reasoning = step.reasoning;
    if (on_token) on_token(token);
    if (request.logprobs > 0) result.tokens.push_back(std::move(token));
  };
  for (std::int64_t i = 0; i < room; ++i) {
    const std::int32_t id = sampler.next(logits, engine->vocabulary_mask);
    Token token = make_token(request, id, logits);
    result.token_ids.push_back(id);
    const generate::AnswerStep step = answer.feed(id);
    emit(std::move(token), step);
    if (step.finished) {
      result.finish_reason = "stop";
      break;
    }
    if (cancelled.load() || (i + 1 < room && !conversation.step(run, id, logits))) {
      result.finish_reason = "cancelled";
      break;
    }
  }
  if (result.finish_reason != "stop") {
    const generate::AnswerStep rest = answer.finish();
    if (!rest.text.empty() && on_token) on_token({-1, rest.text, rest.reasoning, {}, {}});
  }
  result.text = answer.text();
  result.reasoning = answer.reasoning();
  result.stop_match = answer.stop_match();
}

Result Session::Impl::send(const Request& request, const OnToken& on_token,
                           const OnProgress& on_progress) {
  if (request.max_tokens < 1) {
    throw Error(Code::invalid_option,
                fmt::format("max-tokens: expected at least 1, found {}", request.max_tokens),
                {{"option", "max-tokens"}});
  }
  for (const std::string& stop : request.stop) generate::require_utf8(stop, "stop");
  cancelled = false;
  Result result;
  result.timings.load_ms = engine->load_ms;
  const generate::Stopwatch prepare;
  const PageIns before = generate::page_ins();
  // Everything that can be refused is, before anything is computed.
  const generate::SamplerOptions sampling =
      generate::settle(request.sampling, engine->generation.defaults);
  result.seed = sampling.seed;
  try {
    const Turn turn{request, on_token, sampling, engine->prompts->build(request, &cancelled)};
    const Prompt& prompt = turn.prompt;
    check_length(prompt);
    result.prompt_tokens = prompt.tokens();
    result.pictures = picture_reports(prompt);
    result.timings.prepare_ms = prepare.ms();
    const generate::RunContext run{*engine, cancelled, trace, on_progress};
    std::vector<float> logits(static_cast<std::size_t>(engine->info.vocab_size));
    conversation.prefill(run, prompt, result, logits);
    const generate::Stopwatch clock;
    decode(run, turn, logits, result);
    result.timings.decode_ms = clock.ms();
  } catch (const Error& error) {
    if (error.code() != Code::cancelled) throw;
    result.finish_reason = "cancelled";
  }
  result.peak_memory_bytes = generate::peak_memory_bytes();
  const PageIns after = generate::page_ins();
  result.page_ins = {after.faults - before.faults, after.bytes - before.bytes};
  return result;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result Session::send(const Request& request, const OnToken& on_token,
                     const OnProgress& on_progress) {
  return impl_->send(request, on_token, on_progress);
}
void Session::cancel() { impl_->cancelled = true; }
void Session::reset() { impl_->conversation.clear(); }
void Session::set_trace(Trace* trace) { impl_->trace = trace; }

Session Engine::open_session() const {
  auto session = std::make_unique<Session::Impl>();
  session->engine = impl_;
  return Session(std::move(session));
}

}  // namespace sightline
