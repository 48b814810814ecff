// The three norms (norms.hpp).
#include "nn/norms.hpp"

#include <fmt/format.h>

#include "kernels/elementwise.hpp"

namespace sightline::nn {

RmsNorm RmsNorm::load(const io::Loader& loader, std::int64_t width, double eps,
                      std::string_view kind) {
  return {loader.site(kind, fmt::format("({},), eps={}", width, eps)),
          loader.values("weight", Shape{width}), static_cast<float>(eps)};
}

void RmsNorm::operator()(Pass& pass, ConstView x, View y, std::int64_t heads,
                         const Where& where) const {
  Span span{pass, site, where};
  // With heads, x is (tokens · heads, width): shown as (tokens, heads, width).
  const auto shown = [&](ConstView m) {
    return heads > 0 ? ConstView{m.data, m.rows / heads, m.cols * heads} : m;
  };
  span.in("hidden_states", shown(x), heads);
  kernels::rms_norm(pass, x, weight.data(), /*offset=*/1.0F, eps, y);
  span.out(shown(y), heads);
}

RmsNormGated RmsNormGated::load(const io::Loader& loader, std::int64_t width, double eps,
                                std::string_view kind) {
  return {loader.site(kind), loader.values("weight", Shape{width}), static_cast<float>(eps)};
}

void RmsNormGated::operator()(Pass& pass, ConstView x, ConstView gate, View y,
                              const Where& where) const {
  Span span{pass, site, where};
  const auto width = static_cast<std::int64_t>(weight.size());
  // transformers flattens (tokens, heads, width) to (tokens · heads, width) for this module.
  const auto flat = [&](ConstView m) {
    return ConstView{m.data, m.rows * (m.cols / width), width};
  };
  span.in("hidden_states", flat(x));
  span.in("gate", flat(gate));
  kernels::rms_norm_gated(pass, x, gate, weight.data(), width, eps, y);
  span.out(flat(y));
}

LayerNorm LayerNorm::load(const io::Loader& loader, std::int64_t width) {
  return {
      loader.site("LayerNorm", fmt::format("({},), eps={:.0e}, elementwise_affine=True, bias=True",
                                           width, kEps)),
      loader.values("weight", Shape{width}), loader.values("bias", Shape{width})};
}

void LayerNorm::operator()(Pass& pass, ConstView x, View y, const Where& where) const {
  Span span{pass, site, where};
  span.in("input", x);
  kernels::layer_norm(pass, x, weight.data(), bias.data(), kEps, y);
  span.out(y);
}

}  // namespace sightline::nn
