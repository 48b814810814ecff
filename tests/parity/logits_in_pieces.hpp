// The logits of a case, whatever its pieces and the number of threads.
#pragma once

#include <string_view>
#include <vector>

#include "generate/parity.hpp"
#include "gtest/gtest.h"
#include "model/positions.hpp"

namespace sightline::generate {

/// Expects the same bits of all logits of a text of more than 128 tokens in pieces of 64, 128 and
/// 512 tokens, with 1, 2 and 3 threads.
inline void expect_same_in_pieces(const model::VisionLanguageModel& model,
                                  const ReferenceCase& reference, std::string_view set) {
  const auto n = static_cast<std::int64_t>(reference.ids.size());
  ASSERT_GT(n, 128);
  nn::Positions positions;
  const std::vector<model::TokenType> text(reference.ids.size(), model::TokenType::text);
  (void)model::append_positions(text, {}, {}, 2, 0, positions);
  const auto logits = [&](std::int64_t piece, int count) {
    Threads threads(count);
    Arena arena;
    nn::Pass pass(kernels::select(set), threads, arena);
    model::Cache cache = model.new_cache(pass.precision);
    const View view = arena.matrix(n, model.info().vocab_size);
    prompt_in_pieces(model, pass, reference, {{}, piece, model::RowKind::prompt}, positions, cache,
                     view);
    return std::vector<float>(view.row(0), view.row(0) + n * model.info().vocab_size);
  };
  const std::vector<float> expected = logits(64, 1);
  EXPECT_TRUE(expected == logits(64, 3));
  EXPECT_TRUE(expected == logits(128, 2));
  EXPECT_TRUE(expected == logits(512, 1));
}

}  // namespace sightline::generate
