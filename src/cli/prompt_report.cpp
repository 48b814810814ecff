// Lays out prompts.
#include "cli/prompt_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/output.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

using generate::Prompt;
using generate::PromptPicture;

io::Json list(std::initializer_list<std::int64_t> values) {
  io::Json array = io::Json::array();
  for (const std::int64_t value : values) array.push(value);
  return array;
}

io::Json numbers(const std::vector<std::int32_t>& values) {
  io::Json array = io::Json::array();
  for (const std::int32_t value : values) array.push(value);
  return array;
}

io::Json run_json(const PromptPicture& picture, std::size_t index, std::size_t run) {
  io::Json notes = io::Json::array();
  for (const std::string& warning : picture.report.warnings) notes.push(warning);
  const image::Picture& p = picture.picture;
  io::Json json = io::Json::Object{{"picture", index},
                                   {"part", picture.where},
                                   {"name", picture.name},
                                   {"format", picture.format},
                                   {"first", picture.runs[run].first_token},
                                   {"tokens", picture.runs[run].tokens},
                                   {"original", list({p.original_height, p.original_width})},
                                   {"resized", list({p.resized.height, p.resized.width})},
                                   {"grid", list({p.grid.t, p.grid.h, p.grid.w})},
                                   {"orientation", picture.report.orientation},
                                   {"notes", std::move(notes)}};
  if (picture.is_video()) {
    json.add("group", run);
    json.add("seconds", picture.clip->sampling().seconds(static_cast<std::int64_t>(run)));
  }
  return json;
}

/// What a video adds to its runs: the frames looked at and their times.
io::Json video_json(const PromptPicture& picture, std::size_t index) {
  const video::Clip& clip = *picture.clip;
  io::Json indices = io::Json::array(), stamps = io::Json::array();
  for (std::int64_t k = 0; k < clip.sampling().count; ++k) indices.push(clip.sampling().index(k));
  for (std::int64_t g = 0; g < clip.groups(); ++g)
    stamps.push(calc::seconds_stamp(clip.sampling().seconds(g)).view());
  const image::Grid& grid = clip.grid();
  return io::Json::Object{{"picture", index},
                          {"name", picture.name},
                          {"frames", clip.facts().frames},
                          {"rate", clip.rate() ? io::Json(*clip.rate()) : io::Json(nullptr)},
                          {"indices", std::move(indices)},
                          {"timestamps", std::move(stamps)},
                          {"grid", list({grid.t, grid.h, grid.w})},
                          {"tokens", clip.tokens()}};
}

/// Rows that are shown as one line: one origin, and either text or the placeholders of one picture
/// or group of frames.
struct Segment {
  std::size_t begin = 0, end = 0;
  const PromptPicture* picture = nullptr;
};

std::vector<Segment> segments_of(const Prompt& prompt) {
  std::vector<Segment> segments;
  std::map<std::size_t, Segment> visual;
  for (const PromptPicture& picture : prompt.pictures) {
    for (const generate::PlaceholderRun& run : picture.runs) {
      const auto begin = static_cast<std::size_t>(run.first_token);
      visual[begin] = {begin, begin + static_cast<std::size_t>(run.tokens), &picture};
    }
  }
  std::size_t i = 0;
  while (i < prompt.ids.size()) {
    Segment segment{i, i + 1, nullptr};
    if (const auto at = visual.find(i); at != visual.end()) {
      segment = at->second;
    } else {
      while (segment.end < prompt.ids.size() && visual.count(segment.end) == 0 &&
             prompt.origins[segment.end] == prompt.origins[i]) {
        ++segment.end;
      }
    }
    i = segment.end;
    segments.push_back(segment);
  }
  return segments;
}

std::string range_text(std::int64_t low, std::int64_t high) {
  return low == high ? std::to_string(low) : fmt::format("{}-{}", low, high);
}

/// "4-7" when the axes agree, "4 / 4-11 / 4-11" (time, height, width) when they do not.
std::string positions_text(const Prompt& prompt, const Segment& segment) {
  std::array<std::string, 3> axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto& axis = prompt.positions.axes[a];
    const auto [low, high] =
        std::minmax_element(axis.begin() + static_cast<std::ptrdiff_t>(segment.begin),
                            axis.begin() + static_cast<std::ptrdiff_t>(segment.end));
    axes[a] = range_text(*low, *high);
  }
  if (segment.picture == nullptr) return axes[0];
  return fmt::format("{} / {} / {}", axes[0], axes[1], axes[2]);
}

std::string origin_text(const Prompt& prompt, const Segment& segment) {
  if (segment.picture != nullptr) return segment.picture->where;
  const Origin origin = prompt.origins[segment.begin];
  return origin == kTemplateOrigin ? "template" : prompt.text.parts[origin - 1].where;
}

std::string segment_text(const Prompt& prompt, const Segment& segment,
                         const tokenizer::Tokenizer& tokenizer) {
  if (segment.picture != nullptr) {
    return fmt::format("{}, {} placeholders", segment.picture->is_video() ? "frames" : "picture",
                       segment.end - segment.begin);
  }
  return single_line(
      tokenizer.decode(std::span(prompt.ids).subspan(segment.begin, segment.end - segment.begin)));
}

