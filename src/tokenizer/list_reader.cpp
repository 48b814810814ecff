// A cursor over the document. It checks what it takes out; of what it passes over it only finds the
// ends, since that stays in `rest` for the parser to check.
#include "tokenizer/list_reader.hpp"

#include <array>
#include <cstdint>

#include "tokenizer/utf8.hpp"

namespace sightline::tokenizer {
namespace {

enum class Byte : std::uint8_t { plain, quote, backslash, control, high };

constexpr std::array<Byte, 256> make_kinds() {
  std::array<Byte, 256> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i)
    kinds[i] = i < 0x20 ? Byte::control : i < 0x80 ? Byte::plain : Byte::high;
  kinds['"'] = Byte::quote;
  kinds['\\'] = Byte::backslash;
  return kinds;
}
constexpr std::array<Byte, 256> kKinds = make_kinds();

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Every function that returns a bool stops anywhere when it returns false.
class ListReader {
 public:
  explicit ListReader(std::string_view text) : text_(text) {
    // An entry of either list takes some 20 bytes of the file, a good half of them text.
    constexpr std::size_t kBytesPerEntry = 20;
    out_.vocabulary.text.reserve(text.size() / 2);
    out_.merges.text.reserve(text.size() / 2);
    out_.vocabulary.entries.reserve(text.size() / kBytesPerEntry);
    out_.merges.entries.reserve(text.size() / kBytesPerEntry);
  }

  std::optional<ShortDocument> read() {
    if (!find_model() || !in_model()) return std::nullopt;
    out_.rest.append(text_.substr(kept_));
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool ended() const { return at_ == text_.size(); }
  void skip_space() {
    while (!ended() && is_space(text_[at_])) ++at_;
  }
  // The next byte that is no space, if it is this one.
  bool take(char wanted) {
    skip_space();
    if (ended() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  // Passes over a string, after its first quote.
  bool skip_string() {
    for (; !ended(); ++at_) {
      if (text_[at_] == '"') return ++at_, true;
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
    }
    return false;
  }
  // A key as it is written, and the colon.
  std::optional<std::string_view> key() {
    if (!take('"')) return std::nullopt;
    const std::size_t begin = at_;
    if (!skip_string()) return std::nullopt;
    const std::string_view name = text_.substr(begin, at_ - 1 - begin);
    return take(':') ? std::optional(name) : std::nullopt;
  }
  // Passes over a value of any kind.
  bool skip_value() {
    std::size_t depth = 0;
    for (skip_space(); !ended();) {
      const char c = text_[at_];
      const bool closes = c == '}' || c == ']';
      if (depth == 0 && (closes || c == ',')) return true;
      ++at_;
      if (c == '"' && !skip_string()) return false;
      if (c == '{' || c == '[') ++depth;
      if (closes) --depth;
    }
    return false;
  }

  // Goes to the first member of the document's "model".
  bool find_model() {
    if (!take('{')) return false;
    for (;;) {
      const auto name = key();
      if (!name) return false;
      if (*name == "model") return take('{');
      if (!skip_value() || !take(',')) return false;
    }
  }
  // The members of the model, until both lists are taken.
  bool in_model() {
    for (bool vocabulary = false, merges = false;;) {
      const auto name = key();
      if (!name) return false;
      if (*name == "vocab" && !vocabulary) {
        vocabulary = cut('{', [&] { return read_vocabulary(); });
        if (!vocabulary) return false;
      } else if (*name == "merges" && !merges) {
        merges = cut('[', [&] { return read_merges(); });
        if (!merges) return false;
      } else if (!skip_value()) {
        return false;
      }
      if (vocabulary && merges) return true;
      if (!take(',')) return false;
    }
  }
  // Reads a list, to its closing bracket, and leaves it empty in `rest`.
  template <class Read>
  bool cut(char open, const Read& read) {
    if (!take(open)) return false;
    out_.rest.append(text_.substr(kept_, at_ - kept_));
    if (!read()) return false;
    kept_ = at_ - 1;
    return true;
  }

  // A string's bytes, appended to `to`.
  bool read_string(std::string& to) {
    if (!take('"')) return false;
    const std::size_t end = text_.size();
    std::size_t begin = at_;
    for (std::size_t i = at_; i < end; ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      const Byte kind = kKinds[byte];
      if (kind == Byte::plain) continue;
      if (kind == Byte::quote) {
        to.append(text_.data() + begin, i - begin);
        at_ = i + 1;
        return true;
      }
      if (kind == Byte::control) return false;
      if (kind == Byte::backslash) {
        to.append(text_.data() + begin, i - begin);
        begin = ++i;  // what is escaped stands for itself
        if (i == end || (text_[i] != '"' && text_[i] != '\\')) return false;
        continue;
      }
      const Utf8Step step = utf8_step(text_, i);
      if (step.kind != Utf8::character) return false;
      i += step.length - 1;
    }
    return false;
  }

  bool read_id(TokenId& id) {
    skip_space();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; !ended() && is_digit(text_[at_]) && value <= INT32_MAX; ++at_)
      value = 10 * value + (text_[at_] - '0');
    if (at_ == begin || value > INT32_MAX || (text_[begin] == '0' && at_ - begin > 1)) return false;
    id = static_cast<TokenId>(value);
    return true;  // whatever follows must be a comma or the end
  }

  bool read_vocabulary() {
    VocabularyEntries& list = out_.vocabulary;
    if (take('}')) return true;
    for (;;) {
      VocabularyEntries::Entry entry{static_cast<std::uint32_t>(list.text.size()), 0, 0};
      if (!read_string(list.text) || !take(':') || !read_id(entry.id)) return false;
      entry.length = static_cast<std::uint32_t>(list.text.size()) - entry.begin;
      list.entries.push_back(entry);
      if (take('}')) return true;
      if (!take(',')) return false;
    }
  }

  bool read_merges() {
    if (take(']')) return true;
    for (;;) {
      if (!(take('[') ? read_pair() : read_spaced())) return false;
      if (take(']')) return true;
      if (!take(',')) return false;
    }
  }
  // ["a", "b"], after the bracket.
  bool read_pair() {
    MergeEntries& list = out_.merges;
    const std::size_t begin = list.text.size();
    if (!read_string(list.text) || !take(',')) return false;
    const std::size_t middle = list.text.size();
    if (!read_string(list.text) || !take(']')) return false;
    add_merge(begin, middle);
    return true;
  }
  // "a b".
  bool read_spaced() {
    std::string& text = out_.merges.text;
    const std::size_t begin = text.size();
    if (!read_string(text)) return false;
    const std::size_t space = text.find(' ', begin);
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) return false;
    text.erase(space, 1);
    add_merge(begin, space);
    return true;
  }
  void add_merge(std::size_t begin, std::size_t middle) {
    MergeEntries& list = out_.merges;
    const auto size = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
    list.entries.push_back({size(begin), size(middle - begin), size(list.text.size() - middle)});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t kept_ = 0;  // of the text, what comes next in `rest`
  ShortDocument out_;
};

}  // namespace

std::optional<ShortDocument> take_lists(std::string_view document) {
  return ListReader(document).read();
}

}  // namespace sightline::tokenizer
