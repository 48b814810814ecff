// The type of a token's number. No dependency.
#pragma once

#include <cstdint>

namespace sightline::tokenizer {

/// A row of the vocabulary; valid ones are 0 and up.
using TokenId = std::int32_t;

}  // namespace sightline::tokenizer
