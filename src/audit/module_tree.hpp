// The modules of a loaded (or declared) model as a tree, with their parameters: transformers'
// module tree. Reads what the loader recorded; describes no model itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint.hpp"

namespace sightline::audit {

struct ModuleNode {
  std::string name;        ///< attribute name in the parent, e.g. "visual" or "3"
  std::string path;        ///< "" for the root
  std::string class_name;  ///< transformers' class; ModuleList for numbered children
  std::string extra;       ///< what torch prints inside the brackets
  std::vector<ModuleNode> children;
  std::vector<io::ClaimedTensor> tensors;  ///< own ones, children's not included

  /// Parameters (elements) and bytes, children included. A tied head has none of its own.
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] std::int64_t tensor_count() const;
  /// How its own weights are stored, e.g. "BF16" or "int4, groups of 128"; different ones side by
  /// side, empty without any.
  [[nodiscard]] std::string stored() const;
  /// The module at `path` below the root (full path, or relative to this node); null if none.
  [[nodiscard]] const ModuleNode* find(std::string_view path) const;
};

ModuleNode module_tree(const io::LoadReport& report);

/// torch's printed form: nested brackets, two spaces a level, equal neighbours of a list folded as
/// "(0-23): 24 x Class(" unless `full`.
std::string torch_text(const ModuleNode& root, bool full = false);

/// True if both print alike and own tensors of the same shapes and types (names of the nodes
/// aside).
bool alike(const ModuleNode& a, const ModuleNode& b);

/// Runs of equal neighbours among children: [first, last] indices.
struct Run {
  std::size_t first = 0, last = 0;
};
std::vector<Run> folded(const std::vector<ModuleNode>& children);

}  // namespace sightline::audit
