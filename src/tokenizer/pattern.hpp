// What the split pattern of tokenizer.json may contain, and the characters on which the two engines
// disagree: the reference runs the pattern with Oniguruma (Unicode 16), sightline with PCRE2. Pure
// functions; no third-party code.
#pragma once

#include <string>
#include <string_view>

namespace sightline::tokenizer {

/// Checks that Oniguruma and PCRE2 read `pattern` alike: literals, `|`, groups `( (?: (?i: (?= (?!
/// (?<= (?<!`, classes of literals and escapes, `\r \n \t \s \S \p{L} \p{M} \p{N}` (also `\P`), `*
/// + ?` (lazy and possessive) and `{n}`, `{n,}`, `{n,m}`. Throws Error(invalid_tokenizer) naming
/// `file`, `path` and the first construct beyond that.
void check_pattern(std::string_view pattern, const std::string& file, const std::string& path);

/// `text` with every character that older Unicode tables (or PCRE2's idea of white space) classify
/// differently replaced by a stand-in of the same length in bytes and of the class that the
/// reference sees. For matching only: offsets stay true. Returns `text` itself if there is none,
/// else a view of `buffer`. Allowed by check_pattern(): a pattern can tell letters, marks, digits,
/// white space and ASCII apart, no more.
std::string_view with_stand_ins(std::string_view text, std::string& buffer);

}  // namespace sightline::tokenizer
