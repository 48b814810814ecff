// Layout of traced runs (trace_table.hpp).
#include "cli/trace_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "audit/trace_run.hpp"
#include "cli/table.hpp"

namespace sightline::cli {
namespace {

using audit::Event;
using audit::EventTensor;
using audit::TraceReport;

constexpr double kMillisecond = 1000, kSecond = 1e6;  // microseconds
constexpr std::size_t kBetween = 2;                   // blanks between columns

std::string time_text(double us) {
  if (us >= kSecond) return fmt::format("{:.2f} s", us / kSecond);
  return fmt::format("{:.{}f} ms", us / kMillisecond, us >= 100 * kMillisecond ? 0 : 2);
}

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-";
}

/// The end of a path, if it is wider than there is room.
std::string tail(const std::string& path, std::size_t room) {
  constexpr std::string_view kCut = "...";
  if (path.size() <= room || room <= kCut.size()) return path;
  return std::string(kCut) + path.substr(path.size() - (room - kCut.size()));
}

std::string shapes_text(const std::vector<EventTensor>& tensors) {
  std::string text;
  for (const EventTensor& tensor : tensors)
    text += (text.empty() ? "" : " + ") + audit::shape_text(tensor.shape);
  return text.empty() ? "-" : text;
}

std::string dtype_of(const Event& event) {
  return event.outputs.empty() ? "-" : std::string(audit::dtype_text(event.outputs[0].dtype));
}

/// A line of the table: sums over the calls that it stands for.
struct Line {
  const Event* first = nullptr;
  std::size_t calls = 0;
  std::string number, stage, module;
  std::int64_t parameters = 0;
  bool tied = false;
  kernels::Work work;
  double duration_us = 0;
  const audit::Row* row = nullptr;
};

Line line_of(const TraceReport& report, const audit::Row& row) {
  Line line;
  line.row = &row;
  line.first = &report.events[row.members.front()];
  line.calls = row.members.size();
  line.number = fmt::format("{:02}", row.first);
  if (line.calls > 1 && row.consecutive)
    line.number += fmt::format("-{:02}", row.first + line.calls - 1);
  line.stage = audit::channel_name(audit::channel_of(*line.first));
  line.module = row.name.empty() ? "(root)" : row.name;
  if (line.first->call > 0) line.module += fmt::format("#{}", line.first->call);
  for (const std::size_t member : row.members) {
    const Event& event = report.events[member];
    const audit::ParameterCount parameters = report.parameters_of(event);
    line.parameters += parameters.parameters;
    line.tied = line.tied || parameters.tied;
    line.work = line.work + event.work;
    line.duration_us += event.duration_us;
  }
  return line;
}

std::vector<Line> lines_of(const TraceReport& report, const std::vector<audit::Row>& rows) {
  std::vector<Line> lines;
  for (const audit::Row& row : rows) lines.push_back(line_of(report, row));
  return lines;
}

std::vector<audit::Row> rows_of(const TraceReport& report, const TraceView& view) {
  return audit::folded_rows(report.events, audit::shown_events(report.events, view.level),
                            view.level, view.full);
}

std::string parameters_text(const Line& line) {
  if (line.first->operation) return "-";
  return grouped(line.parameters);
}

/// Cells behind the module: what is counted, then what was measured.
std::vector<std::string> figures(const TraceReport& report, const Line& line) {
  std::vector<std::string> cells{parameters_text(line)};
  if (report.counted) {
    cells.push_back(count_text(static_cast<double>(line.work.flops)));
    cells.push_back(byte_text(line.work.weight_bytes));
    if (report.shapes_only) cells.push_back(byte_text(line.work.activation_bytes));
  } else {
    cells.insert(cells.end(), report.shapes_only ? 3 : 2, "-");
  }
  if (report.shapes_only) {
    cells.push_back(
        share_text(static_cast<double>(line.work.flops), static_cast<double>(report.work.flops)));
  } else {
    cells.push_back(time_text(line.duration_us));
    cells.push_back(share_text(line.duration_us, report.duration_us()));
  }
  return cells;
}

std::vector<Table::Column> figure_columns(const TraceReport& report) {
  std::vector<Table::Column> columns{{"parameters", true}, {"FLOPs", true}, {"weights", true}};
  columns.push_back({report.shapes_only ? "operands" : "time", true});
  columns.push_back({"share", true});
  return columns;
}

/// What the call is, received and returned: "24 x Class: (256, 1024) -> (256, 1024), float32".
std::string detail_text(const Line& line) {
  return fmt::format("{}{}{}: {} -> {}, {}{}",
                     line.calls > 1 ? fmt::format("{} x ", line.calls) : "",
                     line.first->operation ? "op " : "", line.first->class_name,
                     shapes_text(line.first->inputs), shapes_text(line.first->outputs),
                     dtype_of(*line.first), line.tied ? ", weights of embed_tokens" : "");
}

/// Statistics of the first output; of several calls what can be joined.
std::string values_text(const TraceReport& report, const Line& line) {
  trace::Statistics joined;
  bool some = false;
  for (const std::size_t member : line.row->members) {
    const Event& event = report.events[member];
    if (event.outputs.empty() || !event.outputs[0].statistics) continue;
    const trace::Statistics& s = *event.outputs[0].statistics;
    joined.min = some ? std::min(joined.min, s.min) : s.min;
    joined.max = some ? std::max(joined.max, s.max) : s.max;
    joined.nan += s.nan;
    joined.inf += s.inf;
    joined.mean = s.mean;
    joined.std = s.std;
    joined.l2 = s.l2;
    some = true;
  }
  if (!some) return {};
  std::string text = fmt::format("min {:.4g}  max {:.4g}", joined.min, joined.max);
  if (line.calls == 1) {
    text += fmt::format("  mean {:.4g}  std {:.4g}  l2 {:.4g}", joined.mean, joined.std, joined.l2);
  }
  return text + fmt::format("  nan {}  inf {}", joined.nan, joined.inf);
}

/// The stage's word in its colour: vision, insertion, text, head.
std::string painted(std::string line, const std::string& stage) {
  const char* colour = stage == "vision"  ? "\x1b[36m"
                       : stage == "merge" ? "\x1b[35m"
                       : stage == "text"  ? "\x1b[32m"
                       : stage == "head"  ? "\x1b[33m"
                                          : "";
  const std::size_t place = line.find(stage);
  if (*colour == '\0' || place == std::string::npos) return line;
  return line.replace(place, stage.size(), fmt::format("{}{}\x1b[0m", colour, stage));
}

/// The lines as a table whose first two columns have `margin` together.
std::string laid_out(const TraceReport& report, const std::vector<Line>& lines,
                     std::size_t& margin) {
  std::vector<Table::Column> columns{{"#"}, {"stage"}, {"module"}};
  for (Table::Column& column : figure_columns(report)) columns.push_back(std::move(column));
  std::vector<std::size_t> widths;
  for (const Table::Column& column : columns) widths.push_back(column.title.size());
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : lines) {
    std::vector<std::string> cells{line.number, line.stage, line.module};
    for (std::string& cell : figures(report, line)) cells.push_back(std::move(cell));
    for (std::size_t c = 0; c < cells.size(); ++c) widths[c] = std::max(widths[c], cells[c].size());
    rows.push_back(std::move(cells));
  }
  std::size_t others = kBetween * (columns.size() - 1);
  for (std::size_t c = 0; c < columns.size(); ++c) others += c == 2 ? 0 : widths[c];
  margin = widths[0] + widths[1] + 2 * kBetween;
  Table table(std::move(columns));
  for (auto& cells : rows) {
    cells[2] = tail(cells[2], kHelpColumns - std::min(kHelpColumns, others));
    table.row(std::move(cells));
  }
  return table.text();
}

