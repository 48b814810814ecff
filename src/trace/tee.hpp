// Several traces watch one run. For one thread; the traces are borrowed.
#pragma once

#include <vector>

#include "sightline/trace.hpp"

namespace sightline::trace {

class Tee final : public Trace {
 public:
  explicit Tee(std::vector<Trace*> traces) : traces_(std::move(traces)) {}

  void enter(const Site& site, const std::source_location& caller,
             const std::source_location& callee) override {
    for (Trace* trace : traces_) trace->enter(site, caller, callee);
  }
  void input(const Site& site, const TensorRef& tensor) override {
    for (Trace* trace : traces_) trace->input(site, tensor);
  }
  void note(const Site& site, const TensorRef& tensor) override {
    for (Trace* trace : traces_) trace->note(site, tensor);
  }
  void output(const Site& site, const TensorRef& tensor) override {
    for (Trace* trace : traces_) trace->output(site, tensor);
  }
  void leave(const Site& site) override {
    for (Trace* trace : traces_) trace->leave(site);
  }

 private:
  std::vector<Trace*> traces_;
};

}  // namespace sightline::trace
