// The trace sink: receives every module call of a run, while it happens. Implement it to watch a
// run; the recorder of `sightline trace` is one implementation. Calls come from the thread that
// drives the run, never concurrently.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "sightline/tensor.hpp"

namespace sightline {

/// One module of the model: made once at load, lives as long as the model.
struct Site {
  std::uint32_t id = 0;
  std::string path;  ///< transformers' module path, e.g. "model.language_model.layers.3.mlp"; "" is
                     ///< the root
  std::string kind;  ///< transformers' class, e.g. "Qwen3_5MLP"
  std::string extra = {};  ///< what torch prints inside the class's brackets
  bool operation = false;  ///< no module of transformers but a step inside one, named by `kind`
  bool batched = false;    ///< shapes are shown with the leading batch axis of 1 that transformers
                           ///< keeps (text modules)
};

/// What a run reports. For every module call: enter, its inputs, what happens inside (nested calls,
/// notes), its outputs, leave. Tensors are valid only during the call.
class Trace {
 public:
  virtual ~Trace() = default;
  /// `caller` is the line that made the call, `callee` the first line of the module's function.
  virtual void enter(const Site& site, const std::source_location& caller,
                     const std::source_location& callee) = 0;
  virtual void input(const Site& site, const TensorRef& tensor) = 0;
  /// A value inside a module (its port is tensor.name), e.g. "q_rope".
  virtual void note(const Site& site, const TensorRef& tensor) = 0;
  virtual void output(const Site& site, const TensorRef& tensor) = 0;
  virtual void leave(const Site& site) = 0;
};

}  // namespace sightline
