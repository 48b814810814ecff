// Normalisation and patch order (specification sections 2.4 and 2.5).
#include "image/patches.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/sha256.hpp"
#include "sightline/error.hpp"

namespace sightline::image {
namespace {

// One patch of one frame: channel c, row py goes to out[((c * slices) * patch + py) * patch].
void write_slice(const std::uint8_t* corner, std::int64_t stride, const ProcessorConfig& config,
                 const PixelTable& table, float* out) {
  const std::int64_t patch = config.patch_size;
  for (std::size_t c = 0; c < 3; ++c) {
    const float* values = table.channel(c);
    float* channel =
        out + static_cast<std::int64_t>(c) * config.temporal_patch_size * patch * patch;
    for (std::int64_t y = 0; y < patch; ++y) {
      const std::uint8_t* in = corner + y * stride + static_cast<std::int64_t>(c);
      for (std::int64_t x = 0; x < patch; ++x) channel[y * patch + x] = values[in[x * 3]];
    }
  }
}

// Repeats slice 0 of a row in slice `slice`, for frames that are shown more than once.
void repeat_slice(std::int64_t from, std::int64_t to, const ProcessorConfig& config, float* row) {
  const std::int64_t area = config.patch_size * config.patch_size;
  for (std::int64_t c = 0; c < 3; ++c) {
    float* channel = row + c * config.temporal_patch_size * area;
    std::copy_n(channel + from * area, area, channel + to * area);
  }
}

// One row of pixel_values: the same patch of all frames of group t.
void write_row(const Frames& frames, std::int64_t t, std::int64_t top, std::int64_t left,
               const ProcessorConfig& config, const PixelTable& table, float* row) {
  const std::int64_t stride = frames.width * 3;
  const std::int64_t area = config.patch_size * config.patch_size;
  const auto last = static_cast<std::int64_t>(frames.rgb.size()) - 1;
  for (std::int64_t slice = 0; slice < config.temporal_patch_size; ++slice) {
    const std::int64_t frame = t * config.temporal_patch_size + slice;
    if (frame > last && slice > 0) {
      repeat_slice(slice - 1, slice, config, row);
      continue;
    }
    const std::uint8_t* pixels = frames.rgb[static_cast<std::size_t>(std::min(frame, last))];
    write_slice(pixels + top * stride + left * 3, stride, config, table, row + slice * area);
  }
}

}  // namespace

PixelTable::PixelTable(const ProcessorConfig& config) {
  const double scale = 1.0 / config.rescale_factor;
  const bool fused = config.do_rescale && config.do_normalize;
  for (std::size_t c = 0; c < 3; ++c) {
    auto mean = static_cast<float>(config.image_mean[c]);
    auto deviation = static_cast<float>(config.image_std[c]);
    if (fused) mean *= static_cast<float>(scale), deviation *= static_cast<float>(scale);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      auto value = static_cast<float>(byte);
      if (config.do_rescale && !fused) value *= static_cast<float>(config.rescale_factor);
      if (config.do_normalize) value = (value - mean) / deviation;
      values_[c][byte] = value;
    }
  }
}

void write_patches(const Frames& frames, const ProcessorConfig& config, const PixelTable& table,
                   std::span<float> out) {
  const std::int64_t patch = config.patch_size, merge = config.merge_size;
  const auto count = static_cast<std::int64_t>(frames.rgb.size());
  const Grid grid = grid_of(count, {SizeStatus::ok, frames.height, frames.width}, patch,
                            config.temporal_patch_size);
  const std::int64_t row_floats = config.row_floats();
  if (count == 0 || frames.height % config.factor() != 0 || frames.width % config.factor() != 0 ||
      out.size() != static_cast<std::size_t>(grid.patches() * row_floats)) {
    throw Error(Code::internal, fmt::format("write_patches: {} frames of {}x{} into {} floats",
                                            count, frames.width, frames.height, out.size()));
  }
  float* row = out.data();
  const std::int64_t block = merge * merge;
  for (std::int64_t t = 0; t < grid.t; ++t) {
    for (std::int64_t i = 0; i < grid.h * grid.w; ++i, row += row_floats) {
      const std::int64_t block_index = i / block, inside = i % block;
      const std::int64_t y = block_index / (grid.w / merge) * merge + inside / merge;
      const std::int64_t x = block_index % (grid.w / merge) * merge + inside % merge;
      write_row(frames, t, y * patch, x * patch, config, table, row);
    }
  }
}

PixelHash hash_pixels(const Frames& frames, const Grid& grid) {
  Sha256 hash;
  for (const std::int64_t number : {grid.t, grid.h, grid.w}) {
    std::array<std::uint8_t, 8> bytes;  // little-endian on every machine
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (8 * i));
    }
    hash.update(bytes.data(), bytes.size());
  }
  for (const std::uint8_t* rgb : frames.rgb) {
    hash.update(rgb, static_cast<std::size_t>(frames.height * frames.width * 3));
  }
  const Sha256::Digest digest = hash.finish();
  PixelHash result;
  std::copy_n(digest.begin(), result.bytes.size(), result.bytes.begin());
  return result;
}

}  // namespace sightline::image
