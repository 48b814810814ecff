// Members of a JSON document by their path, for tests.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "io/json.hpp"

namespace sightline::e2e {

/// The value at a path of keys; null, and a failure of the test, if there is none.
inline const io::Json& at(const io::Json& json, std::initializer_list<const char*> path) {
  const io::Json* value = &json;
  for (const char* key : path) {
    const io::Json* member = value->find(key);
    if (member == nullptr) {
      static const io::Json kNothing;
      ADD_FAILURE() << "no " << key << " in " << io::to_json_text(*value).substr(0, 400);
      return kNothing;
    }
    value = member;
  }
  return *value;
}

}  // namespace sightline::e2e
