// What `sightline calc` writes: the rows of a calculation as JSON or as tables.
#pragma once

#include <optional>
#include <string>

#include "calc/calculator.hpp"
#include "calc/sampling.hpp"
#include "io/json.hpp"

namespace sightline::cli {

/// The rows that the processors and models define, in order: resized_height to tokens_per_group;
/// what a mode or model does not have is left out.
io::Json calc_rows_json(const calc::Result& result);
/// What the calculator knows beyond them: branch of the size rule, prompt tokens, positions, ...
io::Json calc_details_json(const calc::Result& result);
/// count, first, last, indices, groups, timestamps of the frames chosen.
io::Json sampling_json(const calc::Sampling& sampling);

/// Tables for people. `request` is what was asked.
std::string calc_text(const calc::Request& request, const calc::Result& result,
                      const std::optional<calc::Sampling>& sampling);

}  // namespace sightline::cli
