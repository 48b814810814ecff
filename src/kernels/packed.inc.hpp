// Included once by every vector set, inside its region, after panels.inc.hpp: products with packed
// weights. For few rows codes become floats in registers; for many they are unpacked into scratch
// that stays in the first-level cache, once for all rows. Either way an element is the same float
// (one rounding) and the additions run in the order of the stored weights.

inline float scale_of(const PackedWeight& w, std::int64_t index) {
  if (w.scale_dtype == DType::f32) {
    float value;
    __builtin_memcpy(&value, w.scales + index * 4, sizeof value);
    return value;
  }
  std::uint16_t bits;
  __builtin_memcpy(&bits, w.scales + index * 2, sizeof bits);
  if (w.scale_dtype == DType::f16) return Vec::half(bits);
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, sizeof value);
  return value;
}

/// Scale and zero of a run of columns of one output, in every lane. The scale makes up for the unit
/// in which load_codes() gives 8-bit floats: a power of two, so that no bit changes.
struct Group {
  Vec scale, zero;
};

template <PackedCode C>
inline Group group_at(const PackedWeight& w, std::int64_t index) {
  const float scale = scale_of(w, index) * (C == PackedCode::f8_e4m3 ? Vec::kFloat8Unit : 1.0F);
  return {Vec::all(scale), Vec::all(w.zeros != nullptr ? static_cast<float>(w.zeros[index])
                                                       : static_cast<float>(w.zero))};
}

template <PackedCode C>
inline Vec dequantised(const Group& group, Vec codes) {
  if constexpr (C == PackedCode::f8_e4m3) return Vec::mul(codes, group.scale);
  return Vec::mul(Vec::sub(codes, group.zero), group.scale);
}

template <PackedCode C>
inline const std::byte* code_at(const std::byte* row, std::int64_t k) {
  return row + (C == PackedCode::u4 ? k / 2 : k);
}

/// Up to kLanes codes at the end of a run; no byte behind them is read.
template <PackedCode C>
inline Vec load_last_codes(const std::byte* p, std::int64_t count) {
  std::byte rest[Vec::kLanes] = {};
  __builtin_memcpy(rest, p,
                   static_cast<std::size_t>(C == PackedCode::u4 ? (count + 1) / 2 : count));
  return Vec::load_codes<C>(rest);
}

template <PackedCode C>
inline void unpack_codes(const PackedRun& run, float* out) {
  const PackedWeight& w = *run.w;
  const std::byte* row = w.row(run.row);
  const std::int64_t end = run.first + run.n;
  for (std::int64_t k = run.first; k < end;) {
    const Group group = group_at<C>(w, w.group_of(run.row, k));
    const std::int64_t stop = at_most(end, (k / w.group_cols + 1) * w.group_cols);
    for (; k + Vec::kLanes <= stop; k += Vec::kLanes)
      dequantised<C>(group, Vec::load_codes<C>(code_at<C>(row, k))).store(out + (k - run.first));
    if (k == stop) continue;
    dequantised<C>(group, load_last_codes<C>(code_at<C>(row, k), stop - k))
        .store_first(out + (k - run.first), stop - k);
    k = stop;
  }
}

/// Groups of an odd number of half bytes: a group may begin inside of a byte.
inline void unpack_odd_groups(const PackedRun& run, float* out) {
  const PackedWeight& w = *run.w;
  for (std::int64_t i = 0; i < run.n; ++i) {
    const std::int64_t k = run.first + i, index = w.group_of(run.row, k);
    const auto both = static_cast<unsigned>(w.row(run.row)[k / 2]);
    const auto code = static_cast<float>(k % 2 == 0 ? both & 0xfU : both >> 4U);
    const auto zero = static_cast<float>(w.zeros != nullptr ? w.zeros[index] : w.zero);
    out[i] = (code - zero) * scale_of(w, index);
  }
}

void unpack(const PackedRun& run, float* out) {
  switch (run.w->code) {
    case PackedCode::u4:
      return run.w->group_cols % 2 == 0 || run.w->group_cols >= run.w->in
                 ? unpack_codes<PackedCode::u4>(run, out)
                 : unpack_odd_groups(run, out);
    case PackedCode::u8:
      return unpack_codes<PackedCode::u8>(run, out);
    case PackedCode::i8:
      return unpack_codes<PackedCode::i8>(run, out);
    case PackedCode::f8_e4m3:
      return unpack_codes<PackedCode::f8_e4m3>(run, out);
  }
}

/// What a register tile of packed weights works on.
struct PackedTile {
  std::int64_t row = 0, out = 0;      ///< its first row, and its first output within p.outs
  std::int64_t first = 0, depth = 0;  ///< the step
};

