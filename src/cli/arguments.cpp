// Options, values and positional arguments; the closest spelling of a mistyped word.
#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sightline::cli {
namespace {

constexpr const char *kJson = "--json", *kHelp = "--help", *kShortHelp = "-h", *kEnd = "--";

/// "-i,--image" to its two spellings.
std::vector<std::string> spellings(const Argument& argument) {
  const std::size_t comma = argument.names.find(',');
  if (comma == std::string::npos) return {argument.names};
  return {argument.names.substr(0, comma), argument.names.substr(comma + 1)};
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

/// An option as typed: `--name`, `--name=VALUE`, `-n`, `-nVALUE`.
struct Typed {
  explicit Typed(const std::string& word) : name(word) {
    const bool is_long = word.starts_with("--");
    const std::size_t end = is_long ? word.find('=') : 2;
    if (end == std::string::npos || end >= word.size()) return;
    name = word.substr(0, end);
    value = word.substr(is_long ? end + 1 : end);
  }
  std::string name;
  std::optional<std::string> value;
};

class Reader {
 public:
  Reader(const Command& command, const std::vector<std::string>& words)
      : command_(command), words_(words) {}

  void read() {
    for (; next_ < words_.size(); ++next_) {
      if (words_[next_] == kEnd) {
        for (++next_; next_ < words_.size(); ++next_) take_positional(words_[next_]);
        break;
      }
      if (is_option(words_[next_])) {
        take_option(Typed(words_[next_]));
      } else {
        take_positional(words_[next_]);
      }
    }
    require_positionals();
  }

 private:
  void take_option(const Typed& typed) {
    const Argument* argument = find(typed.name);
    if (argument == nullptr && typed.name != kJson) fail_unknown(typed.name);
    if (argument != nullptr && !argument->value.empty()) {
      argument->set(typed.value                  ? *typed.value
                    : may_stand_alone(*argument) ? "true"
                                                 : following_value(typed.name));
      return;
    }
    if (typed.value) {
      fail(fmt::format("{} takes no value, found '{}'", typed.name, *typed.value), typed.name);
    }
    if (argument != nullptr) argument->set("");
  }

  /// A value in brackets is optional: an option that follows, or nothing, leaves it out.
  [[nodiscard]] bool may_stand_alone(const Argument& argument) const {
    return argument.value.starts_with('[') &&
           (next_ + 1 == words_.size() || is_option(words_[next_ + 1]));
  }

  /// The next word. An option there is more likely one whose value was forgotten.
  std::string following_value(const std::string& name) {
    if (next_ + 1 == words_.size()) {
      fail(fmt::format("{}: expected a value after it, found nothing", name), name);
    }
    const std::string& word = words_[next_ + 1];
    if (word == kEnd || is_known(Typed(word).name)) {
      fail(fmt::format("{}: expected a value after it, found the option '{}' (write {}{}{} if that "
                       "is the value)",
                       name, word, name, name.starts_with("--") ? "=" : "", word),
           name);
    }
    return words_[++next_];
  }

  void take_positional(const std::string& word) {
    std::size_t place = 0;
    for (const Argument& argument : command_.arguments()) {
      if (!argument.positional) continue;
      if (argument.repeated || place == positionals_) {
        ++positionals_;
        return argument.set(word);
      }
      ++place;
    }
    fail(fmt::format("one argument too many: '{}'", word), word);
  }

  void require_positionals() const {
    std::size_t place = 0;
    for (const Argument& argument : command_.arguments()) {
      if (!argument.positional) continue;
      if (argument.required && place >= positionals_) {
        fail(fmt::format("{} is required", argument.names), argument.names);
      }
      ++place;
    }
  }

  [[nodiscard]] const Argument* find(const std::string& name) const {
    for (const Argument& argument : command_.arguments()) {
      if (argument.positional) continue;
      const std::vector<std::string> names = spellings(argument);
      if (std::find(names.begin(), names.end(), name) != names.end()) return &argument;
    }
    return nullptr;
  }

  [[nodiscard]] bool is_known(const std::string& name) const {
    return name == kJson || name == kHelp || name == kShortHelp || find(name) != nullptr;
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> known{kHelp, kJson};
    for (const Argument& argument : command_.arguments()) {
      if (argument.positional) continue;
      for (std::string& spelling : spellings(argument)) known.push_back(std::move(spelling));
    }
    const std::string closest = closest_word(name, known);
    const std::string hint = name.find(' ') != std::string::npos
                                 ? "; put '--' before an argument that begins with a dash"
                             : closest.empty() ? ""
                                               : fmt::format("; did you mean '{}'?", closest);
    fail(fmt::format("unknown option '{}'{}", name, hint), name);
  }

  [[noreturn]] void fail(const std::string& what, const std::string& word) const {
    throw Error(
        Code::usage,
        fmt::format("{}: {}; see 'sightline {} --help'", command_.name(), what, command_.name()),
        {{"argument", word}});
  }

  const Command& command_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0, positionals_ = 0;
};

bool stands_among(const std::vector<std::string>& words, const std::string& word) {
  const auto end = std::find(words.begin(), words.end(), kEnd);
  return std::find(words.begin(), end, word) != end;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

void read_arguments(const Command& command, const std::vector<std::string>& words) {
  Reader(command, words).read();
}

bool asks_for_json(const std::vector<std::string>& words) { return stands_among(words, kJson); }

bool asks_for_help(const std::vector<std::string>& words) {
  return stands_among(words, kHelp) || stands_among(words, kShortHelp);
}

std::string closest_word(const std::string& typed, const std::vector<std::string>& words) {
  std::string best;
  std::size_t best_distance = std::min<std::size_t>(3, typed.size() / 2 + 1);
  for (const std::string& word : words) {
    const bool prefix = typed.size() >= 3 && word.starts_with(typed);
    const std::size_t distance = prefix ? 1 : edit_distance(typed, word);
    if (distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace sightline::cli
