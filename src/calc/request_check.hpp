// Whether the inputs of the calculator make sense together. Used by calculator.cpp only.
#pragma once

#include "calc/calculator.hpp"

namespace sightline::calc {

/// The first thing wrong with the request, before any size is computed. `model` is its model, null
/// if there is none of that name.
Problem check_request(const Request& request, const Model* model) noexcept;

}  // namespace sightline::calc
