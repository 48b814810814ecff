// Help pages: what the binary and each command print for --help, never wider than kHelpColumns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace sightline::cli {

inline constexpr std::size_t kHelpColumns = 100;

/// The page of one command.
std::string help_page(const Command& command);

/// The page of the binary: its commands with one line each, what MODEL can be, exit codes.
std::string overview_page(const std::vector<Command>& commands);

/// Breaks text at blanks into lines of at most `columns`; every line but the first gets `indent`
/// blanks. Line breaks of the text are kept.
std::string wrapped(std::string_view text, std::size_t first_column, std::size_t indent,
                    std::size_t columns = kHelpColumns);

}  // namespace sightline::cli
