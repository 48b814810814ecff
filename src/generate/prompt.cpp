// Building prompts (prompt.hpp).
#include "generate/prompt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chat/chat_template.hpp"
#include "generate/checkpoint_files.hpp"
#include "generate/picture_source.hpp"
#include "generate/request_messages.hpp"
#include "generate/video_source.hpp"
#include "generate/video_text.hpp"
#include "model/positions.hpp"

namespace sightline::generate {

struct PromptBuilder::Parts {
  std::string directory;
  tokenizer::Tokenizer tokenizer;
  std::optional<chat::ChatTemplate> chat_template;
  ControlIds ids;
  bool sees_pictures = true;
  image::PixelLimits limits;
  image::DecodeOptions decode;
  VideoDefaults video;
  VideoWrapper video_wrapper = VideoWrapper::inner;
  std::optional<image::ProcessorConfig> processor;
  std::optional<video::VideoProcessorConfig> video_processor;
};

namespace {

RenderArguments render_arguments(const Request& request) {
  RenderArguments arguments =
      read_render_arguments(request.tools_json, request.template_kwargs_json);
  const auto set = [&](const char* name, bool value) {
    auto& members = arguments.kwargs.as_object();
    std::erase_if(members, [&](const io::Json::Member& member) { return member.first == name; });
    arguments.kwargs.add(name, value);
  };
  if (request.thinking) set("enable_thinking", *request.thinking);
  if (request.add_vision_id) set("add_vision_id", true);
  return arguments;
}

SourceText render_text(const chat::ChatTemplate& chat_template, const io::Json& messages,
                       const RenderArguments& arguments, bool add_generation_prompt) {
  const io::Json* tools = arguments.tools.is_null() ? nullptr : &arguments.tools;
  return chat_template.render({messages, tools, arguments.kwargs, add_generation_prompt});
}

// Repeats every placeholder once per visual token of its picture, or of its group of frames
// (specification 4.4).
class Expansion {
 public:
  Expansion(const ControlIds& ids, Prompt& prompt) : ids_(ids), prompt_(prompt) {}

  void run(const tokenizer::Encoding& encoding) {
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      const std::int32_t id = encoding.ids[i];
      std::int64_t copies = 1;
      if (id == ids_.image && ids_.image >= 0) copies = take(false);
      if (id == ids_.video && ids_.video >= 0) copies = take(true);
      prompt_.ids.insert(prompt_.ids.end(), static_cast<std::size_t>(copies), id);
      prompt_.origins.insert(prompt_.origins.end(), static_cast<std::size_t>(copies),
                             prompt_.text.origins[encoding.begins[i]]);
    }
    check(false);
    check(true);
  }

 private:
  // Tokens of the next placeholder of this kind; notes where they begin.
  std::int64_t take(bool video) {
    ++(video ? video_placeholders_ : picture_placeholders_);
    std::size_t& next = video ? next_video_ : next_picture_;
    while (next < prompt_.pictures.size() &&
           (prompt_.pictures[next].is_video() != video || is_complete(prompt_.pictures[next]))) {
      ++next;
    }
    if (next == prompt_.pictures.size()) return 1;  // check() says what is wrong
    PromptPicture& picture = prompt_.pictures[next];
    const std::int64_t tokens = picture.picture.tokens / groups(picture);
    if (picture.runs.empty()) picture.first_token = prompt_.tokens();
    picture.runs.push_back({prompt_.tokens(), tokens});
    return tokens;
  }
  void check(bool video) const {
    std::int64_t expected = 0;
    for (const PromptPicture& picture : prompt_.pictures)
      expected += picture.is_video() == video ? groups(picture) : 0;
    const std::int64_t found = video ? video_placeholders_ : picture_placeholders_;
    if (found == expected) return;
    throw Error(Code::placeholder_mismatch,
                fmt::format("the chat template wrote {} {} placeholders for {} {}", found,
                            video ? "video" : "image", expected,
                            video ? "groups of video frames" : "pictures"),
                {{"placeholders", std::to_string(found)}, {"expected", std::to_string(expected)}});
  }
  static std::int64_t groups(const PromptPicture& picture) {
    return picture.is_video() ? picture.clip->groups() : 1;
  }
  static bool is_complete(const PromptPicture& picture) {
    return static_cast<std::int64_t>(picture.runs.size()) == groups(picture);
  }

