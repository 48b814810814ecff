// What the AVX-512 set uses of AVX-512, lane by lane in plain C++, as documented (Intel 64 and
// IA-32 Architectures Software Developer's Manual, volume 2). Included by avx512_twin.cpp and
// avx512_vnni_twin.cpp alone, inside the namespace and the region of the set, where these names
// hide those of the compiler's header.

// Macros in some compilers or without optimisation.
#undef _mm512_cmplt_epi32_mask
#undef _mm512_extractf32x8_ps
#undef _mm512_extracti64x4_epi64
#undef _mm512_insertf32x8
#undef _mm512_inserti64x4
#undef _mm512_slli_epi16
#undef _mm512_slli_epi32
#undef _mm512_srai_epi16
#undef _mm512_srai_epi32

using Floats = __v16sf;
using Longs = __v16si;
using Shorts = __v32hi;
using Chars = signed char __attribute__((vector_size(64)));

/// A vector whose lane i is f(i).
template <class V, int N, class F>
SIGHTLINE_INLINE V lanes_of(const F& f) {
  V out{};
  for (int i = 0; i < N; ++i) out[i] = f(i);
  return out;
}
template <class F>
SIGHTLINE_INLINE __m512 floats_of(const F& f) {
  return reinterpret_cast<__m512>(lanes_of<Floats, 16>(f));
}
template <class F>
SIGHTLINE_INLINE __m512i longs_of(const F& f) {
  return reinterpret_cast<__m512i>(lanes_of<Longs, 16>(f));
}
template <class F>
SIGHTLINE_INLINE __m512i shorts_of(const F& f) {
  return reinterpret_cast<__m512i>(lanes_of<Shorts, 32>(f));
}
template <class F>
SIGHTLINE_INLINE __m512i chars_of(const F& f) {
  return reinterpret_cast<__m512i>(lanes_of<Chars, 64>(f));
}
SIGHTLINE_INLINE Chars chars(__m512i a) { return reinterpret_cast<Chars>(a); }
SIGHTLINE_INLINE Longs longs(__m512i a) { return reinterpret_cast<Longs>(a); }
SIGHTLINE_INLINE Shorts shorts(__m512i a) { return reinterpret_cast<Shorts>(a); }

SIGHTLINE_INLINE __m512 _mm512_setzero_ps() { return __m512{}; }
SIGHTLINE_INLINE __m512i _mm512_setzero_si512() { return __m512i{}; }
SIGHTLINE_INLINE __m512 _mm512_set1_ps(float x) {
  return floats_of([&](int) { return x; });
}
SIGHTLINE_INLINE __m512i _mm512_set1_epi32(int x) {
  return longs_of([&](int) { return x; });
}
SIGHTLINE_INLINE __m512i _mm512_set1_epi16(short x) {
  return shorts_of([&](int) { return x; });
}
SIGHTLINE_INLINE __m512 _mm512_loadu_ps(const void* p) {
  __m512 out;
  __builtin_memcpy(&out, p, sizeof out);
  return out;
}
SIGHTLINE_INLINE __m512i _mm512_loadu_si512(const void* p) {
  __m512i out;
  __builtin_memcpy(&out, p, sizeof out);
  return out;
}
SIGHTLINE_INLINE void _mm512_storeu_ps(void* p, __m512 a) { __builtin_memcpy(p, &a, sizeof a); }
SIGHTLINE_INLINE void _mm512_storeu_si512(void* p, __m512i a) { __builtin_memcpy(p, &a, sizeof a); }
SIGHTLINE_INLINE __m512 _mm512_maskz_loadu_ps(unsigned mask, const float* p) {
  return floats_of([&](int i) { return ((mask >> i) & 1U) != 0 ? p[i] : 0.0F; });
}
SIGHTLINE_INLINE void _mm512_mask_storeu_ps(float* p, unsigned mask, __m512 a) {
  for (int i = 0; i < 16; ++i) {
    if (((mask >> i) & 1U) != 0) p[i] = a[i];
  }
}