std::string calls_text(const TraceReport& report, const TraceView& view) {
  const std::vector<audit::Row> rows = rows_of(report, view);
  const std::vector<Line> lines = lines_of(report, rows);
  std::size_t margin = 0;
  std::istringstream table(laid_out(report, lines, margin));
  const std::string blanks(margin, ' ');
  std::string text, laid;
  std::getline(table, laid);
  text = laid + "\n" + blanks + "class: input -> output, dtype\n";
  const auto add = [&](const std::string& under) {
    constexpr std::size_t kHanging = 2;
    if (!under.empty()) text += wrapped(blanks + under, 0, margin + kHanging) + "\n";
  };
  for (const Line& line : lines) {
    std::getline(table, laid);
    text += (view.colour ? painted(laid, line.stage) : laid) + "\n";
    add(detail_text(line));
    if (view.values) add(values_text(report, line));
  }
  return text;
}

Table inputs_table(const TraceReport& report) {
  std::vector<Table::Column> columns{{"call"}, {"input"}, {"shape"}, {"dtype"}};
  if (!report.shapes_only) {
    for (const char* title : {"min", "max", "mean"}) columns.push_back({title, true});
  }
  Table table(std::move(columns));
  for (const std::size_t index : audit::shown_events(report.events, audit::Level::root)) {
    const Event& event = report.events[index];
    for (const EventTensor& tensor : event.inputs) {
      std::vector<std::string> cells{event.path.empty() ? "(root)" : event.key(), tensor.name,
                                     audit::shape_text(tensor.shape),
                                     std::string(audit::dtype_text(tensor.dtype))};
      if (tensor.statistics) {
        const trace::Statistics& s = *tensor.statistics;
        for (const double value : {s.min, s.max, s.mean})
          cells.push_back(fmt::format("{:.6g}", value));
      }
      table.row(std::move(cells));
    }
  }
  return table;
}

