// Tables for people: columns aligned by what a terminal shows (CJK characters are two wide), never
// wider than asked. Colour is the caller's business: cells are plain text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help.hpp"

namespace sightline::cli {

/// Columns that a terminal needs for UTF-8 text; bytes that are no text count one each.
std::size_t display_width(std::string_view text);

/// Text of at most `width` columns, cut between characters with "..." in place of the rest.
std::string shortened(std::string_view text, std::size_t width);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t value);
/// Bytes as "61.4 MiB", "512 B".
std::string byte_text(std::int64_t bytes);
/// Operations as "1.2 T", "640 M", "12 k".
std::string count_text(double value);

class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;  ///< numbers
    bool gives = false;  ///< may be cut (at its end) when the table is too wide
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell a column; control characters are shown escaped.
  void row(std::vector<std::string> cells);
  /// An empty line.
  void gap() { rows_.emplace_back(); }

  /// Two blanks between columns, none at the ends of lines; a line end after each.
  [[nodiscard]] std::string text(std::size_t width = kHelpColumns) const;
  /// The same as a Markdown table, uncut.
  [[nodiscard]] std::string markdown() const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sightline::cli
