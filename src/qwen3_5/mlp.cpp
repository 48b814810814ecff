// The gated feed-forward network (mlp.hpp).
#include "qwen3_5/mlp.hpp"

namespace sightline::qwen3_5 {

Mlp Mlp::load(const io::Loader& loader, const TextConfig& config, std::int64_t intermediate_size) {
  const std::int64_t h = config.hidden_size;
  return {loader.site(config.class_name("MLP")),
          nn::Linear::load(loader.at("gate_proj"), intermediate_size, h),
          nn::Linear::load(loader.at("up_proj"), intermediate_size, h),
          nn::Linear::load(loader.at("down_proj"), h, intermediate_size),
          nn::Activation::load(loader.at("act_fn"), nn::Activation::Kind::silu)};
}

void Mlp::operator()(nn::Pass& pass, ConstView x, View y, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("x", x);
  const View gate = span.tmp(x.rows, gate_proj.out()), up = span.tmp(x.rows, up_proj.out());
  gate_proj(pass, x, gate);
  up_proj(pass, x, up);
  nn::silu_gate(pass, act_fn, gate, up, gate);
  down_proj(pass, gate, y);
  span.out(y);
}

}  // namespace sightline::qwen3_5
