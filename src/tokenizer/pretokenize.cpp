// PCRE2 behind two small classes. Text is validated by the caller, so matching never checks UTF-8
// again.
#include "tokenizer/pretokenize.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>

#include "tokenizer/file_fault.hpp"
#include "tokenizer/pattern.hpp"
#include "tokenizer/utf8.hpp"

namespace sightline::tokenizer {
namespace {

constexpr std::size_t kMaxPatternBytes = 64 * 1024;  // published patterns have some hundred
constexpr std::size_t kStackStart = 32 * 1024;  // PCRE2's advice for the JIT stack: start small,
constexpr std::size_t kStackMax = 8 * 1024 * 1024;   // grow to what long words need
constexpr std::uint32_t kHeapLimitKiB = 256 * 1024;  // what one match of the interpreter may take

const pcre2_code* code_of(const std::shared_ptr<const void>& code) {
  return static_cast<const pcre2_code*>(code.get());
}

template <typename T>
T* checked(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace

Pretokenizer::Pretokenizer(const std::string& pattern, const std::string& file,
                           const std::string& path, const PretokenizeOptions& options)
    : options_(options) {
  if (pattern.size() > kMaxPatternBytes) {
    fail_file(file, path, "at most " + std::to_string(kMaxPatternBytes) + " bytes",
              std::to_string(pattern.size()));
  }
  check_pattern(pattern, file, path);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 160> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    fail_file(file, path, "a regular expression",
              std::string(reinterpret_cast<const char*>(message.data())) + " at byte " +
                  std::to_string(offset));
  }
  code_ = std::shared_ptr<const void>(code, [](const void* p) {
    pcre2_code_free(const_cast<pcre2_code*>(static_cast<const pcre2_code*>(p)));
  });
  // Where memory may not be made executable this fails, and pcre2_match() interprets instead.
  if (options.jit) (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
}

Splitter::Splitter(const Pretokenizer& pretokenizer) : code_(pretokenizer.code_) {
  auto* context = checked(pcre2_match_context_create(nullptr));
  context_ = std::shared_ptr<void>(
      context, [](void* p) { pcre2_match_context_free(static_cast<pcre2_match_context*>(p)); });
  pcre2_set_heap_limit(context, kHeapLimitKiB);
  pcre2_set_match_limit(context, pretokenizer.options_.match_limit);
  auto* data = checked(pcre2_match_data_create_from_pattern(code_of(code_), nullptr));
  data_ = std::shared_ptr<void>(
      data, [](void* p) { pcre2_match_data_free(static_cast<pcre2_match_data*>(p)); });
  // No stack (no JIT in this PCRE2, or no memory for it) leaves the matcher's own 32 KiB.
  auto* stack = pcre2_jit_stack_create(kStackStart, kStackMax, nullptr);
  if (stack == nullptr) return;
  stack_ = std::shared_ptr<void>(
      stack, [](void* p) { pcre2_jit_stack_free(static_cast<pcre2_jit_stack*>(p)); });
  pcre2_jit_stack_assign(context, nullptr, stack);
}

Splitter::Outcome Splitter::match(std::string_view text, std::size_t from, Match& found) {
  auto* data = static_cast<pcre2_match_data*>(data_.get());
  const auto attempt = [&](std::uint32_t options) {
    return pcre2_match(code_of(code_), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       options | PCRE2_NO_UTF_CHECK, data,
                       static_cast<pcre2_match_context*>(context_.get()));
  };
  int outcome = attempt(0);
  if (outcome == PCRE2_ERROR_JIT_STACKLIMIT) outcome = attempt(PCRE2_NO_JIT);
  if (outcome == PCRE2_ERROR_NOMATCH) return Outcome::no_match;
  if (outcome < 0) return Outcome::limit;
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data);
  found = {offsets[0], offsets[1]};
  return Outcome::match;
}

std::optional<std::size_t> Splitter::split(std::string_view text, std::vector<std::size_t>& ends) {
  ends.clear();
  const std::string_view subject = with_stand_ins(text, stand_ins_);
  std::size_t done = 0;  // end of the last word
  Match found{};
  for (std::size_t from = 0; from < subject.size();) {
    const Outcome outcome = match(subject, from, found);
    if (outcome == Outcome::limit) return from;
    if (outcome == Outcome::no_match) break;
    if (found.end == found.begin) {  // matches nothing here: look again after the next character
      if (found.end >= subject.size()) break;
      from = found.end + utf8_step(subject, found.end).length;
      continue;
    }
    if (found.begin > done) ends.push_back(found.begin);
    ends.push_back(found.end);
    done = from = found.end;
  }
  if (done < subject.size()) ends.push_back(subject.size());
  return std::nullopt;
}

}  // namespace sightline::tokenizer
