// From a conversation to what the model receives: rendered text, ids with placeholders, prepared
// pictures, positions. Needs no weights, only the small files of a checkpoint directory; so costs
// can be known before anything runs. Immutable after opening, safe to share between threads.
#pragma once

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

namespace sightline::chat {
class ChatTemplate;
}

namespace sightline::generate {

/// A picture of the conversation, decoded and resized, and where its placeholders stand.
struct PromptPicture {
  image::Picture picture;
  image::DecodeReport report;
  std::string name, format;  ///< format as the file has it, "RGB" for raw pixels
  std::string where;         ///< JSON path of the message part
  std::int64_t first_token = 0;
  double decode_ms = 0;
};

struct Prompt {
  SourceText text;                ///< rendered, one placeholder a picture
  std::vector<std::int32_t> ids;  ///< placeholders repeated per visual token
  std::vector<Origin> origins;    ///< of the first byte of every id (see SourceText::parts)
  std::vector<PromptPicture> pictures;
  nn::Positions positions;      ///< of every id
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
  /// Only `options.min_pixels`, `max_pixels`, `max_image_pixels` and `alpha` matter.
  /// `template_path` replaces the checkpoint's template.
  static PromptBuilder open(const std::string& directory, const EngineOptions& options,
                            const std::string& template_path = "");
  PromptBuilder(PromptBuilder&&) noexcept;
  ~PromptBuilder();

  /// Throws Error for invalid messages, pictures, template errors, mismatching placeholders.
  [[nodiscard]] Prompt build(const Request& request) const;
  /// The rendered text alone; pictures are not opened.
  [[nodiscard]] SourceText render(const Request& request, bool add_generation_prompt) const;

  [[nodiscard]] const tokenizer::Tokenizer& tokenizer() const;
  [[nodiscard]] const ControlIds& control_ids() const;
  /// Throws Error(invalid_processor, missing_file) if the directory has no readable processor file.
  [[nodiscard]] const image::ProcessorConfig& processor() const;

 private:
  struct Parts;
  explicit PromptBuilder(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sightline::generate
