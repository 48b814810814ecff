// Messages (tensor_faults.hpp).
#include "io/tensor_faults.hpp"

#include <fmt/format.h>

#include "sightline/error.hpp"

namespace sightline::io {

void fail_shape(const StoredTensor& stored, const std::string& expected, const std::string& by) {
  throw Error(Code::tensor_shape,
              fmt::format("{}: tensor {}: expected shape {} by {}, found {}", stored.file,
                          stored.name, expected, by, shape_text(stored.shape)),
              {{"file", std::string(stored.file)},
               {"tensor", std::string(stored.name)},
               {"expected", expected},
               {"found", shape_text(stored.shape)}});
}

void fail_dtype(const StoredTensor& stored, std::string_view expected, const std::string& by) {
  throw Error(Code::tensor_dtype,
              fmt::format("{}: tensor {}: expected {} by {}, found {}", stored.file, stored.name,
                          expected, by, dtype_name(stored.dtype)),
              {{"file", std::string(stored.file)},
               {"tensor", std::string(stored.name)},
               {"expected", std::string(expected)},
               {"found", std::string(dtype_name(stored.dtype))}});
}

}  // namespace sightline::io
