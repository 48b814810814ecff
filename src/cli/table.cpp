// Layout of tables (table.hpp); widths of characters come from utf8proc.
#include "cli/table.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/output.hpp"

namespace sightline::cli {
namespace {

constexpr std::string_view kCut = "...", kBetween = "  ";
constexpr std::size_t kLeastCut = 8;  // a column that gives keeps this much

/// One character: its bytes and columns.
struct Character {
  std::size_t bytes = 1, columns = 1;
};

Character character_at(std::string_view text, std::size_t position) {
  utf8proc_int32_t code = 0;
  const auto* data = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + position);
  const utf8proc_ssize_t used =
      utf8proc_iterate(data, static_cast<utf8proc_ssize_t>(text.size() - position), &code);
  if (used <= 0) return {};
  return {static_cast<std::size_t>(used),
          static_cast<std::size_t>(std::max(0, utf8proc_charwidth(code)))};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    columns += c.columns;
    i += c.bytes;
  }
  return columns;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const std::size_t room = width > kCut.size() ? width - kCut.size() : 0;
  std::size_t columns = 0, end = 0;
  while (end < text.size()) {
    const Character c = character_at(text, end);
    if (columns + c.columns > room) break;
    columns += c.columns;
    end += c.bytes;
  }
  return std::string(text.substr(0, end)).append(kCut.substr(0, std::min(width, kCut.size())));
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t start = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > start + 3;) digits.insert(i -= 3, ",");
  return digits;
}

std::string byte_text(std::int64_t bytes) {
  constexpr std::array<const char*, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(double value) {
  constexpr std::array<const char*, 5> kUnits{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  for (; std::abs(value) >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.{}f}{}", value, unit == 0 || std::abs(value) >= 99.95 ? 0 : 1,
                     kUnits[unit]);
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = single_line(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& cells : rows_) {
    for (std::size_t c = 0; c < cells.size(); ++c)
      widths[c] = std::max(widths[c], display_width(cells[c]));
  }
  std::size_t total = kBetween.size() * (columns_.size() - 1);
  for (const std::size_t w : widths) total += w;
  // The widest column that gives loses a column, until the table fits.
  while (total > width) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool shrinks = columns_[c].gives && widths[c] > kLeastCut;
      if (shrinks && (widest == columns_.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

std::string Table::text(std::size_t width) const {
  const std::vector<std::size_t> columns = widths(width);
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string cell = shortened(cell_of(c), columns[c]);
      const std::string pad(columns[c] - std::min(columns[c], display_width(cell)), ' ');
      if (c > 0) line += kBetween;
      line += columns_[c].right ? pad + cell : cell + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t c) { return columns_[c].title; });
  for (const auto& cells : rows_) {
    if (cells.empty()) {
      text += "\n";
    } else {
      add_line([&](std::size_t c) { return cells[c]; });
    }
  }
  return text;
}

std::string Table::markdown() const {
  const auto escaped = [](std::string cell) {
    for (std::size_t i = 0; (i = cell.find('|', i)) != std::string::npos; i += 2)
      cell.insert(i, "\\");
    return cell;
  };
  std::string text = "|", rule = "|";
  for (const Column& column : columns_) {
    text += " " + escaped(column.title) + " |";
    rule += column.right ? " ---: |" : " --- |";
  }
  text += "\n" + rule + "\n";
  for (const auto& cells : rows_) {
    if (cells.empty()) continue;
    text += "|";
    for (const std::string& cell : cells) text += " " + escaped(cell) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace sightline::cli
