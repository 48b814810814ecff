// Reading model.safetensors.index.json (shard_index.hpp).
#include "io/shard_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/file.hpp"
#include "io/json.hpp"
#include "sightline/error.hpp"

namespace sightline::io {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& where,
                       const std::string& expected, const std::string& found) {
  throw Error(Code::invalid_index,
              fmt::format("{}: {}: expected {}, found {}", file, where, expected, found),
              {{"file", file}, {"path", where}, {"expected", expected}, {"found", found}});
}

// Shards lie beside the index, and nowhere else.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\\') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text, const std::string& name) {
  const Json root = parse_json(text, name, Code::invalid_index);
  const Json* map = root.find("weight_map");
  if (map == nullptr || !map->is_object()) {
    fail(name, "weight_map", "an object", map == nullptr ? "none" : map->type_name());
  }
  ShardIndex index;
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->as_object()) {
    const std::string where = "weight_map." + tensor;
    if (!shard.is_string()) fail(name, where, "a file name", shard.type_name());
    if (!is_plain_name(shard.as_string())) {
      fail(name, where, "the plain name of a file in the same directory", to_json_text(shard));
    }
    index.files.emplace(tensor, shard.as_string());
    shards.insert(shard.as_string());
  }
  if (shards.empty()) fail(name, "weight_map", "at least one tensor", "none");
  index.shards.assign(shards.begin(), shards.end());
  return index;
}

ShardIndex read_shard_index(const std::string& path) {
  return parse_shard_index(read_file(path), path);
}

bool is_shard_name(std::string_view name) {
  // NNNNN-of-NNNNN between one of two prefixes and .safetensors
  for (const std::string_view prefix : {"model.safetensors-", "model-"}) {
    constexpr std::string_view kSuffix = ".safetensors";
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix) ||
        name.size() < prefix.size() + kSuffix.size())
      continue;
    const std::string_view middle =
        name.substr(prefix.size(), name.size() - prefix.size() - kSuffix.size());
    const std::size_t of = middle.find("-of-");
    if (of == std::string_view::npos) continue;
    if (all_digits(middle.substr(0, of)) && all_digits(middle.substr(of + 4))) return true;
  }
  return false;
}

}  // namespace sightline::io