SIGHTLINE_INLINE __m512 _mm512_add_ps(__m512 a, __m512 b) { return a + b; }
SIGHTLINE_INLINE __m512 _mm512_sub_ps(__m512 a, __m512 b) { return a - b; }
SIGHTLINE_INLINE __m512 _mm512_mul_ps(__m512 a, __m512 b) { return a * b; }
SIGHTLINE_INLINE __m512 _mm512_div_ps(__m512 a, __m512 b) { return a / b; }
SIGHTLINE_INLINE __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) {
  return floats_of([&](int i) { return __builtin_fmaf(a[i], b[i], c[i]); });
}
// The second operand if one is not a number, or if both are zero.
SIGHTLINE_INLINE __m512 _mm512_max_ps(__m512 a, __m512 b) {
  return floats_of([&](int i) { return a[i] > b[i] ? a[i] : b[i]; });
}
SIGHTLINE_INLINE __m512 _mm512_min_ps(__m512 a, __m512 b) {
  return floats_of([&](int i) { return a[i] < b[i] ? a[i] : b[i]; });
}
SIGHTLINE_INLINE unsigned _mm512_cmplt_epi32_mask(__m512i a, __m512i b) {
  unsigned mask = 0;
  for (int i = 0; i < 16; ++i) mask |= static_cast<unsigned>(longs(a)[i] < longs(b)[i]) << i;
  return mask;
}
SIGHTLINE_INLINE __m512 _mm512_mask_blend_ps(unsigned mask, __m512 a, __m512 b) {
  return floats_of([&](int i) { return ((mask >> i) & 1U) != 0 ? b[i] : a[i]; });
}

