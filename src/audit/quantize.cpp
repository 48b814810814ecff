// Plan, codes row by row, copies (quantize.hpp).
#include "audit/quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "base/mmap.hpp"
#include "base/threads.hpp"
#include "generate/load_model.hpp"
#include "io/checkpoint.hpp"
#include "io/pack_config.hpp"
#include "io/rounded_modules.hpp"
#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

constexpr std::int64_t kPieceValues = std::int64_t{4} << 20;  // rounded before they are written
constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;   // copied at once

/// A stored tensor and what becomes of it.
struct Item {
  io::StoredTensor stored;
  std::string module;                ///< of a rounded matrix: its name without ".weight"
  std::optional<Rounding> rounding;  ///< nothing: copied
  std::int64_t order = 0;            ///< in the model

  [[nodiscard]] std::string name(std::string_view leaf) const {
    return fmt::format("{}.{}", module, leaf);
  }
};

std::string_view parent(std::string_view name) { return name.substr(0, name.rfind('.')); }

Kept kept_of(const io::StoredTensor& tensor) {
  const std::string_view name = tensor.name;
  if (name.starts_with("mtp.")) return Kept::mtp;
  if (name.starts_with("model.visual.")) return Kept::vision;
  if (name.ends_with("embed_tokens.weight") || name.ends_with("lm_head.weight")) return Kept::head;
  if (parent(name).ends_with(".mlp.experts") && tensor.shape.rank() == 3) return Kept::experts;
  return Kept::small;
}

/// Everything that is stored, in the order of its bytes.
std::vector<Item> items_of(const io::Checkpoint& stored, const io::LoadReport& report, int bits) {
  std::map<std::string_view, std::int64_t> order;
  for (const io::ClaimedTensor& tensor : report.tensors)
    order.emplace(tensor.name, static_cast<std::int64_t>(order.size()));
  std::vector<Item> items;
  for (const std::string_view name : stored.names()) {
    Item item{*stored.find(name), {}, {}, 0};
    const auto found = order.find(name);
    if (found != order.end() && io::is_rounded(name, item.stored.shape)) {
      item.module = std::string(parent(name));
      item.rounding = rounding_for(bits, item.stored.shape[1]);
      item.order = found->second;
    }
    items.push_back(std::move(item));
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.stored.file != b.stored.file ? a.stored.file < b.stored.file
                                          : std::less<>()(a.stored.data, b.stored.data);
  });
  return items;
}

/// The tensors that stand for an item: compressed-tensors, compressors/pack_quantized.
std::vector<io::TensorEntry> entries_of(const Item& item) {
  const Shape& shape = item.stored.shape;
  if (!item.rounding) return {{std::string(item.stored.name), item.stored.dtype, shape}};
  constexpr std::int64_t kWordBits = 32;
  return {
      {item.name("weight_packed"),
       DType::i32,
       {shape[0], shape[1] * item.rounding->bits() / kWordBits}},
      {item.name("weight_scale"), DType::bf16, {shape[0], shape[1] / item.rounding->group_cols}},
      {item.name("weight_shape"), DType::i64, {2}}};
}

/// Modules with a matrix, as quantization_config has to speak of them.
std::vector<io::PackedModuleGroup> modules_of(const std::vector<Item>& items) {
  std::vector<io::PackedModuleGroup> modules;
  for (const Item& item : items) {
    const std::string module(parent(item.stored.name));
    if (item.rounding) {
      modules.push_back({module, item.rounding->group_cols});
      continue;
    }
    const bool matrix = item.stored.shape.rank() > 1 && item.stored.name.ends_with(".weight") &&
                        !module.ends_with("embed_tokens") && !module.ends_with("pos_embed");
    if (matrix || kept_of(item.stored) == Kept::experts) modules.push_back({module, 0});
  }
  return modules;
}

io::Json config_of(const std::string& directory) {
  const std::string file = directory + "/config.json";
  io::Json config = io::read_json_file(file, Code::invalid_config);
  const auto refuse = [&](const io::Json& object) {
    const io::Json* found = object.find("quantization_config");
    if (found == nullptr || found->is_null()) return;
    const io::Json* method = found->find("quant_method");
    throw Error(Code::invalid_config,
                fmt::format("{}: quantization_config: expected a checkpoint as trained, found one "
                            "that is quantised already ({}): round the one that it was made of",
                            file,
                            method != nullptr && method->is_string() ? method->as_string()
                                                                     : "of an unknown method"),
                {{"file", file}, {"path", "quantization_config"}});
  };
  refuse(config);
  if (const io::Json* text = config.find("text_config")) refuse(*text);
  return config;
}

