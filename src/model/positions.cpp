// Positions of prompts with pictures (positions.hpp).
#include "model/positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sightline/error.hpp"

namespace sightline::model {
namespace {

// The grids of one modality as temporal groups (1, h, w) in merged units, each a run of h · w
// tokens.
class Groups {
 public:
  Groups(std::span<const nn::Grid> grids, std::int64_t merge, const char* what) : what_(what) {
    for (const nn::Grid& grid : grids) {
      for (std::int64_t t = 0; t < grid.t; ++t)
        groups_.push_back({1, grid.h / merge, grid.w / merge});
    }
  }
  [[nodiscard]] std::int64_t tokens() const {
    std::int64_t total = 0;
    for (const nn::Grid& group : groups_) total += group.patches();
    return total;
  }
  void check(std::int64_t placeholders) const {
    if (placeholders == tokens()) return;
    throw Error(
        Code::placeholder_mismatch,
        fmt::format("the prompt holds {} {} placeholders, but the {}s give {} feature rows",
                    placeholders, what_, what_, tokens()),
        {{"placeholders", std::to_string(placeholders)}, {"features", std::to_string(tokens())}});
  }
  const nn::Grid& take() { return groups_[next_++]; }

 private:
  const char* what_;
  std::vector<nn::Grid> groups_;
  std::size_t next_ = 0;
};

[[noreturn]] void refuse_short_run(std::size_t token, const nn::Grid& picture) {
  throw Error(
      Code::placeholder_mismatch,
      fmt::format("a run of placeholders ends at token {}, inside of a picture of {} tokens", token,
                  picture.patches()));
}

}  // namespace

std::vector<TokenType> token_types(std::span<const std::int32_t> ids, std::int32_t image_id,
                                   std::int32_t video_id) {
  std::vector<TokenType> types;
  types.reserve(ids.size());
  for (const std::int32_t id : ids) {
    const bool image = id >= 0 && id == image_id, video = id >= 0 && id == video_id;
    types.push_back(image ? TokenType::image : video ? TokenType::video : TokenType::text);
  }
  return types;
}

std::int64_t append_positions(std::span<const TokenType> types, std::span<const nn::Grid> images,
                              std::span<const nn::Grid> videos, std::int64_t merge,
                              std::int64_t start, nn::Positions& positions) {
  Groups image_groups(images, merge, "image"), video_groups(videos, merge, "video");
  image_groups.check(std::count(types.begin(), types.end(), TokenType::image));
  video_groups.check(std::count(types.begin(), types.end(), TokenType::video));
  std::int64_t next = start;
  for (std::size_t i = 0; i < types.size();) {
    if (types[i] == TokenType::text) {
      const auto p = static_cast<std::int32_t>(next++);
      positions.push(p, p, p);
      ++i;
      continue;
    }
    const TokenType type = types[i];
    const nn::Grid group = type == TokenType::image ? image_groups.take() : video_groups.take();
    for (std::int64_t token = 0; token < group.patches(); ++token, ++i) {
      if (i >= types.size() || types[i] != type) refuse_short_run(i, group);
      positions.push(static_cast<std::int32_t>(next),
                     static_cast<std::int32_t>(next + token / group.w),
                     static_cast<std::int32_t>(next + token % group.w));
    }
    next += std::max(group.h, group.w);
  }
  return next;
}

}  // namespace sightline::model