std::string edges_text(const TraceReport& report) {
  const auto shown = audit::shown_events(report.events, audit::Level::root);
  std::string text = "edges       ";
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string name = report.events[shown[i]].key();
    text += (i > 0 ? " -> " : "") + (name.empty() ? "(root)" : name);
  }
  return text + "\n";
}

std::string totals_text(const TraceReport& report) {
  const audit::ParameterCount all = report.parameters();
  std::string text = fmt::format("prompt      {} tokens, {} of them visual\n",
                                 grouped(report.prompt_tokens), grouped(report.visual_tokens));
  text += fmt::format("parameters  {} ({}){}\n", grouped(all.parameters), byte_text(all.bytes),
                      report.info->tied_head ? ", the head shares embed_tokens" : "");
  text += fmt::format("calls       {}\n", grouped(static_cast<std::int64_t>(report.events.size())));
  if (report.counted) {
    text +=
        fmt::format("work        {} FLOPs, {} of weights and {} of activations moved\n",
                    count_text(static_cast<double>(report.work.flops)),
                    byte_text(report.work.weight_bytes), byte_text(report.work.activation_bytes));
  } else {
    text += "work        not counted: the counting walk made other calls than the run\n";
  }
  if (!report.shapes_only) text += fmt::format("time        {}\n", time_text(report.duration_us()));
  text += fmt::format("memory      {} at most{}\n", byte_text(report.peak_memory_bytes),
                      report.shapes_only ? " (weights, cache and scratch; nothing was allocated)"
                                         : ", mapped weights included");
  if (report.shapes_only) return text;
  const Event* broken = audit::first_non_finite(report.events);
  text += "non-finite  ";
  text +=
      broken == nullptr ? "none" : "first in " + (broken->path.empty() ? "(root)" : broken->key());
  if (report.failure) text += "; " + *report.failure;
  return text + "\n";
}

}  // namespace

std::string proof_text(const std::vector<audit::MergeProof>& proofs) {
  if (proofs.empty()) return "merge       no picture\n";
  std::string text;
  for (const audit::MergeProof& proof : proofs) {
    for (const audit::Equality& equality : proof.equalities()) {
      const char* value = !equality.value ? "not computed" : *equality.value ? "True" : "False";
      const char* verdict = !equality.value ? "-" : equality.ok() ? "OK" : "DIFF";
      text += fmt::format("merge       {:<52}{:<14}{}\n", equality.text, value, verdict);
    }
  }
  return text;
}

std::string trace_text(const TraceReport& report, const TraceView& view) {
  return inputs_table(report).text() + "\n" + calls_text(report, view) + "\n" + edges_text(report) +
         totals_text(report) + proof_text(report.proofs);
}

std::string trace_markdown(const TraceReport& report, const TraceView& view) {
  std::vector<Table::Column> columns{{"#"},     {"stage"},           {"module"},
                                     {"class"}, {"input -> output"}, {"dtype"}};
  for (Table::Column& column : figure_columns(report)) columns.push_back(std::move(column));
  Table table(std::move(columns));
  const std::vector<audit::Row> rows = rows_of(report, view);
  for (const Line& line : lines_of(report, rows)) {
    std::vector<std::string> cells{
        line.number,
        line.stage,
        line.module,
        fmt::format("{}{}{}", line.calls > 1 ? fmt::format("{} x ", line.calls) : "",
                    line.first->operation ? "op " : "", line.first->class_name),
        shapes_text(line.first->inputs) + " -> " + shapes_text(line.first->outputs),
        dtype_of(*line.first)};
    for (std::string& cell : figures(report, line)) cells.push_back(std::move(cell));
    table.row(std::move(cells));
  }
  return fmt::format("## Inputs\n\n{}\n## Calls\n\n{}\n## Totals\n\n```\n{}{}{}```\n",
                     inputs_table(report).markdown(), table.markdown(), edges_text(report),
                     totals_text(report), proof_text(report.proofs));
}

}  // namespace sightline::cli
