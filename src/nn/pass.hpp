// Pass: what a module call needs besides its operands. Span: one module call, traced when a trace
// is on, free when off. A Pass belongs to one run and one thread; models are const and shared.
#pragma once

#include <source_location>
#include <string_view>

#include "base/mat.hpp"
#include "kernels/compute.hpp"
#include "sightline/error.hpp"
#include "sightline/trace.hpp"

namespace sightline::nn {

using kernels::Precision;

/// Precision::bf16 unless it is set.
struct Pass : kernels::Compute {
  Trace* trace = nullptr;

  Pass(const kernels::Kernels& set, Threads& pool, Arena& scratch)
      : Compute{set, pool, scratch, nullptr, nullptr, Precision::bf16} {}

  /// Throws Error(cancelled) once the run has been cancelled: called per layer and after attention.
  void poll() const {
    if (cancelled()) throw Error(Code::cancelled, "the run was cancelled");
  }
};

/// A view as a named tensor: (rows, cols), with a leading 1 if `batched`; with `heads` > 0 (the
/// view must then be dense) the columns are shown as (heads, cols / heads).
TensorRef tensor_ref(std::string_view name, ConstView x, bool batched, std::int64_t heads = 0);

/// The line that called a module: the last, defaulted parameter of every module call.
using Where = std::source_location;

/// One module call: enters the trace, gives scratch memory that ends with it, leaves the trace.
/// With no trace, entering and leaving are one null test each, and in(), note(), out() another.
class Span {
 public:
  Span(Pass& pass, const Site& site, const Where& caller, const Where& callee = Where::current())
      : pass_(pass), site_(site), mark_(pass.arena.mark()) {
    if (pass_.trace != nullptr) pass_.trace->enter(site_, caller, callee);
  }
  ~Span() {
    if (pass_.trace != nullptr) pass_.trace->leave(site_);
    pass_.arena.release(mark_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  /// Scratch matrix (uninitialised), gone when the span ends.
  [[nodiscard]] View tmp(std::int64_t rows, std::int64_t cols) {
    return pass_.arena.matrix(rows, cols);
  }

  void in(std::string_view name, ConstView x, std::int64_t heads = 0) {
    if (pass_.trace != nullptr)
      pass_.trace->input(site_, tensor_ref(name, x, site_.batched, heads));
  }
  void note(std::string_view port, ConstView x, std::int64_t heads = 0) {
    if (pass_.trace != nullptr) pass_.trace->note(site_, tensor_ref(port, x, site_.batched, heads));
  }
  void out(ConstView x, std::int64_t heads = 0) {
    if (pass_.trace != nullptr)
      pass_.trace->output(site_, tensor_ref("output", x, site_.batched, heads));
  }
  // Tensors of another rank or type; build the TensorRef only when tracing().
  [[nodiscard]] bool tracing() const { return pass_.trace != nullptr; }
  void in(const TensorRef& tensor) { pass_.trace->input(site_, tensor); }
  void note(const TensorRef& tensor) { pass_.trace->note(site_, tensor); }
  void out(const TensorRef& tensor) { pass_.trace->output(site_, tensor); }

 private:
  Pass& pass_;
  const Site& site_;
  Arena::Mark mark_;
};

}  // namespace sightline::nn
