// The activation functions of the family, modules without weights. Const after load.
#pragma once

#include "io/checkpoint.hpp"
#include "nn/pass.hpp"

namespace sightline::nn {

/// y = f(x), element by element; in place is allowed. HF: GELUTanh, torch.nn.GELU (exact),
/// SiLUActivation.
struct Activation {
  enum class Kind : std::uint8_t { gelu_tanh, gelu_erf, silu };

  static Activation load(const io::Loader& loader, Kind kind);
  void operator()(Pass& pass, ConstView x, View y, const Where& where = Where::current()) const;

  Site site;
  Kind kind = Kind::silu;
};

/// y = silu(gate) · up in one pass over memory. A trace also sees the call of `act_fn` that
/// transformers makes. y may be gate or up.
void silu_gate(Pass& pass, const Activation& act_fn, ConstView gate, ConstView up, View y,
               const Where& where = Where::current());

}  // namespace sightline::nn
