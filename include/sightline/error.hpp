// The one error type of sightline, thrown at load and at request borders (compute never throws it).
// A domain decides the exit code of the command line; a code is a stable string that scripts may
// match. Owned by: everyone may throw; base/error.cpp holds the table. No other dependency.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sightline {

/// What kind of thing went wrong; fixes the exit code (see exit_code()).
enum class Domain : std::uint8_t { usage, input, checkpoint, limit, internal, cancelled };

// X(code, domain): every stable code of the product. Add a line, never rename one.
#define SIGHTLINE_ERROR_CODES(X)     \
  X(usage, usage)                    \
  X(invalid_option, usage)           \
  X(model_not_found, usage)          \
  X(file_not_found, input)           \
  X(file_unreadable, input)          \
  X(file_unwritable, input)          \
  X(invalid_json, input)             \
  X(invalid_messages, input)         \
  X(invalid_utf8, input)             \
  X(invalid_token_id, input)         \
  X(template_error, input)           \
  X(unsupported_image_format, input) \
  X(invalid_image, input)            \
  X(image_too_large, limit)          \
  X(image_aspect_ratio, input)       \
  X(no_vision_tower, input)          \
  X(unsupported_content, input)      \
  X(invalid_case, input)             \
  X(invalid_config, checkpoint)      \
  X(unsupported_model, checkpoint)   \
  X(invalid_safetensors, checkpoint) \
  X(missing_shard, checkpoint)       \
  X(invalid_index, checkpoint)       \
  X(missing_tensor, checkpoint)      \
  X(unexpected_tensor, checkpoint)   \
  X(tensor_shape, checkpoint)        \
  X(tensor_dtype, checkpoint)        \
  X(invalid_tokenizer, checkpoint)   \
  X(invalid_template, checkpoint)    \
  X(invalid_processor, checkpoint)   \
  X(missing_file, checkpoint)        \
  X(placeholder_mismatch, input)     \
  X(context_length_exceeded, limit)  \
  X(match_limit, limit)              \
  X(template_limit, limit)           \
  X(memory_limit, limit)             \
  X(thread_limit, limit)             \
  X(file_too_large, limit)           \
  X(non_finite, checkpoint)          \
  X(cancelled, cancelled)            \
  X(internal, internal)

/// A stable name of what went wrong, e.g. Code::missing_tensor.
enum class Code : std::uint8_t {
#define SIGHTLINE_X(code, domain) code,
  SIGHTLINE_ERROR_CODES(SIGHTLINE_X)
#undef SIGHTLINE_X
};

/// The code's stable spelling, e.g. "missing_tensor".
const char* code_name(Code code) noexcept;
/// The domain that the code belongs to.
Domain code_domain(Code code) noexcept;
/// Exit code of the command line: usage 2, input 3, checkpoint 4, limit 5, internal 70, cancelled
/// 130.
int exit_code(Domain domain) noexcept;

/// Thrown by every sightline function that can fail. what() is one line: what, where, expected,
/// found, what to do. context() repeats the parts for programs, in order, e.g. {"file",
/// "model.safetensors"}.
class Error : public std::runtime_error {
 public:
  using Context = std::vector<std::pair<std::string, std::string>>;

  Error(Code code, const std::string& message, Context context = {})
      : std::runtime_error(message), code_(code), context_(std::move(context)) {}

  [[nodiscard]] Code code() const noexcept { return code_; }
  [[nodiscard]] Domain domain() const noexcept { return code_domain(code_); }
  [[nodiscard]] const Context& context() const noexcept { return context_; }

 private:
  Code code_;
  Context context_;
};

}  // namespace sightline
