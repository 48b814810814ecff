// Groups of frames as text (video_text.hpp).
#include "generate/video_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sightline::generate {
namespace {

constexpr std::string_view kPad = "<|video_pad|>", kStart = "<|vision_start|>",
                           kEnd = "<|vision_end|>";

bool is_templates(const SourceText& text, std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t i) {
    return text.origins.begin() + static_cast<std::ptrdiff_t>(i);
  };
  return std::all_of(at(begin), at(end), [](Origin origin) { return origin == kTemplateOrigin; });
}

/// Where the next placeholder of the template begins at or after `from`; npos if there is none.
std::size_t find_placeholder(const SourceText& text, std::size_t from) {
  std::size_t at = text.bytes.find(kPad, from);
  while (at != std::string::npos && !is_templates(text, at, at + kPad.size()))
    at = text.bytes.find(kPad, at + 1);
  return at;
}

std::string groups_text(const video::Clip& clip) {
  std::string text;
  for (std::int64_t group = 0; group < clip.groups(); ++group) {
    text += calc::seconds_stamp(clip.sampling().seconds(group)).view();
    text.append(kStart).append(kPad).append(kEnd);
  }
  return text;
}

[[noreturn]] void fail_count(std::size_t found, std::size_t expected) {
  throw Error(
      Code::placeholder_mismatch,
      fmt::format("the chat template wrote {} video placeholders for {} videos", found, expected),
      {{"placeholders", std::to_string(found)}, {"videos", std::to_string(expected)}});
}

}  // namespace

SourceText with_video_groups(const SourceText& text, const std::vector<PromptPicture>& pictures,
                             VideoWrapper wrapper) {
  std::vector<const video::Clip*> clips;
  for (const PromptPicture& picture : pictures) {
    if (picture.is_video()) clips.push_back(picture.clip.get());
  }
  SourceText out;
  out.parts = text.parts;
  std::size_t done = 0, used = 0;
  for (std::size_t at = find_placeholder(text, 0); at != std::string::npos;
       at = find_placeholder(text, at + kPad.size())) {
    if (used == clips.size()) fail_count(used + 1, clips.size());
    std::size_t begin = at, end = at + kPad.size();
    const bool wrapped = begin >= done + kStart.size() &&
                         std::string_view(text.bytes).substr(0, begin).ends_with(kStart) &&
                         std::string_view(text.bytes).substr(end).starts_with(kEnd) &&
                         is_templates(text, begin - kStart.size(), end + kEnd.size());
    if (wrapper == VideoWrapper::whole && wrapped) {
      begin -= kStart.size();
      end += kEnd.size();
    }
    out.append(text.slice(done, begin));
    out.append(groups_text(*clips[used++]), kTemplateOrigin);
    done = end;
  }
  out.append(text.slice(done, text.size()));
  if (used != clips.size()) fail_count(used, clips.size());
  return out;
}

}  // namespace sightline::generate
