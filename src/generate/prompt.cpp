// Building prompts (prompt.hpp).
#include "generate/prompt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chat/chat_template.hpp"
#include "generate/checkpoint_files.hpp"
#include "generate/picture_source.hpp"
#include "generate/request_messages.hpp"
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
  std::optional<image::ProcessorConfig> processor;
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

// Repeats the i-th placeholder once per visual token of picture i (specification 4.4).
void expand(const tokenizer::Encoding& encoding, std::int32_t image_id, Prompt& prompt) {
  const auto placeholders =
      static_cast<std::size_t>(std::count(encoding.ids.begin(), encoding.ids.end(), image_id));
  if (placeholders != prompt.pictures.size()) {
    throw Error(Code::placeholder_mismatch,
                fmt::format("the chat template wrote {} image placeholders for {} pictures",
                            placeholders, prompt.pictures.size()),
                {{"placeholders", std::to_string(placeholders)},
                 {"pictures", std::to_string(prompt.pictures.size())}});
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    std::int64_t copies = 1;
    if (encoding.ids[i] == image_id) {
      PromptPicture& picture = prompt.pictures[next++];
      picture.first_token = prompt.tokens();
      copies = picture.picture.tokens;
    }
    prompt.ids.insert(prompt.ids.end(), static_cast<std::size_t>(copies), encoding.ids[i]);
    prompt.origins.insert(prompt.origins.end(), static_cast<std::size_t>(copies),
                          prompt.text.origins[encoding.begins[i]]);
  }
}

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
                                    {}});
  parts->chat_template = read_chat_template(directory, template_path);
  parts->ids = read_control_ids(directory, parts->tokenizer);
  parts->sees_pictures = may_see_pictures(directory);
  parts->limits = {options.min_pixels, options.max_pixels};
  parts->decode.max_pixels = options.max_image_pixels;
  parts->decode.alpha =
      options.alpha == AlphaMode::white ? image::Alpha::white : image::Alpha::drop;
  if (has_processor_file(directory))
    parts->processor = image::read_processor_config(directory, parts->limits);
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

SourceText PromptBuilder::render(const Request& request, bool add_generation_prompt) const {
  const RequestMessages messages = read_messages(request);
  return render_text(require_template(parts_->chat_template, parts_->directory), messages.json,
                     render_arguments(request), add_generation_prompt);
}

Prompt PromptBuilder::build(const Request& request) const {
  const RequestMessages messages = read_messages(request);
  const RenderArguments arguments = render_arguments(request);
  const chat::ChatTemplate& chat_template =
      require_template(parts_->chat_template, parts_->directory);
  Prompt prompt;
  // 1. Text, with and without the generation prompt, so that its beginning is known.
  prompt.text = render_text(chat_template, messages.json, arguments, true);
  const SourceText history = render_text(chat_template, messages.json, arguments, false);
  const bool extends = prompt.text.bytes.starts_with(history.bytes);
  if (prompt.text.bytes.empty()) {
    throw Error(Code::template_error,
                fmt::format("{}: the chat template makes an empty prompt of this conversation: "
                            "expected text for the model",
                            parts_->directory));
  }
  // 2. Pictures.
  if (!messages.pictures.empty() && !parts_->sees_pictures) {
    throw Error(Code::no_vision_tower,
                fmt::format("{}: the checkpoint has no vision tower (config.json lacks "
                            "vision_config), it answers text only: leave out the {} picture(s)",
                            parts_->directory, messages.pictures.size()),
                {{"directory", parts_->directory}});
  }
  for (const RequestPicture& picture : messages.pictures) {
    prompt.pictures.push_back(prepare(picture.source, picture.where, request.base_directory,
                                      processor(), parts_->decode));
  }
  // 3. Ids with placeholders, then positions.
  const tokenizer::Encoding encoding = parts_->tokenizer.encode(prompt.text);
  expand(encoding, parts_->ids.image, prompt);
  prompt.generation_start =
      token_at(encoding, extends ? history.size() : prompt.text.size(), prompt);
  prompt.reasoning_open = ends_in_reasoning(prompt, parts_->ids);
  std::vector<nn::Grid> grids;
  for (const PromptPicture& picture : prompt.pictures) {
    grids.push_back({picture.picture.grid.t, picture.picture.grid.h, picture.picture.grid.w});
  }
  const auto types = model::token_types(prompt.ids, parts_->ids.image, parts_->ids.video);
  const std::int64_t merge = grids.empty() ? 1 : processor().merge_size;
  prompt.rope_delta =
      model::append_positions(types, grids, {}, merge, 0, prompt.positions) - prompt.tokens();
  return prompt;
}

}  // namespace sightline::generate