/// The configuration with quantization_config at its end (in place of an empty one).
io::Json with_quantization(const io::Json& config, io::Json quantization) {
  io::Json whole = io::Json::object();
  for (const auto& [key, value] : config.as_object()) {
    if (key != "quantization_config") whole.add(key, value);
  }
  whole.add("quantization_config", std::move(quantization));
  return whole;
}

/// Scales of rows that are not finite.
std::int64_t not_finite(const std::vector<std::byte>& scales) {
  constexpr unsigned kExponent = 0x7F80;
  std::int64_t count = 0;
  for (std::size_t i = 0; i + 1 < scales.size(); i += 2) {
    const unsigned bits = static_cast<unsigned>(scales[i]) | static_cast<unsigned>(scales[i + 1])
                                                                 << 8U;
    count += (bits & kExponent) == kExponent ? 1 : 0;
  }
  return count;
}

class Writer {
 public:
  using Wrote = std::function<void(std::int64_t bytes)>;

  Writer(int threads, Wrote wrote) : threads_(threads), wrote_(std::move(wrote)) {}

  /// Writes what stands for an item; a report of a matrix that was rounded.
  std::optional<RoundedTensor> write(const Item& item,
                                     const std::map<std::string_view, io::TensorEntry>& places,
                                     io::ShardWriter& file) {
    std::optional<RoundedTensor> rounded;
    if (item.rounding) {
      rounded = round(item, places, file);
    } else {
      copy(item.stored, places.at(item.stored.name), file);
    }
    return rounded;
  }

 private:
  /// What has been read may leave memory.
  static void forget(const io::StoredTensor& stored, std::int64_t first, std::int64_t bytes) {
    if (stored.mapped) forget_pages(stored.data + first, bytes);
  }

  void copy(const io::StoredTensor& stored, const io::TensorEntry& place, io::ShardWriter& file) {
    for (std::int64_t first = 0; first < stored.bytes; first += kPieceBytes) {
      const std::int64_t count = std::min(kPieceBytes, stored.bytes - first);
      file.write(place, first, {stored.data + first, static_cast<std::size_t>(count)});
      forget(stored, first, count);
      wrote_(count);
    }
  }

  RoundedTensor round(const Item& item, const std::map<std::string_view, io::TensorEntry>& places,
                      io::ShardWriter& file) {
    const io::StoredTensor& stored = item.stored;
    const Weight weight{stored.dtype, stored.shape[0], stored.shape[1], stored.data};
    const io::TensorEntry& codes = places.at(item.name("weight_packed"));
    const io::TensorEntry& scales = places.at(item.name("weight_scale"));
    const io::TensorEntry& shape = places.at(item.name("weight_shape"));
    RoundedTensor report{std::string(stored.name), stored.dtype, stored.shape, *item.rounding};
    report.bytes_before = stored.bytes;
    report.bytes_after = codes.bytes + scales.bytes + shape.bytes;

    const std::int64_t noted[] = {weight.out, weight.in};
    file.write(shape, 0, std::as_bytes(std::span(noted)));
    wrote_(shape.bytes);
    const std::int64_t piece_rows =
        std::max<std::int64_t>(1, kPieceValues / weight.in / kRoundedBlock) * kRoundedBlock;
    std::int64_t at_codes = 0, at_scales = 0;
    for (std::int64_t row = 0; row < weight.out; row += piece_rows) {
      const std::int64_t rows = std::min(piece_rows, weight.out - row);
      std::vector<RoundedRows> piece(
          static_cast<std::size_t>((rows + kRoundedBlock - 1) / kRoundedBlock));
      round_blocks(weight, row, rows, *item.rounding, threads_,
                   [&](std::int64_t block, RoundedRows part) {
                     piece[static_cast<std::size_t>(block)] = std::move(part);
                   });
      const std::int64_t before = at_codes + at_scales;
      for (const RoundedRows& part : piece) {
        file.write(codes, at_codes, part.codes);
        file.write(scales, at_scales, part.scales);
        at_codes += static_cast<std::int64_t>(part.codes.size());
        at_scales += static_cast<std::int64_t>(part.scales.size());
        report.error += part.error;
        report.not_finite += not_finite(part.scales);
      }
      const std::int64_t row_bytes = weight.in * dtype_size(weight.dtype);
      forget(stored, row * row_bytes, rows * row_bytes);
      wrote_(at_codes + at_scales - before);
    }
    return report;
  }

