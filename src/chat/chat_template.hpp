// A checkpoint's chat template: parsed once, rendered for many conversations. The result remembers
// for every byte whether the template wrote it or which part of the messages it came from, so that
// control tokens typed by a user stay text. Immutable after parse; render() may run on several
// threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/source_text.hpp"
#include "io/json.hpp"

namespace sightline::chat {

struct Program;

/// What a template is rendered with.
struct RenderInput {
  const io::Json& messages;
  const io::Json* tools = nullptr;       ///< None when null
  io::Json kwargs = io::Json::object();  ///< enable_thinking, add_vision_id, eos_token, …
  bool add_generation_prompt = true;
  std::optional<std::int64_t> now =
      {};  ///< Unix time that strftime_now formats; the clock's when absent
};

class ChatTemplate {
 public:
  /// Parses a Jinja2 template; `name` is what errors call it (the file's name). Throws
  /// Error(invalid_template, template_limit) with the line. HF: _compile_jinja_template
  /// (trim_blocks, lstrip_blocks, loop controls).
  static ChatTemplate parse(std::string_view source, const std::string& name);

  /// Renders. Bytes and one origin per byte; `parts` lists the parts that occur, in order of first
  /// occurrence. Throws Error(template_error): what the template raises verbatim (raise_exception),
  /// or name, line and reason of what failed; the context has "line", and "message_index" and
  /// "path" when the failure belongs to a message. Throws Error(template_limit) beyond the limits
  /// of chat/meter.hpp. HF: render_jinja_template.
  [[nodiscard]] SourceText render(const RenderInput& input) const;

  /// True if the template reads a variable of this name (e.g. "enable_thinking", "tools").
  [[nodiscard]] bool uses(std::string_view variable) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

}  // namespace sightline::chat
