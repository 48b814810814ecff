// The published tokenizer (tests/data/processor/tokenizer.json), read once for a test process.
#pragma once

#include "tokenizer/tokenizer.hpp"

namespace sightline::tokenizer {

inline const Tokenizer& published() {
  static const Tokenizer kTokenizer =
      Tokenizer::load(SIGHTLINE_TEST_DATA "/processor/tokenizer.json");
  return kTokenizer;
}

}  // namespace sightline::tokenizer