  Threads threads_;
  Wrote wrote_;
};

/// Counts what is copied.
std::vector<KeptTensors> kept_tensors(const std::vector<Item>& items) {
  std::map<Kept, KeptTensors> kept;
  for (const Item& item : items) {
    if (item.rounding) continue;
    KeptTensors& sum = kept[kept_of(item.stored)];
    sum.kept = kept_of(item.stored);
    ++sum.tensors;
    sum.bytes += item.stored.bytes;
  }
  std::vector<KeptTensors> list;
  for (const auto& [kind, sum] : kept) list.push_back(sum);
  return list;
}

void write_weights(const std::vector<Item>& items, const std::vector<io::Shard>& shards,
                   const io::StagedDirectory& directory, Writer& writer, QuantizeResult& result) {
  std::vector<std::pair<std::int64_t, RoundedTensor>> rounded;
  auto item = items.begin();  // shards hold them in this order
  for (const io::Shard& shard : shards) {
    io::ShardWriter file(directory, shard);
    std::map<std::string_view, io::TensorEntry> places;
    for (const io::TensorEntry& tensor : shard.tensors) places.emplace(tensor.name, tensor);
    for (; item != items.end() && places.contains(entries_of(*item).front().name); ++item) {
      if (auto report = writer.write(*item, places, file))
        rounded.emplace_back(item->order, std::move(*report));
    }
    file.finish();
    result.files.push_back(shard.file);
  }
  std::sort(rounded.begin(), rounded.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [order, report] : rounded) result.rounded.push_back(std::move(report));
}

}  // namespace

double relative_error(const RoundingError& error) {
  return error.norm > 0 ? std::sqrt(error.error / error.norm) : 0;
}

double RoundedTensor::relative_error() const { return audit::relative_error(error); }

RoundingError QuantizeResult::error() const {
  RoundingError sum;
  for (const RoundedTensor& tensor : rounded) sum += tensor.error;
  return sum;
}

std::string_view kept_name(Kept kept) {
  switch (kept) {
    case Kept::vision:
      return "vision tower";
    case Kept::head:
      return "embedding and head";
    case Kept::experts:
      return "experts as one tensor";
    case Kept::mtp:
      return "mtp.*";
    case Kept::small:
      break;
  }
  return "norms, gates and the like";
}

QuantizeResult quantize(const std::string& directory, const std::string& out,
                        const QuantizeOptions& options, const io::BytesWritten& progress) {
  const io::Json config = config_of(directory);
  // 1. That it is a model whose tensors are all as expected, and which of them are rounded.
  const io::LoadReport report = generate::load_model(directory, /*use_mmap=*/true)->info().report;
  const auto stored = io::Checkpoint::open(directory);
  const std::vector<Item> items = items_of(*stored, report, options.bits);
  if (std::none_of(items.begin(), items.end(), [](const Item& i) { return i.rounding; })) {
    throw Error(Code::invalid_config,
                fmt::format("{}: expected linear modules of at least {} outputs and a multiple of "
                            "32 inputs, stored one by one, found none: nothing would be rounded",
                            directory, io::kLeastRoundedOutputs),
                {{"directory", directory}});
  }
  QuantizeResult result;
  std::vector<std::vector<io::TensorEntry>> groups;
  for (const Item& item : items) {
    groups.push_back(entries_of(item));
    result.bytes_before += item.stored.bytes;
  }
  const std::vector<io::Shard> shards = io::plan_shards(groups, options.shard_bytes);
  std::int64_t file_bytes = 0;
  for (const io::Shard& shard : shards) {
    for (const io::TensorEntry& tensor : shard.tensors) result.bytes_after += tensor.bytes;
    file_bytes += shard.bytes();
  }
  // 2. Small files first: a fault in them is known before the long work.
  io::StagedDirectory staged(out);
  io::write_json_file(
      staged, "config.json",
      with_quantization(config, io::pack_quantized_config(options.bits, modules_of(items))),
      result.files);
  io::copy_small_files(directory, staged, result.files);
  staged.check_space(file_bytes);
  // 3. Weights.
  std::int64_t done = 0;
  Writer writer(options.threads > 0 ? options.threads : available_threads().count,
                [&](std::int64_t bytes) { progress(done += bytes, result.bytes_after); });
  write_weights(items, shards, staged, writer, result);
  io::write_index(staged, shards, result.files);
  result.kept = kept_tensors(items);
  staged.commit();
  return result;
}

}  // namespace sightline::audit
