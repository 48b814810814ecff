// Turns the JSON that a template is rendered with into values whose origins name the part of the
// input they come from.
#pragma once

#include <string>
#include <vector>

#include "chat/interpreter.hpp"
#include "io/json.hpp"

namespace sightline::chat {

/// Collects the parts: origin n is parts()[n - 1].
class InputValues {
 public:
  explicit InputValues(Interpreter& vm, std::vector<SourcePart>& parts) : vm_(vm), parts_(parts) {}

  /// Every field of every message is a part of its own ("messages[1].content[2].text"); the
  /// arguments of a tool call have one part for each argument. Fields of messages whose role is
  /// "assistant" are marked so.
  Value messages(const io::Json& messages);
  /// One part for each tool ("tools[0]").
  Value tools(const io::Json& tools);
  /// One part for each keyword argument ("kwargs.enable_thinking").
  Value keyword(const std::string& name, const io::Json& value);

 private:
  Origin add_part(std::string where, int message, bool assistant);
  /// A value all of which has one origin.
  Value uniform(const io::Json& value, Origin origin);
  Value field(const io::Json& value, const std::string& where, const SourcePart& message);

  Interpreter& vm_;
  std::vector<SourcePart>& parts_;
};

}  // namespace sightline::chat
