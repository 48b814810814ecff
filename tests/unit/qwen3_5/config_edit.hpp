// The configurations of the small reference checkpoints, and changes to them.
#pragma once

#include <string>

#include "io/json.hpp"

namespace sightline::qwen3_5 {

inline io::Json config_of(const std::string& model) {
  return io::read_json_file(std::string(SIGHTLINE_TEST_DATA) + "/models/" + model + "/config.json");
}

// Sets, or with `value` null removes, the member at "a.b" of an object.
inline void set(io::Json& json, const std::string& path, const io::Json& value) {
  const auto dot = path.find('.');
  auto& members = json.as_object();
  for (auto it = members.begin(); it != members.end(); ++it) {
    if (it->first != path.substr(0, dot)) continue;
    if (dot != std::string::npos) return set(it->second, path.substr(dot + 1), value);
    if (value.is_null()) {
      members.erase(it);
    } else {
      it->second = value;
    }
    return;
  }
  json.add(path, value);
}

}  // namespace sightline::qwen3_5