std::string summary(const Prompt& prompt) {
  std::int64_t visual = 0, videos = 0;
  for (const PromptPicture& picture : prompt.pictures) {
    visual += picture.picture.tokens;
    videos += picture.is_video() ? 1 : 0;
  }
  const std::int64_t pictures = static_cast<std::int64_t>(prompt.pictures.size()) - videos;
  const auto counted = [](std::int64_t count, const char* what) {
    return count == 0 ? "" : fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string text =
      fmt::format("tokens     {} ({} of text", prompt.tokens(), prompt.tokens() - visual);
  if (!prompt.pictures.empty()) {
    text += fmt::format(", {} of {}{}{}", visual, counted(pictures, "picture"),
                        pictures > 0 && videos > 0 ? " and " : "", counted(videos, "video"));
  }
  return text + fmt::format(
                    ")\npositions  the answer starts at {} (delta {})\nanswer     starts {} "
                    "the reasoning\n",
                    prompt.tokens() + prompt.rope_delta, prompt.rope_delta,
                    prompt.reasoning_open ? "inside" : "outside");
}

/// "     12 of 291 frames (30/s), one stamp for 2: <0.3 seconds> to <9.7 seconds>".
std::string frames_text(const video::Clip& clip) {
  const calc::Sampling& sampling = clip.sampling();
  return fmt::format("     {} of {} frames ({}), time stamps {} to {}\n", sampling.count,
                     clip.facts().frames,
                     clip.rate() ? fmt::format("{:.6g} per second", *clip.rate())
                                 : "rate unknown, taken as 24 per second",
                     calc::seconds_stamp(sampling.seconds(0)).view(),
                     calc::seconds_stamp(sampling.seconds(clip.groups() - 1)).view());
}

std::string picture_rows(const Prompt& prompt) {
  std::string text = fmt::format("\n{:<5}{:<14}{:<14}{:<12}{:>7}  {}\n", "#", "size", "resized",
                                 "patches", "tokens", "file");
  for (std::size_t i = 0; i < prompt.pictures.size(); ++i) {
    const image::Picture& p = prompt.pictures[i].picture;
    const bool video = prompt.pictures[i].is_video();
    std::string row = fmt::format(
        "{:<5}{:<14}{:<14}{:<12}{:>7}  ", i + 1,
        fmt::format("{} x {}", p.original_width, p.original_height),
        fmt::format("{} x {}", p.resized.width, p.resized.height),
        fmt::format("{} x {}{}", p.grid.w, p.grid.h, video ? fmt::format(" x {}", p.grid.t) : ""),
        p.tokens);
    const std::size_t room = kHelpColumns - std::min(kHelpColumns, display_width(row));
    text += row + shortened(single_line(prompt.pictures[i].name), room) + "\n";
    if (video) text += frames_text(*prompt.pictures[i].clip);
    for (const std::string& note : prompt.pictures[i].report.warnings)
      text += "     " + single_line(note) + "\n";
  }
  return text;
}

}  // namespace

io::Json prompt_json(const Prompt& prompt) {
  io::Json runs = io::Json::array(), positions = io::Json::array(), videos = io::Json::array();
  for (std::size_t i = 0; i < prompt.pictures.size(); ++i) {
    const PromptPicture& picture = prompt.pictures[i];
    for (std::size_t run = 0; run < picture.runs.size(); ++run)
      runs.push(run_json(picture, i, run));
    if (picture.is_video()) videos.push(video_json(picture, i));
  }
  for (const auto& axis : prompt.positions.axes) positions.push(numbers(axis));
  return io::Json::Object{{"text", prompt.text.bytes},
                          {"tokens", prompt.tokens()},
                          {"ids", numbers(prompt.ids)},
                          {"runs", std::move(runs)},
                          {"videos", std::move(videos)},
                          {"positions", std::move(positions)},
                          {"rope_delta", prompt.rope_delta},
                          {"next_position", prompt.tokens() + prompt.rope_delta},
                          {"generation_start", prompt.generation_start},
                          {"reasoning_open", prompt.reasoning_open}};
}

std::string prompt_table(const Prompt& prompt, const tokenizer::Tokenizer& tokenizer) {
  std::string table = summary(prompt);
  if (!prompt.pictures.empty()) table += picture_rows(prompt);
  table += fmt::format("\n{:>6} {:>6}  {:<22}  {:<25}  {}\n", "first", "tokens",
                       "positions (t / h / w)", "from", "text");
  for (const Segment& segment : segments_of(prompt)) {
    std::string row =
        fmt::format("{:>6} {:>6}  {:<22}  {:<25}  ", segment.begin, segment.end - segment.begin,
                    positions_text(prompt, segment), origin_text(prompt, segment));
    const std::size_t room = kHelpColumns - std::min(kHelpColumns, display_width(row));
    table += row + shortened(segment_text(prompt, segment, tokenizer), room) + "\n";
  }
  return table;
}

}  // namespace sightline::cli