SIGHTLINE_INLINE __m512i _mm512_castps_si512(__m512 a) { return reinterpret_cast<__m512i>(a); }
SIGHTLINE_INLINE __m512 _mm512_castsi512_ps(__m512i a) { return reinterpret_cast<__m512>(a); }
SIGHTLINE_INLINE __m512i _mm512_and_si512(__m512i a, __m512i b) { return a & b; }
SIGHTLINE_INLINE __m512i _mm512_add_epi32(__m512i a, __m512i b) {
  return longs_of([&](int i) {
    return static_cast<int>(static_cast<unsigned>(longs(a)[i]) +
                            static_cast<unsigned>(longs(b)[i]));
  });
}
// Of every sixteen bytes of a and b, the first eight or the last, in turn.
SIGHTLINE_INLINE __m512i _mm512_unpacklo_epi8(__m512i a, __m512i b) {
  return chars_of([&](int i) { return chars(i % 2 == 0 ? a : b)[i / 16 * 16 + i % 16 / 2]; });
}
SIGHTLINE_INLINE __m512i _mm512_unpackhi_epi8(__m512i a, __m512i b) {
  return chars_of([&](int i) { return chars(i % 2 == 0 ? a : b)[i / 16 * 16 + 8 + i % 16 / 2]; });
}
/// Of every eight integers of a and then of b, saturated.
SIGHTLINE_INLINE __m512i _mm512_packs_epi16(__m512i a, __m512i b) {
  return chars_of([&](int i) {
    const int value = shorts(i % 16 < 8 ? a : b)[i / 16 * 8 + i % 8];
    return static_cast<signed char>(value < -128 ? -128 : value > 127 ? 127 : value);
  });
}
SIGHTLINE_INLINE __m512i _mm512_mullo_epi32(__m512i a, __m512i b) {
  return longs_of([&](int i) {
    return static_cast<int>(static_cast<unsigned>(longs(a)[i]) *
                            static_cast<unsigned>(longs(b)[i]));
  });
}
SIGHTLINE_INLINE __m512i _mm512_sub_epi32(__m512i a, __m512i b) {
  return longs_of([&](int i) {
    return static_cast<int>(static_cast<unsigned>(longs(a)[i]) -
                            static_cast<unsigned>(longs(b)[i]));
  });
}
SIGHTLINE_INLINE __m512i _mm512_sub_epi16(__m512i a, __m512i b) {
  return shorts_of([&](int i) { return static_cast<short>(shorts(a)[i] - shorts(b)[i]); });
}
SIGHTLINE_INLINE __m512i _mm512_add_epi16(__m512i a, __m512i b) {
  return shorts_of([&](int i) { return static_cast<short>(shorts(a)[i] + shorts(b)[i]); });
}
SIGHTLINE_INLINE __m512i _mm512_sub_epi8(__m512i a, __m512i b) {
  return chars_of([&](int i) { return static_cast<signed char>(chars(a)[i] - chars(b)[i]); });
}
SIGHTLINE_INLINE __m512i _mm512_or_si512(__m512i a, __m512i b) { return a | b; }
SIGHTLINE_INLINE __m512i _mm512_xor_si512(__m512i a, __m512i b) { return a ^ b; }
/// Unsigned bytes of a times signed ones of b, neighbours added, saturated.
SIGHTLINE_INLINE __m512i _mm512_maddubs_epi16(__m512i a, __m512i b) {
  return shorts_of([&](int i) {
    const auto product = [&](int j) {
      return static_cast<unsigned char>(chars(a)[j]) * chars(b)[j];
    };
    const int sum = product(2 * i) + product(2 * i + 1);
    return static_cast<short>(sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum);
  });
}
SIGHTLINE_INLINE __m512i _mm512_castsi256_si512(__m256i a) {
  __m512i out{};
  __builtin_memcpy(&out, &a, sizeof a);
  return out;
}
SIGHTLINE_INLINE __m512i _mm512_inserti64x4(__m512i a, __m256i b, int half) {
  __builtin_memcpy(reinterpret_cast<char*>(&a) + 32 * half, &b, sizeof b);
  return a;
}
SIGHTLINE_INLINE __m128i _mm512_cvtsepi32_epi8(__m512i a) {
  alignas(16) signed char out[16];
  for (int i = 0; i < 16; ++i) {
    const int value = longs(a)[i];
    out[i] = static_cast<signed char>(value < -128 ? -128 : value > 127 ? 127 : value);
  }
  return _mm_load_si128(reinterpret_cast<const __m128i*>(out));
}
SIGHTLINE_INLINE __m512i _mm512_srai_epi32(__m512i a, unsigned n) {
  return longs_of([&](int i) { return longs(a)[i] >> n; });
}
SIGHTLINE_INLINE __m512i _mm512_srai_epi16(__m512i a, unsigned n) {
  return shorts_of([&](int i) { return static_cast<short>(shorts(a)[i] >> n); });
}
SIGHTLINE_INLINE __m512i _mm512_slli_epi32(__m512i a, unsigned n) {
  return longs_of([&](int i) { return static_cast<int>(static_cast<unsigned>(longs(a)[i]) << n); });
}
SIGHTLINE_INLINE __m512i _mm512_slli_epi16(__m512i a, unsigned n) {
  return shorts_of(
      [&](int i) { return static_cast<short>(static_cast<unsigned>(shorts(a)[i]) << n); });
}
SIGHTLINE_INLINE __m512i _mm512_madd_epi16(__m512i a, __m512i b) {
  return longs_of([&](int i) {
    return shorts(a)[2 * i] * shorts(b)[2 * i] + shorts(a)[2 * i + 1] * shorts(b)[2 * i + 1];
  });
}
// Without saturation: a sum of too many bits keeps the lower 32.
SIGHTLINE_INLINE __m512i _mm512_dpwssd_epi32(__m512i sum, __m512i a, __m512i b) {
  return longs_of([&](int i) {
    const unsigned even = static_cast<unsigned>(shorts(a)[2 * i] * shorts(b)[2 * i]),
                   odd = static_cast<unsigned>(shorts(a)[2 * i + 1] * shorts(b)[2 * i + 1]);
    return static_cast<int>(static_cast<unsigned>(longs(sum)[i]) + even + odd);
  });
}
/// Unsigned bytes of a times signed ones of b, without saturation.
SIGHTLINE_INLINE __m512i _mm512_dpbusd_epi32(__m512i sum, __m512i a, __m512i b) {
  return longs_of([&](int i) {
    auto total = static_cast<unsigned>(longs(sum)[i]);
    for (int j = 4 * i; j < 4 * i + 4; ++j)
      total += static_cast<unsigned>(static_cast<unsigned char>(chars(a)[j]) * chars(b)[j]);
    return static_cast<int>(total);
  });
}
SIGHTLINE_INLINE __m512i _mm512_mulhrs_epi16(__m512i a, __m512i b) {
  return shorts_of(
      [&](int i) { return static_cast<short>((((shorts(a)[i] * shorts(b)[i]) >> 14) + 1) >> 1); });
}

