// Activations (activation.hpp).
#include "nn/activation.hpp"

#include <algorithm>

#include "kernels/elementwise.hpp"

namespace sightline::nn {
namespace {

std::string_view class_of(Activation::Kind kind) {
  switch (kind) {
    case Activation::Kind::gelu_tanh:
      return "GELUTanh";
    case Activation::Kind::gelu_erf:
      return "GELU";
    case Activation::Kind::silu:
      break;
  }
  return "SiLUActivation";
}

}  // namespace

Activation Activation::load(const io::Loader& loader, Kind kind) {
  return {loader.site(class_of(kind), kind == Kind::gelu_erf ? "approximate='none'" : ""), kind};
}

void Activation::operator()(Pass& pass, ConstView x, View y, const Where& where) const {
  Span span{pass, site, where};
  span.in("input", x);
  if (kind == Kind::gelu_tanh) {
    kernels::gelu_tanh(pass, x, y);
  } else if (kind == Kind::gelu_erf) {
    kernels::gelu_erf(pass, x, y);
  } else {
    // silu(x) · 1, so that its bits are those of the product with anything else.
    const View ones = span.tmp(x.rows, x.cols);
    for (std::int64_t r = 0; r < x.rows && !pass.counts_only(); ++r)
      std::fill(ones.row(r), ones.row(r) + x.cols, 1.0F);
    kernels::silu_mul(pass, x, ones, y);
  }
  span.out(y);
}

void silu_gate(Pass& pass, const Activation& act_fn, ConstView gate, ConstView up, View y,
               const Where& where) {
  if (pass.trace != nullptr) {
    const ArenaScope scope(pass.arena);
    kernels::Tally aside{{}, pass.counts_only()};  // its work is part of the product below
    Pass shown = pass;
    shown.tally = &aside;
    act_fn(shown, gate, pass.arena.matrix(gate.rows, gate.cols), where);
  }
  kernels::silu_mul(pass, gate, up, y);
}

}  // namespace sightline::nn
