// PCRE2 behind one class (name_pattern.hpp).
#include "io/name_pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>

namespace sightline::io {
namespace {

constexpr std::size_t kMaxBytes = 4096;         // names of modules have some fifty
constexpr std::uint32_t kMatchLimit = 100'000;  // steps of one match; usual ones take some hundred
constexpr std::uint32_t kDepthLimit = 1000;

template <typename T>
T* checked(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace

NamePattern::NamePattern(const std::string& text, const JsonReader& place) {
  if (text.size() > kMaxBytes) {
    place.fail("a pattern of at most " + std::to_string(kMaxBytes) + " bytes",
               std::to_string(text.size()));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                    PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 160> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    place.fail("a regular expression", std::string(reinterpret_cast<const char*>(message.data())) +
                                           " at byte " + std::to_string(offset));
  }
  code_ = std::shared_ptr<const void>(code, [](const void* p) {
    pcre2_code_free(const_cast<pcre2_code*>(static_cast<const pcre2_code*>(p)));
  });
}

bool NamePattern::matches(std::string_view name) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::shared_ptr<pcre2_match_context> context(checked(pcre2_match_context_create(nullptr)),
                                                     pcre2_match_context_free);
  pcre2_set_match_limit(context.get(), kMatchLimit);
  pcre2_set_depth_limit(context.get(), kDepthLimit);
  const std::shared_ptr<pcre2_match_data> data(checked(pcre2_match_data_create(1, nullptr)),
                                               pcre2_match_data_free);
  return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, 0, data.get(),
                     context.get()) >= 0;
}

}  // namespace sightline::io