SIGHTLINE_INLINE __m512i _mm512_cvtps_epi32(__m512 a) {
  return longs_of([&](int i) { return _mm_cvtss_si32(_mm_set_ss(a[i])); });
}
SIGHTLINE_INLINE __m512 _mm512_cvtepi32_ps(__m512i a) {
  return floats_of([&](int i) { return static_cast<float>(longs(a)[i]); });
}
SIGHTLINE_INLINE __m512i _mm512_cvtepu16_epi32(__m256i a) {
  return longs_of([&](int i) {
    return static_cast<int>(static_cast<unsigned short>(reinterpret_cast<__v16hi>(a)[i]));
  });
}
SIGHTLINE_INLINE __m512i _mm512_cvtepu8_epi32(__m128i a) {
  return longs_of([&](int i) {
    return static_cast<int>(static_cast<unsigned char>(reinterpret_cast<__v16qi>(a)[i]));
  });
}
SIGHTLINE_INLINE __m512i _mm512_cvtepi16_epi32(__m256i a) {
  return longs_of([&](int i) { return static_cast<int>(reinterpret_cast<__v16hi>(a)[i]); });
}
SIGHTLINE_INLINE __m512i _mm512_permutexvar_epi16(__m512i index, __m512i a) {
  return shorts_of([&](int i) { return shorts(a)[shorts(index)[i] & 31]; });
}
SIGHTLINE_INLINE __m256i _mm256_maskz_loadu_epi16(unsigned mask, const void* p) {
  return reinterpret_cast<__m256i>(lanes_of<__v16hi, 16>(
      [&](int i) { return ((mask >> i) & 1U) != 0 ? static_cast<const short*>(p)[i] : short{0}; }));
}
SIGHTLINE_INLINE __m128i _mm_maskz_loadu_epi8(unsigned mask, const void* p) {
  return reinterpret_cast<__m128i>(lanes_of<__v16qi, 16>(
      [&](int i) { return ((mask >> i) & 1U) != 0 ? static_cast<const char*>(p)[i] : char{0}; }));
}
SIGHTLINE_INLINE __m512i _mm512_cvtepi8_epi32(__m128i a) {
  return longs_of([&](int i) {
    return static_cast<int>(static_cast<signed char>(reinterpret_cast<__v16qi>(a)[i]));
  });
}
SIGHTLINE_INLINE __m512i _mm512_cvtepu8_epi16(__m256i a) {
  return shorts_of([&](int i) {
    return static_cast<short>(static_cast<unsigned char>(reinterpret_cast<__v32qi>(a)[i]));
  });
}
SIGHTLINE_INLINE __m512i _mm512_cvtepi8_epi16(__m256i a) {
  return shorts_of([&](int i) {
    return static_cast<short>(static_cast<signed char>(reinterpret_cast<__v32qi>(a)[i]));
  });
}
SIGHTLINE_INLINE __m256i _mm512_cvtsepi32_epi16(__m512i a) {
  return reinterpret_cast<__m256i>(lanes_of<__v16hi, 16>([&](int i) {
    const int value = longs(a)[i];
    return static_cast<short>(value > 32767 ? 32767 : value < -32768 ? -32768 : value);
  }));
}

SIGHTLINE_INLINE __m256i _mm512_cvtsepi16_epi8(__m512i a) {
  alignas(32) signed char out[32];
  for (int i = 0; i < 32; ++i) {
    const short value = shorts(a)[i];
    out[i] = static_cast<signed char>(value < -128 ? -128 : value > 127 ? 127 : value);
  }
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(out));
}
SIGHTLINE_INLINE __m512 _mm512_castps256_ps512(__m256 a) {
  return floats_of([&](int i) { return i < 8 ? a[i] : 0.0F; });  // the upper half: anything
}
SIGHTLINE_INLINE __m512 _mm512_insertf32x8(__m512 a, __m256 b, int half) {
  return floats_of([&](int i) { return i / 8 == half ? b[i % 8] : a[i]; });
}
SIGHTLINE_INLINE __m256 _mm512_extractf32x8_ps(__m512 a, int half) {
  return reinterpret_cast<__m256>(lanes_of<__v8sf, 8>([&](int i) { return a[8 * half + i]; }));
}
SIGHTLINE_INLINE __m256 _mm512_castps512_ps256(__m512 a) { return _mm512_extractf32x8_ps(a, 0); }
SIGHTLINE_INLINE __m256i _mm512_extracti64x4_epi64(__m512i a, int half) {
  return reinterpret_cast<__m256i>(
      lanes_of<__v8si, 8>([&](int i) { return longs(a)[8 * half + i]; }));
}
SIGHTLINE_INLINE __m256i _mm512_castsi512_si256(__m512i a) {
  return _mm512_extracti64x4_epi64(a, 0);
}
