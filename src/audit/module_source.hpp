// A module's own C++, found by its recorded calls: the function that a call ran, and which of its
// lines made further calls. Code and trace can so be seen to agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audit/events.hpp"

namespace sightline::audit {

struct SourceLine {
  std::int64_t number = 0;
  std::string_view text;
  std::vector<std::int64_t> calls;  ///< numbers (from 1) of the calls that this line made
};

/// A function, with the comment above it.
struct SourceFunction {
  std::string_view file;
  std::vector<SourceLine> lines;
};

struct ModuleSource {
  const Event* event = nullptr;           ///< the call; its number is index + 1
  std::vector<SourceFunction> functions;  ///< the module's, then helpers that call for it
};

/// The source of the first call of a module path, or of a class. `events` must outlive the result.
/// Throws Error(invalid_option) listing near names if nothing was called so.
ModuleSource module_source(const Events& events, const std::string& path_or_class);

}  // namespace sightline::audit
