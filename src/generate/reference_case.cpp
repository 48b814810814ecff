// Reading a case file with every bound checked (reference_case.hpp).
#include "generate/reference_case.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "sightline/error.hpp"

namespace sightline::generate {
namespace {

constexpr std::int64_t kMaxGrid = 1 << 20;  // patches along one axis: far above any picture

class CaseReader {
 public:
  CaseReader(const ReferenceCase& source, const model::ModelInfo& info)
      : source_(source), info_(info) {}

  std::vector<std::int32_t> ids() const {
    std::vector<std::int32_t> ids;
    for (const std::int64_t id : source_.integers("input_ids")) {
      if (id < 0 || id >= info_.vocab_size) {
        fail("input_ids", fmt::format("ids from 0 to {}", info_.vocab_size - 1),
             fmt::format("{}", id));
      }
      ids.push_back(static_cast<std::int32_t>(id));
    }
    if (ids.empty()) fail("input_ids", "at least one token", "none");
    return ids;
  }

  CaseVisuals visuals(const std::string& pixels_name, const std::string& grids_name) const {
    CaseVisuals visuals;
    const auto pixels = source_.file->find(pixels_name);
    if (!pixels) return visuals;
    visuals.grids = grids(grids_name);
    std::int64_t patches = 0;
    for (const nn::Grid& grid : visuals.grids) patches += grid.patches();
    if (pixels->shape != Shape{patches, info_.patch_values}) {
      fail(pixels_name,
           fmt::format("shape [{}, {}] by {} and the configuration", patches, info_.patch_values,
                       grids_name),
           io::shape_text(pixels->shape));
    }
    visuals.pixels = io::to_floats(*pixels);
    return visuals;
  }

 private:
  [[noreturn]] void fail(const std::string& tensor, const std::string& expected,
                         const std::string& found) const {
    throw Error(
        Code::invalid_case,
        fmt::format("{}: tensor {}: expected {}, found {}", source_.path, tensor, expected, found),
        {{"file", source_.path}, {"tensor", tensor}});
  }

  std::vector<nn::Grid> grids(const std::string& name) const {
    const std::vector<std::int64_t> values = source_.integers(name);
    if (values.empty() || values.size() % 3 != 0) {
      fail(name, "rows of t, h, w", fmt::format("{} values", values.size()));
    }
    std::vector<nn::Grid> grids;
    for (std::size_t i = 0; i < values.size(); i += 3) {
      const nn::Grid grid{values[i], values[i + 1], values[i + 2]};
      const auto fits = [](std::int64_t extent) { return extent > 0 && extent <= kMaxGrid; };
      if (!fits(grid.t) || !fits(grid.h) || !fits(grid.w) ||
          grid.h % info_.spatial_merge_size != 0 || grid.w % info_.spatial_merge_size != 0) {
        fail(name,
             fmt::format("positive t, h, w with h and w multiples of {}", info_.spatial_merge_size),
             fmt::format("[{}, {}, {}]", grid.t, grid.h, grid.w));
      }
      grids.push_back(grid);
    }
    return grids;
  }

  const ReferenceCase& source_;
  const model::ModelInfo& info_;
};

// A case is an input file of a person, whatever container it uses: its faults are invalid_case.
std::unique_ptr<const io::SafetensorsFile> open_case(const std::string& path) {
  try {
    return std::make_unique<const io::SafetensorsFile>(path);
  } catch (const Error& error) {
    if (error.domain() != Domain::checkpoint) throw;
    throw Error(Code::invalid_case, error.what(), error.context());
  }
}

}  // namespace

std::vector<model::VisualInput> CaseVisuals::inputs() const {
  std::vector<model::VisualInput> inputs;
  std::int64_t patches = 0;
  for (const nn::Grid& grid : grids) patches += grid.patches();
  const std::int64_t cols = patches == 0 ? 0 : static_cast<std::int64_t>(pixels.size()) / patches;
  const float* next = pixels.data();
  for (const nn::Grid& grid : grids) {
    inputs.push_back({ConstView(next, grid.patches(), cols), grid});
    next += grid.patches() * cols;
  }
  return inputs;
}

ReferenceCase ReferenceCase::read(const std::string& path, const model::ModelInfo& info) {
  ReferenceCase result;
  result.path = path;
  result.file = open_case(path);
  if (!result.file->find("input_ids")) {
    throw Error(Code::invalid_case,
                fmt::format("{}: expected a reference case with input_ids, which "
                            "tools/reference/capture.py makes (docs/parity.md), found a file "
                            "without; two captures of 'sightline trace --save' are compared by "
                            "'sightline diff'",
                            path),
                {{"file", path}, {"tensor", "input_ids"}});
  }
  const CaseReader reader(result, info);
  result.ids = reader.ids();
  result.images = reader.visuals("pixel_values", "image_grid_thw");
  result.videos = reader.visuals("pixel_values_videos", "video_grid_thw");
  return result;
}

std::vector<std::int64_t> ReferenceCase::integers(const std::string& name) const {
  const auto stored = file->find(name);
  if (!stored) return {};
  std::vector<std::int64_t> values(static_cast<std::size_t>(stored->shape.elements()));
  if (stored->dtype == DType::i64) {
    if (!values.empty()) std::memcpy(values.data(), stored->data, values.size() * sizeof values[0]);
  } else if (stored->dtype == DType::i32) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int32_t value = 0;
      std::memcpy(&value, stored->data + i * sizeof value, sizeof value);
      values[i] = value;
    }
  } else {
    throw Error(Code::invalid_case,
                fmt::format("{}: tensor {}: expected I64, found {}", path, name,
                            io::dtype_name(stored->dtype)),
                {{"file", path}, {"tensor", name}});
  }
  return values;
}

}  // namespace sightline::generate
