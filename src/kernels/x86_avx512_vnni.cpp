// The AVX-512 set for processors with VNNI: its products of integers take one instruction where the
// other set needs two. Sums of integers are exact, so both give the same bits.
#define SIGHTLINE_AVX512_VNNI
#include "kernels/x86_avx512.cpp"
