// Gated DeltaNet, the linear attention of the text model (text.hpp, GatedDeltaNet).
#include <fmt/format.h>

#include <cstring>

#include "kernels/delta_rule.hpp"
#include "kernels/elementwise.hpp"
#include "qwen3_5/text.hpp"

namespace sightline::qwen3_5 {
namespace {

void copy_rows(ConstView x, std::vector<float>& out) {
  out.resize(static_cast<std::size_t>(x.rows * x.cols));
  for (std::int64_t r = 0; r < x.rows; ++r) {
    std::memcpy(out.data() + r * x.cols, x.row(r),
                static_cast<std::size_t>(x.cols) * sizeof(float));
  }
}

}  // namespace

// Inputs of the recurrence of one segment: u before the convolution (T, C), log decay g and beta
// (T, value heads).
struct GatedDeltaNet::Rows {
  ConstView u, decay, beta;
};

GatedDeltaNet GatedDeltaNet::load(const io::Loader& loader, const TextConfig& config) {
  const std::int64_t h = config.hidden_size, heads = config.linear_num_value_heads;
  GatedDeltaNet net;
  net.site = loader.site(config.class_name("GatedDeltaNet"));
  const std::int64_t channels = config.conv_width(), taps = config.linear_conv_kernel_dim;
  const io::Loader conv1d = loader.at("conv1d");
  net.conv1d_site = conv1d.site(
      "Conv1d", fmt::format("{}, {}, kernel_size=({},), stride=(1,), padding=({},), groups={}, "
                            "bias=False",
                            channels, channels, taps, taps - 1, channels));
  net.conv1d = conv1d.values("weight", Shape{channels, 1, taps});
  net.A_log = loader.values("A_log", Shape{heads});
  net.dt_bias = loader.values("dt_bias", Shape{heads});
  net.norm = nn::RmsNormGated::load(loader.at("norm"), config.linear_value_head_dim,
                                    config.rms_norm_eps, config.class_name("RMSNormGated"));
  net.out_proj = nn::Linear::load(loader.at("out_proj"), h, config.value_width());
  net.in_proj_qkv = nn::Linear::load(loader.at("in_proj_qkv"), channels, h);
  net.in_proj_z = nn::Linear::load(loader.at("in_proj_z"), config.value_width(), h);
  net.in_proj_b = nn::Linear::load(loader.at("in_proj_b"), heads, h);
  net.in_proj_a = nn::Linear::load(loader.at("in_proj_a"), heads, h);
  net.num_k_heads = config.linear_num_key_heads;
  net.num_v_heads = heads;
  net.head_k_dim = config.linear_key_head_dim;
  net.head_v_dim = config.linear_value_head_dim;
  net.conv_kernel_size = config.linear_conv_kernel_dim;
  return net;
}

void GatedDeltaNet::mix(nn::Pass& pass, const model::Segment& segment, LayerSlot slot,
                        const Rows& rows, View out) const {
  const ArenaScope scope(pass.arena);
  auto& state = std::get<model::DeltaLayer>(segment.cache->layers[slot.layer]);
  if (!pass.counts_only()) state.prepare();
  const bool write = segment.record == nullptr;
  const std::int64_t key_width = num_k_heads * head_k_dim, value_width = num_v_heads * head_v_dim;
  const View conv_state{state.conv.data(), conv_kernel_size - 1, rows.u.cols};
  const View convolved = pass.arena.matrix(rows.u.rows, rows.u.cols);
  kernels::causal_conv_silu(pass, rows.u, conv1d.data(), conv_kernel_size, conv_state, write,
                            convolved);
  const kernels::DeltaShape shape{num_k_heads, num_v_heads, head_k_dim, head_v_dim};
  const kernels::DeltaOperands operands{
      convolved.slice_cols(0, key_width), convolved.slice_cols(key_width, key_width),
      convolved.slice_cols(2 * key_width, value_width), rows.beta, rows.decay};
  if (segment.kind == model::RowKind::step) {
    kernels::delta_rule_recurrent(pass, shape, operands, state.recurrent.data(), write, out);
  } else {
    kernels::delta_rule_chunked(pass, shape, operands, segment.cache->length,
                                state.recurrent.data(), out);
  }
  if (!write && !pass.counts_only()) {
    auto& record = segment.record->layers[slot.layer];
    copy_rows(rows.u, record.a);
    copy_rows(rows.decay, record.b);
    copy_rows(rows.beta, record.c);
  }
}

void GatedDeltaNet::operator()(nn::Pass& pass, ConstView hidden_states, const TextContext& context,
                               LayerSlot slot, View y, const nn::Where& where) const {
  nn::Span span{pass, site, where};
  span.in("hidden_states", hidden_states);
  const std::int64_t rows = hidden_states.rows;
  // 1. Projections: u = [q | k | v], the output gate z, and the inputs of beta and decay.
  const View u = span.tmp(rows, in_proj_qkv.out()), z = span.tmp(rows, in_proj_z.out());
  const View b = span.tmp(rows, num_v_heads), a = span.tmp(rows, num_v_heads);
  in_proj_qkv(pass, hidden_states, u);
  in_proj_z(pass, hidden_states, z);
  in_proj_b(pass, hidden_states, b);
  in_proj_a(pass, hidden_states, a);
  // 2. beta = sigmoid(b), g = −exp(A_log) · softplus(a + dt_bias).
  const View decay = span.tmp(rows, num_v_heads), beta = span.tmp(rows, num_v_heads);
  kernels::delta_gates(pass, a, b, A_log.data(), dt_bias.data(), decay, beta);
  span.note("g", decay);
  span.note("beta", beta);
  // 3. Convolution and recurrence of every segment over its own state.
  const View mixed = span.tmp(rows, num_v_heads * head_v_dim);
  for (const model::Segment& segment : context.segments) {
    const auto part = [&](View m) { return m.slice_rows(segment.first_row, segment.rows); };
    mix(pass, segment, slot, {part(u), part(decay), part(beta)}, part(mixed));
  }
  span.note("recurrence_out", mixed, num_v_heads);
  // 4. Gated norm per head, output projection.
  norm(pass, mixed, z, mixed);
  out_proj(pass, mixed, y);
  span.out(y);
}

void GatedDeltaNet::commit(nn::Pass& pass, const model::StepRecord::Layer& record,
                           std::int64_t rows, model::DeltaLayer& state) const {
  const ArenaScope scope(pass.arena);
  state.prepare();
  const std::int64_t width = in_proj_qkv.out(), key_width = num_k_heads * head_k_dim,
                     value_width = num_v_heads * head_v_dim;
  const View convolved = pass.arena.matrix(rows, width), out = pass.arena.matrix(rows, value_width);
  kernels::causal_conv_silu(pass, {record.a.data(), rows, width}, conv1d.data(), conv_kernel_size,
                            {state.conv.data(), conv_kernel_size - 1, width}, /*write_state=*/true,
                            convolved);
  const kernels::DeltaOperands operands{convolved.slice_cols(0, key_width),
                                        convolved.slice_cols(key_width, key_width),
                                        convolved.slice_cols(2 * key_width, value_width),
                                        {record.c.data(), rows, num_v_heads},
                                        {record.b.data(), rows, num_v_heads}};
  kernels::delta_rule_recurrent(pass, {num_k_heads, num_v_heads, head_k_dim, head_v_dim}, operands,
                                state.recurrent.data(),
                                /*write_state=*/true, out);
}

}  // namespace sightline::qwen3_5