  const ControlIds& ids_;
  Prompt& prompt_;
  std::size_t next_picture_ = 0, next_video_ = 0;
  std::int64_t picture_placeholders_ = 0, video_placeholders_ = 0;
};

// Index of the first id at or after byte `offset` of the text, placeholders expanded.
std::int64_t token_at(const tokenizer::Encoding& encoding, std::size_t offset,
                      const Prompt& prompt) {
  const auto at = std::lower_bound(encoding.begins.begin(), encoding.begins.end(), offset);
  // What follows the offset is as long after the expansion as before it: the generation prompt
  // holds no picture.
  return prompt.tokens() - (encoding.begins.end() - at);
}

bool ends_in_reasoning(const Prompt& prompt, const ControlIds& ids) {
  for (std::int64_t i = prompt.tokens() - 1; i >= prompt.generation_start; --i) {
    const std::int32_t id = prompt.ids[static_cast<std::size_t>(i)];
    if (id == ids.think_close) return false;
    if (id == ids.think_open) return ids.think_open >= 0;
  }
  return false;
}

}  // namespace

PromptBuilder::PromptBuilder(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PromptBuilder::PromptBuilder(PromptBuilder&&) noexcept = default;
PromptBuilder::~PromptBuilder() = default;

PromptBuilder PromptBuilder::open(const std::string& directory, const EngineOptions& options,
                                  const std::string& template_path) {
  auto parts =
      std::make_unique<Parts>(Parts{directory,
                                    tokenizer::Tokenizer::load(directory + "/tokenizer.json"),
                                    {},
                                    {},
                                    true,
                                    {},
                                    {},
                                    {},
                                    options.video_wrapper,
                                    {},
                                    {}});
  parts->chat_template = read_chat_template(directory, template_path);
  parts->ids = read_control_ids(directory, parts->tokenizer);
  parts->sees_pictures = may_see_pictures(directory);
  parts->limits = {options.min_pixels, options.max_pixels};
  parts->decode.max_pixels = options.max_image_pixels;
  parts->decode.alpha =
      options.alpha == AlphaMode::white ? image::Alpha::white : image::Alpha::drop;
  parts->video = {options.video, options.max_video_pixels};
  if (has_processor_file(directory))
    parts->processor = image::read_processor_config(directory, parts->limits);
  if (video::has_video_processor(directory))
    parts->video_processor = video::read_video_processor_config(directory);
  return PromptBuilder(std::move(parts));
}

const tokenizer::Tokenizer& PromptBuilder::tokenizer() const { return parts_->tokenizer; }
const ControlIds& PromptBuilder::control_ids() const { return parts_->ids; }

const image::ProcessorConfig& PromptBuilder::processor() const {
  // Reading again says what is missing.
  if (!parts_->processor)
    parts_->processor = image::read_processor_config(parts_->directory, parts_->limits);
  return *parts_->processor;
}

const video::VideoProcessorConfig& PromptBuilder::video_processor() const {
  if (!parts_->video_processor)
    parts_->video_processor = video::read_video_processor_config(parts_->directory);
  return *parts_->video_processor;
}

bool PromptBuilder::has_video_processor() const { return parts_->video_processor.has_value(); }

PromptPicture PromptBuilder::prepared(const RequestVisual& visual,
                                      const std::string& base_directory,
                                      const std::atomic<bool>* cancelled) const {
  if (const auto* picture = std::get_if<Picture>(&visual.source)) {
    image::DecodeOptions decode = parts_->decode;
    decode.cancelled = cancelled;
    return prepare(*picture, visual.where, base_directory, processor(), decode);
  }
  return prepare(std::get<Video>(visual.source), visual.where, base_directory, video_processor(),
                 parts_->video, parts_->decode);
}

SourceText PromptBuilder::render(const Request& request, bool add_generation_prompt) const {
  const RequestMessages messages = read_messages(request);
  return render_text(require_template(parts_->chat_template, parts_->directory), messages.json,
                     render_arguments(request), add_generation_prompt);
}

// A placeholder is an added token: no other id comes out of a template's text as it stands there.
void PromptBuilder::require_placeholder(const Parts& parts, bool video) {
  const std::int32_t id = video ? parts.ids.video : parts.ids.image;
  if (parts.tokenizer.contains(id) && parts.tokenizer.is_added(id)) return;
  const char* key = video ? "video_token_id" : "image_token_id";
  throw Error(Code::invalid_config,
              fmt::format("{}/config.json: {}: expected the id of an added token of "
                          "tokenizer.json, such as that of {}, found {}",
                          parts.directory, key, video ? "<|video_pad|>" : "<|image_pad|>",
                          id < 0 ? "none" : std::to_string(id)),
              {{"file", parts.directory + "/config.json"}, {"path", key}});
}

Prompt PromptBuilder::build(const Request& request, const std::atomic<bool>* cancelled) const {
  const RequestMessages messages = read_messages(request);
  const RenderArguments arguments = render_arguments(request);
  const chat::ChatTemplate& chat_template =
      require_template(parts_->chat_template, parts_->directory);
  Prompt prompt;
  // 1. Text, with and without the generation prompt, so that its beginning is known.
  prompt.text = render_text(chat_template, messages.json, arguments, true);
  const SourceText history = render_text(chat_template, messages.json, arguments, false);
  const bool extends = prompt.text.bytes.starts_with(history.bytes);
  const std::size_t generation_bytes = extends ? prompt.text.size() - history.size() : 0;
  if (prompt.text.bytes.empty()) {
    throw Error(Code::template_error,
                fmt::format("{}: the chat template makes an empty prompt of this conversation: "
                            "expected text for the model",
                            parts_->directory));
  }
  // 2. Pictures and videos.
  if (!messages.visuals.empty() && !parts_->sees_pictures) {
    throw Error(
        Code::no_vision_tower,
        fmt::format(
            "{}: the checkpoint has no vision tower (config.json lacks "
            "vision_config), it answers text only: leave out the {} picture(s) and video(s)",
            parts_->directory, messages.visuals.size()),
        {{"directory", parts_->directory}});
  }
  for (const RequestVisual& visual : messages.visuals) {
    prompt.pictures.push_back(prepared(visual, request.base_directory, cancelled));
    require_placeholder(*parts_, prompt.pictures.back().is_video());
    if (cancelled != nullptr && cancelled->load()) throw Error(Code::cancelled, "cancelled");
  }
  prompt.text = with_video_groups(prompt.text, prompt.pictures, parts_->video_wrapper);
  // 3. Ids with placeholders, then positions.
  const tokenizer::Encoding encoding = parts_->tokenizer.encode(prompt.text);
  Expansion(parts_->ids, prompt).run(encoding);
  prompt.generation_start = token_at(encoding, prompt.text.size() - generation_bytes, prompt);
  prompt.reasoning_open = ends_in_reasoning(prompt, parts_->ids);
  std::vector<nn::Grid> images, videos;
  for (const PromptPicture& picture : prompt.pictures) {
    const image::Grid& grid = picture.picture.grid;
    (picture.is_video() ? videos : images).push_back({grid.t, grid.h, grid.w});
  }
  const auto types = model::token_types(prompt.ids, parts_->ids.image, parts_->ids.video);
  const std::int64_t merge = !images.empty()   ? processor().merge_size
                             : !videos.empty() ? video_processor().frames.merge_size
                                               : 1;
  prompt.rope_delta =
      model::append_positions(types, images, videos, merge, 0, prompt.positions) - prompt.tokens();
  return prompt;
}

}  // namespace sightline::generate
