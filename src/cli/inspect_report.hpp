// How `inspect` shows what it found: text for people, JSON for programs.
#pragma once

#include <optional>
#include <string>

#include "audit/checkpoint_report.hpp"
#include "audit/module_tree.hpp"
#include "io/json.hpp"

namespace sightline::cli {

struct Inspected {
  audit::Subject subject;
  audit::CheckpointReport report;
  audit::ModuleNode tree;
  bool values_read = false;  ///< every weight was looked at
};

struct InspectView {
  bool full = false;                  ///< nothing folded
  std::optional<std::string> module;  ///< a part of the tree, by its path
};

/// Throw Error(invalid_option) for a module that does not exist.
std::string inspect_text(const Inspected& inspected, const InspectView& view);
io::Json inspect_json(const Inspected& inspected, const InspectView& view);

}  // namespace sightline::cli
