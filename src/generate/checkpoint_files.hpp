// The small text files of a checkpoint directory that prompts need: chat template and control token
// ids.
#pragma once

#include <optional>
#include <string>

#include "chat/chat_template.hpp"
#include "generate/prompt.hpp"

namespace sightline::generate {

/// The template: `template_path` if given, else chat_template.jinja, else "chat_template" of
/// tokenizer_config.json (a string, or a list whose entry "default" is taken). Nothing if the
/// checkpoint has none. Throws Error(invalid_template, …).
std::optional<chat::ChatTemplate> read_chat_template(const std::string& directory,
                                                     const std::string& template_path);

/// The template, or Error(missing_file) that says where one was looked for.
const chat::ChatTemplate& require_template(const std::optional<chat::ChatTemplate>& chat_template,
                                           const std::string& directory);

/// Ids of config.json where it has them, else of the tokenizer by their strings
/// (specification 1.1, 4.1). Throws Error(invalid_config).
ControlIds read_control_ids(const std::string& directory, const tokenizer::Tokenizer& tokenizer);

/// False if config.json lacks vision_config: the checkpoint answers text only. Without config.json
/// nothing is known, and pictures may be. Throws Error(invalid_config).
bool may_see_pictures(const std::string& directory);

/// True if the directory has a file that image::read_processor_config reads.
bool has_processor_file(const std::string& directory);

}  // namespace sightline::generate