/// One step of R rows against O packed rows; groups are whole vectors.
template <int R, int O, PackedCode C>
inline void packed_tile(const DotPacked& p, const PackedTile& t) {
  const PackedWeight& w = *p.w;
  const float* x = p.x + t.row * p.x_stride;
  const std::byte* rows[O];
  std::int64_t scales[O];  // index of the first scale of an output
  for (int o = 0; o < O; ++o) {
    rows[o] = w.row(p.first_out + t.out + o);
    scales[o] = w.group_of(p.first_out + t.out + o, 0);
  }
  Vec sums[R][O];
  for (int r = 0; r < R; ++r) {
    for (int o = 0; o < O; ++o) sums[r][o] = Vec::zero();
  }
  const std::int64_t end = t.first + t.depth;
  std::int64_t number = t.first / w.group_cols;
  for (std::int64_t k = t.first; k < end; ++number) {
    Group groups[O];
    for (int o = 0; o < O; ++o) groups[o] = group_at<C>(w, scales[o] + number);
    const std::int64_t stop = at_most(end, (number + 1) * w.group_cols);
    for (; k + Vec::kLanes <= stop; k += Vec::kLanes) {
      Vec row[R];
      for (int r = 0; r < R; ++r) row[r] = Vec::load(x + r * p.x_stride + k);
      for (int o = 0; o < O; ++o) {
        const Vec weight = dequantised<C>(groups[o], Vec::load_codes<C>(code_at<C>(rows[o], k)));
        for (int r = 0; r < R; ++r) sums[r][o] = Vec::fma(row[r], weight, sums[r][o]);
      }
    }
    if (k == stop) continue;
    for (int o = 0; o < O; ++o) {  // the end of the row: lanes behind it must be zero
      alignas(64) float rest[Vec::kLanes] = {};
      dequantised<C>(groups[o], load_last_codes<C>(code_at<C>(rows[o], k), stop - k))
          .store_first(rest, stop - k);
      const Vec weight = Vec::load(rest);
      for (int r = 0; r < R; ++r)
        sums[r][o] =
            Vec::fma(Vec::load_first(x + r * p.x_stride + k, stop - k), weight, sums[r][o]);
    }
    k = stop;
  }
  reduce_tile<R, O>(sums, p.y + t.row * p.y_stride + t.out, p.y_stride, t.first > 0);
}

/// Four outputs at a time over their whole length, so that memory is read in long runs.
template <int R, PackedCode C>
inline void packed_direct(const DotPacked& p) {
  std::int64_t out = 0;
  for (; out + 4 <= p.outs; out += 4) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep)
      packed_tile<R, 4, C>(p, {0, out, first, at_most(p.w->in - first, kDotStep)});
  }
  for (; out < p.outs; ++out) {
    for (std::int64_t first = 0; first < p.w->in; first += kDotStep)
      packed_tile<R, 1, C>(p, {0, out, first, at_most(p.w->in - first, kDotStep)});
  }
}

/// Panels of outputs, unpacked step by step.
inline void packed_widened(const DotPacked& p) {
  alignas(64) float scratch[kPanelOuts * kDotStep];
  for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
    const std::int64_t depth = at_most(p.w->in - first, kDotStep);
    for (std::int64_t out = 0; out < p.outs; out += kPanelOuts) {
      const std::int64_t outs = at_most(p.outs - out, kPanelOuts);
      for (std::int64_t o = 0; o < outs; ++o)
        unpack({p.w, p.first_out + out + o, first, depth}, scratch + o * kDotStep);
      dot_panel({p.x + first, p.x_stride, p.rows, scratch, kDotStep, outs, p.y + out, p.y_stride,
                 depth, first > 0});
    }
  }
}

/// Panels of outputs against groups of rows, unpacked step by step.
inline void packed_grouped(const DotPacked& p) {
  alignas(64) float scratch[kPanelOuts * kDotStep];
  alignas(64) float row[kDotStep];
  for (std::int64_t first = 0; first < p.w->in; first += kDotStep) {
    const std::int64_t depth = at_most(p.w->in - first, kDotStep),
                       vectors = (depth + Vec::kLanes - 1) / Vec::kLanes;
    for (std::int64_t out = 0; out < p.outs; out += kPanelOuts) {
      const std::int64_t outs = at_most(p.outs - out, kPanelOuts);
      for (std::int64_t o = 0; o < outs; ++o) {
        unpack({p.w, p.first_out + out + o, first, depth}, row);
        widen_to_panel<DType::f32>(reinterpret_cast<const std::byte*>(row), depth,
                                   scratch + panel_row(o, vectors) * Vec::kLanes);
      }
      float_panel({p.groups + groups_at<Vec::kGroup>(p.rows, first), p.rows, outs, vectors},
                  scratch, {}, p.y + out, p.y_stride, first > 0);
    }
  }
}

template <PackedCode C>
inline void packed_code(const DotPacked& p) {
  if (p.groups != nullptr) return packed_grouped(p);
  // Groups that end inside of a vector are rare enough to go through scratch.
  const bool whole = p.w->group_cols % Vec::kLanes == 0 || p.w->group_cols >= p.w->in;
  if (whole && p.rows == 1) return packed_direct<1, C>(p);
  if (whole && p.rows == 2) return packed_direct<2, C>(p);
  if (whole && p.rows == 3) return packed_direct<3, C>(p);
  packed_widened(p);
}

void dot_packed(const DotPacked& p) {
  switch (p.w->code) {
    case PackedCode::u4:
      packed_code<PackedCode::u4>(p);
      break;
    case PackedCode::u8:
      packed_code<PackedCode::u8>(p);
      break;
    case PackedCode::i8:
      packed_code<PackedCode::i8>(p);
      break;
    case PackedCode::f8_e4m3:
      packed_code<PackedCode::f8_e4m3>(p);
      break;
  }
  add_bias(p);
}
