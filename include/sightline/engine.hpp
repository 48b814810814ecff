// The library: load a checkpoint directory, open a session, send a conversation, receive the answer
// while it is written.
//
//   auto engine = sightline::Engine::load("path/to/Qwen3.5-2B");
//   auto session = engine.open_session();
//   sightline::Request request;
//   request.messages = {sightline::user({sightline::Picture::file("cat.jpg"), "What is this?"})};
//   auto result = session.send(request, [](const sightline::Token& token) {
//   std::fputs(token.text.c_str(), stdout); });
//
// An Engine may be used by several threads; passes run one at a time. A Session belongs to one
// thread at a time, only cancel() may come from anywhere. Everything throws sightline::Error
// (error.hpp); nothing prints, exits or aborts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sightline/error.hpp"
#include "sightline/trace.hpp"

namespace sightline {

/// `f32` never rounds an activation. `bf16` rounds keys and values of the cache to bfloat16 and,
/// where the instruction set multiplies bfloat16, the left operand of matrix products. Weights are
/// used as stored in both. `int8` and `int4` also round the large matrices of the language model
/// while loading (those that are stored as floats; the embedding and head to 8 bits), and multiply
/// packed matrices with rounded activations in integers; `automatic` does the latter to what is
/// stored packed and rounds no weight.
enum class PrecisionMode : std::uint8_t { f32, bf16, int8, int4, automatic };

/// Whether the vision tower's matrices are rounded too.
enum class VisionPrecision : std::uint8_t { stored, int8 };

/// What becomes of transparent pixels.
enum class AlphaMode : std::uint8_t {
  white,  ///< composited onto white
  drop    ///< the hidden colour is used, as if the picture were opaque
};

/// Which frames of a video are looked at. Unset: what the checkpoint says (published: 2 frames per
/// second, 4 to 768 of them). HF: Qwen3VLVideoProcessor.
struct VideoOptions {
  std::optional<double> fps;  ///< frames looked at per second of a file; of frame pictures, when a
                              ///< Video says it, their own rate if `rate` is unset
  std::optional<std::int64_t> num_frames;              ///< frames looked at, in place of fps
  std::optional<std::int64_t> min_frames, max_frames;  ///< limits of fps
  std::optional<double> rate;  ///< frames per second of frame pictures; unset: 24 for time stamps
};

/// How a video stands in the prompt.
enum class VideoWrapper : std::uint8_t {
  inner,  ///< groups between the template's <|vision_start|> and <|vision_end|> (transformers 5.10
          ///< and later)
  whole   ///< groups in place of both (transformers up to 5.9)
};

/// Fixed when an engine is loaded.
struct EngineOptions {
  int threads = 0;  ///< 0: what the process may use (affinity mask, cgroup quota)
  std::string isa;  ///< kernel set; empty or "auto": the best that this CPU runs
  PrecisionMode precision = PrecisionMode::bf16;
  VisionPrecision vision_precision = VisionPrecision::stored;
  bool use_mmap = true;  ///< false reads the weights into memory
  std::int64_t prefill_chunk =
      512;                   ///< tokens per piece of a prompt, rounded up to a multiple of 64
  std::int64_t context = 0;  ///< most tokens of prompt and answer; 0: the model's, at most 32768
  std::int64_t max_image_pixels = 100'000'000;  ///< declared size above which a picture is refused
  std::optional<std::int64_t> min_pixels,
      max_pixels;  ///< override preprocessor_config.json (pixel counts)
  AlphaMode alpha = AlphaMode::white;
  VideoOptions video;                            ///< of videos that say nothing themselves
  std::optional<std::int64_t> max_video_pixels;  ///< of all frames looked at; overrides the
                                                 ///< checkpoint's
  VideoWrapper video_wrapper = VideoWrapper::inner;
  std::int64_t feature_store_bytes =
      256LL * 1024 * 1024;  ///< kept features of pictures and videos seen before; 0: none
};

/// A picture as a file, as the bytes of a file, or as pixels.
struct Picture {
  struct File {
    std::string path;
  };
  struct Encoded {
    std::vector<std::uint8_t> bytes;
    std::string name;  ///< what messages call it
  };
  struct Pixels {
    std::int64_t width = 0, height = 0;
    std::vector<std::uint8_t> rgb;  ///< row-major, 3 bytes a pixel
  };
  std::variant<File, Encoded, Pixels> source;
  std::optional<std::int64_t> min_pixels, max_pixels;  ///< for this picture alone

