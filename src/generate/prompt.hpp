// From a conversation to what the model receives: rendered text, ids with placeholders, prepared
// pictures, positions. Needs no weights, only the small files of a checkpoint directory; so costs
// can be known before anything runs. Immutable after opening, safe to share between threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/source_text.hpp"
#include "image/decode.hpp"
#include "image/picture.hpp"
#include "image/processor_config.hpp"
#include "nn/rope.hpp"
#include "sightline/engine.hpp"
#include "tokenizer/tokenizer.hpp"
#include "video/clip.hpp"

namespace sightline::chat {
class ChatTemplate;
}

namespace sightline::generate {

struct RequestVisual;

/// Neighbouring placeholders: of a picture, or of one group of a video's frames.
struct PlaceholderRun {
  std::int64_t first_token = 0, tokens = 0;
};

/// A picture or video of the conversation and where its placeholders stand. A picture is decoded
/// and resized; of a video only sizes are known, its frames are read while it is encoded (`picture`
/// then has no pixels, but sizes, grid, tokens and hash).
struct PromptPicture {
  image::Picture picture;
  image::DecodeReport report;
  std::string name, format;          ///< format as the file has it, "RGB" for raw pixels
  std::string where;                 ///< JSON path of the message part
  std::vector<PlaceholderRun> runs;  ///< one; of a video one for each group of frames
  std::int64_t first_token = 0;      ///< of the first run
  double decode_ms = 0;
  std::shared_ptr<video::Clip> clip;  ///< of a video

  [[nodiscard]] bool is_video() const { return clip != nullptr; }
  /// The token after its last placeholder.
  [[nodiscard]] std::int64_t end_token() const {
    return runs.empty() ? 0 : runs.back().first_token + runs.back().tokens;
  }
};

struct Prompt {
  SourceText text;  ///< rendered, one placeholder a picture and a group of a video's frames
  std::vector<std::int32_t> ids;        ///< placeholders repeated per visual token
  std::vector<Origin> origins;          ///< of the first byte of every id (see SourceText::parts)
  std::vector<PromptPicture> pictures;  ///< and videos, in order
  nn::Positions positions;              ///< of every id
  std::int64_t rope_delta = 0;  ///< position of the first answer token = ids.size() + rope_delta
  std::int64_t generation_start = 0;  ///< index of the first id of the generation prompt
  bool reasoning_open = false;        ///< the generation prompt ends inside the reasoning

  [[nodiscard]] std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }
};

/// The ids of control tokens, from config.json, else from the tokenizer by their strings.
struct ControlIds {
  std::int32_t image = -1, video = -1, vision_start = -1, vision_end = -1;
  std::int32_t think_open = -1, think_close = -1;
  std::vector<std::int32_t>
      end;  ///< <|im_end|> and <|endoftext|>, whatever the files say (specification section 8)
};

class PromptBuilder {
 public:
  /// Reads tokenizer.json, the chat template and, if there, config.json and the processor file.
  /// Only the options of pictures and videos matter.
  /// `template_path` replaces the checkpoint's template.
  static PromptBuilder open(const std::string& directory, const EngineOptions& options,
                            const std::string& template_path = "");
  PromptBuilder(PromptBuilder&&) noexcept;
  ~PromptBuilder();

  /// Throws Error for invalid messages, pictures, template errors, mismatching placeholders,
  /// Error(invalid_config) if their ids are none of the tokenizer's added tokens, and
  /// Error(cancelled) between rows of pictures once `cancelled` (if given) is set.
  [[nodiscard]] Prompt build(const Request& request,
                             const std::atomic<bool>* cancelled = nullptr) const;
  /// The rendered text alone; pictures are not opened.
  [[nodiscard]] SourceText render(const Request& request, bool add_generation_prompt) const;

  [[nodiscard]] const tokenizer::Tokenizer& tokenizer() const;
  [[nodiscard]] const ControlIds& control_ids() const;
  /// Throws Error(invalid_processor, missing_file) if the directory has no readable processor file.
  [[nodiscard]] const image::ProcessorConfig& processor() const;
  /// The same of the processor file for videos.
  [[nodiscard]] const video::VideoProcessorConfig& video_processor() const;
  [[nodiscard]] bool has_video_processor() const;

 private:
  struct Parts;
  explicit PromptBuilder(std::unique_ptr<Parts> parts);
  static void require_placeholder(const Parts& parts, bool video);
  [[nodiscard]] PromptPicture prepared(const RequestVisual& visual,
                                       const std::string& base_directory,
                                       const std::atomic<bool>* cancelled) const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sightline::generate
