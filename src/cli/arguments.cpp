// Options and values through getopt_long, the only user of it; positional arguments; the closest
// spelling of a mistyped word.
#include "cli/arguments.hpp"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <cctype>
#include <deque>

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

/// The part of an option's word that names it: `--name` of `--name=VALUE`, `-n` of `-nVALUE`.
std::string name_in(const std::string& word) {
  return word.substr(0, word.starts_with("--") ? word.find('=') : 2);
}

/// getopt_long finds options and their values; what they mean and what is wrong is said here.
class Reader {
 public:
  Reader(const Command& command, const std::vector<std::string>& words)
      : command_(command), words_(words) {
    words_.insert(words_.begin(), command.name());
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    add_long(kJson, no_argument);
    for (const Argument& argument : command.arguments()) {
      if (!argument.positional) declare(argument);
    }
    long_.push_back({});
  }

  void read() {
    const int count = static_cast<int>(words_.size());
    opterr = optind = 0;  // no messages of its own; 0: forget an earlier command line
    (void)getopt_long(1, argv_.data(), short_.c_str(), long_.data(), nullptr);
    for (bool inside = false; optind < count;) {  // inside: more letters of one word follow
      const int place = optind;
      const std::string& word = words_[static_cast<std::size_t>(place)];
      if (!inside && word != kEnd && !is_option(word)) {
        take_positional(word);
        ++optind;
        continue;
      }
      const int found = getopt_long(count, argv_.data(), short_.c_str(), long_.data(), nullptr);
      if (found < 0) break;
      inside = optind == place;
      take_option(word, found);
    }
    while (optind < count) take_positional(words_[static_cast<std::size_t>(optind++)]);
    require_positionals();
  }

 private:
  void add_long(const char* name, int has_value) {
    // Any value above those of letters tells a long option; its word has its name.
    long_.push_back({name + 2, has_value, nullptr, kLong});
  }

  void declare(const Argument& argument) {
    const bool optional = argument.value.starts_with('[');
    for (const std::string& spelling : spellings(argument)) {
      if (spelling.starts_with("--")) {
        names_.push_back(spelling);
        add_long(names_.back().c_str(), argument.value.empty() ? no_argument
                                        : optional             ? optional_argument
                                                               : required_argument);
      } else {
        short_ += spelling.substr(1) + (argument.value.empty() ? "" : optional ? "::" : ":");
      }
    }
  }

  /// `found`: what getopt_long returned for `word`: a letter, kLong, or '?' and ':' for faults.
  void take_option(const std::string& word, int found) {
    const bool is_long = word.starts_with("--");
    const int letter = found == '?' || found == ':' ? optopt : found;
    const std::string name = is_long ? name_in(word) : std::string("-") + static_cast<char>(letter);
    const Argument* argument = find(name);  // an abbreviation, which getopt takes, is not found
    if (argument == nullptr && name != kJson) fail_unknown(name);
    if (found == ':') fail(fmt::format("{}: expected a value after it, found nothing", name), name);
    if (found == '?') {
      const std::string value = word.substr(std::min(word.size(), name.size() + 1));
      fail(fmt::format("{} takes no value, found '{}'", name, value), name);
    }
    if (argument != nullptr) argument->set(value_of(*argument, name));
  }

  std::string value_of(const Argument& argument, const std::string& name) {
    if (argument.value.empty()) return "";
    if (optarg == nullptr) {  // a value in brackets: the next word, unless an option or nothing
      const auto next = static_cast<std::size_t>(optind);
      if (next == words_.size() || is_option(words_[next])) return "true";
      ++optind;
      return words_[next];
    }
    const std::string value = optarg;
    const bool own_word = optarg == argv_[static_cast<std::size_t>(optind - 1)];
    // An option there is more likely one whose value was forgotten.
    if (own_word && (value == kEnd || is_known(name_in(value)))) {
      fail(fmt::format("{}: expected a value after it, found the option '{}' (write {}{}{} if that "
                       "is the value)",
                       name, value, name, name.starts_with("--") ? "=" : "", value),
           name);
    }
    return value;
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
    const bool letter = name.size() == 2;  // every other letter is as close
    const std::string closest = letter ? "" : closest_word(name, known);
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

  static constexpr int kLong = 256;

  const Command& command_;
  std::vector<std::string> words_;
  std::vector<char*> argv_;
  std::deque<std::string> names_;  // that long_ points to
  std::vector<option> long_;
  std::string short_ = "+:";  // stop at what is no option; tell a missing value apart
  std::size_t positionals_ = 0;
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
