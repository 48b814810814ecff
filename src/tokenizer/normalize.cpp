// NFC by runs: text is cut where characters can not interact, each run is decomposed, ordered and
// composed. The ordering is our own, because utf8proc's takes quadratic time on long rows of marks.
#include "tokenizer/normalize.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "tokenizer/utf8.hpp"

namespace sightline::tokenizer {
namespace {

struct Range {
  char32_t first, last;
};

// Code points that combine, reorder or decompose in Unicode 10 to 16 but are unknown to the
// reference's tables (Unicode 9). Up to 15 found by comparing both over all code points; the four
// whole blocks and the marks of Unicode 16 come from its UnicodeData.txt.
constexpr std::array kYoungerThanReference = std::to_array<Range>({
    {0x7FD, 0x7FD},     {0x897, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},
    {0xC3C, 0xC3C},     {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x105C0, 0x105F3},
    {0x10D24, 0x10D27}, {0x10D69, 0x10D6D}, {0x10EAB, 0x10EAC}, {0x10EFC, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B},
    {0x11380, 0x113E2}, {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11930, 0x11930},
    {0x11938, 0x11938}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0},
    {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42},
    {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16100, 0x16139},
    {0x16D40, 0x16D79}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF},
});

bool is_younger_than_reference(char32_t c) {
  const auto it = std::partition_point(kYoungerThanReference.begin(), kYoungerThanReference.end(),
                                       [&](const Range& range) { return range.last < c; });
  return it != kYoungerThanReference.end() && it->first <= c;
}

// True for characters that are NFC by themselves and never touch what stands before them: all below
// the first combining mark (U+0300), the ideographs from extension A to the unified block, and the
// jamo U+11A7, which utf8proc 2.8 takes for a trailing consonant after a syllable.
bool is_separate(char32_t c) { return c < 0x300 || (c >= 0x3400 && c <= 0x9FFF) || c == 0x11A7; }

using CodePoints = std::vector<utf8proc_int32_t>;

CodePoints decompose(std::string_view run) {
  constexpr std::size_t kMaxExpansion = 32;  // canonical decompositions have at most 4 code points
  CodePoints out;
  std::array<utf8proc_int32_t, kMaxExpansion> buffer{};
  for (std::size_t i = 0; i < run.size(); i += utf8_step(run, i).length) {
    int boundary = 0;
    const auto count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(utf8_code_point(run, i)), buffer.data(), kMaxExpansion,
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
    out.insert(out.end(), buffer.begin(), buffer.begin() + std::max<utf8proc_ssize_t>(count, 0));
  }
  return out;
}

int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

// Canonical ordering: every row of marks sorted by class, equal classes left as they are.
void order_marks(CodePoints& code_points) {
  const auto is_mark = [](utf8proc_int32_t c) { return combining_class(c) != 0; };
  auto begin = code_points.begin();
  while (begin != code_points.end()) {
    begin = std::find_if(begin, code_points.end(), is_mark);
    const auto end = std::find_if_not(begin, code_points.end(), is_mark);
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    begin = end;
  }
}

std::string nfc_of_run(std::string_view run) {
  CodePoints code_points = decompose(run);
  order_marks(code_points);
  const auto count = utf8proc_normalize_utf32(
      code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  code_points.resize(static_cast<std::size_t>(std::max<utf8proc_ssize_t>(count, 0)));
  std::string out;
  out.reserve(run.size());
  for (const utf8proc_int32_t c : code_points) append_utf8(out, static_cast<char32_t>(c));
  return out;
}

}  // namespace

NfcText::NfcText(std::string_view source) : source_(source) {
  constexpr unsigned char kFirstMarkByte =
      0xCC;               // lead byte of U+0300; smaller ones are separate characters
  std::size_t begin = 0;  // of the run that is being collected
  bool interacts = false;
  for (std::size_t i = 0; i < source.size();) {
    const bool simple = static_cast<unsigned char>(source[i]) < kFirstMarkByte;
    const std::size_t length = utf8_step(source, i).length;
    const char32_t c = simple ? 0 : utf8_code_point(source, i);
    const bool younger = !simple && is_younger_than_reference(c);
    if (is_separate(c) || younger) {
      if (interacts) add_run(begin, i);
      begin = younger ? i + length : i;
      interacts = false;
    } else {
      interacts = true;
    }
    i += length;
  }
  if (interacts) add_run(begin, source.size());
  if (!changed_.empty()) text_.append(source_.substr(copied_));
}

void NfcText::add_run(std::size_t begin, std::size_t end) {
  const std::string_view run = source_.substr(begin, end - begin);
  const std::string normal = nfc_of_run(run);
  if (normal == run) return;
  text_.append(source_.substr(copied_, begin - copied_));
  changed_.push_back({text_.size(), text_.size() + normal.size(), begin, end});
  text_.append(normal);
  copied_ = end;
}

std::size_t NfcText::source_offset(std::size_t offset) const noexcept {
  const auto after = std::upper_bound(changed_.begin(), changed_.end(), offset,
                                      [](std::size_t o, const Run& run) { return o < run.begin; });
  if (after == changed_.begin()) return offset;
  const Run& run = *(after - 1);
  return offset < run.end ? run.source_begin : run.source_end + (offset - run.end);
}

}  // namespace sightline::tokenizer