  static Picture file(std::string path) { return {File{std::move(path)}, {}, {}}; }
  static Picture encoded(std::vector<std::uint8_t> bytes, std::string name = "picture") {
    return {Encoded{std::move(bytes), std::move(name)}, {}, {}};
  }
  static Picture pixels(std::int64_t width, std::int64_t height, std::vector<std::uint8_t> rgb) {
    return {Pixels{width, height, std::move(rgb)}, {}, {}};
  }
};

/// A video: a file (MP4, MOV, WebM, Matroska, GIF, animated WebP), a folder of frame pictures, the
/// bytes of a file, or the frames as pictures. A build without FFmpeg reads animated WebP and frame
/// pictures only.
struct Video {
  std::variant<Picture::File, Picture::Encoded, std::vector<Picture>> source;
  VideoOptions options;                                ///< go before the engine's
  std::optional<std::int64_t> min_pixels, max_pixels;  ///< of one frame
  std::optional<std::int64_t> total_pixels;            ///< of all frames looked at

  static Video file(std::string path) { return {Picture::File{std::move(path)}, {}, {}, {}, {}}; }
  static Video encoded(std::vector<std::uint8_t> bytes, std::string name = "video") {
    return {Picture::Encoded{std::move(bytes), std::move(name)}, {}, {}, {}, {}};
  }
  /// Frames that were extracted before, `rate` of them a second.
  static Video frames(std::vector<Picture> pictures, double rate) {
    Video video{std::move(pictures), {}, {}, {}, {}};
    video.options.rate = rate;
    return video;
  }
};

/// Text, a picture or a video.
using Part = std::variant<std::string, Picture, Video>;

struct Message {
  std::string role;  ///< "system", "user", "assistant" or "tool"
  std::vector<Part> content;
};

/// A message with role "user".
Message user(std::vector<Part> content);

/// How the next token is chosen. Unset fields take the value of the checkpoint's
/// generation_config.json, without one greedy. Order: repetition and presence penalty, temperature,
/// top_k, top_p, min_p (HF: generate).
struct Sampling {
  std::optional<double> temperature;  ///< 0: greedy
  std::optional<double> top_p, min_p;
  std::optional<std::int64_t> top_k;  ///< 0: all
  std::optional<double>
      presence_penalty;  ///< subtracted from the logit of ids already in the answer
  std::optional<double>
      repetition_penalty;  ///< HF: RepetitionPenaltyLogitsProcessor, over prompt and answer
  std::optional<std::uint64_t>
      seed;  ///< same seed, same tokens, everywhere; unset: a fresh one, reported
};

/// One question: the whole conversation so far, and how to answer.
struct Request {
  std::vector<Message> messages;
  std::string
      messages_json;  ///< instead of `messages`: the text of a messages document (docs/messages.md)
  std::string tools_json;            ///< list of tool definitions, or empty
  std::string template_kwargs_json;  ///< further keyword arguments of the chat template, or empty
  std::optional<bool>
      thinking;  ///< the template's enable_thinking; unset: the template's own default
  bool add_vision_id = false;  ///< number pictures and videos ("Picture 1: ", "Video 1: ")
  Sampling sampling;
  std::int64_t max_tokens = 2048;
  std::vector<std::string> stop;  ///< the answer ends before the first of these texts
  int logprobs = 0;               ///< most likely alternatives reported per token
  std::string base_directory;     ///< relative picture paths in messages_json are relative to this;
                                  ///< empty: the process's
};

/// Log-probability of one candidate (natural logarithm, of the model's own distribution before any
/// option).
struct TokenLogprob {
  std::int32_t id = 0;
  std::string piece;
  double logprob = 0;
};

/// What the callback receives for every token of the answer.
struct Token {
  std::int32_t id = 0;
  std::string text;  ///< complete characters that became certain with this token; may be empty
  bool reasoning = false;  ///< the text belongs to the reasoning, not to the answer
  std::optional<TokenLogprob> logprob;
  std::vector<TokenLogprob> top;
};

/// Which frames of a video were looked at.
struct VideoReport {
  std::int64_t frames = 0;            ///< of the clip
  std::optional<double> rate;         ///< frames per second; unknown: 24 is taken
  std::vector<std::int64_t> indices;  ///< frames looked at
  std::vector<double> seconds;        ///< time stamps in the prompt, one for each group
};

/// What became of one picture or video.
struct PictureReport {
  std::string name, format;
  std::array<std::int64_t, 2> original{}, resized{};  ///< height, width
  std::array<std::int64_t, 3> grid{};                 ///< t, h, w in patches
  std::int64_t tokens = 0;
  int orientation = 1;  ///< EXIF orientation that was applied
  bool encoded =
      false;  ///< the tower ran for it in this request (else: in the cache or the feature store)
  double decode_ms = 0, encode_ms = 0;  ///< frames of a video are decoded while it is encoded
  std::vector<std::string> notes;       ///< "2 further frames ignored", …
  std::optional<VideoReport> video;
};

struct Timings {
  double load_ms = 0, prepare_ms = 0, encode_ms = 0, prefill_ms = 0, decode_ms = 0;
};

/// Pages of files that came from storage: of mapped weights, which is how a checkpoint larger than
/// memory runs. Counted for the whole process.
struct PageIns {
  std::int64_t faults = 0;  ///< times that somebody waited for one (getrusage, ru_majflt)
  std::int64_t bytes = 0;   ///< read from storage, read-ahead included; 0 where unknown
};

struct Result {
  std::string text, reasoning;
  std::vector<std::int32_t> token_ids;  ///< of the whole answer, the stop token included
  std::string finish_reason;            ///< "stop", "length" or "cancelled"
  std::string stop_match;               ///< the stop text that ended the answer, or empty
  std::int64_t prompt_tokens = 0, cached_tokens = 0;  ///< cached: not computed again
  std::vector<PictureReport> pictures;                ///< and videos, in the order of the prompt
  std::vector<Token> tokens;                          ///< filled when logprobs were asked for
  Timings timings;
  std::uint64_t seed = 0;
  std::int64_t peak_memory_bytes = 0;  ///< VmHWM of the process, mapped pages included
  PageIns page_ins;                    ///< during this answer
};

/// Where a request stands; `done` of `total` in units of the stage (pictures and groups of video
/// frames; tokens).
struct Progress {
  enum class Stage : std::uint8_t { load, picture, prompt } stage = Stage::load;
  std::int64_t done = 0, total = 0;
};

using OnToken = std::function<void(const Token&)>;
using OnProgress = std::function<void(const Progress&)>;

/// Facts about a loaded engine.
struct EngineInfo {
  std::string directory, model_type, kernel_set, kernel_reason, thread_reason, precision;
  int threads = 0;
  std::int64_t context = 0, vocab_size = 0, checkpoint_bytes = 0;
  bool has_vision = false;
};

/// A conversation's state. send() takes the whole conversation; what it shares with the one before
/// is not computed again, and the result has the bits of a fresh session.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Answers. Throws Error for a bad request before anything is computed (prompt too long: before a
  /// picture is encoded).
  Result send(const Request& request, const OnToken& on_token = {},
              const OnProgress& on_progress = {});
  /// Ends a running send() soon, from any thread; its result then has finish_reason "cancelled".
  void cancel();
  /// Forgets the conversation.
  void reset();
  /// Sends every module call of the next send() calls to `trace` (not owned); nullptr ends it.
  void set_trace(Trace* trace);

  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

class Engine {
 public:
  /// Loads a checkpoint directory. Throws Error naming what is wrong and where.
  static Engine load(const std::string& directory, const EngineOptions& options = {},
                     const OnProgress& on_progress = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  [[nodiscard]] const EngineInfo& info() const;
  /// Sessions keep their engine alive.
  [[nodiscard]] Session open_session() const;

  struct Impl;
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  explicit Engine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace sightline
