// Included last by every vector set, inside its region: the table of what the other .inc.hpp files
// define.

/// The table of a set whose entries are all the functions of the .inc.hpp files.
constexpr Kernels make_table(std::string_view name, std::string_view needs) {
  return {.name = name,
          .needs = needs,
          .lanes = Vec::kLanes,
          .widen = widen_values,
          .dot_panel = dot_panel,
          .group_rows = group_rows,
          .groups = {Vec::kGroup, Ints::kGroup, Bytes::kGroup},
          .dot_stored = dot_stored,
          .mix_panel = mix_panel,
          .unpack = unpack,
          .dot_packed = dot_packed,
          .round_step = round_step,
          .dot_integers = dot_integers,
          .softmax_step = softmax_step,
          .delta_step = delta_step,
          .decay_row = decay_row,
          .l2_norm = l2_norm,
          .conv_silu = conv_silu,
          .rms_norm = rms_norm,
          .rms_norm_gated = rms_norm_gated,
          .layer_norm = layer_norm,
          .add = add,
          .silu_mul = silu_mul,
          .sigmoid_mul = sigmoid_mul,
          .gelu_tanh = gelu_tanh,
          .gelu_erf = gelu_erf,
          .rope = rope,
          .multiply_adds = multiply_adds};
}
