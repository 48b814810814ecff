// A traced run for people: input table, calls, totals, proof; as text of at most kHelpColumns
// columns or as Markdown.
#pragma once

#include <string>

#include "audit/trace_report.hpp"

namespace sightline::cli {

struct TraceView {
  audit::Level level = audit::Level::stages;
  bool full = false;    ///< fold nothing
  bool values = false;  ///< a line of statistics under each call
  bool colour = false;  ///< paint the stage
};

std::string trace_text(const audit::TraceReport& report, const TraceView& view);
std::string trace_markdown(const audit::TraceReport& report, const TraceView& view);

/// The four statements of each insertion with OK or DIFF, one a line; says so when there is none.
std::string proof_text(const std::vector<audit::MergeProof>& proofs);

}  // namespace sightline::cli
